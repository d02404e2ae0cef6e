#include "tables/rules/kinds/cycle.h"

#include <algorithm>
#include <cmath>

#include "tables/expression/arithmetic.h"
#include "tables/kinds/kind.h"
#include "tables/table/decimals.h"

namespace tessera {
namespace {

constexpr double kDaysPerWeek = 7;
constexpr double kThursday = 3;  // day 0, 1970-01-01, in days from Monday

double period_of(const Column& c) { return has_time(c) ? kind_of(c).day : kDaysPerWeek; }
double offset_of(const Column& c) { return has_time(c) ? 0 : kThursday; }

class CycleRule : public RuleOf<CycleData> {
 public:
  using RuleOf::RuleOf;

  std::string text() const override { return phase() + (daily() ? ", and its day" : ", and its week"); }
  std::string_view kept() const override { return "as a cycle"; }
  // The column becomes the number of its week, or its date; behind it comes phase().
  void reduce(Table& table, Team&) const override {
    Column& c = numbers_of(table, data_.target.name);
    const double period = period_of(c), offset = offset_of(c);
    Column phase;
    phase.name = this->phase(), phase.reason = text();
    become_count(phase, digits_of(c));
    phase.numbers = c.numbers;
    for (double& x : phase.numbers) x = x != x ? kMissing : rounded(phase_of(c, x), phase.decimals);
    for (double& x : c.numbers) x = std::floor((x + offset) / period);
    if (daily()) become_moment(c, true, false);
    else become_count(c);
    c.reason = text();
    table.columns.insert(table.columns.begin() + place_of(table, data_.target.name) + 1, std::move(phase));
  }
  void fill(Table& table, uint64_t seed) const override { fill_missing(numbers_of(table, phase()), seed); }
  void restore(Table& rows) const override {
    Column& c = numbers_of(rows, data_.target.name);
    Bulk<double> numbers = std::move(c.numbers);
    const Column& phase = numbers_of(rows, this->phase());
    c = data_.target;
    const int digits = digits_of(c);
    const double period = period_of(c), last = period - 1 / grid_of(digits);
    for (size_t i = 0; double& x : numbers) {
      const double within = std::clamp(rounded(phase.numbers[i++], digits), 0.0, last);  // NaN stays
      x = rounded(period * std::nearbyint(x) + within - offset_of(c), digits);
    }
    c.numbers = std::move(numbers);
    remove_column(rows, this->phase());
  }
  void show(const std::string& learned, std::vector<std::string>& columns) const override {
    if (learned == column() || learned == phase()) columns.clear();
  }

 private:
  bool daily() const { return has_time(data_.target); }
  std::string phase() const { return phase_of(data_.target); }
};

}  // namespace

RulePtr make_rule(CycleData data) { return std::make_shared<CycleRule>(std::move(data)); }

void CycleData::check(const Fields& f) const { f.check(is_instant(target.type), "has a cycle of no dates"); }

std::string phase_of(const Column& column) { return (has_time(column) ? "time of " : "weekday of ") + column.name; }

double phase_of(const Column& column, double x) {
  const double period = period_of(column), from = x + offset_of(column);
  return from - period * std::floor(from / period);
}

}  // namespace tessera
