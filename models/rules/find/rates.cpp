// Numbers that another one gives at a rate, or a difference, of each category. In the rows of a category all rates that
// rounding allows must have a number in common: the shortest of them is the rate.
#include "models/rules/kinds/rate.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "models/rules/find/factors.h"
#include "models/rules/find/search.h"
#include "models/rules/rule/columns.h"

namespace tessera {
namespace {

constexpr size_t kMostNumbers = 60, kMostCategories = 30;  // the work grows with numbers² · categories
constexpr size_t kMostLevels = 20'000;
constexpr size_t kLeastNumbers = 3;  // distinct ones: of fewer, the category alone gives the target

// The rates that give a value but for rounding.
struct Interval {
  double low = -INFINITY, high = INFINITY;
  int64_t rows = 0;

  bool empty() const { return !(low <= high); }
  bool has(double rate) const { return low <= rate && rate <= high; }
  void meet(const Interval& other) {
    low = std::max(low, other.low), high = std::min(high, other.high);
    ++rows;
  }
};

struct Pair {
  const Column &target, &of;
  bool factors;
  double half;  // of a unit of the target's last digit; 0: not rounded, as differences of numbers of its digits

  // Of one row; all rates where the number is 0.
  Interval of_row(int64_t row, int64_t other) const {
    const double t = target.numbers[static_cast<size_t>(other)], x = of.numbers[static_cast<size_t>(row)];
    const double reach = std::max((1 + 1e-7) * half, 1e-12 * std::max(std::abs(t), std::abs(x)));
    if (!factors) return {t - x - reach, t - x + reach};
    if (x == 0) return std::abs(t) <= reach ? Interval{} : Interval{1, -1};
    return {std::min((t - reach) / x, (t + reach) / x), std::max((t - reach) / x, (t + reach) / x)};
  }
  bool missing(int64_t row, int64_t other) const { return target.is_missing(other) || of.is_missing(row); }
};

// Of each level; empty where a row has no rate in common with the others.
std::vector<Interval> rates_in(const std::vector<int64_t>& rows, const Pair& pair, const Column& by) {
  std::vector<Interval> out(by.values.size());
  for (const int64_t row : rows) {
    const int32_t code = by.codes[static_cast<size_t>(row)];
    if (pair.target.is_missing(row) != (pair.of.is_missing(row) || code < 0)) return {};
    if (pair.target.is_missing(row)) continue;
    Interval& level = out[static_cast<size_t>(code)];
    level.meet(pair.of_row(row, row));
    if (level.empty()) return {};
  }
  return out;
}

// The rate of each level that as many rows have as may be known.
Rates rates_of(const RuleSearch& search, const Pair& pair, const Column& by, const std::vector<Interval>& all) {
  Rates out;
  out.factors = pair.factors;
  for (size_t v = 0; v < all.size(); ++v) {
    if (all[v].rows < search.options.least_rows) continue;
    const double middle = (all[v].low + all[v].high) / 2;
    out.levels.push_back(by.values[v]);
    out.rates.push_back(std::isfinite(middle) ? short_number(middle, (all[v].high - all[v].low) / 2) : 0);
  }
  return out;
}

std::optional<FoundRule> rule_of(const RuleSearch& search, const Pair& pair, const Column& by, double tried) {
  const std::vector<Interval> seen = rates_in(search.proposing, pair, by);
  if (seen.empty()) return {};
  // At least two levels with rates of their own: else the category has no part in it.
  double low = -INFINITY, high = INFINITY;
  for (const Interval& level : seen)
    if (level.rows > 0) low = std::max(low, level.low), high = std::min(high, level.high);
  if (low <= high) return {};
  std::vector<int64_t> rows(static_cast<size_t>(search.table.rows));
  std::iota(rows.begin(), rows.end(), 0);
  const std::vector<Interval> all = rates_in(rows, pair, by);
  if (all.empty()) return {};
  const auto holds = [&](int64_t row, int64_t other) {
    const int32_t code = by.codes[static_cast<size_t>(row)];
    // a row alone in its level, or of a level that proposing rows do not have, says nothing
    if (code < 0 || pair.missing(row, other) || seen[static_cast<size_t>(code)].rows == 0) return -1;
    Interval level = seen[static_cast<size_t>(code)];
    level.meet(pair.of_row(row, other));
    return level.empty() ? 0 : 1;
  };
  auto evidence = search.evidence_of(holds, tried);
  if (!evidence) return {};
  Rates rates = rates_of(search, pair, by, all);
  int64_t rare = 0;
  for (const Interval& level : all) rare += level.rows < search.options.least_rows ? level.rows : 0;
  if (rates.levels.empty() || rare > search.table.rows / 10) return {};
  return FoundRule{std::make_shared<RateRule>(head_of(pair.target), pair.of.name, by.name, std::move(rates)), *evidence,
                   "", pair.target.name};
}

size_t distinct_numbers(const RuleSearch& search, const Column& c) {
  std::vector<double> seen;
  for (const int64_t row : search.proposing)
    if (!c.is_missing(row)) seen.push_back(c.numbers[static_cast<size_t>(row)]);
  std::sort(seen.begin(), seen.end());
  return static_cast<size_t>(std::unique(seen.begin(), seen.end()) - seen.begin());
}

}  // namespace

std::optional<FoundRule> find_rates(const RuleSearch& search) {
  std::vector<int> numbers, categories;
  std::vector<size_t> distinct(search.columns(), 0);
  for (int j = 0; j < static_cast<int>(search.columns()); ++j) {
    const Column& c = search.column(j);
    if (!search.usable(j)) continue;
    if (is_numeric(c.type)) {
      size_t& values = distinct[static_cast<size_t>(j)];
      values = distinct_numbers(search, c);
      if (numbers.size() < kMostNumbers && values >= kLeastNumbers) numbers.push_back(j);
    } else if (c.values.size() >= 2 && c.values.size() <= kMostLevels && categories.size() < kMostCategories) {
      categories.push_back(j);
    }
  }
  const auto tried = static_cast<double>(2 * numbers.size() * numbers.size() * categories.size());
  for (const int t : numbers)
    for (const int of : numbers) {
      if (t == of) continue;
      const Column &target = search.column(t), &x = search.column(of);
      const int digits = digits_of(target);
      const double half = digits == kAllDigits ? 0 : 0.5 * std::pow(10.0, -digits);
      const bool instants = target.type == ColumnType::date || target.type == ColumnType::datetime;
      for (const bool factors : {true, false}) {
        // Of two that give each other, an amount follows from a quantity, and a later date from an earlier one.
        if (factors ? distinct[static_cast<size_t>(t)] < distinct[static_cast<size_t>(of)] : t < of) continue;
        if (factors ? instants || x.type == ColumnType::date || x.type == ColumnType::datetime : !comparable(target, x))
          continue;
        const bool exact = !factors && digits_of(x) <= digits;
        for (const int by : categories) {
          auto found = rule_of(search, {target, x, factors, exact ? 0 : half}, search.column(by), tried);
          search.column(by).relax();
          if (found) return found;
        }
      }
      target.relax(), x.relax();
    }
  return {};
}

}  // namespace tessera
