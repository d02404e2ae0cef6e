#include "ptx/read/source.h"

#include <cctype>
#include <cstdlib>
#include <sstream>

#include "ptx/machine/module.h"

namespace tessera::ptx {
namespace {

bool is_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' || c == '%'; }

bool is_label(const std::string& s) {
  for (const char c : s)
    if (!is_name(c)) return false;
  return !s.empty();
}

// A body opens behind a header's last parenthesis or directive; a vector's brace is inside a statement.
bool is_header(const std::string& s) {
  for (const char* word : {".entry", ".func", ".visible", ".weak"})
    if (starts(s, word)) return true;
  return false;
}

// Comments become blanks, line ends stay.
std::string without_comments(const std::string& text) {
  std::string r = text;
  for (size_t i = 0; i + 1 < r.size(); ++i) {
    if (r[i] != '/' || (r[i + 1] != '/' && r[i + 1] != '*')) continue;
    const bool line = r[i + 1] == '/';
    const size_t end = r.find(line ? "\n" : "*/", i);
    const size_t stop = end == std::string::npos ? r.size() : line ? end : end + 2;
    for (; i < stop; ++i)
      if (r[i] != '\n') r[i] = ' ';
  }
  return r;
}

}  // namespace

bool starts(std::string_view s, std::string_view with) { return s.substr(0, with.size()) == with; }

std::string trimmed(std::string_view s) {
  while (!s.empty() && std::isspace(static_cast<unsigned char>(s.front())) != 0) s.remove_prefix(1);
  while (!s.empty() && std::isspace(static_cast<unsigned char>(s.back())) != 0) s.remove_suffix(1);
  return std::string(s);
}

std::vector<Statement> statements(const std::string& text) {
  std::vector<Statement> all;
  std::string now;
  int line = 1, began = 1, braces = 0;  // braces: of vectors, which belong to a statement
  const auto end = [&] {
    if (std::string t = trimmed(now); !t.empty()) all.push_back({std::move(t), began});
    now.clear();
  };
  const std::string clean = without_comments(text);
  for (size_t k = 0; k < clean.size(); ++k) {
    const char c = clean[k];
    if (c == '\n') {
      ++line;
      if (starts(trimmed(now), ".version") || starts(trimmed(now), ".target") || starts(trimmed(now), ".address_size"))
        end();
    }
    const bool empty = now.find_first_not_of(' ') == std::string::npos;
    if (empty) began = line;
    if (braces == 0 && ((c == '{' && (empty || is_header(trimmed(now)))) || (c == '}' && empty))) {
      end();
      all.push_back({std::string(1, c), line});
    } else if (c == ';' && braces == 0) {
      end();
    } else if (c == ':' && is_label(trimmed(now))) {
      now += c;
      end();
    } else {
      braces += c == '{' ? 1 : c == '}' ? -1 : 0;
      const bool blank = std::isspace(static_cast<unsigned char>(c)) != 0 || c == '\0';
      if (!blank) now += c;
      else if (!now.empty() && now.back() != ' ') now += ' ';
    }
  }
  end();
  return all;
}

std::vector<std::string> split(std::string_view list) {
  std::vector<std::string> all;
  int depth = 0;
  std::string now;
  for (const char c : list) {
    if (c == '{' || c == '[' || c == '(') ++depth;
    if (c == '}' || c == ']' || c == ')') --depth;
    if (c == ',' && depth == 0) {
      all.push_back(trimmed(now));
      now.clear();
    } else {
      now += c;
    }
  }
  if (!trimmed(now).empty()) all.push_back(trimmed(now));
  return all;
}

bool immediate(const std::string& s, uint64_t& bits) {
  if (s.empty()) return false;
  const bool real = s.size() > 2 && s[0] == '0' && (s[1] == 'f' || s[1] == 'd');
  const char* from = s.c_str() + (real ? 2 : 0);
  char* end = nullptr;
  bits = s[0] == '-' ? static_cast<uint64_t>(std::strtoll(from, &end, 0)) : std::strtoull(from, &end, real ? 16 : 0);
  return end != from && (*end == 0 || (*end == 'U' && end[1] == 0));
}

Declaration declaration(const std::string& s, int line) {
  Declaration d;
  std::istringstream words(s);
  std::string word;
  while (words >> word) {
    if (word == ".align") {
      words >> d.alignment;
    } else if (word[0] == '.') {
      if (bytes_of(word.substr(1)) >= 0) d.type = word.substr(1);
    } else {
      const size_t bracket = word.find('[');
      d.name = word.substr(0, bracket);
      d.array = bracket != std::string::npos;
      d.elements = d.array ? static_cast<uint32_t>(std::atoi(word.c_str() + bracket + 1)) : 1;
      break;
    }
  }
  if (d.type.empty() || d.name.empty()) throw Unreadable(line, s, "a declaration without type or name");
  if (d.alignment == 1) d.alignment = static_cast<uint32_t>(bytes_of(d.type));
  return d;
}

}  // namespace tessera::ptx
