#include "models/rules/kinds/grid.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/text/json_fields.h"
#include "models/data/formats/calendar.h"
#include "models/data/table/decimals.h"
#include "models/expression/arithmetic.h"
#include "models/rules/rule/columns.h"

namespace tessera {
namespace {

Civil civil(double day) { return civil_from_days(day_in_calendar(day)); }

}  // namespace

std::string GridRule::text() const {
  const double unit = grid_of(digits_), step = static_cast<double>(step_) / unit;
  const std::string multiple = fmt::format("{} is a multiple of {:g}", said_, step);
  return first_ == 0 ? multiple : fmt::format("{} plus {:g}", multiple, static_cast<double>(first_) / unit);
}

std::vector<std::string> GridRule::columns(const Table&) const { return {column_}; }

double GridRule::nearest(double x) const {
  const double unit = grid_of(digits_), step = static_cast<double>(step_), first = static_cast<double>(first_);
  return rounded((first + step * std::nearbyint((x * unit - first) / step)) / unit, digits_);
}

std::vector<char> GridRule::broken(const Table& rows, const Table&) const {
  std::vector<char> out;
  for (const double x : numbers_of(rows, column_).numbers) {
    const double point = nearest(x);
    out.push_back(std::abs(x - point) > 1e-12 * std::max(1.0, std::abs(x)) ? 1 : 0);
  }
  return out;
}

void GridRule::restore(Table& rows) const {
  for (double& x : numbers_of(rows, column_).numbers) x = nearest(x);
}

nlohmann::json GridRule::to_json() const {
  return {{"kind", kind()}, {"column", column_}, {"of", said_},
          {"step", step_},  {"first", first_},   {"digits", digits_}};
}

std::unique_ptr<const TableRule> GridRule::read(const Fields& f) {
  constexpr int64_t kMost = int64_t{1} << 52;
  const int64_t step = f.integer("step", 2, kMost), first = f.integer("first", 0, kMost);
  f.check(first < step, "has a grid that begins beyond its step");
  return std::make_unique<GridRule>(f.text("column"), f.text("of"), step, first,
                                    static_cast<int>(f.integer("digits", 0, 15)));
}

bool MonthRule::on_first(double day) { return civil(day).day == 1; }
bool MonthRule::on_last(double day) { return on_first(day + 1); }

std::string MonthRule::text() const {
  return fmt::format("{} is the {} day of a month", quoted_name(column_), last_ ? "last" : "first");
}

std::vector<char> MonthRule::broken(const Table& rows, const Table&) const {
  std::vector<char> out;
  for (const double x : numbers_of(rows, column_).numbers)
    out.push_back(x == x && !(last_ ? on_last(x) : on_first(x)) ? 1 : 0);
  return out;
}

void MonthRule::restore(Table& rows) const {
  for (double& x : numbers_of(rows, column_).numbers) {
    if (x != x) continue;
    const Civil c = civil(x);
    x = static_cast<double>(last_ ? days_from_civil(c.year + c.month / 12, c.month % 12 + 1, 1) - 1
                                  : days_from_civil(c.year, c.month, 1));
  }
}

nlohmann::json MonthRule::to_json() const { return {{"kind", kind()}, {"column", column_}, {"last", last_}}; }

std::unique_ptr<const TableRule> MonthRule::read(const Fields& f) {
  return std::make_unique<MonthRule>(f.text("column"), f.flag("last"));
}

}  // namespace tessera
