#include "tables/rules/kinds/grid.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text/json_fields.h"
#include "tables/expression/arithmetic.h"
#include "tables/formats/calendar.h"
#include "tables/rules/rule/columns.h"
#include "tables/table/decimals.h"

namespace tessera {
namespace {

Civil civil(double day) { return civil_from_days(day_in_calendar(day)); }

}  // namespace

double Grid::spacing() const { return static_cast<double>(step) / grid_of(digits); }

std::string Grid::text() const {
  const std::string multiple = fmt::format("{:g}", spacing());
  return first == 0 ? multiple : fmt::format("{} plus {:g}", multiple, static_cast<double>(first) / grid_of(digits));
}

bool Grid::holds(double x) const {
  const double units = x * grid_of(digits);
  return std::abs(units) <= kMaxUnits && rounded(x, digits) == x && (std::llround(units) - first) % step == 0;
}

double Grid::nearest(double x) const {
  const double unit = grid_of(digits), by = static_cast<double>(step), from = static_cast<double>(first);
  return rounded((from + by * std::nearbyint((x * unit - from) / by)) / unit, digits);
}

std::string GridRule::text() const { return fmt::format("{} is a multiple of {}", said_, grid_.text()); }

std::vector<std::string> GridRule::columns(const Table&) const { return {column_}; }

std::vector<char> GridRule::broken(const Table& rows, const Table&) const {
  std::vector<char> out;
  for (const double x : numbers_of(rows, column_).numbers) {
    const double point = grid_.nearest(x);
    out.push_back(std::abs(x - point) > 1e-12 * std::max(1.0, std::abs(x)) ? 1 : 0);
  }
  return out;
}

void GridRule::restore(Table& rows) const {
  for (double& x : numbers_of(rows, column_).numbers) x = grid_.nearest(x);
}

nlohmann::json GridRule::to_json() const {
  nlohmann::json out = write_grid(grid_);
  out["kind"] = kind(), out["column"] = column_, out["of"] = said_;
  return out;
}

std::unique_ptr<const TableRule> GridRule::read(const Fields& f) {
  return std::make_unique<GridRule>(f.text("column"), f.text("of"), read_grid(f));
}

nlohmann::json write_grid(const Grid& grid) {
  return {{"step", grid.step}, {"first", grid.first}, {"digits", grid.digits}};
}

Grid read_grid(const Fields& f) {
  constexpr int64_t kMost = int64_t{1} << 52;
  const Grid out{f.integer("step", 1, kMost), f.integer("first", 0, kMost),
                 static_cast<int>(f.integer("digits", 0, 15))};
  f.check(out.first < out.step, "has a grid that begins beyond its step");
  return out;
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
