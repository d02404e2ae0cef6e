#include "models/quality/written/written_form.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>

#include "models/quality/common/chance.h"
#include "tables/formats/calendar.h"
#include "tables/kinds/cells.h"
#include "tables/kinds/kind.h"
#include "tables/kinds/row_formats.h"
#include "tables/protection/rare_categories.h"
#include "tables/table/decimals.h"

namespace tessera::quality {
namespace {

constexpr int kMaxDecimals = 8;      // more are "8 or more decimals": measured or computed numbers
constexpr double kRecurring = 0.9;   // minimum share of real rows whose value occurs in another row
constexpr int64_t kSortedRows = 20;  // fewer may be sorted by chance
constexpr int64_t kWithheld = -1;    // a row to which a form does not apply

using Counts = std::map<int64_t, std::array<int64_t, 2>>;

// What the name of a level says of another one: that of months' starts is true on 1 January too.
using Includes = std::function<bool(int64_t level, int64_t other)>;
bool is_same(int64_t level, int64_t other) { return level == other; }

// Rows are of one level each. The level that differs most, as does what its name says, is reported with the shares of
// the rows that its name is true of.
WrittenForm compare_levels(const std::string& column, const char* form, const Counts& counts,
                           const std::function<std::string(int64_t)>& name, const Includes& includes = is_same) {
  WrittenForm out{column, form, "", 0, 0, 0, 0};
  int64_t rows[2] = {0, 0};
  for (const auto& [level, n] : counts) rows[0] += n[0], rows[1] += n[1];
  if (rows[0] == 0 || rows[1] == 0) return out;
  const double of_real = static_cast<double>(rows[0]), of_synthetic = static_cast<double>(rows[1]);
  double furthest = -1, noise = 0;
  for (const auto& [level, n] : counts) {
    const double real = static_cast<double>(n[0]) / of_real, synthetic = static_cast<double>(n[1]) / of_synthetic,
                 both = static_cast<double>(n[0] + n[1]) / (of_real + of_synthetic);
    out.difference += std::abs(real - synthetic) / 2;
    noise += mean_difference(both, of_real, of_synthetic) / 2;
    std::array<int64_t, 2> all{};
    for (const auto& [other, of] : counts)
      if (includes(level, other)) all[0] += of[0], all[1] += of[1];
    const double named = static_cast<double>(all[1]) / of_synthetic,
                 distance =
                     std::min(std::abs(real - synthetic), std::abs(static_cast<double>(all[0]) / of_real - named));
    if (distance <= furthest) continue;
    furthest = distance;
    out.level = name(level);
    out.real = protected_share(all[0], rows[0]), out.synthetic = named;
  }
  out.gap = std::max(0.0, out.difference - 2 * noise);
  return out;
}

// Digits: 4·decimals + class, decimals below 0 for multiples of ten; the class is 2 for …25 and …75, 1 for …5.
int64_t digits_of(double x) {
  if (x == 0 || !std::isfinite(x)) return kWithheld;
  const double slack = 1e-9 * std::max(1.0, std::abs(x));
  int decimals = 0;
  while (decimals < kMaxDecimals && std::abs(x - round_decimals(x, decimals)) > slack) ++decimals;
  const double scaled = std::nearbyint(std::abs(x) * grid_of(decimals));
  if (decimals == kMaxDecimals || scaled >= 0x1p53) return 4 * (kMaxDecimals + kMaxDecimals);
  auto v = static_cast<int64_t>(scaled);
  while (v != 0 && v % 10 == 0) v /= 10, --decimals;
  return 4 * (decimals + kMaxDecimals) + (v % 25 == 0 ? 2 : v % 5 == 0 ? 1 : 0);
}

std::string digits_name(int64_t level) {
  const auto decimals = static_cast<int>(level / 4 - kMaxDecimals), of = static_cast<int>(level % 4);
  if (decimals == kMaxDecimals) return fmt::format("{} or more decimals", kMaxDecimals);
  if (of == 0 && decimals > 0) return fmt::format("{} decimal{}", decimals, decimals == 1 ? "" : "s");
  if (of == 0 && decimals == 0) return "whole numbers";
  return fmt::format("multiples of {:g}", (of == 2 ? 25 : of == 1 ? 5 : 1) * std::pow(10.0, -decimals));
}

// Multiples of a step include those of its multiples; a number of decimals is that which a number needs.
bool digits_include(int64_t level, int64_t other) {
  const int64_t of = level % 4, further = level / 4 - other / 4;  // zeros that the other one has beyond it
  if (level == other) return true;
  if (level / 4 > kMaxDecimals && of == 0) return false;
  return further > 1 || (further == 1 && (of < 2 || other % 4 > 0)) || (further == 0 && other % 4 >= of);
}

constexpr std::array<std::pair<double, const char*>, 6> kTimes{{{kSecondsPerDay, "at midnight"},
                                                                {3600, "at full hours"},
                                                                {900, "at quarters of an hour"},
                                                                {300, "at multiples of 5 minutes"},
                                                                {60, "at full minutes"},
                                                                {1, "at full seconds"}}};

int64_t time_of(double seconds) {
  for (size_t i = 0; i < kTimes.size(); ++i) {
    const double part = std::fmod(std::abs(seconds), kTimes[i].first);
    if (std::min(part, kTimes[i].first - part) < 1e-6) return static_cast<int64_t>(i);
  }
  return static_cast<int64_t>(kTimes.size());
}

constexpr std::array<const char*, 5> kDays{"on 1 January", "on 31 December", "on the first of a month",
                                           "on the last of a month", "on other days of the month"};

int64_t day_of(double seconds) {
  const Civil d = civil_from_days(day_in_calendar(seconds / kSecondsPerDay));
  if (d.day == 1) return d.month == 1 ? 0 : 2;
  if (!is_day(d.year, d.month, d.day + 1)) return d.month == 12 ? 1 : 3;
  return 4;
}

constexpr std::array<const char*, 7> kWeekdays{"on Mondays", "on Tuesdays",  "on Wednesdays", "on Thursdays",
                                               "on Fridays", "on Saturdays", "on Sundays"};

class ColumnForms {
 public:
  ColumnForms(const Comparison& c, size_t column, std::vector<WrittenForm>& out)
      : facts_(c.facts[column]),
        sides_{&c.tables[kReal].columns[column], &c.tables[kSynthetic].columns[column]},
        out_(out) {}

  void measure() {
    if (facts_.kind == Kind::categorical || facts_.unit != 1) return;
    if (facts_.kind == Kind::datetime) {
      const auto at = [](auto of) { return [of](double nanoseconds) { return of(nanoseconds / 1e9); }; };
      count(
          "time", at(time_of),
          [](int64_t l) { return l < 6 ? kTimes[static_cast<size_t>(l)].second : "at fractions of a second"; },
          [](int64_t l, int64_t other) { return l == other || (l < 6 && other < l); });
      count(
          "day", at(day_of), [](int64_t l) { return kDays[static_cast<size_t>(l)]; },
          [](int64_t l, int64_t other) { return l == other || (l == other + 2 && l < 4); });
      count("weekday", at([](double s) -> int64_t { return weekday_of(day_in_calendar(s / kSecondsPerDay)); }),
            [](int64_t l) { return kWeekdays[static_cast<size_t>(l)]; });
    } else {
      count("digits", digits_of, digits_name, digits_include);
      if (!facts_.integer)  // prices that end in .99
        count(
            "cents",
            [](double x) {
              const double cents = std::abs(x) * 100;
              return cents < 1e15 && std::abs(cents - std::nearbyint(cents)) < 1e-6
                         ? static_cast<int64_t>(std::nearbyint(cents)) % 100
                         : kWithheld;
            },
            [](int64_t l) { return fmt::format("ending in .{:02}", l); });
    }
    recurring();
    order();
  }

 private:
  template <class Of, class Name>
  void count(const char* form, Of&& of, Name&& name, const Includes& includes = is_same) {
    Counts counts;
    for (const size_t side : {size_t{0}, size_t{1}})
      for (const double x : sides_[side]->numbers)
        if (!std::isnan(x))
          if (const int64_t level = of(x); level != kWithheld) ++counts[level][side];
    if (counts.size() > 1) out_.push_back(compare_levels(facts_.name, form, counts, name, includes));
  }

  // Whether values are those of the real column, if nearly all of its values recur.
  void recurring() {
    std::vector<double> sorted;
    for (const double x : sides_[0]->numbers)
      if (!std::isnan(x)) sorted.push_back(x);
    std::sort(sorted.begin(), sorted.end());
    Counts counts;
    for (size_t i = 0; i < sorted.size();) {
      const size_t end =
          static_cast<size_t>(std::upper_bound(sorted.begin(), sorted.end(), sorted[i]) - sorted.begin());
      counts[end - i > 1][0] += static_cast<int64_t>(end - i);
      i = end;
    }
    if (static_cast<double>(counts[1][0]) < kRecurring * static_cast<double>(sorted.size())) return;
    for (const double x : sides_[1]->numbers)
      if (!std::isnan(x)) ++counts[std::binary_search(sorted.begin(), sorted.end(), x)][1];
    WrittenForm form =
        compare_levels(facts_.name, "recurring", counts, [](int64_t) { return "a value that other real rows have"; });
    form.real = protected_share(counts[1][0], counts[0][0] + counts[1][0]);
    form.synthetic =
        static_cast<double>(counts[1][1]) / static_cast<double>(std::max<int64_t>(counts[0][1] + counts[1][1], 1));
    if (form.synthetic >= form.real) form.gap = 0;
    out_.push_back(std::move(form));
  }

  // Share of rows in ascending, or descending, order with the row above.
  void order() {
    double sorted[2] = {0, 0};
    for (const size_t side : {size_t{0}, size_t{1}}) {
      int64_t rises = 0, falls = 0, pairs = 0;
      double last = kMissing;
      for (const double x : sides_[side]->numbers) {
        if (std::isnan(x)) continue;
        if (!std::isnan(last)) ++pairs, rises += x > last, falls += x < last;
        last = x;
      }
      if (side == 0 && (pairs < kSortedRows || std::min(rises, falls) > 0 || rises == falls)) return;
      sorted[side] = 1 - static_cast<double>(std::min(rises, falls)) / static_cast<double>(std::max<int64_t>(pairs, 1));
    }
    out_.push_back({facts_.name, "order", "sorted from row to row", sorted[0], sorted[1], sorted[0] - sorted[1], 0});
  }

  const ColumnFacts& facts_;
  std::array<const ComparedColumn*, 2> sides_;
  std::vector<WrittenForm>& out_;
};

// Numbers of which each row has its own digits: how many are written, zeros among them.
void measure_digits(const Column& real, const Column& synthetic, std::vector<WrittenForm>& out) {
  if (!by_row(real) || !is_quantity(real) || !has_numbers(synthetic)) return;
  Counts counts;
  std::string text;
  for (const size_t side : {size_t{0}, size_t{1}}) {
    const Column& c = side == 0 ? real : synthetic;
    for (size_t i = 0; i < c.numbers.size(); ++i) {
      if (c.numbers[i] != c.numbers[i]) continue;
      text.clear();
      writer_of(c, i).write(c.numbers[i], text);
      const size_t point = text.find('.');
      ++counts[point == std::string::npos ? 0 : static_cast<int64_t>(text.size() - point) - 1][side];
    }
  }
  out.push_back(compare_levels(real.name, "written digits", counts, [](int64_t n) {
    return n == 0 ? "written without decimals" : fmt::format("written with {} decimal{}", n, n == 1 ? "" : "s");
  }));
}

// Texts that are not compared themselves: their lengths, and whether they recur.
void measure_texts(const Column& real, const Column& synthetic, std::vector<WrittenForm>& out) {
  if (is_ordered(real) || is_ordered(synthetic)) return;
  const Column* sides[2] = {&real, &synthetic};
  Counts lengths;
  double repeats[2] = {0, 0}, rows[2] = {0, 0};
  std::vector<int64_t> held[2];
  for (const size_t side : {size_t{0}, size_t{1}}) {
    held[side].resize(sides[side]->values.size());
    for (const int32_t code : sides[side]->codes) {
      if (code < 0) continue;
      ++held[side][static_cast<size_t>(code)], ++rows[side];
      ++lengths[static_cast<int64_t>(sides[side]->values[static_cast<size_t>(code)].size())][side];
    }
  }
  if (rows[0] < 2 || rows[1] < 2) return;
  out.push_back(
      compare_levels(real.name, "length", lengths, [](int64_t n) { return fmt::format("{} characters", n); }));
  // Over as many rows as the smaller table has: a row's text recurs if another drawn row has it.
  const double fewer = std::min(rows[0], rows[1]);
  for (const size_t side : {size_t{0}, size_t{1}})
    for (const int64_t n : held[side])
      repeats[side] += static_cast<double>(n) / rows[side] *
                       (1 - std::pow(1 - (fewer - 1) / (rows[side] - 1), static_cast<double>(n - 1)));
  WrittenForm form{real.name,  "repeats",  "a text that other rows have",
                   repeats[0], repeats[1], std::abs(repeats[0] - repeats[1]),
                   0};
  form.gap = std::max(0.0, form.difference - 2 / std::sqrt(fewer));
  if (form.real * rows[0] < kRareRows) form.real = 0;
  out.push_back(std::move(form));
}

}  // namespace

double protected_share(int64_t count, int64_t rows) {
  if (rows == 0 || count < kRareRows) return 0;
  return rows - count < kRareRows ? 1 : static_cast<double>(count) / static_cast<double>(rows);
}

std::vector<WrittenForm> written_form(const Comparison& c, const Table& real, const Table& synthetic,
                                      const Workers& workers) {
  std::vector<std::vector<WrittenForm>> found(c.facts.size());
  workers.for_each("written form", "columns", static_cast<int64_t>(found.size()), 1, [&](int64_t i) {
    const auto k = static_cast<size_t>(i);
    ColumnForms(c, k, found[k]).measure();
  });
  std::vector<WrittenForm> out;
  for (auto& forms : found)
    for (WrittenForm& f : forms) out.push_back(std::move(f));
  for (const ColumnFacts& facts : c.facts) measure_digits(*real.find(facts.name), *synthetic.find(facts.name), out);
  std::vector<std::string> texts = c.identifiers;
  for (const RegeneratedColumn& r : c.regenerated) texts.push_back(r.name);
  for (const std::string& name : texts) measure_texts(*real.find(name), *synthetic.find(name), out);
  return out;
}

}  // namespace tessera::quality
