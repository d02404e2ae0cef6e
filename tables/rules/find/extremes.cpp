// Columns that are the largest or the smallest of others in every row: best = greatest(first, second, third); or the
// excess of one over a number: overtime = greatest(hours - 40, 0).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tables/kinds/kind.h"
#include "tables/kinds/number_writer.h"
#include "tables/rules/find/factors.h"
#include "tables/rules/find/search.h"

namespace tessera {
namespace {

constexpr size_t kMaxExtremeColumns = 100;  // the work grows with their square
constexpr size_t kMaxCompared = 12, kMinExtremes = 5;
constexpr double kMinPartOfRows = 0.02;  // share of rows in which one column alone equals the target

struct ProposedNumbers {
  int column;
  std::vector<double> x;  // of proposing rows
};

// The columns whose extreme is the target, those that equal it most often first; empty if some row has another value. A
// row in which a missing cell might be the extreme is ignored.
std::vector<int> columns_giving(const std::vector<const ProposedNumbers*>& bounds, const std::vector<double>& target) {
  std::vector<char> given(target.size());
  for (size_t i = 0; i < target.size(); ++i) given[i] = target[i] != target[i];
  std::vector<int> out;
  std::vector<char> taken(bounds.size()), unknown(target.size());
  while (std::find(given.begin(), given.end(), 0) != given.end() && out.size() < kMaxCompared) {
    size_t best = 0, most = 0;
    for (size_t k = 0; k < bounds.size(); ++k) {
      size_t gives = 0;
      for (size_t i = 0; i < target.size(); ++i) gives += given[i] == 0 && bounds[k]->x[i] == target[i];
      if (taken[k] == 0 && gives > most) best = k, most = gives;
    }
    if (static_cast<double>(most) < kMinPartOfRows * static_cast<double>(target.size())) break;
    for (size_t i = 0; i < target.size(); ++i) {
      const double x = bounds[best]->x[i];
      if (x == target[i]) given[i] = 1;
      else if (x != x) unknown[i] = 1;
    }
    taken[best] = 1, out.push_back(bounds[best]->column);
  }
  for (size_t i = 0; i < target.size(); ++i)
    if (given[i] == 0 && unknown[i] == 0) return {};
  std::sort(out.begin(), out.end());
  return out;
}

// A column that is one number in a part of the rows, and another column plus or minus a number in the others.
std::optional<FoundRule> beyond_a_number(const RuleSearch& search, const ProposedNumbers& target,
                                         const ProposedNumbers& of, bool greatest, double tried) {
  const Column& c = search.column(target.column);
  if (!is_quantity(c) || !is_quantity(search.column(of.column)) || digits_of(c) == kAllDigits) return {};
  double end = kMissing;
  for (const double t : target.x) end = t != t ? end : greatest ? std::fmin(end, t) : std::fmax(end, t);
  size_t at_end = 0, beyond = 0;
  double difference = kMissing;
  std::vector<double> ends;  // the differences where it is that number
  for (size_t i = 0; i < target.x.size(); ++i) {
    const double t = target.x[i];
    if (t != t || (of.x[i] != of.x[i] && search.gaps_may_be())) continue;
    const double here = rounded(t - of.x[i], digits_of(c));
    if (t == end) {
      ends.push_back(here);
      continue;
    }
    if (difference != difference) difference = here;
    if (!(here == difference)) return {};
    ++beyond;
  }
  for (const double here : ends) at_end += here != difference ? 1 : 0;
  const double least = kMinPartOfRows * static_cast<double>(target.x.size());
  if (static_cast<double>(std::min(at_end, beyond)) < least || difference == 0) return {};
  const std::string name = quoted_name(search.column(of.column).name);
  return computed_rule(search,
                       {target.column, fmt::format("{}({} {} {}, {})", greatest ? "greatest" : "least", name,
                                                   difference < 0 ? '-' : '+', std::abs(difference), end)},
                       tried);
}

}  // namespace

std::optional<FoundRule> find_extremes(const RuleSearch& search) {
  std::vector<ProposedNumbers> all;
  for (const int j : search.usable_columns(kMaxExtremeColumns, is_ordered)) {
    all.push_back({j, numbers_in(search.column(j), search.proposing)});
    if (distinct_of(all.back().x) < kMinExtremes) all.pop_back();
  }
  const auto tried = static_cast<double>(2 * all.size() * all.size());
  for (const ProposedNumbers& target : all)
    for (const bool greatest : {true, false}) {
      std::vector<const ProposedNumbers*> bounds;
      for (const ProposedNumbers& other : all) {
        if (&other == &target || !comparable(search.column(target.column), search.column(other.column))) continue;
        bool bound = true;
        for (size_t i = 0; i < target.x.size() && bound; ++i) {
          const double t = target.x[i], x = other.x[i];
          bound = x != x ? t != t || search.gaps_may_be() : t != t || (greatest ? x <= t : x >= t);
        }
        if (bound) bounds.push_back(&other);
      }
      for (const ProposedNumbers& other : all)
        if (&other != &target && comparable(search.column(target.column), search.column(other.column)))
          if (auto found = beyond_a_number(search, target, other, greatest, tried)) return found;
      const std::vector<int> of = columns_giving(bounds, target.x);
      if (of.size() < 2) continue;
      std::string expression;
      for (const int j : of) expression += (expression.empty() ? "" : ", ") + quoted_name(search.column(j).name);
      expression = fmt::format("{}({})", greatest ? "greatest" : "least", expression);
      if (auto found = computed_rule(search, {target.column, std::move(expression)}, tried)) return found;
    }
  return {};
}

}  // namespace tessera
