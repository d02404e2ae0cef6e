// Columns whose values are multiples of a step coarser than their digits.
#include "tables/rules/kinds/grid.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tables/kinds/kind.h"
#include "tables/rules/find/search.h"
#include "tables/table/decimals.h"

namespace tessera {
namespace {

// Columns of fewer values are learned value by value.
constexpr size_t kMinValues = 17;

// The number of groups of rows, without a common holder, that fit no coarser grid: with `least` of them, the grid is
// the same without any least − 1 holders, because one group stays complete.
int64_t groups_on(const RuleSearch& search, const Column& c, double unit, int64_t wanted) {
  int64_t groups = 0, step = 0, closed = -1;
  std::optional<int64_t> first;
  for (const int64_t row : search.holders.together(search.proposing)) {
    const double x = c.numbers[static_cast<size_t>(row)];
    if (x != x || search.holders.of(row) == closed) continue;
    const int64_t v = std::llround(x * unit);
    if (!first) first = v;
    step = std::gcd(step, v - *first);
    if (step != wanted) continue;
    ++groups, step = 0, closed = search.holders.of(row);
    first.reset();
  }
  return groups;
}

// The values in units of their last digit, of some rows; empty if they are too large.
std::vector<int64_t> units_of(const Column& c, const std::vector<int64_t>& rows, double unit) {
  std::vector<int64_t> out;
  for (const int64_t row : rows) {
    const double x = c.numbers[static_cast<size_t>(row)] * unit;
    if (x != x) continue;
    if (std::abs(x) > Grid::kMaxUnits) return {};
    out.push_back(std::llround(x));
  }
  return out;
}

std::optional<FoundRule> grid_of_column(const RuleSearch& search, const Column& c, const std::string& said,
                                        double tried) {
  const int digits = digits_of(c);
  if (digits == kAllDigits) return {};
  const double unit = grid_of(digits);
  std::vector<int64_t> values = units_of(c, search.proposing, unit);
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  if (values.size() < kMinValues) return {};
  int64_t step = 0;
  for (const int64_t v : values) step = std::gcd(step, v - values[0]);
  if (step < 2) return {};
  const int64_t first = ((values[0] % step) + step) % step;
  const auto holds = [&](int64_t row, int64_t) {
    const double x = c.numbers[static_cast<size_t>(row)] * unit;
    if (x != x) return -1;
    return std::abs(x) <= Grid::kMaxUnits && (std::llround(x) - first) % step == 0 ? 1 : 0;
  };
  Evidence e;
  e.chance = 1 / static_cast<double>(step);
  for (const int64_t row : search.testing) e.held_out += holds(row, row) > 0;
  // Repeated values are no evidence: only distinct ones count.
  if (!RuleSearch::beyond_chance(static_cast<int64_t>(values.size()) - 1, e.chance, tried)) return {};
  if (groups_on(search, c, unit, step) < search.holders.least({&c})) return {};
  const auto rows = search.kept_rows(holds);
  if (!rows) return {};
  e.rows = *rows;
  return FoundRule{make_rule(GridData{c.name, said, {step, first, digits}}), e};
}

}  // namespace

std::vector<FoundRule> find_grids(const RuleSearch& search, const std::vector<FoundRule>& bounds) {
  std::vector<FoundRule> out;
  for (int j = 0; j < static_cast<int>(search.columns()); ++j) {
    const Column& c = search.column(j);
    if (!search.usable(j) || !is_ordered(c)) continue;
    std::string said = learned_as(bounds, c.name);
    if (said.empty()) said = quoted_name(c.name);
    if (auto found = grid_of_column(search, c, said, static_cast<double>(search.columns())))
      out.push_back(std::move(*found));
    c.relax();
  }
  return out;
}

}  // namespace tessera
