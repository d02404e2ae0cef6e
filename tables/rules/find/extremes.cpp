// Columns that are the largest or the smallest of others in every row: best = greatest(first, second, third); or a line
// with ends: overtime = greatest(hours - 40, 0), pension = least(0.09 * gross, 465).
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

// The line that the target follows from another column where it is neither its smallest nor its largest number.
std::optional<Line> line_between_ends(const RuleSearch& search, const ProposedNumbers& target,
                                      const ProposedNumbers& of, double low, double high) {
  const Column& c = search.column(target.column);
  std::vector<double> x, y;
  std::optional<double> difference;  // the same in all of these rows
  bool same = true;
  for (size_t i = 0; i < target.x.size(); ++i) {
    const double t = target.x[i];
    if (t != t || t == low || t == high || (of.x[i] != of.x[i] && search.gaps_may_be())) continue;
    const double here = rounded(t - of.x[i], digits_of(c));
    if (!difference) difference = here;
    same = same && here == *difference;
    x.push_back(of.x[i]), y.push_back(t);
  }
  if (!difference || static_cast<double>(x.size()) < kMinPartOfRows * static_cast<double>(target.x.size())) return {};
  if (same) return search.usual && *difference == 0 ? std::nullopt : std::optional(Line{1, *difference});
  return search.usual ? std::nullopt : line_through(x, y, half_unit(c));
}

struct Limits {
  double low = INFINITY, high = -INFINITY;
};
// The smallest and the largest number, if many rows hold one of them.
std::optional<Limits> limits_of(const std::vector<double>& x) {
  Limits out;
  for (const double v : x) out.low = std::fmin(out.low, v), out.high = std::fmax(out.high, v);
  const auto rows = static_cast<double>(std::max(std::ranges::count(x, out.low), std::ranges::count(x, out.high)));
  return rows < kMinPartOfRows * static_cast<double>(x.size()) ? std::nullopt : std::optional(out);
}

// A line over another column that ends at the smallest or at the largest number of the target, or at both: the ends are
// those that some rows do not reach.
std::optional<FoundRule> clipped_line(const RuleSearch& search, const ProposedNumbers& target,
                                      const ProposedNumbers& of, const Limits& limits, double tried) {
  const Column& c = search.column(target.column);
  if (!is_quantity(c) || !is_quantity(search.column(of.column)) || digits_of(c) == kAllDigits) return {};
  const auto [low, high] = limits;
  const auto line = line_between_ends(search, target, of, low, high);
  if (!line) return {};
  double below = 0, above = 0;  // rows
  const double reach = 1.1 * half_unit(c);
  for (size_t i = 0; i < target.x.size(); ++i) {
    const double t = target.x[i], on_line = line->factor * of.x[i] + line->constant;
    if (t == low && on_line < t - reach) ++below;
    else if (t == high && on_line > t + reach) ++above;
    else if (std::abs(on_line - t) > reach) return {};
  }
  const double least = kMinPartOfRows * static_cast<double>(target.x.size());
  if (below + above == 0 || (below > 0 && below < least) || (above > 0 && above < least)) return {};
  std::string text = line_text(*line, quoted_name(search.column(of.column).name));
  if (below > 0) text = fmt::format("greatest({}, {})", text, low);
  if (above > 0) text = fmt::format("least({}, {})", text, high);
  return computed_rule(search, {target.column, std::move(text)}, tried);
}

}  // namespace

std::optional<FoundRule> find_extremes(const RuleSearch& search) {
  std::vector<ProposedNumbers> all;
  for (const int j : search.usable_columns(kMaxExtremeColumns, is_ordered)) {
    all.push_back({j, numbers_in(search.column(j), search.proposing)});
    if (distinct_of(all.back().x) < kMinExtremes) all.pop_back();
  }
  const auto tried = static_cast<double>(2 * all.size() * all.size());
  for (const ProposedNumbers& target : all) {
    const std::optional<Limits> limits = limits_of(target.x);
    for (const ProposedNumbers& other : all)
      if (limits && &other != &target && comparable(search.column(target.column), search.column(other.column)))
        if (auto found = clipped_line(search, target, other, *limits, tried)) return found;
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
      const std::vector<int> of = columns_giving(bounds, target.x);
      if (of.size() < 2) continue;
      std::string expression;
      for (const int j : of) expression += (expression.empty() ? "" : ", ") + quoted_name(search.column(j).name);
      expression = fmt::format("{}({})", greatest ? "greatest" : "least", expression);
      if (auto found = computed_rule(search, {target.column, std::move(expression)}, tried)) return found;
    }
  }
  return {};
}

}  // namespace tessera
