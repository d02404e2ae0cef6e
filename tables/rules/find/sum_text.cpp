#include "tables/rules/find/sum_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tables/kinds/kind.h"
#include "tables/rules/find/factors.h"

namespace tessera {
namespace {

std::string product_text(double factor, const std::string& name) {
  const double inverse = std::nearbyint(1 / factor);
  if (factor == 1) return name;
  if (inverse > 1 && factor == 1 / inverse && factor * 1e3 != std::nearbyint(factor * 1e3))
    return fmt::format("{} / {}", name, inverse);
  return fmt::format("{} * {}", factor, name);
}

// Days, as hours, minutes or seconds where they are whole ones: "2 / 24".
std::string days_text(double days) {
  for (const int parts : {1, 24, 24 * 60, 24 * 60 * 60}) {
    const double whole = std::nearbyint(days * parts);
    if (whole > 0 && std::abs(days * parts - whole) <= 1e-9 * whole)
      return parts == 1 ? fmt::format("{}", whole) : fmt::format("{} / {}", whole, parts);
  }
  return fmt::format("{}", days);
}

// Of the columns of an identity without a total the given one, unless it has few values, as a fee has: sampled rows
// would have any that the others leave. Then the last of those with many.
int varied_of(const RuleSearch& search, const std::vector<Term>& identity, int target) {
  constexpr size_t kFew = 10, kMany = 2;  // parts of the most values that one of them has
  std::vector<std::pair<int, size_t>> values;
  for (const Term& t : identity)
    values.emplace_back(t.column, distinct_of(numbers_in(search.column(t.column), search.proposing)));
  std::sort(values.begin(), values.end());
  size_t most = 0;
  for (const auto& [column, count] : values) most = std::max(most, count);
  int varied = target;
  for (const auto& [column, count] : values) {
    if (column == target && kFew * count > most) return target;
    if (kMany * count >= most) varied = column;
  }
  return varied;
}

// Units of which a day has a whole number: others are chance, such as that of two numbers beside two dates.
bool is_whole(double factor) { return factor == std::nearbyint(factor); }

}  // namespace

std::string sum_text(const RuleSearch& search, std::vector<Term> terms, double constant, bool calendar) {
  const auto instant = [&](const Term& t) { return is_instant(search.column(t.column)); };
  const bool counted = !calendar && std::count_if(terms.begin(), terms.end(), instant) == 1;
  const auto name = [&](const Term& t) {
    const std::string bare = quoted_name(search.column(t.column).name);
    if (t.times >= 0) return fmt::format("{} * {}", bare, quoted_name(search.column(t.times).name));
    return counted && instant(t) ? fmt::format("({} - '1970-01-01')", bare) : bare;
  };
  std::stable_partition(terms.begin(), terms.end(), [](const Term& t) { return t.factor > 0; });
  std::stable_partition(terms.begin(), terms.end(), instant);
  std::string out;
  if (terms.size() > 1 && instant(terms[1])) {  // days between two dates
    out = product_text(terms[0].factor, fmt::format("({} - {})", name(terms[0]), name(terms[1])));
    terms.erase(terms.begin(), terms.begin() + 2);
  }
  const bool first = out.empty() && terms[0].factor < 0 && constant > 0;
  if (first) out = fmt::format("{}", constant);
  for (const Term& t : terms) {
    out += out.empty() ? (t.factor < 0 ? "-" : "") : t.factor < 0 ? " - " : " + ";
    out += product_text(std::abs(t.factor), name(t));
  }
  if (constant != 0 && !first)
    out += fmt::format(" {} {}", constant < 0 ? "-" : "+",
                       calendar ? days_text(std::abs(constant)) : fmt::format("{}", std::abs(constant)));
  return out;
}

bool has_text(const RuleSearch& search, const std::vector<Term>& terms, bool calendar) {
  std::vector<double> factors;
  for (const Term& t : terms)
    if (is_instant(search.column(t.column))) factors.push_back(t.factor);
  if (calendar) return factors.size() == 1 && factors[0] == 1;
  if (factors.size() == 1) return is_whole(factors[0]);
  return factors.empty() || (factors.size() == 2 && factors[0] == -factors[1]);
}

namespace {

// The rule of the best target, which may have a rule already.
Computed best_solved(const RuleSearch& search, std::vector<Term> terms, int target, double constant) {
  const auto unit = [](const Term& t) { return std::abs(t.factor) == 1; };
  const auto negative = [](const Term& t) { return t.factor < 0; };
  if (std::all_of(terms.begin(), terms.end(), unit) && constant == 0 && terms.size() > 1) {
    // target = b − c − d: then b = target + c + d
    const auto minuend = std::find_if_not(terms.begin(), terms.end(), negative);
    if (std::count_if(terms.begin(), terms.end(), negative) == static_cast<std::ptrdiff_t>(terms.size()) - 1) {
      const Term sum = *minuend;
      for (Term& t : terms) t.factor = 1;
      *std::find_if(terms.begin(), terms.end(), [&](const Term& t) { return t.column == sum.column; }) = {target, 1};
      target = sum.column;
      return {target, sum_text(search, std::move(terms), constant, is_instant(search.column(target)))};
    }
  }
  std::vector<Term> identity = terms;
  identity.push_back({target, -1});
  const auto dated = [&](const Term& t) { return is_instant(search.column(t.column)); };
  if (constant == 0 && std::any_of(terms.begin(), terms.end(), negative) &&
      std::none_of(identity.begin(), identity.end(), dated))
    if (const int varied = varied_of(search, identity, target); varied != target)
      return solved_for(search, identity, varied);
  const bool calendar = is_instant(search.column(target));
  return {target, sum_text(search, std::move(terms), constant, calendar)};
}

}  // namespace

Computed solved(const RuleSearch& search, std::vector<Term> terms, int target, double constant) {
  Computed best = best_solved(search, terms, target, constant);
  terms.push_back({target, -1});
  const auto may_be = [&](int column) {
    std::vector<int> others;
    for (const Term& t : terms)
      if (t.column != column) others.push_back(t.column);
    return search.may_give(column, others);
  };
  const auto dated = [&](const Term& t) { return is_instant(search.column(t.column)); };
  if (constant != 0 || may_be(best.target) || std::any_of(terms.begin(), terms.end(), dated)) return best;
  std::sort(terms.begin(), terms.end(), [](const Term& a, const Term& b) { return a.column > b.column; });
  for (const Term& t : terms)
    if (std::abs(t.factor) == 1 && may_be(t.column)) return solved_for(search, terms, t.column);
  return best;
}

std::optional<Computed> later_date(const RuleSearch& search, const std::vector<Term>& terms, int target,
                                   double constant) {
  if (terms.size() != 2 || constant != 0 || is_instant(search.column(target))) return {};
  const Term &later = terms[terms[0].factor > 0 ? 0 : 1], &earlier = terms[terms[0].factor > 0 ? 1 : 0];
  if (!is_instant(search.column(later.column)) || !is_instant(search.column(earlier.column))) return {};
  const auto name = [&](int column) { return quoted_name(search.column(column).name); };
  const std::string days = later.factor == 1 ? name(target) : fmt::format("{} / {}", name(target), later.factor);
  return Computed{later.column, fmt::format("{} + {}", name(earlier.column), days)};
}

std::optional<Computed> count_of(const RuleSearch& search, const std::vector<Term>& terms, int target,
                                 double constant) {
  if (terms.size() != 1 || !is_instant(search.column(target)) || is_instant(search.column(terms[0].column))) return {};
  const double factor = std::nearbyint(1 / terms[0].factor);
  if (terms[0].factor != 1 / factor) return {};
  return Computed{terms[0].column, sum_text(search, {{target, factor}}, -constant * factor, false)};
}

Computed solved_for(const RuleSearch& search, const std::vector<Term>& identity, int target) {
  double factor = 0;
  std::vector<Term> others;
  for (const Term& t : identity) {
    if (t.column == target) factor = -t.factor;
    else others.push_back(t);
  }
  for (Term& t : others) t.factor /= factor;
  std::sort(others.begin(), others.end(), [](const Term& a, const Term& b) { return a.column < b.column; });
  return {target, sum_text(search, std::move(others), 0, false)};
}

}  // namespace tessera
