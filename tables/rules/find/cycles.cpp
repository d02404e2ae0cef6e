// Dates that stand for months, and dates with weekdays, and times with hours, that are not equally frequent.
#include "tables/rules/kinds/cycle.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "tables/kinds/kind.h"
#include "tables/rules/find/search.h"
#include "tables/rules/kinds/grid.h"
#include "tables/rules/rule/columns.h"

namespace tessera {
namespace {

constexpr size_t kMinCycles = 10;   // weeks or days that have dates: fewer are learned one by one
constexpr double kMinUneven = .05;  // of the rows are in other parts of a cycle than evenly spread ones would be
constexpr double kDeviations = 10;  // of χ², beyond its mean: once in a million tables
constexpr double kHour = 3600;

bool is_uneven(const std::vector<double>& counts) {
  double rows = 0, uneven = 0, chi = 0;
  for (const double n : counts) rows += n;
  const auto parts = static_cast<double>(counts.size());
  for (const double n : counts) uneven += std::abs(n - rows / parts) / 2;
  for (const double n : counts) chi += (n - rows / parts) * (n - rows / parts) / (rows / parts);
  return rows > 0 && uneven > kMinUneven * rows && chi > parts - 1 + kDeviations * std::sqrt(2 * (parts - 1));
}

constexpr double kMonthsByChance = 12 / 365.25;
constexpr size_t kMinMonths = 6;  // that differ: fewer may be at their ends by chance, in however many rows

// Whether all dates that propose and test are at one end of a month, and which.
std::optional<bool> month_end(const RuleSearch& search, const Column& c) {
  bool first = true, last = true;
  std::set<double> seen;
  for (const std::vector<int64_t>* rows : {&search.proposing, &search.testing})
    for (const int64_t row : *rows) {
      const double x = c.numbers[static_cast<size_t>(row)];
      if (x != x) continue;
      if (seen.size() < kMinMonths) seen.insert(x);
      first = first && on_first_of_month(x), last = last && on_last_of_month(x);
      if (!first && !last) return {};
    }
  return seen.size() >= kMinMonths ? std::optional(last) : std::nullopt;
}

std::optional<FoundRule> month_of(const RuleSearch& search, const Column& c, double tried) {
  const auto last = month_end(search, c);
  if (!last) return {};
  Evidence e{0, 0, kMonthsByChance};
  for (const double x : c.numbers) {
    if (x != x) continue;
    if (!(*last ? on_last_of_month(x) : on_first_of_month(x))) return {};
    ++e.rows;
  }
  for (const int64_t row : search.testing) e.held_out += !c.is_missing(row);
  if (!RuleSearch::beyond_chance(e.held_out, e.chance, tried)) return {};
  return FoundRule{make_rule(MonthData{c.name, *last}), e};
}

std::optional<FoundRule> cycle_of(const RuleSearch& search, const Column& c) {
  const bool daily = has_time(c);
  if (!daily && month_end(search, c)) return {};
  if (digits_of(c) == kAllDigits || place_of(search.table, phase_of(c)) >= 0) return {};
  std::vector<double> counts(daily ? 24 : 7, 0.0);
  const double period = daily ? kind_of(c).day : 7;
  std::set<double> periods;
  for (const std::vector<int64_t>* rows : {&search.proposing, &search.testing})
    for (const int64_t row : *rows) {
      const double x = c.numbers[static_cast<size_t>(row)];
      if (x != x) continue;
      if (periods.size() < kMinCycles) periods.insert(std::floor(x / period));
      ++counts[static_cast<size_t>(phase_of(c, x) / (daily ? kHour : 1))];
    }
  if (periods.size() < kMinCycles || !is_uneven(counts)) return {};
  if (std::count(counts.begin(), counts.end(), 0.0) + 1 == static_cast<std::ptrdiff_t>(counts.size())) return {};
  Evidence e;
  for (const double x : c.numbers) e.rows += x == x;
  return FoundRule{make_rule(CycleData{head_of(c)}), e};
}

}  // namespace

std::vector<FoundRule> find_months(const RuleSearch& search) {
  std::vector<FoundRule> out;
  for (int j = 0; j < static_cast<int>(search.columns()); ++j) {
    const Column& c = search.column(j);
    if (!is_day(c) || !search.usable(j)) continue;
    if (auto found = month_of(search, c, 2 * static_cast<double>(search.columns()))) out.push_back(std::move(*found));
    c.relax();
  }
  return out;
}

std::vector<FoundRule> find_cycles(const RuleSearch& search, bool times) {
  std::vector<FoundRule> out;
  for (int j = 0; j < static_cast<int>(search.columns()); ++j) {
    const Column& c = search.column(j);
    if (!is_instant(c) || has_time(c) != times || !search.usable(j)) continue;
    if (auto found = cycle_of(search, c)) out.push_back(std::move(*found));
    c.relax();
  }
  return out;
}

}  // namespace tessera
