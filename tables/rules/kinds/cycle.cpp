#include "tables/rules/kinds/cycle.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tables/expression/arithmetic.h"
#include "tables/table/decimals.h"

namespace tessera {
namespace {

constexpr double kDaysPerWeek = 7;
constexpr double kThursday = 3;  // day 0, 1970-01-01, in days from Monday

double period_of(const Column& c, double given) {
  return given > 0 ? given : has_time(c) ? kind_of(c).day : kDaysPerWeek;
}
double offset_of(const Column& c, double given) { return given > 0 || has_time(c) ? 0 : kThursday; }

class CycleRule : public RuleOf<CycleData> {
 public:
  using RuleOf::RuleOf;

  std::string text() const override {
    if (whole()) return fmt::format("{} by {:.0f}, and what is before it", phase(), data_.period);
    return phase() + (daily() ? ", and its day" : ", and its week");
  }
  std::string_view kept() const override { return "as a cycle"; }
  // The column becomes the number of its week, or its date; behind it comes phase().
  void reduce(Table& table, Team&) const override {
    Column& c = numbers_of(table, data_.target.name);
    const double period = this->period(), offset = this->offset();
    Column phase;
    phase.name = this->phase(), phase.reason = text();
    become_count(phase, digits_of(c));
    phase.numbers = c.numbers;
    for (double& x : phase.numbers) x = x != x ? kMissing : rounded(phase_of(c, x, data_.period), phase.decimals);
    for (double& x : c.numbers) x = std::floor((x + offset) / period);
    if (daily()) become_moment(c, true, false);
    else become_count(c);
    c.reason = text();
    table.columns.insert(table.columns.begin() + place_of(table, data_.target.name) + 1, std::move(phase));
  }
  void fill(Table& table, uint64_t seed) const override {
    if (place_of(table, phase()) >= 0) fill_missing(numbers_of(table, phase()), seed);  // else a combination took it
  }
  void restore(Table& rows) const override {
    Column& c = numbers_of(rows, data_.target.name);
    Bulk<double> numbers = std::move(c.numbers);
    const Column& phase = numbers_of(rows, this->phase());
    c = data_.target;
    const int digits = digits_of(c);
    const bool bounded = daily() && data_.high > data_.low;
    const double period = this->period(), unit = 1 / grid_of(digits);
    const double first = bounded ? data_.low : 0, last = (bounded ? data_.high : period) - unit;
    for (size_t i = 0; double& x : numbers) {
      const double within = std::clamp(rounded(phase.numbers[i++], digits), first, last);  // NaN stays
      x = rounded(period * std::nearbyint(x) + within - offset(), digits);
      if (whole() && x > data_.high && x - period >= data_.low) x -= period;
      if (whole() && x < data_.low && x + period <= data_.high) x += period;
    }
    c.numbers = std::move(numbers);
    remove_column(rows, this->phase());
  }
  void show(const std::string& learned, std::vector<std::string>& columns) const override {
    if (learned == column() || learned == phase()) columns.clear();
  }

 private:
  bool whole() const { return data_.period > 0; }
  bool daily() const { return !whole() && has_time(data_.target); }
  double period() const { return period_of(data_.target, data_.period); }
  double offset() const { return offset_of(data_.target, data_.period); }
  std::string phase() const { return phase_of(data_.target); }
};

}  // namespace

RulePtr make_rule(CycleData data) { return std::make_shared<CycleRule>(std::move(data)); }

void CycleData::check(const Fields& f) const {
  f.check(period == 0 ? is_instant(target.type) && low >= 0 && low <= high && (high == 0 || high <= kind_of(target).day)
                      : is_count(target) && period >= 2 && period == std::floor(period) && low <= high,
          "has a cycle of no dates and no whole numbers");
}

std::string phase_of(const Column& column) {
  return (!is_instant(column.type) ? "remainder of " : has_time(column) ? "time of " : "weekday of ") + column.name;
}

double phase_of(const Column& column, double x, double given) {
  const double period = period_of(column, given), from = x + offset_of(column, given);
  return from - period * std::floor(from / period);
}

}  // namespace tessera
