// Columns that are the largest or the smallest of others in every row: best = greatest(first, second, third).
#include <fmt/format.h>

#include <algorithm>

#include "tables/kinds/kind.h"
#include "tables/rules/find/factors.h"
#include "tables/rules/find/search.h"

namespace tessera {
namespace {

constexpr size_t kMaxExtremeColumns = 100;  // the work grows with their square
constexpr size_t kMaxCompared = 12, kMinExtremes = 5;
constexpr double kMinPartOfRows = 0.02;  // of the rows, that one of the columns alone gives

struct ProposedNumbers {
  int column;
  std::vector<double> x;  // of proposing rows
};

// The columns that together give the target, those that give most first; none if some rows have another value.
std::vector<int> columns_giving(const std::vector<const ProposedNumbers*>& bounds, const std::vector<double>& target) {
  std::vector<char> given(target.size());
  for (size_t i = 0; i < target.size(); ++i) given[i] = target[i] != target[i];
  std::vector<int> out;
  std::vector<char> taken(bounds.size());
  while (std::find(given.begin(), given.end(), 0) != given.end() && out.size() < kMaxCompared) {
    size_t best = 0, most = 0;
    for (size_t k = 0; k < bounds.size(); ++k) {
      size_t gives = 0;
      for (size_t i = 0; i < target.size(); ++i) gives += given[i] == 0 && bounds[k]->x[i] == target[i];
      if (taken[k] == 0 && gives > most) best = k, most = gives;
    }
    if (static_cast<double>(most) < kMinPartOfRows * static_cast<double>(target.size())) return {};
    for (size_t i = 0; i < target.size(); ++i)
      if (bounds[best]->x[i] == target[i]) given[i] = 1;
    taken[best] = 1, out.push_back(bounds[best]->column);
  }
  std::sort(out.begin(), out.end());
  return std::find(given.begin(), given.end(), 0) == given.end() ? out : std::vector<int>{};
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
          bound = x != x ? t != t : t != t || (greatest ? x <= t : x >= t);
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
  return {};
}

}  // namespace tessera
