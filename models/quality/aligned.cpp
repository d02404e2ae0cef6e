#include "models/quality/aligned.h"

#include <algorithm>
#include <optional>

#include "tables/formats/values.h"
#include "tables/kinds/kind.h"
#include "tables/types/types_dictionary.h"

namespace tessera::quality {
namespace {

// Dates, times, other numbers, texts.
int group_of(const Column& c) {
  if (is_instant(c.type)) return static_cast<int>(c.type);
  return is_ordered(c) ? -1 : -2;
}

// A synthetic column converted to the real one's kind. A constant of digits is a number if the real column is numeric.
std::optional<Column> as_kind(const Column& real, const Column& synthetic) {
  if (group_of(real) == group_of(synthetic)) return synthetic;
  if (group_of(real) != -1 || is_ordered(synthetic)) return {};
  std::vector<double> value;
  for (const std::string& text : synthetic.values)
    if (!read_finite(text, value.emplace_back())) return {};
  Column out = real;
  out.numbers.clear();
  for (const int32_t code : synthetic.codes)
    out.numbers.push_back(code < 0 ? kMissing : value[static_cast<size_t>(code)]);
  return out;
}

}  // namespace

Table aligned(const Table& real, const Table& synthetic, std::vector<std::string>& ignored) {
  Table out;
  out.rows = synthetic.rows;
  for (const Column& c : real.columns) {
    const Column* other = synthetic.find(c.name);
    std::optional<Column> column = other == nullptr ? std::nullopt : as_kind(c, *other);
    if (!column) {
      ignored.push_back(c.name);
      column = Column{};
      column->name = c.name, column->type = c.type;
      column->assign_missing(static_cast<size_t>(out.rows));
    }
    out.columns.push_back(std::move(*column));
  }
  return out;
}

void append(Table& table, const Table& rows) {
  std::vector<std::string> ignored;
  const Table more = aligned(table, rows, ignored);
  table.rows += more.rows;
  for (size_t k = 0; k < table.columns.size(); ++k) {
    Column& to = table.columns[k];
    const Column& from = more.columns[k];
    if (to.codes.empty()) {
      to.numbers.insert(to.numbers.end(), from.numbers.begin(), from.numbers.end());
      to.decimals = std::max(to.decimals, from.decimals);
      continue;
    }
    Dictionary texts;
    for (const std::string& text : to.values) (void)texts.code(text);
    for (const int32_t code : from.codes)
      to.codes.push_back(code < 0 ? -1 : texts.code(from.values[static_cast<size_t>(code)]));
    to.values = texts.take_values();
  }
}

Table joined(Table a, const Table& b) {
  append(a, b);
  return a;
}

}  // namespace tessera::quality
