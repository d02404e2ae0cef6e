// Columns computed by functions of dates and times: each function of the list is tried on each column until a row
// contradicts it.
#include "tables/kinds/cells.h"
#include "tables/rules/kinds/function.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "tables/expression/arithmetic.h"
#include "tables/kinds/kind.h"
#include "tables/rules/find/search.h"
#include "tables/rules/kinds/computed.h"
#include "tables/rules/rule/columns.h"
#include "tables/sequence/sequences.h"

namespace tessera {
namespace {

constexpr size_t kMaxSources = 60;   // the work of functions of two grows with their square
constexpr size_t kMinSpelled = 17;   // distinct numbers
constexpr int kSpelledDraws = 1000;  // numbers of the column's range that may spell something by chance

// A possible result of a function, as numbers; texts by their digits.
class FunctionTarget {
 public:
  FunctionTarget(const RuleSearch& search, int j) : column_(search.column(j)) {
    if (is_ordered(column_)) return;
    picture_ = DigitPicture::of(column_.values);
    if (!picture_.text.empty())
      for (const std::string& text : column_.values) digits_.push_back(DigitPicture::read(text));
  }
  bool fits(const TimeFunction& f) const {
    return is_ordered(column_) ? f.fits(column_) : !digits_.empty() && f.gives == TimeFunction::Gives::number && !f.two;
  }
  double of(int64_t row) const {
    const auto i = static_cast<size_t>(row);
    if (has_numbers(column_)) return column_.numbers[i];
    return column_.codes[i] < 0 ? kMissing : digits_[static_cast<size_t>(column_.codes[i])];
  }
  bool same(double value, double given) const {
    return is_ordered(column_) ? same_number(value, given, column_) : value == given;
  }
  const Column& column() const { return column_; }
  const DigitPicture& picture() const { return picture_; }

 private:
  const Column& column_;
  DigitPicture picture_;
  std::vector<double> digits_;  // of each of its texts
};

// Whether the rows that have it have several of its values: else it says only which rows these are.
bool varies(const RuleSearch& search, const FunctionTarget& target, const TimeFunction& f, const Column& a,
            const Column& b) {
  double first = kMissing;
  return std::ranges::any_of(search.proposing, [&](int64_t row) {
    const auto i = static_cast<size_t>(row);
    const double given = f.value(a, a.numbers[i], b, b.numbers[i], kind_of(target.column()).unit), x = target.of(row);
    if (given != given || x != x) return false;
    if (first != first) first = given;
    return given != first;
  });
}

std::optional<FoundRule> given_by(const RuleSearch& search, const FunctionTarget& target, const TimeFunction& f,
                                  const Column& a, const Column& b, double tried) {
  bool gaps = false;
  const auto holds = [&](int64_t row, int64_t other) {
    const auto i = static_cast<size_t>(row);
    const double value = target.of(other),
                 given = f.value(a, a.numbers[i], b, b.numbers[i], kind_of(target.column()).unit);
    if (value == value && given == given) return target.same(value, given) ? 1 : 0;
    return search.of_missing(value != value, given != given, row == other, gaps);
  };
  const auto evidence = search.evidence_of(holds, tried);
  if (!evidence || !varies(search, target, f, a, b)) return {};
  std::vector<std::string> of{a.name};
  if (f.two) of.push_back(b.name);
  return FoundRule{make_rule(FunctionData{head_of(target.column()), &f, std::move(of), target.picture(),
                                          search.seen_as(target.column(), gaps)}),
                   *evidence};
}

// Of one column each, or of two.
std::optional<FoundRule> find_given(const RuleSearch& search, bool two) {
  std::vector<int> times = search.usable_columns(kMaxSources, [](const Column& c) { return when_parts(c) != 0; });
  // A column that follows from the index alone is learned: it tells a step its hour.
  if (const int index = search.index(); two && index >= 0 && when_parts(search.column(index)) != 0)
    times.push_back(index);
  const auto tried = static_cast<double>(time_functions().size() * search.columns() *
                                         std::max<size_t>(times.size(), 1) * (two ? times.size() : 1));
  for (int j = 0; j < static_cast<int>(search.columns()); ++j) {
    if (!search.usable(j) || !search.may_give(j, {})) continue;
    const FunctionTarget target(search, j);
    for (const int a : times)
      for (const int b : times) {
        if (a == j || b == j || (a == b) == two || !search.may_give(j, {a, b})) continue;
        const Column &first = search.column(a), &second = search.column(b);
        const int parts = when_parts(first) & when_parts(second);
        for (const TimeFunction& f : time_functions())
          // a sum says so: seconds = 86400 * (at - '1970-01-01')
          if (f.two == two && (parts & f.needs) == f.needs && target.fits(f) &&
              !(f.counts_from_1970() && !is_spelled(first)))
            if (auto found = given_by(search, target, f, first, second, tried)) return found;
      }
    search.table.relax();
  }
  return {};
}

// The share of valid dates or times among whole numbers with the same step and range as the column.
double spelled_by_chance(const std::set<double>& numbers, const TimeFunction& f) {
  int64_t step = 0;
  const double low = *numbers.begin(), high = *numbers.rbegin();
  for (const double x : numbers) step = std::gcd(step, static_cast<int64_t>(x - low));
  const double steps = (high - low) / static_cast<double>(step);
  int spelled = 0;
  for (int k = 0; k < kSpelledDraws; ++k) {
    const double x = low + static_cast<double>(step) * std::floor(steps * (k + 0.5) / kSpelledDraws);
    const double time = f.inverse(x);
    spelled += time == time;
  }
  return static_cast<double>(spelled + 1) / (kSpelledDraws + 1);
}

// A rule for columns that spell a date or time, if chance does not explain it or another column follows from it.
std::optional<FoundRule> spelled(const RuleSearch& search, const std::vector<int>& columns, const TimeFunction& f,
                                 double chance, int64_t distinct) {
  std::vector<const Column*> all;
  std::vector<std::string> names;
  for (const int j : columns) all.push_back(&search.column(j)), names.push_back(search.column(j).name);
  Evidence e{0, 0, chance};
  for (size_t i = 0; i < static_cast<size_t>(search.table.rows); ++i) {
    const double x = spelled_number(all, i), time = x == x ? f.inverse(x) : kMissing;
    if (x == x && time != time) return {};
    e.rows += x == x;
  }
  for (const int64_t row : search.testing) {
    const double x = spelled_number(all, static_cast<size_t>(row));
    e.held_out += x == x;
  }
  const std::string what = f.needs == kHasTime ? "time of " : "date of ";
  SpelledData rule{free_name(search.table, what + names.front()), names, &f};
  const auto tried = static_cast<double>(search.columns() * time_functions().size());
  const auto follows = [&, time = spelled_in(rule, search.table)](int j) {
    if (!search.usable(j) || std::find(columns.begin(), columns.end(), j) != columns.end()) return false;
    // seconds of a time that is also a column are a sum
    if (f.counts_from_1970() && has_time(search.column(j))) return false;
    const FunctionTarget target(search, j);
    const std::span<const TimeFunction> functions = time_functions();
    return std::any_of(functions.begin(), functions.end(), [&](const TimeFunction& g) {
      return !g.two && (when_parts(time) & g.needs) == g.needs && target.fits(g) &&
             given_by(search, target, g, time, time, tried);
    });
  };
  const auto any = [&](const auto& is) {
    for (int j = 0; j < static_cast<int>(search.columns()); ++j)
      if (is(j)) return true;
    return false;
  };
  // of pairs of rows: even a property that is likely by chance is evidence if there are enough rows
  const bool evident = RuleSearch::beyond_chance(std::min(distinct, e.held_out) / 2, chance * chance, tried);
  // it may be ordered with other dates
  const bool alone = columns.size() == 3 && !any([&](int j) { return (when_parts(search.column(j)) & kHasDay) != 0; });
  if ((alone || !evident) && !any(follows)) {
    if (!evident) return {};
    rule.column = names.back();
  }
  return FoundRule{make_rule(std::move(rule)), e};
}

std::optional<FoundRule> spelled_by(const RuleSearch& search, int j) {
  const Column& c = search.column(j);
  if (!is_count(c) || !search.usable(j) || when_parts(c) != 0) return {};
  std::set<double> numbers;
  for (const int64_t row : search.proposing)
    if (!c.is_missing(row)) numbers.insert(c.numbers[static_cast<size_t>(row)]);
  if (numbers.size() < kMinSpelled) return {};
  for (const TimeFunction& f : time_functions()) {
    if (f.inverse == nullptr) continue;
    const bool all = std::all_of(numbers.begin(), numbers.end(), [&](double x) {
      const double time = f.inverse(x);
      return time == time;
    });
    if (!all) continue;
    const double chance = spelled_by_chance(numbers, f);
    if (auto found = spelled(search, {j}, f, chance, static_cast<int64_t>(numbers.size()) - 1)) return found;
  }
  return {};
}

// A year, a month and a day in columns of their own.
std::vector<std::vector<int>> days_in_parts(const RuleSearch& search) {
  std::vector<int> parts[3];
  constexpr double kLow[] = {1900, 1, 1}, kHigh[] = {2100, 12, 31};
  for (int j = 0; j < static_cast<int>(search.columns()); ++j) {
    const Column& c = search.column(j);
    const bool constant = !kind_of(c).varies;
    if (!constant && (!is_count(c) || !search.usable(j))) continue;
    for (int part = 0; part < 3; ++part) {
      std::set<double> seen;
      const bool within = std::all_of(search.proposing.begin(), search.proposing.end(), [&](int64_t row) {
        const double x = spelled_number({&c}, static_cast<size_t>(row));
        if (seen.size() < kMinSpelled) seen.insert(x);
        return x != x || (x >= kLow[part] && x <= kHigh[part]);
      });
      // days reach far beyond months, and months are several
      const size_t enough = part == 0 ? 1 : part == 1 ? 2 : kMinSpelled;
      if (within && (part == 0 || !constant) && seen.size() >= enough) parts[part].push_back(j);
    }
  }
  std::vector<std::vector<int>> out;
  for (const int y : parts[0])
    for (const int m : parts[1])
      for (const int d : parts[2])
        if (y != m && m != d && y != d) out.push_back({y, m, d});
  return out;
}

// Combines each row with the day of another row: the share of valid calendar dates.
double days_by_chance(const RuleSearch& search, const std::vector<int>& parts, const TimeFunction& day) {
  double valid = 1, rows = 1;
  for (size_t i = 0; i < search.testing.size(); ++i) {
    const auto row = static_cast<size_t>(search.testing[i]);
    const auto other = static_cast<size_t>(search.testing[(i + 1) % search.testing.size()]);
    const double month = spelled_number({&search.column(parts[0]), &search.column(parts[1])}, row);
    const double time = day.inverse(100 * month + search.column(parts[2]).numbers[other]);
    if (month == month) ++rows, valid += time == time;
  }
  return valid / rows;
}

}  // namespace

std::optional<FoundRule> find_functions(const RuleSearch& search) { return find_given(search, false); }
std::optional<FoundRule> find_between(const RuleSearch& search) { return find_given(search, true); }

std::vector<FoundRule> find_spelled(const RuleSearch& search) {
  std::vector<FoundRule> out;
  for (int j = 0; j < static_cast<int>(search.columns()); ++j) {
    if (auto found = spelled_by(search, j)) out.push_back(std::move(*found));
    search.table.relax();
  }
  const TimeFunction& day = *time_function("year, month and day");
  for (const std::vector<int>& parts : days_in_parts(search))
    if (auto found = spelled(search, parts, day, days_by_chance(search, parts, day), search.table.rows)) {
      out.push_back(std::move(*found));
      break;
    }
  return out;
}

}  // namespace tessera
