#include "tables/rules/find/sum_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>

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

// Whether a rule may compute one of the columns of an identity from the others.
bool may_be_computed(const RuleSearch& search, const std::vector<Term>& identity, int column) {
  std::vector<int> others;
  for (const Term& t : identity)
    if (t.column != column) others.push_back(t.column);
  return search.may_give(column, others);
}

// The terms of one of its columns, in the order of the table.
std::vector<Term> others_of(const std::vector<Term>& identity, int target) {
  double factor = 0;
  std::vector<Term> others;
  for (const Term& t : identity) {
    if (t.column == target) factor = -t.factor;
    else others.push_back(t);
  }
  for (Term& t : others) t.factor /= factor;
  std::sort(others.begin(), others.end(), [](const Term& a, const Term& b) { return a.column < b.column; });
  return others;
}

// Units of which a day has a whole number: others are chance, such as that of two numbers beside two dates.
bool is_whole(double factor) { return factor == std::nearbyint(factor); }

}  // namespace

std::string sum_text(const RuleSearch& search, std::vector<Term> terms, double constant, bool calendar) {
  const auto instant = [&](const Term& t) { return is_instant(search.column(t.column)); };
  const bool counted = !calendar && std::count_if(terms.begin(), terms.end(), instant) == 1;
  const auto name = [&](const Term& t) {
    const std::string bare = search.name_of(t.column);
    if (t.times >= 0) return fmt::format("{} * {}", bare, search.name_of(t.times));
    return counted && instant(t) ? fmt::format("({} - '1970-01-01')", bare) : bare;
  };
  std::stable_partition(terms.begin(), terms.end(), [](const Term& t) { return t.factor > 0; });
  std::stable_partition(terms.begin(), terms.end(), instant);
  std::string out;
  if (terms.size() > 1 && instant(terms[1])) {  // days between two dates
    const bool bare = terms[0].factor == 1 && terms.size() == 2 && constant == 0;
    const std::string days = fmt::format("{} - {}", name(terms[0]), name(terms[1]));
    out = bare ? days : product_text(terms[0].factor, "(" + days + ")");
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

// Of the columns of an identity `best`, unless it has few values, as fees and days of tests have: computed ones would
// be any that the others leave. Then the last of those with many that may be computed, rather one without a peak, and
// rather a number than a date: dates have orders.
int varied_of(const RuleSearch& search, const std::vector<Term>& identity, int best) {
  constexpr size_t kMany = 2;  // parts of the most values that one of them has
  std::vector<std::tuple<bool, bool, int, size_t>> values;
  size_t most = 0;
  for (const Term& t : identity) {
    values.emplace_back(!search.has_peak(t.column), !is_instant(search.column(t.column)), t.column,
                        distinct_of(search.numbers_of(t.column, search.proposing)));
    most = std::max(most, std::get<3>(values.back()));
  }
  std::sort(values.begin(), values.end());
  int varied = best;
  for (const auto& [flat, number, column, count] : values) {
    if (column == best && !RuleSearch::are_few(count, most)) return best;
    if (kMany * count >= most && may_be_computed(search, identity, column)) varied = column;
  }
  return varied;
}

// The total of an identity target = Σ factor·column, if it has one, else the target.
int total_of(const std::vector<Term>& terms, int target) {
  const auto unit = [](const Term& t) { return std::abs(t.factor) == 1; };
  const auto negative = [](const Term& t) { return t.factor < 0; };
  // target = b − c − d: then b = target + c + d
  return terms.size() > 1 && std::ranges::all_of(terms, unit) &&
                 std::ranges::count_if(terms, negative) == std::ssize(terms) - 1
             ? std::ranges::find_if_not(terms, negative)->column
             : target;
}

}  // namespace

std::optional<Computed> most_varied(const RuleSearch& search, std::vector<Term> terms, int target, double constant) {
  if (constant != 0) return {};
  const auto later = later_date(search, terms, target, constant);
  const int best = later ? later->target : total_of(terms, target);
  terms.push_back({target, -1});
  const int varied = varied_of(search, terms, best);
  if (varied == best || !has_text(search, others_of(terms, varied), is_instant(search.column(varied)))) return {};
  return solved_for(search, terms, varied);
}

Computed solved(const RuleSearch& search, const std::vector<Term>& terms, int target, double constant) {
  Computed given{target, sum_text(search, terms, constant, is_instant(search.column(target)))};
  std::vector<Term> identity = terms;
  identity.push_back({target, -1});
  const auto dated = [&](const Term& t) { return is_instant(search.column(t.column)); };
  const bool plain = constant != 0 || std::ranges::any_of(identity, dated);
  const int total = constant == 0 ? total_of(terms, target) : target;
  if (plain || may_be_computed(search, identity, total)) {
    if (total == target) return given;
    std::vector<Term> parts;
    for (const Term& t : terms) parts.push_back({t.column == total ? target : t.column, 1});
    return {total, sum_text(search, std::move(parts), 0, is_instant(search.column(total)))};
  }
  std::ranges::sort(identity, {}, [&](const Term& t) { return std::pair(search.has_peak(t.column), -t.column); });
  for (const Term& t : identity)
    if (std::abs(t.factor) == 1 && may_be_computed(search, identity, t.column))
      return solved_for(search, identity, t.column);
  return given;
}

std::optional<Computed> later_date(const RuleSearch& search, const std::vector<Term>& terms, int target,
                                   double constant) {
  if (terms.size() != 2 || constant != 0 || is_instant(search.column(target))) return {};
  const Term &later = terms[terms[0].factor > 0 ? 0 : 1], &earlier = terms[terms[0].factor > 0 ? 1 : 0];
  if (!is_instant(search.column(later.column)) || !is_instant(search.column(earlier.column))) return {};
  const auto name = [&](int column) { return search.name_of(column); };
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
  return {target, sum_text(search, others_of(identity, target), 0, is_instant(search.column(target)))};
}

}  // namespace tessera
