#include "tables/rules/kinds/cycle.h"

#include <algorithm>
#include <cmath>

#include "base/text/json_fields.h"
#include "tables/expression/arithmetic.h"
#include "tables/kinds/kind.h"
#include "tables/rules/rule/columns.h"
#include "tables/table/decimals.h"

namespace tessera {
namespace {

constexpr double kDaysPerWeek = 7;
constexpr double kThursday = 3;  // day 0, 1970-01-01, in days from Monday

double period_of(const Column& c) { return has_time(c) ? kind_of(c).day : kDaysPerWeek; }
double offset_of(const Column& c) { return has_time(c) ? 0 : kThursday; }

}  // namespace

std::string CycleRule::phase_of(const Column& column) {
  return (has_time(column) ? "time of " : "weekday of ") + column.name;
}

double CycleRule::phase_of(const Column& column, double x) {
  const double period = period_of(column), from = x + offset_of(column);
  return from - period * std::floor(from / period);
}

std::string CycleRule::text() const { return phase() + (daily() ? ", and its day" : ", and its week"); }

void CycleRule::reduce(Table& table, Team&) const {
  Column& c = numbers_of(table, target_.name);
  const double period = period_of(c), offset = offset_of(c);
  Column phase;
  phase.name = this->phase(), phase.decimals = digits_of(c), phase.reason = text();
  phase.type = phase.decimals == 0 ? ColumnType::integer : ColumnType::decimal;
  phase.numbers = c.numbers;
  for (double& x : phase.numbers) x = x != x ? kMissing : rounded(phase_of(c, x), phase.decimals);
  for (double& x : c.numbers) x = std::floor((x + offset) / period);
  c.type = daily() ? ColumnType::date : ColumnType::integer;
  c.decimals = 0, c.format = daily() ? "%Y-%m-%d" : "", c.reason = text();
  c.arrow.clear();
  table.columns.insert(table.columns.begin() + place_of(table, target_.name) + 1, std::move(phase));
}

void CycleRule::fill(Table& table, uint64_t seed) const { fill_missing(numbers_of(table, phase()), seed); }

void CycleRule::restore(Table& rows) const {
  Column& c = numbers_of(rows, target_.name);
  Bulk<double> numbers = std::move(c.numbers);
  const Column& phase = numbers_of(rows, this->phase());
  c = target_;
  const int digits = digits_of(c);
  const double period = period_of(c), last = period - 1 / grid_of(digits);
  for (size_t i = 0; double& x : numbers) {
    const double within = std::clamp(rounded(phase.numbers[i++], digits), 0.0, last);  // NaN stays
    x = rounded(period * std::nearbyint(x) + within - offset_of(c), digits);
  }
  c.numbers = std::move(numbers);
  remove_column(rows, this->phase());
}

nlohmann::json CycleRule::to_json() const { return {{"kind", kind()}, {"column", write_head(target_)}}; }

std::unique_ptr<const TableRule> CycleRule::read(const Fields& f) {
  Column target = read_head(Fields(f.at("column"), f.place()));
  f.check(is_instant(target.type), "has a cycle of no dates");
  return std::make_unique<CycleRule>(std::move(target));
}

}  // namespace tessera
