#include "models/quality/drawings/axis.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "models/quality/common/json_number.h"
#include "models/quality/common/statistics.h"

namespace tessera::quality {
namespace {

constexpr double kSecond = 1e9, kMinute = 60 * kSecond, kHour = 60 * kMinute, kDay = 24 * kHour;
constexpr double kMonth = 365.2425 / 12 * kDay;
constexpr double kCalendar = 8030 * 12 * kMonth;  // from 1970 to 9999: later times are not cut by months
constexpr double kTimeSteps[] = {kSecond,   5 * kSecond, 15 * kSecond, kMinute,  5 * kMinute, 15 * kMinute, kHour,
                                 3 * kHour, 6 * kHour,   kDay,         2 * kDay, 7 * kDay,    14 * kDay};
constexpr int kMonthSteps[] = {1, 3, 6, 12, 24, 60, 120, 240, 600, 1200};

// The spacing of cuts: multiples of a width, or of a number of months, at the first day.
struct Step {
  double width;
  int months = 0;

  double cut(double index) const {
    if (months == 0) return index * width;
    const auto month = static_cast<int>(index) * months, year = month >= 0 ? month / 12 : -((11 - month) / 12);
    const std::chrono::sys_days day =
        std::chrono::year(1970 + year) / std::chrono::month(static_cast<unsigned>(month - 12 * year + 1)) / 1;
    return static_cast<double>(day.time_since_epoch().count()) * kDay;
  }
};

// The smallest of 1, 2 and 5 times a power of ten that is at least `width`.
double round_step(double width) {
  const double decade = std::pow(10.0, std::floor(std::log10(width)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * decade >= width) return factor * decade;
  return 10 * decade;
}

Step step_for(const ColumnFacts& facts, double width, double furthest) {
  if (facts.kind != Kind::datetime || furthest > kCalendar)
    return {facts.integer ? std::max(1.0, round_step(width)) : round_step(width)};
  for (const double step : kTimeSteps)
    if (step >= width) return {step};
  const auto months = std::find_if(std::begin(kMonthSteps), std::end(kMonthSteps) - 1,
                                   [&](int count) { return count * kMonth >= width; });
  return {*months * kMonth, *months};
}

std::vector<double> sorted_present(std::span<const double> numbers) {
  std::vector<double> sorted;
  std::copy_if(numbers.begin(), numbers.end(), std::back_inserter(sorted), [](double x) { return !std::isnan(x); });
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

// Removes the spikes from `sorted` and returns them, unless so few values remain that each gets a bin, or too few other
// values remain for a chart.
std::vector<double> take_spikes(std::vector<double>& sorted, int bins) {
  const auto least = std::max(static_cast<double>(kMinDrawn), 0.1 * static_cast<double>(sorted.size()));
  std::vector<double> spikes, rest;
  int distinct = 0;
  for (size_t i = 0, end; i < sorted.size(); i = end) {
    end = i;
    while (end < sorted.size() && sorted[end] == sorted[i]) ++end;
    ++distinct;
    if (static_cast<double>(end - i) >= least) spikes.push_back(sorted[i]);
    else
      rest.insert(rest.end(), sorted.begin() + static_cast<std::ptrdiff_t>(i),
                  sorted.begin() + static_cast<std::ptrdiff_t>(end));
  }
  if (distinct <= bins || static_cast<int64_t>(rest.size()) < kMinDrawn) return {};
  sorted = std::move(rest);
  return spikes;
}

// Cuts at round multiples of the step, over all but the outermost rows at either end.
void cut(const std::vector<double>& sorted, const ColumnFacts& facts, int bins, Axis& axis) {
  const size_t n = sorted.size();
  const size_t outside = std::min(std::max<size_t>(kMinDrawn - 1, n / 200), (n - 1) / 2);
  const double low = sorted[outside], high = sorted[n - 1 - outside];
  const double wanted = std::clamp(2 * std::cbrt(static_cast<double>(n)), 8.0, static_cast<double>(bins));
  if (!(low < high)) return;
  const Step step = step_for(facts, (high - low) / wanted, std::max(std::abs(low), std::abs(high)));
  const double first = std::floor(low / step.width), shift = facts.integer ? 0.5 : 0;
  if (!(step.width > 0)) return;  // numbers so near 0 that the width underflows
  axis.step = step.width;
  for (int i = 1; i <= bins; ++i) {
    const double at = step.cut(first + i) - shift;
    if (at > high) break;
    if (axis.cuts.empty() || at > axis.cuts.back()) axis.cuts.push_back(at);
  }
}

// Removes cuts beside bins with too few real rows; empty bins reveal no row and stay.
void join_bins(const std::vector<double>& sorted, std::vector<double>& cuts) {
  const auto below = [&](double x) { return std::lower_bound(sorted.begin(), sorted.end(), x) - sorted.begin(); };
  std::vector<double> kept;
  int64_t begin = 0;
  for (const double at : cuts) {
    const int64_t rows = below(at) - begin;
    if (rows > 0 && rows < kMinDrawn) continue;
    kept.push_back(at);
    begin += rows;
  }
  const auto n = static_cast<int64_t>(sorted.size());
  while (!kept.empty() && n - below(kept.back()) > 0 && n - below(kept.back()) < kMinDrawn) kept.pop_back();
  cuts = std::move(kept);
}

void make_bins(const Comparison& c, size_t k, int bins, Axis& axis) {
  std::vector<double> sorted = sorted_present(c.tables[0].columns[k].numbers);
  axis.spikes = take_spikes(sorted, bins);
  if (!sorted.empty()) cut(sorted, c.facts[k], bins, axis);
  join_bins(sorted, axis.cuts);
  axis.slots = static_cast<int>(axis.cuts.size() + 1 + axis.spikes.size());
}

void make_levels(const Comparison& c, size_t k, size_t most, Axis& axis) {
  const auto levels = static_cast<size_t>(c.facts[k].levels);
  std::vector<int64_t> rows(levels, 0);
  for (const int32_t code : c.tables[0].columns[k].codes)
    if (code >= 0) ++rows[static_cast<size_t>(code)];
  std::vector<int32_t> order(levels);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int32_t a, int32_t b) { return rows[static_cast<size_t>(a)] > rows[static_cast<size_t>(b)]; });
  for (const int32_t level : order) {
    const int64_t n = rows[static_cast<size_t>(level)];
    if (n >= kMinDrawn && axis.shown.size() < most) axis.shown.push_back(level);
    else ++(n > 0 ? axis.other_levels : axis.unknown_levels);
  }
  axis.slots = static_cast<int>(axis.shown.size());
  if (axis.other_levels > 0) axis.other = axis.slots++;
  if (axis.unknown_levels > 0) axis.unknown = axis.slots++;
  for (size_t level = 0; level < levels; ++level) axis.slot_of.push_back(rows[level] > 0 ? axis.other : axis.unknown);
  for (size_t i = 0; i < axis.shown.size(); ++i) axis.slot_of[static_cast<size_t>(axis.shown[i])] = static_cast<int>(i);
}

}  // namespace

int Axis::slot(const ComparedColumn& column, size_t row) const {
  if (column.is_missing(static_cast<int64_t>(row))) return missing;
  if (!numbers) return slot_of[static_cast<size_t>(column.codes[row])];
  const double x = column.numbers[row];
  const auto bins = static_cast<int>(cuts.size()) + 1;
  for (size_t i = 0; i < spikes.size(); ++i)
    if (x == spikes[i]) return bins + static_cast<int>(i);
  return static_cast<int>(std::upper_bound(cuts.begin(), cuts.end(), x) - cuts.begin());
}

Axis make_axis(const Comparison& c, size_t column, int bins, size_t levels) {
  Axis axis;
  axis.numbers = c.facts[column].kind != Kind::categorical;
  if (axis.numbers) make_bins(c, column, bins, axis);
  else make_levels(c, column, levels, axis);
  if (c.tables[0].columns[column].missing + c.tables[1].columns[column].missing > 0) axis.missing = axis.slots++;
  return axis;
}

nlohmann::json describe_axis(const Axis& axis, const Comparison& c, const Table& real, size_t column) {
  const ColumnFacts& facts = c.facts[column];
  nlohmann::json out{{"name", facts.name}, {"kind", name(facts.kind)}, {"rest", nlohmann::json::array()}};
  const auto list = [&](const std::vector<double>& numbers) {
    nlohmann::json values = nlohmann::json::array();
    for (const double x : numbers) values.push_back(number_or_null(x * facts.unit));
    return values;
  };
  if (axis.numbers) {
    out["integer"] = facts.integer;
    out["cuts"] = list(axis.cuts);
    out["step"] = number_or_null(axis.step * facts.unit);
    out["spikes"] = list(axis.spikes);
  } else {
    out["levels"] = nlohmann::json::array();
    for (const int32_t level : axis.shown) out["levels"].push_back(level_text(c, real, column, level));
  }
  if (axis.other >= 0) out["rest"].push_back({{"what", "other"}, {"levels", axis.other_levels}});
  if (axis.unknown >= 0) out["rest"].push_back({{"what", "unknown"}, {"levels", axis.unknown_levels}});
  if (axis.missing >= 0) out["rest"].push_back({{"what", "missing"}});
  return out;
}

int64_t withhold(const std::vector<int64_t>& counts, size_t cols, nlohmann::json& shown) {
  const size_t lines = counts.size() / cols;
  std::vector<char> hidden(counts.size(), 0);
  std::vector<int> in_line(lines, 0), in_col(cols, 0);
  const auto hide = [&](size_t i) { hidden[i] = 1, ++in_line[i / cols], ++in_col[i % cols]; };
  for (size_t i = 0; i < counts.size(); ++i)
    if (counts[i] > 0 && counts[i] < kMinDrawn) hide(i);
  // Hides one more of `count` cells from `first` on if too little is hidden. It chooses the smallest cell, preferring
  // cells whose other line already has hidden cells, because that line then needs no further one. `across`: the number
  // of hidden cells in the other line.
  const auto hide_another = [&](size_t first, size_t stride, size_t count, auto&& across) {
    int64_t rows = 0, cells = 0;
    size_t best = counts.size();
    const auto cost = [&](size_t at) { return std::pair(across(at) == 0, counts[at]); };
    for (size_t i = 0, at = first; i < count; ++i, at += stride) {
      if (hidden[at] != 0) rows += counts[at], ++cells;
      else if (counts[at] > 0 && (best == counts.size() || cost(at) < cost(best))) best = at;
    }
    if (cells == 0 || (cells > 1 && rows >= kMinDrawn) || best == counts.size()) return false;
    hide(best);
    return true;
  };
  for (bool again = true; again;) {
    again = false;
    for (size_t line = 0; line < lines; ++line)
      again = hide_another(line * cols, 1, cols, [&](size_t at) { return lines > 1 ? in_col[at % cols] : 0; }) || again;
    for (size_t col = 0; lines > 1 && col < cols; ++col)
      again = hide_another(col, cols, lines, [&](size_t at) { return in_line[at / cols]; }) || again;
  }
  shown = counts;
  int64_t withheld = 0;
  for (size_t i = 0; i < counts.size(); ++i)
    if (hidden[i] != 0) shown[i] = nullptr, withheld += counts[i];
  return withheld;
}

}  // namespace tessera::quality
