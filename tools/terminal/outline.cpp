#include "outline.h"

#include <fmt/format.h>

#include <algorithm>

#include "text.h"

namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr int kMaxDepth = 8;
constexpr size_t kMaxColumns = 12;

bool is_table(const OrderedJson& value) {
  return value.is_array() && !value.empty() &&
         std::all_of(value.begin(), value.end(), [](const OrderedJson& row) { return row.is_object(); });
}

std::string spoken(std::string key) {
  std::replace(key.begin(), key.end(), '_', ' ');
  return key;
}

std::string table(const OrderedJson& rows, size_t most_rows, int indent) {
  std::vector<std::string> keys;
  for (const OrderedJson& row : rows)
    for (const auto& [key, value] : row.items())
      if (keys.size() < kMaxColumns && std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
  std::vector<text::Table::Heading> headings;
  for (const auto& key : keys) {
    const bool numbers = std::all_of(rows.begin(), rows.end(), [&](const OrderedJson& row) {
      return !row.contains(key) || row[key].is_number() || row[key].is_null();
    });
    headings.push_back({spoken(key), numbers ? text::Table::Side::right : text::Table::Side::left, 60});
  }
  text::Table out(headings);
  size_t shown = 0;
  for (const OrderedJson& row : rows) {
    if (most_rows != 0 && shown == most_rows) break;
    std::vector<std::string> cells;
    for (const auto& key : keys) cells.push_back(row.contains(key) ? inline_text(row[key]) : "");
    out.add(std::move(cells));
    ++shown;
  }
  std::string s = out.str(indent);
  if (shown < rows.size())
    s += fmt::format("{}… and {} more (all of them with --json)\n", std::string(static_cast<size_t>(indent), ' '),
                     rows.size() - shown);
  return s;
}

void append(std::string& out, const OrderedJson& object, size_t most_rows, int indent) {
  int widest = 0;
  for (const auto& [key, value] : object.items())
    if (!value.is_object() && !is_table(value)) widest = std::max(widest, text::width(key));
  const std::string space(static_cast<size_t>(indent), ' ');
  for (const auto& [key, value] : object.items()) {
    if (is_table(value)) {
      out += "\n" + space + spoken(key) + "\n" + table(value, most_rows, indent + 2);
    } else if (value.is_object() && indent < 2 * kMaxDepth) {
      out += space + spoken(key) + "\n";
      append(out, value, most_rows, indent + 2);
    } else {
      const bool none = value.is_null() || (value.is_array() && value.empty());
      out += space + text::pad(spoken(key), widest) + "  " + (none ? "none" : inline_text(value)) + "\n";
    }
  }
}

}  // namespace

std::string inline_text(const OrderedJson& value) {
  if (value.is_string()) return text::clip(value.get<std::string>(), 400);
  if (value.is_null()) return "–";
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (value.is_number_integer()) return text::count(value.get<int64_t>());
  if (value.is_number()) return text::number(value.get<double>());
  std::vector<std::string> parts;
  for (const auto& [key, part] : value.items())
    parts.push_back(value.is_object() ? key + " " + inline_text(part) : inline_text(part));
  return text::list(parts, 12);
}

std::string outline(const OrderedJson& json, size_t most_rows) {
  std::string out;
  if (json.is_object()) append(out, json, most_rows, 0);
  else out = (is_table(json) ? table(json, most_rows, 0) : inline_text(json) + "\n");
  return out;
}
