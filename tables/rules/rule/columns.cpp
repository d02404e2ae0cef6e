#include "tables/rules/rule/columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <utility>

#include "base/text/json_fields.h"
#include "kernels/math/philox.h"
#include "tables/expression/arithmetic.h"
#include "tables/formats/values.h"
#include "tables/identifiers/identifier.h"
#include "tables/kinds/arrow_type.h"
#include "tables/kinds/cells.h"
#include "tables/table/decimals.h"

namespace tessera {
namespace {

constexpr uint32_t kFill = 1;  // the use of Purpose::rare; replacements of rare categories are use 0

}  // namespace

Column head_of(const Column& column) {
  Column head;
  head.name = column.name, head.type = column.type, head.format = column.format, head.arrow = column.arrow,
  head.decimals = column.decimals, head.kind = column.kind;
  return head;
}

nlohmann::json write_head(const Column& head) {
  nlohmann::json out{
      {"name", head.name}, {"type", name(head.type)}, {"format", head.format}, {"decimals", head.decimals}};
  if (!head.arrow.empty()) out["arrow"] = head.arrow;
  if (!head.kind.empty()) out["kind"] = head.kind;
  return out;
}

Column read_head(const Fields& f) {
  Column head;
  head.name = f.text("name"), head.format = f.text("format");
  f.check(parse_column_type(f.text("type"), head.type), "has an unknown type");
  head.decimals = static_cast<int>(f.integer("decimals", 0, 15));
  if (f.has("kind")) head.kind = f.text("kind");
  if (f.has("arrow")) {
    head.arrow = f.text("arrow");
    const auto arrow = ArrowType::parse(head.arrow);
    f.check(arrow && fits_arrow(head.type, *arrow), "has an Arrow format that its type cannot have");
  }
  return head;
}

std::string names_in_words(const std::vector<std::string>& columns) {
  std::string out;
  for (size_t i = 0; i < columns.size(); ++i)
    out += (i == 0 ? "" : i + 1 < columns.size() ? ", " : " and ") + quoted_name(columns[i]);
  return out;
}

int place_of(const Table& table, const std::string& name) {
  for (size_t j = 0; j < table.columns.size(); ++j)
    if (table.columns[j].name == name) return static_cast<int>(j);
  return -1;
}

void refuse_rule(const std::string& what) {
  throw Error(ErrorCode::format, "The model file is damaged or foreign: " + what +
                                     ". Fit the model again, or take an intact copy of the file.");
}

const Column& column_of(const Table& table, const std::string& name) {
  const int place = place_of(table, name);
  if (place < 0) refuse_rule("a rule names the column \"" + name + "\", which the model does not have");
  return table.columns[static_cast<size_t>(place)];
}

const Column& numbers_of(const Table& table, const std::string& name) {
  const Column& c = column_of(table, name);
  if (has_texts(c)) refuse_rule("a rule calculates with the column \"" + name + "\", which holds texts");
  return c;
}

std::vector<const Column*> numbers_of(const Table& table, const std::vector<std::string>& names) {
  std::vector<const Column*> out;
  for (const std::string& name : names) out.push_back(&numbers_of(table, name));
  return out;
}

const Column& texts_of(const Table& table, const std::string& name) {
  const Column& c = column_of(table, name);
  if (has_numbers(c)) refuse_rule("a rule asks the column \"" + name + "\" for texts");
  return c;
}

Column& column_of(Table& table, const std::string& name) {
  return const_cast<Column&>(column_of(std::as_const(table), name));
}

Column& numbers_of(Table& table, const std::string& name) {
  return const_cast<Column&>(numbers_of(std::as_const(table), name));
}

void remove_column(Table& table, const std::string& name) {
  table.columns.erase(table.columns.begin() + place_of(table, name));
}

double number_in(const std::string& text, const std::string& column) {
  double x = 0;
  if (!read_finite(text, x))
    refuse_rule(fmt::format("a rule gives the column \"{}\" the value \"{}\", which is not a number", column, text));
  return x;
}

void CellReader::add(const std::string& text) {
  if (has_numbers(column_)) column_.numbers.push_back(number_in(text, column_.name));
  else column_.codes.push_back(texts_.code(text));
}

Column CellReader::take() {
  column_.values = texts_.take_values();
  return std::move(column_);
}

bool is_complete(const Column& numbers) {
  return std::all_of(numbers.numbers.begin(), numbers.numbers.end(), [](double x) { return x == x; });
}

void fill_missing(Column& c, uint64_t seed) {
  std::vector<int64_t> present;
  for (int64_t i = 0; i < c.size(); ++i)
    if (!c.is_missing(i)) present.push_back(i);
  if (present.empty()) return;
  const auto column = static_cast<uint32_t>(fingerprint_of(c.name));
  for (int64_t i = 0; i < c.size(); ++i) {
    if (!c.is_missing(i)) continue;
    const Philox p = random_words(seed, Purpose::rare, column, static_cast<uint64_t>(i), kFill);
    const uint64_t any = (static_cast<uint64_t>(p.word[0]) << 32 | p.word[1]) % present.size();
    c.copy_cell(static_cast<size_t>(present[static_cast<size_t>(any)]), static_cast<size_t>(i));
  }
}

double reach_of(double value, double exact, const Column& c, double halves) {
  const int digits = digits_of(c);
  const double bits = 1e-12 * std::max(std::abs(value), std::abs(exact));
  return std::max(bits, digits == kAllDigits ? 0 : 0.5000001 * halves * std::pow(10.0, -digits));
}

bool same_number(double value, double exact, const Column& c, double halves) {
  return std::abs(value - exact) <= reach_of(value, exact, c, halves);
}

std::vector<int32_t> codes_in(const Column& b, const Column& a) {
  std::unordered_map<std::string_view, int32_t> known;
  for (size_t v = 0; v < b.values.size(); ++v) known.emplace(b.values[v], static_cast<int32_t>(v));
  std::vector<int32_t> out;
  for (const std::string& text : a.values) {
    const auto entry = known.find(text);
    out.push_back(entry == known.end() ? -2 : entry->second);
  }
  return out;
}

void CellCopy::copy(size_t from_row, size_t to_row) {
  if (has_numbers(to_)) {
    to_.numbers[to_row] = from_.numbers[from_row];
    return;
  }
  const auto text = static_cast<size_t>(from_.codes[from_row]);
  if (code_[text] < 0) {
    code_[text] = static_cast<int32_t>(to_.values.size());
    to_.values.push_back(from_.values[text]);
  }
  to_.codes[to_row] = code_[text];
}

}  // namespace tessera
