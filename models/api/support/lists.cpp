#include "models/api/support/lists.h"

#include <algorithm>

#include "base/error.h"
#include "base/text/option_text.h"

namespace tessera::api {
namespace {

std::string trimmed(const std::string& s) {
  const size_t first = s.find_first_not_of(" \t");
  return first == std::string::npos ? "" : s.substr(first, s.find_last_not_of(" \t") + 1 - first);
}

// A text without its double quotes; any other unchanged.
std::string unquoted(const std::string& s) {
  if (s.size() < 2 || s.front() != '"' || s.back() != '"') return s;
  std::string out;
  for (size_t i = 1; i + 1 < s.size(); ++i) {
    out += s[i];
    if (s[i] == '"' && i + 2 < s.size() && s[i + 1] == '"') ++i;
  }
  return out;
}

// Splits the text at `separator` outside quotes.
std::vector<std::string> cut(const std::string& s, char separator) {
  std::vector<std::string> parts(1);
  bool quoted = false;
  for (char c : s) {
    if (c == '"') quoted = !quoted;
    if (c == separator && !quoted) parts.emplace_back();
    else parts.back() += c;
  }
  return parts;
}

}  // namespace

std::vector<std::string> split_list(const std::string& list) {
  std::vector<std::string> out;
  for (const std::string& part : cut(list, ','))
    if (const std::string word = trimmed(part); !word.empty()) out.push_back(unquoted(word));
  return out;
}

std::vector<std::string> split_lines(const std::string& text) {
  std::vector<std::string> out;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    if (std::string line = trimmed(text.substr(at, end - at)); !line.empty()) out.push_back(std::move(line));
    at = end + 1;
  }
  return out;
}

bool finds_rules(const std::string& option, bool otherwise) {
  if (option.empty()) return otherwise;
  if (option != "find" && option != "off")
    throw Error(ErrorCode::usage, option_text("rules", option) + ": known are find and off.");
  return option == "find";
}

std::vector<std::pair<std::string, std::string>> split_pairs(const std::string& list, const char* option) {
  std::vector<std::pair<std::string, std::string>> out;
  for (const std::string& part : cut(list, ',')) {
    if (trimmed(part).empty()) continue;
    const auto sides = cut(part, '=');
    if (sides.size() != 2 || trimmed(sides[0]).empty() || trimmed(sides[1]).empty())
      throw Error(ErrorCode::usage, std::string(option) + ": \"" + trimmed(part) +
                                        "\" is not name=value. Write names that hold , or = in double quotes.");
    out.emplace_back(unquoted(trimmed(sides[0])), unquoted(trimmed(sides[1])));
  }
  return out;
}

}  // namespace tessera::api
