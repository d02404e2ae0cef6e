#include "tables/sequence/index_grid.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "base/text/json_fields.h"
#include "tables/formats/calendar.h"
#include "tables/formats/number_format.h"
#include "tables/kinds/kind.h"
#include "tables/table/decimals.h"

namespace tessera {
namespace {

constexpr size_t kMinPlaces = 10, kMinMonths = 5;  // distinct ones, below which chance makes grids
constexpr double kLogChance = 9;                   // of a grid that is none, at most 1e-4
constexpr double kMaxTicks = 0x1p51;
constexpr int64_t kMaxTimes = 1440;          // max distinct times of day
constexpr double kSeconds = kSecondsPerDay;  // of a day
constexpr int kWeek = 7, kAllDays = (1 << kWeek) - 1, kLastFixedDay = 28;

int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0); }
int64_t floor_mod(int64_t a, int64_t b) { return a - b * floor_div(a, b); }
int64_t month_of(int64_t day) {
  const Civil c = civil_from_days(day);
  return int64_t{c.year - 1970} * 12 + c.month - 1;
}
int64_t first_of_month(int64_t month) {
  return days_from_civil(1970 + floor_div(month, 12), static_cast<int>(floor_mod(month, 12)) + 1, 1);
}

int64_t common_step(std::span<const int64_t> ascending) {
  int64_t step = 0;
  for (const int64_t x : ascending) step = std::gcd(step, x - ascending.front());
  return step;
}

// −log of the chance that n of `all` places, drawn without regard to a grid, are all among `allowed` of them.
double surprise(int64_t n, int64_t allowed, int64_t all) {
  double out = 0;
  for (int64_t i = 0; i < n && allowed > i; ++i)
    out += std::log(static_cast<double>(all - i) / static_cast<double>(allowed - i));
  return out;
}

std::vector<int64_t> distinct_of(std::vector<int64_t> x) {
  std::sort(x.begin(), x.end());
  x.erase(std::unique(x.begin(), x.end()), x.end());
  return x;
}

// Of each slot the holders that have rows in it; those of a holder are together.
std::vector<int64_t> holders_by_slot(std::span<const int64_t> slots, std::span<const int32_t> holders, int64_t count) {
  std::vector<int64_t> out(static_cast<size_t>(count));
  std::vector<int32_t> last(static_cast<size_t>(count), -1);
  for (size_t i = 0; i < slots.size(); ++i) {
    const auto slot = static_cast<size_t>(slots[i]);
    if (last[slot] != holders[i]) ++out[slot];
    last[slot] = holders[i];
  }
  return out;
}

// The slots that enough holders have; all if too many holders have others.
std::vector<int64_t> allowed_slots(const std::vector<int64_t>& held, int64_t least) {
  std::vector<int64_t> out;
  int64_t others = 0;
  for (size_t slot = 0; slot < held.size(); ++slot) {
    if (held[slot] >= std::max<int64_t>(least, 1)) out.push_back(static_cast<int64_t>(slot));
    else others += held[slot];
  }
  return others < std::max<int64_t>(least, 1) ? out : std::vector<int64_t>{};
}

}  // namespace

IndexGrid::IndexGrid(const Column& index, std::span<const double> values, std::span<const int32_t> holders,
                     int64_t least) {
  const bool date = is_day(index), time = has_time(index);
  digits_ = date ? 1 : grid_of(decimals_of(index));
  if (!is_ordered(index) || is_shortest(index.format)) return;
  std::vector<int64_t> ticks;
  ticks.reserve(values.size());
  for (const double x : values) {
    if (!(std::abs(x * digits_) <= kMaxTicks)) return;
    ticks.push_back(std::llround(x * digits_));
  }
  const std::vector<int64_t> distinct = distinct_of(ticks);
  if (distinct.size() < kMinMonths || kSeconds * digits_ > kMaxTicks) return;
  day_ticks_ = date ? 1 : time ? kSeconds * digits_ : 0;
  int64_t unit = common_step(distinct);
  const bool sure = static_cast<double>(distinct.size() - 1) * std::log(static_cast<double>(unit)) >= kLogChance;
  if (day_ticks_ == 0) {
    if (sure) unit_ = static_cast<double>(unit), phase_ = static_cast<double>(floor_mod(distinct[0], unit));
    return;
  }
  unit = sure ? std::gcd(unit, static_cast<int64_t>(day_ticks_)) : 1;
  unit_ = static_cast<double>(unit), phase_ = static_cast<double>(floor_mod(distinct[0], unit));
  std::vector<int64_t> days;
  for (const int64_t t : ticks) days.push_back(floor_div(t, static_cast<int64_t>(day_ticks_)));
  if (!date) find_times(distinct, ticks, holders, least);
  const std::vector<int64_t> distinct_days = distinct_of(days);
  find_months(distinct_days);
  if (months_ == 0 && distinct_days.size() >= kMinPlaces) {
    const int64_t step = common_step(distinct_days);
    if (step > 1 && static_cast<double>(distinct_days.size() - 1) * std::log(static_cast<double>(step)) >= kLogChance)
      step_ = step, first_ = floor_mod(distinct_days[0], step);
    else find_weekdays(distinct_days, days, holders, least);
  }
  const bool plain = unit_ == 1 && times_.empty() && months_ == 0 && step_ == 1 && weekdays_ == 0;
  if (plain) *this = IndexGrid();
}

// The times of a day, if not all places of one are taken.
void IndexGrid::find_times(std::span<const int64_t> distinct, std::span<const int64_t> ticks,
                           std::span<const int32_t> holders, int64_t least) {
  const auto day = static_cast<int64_t>(day_ticks_), unit = static_cast<int64_t>(unit_), all = day / unit;
  if (all > kMaxTimes || distinct.size() < kMinPlaces) return;
  std::vector<int64_t> slots, days;
  for (const int64_t t : ticks) slots.push_back(floor_mod(t, day) / unit);
  for (const int64_t t : distinct)
    if (days.empty() || days.back() != floor_div(t, day)) days.push_back(floor_div(t, day));
  const std::vector<int64_t> allowed = allowed_slots(holders_by_slot(slots, holders, all), least);
  const auto n = static_cast<int64_t>(days.size()), of = static_cast<int64_t>(allowed.size());
  if (allowed.empty() || of == all || surprise(static_cast<int64_t>(distinct.size()), n * of, n * all) < kLogChance)
    return;
  for (const int64_t slot : allowed) times_.push_back(phase_ + static_cast<double>(slot * unit));
}

void IndexGrid::find_months(std::span<const int64_t> days) {
  if (days.size() < kMinMonths) return;
  const auto all_on = [&] {
    return std::all_of(days.begin(), days.end(), [&](int64_t day) { return day_in_month(month_of(day)) == day; });
  };
  day_of_month_ = civil_from_days(days[0]).day;
  for (const MonthDay kind : {MonthDay::fixed, MonthDay::last, MonthDay::first_working, MonthDay::last_working}) {
    month_day_ = kind;
    months_ = (kind != MonthDay::fixed || day_of_month_ <= kLastFixedDay) && all_on();
    if (months_ > 0) break;
  }
  if (months_ == 0) month_day_ = MonthDay::fixed;
  if (months_ == 0 || month_day_ != MonthDay::fixed) day_of_month_ = 1;
  if (months_ == 0) return;
  std::vector<int64_t> months;
  for (const int64_t day : days) months.push_back(month_of(day));
  const int64_t step = common_step(months);
  if (static_cast<double>(months.size() - 1) * std::log(static_cast<double>(step)) < kLogChance / 2) return;
  step_ = step, first_ = floor_mod(months[0], step);
}

void IndexGrid::find_weekdays(std::span<const int64_t> distinct, std::span<const int64_t> days,
                              std::span<const int32_t> holders, int64_t least) {
  std::vector<int64_t> weekdays;
  for (const int64_t day : days) weekdays.push_back(weekday_of(day));
  const std::vector<int64_t> allowed = allowed_slots(holders_by_slot(weekdays, holders, kWeek), least);
  if (allowed.empty() || allowed.size() == kWeek) return;
  int bits = 0;
  for (const int64_t weekday : allowed) bits |= 1 << weekday;
  int64_t among = 0;
  for (int64_t day = distinct.front(); day <= distinct.back(); ++day) among += bits >> weekday_of(day) & 1;
  if (surprise(static_cast<int64_t>(distinct.size()), among, distinct.back() - distinct.front() + 1) <
      kLogChance + std::log(kAllDays))
    return;
  weekdays_ = bits;
}

int64_t IndexGrid::day_in_month(int64_t month) const {
  const int64_t first = first_of_month(month), last = first_of_month(month + 1) - 1;
  const int from = weekday_of(first), to = weekday_of(last);
  switch (month_day_) {
    case MonthDay::last: return last;
    case MonthDay::first_working: return first + (from >= 5 ? kWeek - from : 0);
    case MonthDay::last_working: return last - (to >= 5 ? to - 4 : 0);
    default: return first + day_of_month_ - 1;
  }
}

double IndexGrid::places_per_day() const {
  return times_.empty() ? day_ticks_ / unit_ : static_cast<double>(times_.size());
}

double IndexGrid::day_place(int64_t day) const {
  if (months_ > 0) {
    const int64_t month = month_of(day);
    return static_cast<double>(floor_div(month - (day < day_in_month(month) ? 1 : 0) - first_, step_));
  }
  if (weekdays_ == 0) return static_cast<double>(floor_div(day - first_, step_));
  const int upto = (2 << weekday_of(day)) - 1;
  return static_cast<double>(floor_div(day + 3, kWeek) * std::popcount(static_cast<unsigned>(weekdays_)) +
                             std::popcount(static_cast<unsigned>(weekdays_ & upto)) - 1);
}

double IndexGrid::day_at(double place) const {
  if (months_ > 0) {
    constexpr double kMaxMonths = 12 * 8000.0;  // year 9970
    const double month =
        std::clamp(static_cast<double>(first_) + place * static_cast<double>(step_), -12 * 1969.0, kMaxMonths);
    return static_cast<double>(day_in_month(static_cast<int64_t>(month)));
  }
  if (weekdays_ == 0) return static_cast<double>(first_) + place * static_cast<double>(step_);
  const double per_week = std::popcount(static_cast<unsigned>(weekdays_)), week = std::floor(place / per_week);
  int rank = static_cast<int>(place - week * per_week), weekday = 0;
  for (; rank > 0 || !(weekdays_ >> weekday & 1); ++weekday) rank -= weekdays_ >> weekday & 1;
  return week * kWeek - 3 + weekday;
}

double IndexGrid::place(double x) const {
  if (x != x) return x;
  const double ticks = std::nearbyint(x * digits_);
  if (day_ticks_ == 0) return std::floor((ticks - phase_) / unit_);
  const int64_t day = day_in_calendar(ticks / day_ticks_);
  const double within = ticks - day_ticks_ * std::floor(ticks / day_ticks_);
  const double slot =
      times_.empty() ? std::floor((within - phase_) / unit_)
                     : static_cast<double>(std::upper_bound(times_.begin(), times_.end(), within) - times_.begin() - 1);
  // a day that is no place begins after the last time of the day before it
  const double days = day_place(day);
  const bool on_day = day_at(days) == static_cast<double>(day);
  return days * places_per_day() + (on_day ? slot : places_per_day() - 1);
}

double IndexGrid::at(double place) const {
  if (place != place) return place;
  place = std::clamp(std::nearbyint(place), -kMaxTicks, kMaxTicks);  // beyond, places are no longer exact
  if (day_ticks_ == 0) return (phase_ + unit_ * place) / digits_;
  const double per_day = places_per_day(), days = std::floor(place / per_day), slot = place - days * per_day;
  const auto day = static_cast<double>(day_in_calendar(day_at(days)));
  return (day * day_ticks_ + (times_.empty() ? phase_ + unit_ * slot : times_[static_cast<size_t>(slot)])) / digits_;
}

std::string IndexGrid::text() const {
  std::vector<std::string> parts;
  if (months_ > 0) {
    const std::string day = month_day_ == MonthDay::last            ? "the last day"
                            : month_day_ == MonthDay::first_working ? "the first working day"
                            : month_day_ == MonthDay::last_working  ? "the last working day"
                                                                    : fmt::format("day {}", day_of_month_);
    parts.push_back(step_ == 1 ? day + " of every month" : fmt::format("{} of every {} months", day, step_));
  } else if (weekdays_ > 0) {
    std::vector<std::string> names;
    for (int d = 0; d < kWeek; ++d)
      if (weekdays_ >> d & 1) names.emplace_back(kDayNames[d].substr(0, kShortDayName));
    parts.push_back(fmt::format("{} only", fmt::join(names, ", ")));
  } else if (step_ > 1) {
    parts.push_back(fmt::format("every {} days", step_));
  }
  const double seconds = unit_ / digits_;
  if (!times_.empty()) parts.push_back(fmt::format("at {} times of day", times_.size()));
  else if (day_ticks_ == 0) parts.push_back(fmt::format("every {}", seconds));
  else if (unit_ == day_ticks_ && day_ticks_ > 1) parts.push_back("at one time of day");
  else if (unit_ > 1)
    parts.push_back(seconds >= 60 && std::fmod(seconds, 60) == 0 ? fmt::format("every {} min", seconds / 60)
                                                                 : fmt::format("every {} s", seconds));
  return fmt::format("{}", fmt::join(parts, ", "));
}

nlohmann::json IndexGrid::to_json() const {
  return {{"unit", unit_},
          {"phase", phase_},
          {"day", day_ticks_},
          {"digits", digits_},
          {"times", times_},
          {"step", step_},
          {"first", first_},
          {"months", months_},
          {"month_day", static_cast<int>(month_day_)},
          {"of_month", day_of_month_},
          {"weekdays", weekdays_}};
}

IndexGrid IndexGrid::from_json(const nlohmann::json& json) {
  const Fields f(json, "the grid of its index");
  IndexGrid out;
  out.unit_ = f.number("unit"), out.phase_ = f.number("phase"), out.day_ticks_ = f.number("day");
  out.digits_ = f.number("digits"), out.times_ = f.numbers("times");
  out.step_ = f.integer("step", 1, INT32_MAX), out.first_ = f.integer("first", 0, INT32_MAX);
  out.months_ = static_cast<int>(f.integer("months", 0, 1));
  out.month_day_ = static_cast<MonthDay>(f.integer("month_day", 0, static_cast<int>(MonthDay::last_working)));
  out.day_of_month_ = static_cast<int>(f.integer("of_month", 1, kLastFixedDay));
  out.weekdays_ = static_cast<int>(f.integer("weekdays", 0, kAllDays));
  f.check(out.unit_ >= 1 && out.unit_ <= kMaxTicks && out.phase_ >= 0 && out.phase_ < out.unit_ && out.digits_ >= 1 &&
              out.digits_ <= 1e15 &&
              (out.day_ticks_ == 0 || (out.day_ticks_ >= out.unit_ && out.day_ticks_ <= kMaxTicks)),
          "has units that do not fit");
  f.check(std::is_sorted(out.times_.begin(), out.times_.end()) &&
              (out.times_.empty() || (out.times_.front() >= 0 && out.times_.back() < out.day_ticks_)),
          "has times that are not of a day");
  return out;
}

}  // namespace tessera
