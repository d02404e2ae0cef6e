#include "tables/rules/kinds/bound.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text/json_fields.h"
#include "tables/expression/arithmetic.h"
#include "tables/kinds/kind.h"
#include "tables/rules/rule/columns.h"
#include "tables/table/decimals.h"

namespace tessera {
namespace {

// The largest of the columns in a row; NaN if one is missing.
double largest(const std::vector<const Column*>& columns, size_t row) {
  double most = -INFINITY;
  for (const Column* c : columns) {
    const double x = c->numbers[row];
    if (x != x) return kMissing;
    most = std::max(most, x);
  }
  return most;
}

std::vector<const Column*> all_of(const Table& table, const std::vector<std::string>& names) {
  std::vector<const Column*> out;
  for (const std::string& name : names) out.push_back(&numbers_of(table, name));
  return out;
}

// The name of no value and no day among the choices of a column.
constexpr const char* kNoneFixed = "none";

// least + distance with the digits of the column, and not below least where its digits are fewer.
double above(double least, double distance, int digits) {
  const double x = rounded(least + std::max(distance, 0.0), digits);
  return x < least && digits != kAllDigits ? rounded(x + 1 / grid_of(digits), digits) : x;
}

struct OrderOf {
  Column target;
  std::vector<std::string> lower;
};
OrderOf read_order(const Fields& f) {
  OrderOf out{read_head(Fields(f.at("column"), f.place())), f.texts("not_below")};
  const auto& lower = out.lower;
  f.check(is_numeric(out.target.type) && !lower.empty() &&
              std::find(lower.begin(), lower.end(), out.target.name) == lower.end(),
          "has a rule of order between columns that have none");
  return out;
}

}  // namespace

std::string OrderRule::text() const {
  std::string out;
  for (const std::string& lower : lower_)
    out += (out.empty() ? "" : " and ") + quoted_name(target_.name) + " >= " + quoted_name(lower);
  return out;
}

std::vector<std::string> OrderRule::columns(const Table&) const {
  std::vector<std::string> out{target_.name};
  out.insert(out.end(), lower_.begin(), lower_.end());
  return out;
}

std::vector<char> OrderRule::broken(const Table& rows, const Table&) const {
  const std::vector<const Column*> lower = all_of(rows, lower_);
  const Column& c = numbers_of(rows, target_.name);
  std::vector<char> out(c.numbers.size());
  for (size_t i = 0; i < out.size(); ++i) out[i] = c.numbers[i] < largest(lower, i) ? 1 : 0;
  return out;
}

std::string BoundRule::distance() const {
  std::string out = quoted_name(target_.name) + " - ";
  for (const std::string& l : lower_) out += (l == lower_[0] ? "" : " or ") + quoted_name(l);
  return out;
}

std::span<const FixedDay> FixedValues::all_days() {
  static constexpr FixedDay kDays[] = {
      {"start of year", 365}, {"end of year", 365}, {"start of month", 28}, {"end of month", 28}};
  return kDays;
}

double FixedValues::day_of(const FixedDay& day, const Column& c, double x) {
  return time_function(day.function)->value(c, x, c.type);
}

size_t BoundRule::choice_of(double x) const {
  const auto& values = fixed_.values;
  const auto at = std::lower_bound(values.begin(), values.end(), x);
  if (at != values.end() && *at == x) return static_cast<size_t>(at - values.begin());
  const auto on = std::find_if(fixed_.days.begin(), fixed_.days.end(),
                               [&](const FixedDay* day) { return FixedValues::day_of(*day, target_, x) == x; });
  return values.size() + static_cast<size_t>(on - fixed_.days.begin());
}

std::vector<std::string> BoundRule::choices() const {
  std::vector<std::string> out;
  for (const double x : fixed_.values) out.push_back(fmt::format("{}", x));
  for (const FixedDay* day : fixed_.days) out.emplace_back(day->function);
  out.push_back(kNoneFixed);
  return out;
}

// The value itself, or the nearest day of the kind, but not below `least`: the next one, or `x` where there is none.
double BoundRule::fixed(size_t choice, double x, double least) const {
  const auto& values = fixed_.values;
  if (choice < values.size()) {
    const auto at = std::lower_bound(values.begin(), values.end(), std::max(values[choice], least));
    return at == values.end() ? x : *at;
  }
  if (choice == values.size() + fixed_.days.size() || x != x) return x;
  const FixedDay& day = *fixed_.days[choice - values.size()];
  const double step = day.step * kind_of(target_).unit;
  double nearest = kMissing;
  for (const double steps : {0, -1, 1, 2}) {
    const double other = FixedValues::day_of(day, target_, x + steps * step);
    if (other >= least && !(std::abs(other - x) >= std::abs(nearest - x))) nearest = other;
  }
  return nearest == nearest ? nearest : x;
}

void BoundRule::reduce(Table& table, Team&) const {
  const std::vector<const Column*> lower = all_of(table, lower_);
  Column& c = numbers_of(table, target_.name);
  Column choice;
  if (!fixed_.column.empty()) {
    choice.name = fixed_.column, choice.type = ColumnType::category, choice.reason = text();
    choice.values = choices();
    for (double& x : c.numbers) {
      const size_t fixed = x == x ? choice_of(x) : 0;
      choice.codes.push_back(x == x ? static_cast<int32_t>(fixed) : -1);
      if (x == x && fixed < fixed_.values.size()) x = kMissing;  // fill() puts the distance of another row there
    }
  }
  int digits = digits_of(c);
  for (const Column* l : lower) digits = std::max(digits, digits_of(*l));
  c.type = digits == 0 ? ColumnType::integer : ColumnType::decimal;
  c.decimals = digits == kAllDigits ? 15 : digits;
  c.format = digits == kAllDigits ? "%g" : "";
  c.arrow.clear();
  c.reason = text();
  for (size_t i = 0; i < c.numbers.size(); ++i) c.numbers[i] = rounded(c.numbers[i] - largest(lower, i), digits);
  if (!fixed_.column.empty())
    table.columns.insert(table.columns.begin() + place_of(table, target_.name), std::move(choice));
}

// A fixed value needs no distance; where the column is missing, which is learned with the distance, the choice is none.
void BoundRule::fill(Table& table, uint64_t seed) const {
  if (fixed_.column.empty()) return;
  Column &choice = column_of(table, fixed_.column), &c = numbers_of(table, target_.name);
  std::vector<bool> missing;
  for (const int32_t code : choice.codes) missing.push_back(code < 0);
  const auto none = std::find(choice.values.begin(), choice.values.end(), kNoneFixed);
  const auto code = static_cast<int32_t>(none - choice.values.begin());
  if (none == choice.values.end()) choice.values.emplace_back(kNoneFixed);
  for (int32_t& each : choice.codes)
    if (each < 0) each = code;
  Bulk<double> numbers = c.numbers;
  fill_missing(c, seed);
  for (size_t i = 0; i < missing.size(); ++i)
    if (missing[i]) c.numbers[i] = numbers[i];
}

void BoundRule::restore(Table& rows) const {
  const std::vector<const Column*> lower = all_of(rows, lower_);
  std::vector<size_t> choice_of_code;
  Bulk<int32_t> codes;
  if (!fixed_.column.empty()) {
    const Column& choice = column_of(rows, fixed_.column);
    const std::vector<std::string> all = choices();
    for (const std::string& text : choice.values)
      choice_of_code.push_back(
          std::min(static_cast<size_t>(std::find(all.begin(), all.end(), text) - all.begin()), all.size() - 1));
    codes = choice.codes;
  }
  Column& c = numbers_of(rows, target_.name);
  Bulk<double> numbers = std::move(c.numbers);
  c = target_;
  const int digits = digits_of(c);
  for (size_t i = 0; i < numbers.size(); ++i) {
    const double least = largest(lower, i);
    double x = numbers[i] != numbers[i] || least != least ? kMissing : above(least, numbers[i], digits);
    if (x > fixed_.high) x = std::max(fixed_.high, above(least, 0, digits));
    if (!codes.empty() && codes[i] >= 0 && least == least)
      x = fixed(choice_of_code[static_cast<size_t>(codes[i])], x, least);
    numbers[i] = x;
  }
  c.numbers = std::move(numbers);
  c.reason = text();
  if (!fixed_.column.empty()) remove_column(rows, fixed_.column);
}

nlohmann::json OrderRule::to_json() const {
  return {{"kind", kind()}, {"column", write_head(target_)}, {"not_below", lower_}};
}

nlohmann::json BoundRule::to_json() const {
  nlohmann::json out = OrderRule::to_json();
  std::vector<std::string> days;
  for (const FixedDay* day : fixed_.days) days.emplace_back(day->function);
  if (!fixed_.column.empty()) out["choice"] = fixed_.column, out["values"] = fixed_.values, out["days"] = days;
  if (fixed_.high == fixed_.high) out["high"] = fixed_.high;
  return out;
}

std::unique_ptr<const TableRule> BoundRule::read(const Fields& f) {
  OrderOf order = read_order(f);
  FixedValues fixed;
  if (f.has("high")) fixed.high = f.number("high");
  if (f.has("choice")) {
    fixed.column = f.text("choice"), fixed.values = f.numbers("values");
    for (const std::string& name : f.texts("days")) {
      const std::span<const FixedDay> all = FixedValues::all_days();
      const auto day = std::find_if(all.begin(), all.end(), [&](const FixedDay& d) { return name == d.function; });
      f.check(day != all.end() && (when_parts(order.target) & kHasDay) != 0,
              "has an order with days of an unknown kind, \"" + name + "\"");
      fixed.days.push_back(&*day);
    }
  }
  f.check(std::is_sorted(fixed.values.begin(), fixed.values.end()),
          "has an order with values that do not follow each other");
  return std::make_unique<BoundRule>(std::move(order.target), std::move(order.lower), std::move(fixed));
}

std::unique_ptr<const TableRule> LooseBoundRule::read(const Fields& f) {
  OrderOf order = read_order(f);
  return std::make_unique<LooseBoundRule>(std::move(order.target), std::move(order.lower));
}

const BoundRule* bound_of(const std::vector<FoundRule>& rules, const std::string& column) {
  for (const FoundRule& f : rules)
    if (const auto* bound = dynamic_cast<const BoundRule*>(f.rule.get()); bound && bound->target() == column)
      return bound;
  return nullptr;
}

}  // namespace tessera
