// Columns that are sums of others with fixed factors: total = items + extras, price = 3.99 * items, a = b, shares that
// sum to 100. Each column in turn is regressed on those before it (Gram–Schmidt orthogonalization); if only rounding
// remains, factors are rounded to few digits and the sum is tested on every row.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "tables/kinds/kind.h"
#include "tables/rules/find/factors.h"
#include "tables/rules/find/regression.h"
#include "tables/rules/find/search.h"
#include "tables/rules/find/sum_text.h"
#include "tables/rules/rule/columns.h"

namespace tessera {
namespace {

constexpr size_t kMaxTerms = 12;  // longer sums are regressions, not rules
constexpr double kKept = 0.9;     // of the rows: min share in which a sum of most rows holds

// How well a sum reproduces its column: to the digit, up to rounding of each of its numbers, or the latter in most
// rows.
enum class Says { exactly, rounded, mostly };

// Whether each number of the sum was rounded on its own, as measures and shares of a whole are: counts have no digits
// to lose, and a total of counts that is off by one is not their total.
bool rounds_each(const RuleSearch& search, const std::vector<Term>& terms, int target, double constant) {
  const auto digits = [&](int column) { return digits_of(search.column(column)); };
  const auto like_target = [&](const Term& t) {
    return std::abs(t.factor) == 1 && is_quantity(search.column(t.column)) && digits(t.column) == digits(target);
  };
  const auto shares = [](const Term& t) { return t.factor == -1; };
  return !terms.empty() && digits(target) != kAllDigits && is_quantity(search.column(target)) &&
         std::all_of(terms.begin(), terms.end(), like_target) &&
         (has_fractions(search.column(target)) ||
          (terms.size() > 1 && constant != 0 && std::all_of(terms.begin(), terms.end(), shares)));
}

// Adds `times` an expression to the factor of each column; false: it is no sum of columns with fixed factors.
bool add_terms(const Arithmetic& a, double times, std::map<int, double>& factors) {
  using Op = Arithmetic::Op;
  if (a.is_column()) return factors[a.column] += times, true;
  if (a.op == Op::add || a.op == Op::subtract)
    return add_terms(a.operands[0], times, factors) &&
           add_terms(a.operands[1], a.op == Op::add ? times : -times, factors);
  const bool number = !a.operands.empty() && a.operands[0].op == Op::number && !a.operands[0].instant;
  return a.op == Op::multiply && number && add_terms(a.operands[1], times * a.operands[0].number, factors);
}

// The terms with a computed sum in the place of its own: paid = taxable - fee, not gross - pension - fee.
std::vector<Term> shortened(const RuleSearch& search, std::vector<Term> terms, int target) {
  for (const auto& [column, expression] : search.computed) {
    std::map<int, double> factors;
    if (column == target || !add_terms(parse_arithmetic(expression, search.table, "a rule"), 1, factors) ||
        factors.size() < 2)
      continue;
    const double times = factors.begin()->second;
    double by = 0;
    const auto same = [&](const auto& factor) {
      const auto at = std::ranges::find(terms, factor.first, &Term::column);
      if (at == terms.end()) return false;
      if (factor.first == factors.begin()->first) by = at->factor / times;
      return std::abs(at->factor - by * factor.second) <= 1e-9 * std::abs(at->factor);
    };
    if (!std::ranges::all_of(factors, same)) continue;
    std::erase_if(terms, [&](const Term& t) { return factors.contains(t.column); });
    terms.push_back({column, by});
  }
  std::ranges::sort(terms, {}, &Term::column);
  return terms;
}

// The sum as the rule of the best of its columns.
Computed best_of(const RuleSearch& search, const std::vector<Term>& terms, int target, double constant) {
  const auto varied = most_varied(search, terms, target, constant);
  return varied ? *varied : solved(search, terms, target, constant);
}

// The rule of a sum, tried on all rows.
std::optional<FoundRule> tried_sum_with(const RuleSearch& search, std::vector<Term> terms, int target, double constant,
                                        Says says, double tried) {
  std::vector<int> of;
  size_t numbers = constant == 0 ? 0 : 1;
  for (const Term& t : terms) of.push_back(t.column), numbers += std::abs(t.factor) == 1 ? 0 : 1;
  if (numbers > 1 && !search.has_enough_for(numbers, of)) return {};
  const bool shares =
      constant != 0 && std::all_of(terms.begin(), terms.end(), [](const Term& t) { return t.factor == -1; });
  if (says != Says::exactly) {
    const bool each = rounds_each(search, terms, target, constant);
    if ((says == Says::rounded && (!each || terms.size() == 1)) || is_instant(search.column(target)) ||
        !has_text(search, terms, is_instant(search.column(target))))
      return {};
    const double rounded = each ? static_cast<double>(terms.size()) + 1 : 1;
    Computed sum = best_of(search, terms, target, constant);
    sum.rounded = rounded, sum.shares = shares;
    return says == Says::rounded ? computed_rule(search, sum, tried) : usual_rule(search, sum, tried);
  }
  if (auto count = count_of(search, terms, target, constant)) return computed_rule(search, *count, tried);
  if (!has_text(search, terms, is_instant(search.column(target)))) return {};
  const auto varied = most_varied(search, terms, target, constant);
  std::vector<Computed> ways;
  if (auto later = later_date(search, terms, target, constant)) {
    if (varied) ways.push_back(*varied);
    ways.push_back(*later);
  }
  if (const std::vector<Term> fewer = shortened(search, terms, target); fewer.size() < terms.size())
    ways.push_back(best_of(search, fewer, target, constant));
  if (varied) ways.push_back(*varied);
  ways.push_back(solved(search, terms, target, constant));
  ways.back().shares = shares;
  for (const Computed& sum : ways)
    if (auto found = computed_rule(search, sum, tried)) return found;
  return {};
}

// The same of the factors that explain a column.
std::optional<FoundRule> tried_sum(const RuleSearch& search, const std::vector<const Centred*>& before,
                                   const Centred& c, const std::vector<double>& factors, const Sample& sample,
                                   Says says = Says::exactly) {
  const double loose = says == Says::exactly ? 1 : std::sqrt(1.0 + kMaxTerms);
  const double half = loose * std::max(half_unit(search.column(c.column)), kExact * c.deviation);
  const double least_weight = std::max(0.1 * half, 1e-7 * c.deviation);
  std::vector<const Centred*> columns;
  std::vector<double> weights;
  std::vector<int> places{c.column};
  for (size_t k = 0; k < factors.size(); ++k) {
    if (std::abs(factors[k]) * before[k]->deviation < least_weight) continue;
    columns.push_back(before[k]), weights.push_back(factors[k]), places.push_back(before[k]->column);
  }
  if (columns.empty() || columns.size() > kMaxTerms) return {};
  const int64_t least = search.holders.least(search.columns_at(places));
  if (!has_shared_factors(search, sample, columns, weights, least, least_weight)) return {};
  // Rounding errors of deviation 0.58 halves, over the rows: three of their deviations; then six. Of the constant, the
  // mean of the rounding errors of half the rows: well within half a unit.
  for (const double deviations : {3, 6}) {
    const double sure = deviations * 0.6 / std::sqrt(static_cast<double>(c.x.size()));
    std::vector<Term> terms;
    double constant = c.mean;
    for (size_t k = 0; k < columns.size(); ++k) {
      const double factor = short_number(weights[k], sure * half / columns[k]->deviation);
      terms.push_back({columns[k]->column, factor});
      constant -= factor * columns[k]->mean;
    }
    constant = short_number(constant, std::max(0.4 * half, 1e-9 * std::abs(c.mean)));
    if (auto found = tried_sum_with(search, std::move(terms), c.column, constant, says, sample.tried)) return found;
  }
  return {};
}

// Columns that have the same factor but for its sign, added up: tax is a rate of subtotal - discount.
struct Together {
  Centred sum;
  std::vector<Term> of;  // factors of 1 and −1
};

Together alone(const Centred& c) { return {c, {{c.column, 1}}}; }

void add_to(Together& all, const Together& more, double sign) {
  for (const Term& t : more.of) all.of.push_back({t.column, sign * t.factor});
  for (size_t i = 0; i < all.sum.x.size(); ++i) all.sum.x[i] += sign * more.sum.x[i];
  all.sum = with_mean(all.sum.mean + sign * more.sum.mean, std::move(all.sum.x));
}

// The factors of columns, and how far each is off for an error of one; nullopt: others determine one of them.
struct Fit {
  Regression::Residual rest;
  std::vector<double> factors, spread;
};
std::optional<Fit> fitted(const std::vector<Together>& columns, const Centred& c) {
  Regression regression(c.x.size());
  for (const Together& t : columns) {
    auto own = regression.residual(t.sum);
    if (regression.exact(own, t.sum)) return {};
    regression.add(std::move(own));
  }
  Fit out{regression.residual(c), {}, regression.spread()};
  out.factors = regression.factors(out.rest.along);
  return out;
}

// Those whose factors may be the same, as one.
std::vector<Together> joined(std::vector<Together> columns, const Centred& c, double error) {
  constexpr double kSame = 4;
  const std::optional<Fit> fit = fitted(columns, c);
  if (!fit) return columns;
  std::vector<size_t> order(columns.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, {}, [&](size_t k) { return fit->spread[k]; });
  std::vector<Together> out;
  std::vector<size_t> first;  // of each of them
  for (const size_t k : order) {
    const auto same = std::ranges::find_if(first, [&](size_t f) {
      return std::abs(std::abs(fit->factors[f]) - std::abs(fit->factors[k])) <
             kSame * error * std::hypot(fit->spread[f], fit->spread[k]);
    });
    if (same == first.end()) out.push_back(columns[k]), first.push_back(k);
    else
      add_to(out[static_cast<size_t>(same - first.begin())], columns[k],
             fit->factors[*same] * fit->factors[k] < 0 ? -1 : 1);
  }
  return out;
}

// The factor by which a column is the target in all rows, of fewest digits; NaN: there is none.
double factor_in_rows(const Centred& of, const Centred& c, double half) {
  constexpr int kMaxDigits = 9;
  double low = -INFINITY, high = INFINITY;
  for (size_t i = 0; i < of.x.size(); ++i) {
    const double x = of.x[i] + of.mean, y = c.x[i] + c.mean, reach = (1 + 1e-7) * half + 1e-12 * std::abs(y);
    if (std::abs(x) < 1e-9) continue;
    low = std::max(low, std::min((y - reach) / x, (y + reach) / x));
    high = std::min(high, std::max((y - reach) / x, (y + reach) / x));
  }
  return low <= high ? simplest_between(low, high, Ends::both, kMaxDigits) : kMissing;
}

// The rule of columns whose factors are not sure to enough digits at once: the surest is rounded first, and what it
// leaves says the others better; the last one is what all rows allow.
std::optional<FoundRule> tried_in_turn(const RuleSearch& search, std::vector<Together> columns, const Centred& c,
                                       const Sample& sample) {
  constexpr double kNear = 3;  // deviations of rounding errors
  const double half = half_unit(search.column(c.column)), error = 0.6 * half;
  Centred rest = c;
  std::vector<std::pair<Together, double>> terms;
  double constant = 0;
  while (!columns.empty()) {
    const std::optional<Fit> fit = fitted(columns, rest);
    if (!fit) return {};
    size_t surest = 0;
    for (size_t k = 1; k < columns.size(); ++k)
      if (fit->spread[k] / std::abs(fit->factors[k]) < fit->spread[surest] / std::abs(fit->factors[surest])) surest = k;
    Together of = std::move(columns[surest]);
    columns.erase(columns.begin() + static_cast<std::ptrdiff_t>(surest));
    double factor = columns.empty() ? factor_in_rows(of.sum, rest, half) : kMissing;
    const bool through_0 = factor == factor;
    if (!through_0) factor = short_number(fit->factors[surest], kNear * error * fit->spread[surest]);
    for (size_t i = 0; i < rest.x.size(); ++i) rest.x[i] -= factor * of.sum.x[i];
    rest = with_mean(rest.mean - factor * of.sum.mean, std::move(rest.x));
    if (columns.empty() && !through_0)
      constant = short_number(rest.mean, std::max(0.4 * half, 1e-9 * std::abs(c.mean)));
    terms.emplace_back(std::move(of), factor);
  }
  std::vector<Term> single;
  std::string text;  // with columns in parentheses, unless all are single
  bool parentheses = false;
  std::ranges::sort(terms, {}, [](const auto& t) { return t.first.of.front().column; });
  for (auto& [of, factor] : terms) {
    std::ranges::sort(of.of, {}, &Term::column);
    const bool all = std::ranges::none_of(of.of, [&, by = factor](const Term& t) { return by * t.factor > 0; });
    const double sign = all == (factor > 0) ? -1 : 1;  // inside, some are added
    for (Term& t : of.of) single.push_back({t.column, factor * t.factor}), t.factor *= sign;
    const std::vector<Term> fewer = shortened(search, of.of, c.column);
    parentheses |= fewer.size() > 1 && std::abs(factor) != 1;
    text += text.empty() ? (factor * sign < 0 ? "-" : "") : factor * sign < 0 ? " - " : " + ";
    const std::string inside = sum_text(search, fewer, 0, false);
    const std::string times = std::abs(factor) == 1 ? "" : fmt::format("{} * ", std::abs(factor));
    text += times + (fewer.size() > 1 && !times.empty() ? "(" + inside + ")" : inside);
  }
  if (!parentheses) return tried_sum_with(search, std::move(single), c.column, constant, Says::exactly, sample.tried);
  if (constant != 0) text += fmt::format(" {} {}", constant < 0 ? "-" : "+", std::abs(constant));
  return computed_rule(search, {c.column, text}, sample.tried);
}

// The same of columns close to each other, such as times in order, or 0 in most rows: rounding leaves each of them a
// factor. The least certain one is dropped until each of the others is needed.
std::optional<FoundRule> tried_needed(const RuleSearch& search, const std::vector<const Centred*>& before,
                                      const Centred& c, const Sample& sample) {
  constexpr size_t kMaxNear = 40;  // the work grows with their third power
  constexpr double kNeeded = 6;    // deviations of rounding errors
  const double half = half_unit(search.column(c.column)), error = 0.6 * half;
  if (before.size() > kMaxNear) return {};
  std::vector<Together> columns;
  for (const Centred* b : before) columns.push_back(alone(*b));
  while (!columns.empty()) {
    const std::optional<Fit> fit = fitted(columns, c);
    if (!fit || fit->rest.deviation > kRounding * half) return {};
    size_t least = 0;
    for (size_t k = 1; k < columns.size(); ++k)
      if (std::abs(fit->factors[k]) / fit->spread[k] < std::abs(fit->factors[least]) / fit->spread[least]) least = k;
    if (std::abs(fit->factors[least]) < kNeeded * error * fit->spread[least]) {
      columns.erase(columns.begin() + static_cast<std::ptrdiff_t>(least));
      continue;
    }
    if (columns.size() > kMaxTerms) return {};
    std::vector<int> places{c.column};
    std::vector<const Centred*> of;
    for (const Together& t : columns) places.push_back(t.of.front().column), of.push_back(&t.sum);
    const double least_weight = std::max(0.1 * half, 1e-7 * c.deviation);
    if (!has_shared_factors(search, sample, of, fit->factors, search.holders.least(search.columns_at(places)),
                            least_weight))
      return {};
    const bool dated = std::ranges::any_of(places, [&](int j) { return is_instant(search.column(j)); });
    if (!search.usual && !dated)
      if (std::vector<Together> same = joined(columns, c, error); same.size() < columns.size())
        if (auto found = tried_in_turn(search, std::move(same), c, sample)) return found;
    return tried_in_turn(search, std::move(columns), c, sample);
  }
  return {};
}

// A single column that determines the target, as a time determines its day, is tried first: correlated columns would
// share its factor in rounded sums.
std::optional<FoundRule> tried_alone(const RuleSearch& search, const std::vector<const Centred*>& before,
                                     const Centred& c, const Sample& sample) {
  // A line rounded to few units, such as 0 and 1, is a threshold: a rule of bands.
  const double rounding = half_unit(search.column(c.column)), half = c.deviation < 10 * rounding ? 0 : rounding;
  std::vector<double> factors(before.size(), 0);
  for (size_t k = 0; k < before.size(); ++k) {
    const Centred& b = *before[k];
    const double factor = dot(b.x, c.x) / dot(b.x, b.x);
    const double rest = std::sqrt(std::max(0.0, c.deviation * c.deviation - std::pow(factor * b.deviation, 2)));
    if (rest > std::max(kRounding * half, 1e-6 * c.deviation)) continue;
    factors[k] = factor;
    if (auto found = tried_sum(search, before, c, factors, sample)) return found;
    factors[k] = 0;
  }
  return {};
}

// The identity c = Σ ±x of earlier columns, if the factors round to one: all its terms, with factor −1 for c.
std::vector<Term> whole_terms(const std::vector<const Centred*>& before, const Centred& c,
                              const std::vector<double>& factors) {
  constexpr double kWhole = 0.01;  // columns that are proportional but for rounding have uncertain factors
  std::vector<Term> out{{c.column, -1}};
  for (size_t k = 0; k < factors.size(); ++k) {
    const double whole = std::nearbyint(factors[k]);
    if (std::abs(factors[k] - whole) > kWhole || std::abs(whole) > 1) return {};
    if (whole != 0) out.push_back({before[k]->column, whole});
  }
  return out.size() < 3 || out.size() > kMaxTerms + 1 ? std::vector<Term>() : out;
}

// Of the columns of an identity, the total if there is one, else the last, rather one without a peak: such that one of
// the others still follows from another one alone. −1: none is such.
int target_of(const RuleSearch& search, const Sample& sample, const std::vector<Term>& identity,
              const std::vector<int>& rounded) {
  std::vector<int> targets;
  for (const Term& t : identity) targets.push_back(t.column);
  const std::vector<Term> terms(identity.begin() + 1, identity.end());
  const int total = best_of(search, terms, identity.front().column, 0).target;
  std::ranges::sort(targets, {}, [&](int j) { return std::tuple(j != total, search.has_peak(j), -j); });
  if (rounded.size() > 2) {  // it follows from columns that no sum may remove
    const auto free = std::find_if(targets.begin(), targets.end(), [&](int j) {
      return std::find(rounded.begin(), rounded.end(), j) == rounded.end();
    });
    return free == targets.end() ? -1 : *free;
  }
  std::vector<const Centred*> all;
  for (const Centred& c : sample.columns)
    if (std::find(targets.begin(), targets.end(), c.column) != targets.end()) all.push_back(&c);
  for (const int target : targets)
    for (const Centred* c : all)
      for (const Centred* of : all)
        if (c != of && c->column != target && of->column != target && tried_alone(search, {of}, *c, sample))
          return target;
  return -1;
}

// Two columns whose sum or difference is the same number in most rows.
std::optional<FoundRule> usual_pair(const RuleSearch& search, const Sample& sample, const Centred& b,
                                    const Centred& c) {
  const double half = half_unit(search.column(c.column));
  if (!is_quantity(search.column(b.column)) || !(c.deviation >= 10 * half) || half == 0) return {};
  for (const double factor : {-1.0, 1.0}) {
    std::vector<double> rest;
    for (size_t i = 0; i < c.x.size(); ++i) rest.push_back(c.x[i] + c.mean - factor * (b.x[i] + b.mean));
    std::nth_element(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(rest.size() / 2), rest.end());
    const double constant = short_number(rest[rest.size() / 2], 2 * half);
    const auto same =
        std::count_if(rest.begin(), rest.end(), [&](double x) { return std::abs(x - constant) <= 2.1 * half; });
    const std::vector<Term> terms{{b.column, factor}};
    if (static_cast<double>(same) < kKept * static_cast<double>(rest.size())) continue;
    const Computed sum{c.column, sum_text(search, terms, constant, false),
                       rounds_each(search, terms, c.column, constant) ? 2.0 : 1.0};
    if (auto found = usual_rule(search, sum, sample.tried * sample.tried)) return found;
  }
  return {};
}

// A column that equals a sum of earlier ones in most rows, where a regression leaves the residual `rest`: the rows with
// the largest residuals are dropped, and a second regression tests whether the others fit (least trimmed squares;
// Rousseeuw 1984).
std::optional<FoundRule> usual_sum(const RuleSearch& search, const Sample& sample,
                                   const std::vector<const Centred*>& before, const Centred& c,
                                   const Regression::Residual& rest) {
  constexpr double kNear = 0.9;  // of a deviation: residual of the column if others nearly determine it
  const double half = half_unit(search.column(c.column));
  if (before.empty() || rest.deviation > kNear * c.deviation || c.deviation < 10 * half) return {};
  std::vector<double> far;
  for (const double x : rest.rest) far.push_back(std::abs(x));
  std::vector<double> sorted = far;
  const auto last = sorted.begin() + static_cast<std::ptrdiff_t>(kKept * static_cast<double>(sorted.size()));
  std::nth_element(sorted.begin(), last, sorted.end());
  std::vector<char> left_out;
  for (const double x : far) left_out.push_back(x > *last ? 1 : 0);
  Sample usual{{}, {}, sample.tried};
  for (size_t i = 0; i < left_out.size(); ++i)
    if (left_out[i] == 0) usual.rows.push_back(sample.rows[i]);
  for (const Centred* b : before)
    if (Centred of = without(*b, left_out); of.deviation > 0) usual.columns.push_back(std::move(of));
  Regression regression(usual.rows.size());
  std::vector<const Centred*> of;
  for (const Centred& b : usual.columns)
    if (auto own = regression.residual(b); !regression.exact(own, b)) regression.add(std::move(own)), of.push_back(&b);
  const Centred target = without(c, left_out);
  const Regression::Residual left = regression.residual(target);
  if (!regression.exact(left, target) && !regression.but_for_rounding(left, target, half * std::sqrt(1.0 + kMaxTerms)))
    return {};
  return tried_sum(search, of, target, regression.factors(left.along), usual, Says::mostly);
}

std::optional<FoundRule> sum_in(const RuleSearch& search, const Sample& sample) {
  Regression regression(sample.rows.size());
  std::vector<const Centred*> before;
  for (const Centred& c : sample.columns) {
    Regression::Residual rest = regression.residual(c);
    const bool exact = regression.exact(rest, c);
    const double half = half_unit(search.column(c.column));
    if (exact || regression.but_for_rounding(rest, c, half)) {
      if (auto found = tried_alone(search, before, c, sample)) return found;
      if (auto found = tried_sum(search, before, c, regression.factors(rest.along), sample)) return found;
      if (!exact)
        if (auto found = tried_needed(search, before, c, sample)) return found;
    }
    if (regression.but_for_rounding(rest, c, half * std::sqrt(1.0 + kMaxTerms)))
      if (auto found = tried_sum(search, before, c, regression.factors(rest.along), sample, Says::rounded))
        return found;
    if (exact) continue;
    // Added even if others explain the column only up to rounding: a copy of it is then explained by it.
    regression.add(std::move(rest));
    before.push_back(&c);
  }
  return {};
}

// `rounded`: the column that is computed up to rounding, and its inputs.
std::optional<FoundRule> total_in(const RuleSearch& search, const Sample& sample, const std::vector<int>& rounded) {
  Regression regression(sample.rows.size());
  std::vector<const Centred*> columns, before;
  for (const Centred& c : sample.columns) columns.push_back(&c);
  // its inputs first: a subtotal that is itself a sum would be left out otherwise
  std::stable_partition(columns.begin(), columns.end(), [&](const Centred* c) {
    return c->column != rounded[0] && std::find(rounded.begin(), rounded.end(), c->column) != rounded.end();
  });
  for (const Centred* each : columns) {
    const Centred& c = *each;
    Regression::Residual rest = regression.residual(c);
    if (!regression.exact(rest, c)) {
      regression.add(std::move(rest));
      before.push_back(&c);
      continue;
    }
    const std::vector<Term> identity = whole_terms(before, c, regression.factors(rest.along));
    const bool has_it =
        std::any_of(identity.begin(), identity.end(), [&](const Term& t) { return t.column == rounded[0]; });
    const bool dated = std::any_of(identity.begin(), identity.end(),
                                   [&](const Term& t) { return is_instant(search.column(t.column)); });
    if (!has_it || dated) continue;
    const int target = target_of(search, sample, identity, rounded);
    if (target < 0) continue;
    if (auto found = computed_rule(search, solved_for(search, identity, target), sample.tried)) return found;
  }
  return {};
}

}  // namespace

std::optional<FoundRule> find_sum(const RuleSearch& search) {
  return first_in_samples(search, [&](const Sample& sample) { return sum_in(search, sample); });
}

std::optional<FoundRule> find_total(const RuleSearch& search, const FoundRule& given) {
  std::vector<int> rounded;
  for (const std::string& name : given.rule->columns(search.table)) rounded.push_back(place_of(search.table, name));
  if (rounded.size() < 2 || !is_quantity(search.column(rounded[0]))) return {};
  return first_in_samples(search, [&](const Sample& sample) { return total_in(search, sample, rounded); });
}

std::vector<FoundRule> find_lines_of(const RuleSearch& search, const TableRule& computes) {
  const int source = place_of(search.table, computes.column());
  if (source < 0 || !is_quantity(search.column(source))) return {};
  const Sample sample = sample_with(search, source);
  const auto of =
      std::find_if(sample.columns.begin(), sample.columns.end(), [&](const Centred& c) { return c.column == source; });
  const std::vector<std::string> needed = computes.columns(search.table);
  std::vector<FoundRule> out;
  for (const Centred& c : sample.columns) {
    const Column& target = search.column(c.column);
    if (of == sample.columns.end() || !is_quantity(target) ||
        std::find(needed.begin(), needed.end(), target.name) != needed.end())
      continue;
    if (auto found = tried_alone(search, {&*of}, c, sample); found && found->rule->column() == target.name)
      out.push_back(std::move(*found));
  }
  return out;
}

std::optional<FoundRule> find_part(const RuleSearch& search, const FoundRule& sum) {
  const int total = place_of(search.table, sum.rule->column());
  if (!is_quantity(search.column(total)) || sum.rule->expression().empty()) return {};
  const auto is_sum = [](auto&& self, const Arithmetic& a) -> bool {
    return a.is_column() || (a.op == Arithmetic::Op::add && self(self, a.operands[0]) && self(self, a.operands[1]));
  };
  const Arithmetic expression = parse_arithmetic(sum.rule->expression(), search.table, "a rule");
  const std::vector<int> parts = columns_of(expression);
  if (parts.size() < 2 || !is_sum(is_sum, expression) || !is_product_of_others(search, total, parts)) return {};
  std::vector<Term> identity{{total, -1}};
  for (const int j : parts) identity.push_back({j, 1});
  const auto flat = std::find_if(parts.rbegin(), parts.rend(), [&](int j) { return !search.has_peak(j); });
  const int part = flat == parts.rend() ? parts.back() : *flat;
  return computed_rule(search, solved_for(search, identity, part), static_cast<double>(search.columns()));
}

std::vector<FoundRule> find_usual_sums(const RuleSearch& search) {
  constexpr size_t kMaxColumns = 100, kMaxRows = 2048;  // the work grows with the rows and the third power of columns
  Sample sample = sample_with(search, -1);
  if (sample.columns.size() > kMaxColumns) return {};
  limit_rows(sample, kMaxRows);
  std::vector<std::optional<FoundRule>> found(sample.columns.size());
  std::vector<const Centred*> before;  // columns that are no sum
  std::vector<std::string> taken;      // columns of sums
  Regression regression(sample.rows.size());
  for (size_t k = 0; k < sample.columns.size(); ++k) {
    const Centred& c = sample.columns[k];
    Regression::Residual rest = regression.residual(c);
    if (is_quantity(search.column(c.column))) {
      for (size_t b = 0; b < before.size() && !found[k]; ++b) found[k] = usual_pair(search, sample, *before[b], c);
      if (!found[k]) found[k] = usual_sum(search, sample, before, c, rest);
    }
    if (found[k]) {  // unless its target is in another sum
      const std::string& given = found[k]->rule->column();
      if (std::find(taken.begin(), taken.end(), given) != taken.end()) found[k].reset();
      else
        for (const std::string& name : found[k]->rule->columns(search.table)) taken.push_back(name);
    }
    if (found[k] || regression.exact(rest, c)) continue;
    regression.add(std::move(rest));
    before.push_back(&c);
  }
  // Last ones first: a column may depend on one that an earlier sum computes.
  std::vector<FoundRule> out;
  for (size_t k = found.size(); k-- > 0;)
    if (found[k]) out.push_back(std::move(*found[k]));
  return out;
}

}  // namespace tessera
