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
constexpr size_t kMostRateLevels = 20'000;
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

struct RatedPair {
  const Column &target, &of;
  bool factors;
  double half;  // of a unit of the target's last digit; 0: not rounded, as differences of numbers of its digits

  Interval of_row(int64_t row, int64_t other) const {
    return of_values(target.numbers[static_cast<size_t>(other)], of.numbers[static_cast<size_t>(row)]);
  }
  // All rates where the number is 0.
  Interval of_values(double t, double x) const {
    const double reach = std::max((1 + 1e-7) * half, 1e-12 * std::max(std::abs(t), std::abs(x)));
    if (!factors) return {t - x - reach, t - x + reach};
    if (x == 0) return std::abs(t) <= reach ? Interval{} : Interval{1, -1};
    return {std::min((t - reach) / x, (t + reach) / x), std::max((t - reach) / x, (t + reach) / x)};
  }
  bool missing(int64_t row, int64_t other) const { return target.is_missing(other) || of.is_missing(row); }
};

// Of each level; empty where a row has no rate in common with the others.
std::vector<Interval> rates_in(const std::vector<int64_t>& rows, const RatedPair& pair, const Column& by) {
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
Rates rates_of(const RuleSearch& search, const RatedPair& pair, const Column& by, const std::vector<Interval>& all) {
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

std::optional<FoundRule> rule_of_rates(const RuleSearch& search, const RatedPair& pair, const Column& by,
                                       double tried) {
  const std::vector<Interval> seen = rates_in(search.proposing, pair, by);
  if (seen.empty()) return {};
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

// A column in the proposing rows.
struct RatedNumbers {
  int column;
  std::vector<double> x;
  size_t distinct;
};
struct Category {
  int column;
  std::vector<int32_t> codes;
  std::vector<size_t> by_code;  // places in codes, those of a code together
};

RatedNumbers rated_numbers(const RuleSearch& search, int column) {
  RatedNumbers out{column, {}, 0};
  for (const int64_t row : search.proposing) out.x.push_back(search.column(column).numbers[static_cast<size_t>(row)]);
  out.distinct = distinct_of(out.x);
  return out;
}

Category category_in(const RuleSearch& search, int column) {
  Category out{column, {}, {}};
  for (const int64_t row : search.proposing) out.codes.push_back(search.column(column).codes[static_cast<size_t>(row)]);
  out.by_code.resize(out.codes.size());
  std::iota(out.by_code.begin(), out.by_code.end(), size_t{0});
  std::stable_sort(out.by_code.begin(), out.by_code.end(),
                   [&](size_t a, size_t b) { return out.codes[a] < out.codes[b]; });
  return out;
}

// Whether the rows of each category have a rate in common, and not all rows have.
bool rates_proposed(const RatedPair& pair, const RatedNumbers& target, const RatedNumbers& of, const Category& by) {
  Interval level, all;
  for (size_t k = 0; k < by.by_code.size(); ++k) {
    const size_t i = by.by_code[k];
    const double t = target.x[i], x = of.x[i];
    if ((t != t) != (x != x || by.codes[i] < 0)) return false;
    if (k == 0 || by.codes[i] != by.codes[by.by_code[k - 1]]) level = {};
    if (t != t) continue;
    const Interval here = pair.of_values(t, x);
    level.meet(here), all.meet(here);
    if (level.empty()) return false;
  }
  return all.empty();
}

}  // namespace

std::optional<FoundRule> find_rates(const RuleSearch& search) {
  std::vector<RatedNumbers> numbers;
  std::vector<Category> categories;
  for (int j = 0; j < static_cast<int>(search.columns()); ++j) {
    const Column& c = search.column(j);
    if (!search.usable(j)) continue;
    if (is_numeric(c.type) && numbers.size() < kMostNumbers) {
      numbers.push_back(rated_numbers(search, j));
      if (numbers.back().distinct < kLeastNumbers) numbers.pop_back();
    } else if (!is_numeric(c.type) && c.values.size() >= 2 && c.values.size() <= kMostRateLevels &&
               categories.size() < kMostCategories) {
      categories.push_back(category_in(search, j));
    }
    c.relax();
  }
  const auto tried = static_cast<double>(2 * numbers.size() * numbers.size() * categories.size());
  for (const RatedNumbers& t : numbers)
    for (const RatedNumbers& of : numbers) {
      if (t.column == of.column) continue;
      const Column &target = search.column(t.column), &x = search.column(of.column);
      const int digits = digits_of(target);
      const double half = digits == kAllDigits ? 0 : 0.5 * std::pow(10.0, -digits);
      for (const bool factors : {true, false}) {
        if (factors ? is_instant(target) || is_instant(x) : !comparable(target, x)) continue;
        // Of two that give each other, an amount follows from a quantity, and a later date from an earlier one.
        if (factors ? t.distinct < of.distinct : t.column < of.column) continue;
        const bool exact = !factors && digits_of(x) <= digits;
        const RatedPair pair{target, x, factors, exact ? 0 : half};
        for (const Category& by : categories) {
          if (!rates_proposed(pair, t, of, by)) continue;
          auto found = rule_of_rates(search, pair, search.column(by.column), tried);
          search.column(by.column).relax(), target.relax(), x.relax();
          if (found) return found;
        }
      }
    }
  return {};
}

}  // namespace tessera
