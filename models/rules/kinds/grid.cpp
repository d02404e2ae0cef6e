#include "models/rules/kinds/grid.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/text/json_fields.h"
#include "models/data/table/decimals.h"
#include "models/rules/columns.h"

namespace tessera {

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

}  // namespace tessera
