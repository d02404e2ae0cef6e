// Columns that are sums of others with fixed factors: total = items + extras, price = 3.99 * items, a = b, shares that
// sum to 100. Each column in turn is regressed on those before it (Gram–Schmidt orthogonalization); if only rounding
// remains, factors are rounded to few digits and the sum is tested on every row.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
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

// The rule of a sum, tried on all rows.
std::optional<FoundRule> tried_sum_with(const RuleSearch& search, std::vector<Term> terms, int target, double constant,
                                        Says says, double tried) {
  const bool shares =
      constant != 0 && std::all_of(terms.begin(), terms.end(), [](const Term& t) { return t.factor == -1; });
  if (says != Says::exactly) {
    const bool each = rounds_each(search, terms, target, constant);
    if ((says == Says::rounded && (!each || terms.size() == 1)) || is_instant(search.column(target)) ||
        !has_text(search, terms, is_instant(search.column(target))))
      return {};
    const double rounded = each ? static_cast<double>(terms.size()) + 1 : 1;
    Computed sum = solved(search, std::move(terms), target, constant);
    sum.rounded = rounded, sum.shares = shares;
    return says == Says::rounded ? computed_rule(search, sum, tried) : usual_rule(search, sum, tried);
  }
  if (auto count = count_of(search, terms, target, constant)) return computed_rule(search, *count, tried);
  if (!has_text(search, terms, is_instant(search.column(target)))) return {};
  if (auto later = later_date(search, terms, target, constant))
    if (auto found = computed_rule(search, *later, tried)) return found;
  if (std::vector<Term> fewer = shortened(search, terms, target); fewer.size() < terms.size())
    if (auto found = computed_rule(search, solved(search, std::move(fewer), target, constant), tried)) return found;
  Computed sum = solved(search, std::move(terms), target, constant);
  sum.shares = shares;
  return computed_rule(search, sum, tried);
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

// The same of columns close to each other, such as times in order: rounding leaves each of them a factor. The least
// certain one is dropped until each of the others is needed.
std::optional<FoundRule> tried_needed(const RuleSearch& search, std::vector<const Centred*> columns, const Centred& c,
                                      const Sample& sample) {
  constexpr size_t kMaxNear = 40;  // the work grows with their fourth power
  constexpr double kNeeded = 6;    // deviations of rounding errors
  const double half = half_unit(search.column(c.column));
  const double error = 0.6 * half;
  const auto is_close = [&](const Centred* a) {  // to another one
    return std::ranges::any_of(columns, [&](const Centred* b) {
      const double along = dot(a->x, b->x) / dot(b->x, b->x);
      const double rest = a->deviation * a->deviation - std::pow(along * b->deviation, 2);
      return a != b && rest < 1e-3 * a->deviation * a->deviation;
    });
  };
  if (columns.size() > kMaxNear || std::ranges::none_of(columns, is_close)) return {};
  while (!columns.empty()) {
    Regression regression(sample.rows.size());
    for (const Centred* b : columns) regression.add(regression.residual(*b));
    const Regression::Residual rest = regression.residual(c);
    if (!regression.but_for_rounding(rest, c, half)) return {};
    const std::vector<double> factors = regression.factors(rest.along), spread = regression.spread();
    size_t least = 0;
    for (size_t k = 1; k < columns.size(); ++k)
      if (std::abs(factors[k]) / spread[k] < std::abs(factors[least]) / spread[least]) least = k;
    if (std::abs(factors[least]) < kNeeded * error * spread[least]) {
      columns.erase(columns.begin() + static_cast<std::ptrdiff_t>(least));
      continue;
    }
    std::vector<Term> terms;
    double constant = c.mean;
    for (size_t k = 0; k < columns.size(); ++k) {
      terms.push_back({columns[k]->column, short_number(factors[k], kNeeded / 2 * error * spread[k])});
      constant -= terms.back().factor * columns[k]->mean;
    }
    constant = short_number(constant, std::max(0.4 * half, 1e-9 * std::abs(c.mean)));
    std::vector<int> places{c.column};
    for (const Term& t : terms) places.push_back(t.column);
    const double least_weight = std::max(0.1 * half, 1e-7 * c.deviation);
    if (!has_shared_factors(search, sample, columns, factors, search.holders.least(search.columns_at(places)),
                            least_weight))
      return {};
    return tried_sum_with(search, std::move(terms), c.column, constant, Says::exactly, sample.tried);
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

// Of the columns of an identity, the total if there is one, else the last: such that one of the others still follows
// from another one alone. −1: none is such.
int target_of(const RuleSearch& search, const Sample& sample, const std::vector<Term>& identity,
              const std::vector<int>& rounded) {
  std::vector<int> targets;
  for (const Term& t : identity) targets.push_back(t.column);
  const std::vector<Term> terms(identity.begin() + 1, identity.end());
  const int total = solved(search, terms, identity.front().column, 0).target;
  std::sort(targets.begin(), targets.end(),
            [=](int a, int b) { return std::pair(a == total, a) > std::pair(b == total, b); });
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
  return computed_rule(search, solved_for(search, identity, parts.back()), static_cast<double>(search.columns()));
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
