// Dates with weekdays, and times with hours, that are not equally frequent.
#include "models/rules/kinds/cycle.h"

#include <algorithm>
#include <cmath>

#include "models/rules/columns.h"
#include "models/rules/find/search.h"

namespace tessera {
namespace {

constexpr double kLeastCycles = 10;   // weeks or days from the first to the last date: fewer are learnt one by one
constexpr double kLeastUneven = .05;  // of the rows are in other parts of a cycle than evenly spread ones would be
constexpr double kDeviations = 10;    // of χ², beyond its mean: once in a million tables
constexpr double kHour = 3600;

bool is_uneven(const std::vector<double>& counts) {
  double rows = 0, uneven = 0, chi = 0;
  for (const double n : counts) rows += n;
  const auto parts = static_cast<double>(counts.size());
  for (const double n : counts) uneven += std::abs(n - rows / parts) / 2;
  for (const double n : counts) chi += (n - rows / parts) * (n - rows / parts) / (rows / parts);
  return rows > 0 && uneven > kLeastUneven * rows && chi > parts - 1 + kDeviations * std::sqrt(2 * (parts - 1));
}

std::optional<FoundRule> cycle_of(const RuleSearch& search, const Column& c) {
  const bool daily = c.type == ColumnType::datetime;
  if (digits_of(c) == kAllDigits || place_of(search.table, CycleRule::phase_of(c)) >= 0) return {};
  std::vector<double> counts(daily ? 24 : 7, 0.0);
  double first = INFINITY, last = -INFINITY;
  for (const std::vector<int64_t>* rows : {&search.proposing, &search.testing})
    for (const int64_t row : *rows) {
      const double x = c.numbers[static_cast<size_t>(row)];
      if (x != x) continue;
      first = std::min(first, x), last = std::max(last, x);
      ++counts[static_cast<size_t>(CycleRule::phase_of(c, x) / (daily ? kHour : 1))];
    }
  if (!(last - first >= kLeastCycles * (daily ? kSecondsPerDay : 7)) || !is_uneven(counts)) return {};
  if (std::count(counts.begin(), counts.end(), 0.0) + 1 == static_cast<std::ptrdiff_t>(counts.size())) return {};
  Evidence e;
  for (const double x : c.numbers) e.rows += x == x;
  return FoundRule{std::make_shared<CycleRule>(head_of(c)), e};
}

}  // namespace

std::vector<FoundRule> find_cycles(const RuleSearch& search, ColumnType type) {
  std::vector<FoundRule> out;
  for (int j = 0; j < static_cast<int>(search.columns()); ++j) {
    const Column& c = search.column(j);
    if (c.type != type || !search.usable(j)) continue;
    if (auto found = cycle_of(search, c)) out.push_back(std::move(*found));
    c.relax();
  }
  return out;
}

}  // namespace tessera
