#include "tables/rules/rule/functions.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "tables/formats/number_format.h"
#include "tables/kinds/kind.h"

namespace tessera {
namespace {

using Gives = TimeFunction::Gives;
using W = const When&;

double days(int64_t year, int month, int day) { return static_cast<double>(days_from_civil(year, month, day)); }
int quarter(W a) { return (a.civil.month + 2) / 3; }
double day_of_year(W a) { return static_cast<double>(a.day) - days(a.civil.year, 1, 1) + 1; }
// The first day of the month `months` after the one of a.
double month_start(W a, int months) {
  const int64_t month = int64_t{12} * a.civil.year + a.civil.month - 1 + months;
  return days(month / 12, static_cast<int>(month % 12) + 1, 1);
}
int month_in_quarter(W a) { return (a.civil.month - 1) % 3; }
// Of weeks that begin on Monday, a week belongs to the year of its Thursday.
Civil thursday(W a) { return civil_from_days(a.day - weekday_of(a.day) + 3); }
double iso_week(W a) {
  const Civil c = thursday(a);
  return std::floor((days(c.year, c.month, c.day) - days(c.year, 1, 1)) / 7) + 1;
}
int from_sunday(W a) { return (weekday_of(a.day) + 1) % 7; }
double hour(W a) { return std::floor(a.second / 3600); }
double minute(W a) { return std::floor(std::fmod(a.second, 3600) / 60); }
double month_of(W a, W) { return a.civil.month; }
double day_of_month(W a, W) { return a.civil.day; }
double weekday_from_one(W a, W) { return 1 + weekday_of(a.day); }
double digits_of_day(W a) { return 1e4 * a.civil.year + 100 * a.civil.month + a.civil.day; }
double digits_of_clock(W a, W) { return 1e4 * hour(a) + 100 * minute(a) + std::floor(std::fmod(a.second, 60)); }
template <int Seconds>
double floor_to(W a, W) {
  return static_cast<double>(a.day) * kSecondsPerDay + Seconds * std::floor(a.second / Seconds);
}

double months_between(W a, W b) {
  const double months = 12.0 * (b.civil.year - a.civil.year) + b.civil.month - a.civil.month;
  return months - (std::pair(b.civil.day, b.second) < std::pair(a.civil.day, a.second) ? 1 : 0);
}
template <int Seconds>
double whole_between(W a, W b) {
  return std::floor((b.total() - a.total()) / Seconds);
}

// The number in groups of two digits from the end: 20240131 is 2024, 1, 31.
struct Digits {
  int head, next, last;
};
std::optional<Digits> digits_in(double x, int groups) {
  if (x != std::floor(x) || x < 0 || x > 99991231) return {};
  const auto n = static_cast<int>(x);
  return groups == 1 ? Digits{n / 100, n % 100, 1} : Digits{n / 10000, n / 100 % 100, n % 100};
}
double clock_of(int hours, int minutes, int seconds) {
  const bool valid = hours < 24 ? minutes < 60 && seconds < 60 : hours == 24 && minutes == 0 && seconds == 0;
  return valid ? 3600.0 * hours + 60 * minutes + seconds : kMissing;
}
double day_spelled(const std::optional<Digits>& d) {
  return d && is_recent_year(d->head) && is_day(d->head, d->next, d->last) ? days(d->head, d->next, d->last) : kMissing;
}
// 20240131173000: a day, then hour, minute and second. With two `groups` there are no seconds: 202401311730.
double moment_spelled(double x, int groups) {
  const double unit = groups == 2 ? 1e4 : 1e6, day = day_spelled(digits_in(std::floor(x / unit), 2));
  const std::optional<Digits> d = digits_in(std::fmod(x, unit), groups - 1);
  if (!d || d->head > 23) return kMissing;
  return day * kSecondsPerDay + clock_of(d->head, d->next, groups == 2 ? 0 : d->last);
}
double week_spelled(double x) {
  const auto d = digits_in(x, 1);
  if (!d || !is_recent_year(d->head) || d->next < 1 || d->next > 53) return kMissing;
  const int64_t fourth = days_from_civil(d->head, 1, 4),
                monday = fourth - weekday_of(fourth) + int64_t{7} * (d->next - 1);
  return civil_from_days(monday + 3).year == d->head ? static_cast<double>(monday) : kMissing;
}

constexpr int kD = kHasDay, kT = kHasTime, kB = kHasBoth;

// More informative functions come first: a month of a year before a month.
constexpr std::array kFunctions{
    TimeFunction{"date", "the date of {}", Gives::date, kB, [](W a, W) { return static_cast<double>(a.day); }},
    TimeFunction{"second", "{} to the second", Gives::time, kB, floor_to<1>},
    TimeFunction{"minutes", "{} to the minute", Gives::time, kB, floor_to<60>},
    TimeFunction{"5 minutes", "the start of the 5 minutes of {}", Gives::time, kB, floor_to<300>},
    TimeFunction{"10 minutes", "the start of the 10 minutes of {}", Gives::time, kB, floor_to<600>},
    TimeFunction{"15 minutes", "the start of the quarter of an hour of {}", Gives::time, kB, floor_to<900>},
    TimeFunction{"30 minutes", "the start of the half hour of {}", Gives::time, kB, floor_to<1800>},
    TimeFunction{"hours", "the start of the hour of {}", Gives::time, kB, floor_to<3600>},
    TimeFunction{"start of week", "the Monday of the week of {}", Gives::date, kD,
                 [](W a, W) { return static_cast<double>(a.day - weekday_of(a.day)); }},
    TimeFunction{"start of week on Sunday", "the first day, Sunday, of the week of {}", Gives::date, kD,
                 [](W a, W) { return static_cast<double>(a.day - from_sunday(a)); }},
    TimeFunction{"end of week", "the Sunday of the week of {}", Gives::date, kD,
                 [](W a, W) { return static_cast<double>(a.day - weekday_of(a.day) + 6); }},
    TimeFunction{"end of week on Saturday", "the last day, Saturday, of the week of {}", Gives::date, kD,
                 [](W a, W) { return static_cast<double>(a.day - from_sunday(a) + 6); }},
    TimeFunction{"end of week on Friday", "the Friday of the week of {}", Gives::date, kD,
                 [](W a, W) { return static_cast<double>(a.day - weekday_of(a.day) + 4); }},
    TimeFunction{"start of month", "the first day of the month of {}", Gives::date, kD,
                 [](W a, W) { return month_start(a, 0); }},
    TimeFunction{"end of month", "the last day of the month of {}", Gives::date, kD,
                 [](W a, W) { return month_start(a, 1) - 1; }},
    TimeFunction{"start of next month", "the first day of the month after {}", Gives::date, kD,
                 [](W a, W) { return month_start(a, 1); }},
    TimeFunction{"start of quarter", "the first day of the quarter of {}", Gives::date, kD,
                 [](W a, W) { return month_start(a, -month_in_quarter(a)); }},
    TimeFunction{"end of quarter", "the last day of the quarter of {}", Gives::date, kD,
                 [](W a, W) { return month_start(a, 3 - month_in_quarter(a)) - 1; }},
    TimeFunction{"start of year", "the first day of the year of {}", Gives::date, kD,
                 [](W a, W) { return days(a.civil.year, 1, 1); }},
    TimeFunction{"end of year", "the last day of the year of {}", Gives::date, kD,
                 [](W a, W) { return days(a.civil.year, 12, 31); }},
    TimeFunction{"date and clock to the second", "the digits of {}, to the second", Gives::number, kB,
                 [](W a, W) { return 1e6 * digits_of_day(a) + digits_of_clock(a, a); }, false, false,
                 [](double x) { return moment_spelled(x, 3); }},
    TimeFunction{"date and clock", "the digits of {}, to the minute", Gives::number, kB,
                 [](W a, W) { return 1e4 * digits_of_day(a) + 100 * hour(a) + minute(a); }, false, false,
                 [](double x) { return moment_spelled(x, 2); }},
    TimeFunction{"seconds since 1970", "{} in seconds since 1970", Gives::number, kB,
                 [](W a, W) { return std::floor(a.total()); }, false, false,
                 [](double x) { return x > 1e8 && x < 4.2e9 ? x : kMissing; }},
    TimeFunction{"milliseconds since 1970", "{} in milliseconds since 1970", Gives::number, kB,
                 [](W a, W) { return std::floor(a.total() * 1000 + .5); }, false, false,
                 [](double x) { return x > 1e11 && x < 4.2e12 ? x / 1000 : kMissing; }},
    TimeFunction{"year, month and day", "the digits of {}, year, month and day", Gives::number, kD,
                 [](W a, W) { return digits_of_day(a); }, false, false,
                 [](double x) { return day_spelled(digits_in(x, 2)); }},
    TimeFunction{"year and month", "the year and month of {}", Gives::number, kD,
                 [](W a, W) { return 100.0 * a.civil.year + a.civil.month; }, false, false,
                 [](double x) { return day_spelled(digits_in(x, 1)); }},
    TimeFunction{"year and week", "the year and week of {}", Gives::number, kD,
                 [](W a, W) { return 100 * thursday(a).year + iso_week(a); }, false, false, week_spelled},
    TimeFunction{"year and quarter", "the year and quarter of {}", Gives::number, kD,
                 [](W a, W) { return 10.0 * a.civil.year + quarter(a); }},
    TimeFunction{"quarter and year", "the quarter and year of {}", Gives::number, kD,
                 [](W a, W) { return 1e4 * quarter(a) + a.civil.year; }},
    TimeFunction{"week and year", "the week and year of {}", Gives::number, kD,
                 [](W a, W) { return 1e4 * iso_week(a) + thursday(a).year; }},
    TimeFunction{"year and day", "the year and day of the year of {}", Gives::number, kD,
                 [](W a, W) { return 1000 * a.civil.year + day_of_year(a); }},
    TimeFunction{"year", "the year of {}", Gives::number, kD, [](W a, W) { return 1.0 * a.civil.year; }},
    TimeFunction{"year of two digits", "the last two digits of the year of {}", Gives::number, kD,
                 [](W a, W) { return 1.0 * (a.civil.year % 100); }},
    TimeFunction{"year of week", "the year of the week of {}", Gives::number, kD,
                 [](W a, W) { return 1.0 * thursday(a).year; }},
    TimeFunction{"quarter", "the quarter of {}", Gives::number, kD, [](W a, W) { return 1.0 * quarter(a); }},
    TimeFunction{"month", "the month of {}", Gives::number, kD, month_of, false, true},
    TimeFunction{"day", "the day of the month of {}", Gives::number, kD, day_of_month, false,
                 true},
    TimeFunction{"weekday", "the weekday of {}", Gives::number, kD, weekday_from_one, false,
                 true},
    TimeFunction{"weekday from 0", "the weekday of {}, Monday is 0", Gives::number, kD,
                 [](W a, W) { return 1.0 * weekday_of(a.day); }},
    TimeFunction{"weekday from Sunday", "the weekday of {}, Sunday is 1", Gives::number, kD,
                 [](W a, W) { return 1.0 + from_sunday(a); }},
    TimeFunction{"weekday from Sunday, 0", "the weekday of {}, Sunday is 0", Gives::number, kD,
                 [](W a, W) { return 1.0 * from_sunday(a); }},
    TimeFunction{"week", "the week of {}", Gives::number, kD, [](W a, W) { return iso_week(a); }},
    TimeFunction{"week from Sunday", "the week of {}, which begins on Sunday", Gives::number, kD,
                 [](W a, W) { return std::floor((day_of_year(a) + 6 - from_sunday(a)) / 7); }},
    TimeFunction{"week from Monday", "the week of {}, which begins on Monday", Gives::number, kD,
                 [](W a, W) { return std::floor((day_of_year(a) + 6 - weekday_of(a.day)) / 7); }},
    TimeFunction{"week from 1 January", "the week of {}, counted from 1 January", Gives::number, kD,
                 [](W a, W) { return std::floor((day_of_year(a) + 6) / 7); }},
    TimeFunction{"day of year", "the day of the year of {}", Gives::number, kD, [](W a, W) { return day_of_year(a); }},
    TimeFunction{"whole time", "the time of day of {} to the second", Gives::number, kT,
                 [](W a, W) { return std::floor(a.second); }},
    TimeFunction{"time in minutes", "the time of day of {} to the minute", Gives::number, kT,
                 [](W a, W) { return 3600 * hour(a) + 60 * minute(a); }},
    TimeFunction{"clock", "the clock of {} as hours and minutes", Gives::number, kT,
                 [](W a, W) { return 100 * hour(a) + minute(a); }, false, false,
                 [](double x) {
                   const auto d = digits_in(x, 1);
                   return d ? clock_of(d->head, d->next, 0) : kMissing;
                 }},
    TimeFunction{"clock to the second", "the clock of {} as hours, minutes and seconds", Gives::number, kT,
                 digits_of_clock, false, false,
                 [](double x) {
                   const auto d = digits_in(x, 2);
                   return d ? clock_of(d->head, d->next, d->last) : kMissing;
                 }},
    TimeFunction{"minute of day", "the minutes since midnight of {}", Gives::number, kT,
                 [](W a, W) { return std::floor(a.second / 60); }},
    TimeFunction{"hour", "the hour of {}", Gives::number, kT, [](W a, W) { return hour(a); }, false, true},
    TimeFunction{"hour of twelve", "the hour of {} on a clock of twelve", Gives::number, kT,
                 [](W a, W) { return std::fmod(hour(a) + 11, 12) + 1; }},
    TimeFunction{"minute", "the minute of {}", Gives::number, kT, [](W a, W) { return minute(a); }, false, true},
    TimeFunction{"time", "the time of day of {}", Gives::number, kT, [](W a, W) { return a.second; }, false, true},
    TimeFunction{"month and day", "the month and day of {}", Gives::number, kD,
                 [](W a, W) { return 100.0 * a.civil.month + a.civil.day; }, false, true},
    TimeFunction{"second of minute", "the second of {}", Gives::number, kT,
                 [](W a, W) { return std::floor(std::fmod(a.second, 60)); }},
    TimeFunction{"years between", "the whole years from {} to {}", Gives::number, kD,
                 [](W a, W b) { return std::floor(months_between(a, b) / 12); }, true},
    TimeFunction{"years of 365.25 days between", "the years of 365.25 days from {} to {}", Gives::number, kD,
                 [](W a, W b) { return std::floor(static_cast<double>(b.day - a.day) / 365.25); }, true},
    TimeFunction{"years of 365 days between", "the years of 365 days from {} to {}", Gives::number, kD,
                 [](W a, W b) { return std::floor(static_cast<double>(b.day - a.day) / 365); }, true},
    TimeFunction{"calendar years between", "the year of {1} minus that of {0}", Gives::number, kD,
                 [](W a, W b) { return 1.0 * (b.civil.year - a.civil.year); }, true},
    TimeFunction{"months between", "the whole months from {} to {}", Gives::number, kD, months_between, true},
    TimeFunction{"calendar months between", "the calendar months from {} to {}", Gives::number, kD,
                 [](W a, W b) { return 12.0 * (b.civil.year - a.civil.year) + b.civil.month - a.civil.month; }, true},
    TimeFunction{"weeks between", "the whole weeks from {} to {}", Gives::number, kD, whole_between<604800>, true},
    TimeFunction{"days between", "the whole days from {} to {}", Gives::number, kD, whole_between<kSecondsOfDay>, true},
    TimeFunction{"calendar days between", "the calendar days from {} to {}", Gives::number, kD,
                 [](W a, W b) { return static_cast<double>(b.day - a.day); }, true},
    TimeFunction{"days of both between", "the days from {} to {}, both of them", Gives::number, kD,
                 [](W a, W b) { return static_cast<double>(b.day - a.day + 1); }, true},
    TimeFunction{"hours between", "the whole hours from {} to {}", Gives::number, kT, whole_between<3600>, true},
    TimeFunction{"minutes between", "the whole minutes from {} to {}", Gives::number, kT, whole_between<60>, true},
    TimeFunction{"seconds between", "the whole seconds from {} to {}", Gives::number, kT, whole_between<1>, true},
    TimeFunction{"minutes over midnight", "the minutes from {} to {}, over midnight", Gives::number, kT,
                 [](W a, W b) {
                   const double s = std::fmod(b.second - a.second, kSecondsPerDay);
                   return std::floor((s < 0 ? s + kSecondsPerDay : s) / 60);
                 },
                 true},
};

}  // namespace

int when_parts(const Column& c) {
  if (is_instant(c)) return has_time(c) ? kHasBoth : kHasDay;
  return is_clock_format(c.format) ? kHasTime : 0;
}

When when_of(const Column& c, double x) {
  When out;
  if (!is_instant(c)) {
    out.second = x;
    return out;
  }
  const double day = kind_of(c).day;
  out.day = day_in_calendar(x / day);
  if (has_time(c)) out.second = x - static_cast<double>(out.day) * day;
  out.civil = civil_from_days(out.day);
  return out;
}

double TimeFunction::value(const Column& a, double x, double unit) const { return value(a, x, a, x, unit); }

double TimeFunction::value(const Column& a, double x, const Column& b, double y, double unit) const {
  if (x != x || y != y) return kMissing;
  const When first = when_of(a, x);
  const double out = of(first, two ? when_of(b, y) : first);
  return gives == Gives::date ? out * unit : out;
}

bool TimeFunction::fits(const Column& target) const {
  if (gives == Gives::time) return has_time(target);
  if (gives == Gives::date) return is_instant(target.type);
  return is_quantity(target.type);
}

std::span<const TimeFunction> time_functions() { return kFunctions; }

const TimeFunction* time_function(std::string_view name) {
  const auto* at =
      std::find_if(kFunctions.begin(), kFunctions.end(), [=](const TimeFunction& f) { return f.name == name; });
  return at == kFunctions.end() ? nullptr : at;
}

}  // namespace tessera
