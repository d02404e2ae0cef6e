#include "tables/csv/style.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "tables/csv/dialect.h"
#include "tables/csv/scan.h"
#include "tables/types/types.h"

namespace tessera {
namespace {

bool needs_quotes(const CsvField& field, char delimiter) {
  const std::string_view text = field.raw();
  return !text.empty() && (text.front() == ' ' || text.back() == ' ' || text.find_first_of("\"\r\n") != text.npos ||
                           text.find(delimiter) != text.npos);
}

bool is_missing_word(std::string_view text) { return MissingWords().always(text) || MissingWords::usual(text); }

// Of the cells of a column, or of the header.
struct Quotes {
  bool some = false, all = true;  // in quotes without need; no cell without quotes, words such as NA aside
  std::string bare;               // the first such word without quotes

  void add(const CsvField& field, char delimiter) {
    if (field.quoted) some |= !needs_quotes(field, delimiter);
    else if (!is_missing_word(field.raw())) all = false;
    else if (bare.empty()) bare = field.raw();
  }
};

std::string line_end_of(const char* begin, const char* end) {
  const char* at = std::find_if(begin, end, [](char c) { return c == '\n' || c == '\r'; });
  if (at == end || *at == '\n') return "\n";
  const std::string_view text(at, static_cast<size_t>(end - at));  // "\r\r\n": by a program that translates "\r\n" too
  return text.starts_with("\r\n") || text.starts_with("\r\r\n") ? "\r\n" : "\r";
}

}  // namespace

std::vector<std::string> column_names(std::vector<std::string> names) {
  std::unordered_set<std::string> taken(names.begin(), names.end());
  const auto name = [&](size_t j) {
    const std::string given = "Unnamed: " + std::to_string(j);
    if (names[j].empty() && taken.insert(given).second) names[j] = given;
  };
  if (names.size() > 1) name(0);
  for (size_t j = names.size(); j > 1 && names[j - 1].empty(); --j) name(j - 1);
  std::unordered_set<std::string> seen;
  for (std::string& n : names) {
    if (n.empty() || seen.insert(n).second) continue;
    int copy = 1;
    while (taken.count(n + '.' + std::to_string(copy)) != 0) ++copy;
    n += '.' + std::to_string(copy);
    taken.insert(n), seen.insert(n);
  }
  return names;
}

CsvStyle find_style(const char* begin, const char* end, char delimiter, bool header,
                    const std::vector<std::string>& names) {
  CsvStyle style;
  style.delimiter = delimiter;
  style.line_end = line_end_of(begin, end);
  const bool cut = end - begin > kHeadBytes;
  CsvScanner scanner(begin, cut ? begin + kHeadBytes : end, delimiter);
  scanner.check_text(false);
  Quotes head;
  std::vector<Quotes> columns(names.size());
  bool first = header;
  try {
    for (size_t row = 0; row < kHeadRows && scanner.next();) {
      if (cut && scanner.position() == begin + kHeadBytes) break;
      if (scanner.is_blank() || scanner.count() != names.size()) continue;
      for (size_t j = 0; j < names.size(); ++j) {
        const CsvField& field = scanner.fields()[j];
        if (first) head.add(field, delimiter);
        else columns[j].add(field, delimiter);
        if (!field.quoted && field.raw() == "\\N") style.missing = "\\N";
        style.quoted_missing |= !first && field.quoted && field.size == 0 && names.size() > 1;
      }
      first = false, ++row;
    }
  } catch (const CsvFault&) {}  // the reader reports it
  style.quoted_header = head.some && head.all && head.bare.empty();
  for (size_t j = 0; j < names.size(); ++j) {
    if (!columns[j].some || !columns[j].all) continue;
    style.quoted.push_back(names[j]);
    if (style.bare.empty()) style.bare = columns[j].bare;
  }
  return style;
}

std::string CsvStyle::text() const {
  return nlohmann::json{{"delimiter", std::string(1, delimiter)},
                        {"line_end", line_end},
                        {"byte_order_mark", byte_order_mark},
                        {"delimiter_line", delimiter_line},
                        {"unnamed_first", unnamed_first},
                        {"delimiter_first", delimiter_first},
                        {"delimiter_last", delimiter_last},
                        {"renamed", renamed},
                        {"missing", missing},
                        {"gaps", gaps},
                        {"quoted_header", quoted_header},
                        {"quoted_missing", quoted_missing},
                        {"bare", bare},
                        {"quoted", quoted},
                        {"json", json}}
      .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

CsvStyle CsvStyle::parse(const std::string& text) {
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  CsvStyle style;
  if (!json.is_object()) return style;
  const auto flag = [&](const char* name) { return json.contains(name) && json[name] == true; };
  const auto word = [&](const char* name) {
    return json.contains(name) && json[name].is_string() ? json[name].get<std::string>() : std::string();
  };
  const std::string delimiter = word("delimiter"), line_end = word("line_end");
  if (delimiter.size() == 1 && std::string_view(",;|\t~^!#$%&*@= ").find(delimiter) != std::string_view::npos)
    style.delimiter = delimiter[0];
  if (line_end == "\r\n" || line_end == "\r") style.line_end = line_end;
  style.byte_order_mark = flag("byte_order_mark"), style.delimiter_line = flag("delimiter_line");
  style.unnamed_first = flag("unnamed_first");
  style.delimiter_first = flag("delimiter_first"), style.delimiter_last = flag("delimiter_last");
  const auto by_column = [&](const char* name) {
    std::map<std::string, std::string> out;
    if (json.contains(name) && json[name].is_object())
      for (const auto& [column, written] : json[name].items())
        if (written.is_string()) out[column] = written.get<std::string>();
    return out;
  };
  if (const std::string missing = word("missing"); MissingWords().always(missing)) style.missing = missing;
  style.renamed = by_column("renamed"), style.gaps = by_column("gaps");
  std::erase_if(style.gaps, [](const auto& gap) { return !is_missing_word(gap.second); });
  style.json = flag("json");
  style.quoted_header = flag("quoted_header"), style.quoted_missing = flag("quoted_missing");
  if (const std::string bare = word("bare"); is_missing_word(bare)) style.bare = bare;
  if (json.contains("quoted") && json["quoted"].is_array())
    for (const auto& name : json["quoted"])
      if (name.is_string()) style.quoted.push_back(name.get<std::string>());
  return style;
}

}  // namespace tessera
