#include "tables/rules/kinds/computed.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <unordered_map>

#include "base/text/json_fields.h"
#include "tables/expression/where.h"
#include "tables/kinds/kind.h"
#include "tables/rules/rule/columns.h"

namespace tessera {
double exact_value(const Arithmetic& expression, const Table& rows, size_t row, const Column& target) {
  const double x = evaluate(expression, rows, row);
  return x * kind_of(target).unit;
}

double computed_value(const Arithmetic& expression, const Table& rows, size_t row, const Column& target) {
  return rounded(exact_value(expression, rows, row, target), digits_of(target));
}

double reach_of(double value, double exact, const Column& c) {
  const int digits = digits_of(c);
  const double bits = 1e-12 * std::max(std::abs(value), std::abs(exact));
  return std::max(bits, digits == kAllDigits ? 0 : 0.5000001 * std::pow(10.0, -digits));
}

bool same_number(double value, double exact, const Column& c) {
  return std::abs(value - exact) <= reach_of(value, exact, c);
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

// A time that is another one moved by hours says so: "local is 2 hours after utc", not "local = utc + 2 / 24".
std::string ComputedRule::text() const {
  constexpr std::pair<std::string_view, const char*> kUnits[] = {
      {" / 24", "hour"}, {" / 1440", "minute"}, {" / 86400", "second"}};
  for (const auto& [part, unit] : kUnits) {
    if (target_.type != ColumnType::datetime || !expression_.ends_with(part)) continue;
    const std::string moved = expression_.substr(0, expression_.size() - part.size());
    const size_t number = moved.rfind(' ') + 1;
    const bool whole =
        number > 3 && number < moved.size() && moved.find_first_not_of("0123456789", number) == std::string::npos;
    if (!whole || (moved[number - 2] != '+' && moved[number - 2] != '-')) continue;
    const std::string count = moved.substr(number);
    return fmt::format("{} is {} {}{} {} {}", quoted_name(target_.name), count, unit, count == "1" ? "" : "s",
                       moved[number - 2] == '+' ? "after" : "before", moved.substr(0, number - 3));
  }
  return quoted_name(target_.name) + " = " + expression_;
}

std::vector<std::string> ComputedRule::columns(const Table& rows) const {
  std::vector<std::string> out{target_.name};
  if (!is_numeric(target_.type)) {
    out.push_back(rows.columns[static_cast<size_t>(parse_column(expression_, rows, "a rule"))].name);
    return out;
  }
  for (const int j : columns_of(parse_arithmetic(expression_, rows, "a rule")))
    out.push_back(rows.columns[static_cast<size_t>(j)].name);
  return out;
}

std::vector<char> ComputedRule::broken(const Table& rows, const Table&) const {
  std::vector<char> out(static_cast<size_t>(rows.rows));
  const Column& c = column_of(rows, target_.name);
  if (is_numeric(target_.type)) {
    const Arithmetic expression = parse_arithmetic(expression_, rows, "a rule");
    for (size_t i = 0; i < out.size(); ++i) {
      const double value = c.numbers[i], exact = exact_value(expression, rows, i, target_);
      out[i] = value == value && exact == exact && !same_number(value, exact, target_) ? 1 : 0;
    }
    return out;
  }
  const Column& same = rows.columns[static_cast<size_t>(parse_column(expression_, rows, "a rule"))];
  const std::vector<int32_t> code = codes_in(same, c);
  for (size_t i = 0; i < out.size(); ++i)
    out[i] = c.codes[i] >= 0 && same.codes[i] >= 0 && code[static_cast<size_t>(c.codes[i])] != same.codes[i] ? 1 : 0;
  return out;
}

void ComputedRule::reduce(Table& table, Team&) const { remove_column(table, target_.name); }

void ComputedRule::restore(Table& rows) const {
  Column out = target_;
  if (is_numeric(out.type)) {
    const Arithmetic expression = parse_arithmetic(expression_, rows, "a rule");
    out.numbers.resize(static_cast<size_t>(rows.rows));
    for (size_t i = 0; i < out.numbers.size(); ++i) out.numbers[i] = computed_value(expression, rows, i, target_);
  } else {
    const Column& same = rows.columns[static_cast<size_t>(parse_column(expression_, rows, "a rule"))];
    if (is_numeric(same.type))
      throw Error(ErrorCode::format,
                  "The model file is damaged or foreign: a rule gives a column of texts numbers. Fit the model again, "
                  "or take an intact copy of the file.");
    out.codes = same.codes, out.values = same.values;
  }
  out.reason = text();
  rows.columns.push_back(std::move(out));
}

nlohmann::json ComputedRule::to_json() const {
  return {{"kind", kind()}, {"column", write_head(target_)}, {"is", expression_}};
}

std::unique_ptr<const TableRule> ComputedRule::read(const Fields& f) {
  return std::make_unique<ComputedRule>(read_head(Fields(f.at("column"), f.place())), f.text("is"));
}

}  // namespace tessera
