// Numbers that are another number times a rate, or plus a difference, of each category. Rounding leaves an interval of
// rates for each row; the intervals of a category must intersect, and the simplest number in the intersection is the
// rate.
#include "tables/rules/kinds/rate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tables/kinds/kind.h"
#include "tables/rules/find/factors.h"
#include "tables/rules/find/search.h"
#include "tables/rules/rule/columns.h"

namespace tessera {
namespace {

constexpr size_t kMaxNumbers = 60, kMaxCategories = 30;  // the work grows with numbers² · categories
constexpr size_t kMaxSummands = 30;                      // with numbers³ · categories
constexpr size_t kMaxRateLevels = 20'000;
constexpr int kMaxRateDigits = 15;
constexpr size_t kMinNumbers = 3;  // distinct ones: with fewer, the category alone determines the target

// Half a unit of the last digit, of the numbers as the column holds them.
double half_of(const Column& c) { return half_unit(c) * kind_of(c).unit; }

// Rates that reproduce a value up to rounding.
struct Interval {
  double low = -INFINITY, high = INFINITY;
  int64_t rows = 0;  // that constrain the rate

  bool empty() const { return !(low <= high); }
  void meet(const Interval& other) {
    low = std::max(low, other.low), high = std::min(high, other.high);
    rows += std::isfinite(other.low) || std::isfinite(other.high);
  }
};

struct RatedPair {
  const Column &target, &of;
  bool factors;
  double half;  // of a unit of the target's last digit; 0: not rounded, as differences of numbers of its digits
  const Column* plus = nullptr;

  Interval of_row(int64_t row, int64_t other) const {
    const double t = target.numbers[static_cast<size_t>(other)];
    return of_values(plus == nullptr ? t : t - plus->numbers[static_cast<size_t>(row)],
                     of.numbers[static_cast<size_t>(row)]);
  }
  // All rates where the number is 0.
  Interval of_values(double t, double x) const {
    const double reach = std::max((1 + 1e-7) * half, 1e-12 * std::max(std::abs(t), std::abs(x)));
    if (!factors) return {t - x - reach, t - x + reach};
    if (x == 0) return std::abs(t) <= reach ? Interval{} : Interval{1, -1};
    return {std::min((t - reach) / x, (t + reach) / x), std::max((t - reach) / x, (t + reach) / x)};
  }
  // What the row's value is above that of a rate; NaN: one of the numbers is missing, or any rate gives it.
  double off(int64_t row, double rate) const {
    const auto i = static_cast<size_t>(row);
    const double x = of.numbers[i], base = plus == nullptr ? 0 : plus->numbers[i];
    return factors && x == 0 ? kMissing : target.numbers[i] - base - (factors ? rate * x : rate + x);
  }
  bool gives(int64_t row) const { return !of.is_missing(row) && (plus == nullptr || !plus->is_missing(row)); }
};

// The constraints that the rows of a level put on its rate.
struct Level {
  Interval rate;
  Outermost low, high;
};

// A category, and its values with enough holders to be disclosed. Protection replaces the other values: their rows are
// ignored.
struct RatedBy {
  const Column& column;
  const std::vector<Held>& held;
  int64_t least;

  RatedBy(const RuleSearch& search, const RatedPair& pair, const Column& by)
      : column(by), held(search.holders.of_values(by)), least(search.holders.least({&pair.target, &pair.of, &by})) {}
  int32_t code(int64_t row) const { return column.codes[static_cast<size_t>(row)]; }
  bool is_rare(int32_t code) const { return code >= 0 && held[static_cast<size_t>(code)].holders < least; }
};

// Whether exactly one of the target and its input is missing.
bool missing_alone(const RatedPair& pair, const RatedBy& by, int64_t row) {
  return pair.target.is_missing(row) != (!pair.gives(row) || by.code(row) < 0);
}

// Narrows the interval of the row's level; false: it is empty.
bool narrows(const RuleSearch& search, const RatedPair& pair, const RatedBy& by, int64_t row, Interval& level) {
  if (missing_alone(pair, by, row)) return search.gaps_may_be();
  if (!pair.target.is_missing(row)) level.meet(pair.of_row(row, row));
  return !level.empty();
}

// By proposing rows; empty where a row has no rate in common with the others of its level.
std::vector<Interval> proposed_rates(const RuleSearch& search, const RatedPair& pair, const RatedBy& by) {
  std::vector<Interval> out(by.held.size());
  Interval none;
  for (const int64_t row : search.proposing) {
    const int32_t code = by.code(row);
    if (!by.is_rare(code) && !narrows(search, pair, by, row, code < 0 ? none : out[static_cast<size_t>(code)]))
      return {};
  }
  return out;
}

// The simplest number, or one over it where that has fewer digits: 1 / 1.08 for 0.925926.
double simplest_rate(double low, double high) {
  const auto digits = [](double x) { return x == x ? fmt::format("{}", x).size() : SIZE_MAX; };
  const double rate = simplest_between(low, high, Ends::both, kMaxRateDigits);
  if (!(low > 0)) return rate;
  const double over = simplest_between(1 / high, 1 / low, Ends::both, kMaxRateDigits);
  return digits(over) < digits(rate) && low <= 1 / over && 1 / over <= high ? 1 / over : rate;
}

// From all rows: the simplest rate of each level that would be the same without some holders. Other levels get one of
// these rates in sampled rows, so they must be few of the rows that have both numbers. `gaps`: the target or its input
// is missing alone in some row.
std::optional<Rates> stable_rates(const RuleSearch& search, const RatedPair& pair, const RatedBy& by, bool& gaps) {
  std::vector<Level> levels(by.held.size(), {{}, Outermost(-1, by.least), Outermost(1, by.least)});
  std::vector<int64_t> complete(by.held.size());  // rows of each level
  Interval none;
  bool all = true;
  search.holders.each([&](int64_t row, int64_t holder) {
    const int32_t code = by.code(row);
    if (code >= 0 && !pair.target.is_missing(row) && pair.gives(row)) ++complete[static_cast<size_t>(code)];
    if (!all || by.is_rare(code)) return;
    const bool alone = missing_alone(pair, by, row);
    gaps |= alone;
    if (code < 0) {
      all = narrows(search, pair, by, row, none);
      return;
    }
    Level& level = levels[static_cast<size_t>(code)];
    all = narrows(search, pair, by, row, level.rate);
    if (!all || alone || pair.target.is_missing(row)) return;
    const Interval here = pair.of_row(row, row);
    level.low.add(here.low, holder), level.high.add(here.high, holder);
  });
  if (!all) return {};
  Rates out;
  out.factors = pair.factors;
  int64_t others = 0, rows = 0;
  for (size_t v = 0; v < levels.size(); ++v) {
    const auto rate = stable_between(levels[v].low, levels[v].high, simplest_rate);
    rows += complete[v];
    if (by.held[v].holders < by.least || !rate) {
      others += complete[v];
      continue;
    }
    out.levels.push_back(by.column.values[v]);
    out.rates.push_back(*rate);
  }
  if (out.levels.empty() || others > rows / 10) return {};
  return out;
}

// Whether the rates are nearer to the values of a tenth of the rows of each level than half a unit of the last digit.
// Where they miss all by just that half, in both directions, they lie between two values that have none in common: 19.5
// for 19 and 20. Halves that are rounded to even numbers are half of the rows.
bool gives_most(const RuleSearch& search, const RatedPair& pair, const RatedBy& by, const Rates& rates) {
  if (pair.half == 0) return true;
  struct Missed {
    int64_t rows = 0, above = 0, below = 0;
  };
  std::vector<double> rate(by.held.size(), kMissing);
  for (size_t k = 0; k < rates.levels.size(); ++k)
    if (const auto at = std::ranges::find(by.column.values, rates.levels[k]); at != by.column.values.end())
      rate[static_cast<size_t>(at - by.column.values.begin())] = rates.rates[k];
  std::vector<Missed> missed(by.held.size());
  for (int64_t row = 0; row < search.table.rows; ++row) {
    const int32_t code = by.code(row);
    if (code < 0) continue;
    Missed& level = missed[static_cast<size_t>(code)];
    const double off = pair.off(row, rate[static_cast<size_t>(code)]), almost = (1 - 1e-6) * pair.half;
    level.rows += off == off, level.above += off >= almost, level.below += off <= -almost;
  }
  return std::ranges::all_of(missed, [](const Missed& level) {
    return level.above == 0 || level.below == 0 || 10 * (level.above + level.below) <= 9 * level.rows;
  });
}

std::optional<FoundRule> rule_of_rates(const RuleSearch& search, const RatedPair& pair, const RatedBy& by,
                                       double tried) {
  const std::vector<Interval> seen = proposed_rates(search, pair, by);
  if (seen.empty()) return {};
  const auto holds = [&](int64_t row, int64_t other) {
    const int32_t code = by.code(row);
    // ignore levels with one row, and levels unseen in the proposing rows
    if (code < 0 || by.is_rare(code) || pair.target.is_missing(other) || !pair.gives(row) ||
        seen[static_cast<size_t>(code)].rows == 0)
      return -1;
    Interval level = seen[static_cast<size_t>(code)];
    level.meet(pair.of_row(row, other));
    return level.empty() ? 0 : 1;
  };
  const auto evidence = search.evidence_of(holds, tried);
  bool gaps = false;
  auto rates = evidence ? stable_rates(search, pair, by, gaps) : std::nullopt;
  if (!rates || !gives_most(search, pair, by, *rates)) return {};
  return FoundRule{
      make_rule(RateData{std::move(*rates), head_of(pair.target), pair.of.name, by.column.name,
                         pair.plus == nullptr ? std::string() : pair.plus->name, search.seen_as(pair.target, gaps)}),
      *evidence};
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
  std::vector<size_t> by_code;  // indices into codes, grouped by code
};

RatedNumbers rated_numbers(const RuleSearch& search, int column) {
  RatedNumbers out{column, numbers_in(search.column(column), search.proposing), 0};
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
bool rates_proposed(const RuleSearch& search, const RatedPair& pair, const std::vector<double>& target,
                    const std::vector<double>& of, const Category& by, const RatedBy& rated) {
  Interval level, all;
  double first = kMissing;
  bool varies = false;  // within a category: else the category alone determines the target
  for (size_t k = 0; k < by.by_code.size(); ++k) {
    const size_t i = by.by_code[k];
    if (rated.is_rare(by.codes[i])) continue;
    const double t = target[i], x = of[i];
    const bool none = x != x || by.codes[i] < 0;
    if ((t != t) != none && !search.gaps_may_be()) return false;
    if (k == 0 || by.codes[i] != by.codes[by.by_code[k - 1]]) level = {}, first = kMissing;
    if (t != t || none) continue;
    if (first != first) first = t;
    varies = varies || t != first;
    const Interval here = pair.of_values(t, x);
    level.meet(here), all.meet(here);
    if (level.empty()) return false;
  }
  return varies && all.empty();
}

std::optional<FoundRule> rates_by(const RuleSearch& search, const RatedPair& pair, const std::vector<double>& target,
                                  const std::vector<double>& of, const Category& by, double tried) {
  const RatedBy rated(search, pair, search.column(by.column));
  if (!rates_proposed(search, pair, target, of, by, rated)) return {};
  const auto place = [&](const Column& c) { return static_cast<int>(&c - search.table.columns.data()); };
  std::vector<int> inputs{place(pair.of), by.column};
  if (pair.plus != nullptr) inputs.push_back(place(*pair.plus));
  if (!search.may_give(place(pair.target), inputs)) return {};
  auto found = rule_of_rates(search, pair, rated, tried);
  search.table.relax();
  return found;
}

// total = price + shipping where the item is delivered: a rate of 0 for a category means without shipping. The later
// column is computed, the last total first: it may be the sum of another total.
std::optional<FoundRule> shares_by_category(const RuleSearch& search, const std::vector<RatedNumbers>& numbers,
                                            const std::vector<Category>& categories) {
  if (numbers.size() > kMaxSummands) return {};
  const auto tried = std::pow(static_cast<double>(numbers.size()), 3) * static_cast<double>(categories.size());
  std::vector<double> left;
  for (auto later = numbers.rbegin(); later != numbers.rend(); ++later)
    for (const RatedNumbers& plus : numbers) {
      const RatedNumbers& t = *later;
      const Column &target = search.column(t.column), &base = search.column(plus.column);
      if (!search.may_give(t.column, {plus.column}) || plus.column >= t.column || is_instant(target) ||
          is_instant(base))
        continue;
      left = t.x;
      for (size_t i = 0; i < left.size(); ++i) left[i] -= plus.x[i];
      for (const RatedNumbers& of : numbers) {
        const Column& x = search.column(of.column);
        if (of.column == t.column || of.column == plus.column || is_instant(x)) continue;
        const RatedPair pair{target, x, true, half_of(target), &base};
        for (const Category& by : categories)
          if (auto found = rates_by(search, pair, left, of.x, by, tried)) return found;
      }
    }
  return {};
}

}  // namespace

std::optional<FoundRule> find_rates(const RuleSearch& search) {
  std::vector<RatedNumbers> numbers;
  std::vector<Category> categories;
  for (int j = 0; j < static_cast<int>(search.columns()); ++j) {
    const Column& c = search.column(j);
    if (!search.usable(j)) continue;
    if (is_ordered(c) && numbers.size() < kMaxNumbers) {
      numbers.push_back(rated_numbers(search, j));
      if (numbers.back().distinct < kMinNumbers) numbers.pop_back();
    } else if (!is_ordered(c) && c.values.size() >= 2 && c.values.size() <= kMaxRateLevels &&
               categories.size() < kMaxCategories) {
      categories.push_back(category_in(search, j));
    }
    c.relax();
  }
  const auto tried = static_cast<double>(2 * numbers.size() * numbers.size() * categories.size());
  // If two columns determine each other, amounts follow from quantities, and later dates from earlier ones. A rounded
  // tax follows from an amount with more distinct values, which it does not determine.
  for (const bool coarser : {false, true})
    for (const RatedNumbers& t : numbers)
      for (const RatedNumbers& of : numbers) {
        if (t.column == of.column || !search.may_give(t.column, {of.column})) continue;
        const Column &target = search.column(t.column), &x = search.column(of.column);
        for (const bool factors : {true, false}) {
          if (factors ? is_instant(target) || is_instant(x) : coarser || !comparable(target, x)) continue;
          if (factors ? (t.distinct < of.distinct) != coarser : t.column < of.column) continue;
          const bool exact = !factors && digits_of(x) <= digits_of(target);
          const RatedPair pair{target, x, factors, exact ? 0 : half_of(target)};
          for (const Category& by : categories)
            if (auto found = rates_by(search, pair, t.x, of.x, by, tried)) return found;
        }
      }
  return shares_by_category(search, numbers, categories);
}

}  // namespace tessera
