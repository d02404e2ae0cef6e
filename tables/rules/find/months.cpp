// Dates that are an earlier one and some calendar months, or a day less: the end of a contract, a renewal, the next
// inspection. How many months is the same in all rows, a number of another column, also in years, or decided by a
// category. Months of one number of days are sums (sum.cpp).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tables/formats/calendar.h"
#include "tables/kinds/kind.h"
#include "tables/rules/find/search.h"
#include "tables/rules/kinds/rate.h"
#include "tables/rules/rule/columns.h"

namespace tessera {
namespace {

constexpr size_t kMaxDates = 30, kMaxMonthColumns = 60;  // the work grows with dates²
constexpr size_t kMaxMonthLevels = 1000;                 // of a category
constexpr double kMillisecond = 1.2e-8;                  // in days

// The calendar months from one date to another, in days; NaN: a whole number of months is not between them.
double months_between_days(double from, double to) {
  if (from != from || to != to) return kMissing;
  const Civil x = civil_from_days(day_in_calendar(from)), y = civil_from_days(day_in_calendar(to));
  const double out = 12.0 * (y.year - x.year) + y.month - x.month;
  return out >= 0 && std::abs(add_months(from, out) - to) < kMillisecond ? out : kMissing;
}

// How many calendar months after `from` the column is, in a row.
struct Later {
  const Column &target, &from;
  double days;  // that the column is after the end of the months

  double start(int64_t row) const { return from.numbers[static_cast<size_t>(row)] / kind_of(from).unit; }
  double end(int64_t row) const { return target.numbers[static_cast<size_t>(row)] / kind_of(target).unit - days; }
  bool is_given(int64_t row) const { return !target.is_missing(row) && !from.is_missing(row); }
  double months(int64_t row) const { return months_between_days(start(row), end(row)); }
};

// A date in the proposing rows, in days.
struct Dated {
  int column;
  std::vector<double> x;
};

// NaN where a cell is missing; empty: some row is no months later, or all rows are the same days later.
std::vector<double> months_of(const Dated& target, const Dated& from, double days) {
  std::vector<double> out;
  double first = kMissing;
  bool vary = false;  // the days between the two
  for (size_t i = 0; i < target.x.size(); ++i) {
    const double a = from.x[i], b = target.x[i] - days;
    out.push_back(months_between_days(a, b));
    if (a != a || b != b) continue;
    if (out.back() != out.back()) return {};
    if (first != first) first = b - a;
    vary = vary || std::abs(b - a - first) > 0.5;
  }
  return vary ? out : std::vector<double>{};
}

// The number of all rows; NaN: it varies.
double same_in_all(const std::vector<double>& months) {
  double out = kMissing;
  for (const double m : months) {
    if (m == m && out == out && m != out) return kMissing;
    if (m == m) out = m;
  }
  return out;
}

// As an expression: a number, a column, or twelve times a column of years; "": neither.
std::string months_in(const RuleSearch& search, const std::vector<double>& months, int column) {
  const Column& c = search.column(column);
  for (const double unit : {1.0, 12.0}) {
    int64_t rows = 0;
    bool all = true;
    for (size_t i = 0; i < months.size() && all; ++i) {
      const double x = c.numbers[static_cast<size_t>(search.proposing[i])];
      if (months[i] != months[i]) continue;
      all = x != x ? search.gaps_may_be() : unit * x == months[i];
      rows += x == x;
    }
    if (all && rows > 0) return (unit == 1 ? "" : "12 * ") + quoted_name(c.name);
  }
  return "";
}

// The months of each text of a category; empty: they are not the same in all of its rows.
std::vector<double> months_by(const RuleSearch& search, const Later& later, const Column& by, int64_t least) {
  const std::vector<Held>& held = search.holders.of_values(by);
  std::vector<double> out(held.size(), kMissing);
  std::vector<Held> say(held.size());
  bool all = true;
  search.holders.each([&](int64_t row, int64_t holder) {
    const int32_t code = by.codes[static_cast<size_t>(row)];
    if (!all || !later.is_given(row) || (code >= 0 && held[static_cast<size_t>(code)].holders < least)) return;
    const double m = later.months(row);
    all = m == m && code >= 0 && (say[static_cast<size_t>(code)].rows == 0 || out[static_cast<size_t>(code)] == m);
    if (all) out[static_cast<size_t>(code)] = m, say[static_cast<size_t>(code)].add(holder);
  });
  for (size_t v = 0; v < say.size(); ++v)
    if (say[v].holders < least) out[v] = kMissing;
  return all ? out : std::vector<double>{};
}

std::optional<FoundRule> rule_by(const RuleSearch& search, const Later& later, const Column& by, double tried) {
  const int64_t least = search.holders.least({&later.target, &later.from, &by});
  const std::vector<double> months = months_by(search, later, by, least);
  if (months.empty()) return {};
  bool gaps = false;
  const auto holds = [&](int64_t row, int64_t other) {
    const int32_t code = by.codes[static_cast<size_t>(row)];
    const double m = code < 0 ? kMissing : months[static_cast<size_t>(code)];
    const bool target = later.target.is_missing(other), given = later.from.is_missing(row) || code < 0;
    if (target || given) return search.of_missing(target, given, row == other, gaps);
    return m != m ? -1 : std::abs(add_months(later.start(row), m) - later.end(other)) < kMillisecond ? 1 : 0;
  };
  const auto evidence = search.evidence_of(holds, tried);
  int64_t others = 0;  // rows of texts without months of their own
  for (int64_t row = 0; row < search.table.rows; ++row) others += holds(row, row) < 0 && later.is_given(row);
  if (!evidence || others > search.table.rows / 10) return {};
  Rates rates;
  rates.factors = false;
  for (size_t v = 0; v < months.size(); ++v)
    if (months[v] == months[v]) rates.levels.push_back(by.values[v]), rates.rates.push_back(months[v]);
  return FoundRule{make_rule(RateData{std::move(rates),
                                      head_of(later.target),
                                      later.from.name,
                                      by.name,
                                      "",
                                      search.seen_as(later.target, gaps),
                                      {true, later.days}}),
                   *evidence};
}

std::optional<FoundRule> rule_of(const RuleSearch& search, const Dated& last, const Dated& first, double days,
                                 double tried) {
  const std::vector<double> months = months_of(last, first, days);
  if (months.empty()) return {};
  const int target = last.column, from = first.column;
  const Later later{search.column(target), search.column(from), days};
  Held held;
  search.holders.each([&](int64_t row, int64_t holder) {
    if (later.is_given(row)) held.add(holder);
  });
  if (held.holders < search.holders.least({&later.target, &later.from})) return {};
  const auto by_number = [&](const std::string& number) {
    const std::string end = fmt::format("add_months({}, {})", quoted_name(later.from.name), number);
    return computed_rule(search, {target, days == 0 ? end : fmt::format("{} - {}", end, -days)}, tried);
  };
  if (const double all = same_in_all(months); all == all) return by_number(fmt::format("{}", all));
  for (const int j : search.usable_columns(kMaxMonthColumns, [](const Column& c) { return is_quantity(c); })) {
    const std::string number = months_in(search, months, j);
    if (number.empty()) continue;
    if (auto found = by_number(number)) return found;
  }
  std::vector<int> categories = search.usable_columns(kMaxMonthColumns, [](const Column& c) {
    return has_texts(c) && c.values.size() >= 2 && c.values.size() <= kMaxMonthLevels;
  });
  std::ranges::stable_sort(categories, {}, [&](int j) { return search.column(j).values.size(); });
  for (const int j : categories) {
    if (!search.may_give(target, {from, j})) continue;
    if (auto found = rule_by(search, later, search.column(j), tried)) return found;
  }
  return {};
}

}  // namespace

std::optional<FoundRule> find_added_months(const RuleSearch& search) {
  std::vector<Dated> dates;
  for (const int j : search.usable_columns(kMaxDates, [](const Column& c) { return is_instant(c); })) {
    dates.push_back({j, numbers_in(search.column(j), search.proposing)});
    for (double& x : dates.back().x) x /= kind_of(search.column(j)).unit;
  }
  const auto tried = static_cast<double>(4 * dates.size() * dates.size() * (search.columns() + 1));
  for (const Dated& target : dates)
    for (const Dated& from : dates) {
      if (&from == &target || has_time(search.column(from.column)) != has_time(search.column(target.column)) ||
          !search.may_give(target.column, {from.column}))
        continue;
      for (const double days : {0.0, -1.0})
        if (auto found = rule_of(search, target, from, days, tried)) return found;
    }
  return {};
}

}  // namespace tessera
