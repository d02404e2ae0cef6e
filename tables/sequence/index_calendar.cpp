#include "tables/sequence/index_calendar.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "base/text/json_fields.h"
#include "tables/formats/calendar.h"
#include "tables/kinds/kind.h"

namespace tessera {
namespace {

constexpr int kHours = 24;
constexpr double kUsual = 0.9;                                  // of the rows have the usual distance
constexpr const char* kNames[] = {"hour", "weekday", "month"};  // in the order of Cycle::Of
constexpr size_t kPlaces[] = {kHours, 7, 12};

}  // namespace

IndexCalendar::IndexCalendar(const Column& index, const IndexGrid& grid, std::span<const double> values,
                             std::span<const int32_t> holders, bool keyed, int64_t least) {
  if (!is_instant(index)) return;
  day_ = kind_of(index).day;
  if (has_time(index)) cycles_.push_back({Cycle::hour, {}});
  cycles_.push_back({Cycle::weekday, {}}), cycles_.push_back({Cycle::month, {}});
  std::vector<std::vector<std::set<int32_t>>> held;
  for (const Cycle& c : cycles_) held.emplace_back(kPlaces[c.of]);
  std::map<double, int64_t> gaps;
  int64_t steps = 0;
  bool same_start = keyed;
  for (size_t i = 0; i < values.size(); ++i) {
    for (size_t c = 0; c < cycles_.size(); ++c)
      if (auto& of = held[c][place(cycles_[c], values[i])];
          static_cast<int64_t>(of.size()) < std::max<int64_t>(least, 1))
        of.insert(holders[i]);
    if (i == 0 || (keyed && holders[i] != holders[i - 1])) {
      same_start = same_start && values[i] == values[0];
      continue;
    }
    ++gaps[grid.any() ? grid.place(values[i]) - grid.place(values[i - 1]) : values[i] - values[i - 1]], ++steps;
  }
  for (size_t c = 0; c < cycles_.size(); ++c) {
    const auto n = static_cast<int>(held[c].size());
    const auto enough = [&](int k) {
      return static_cast<int64_t>(held[c][static_cast<size_t>(k)].size()) >= std::max<int64_t>(least, 1);
    };
    for (int k = 0; k < n; ++k) {
      int to = k;
      for (int back = 0; back < n && !enough(to); ++back) to = (to + n - 1) % n;
      cycles_[c].level.push_back(enough(to) ? to : 0);
    }
  }
  std::erase_if(cycles_, [](const Cycle& c) {
    return std::all_of(c.level.begin(), c.level.end(), [&](int k) { return k == c.level[0]; });
  });
  for (const auto& [gap, count] : gaps)
    if (static_cast<double>(count) >= kUsual * static_cast<double>(steps)) gap_ = gap;
  if (same_start && gap_ != 0) cycles_.clear();  // the number of the step says it
}

size_t IndexCalendar::place(const Cycle& cycle, double index) const {
  const double days = std::floor(index / day_);
  const int64_t day = day_in_calendar(days);
  switch (cycle.of) {
    case Cycle::hour: return static_cast<size_t>(std::clamp((index / day_ - days) * kHours + 1e-9, 0.0, kHours - 1.0));
    case Cycle::weekday: return static_cast<size_t>(weekday_of(day));
    case Cycle::month: break;
  }
  return static_cast<size_t>(civil_from_days(day).month - 1);
}

void IndexCalendar::levels(double index, int8_t* to) const {
  for (const Cycle& c : cycles_) *to++ = static_cast<int8_t>(c.level[place(c, index)]);
}

double IndexCalendar::expected(double before, const IndexGrid& grid) const {
  if (gap_ == 0) return before;
  return grid.any() ? grid.at(grid.place(before) + gap_) : before + gap_;
}

double IndexCalendar::nearest(double x, std::span<const int32_t> wanted, double low, double high,
                              const IndexGrid& grid) const {
  constexpr int kDays = 31;
  const bool hours = std::any_of(cycles_.begin(), cycles_.end(), [](const Cycle& c) { return c.of == Cycle::hour; });
  const double unit = hours ? day_ / kHours : day_;
  std::vector<int8_t> at(cycles_.size());
  double after = x, before = x;
  for (int k = 0; k <= (hours ? kHours : 1) * kDays; ++k) {
    for (const double y : {after, before}) {
      if (y < low || y > high) continue;
      levels(y, at.data());
      if (std::equal(at.begin(), at.end(), wanted.begin())) return y;
    }
    // an hour or a day further, or to the next place of a coarser grid: one of minutes has 1,440 places in a day
    after += unit, before -= unit;
    if (!grid.any()) continue;
    const double last = grid.place(after - unit), first = grid.place(before + unit);
    after = grid.at(std::max(last + 1, grid.place(after))), before = grid.at(std::min(first - 1, grid.place(before)));
  }
  return x;
}

nlohmann::json IndexCalendar::to_json() const {
  nlohmann::json cycles = nlohmann::json::array();
  for (const Cycle& c : cycles_) cycles.push_back({{"name", kNames[c.of]}, {"levels", c.level}});
  return {{"cycles", std::move(cycles)}, {"day", day_}, {"gap", gap_}};
}

IndexCalendar IndexCalendar::from_json(const nlohmann::json& json) {
  const Fields f(json, "the calendar of its index");
  IndexCalendar out;
  out.day_ = f.number("day"), out.gap_ = f.number("gap");
  f.check(out.day_ == 1 || out.day_ == kSecondsPerDay, "has days of another length");
  for (const auto& each : f.array("cycles")) {
    const Fields c(each, "a cycle of its index");
    const auto of = std::ranges::find(kNames, c.text("name"));
    f.check(of != std::end(kNames), "has a cycle of another name");
    Cycle cycle{static_cast<Cycle::Of>(of - std::begin(kNames)), {}};
    const size_t places = kPlaces[cycle.of];
    for (const auto& level : c.array("levels")) {
      f.check(level.is_number_integer() && level >= 0 && level < places, "has a level beyond its cycle");
      cycle.level.push_back(level.get<int>());
    }
    f.check(cycle.level.size() == places, "has a cycle of another length");
    out.cycles_.push_back(std::move(cycle));
  }
  f.check(out.any(), "has no cycle");
  return out;
}

}  // namespace tessera
