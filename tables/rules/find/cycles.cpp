// Dates that represent months; dates with uneven weekdays and times with uneven hours; counts of days or hours whose
// remainder is informative about a category.
#include "tables/rules/kinds/cycle.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <unordered_map>

#include "tables/kinds/kind.h"
#include "tables/rules/find/factors.h"
#include "tables/rules/find/forms.h"
#include "tables/rules/kinds/form.h"
#include "tables/rules/kinds/function.h"
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

// Whether the weekdays differ by more than the dates of each do: of starts of months, most rows are on few dates, and
// some weekdays have more of these. `weeks`: the rows of each day of each week.
bool differ_by_weekday(const std::map<double, std::array<double, 7>>& weeks) {
  constexpr double kMinDiffer = 12;  // starts of months have up to 3, weekdays 20 and more
  std::array<double, 7> sums{}, squares{};
  for (const auto& [week, days] : weeks) {
    const double mean = std::accumulate(days.begin(), days.end(), 0.0) / 7;
    for (size_t k = 0; k < days.size(); ++k)
      sums[k] += days[k] - mean, squares[k] += (days[k] - mean) * (days[k] - mean);
  }
  double differ = 0;
  for (size_t k = 0; k < sums.size(); ++k) differ += squares[k] > 0 ? sums[k] * sums[k] / squares[k] : 0;
  return differ >= kMinDiffer;
}

constexpr double kMonthsByChance = 12 / 365.25;
constexpr size_t kMinMonths = 6;  // distinct months: with fewer, all may be first or last days by chance

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

constexpr size_t kMinWeekdays = 2;  // that have rows: those of one are a grid

std::optional<FoundRule> weekdays_of(const RuleSearch& search, const Column& c, double tried) {
  if (month_end(search, c)) return {};
  std::vector<Held> held(7);
  std::set<double> weeks;
  const double week = 7 * kind_of(c).day;
  search.holders.each([&](int64_t row, int64_t holder) {
    const double x = c.numbers[static_cast<size_t>(row)];
    if (x != x) return;
    held[static_cast<size_t>(weekday_of(c, x))].add(holder);
    if (weeks.size() < kMinCycles) weeks.insert(std::floor(x / week));
  });
  WeekdayData data{c.name, {}};
  Evidence e;
  const int64_t least = search.holders.least({&c});
  for (size_t day = 0; day < held.size(); ++day) {
    e.rows += held[day].rows;
    if (held[day].rows == 0) data.closed.push_back(static_cast<double>(day));
    else if (held[day].holders < least) return {};
  }
  const size_t open = held.size() - data.closed.size();
  if (data.closed.empty() || open < kMinWeekdays || weeks.size() < kMinCycles) return {};
  for (const int64_t row : search.testing) e.held_out += !c.is_missing(row);
  e.chance = static_cast<double>(open) / static_cast<double>(held.size());
  if (!RuleSearch::beyond_chance(e.held_out, e.chance, tried)) return {};
  return FoundRule{make_rule(std::move(data)), e};
}

// The start of the first hour that times are in, and the end of the last one, in seconds; 0 of hours of few holders.
std::pair<double, double> hours_of(const RuleSearch& search, const Column& c) {
  std::vector<Held> held(24);
  search.holders.each([&](int64_t row, int64_t holder) {
    if (const double x = c.numbers[static_cast<size_t>(row)]; x == x)
      held[static_cast<size_t>(phase_of(c, x) / kHour)].add(holder);
  });
  const auto open = [](const Held& hour) { return hour.rows > 0; };
  const auto first = std::ranges::find_if(held, open);
  const auto last = std::find_if(held.rbegin(), held.rend(), open);
  const int64_t least = search.holders.least({&c});
  if (first == held.end() || first->holders < least || last->holders < least) return {};
  return {kHour * static_cast<double>(first - held.begin()), kHour * static_cast<double>(held.rend() - last)};
}

std::optional<FoundRule> cycle_of(const RuleSearch& search, const Column& c) {
  const bool daily = has_time(c);
  if (!daily && month_end(search, c)) return {};
  if (digits_of(c) == kAllDigits || place_of(search.table, phase_of(c)) >= 0) return {};
  std::vector<double> counts(daily ? 24 : 7, 0.0);
  const double period = daily ? kind_of(c).day : 7;
  std::map<double, std::array<double, 7>> periods;
  for (const std::vector<int64_t>* rows : {&search.proposing, &search.testing})
    for (const int64_t row : *rows) {
      const double x = c.numbers[static_cast<size_t>(row)];
      if (x != x) continue;
      const auto part = static_cast<size_t>(phase_of(c, x) / (daily ? kHour : 1));
      if (!daily) ++periods[std::floor(x / period)][part];
      else if (periods.size() < kMinCycles) periods[std::floor(x / period)];
      ++counts[part];
    }
  if (periods.size() < kMinCycles || !is_uneven(counts) || (!daily && !differ_by_weekday(periods))) return {};
  if (std::count(counts.begin(), counts.end(), 0.0) + 1 == static_cast<std::ptrdiff_t>(counts.size())) return {};
  Evidence e;
  for (const double x : c.numbers) e.rows += x == x;
  const auto [low, high] = daily ? hours_of(search, c) : std::pair(0.0, 0.0);
  return FoundRule{make_rule(CycleData{head_of(c), 0, low, high}), e};
}

// The hours of the day in which a column of times has rows.
std::vector<char> open_hours(const RuleSearch& search, const Column& c) {
  std::vector<char> out(24, 0);
  for (const std::vector<int64_t>* rows : {&search.proposing, &search.testing})
    for (const int64_t row : *rows)
      if (const double x = c.numbers[static_cast<size_t>(row)]; x == x)
        out[static_cast<size_t>(phase_of(c, x) / kHour)] = 1;
  return out;
}

// The share of the rows whose time would be within these hours if its distance were learned: that of another row, and
// drawn within a bin of distances.
double kept_by_distances(const RuleSearch& search, const Column& c, const std::vector<int>& lower,
                         const std::vector<char>& open) {
  constexpr size_t kBins = 64;
  constexpr double kSpread = 0.618;  // its multiples are spread evenly within the bins
  std::vector<double> least, distance;
  for (const int64_t row : search.proposing) {
    const auto i = static_cast<size_t>(row);
    double most = -INFINITY;
    for (const int j : lower) most = std::fmax(most, in_unit_of(c, search.column(j), search.column(j).numbers[i]));
    if (c.numbers[i] == c.numbers[i] && std::isfinite(most))
      least.push_back(most), distance.push_back(c.numbers[i] - most);
  }
  std::ranges::sort(distance);
  double kept = 0;
  for (size_t i = 0; i < least.size(); ++i) {
    const size_t last = least.size() - 1, bin = i * kBins / least.size();
    const double low = distance[bin * last / kBins], high = distance[(bin + 1) * last / kBins];
    const double part = std::fmod(kSpread * static_cast<double>(i), 1);
    kept += open[static_cast<size_t>(phase_of(c, std::floor(least[i] + low + part * (high - low))) / kHour)];
  }
  return least.empty() ? 1 : kept / static_cast<double>(least.size());
}

constexpr double kPeriods[] = {4, 5, 6, 7, 10, 12, 14, 24, 30, 48, 52, 60, 96, 100};
constexpr int32_t kMaxLevels = 100;                // of the other column
constexpr size_t kMaxTested = 20'000;              // rows that propose or test
constexpr double kMinKnown = .25, kMinNats = .05;  // min share of the other column's entropy; nats per row
constexpr double kFalseNats = 20;                  // above chance level for any pair of columns

// A number in the same rows, without the values that many rows hold: other columns depend on those.
struct Spread {
  double low, high;
  std::vector<double> proposing, testing;
};

// Where a number is in its period, and the number of that period; −1: beyond the ends, or missing.
struct Remainders {
  std::vector<int32_t> part;
  std::vector<int64_t> period;
};

Remainders remainders_of(const Spread& range, const std::vector<double>& x, double period) {
  Remainders out;
  for (size_t i = 0; i < std::min(x.size(), kMaxTested); ++i) {
    const bool in = x[i] >= range.low && x[i] <= range.high;
    const double before = in ? std::floor(x[i] / period) : 0;
    out.part.push_back(in ? static_cast<int32_t>(x[i] - period * before) : -1);
    out.period.push_back(static_cast<int64_t>(before));
  }
  return out;
}

bool are_spread(const Remainders& x) {
  std::unordered_map<int64_t, double> periods;
  double squares = 0, total = 0;
  for (size_t i = 0; i < x.part.size(); ++i)
    if (x.part[i] >= 0) ++periods[x.period[i]];
  for (const auto& [at, n] : periods) squares += n * n, total += n;
  return total * total >= kMinCycles * squares;
}

// The mutual information of the remainder of x and the levels, as a share of the entropy of the levels; 0: none. Levels
// per remainder are counted in every second period and predicted in the others, so that levels tied to single values of
// x, or to large ones, do not count.
double known_by_remainder(const Remainders& x, double period, int32_t of_y, const std::vector<int32_t>& y) {
  constexpr double kPrior = 4;  // rows that are as all are
  struct Seen {
    size_t part, level;
  };
  const auto parts = static_cast<size_t>(period), levels = static_cast<size_t>(of_y);
  std::vector<double> count(parts * levels), of_part(parts), of_level(levels, 1);
  std::vector<Seen> others;
  double counted = static_cast<double>(levels);
  for (size_t i = 0; i < x.part.size(); ++i) {
    if (x.part[i] < 0 || y[i] < 0) continue;
    const Seen seen{static_cast<size_t>(x.part[i]), static_cast<size_t>(y[i])};
    if (x.period[i] % 2 != 0) others.push_back(seen);
    else ++count[seen.part * levels + seen.level], ++of_part[seen.part], ++of_level[seen.level], ++counted;
  }
  double gain = 0, all = 0;
  for (const Seen& s : others) {
    const double usual = of_level[s.level] / counted;
    const double here = (count[s.part * levels + s.level] + kPrior * usual) / (of_part[s.part] + kPrior);
    gain += std::log(here / usual), all -= std::log(usual);
  }
  return gain > std::max(kMinNats * static_cast<double>(others.size()), kFalseNats) ? gain / all : 0;
}

// The same for the testing rows; levels unseen in the proposing rows are ignored.
double tested_by_remainder(const Spread& x, double period, const Labels& y) {
  Remainders rows = remainders_of(x, x.testing, period);
  for (size_t i = 0; i < rows.part.size(); ++i)
    if (y.testing[i] < 0) rows.part[i] = -1;
  return are_spread(rows) ? known_by_remainder(rows, period, y.levels, y.testing) : 0;
}

// The shortest of the periods whose remainders are most informative about another column.
std::optional<double> period_of(const Spread& x, int column, const std::vector<Labels>& others) {
  constexpr double kAsMuch = .9;
  double best = 0, found = 0;
  for (const double period : kPeriods) {
    if (x.high - x.low < static_cast<double>(kMinCycles) * period) continue;
    const Remainders rows = remainders_of(x, x.proposing, period);
    if (!are_spread(rows)) continue;
    for (const Labels& y : others) {
      if (y.column == column) continue;
      const double here = known_by_remainder(rows, period, y.levels, y.proposing);
      if (here <= kMinKnown || kAsMuch * here <= best) continue;
      if (tested_by_remainder(x, period, y) > kMinKnown) best = here, found = period;
    }
  }
  return found > 0 ? std::optional(found) : std::nullopt;
}

}  // namespace

std::vector<FoundRule> find_remainders(const RuleSearch& search) {
  constexpr size_t kMaxOthers = 32;
  std::vector<Labels> others;
  for (int j = 0; j < static_cast<int>(search.columns()) && others.size() < kMaxOthers; ++j) {
    if (!search.usable(j) || search.column(j).name.starts_with(FormData{"", {{}}}.name())) continue;
    Labels y = labels_of(search, j);
    search.column(j).relax();
    if (y.levels >= 2 && y.levels <= kMaxLevels) others.push_back(std::move(y));
  }
  std::vector<std::optional<FoundRule>> found(others.empty() ? 0 : search.columns());
  search.team.for_each(static_cast<int64_t>(found.size()), [&](int64_t at) {
    const auto j = static_cast<int>(at);
    const Column& c = search.column(j);
    if (!search.usable(j) || !is_count(c) || digits_of(c) != 0) return;
    for (const std::string& taken : {phase_of(c), FormData{c.name, {{}}}.name()})
      if (place_of(search.table, taken) >= 0) return;
    Evidence e;
    for (const double x : c.numbers) e.rows += x == x;
    const auto [least, most] = ends_of(c, search.holders.least({&c}));
    Spread x{std::floor(least), std::ceil(most), numbers_in(c, search.proposing), numbers_in(c, search.testing)};
    if (distinct_of(x.proposing) <= static_cast<size_t>(kMaxLevels)) return;  // learned one by one
    const auto often = frequent_numbers(x.proposing);
    for (std::vector<double>* part : {&x.proposing, &x.testing})
      for (double& number : *part)
        if (often.contains(number)) number = kMissing;
    if (const auto period = period_of(x, j, others))
      found[static_cast<size_t>(j)] = FoundRule{make_rule(CycleData{head_of(c), *period, x.low, x.high}), e};
  });
  return those_found(std::move(found));
}

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

std::vector<FoundRule> find_weekdays(const RuleSearch& search) {
  std::vector<FoundRule> out;
  for (int j = 0; j < static_cast<int>(search.columns()); ++j) {
    const Column& c = search.column(j);
    if (!is_instant(c) || (when_parts(c) & kHasDay) == 0 || is_spelled(c) || !search.usable(j)) continue;
    if (auto found = weekdays_of(search, c, static_cast<double>(search.columns()))) out.push_back(std::move(*found));
  }
  return out;
}

std::vector<FoundRule> find_hours(const RuleSearch& search, const std::vector<std::pair<int, int>>& orders) {
  constexpr std::ptrdiff_t kMinClosed = 4;
  constexpr double kEnough = 0.8;
  std::vector<FoundRule> out;
  for (int j = 0; j < static_cast<int>(search.columns()); ++j) {
    const Column& c = search.column(j);
    std::vector<int> lower;
    for (const auto& [low, up] : orders)
      if (up == j) lower.push_back(low);
    if (lower.empty() || !is_instant(c) || !has_time(c)) continue;
    const std::vector<char> open = open_hours(search, c);
    if (std::ranges::count(open, 0) < kMinClosed || kept_by_distances(search, c, lower, open) >= kEnough) continue;
    if (auto found = cycle_of(search, c)) out.push_back(std::move(*found));
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
