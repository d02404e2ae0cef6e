// Days of the proleptic Gregorian calendar.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string_view>

namespace tessera {

inline constexpr int64_t kSecondsOfDay = 86400;
inline constexpr double kSecondsPerDay = kSecondsOfDay;

// 0001-01-01 and 9999-12-31 in days since 1970-01-01.
constexpr int64_t kFirstDay = -719162, kLastDay = 2932896;

// The day of a date or of a time in days, clamped to the calendar.
inline int64_t day_in_calendar(double day) {
  return static_cast<int64_t>(
      std::clamp(std::floor(day), static_cast<double>(kFirstDay), static_cast<double>(kLastDay)));
}

struct Civil {
  int year, month, day;
};

// Days since 1970-01-01, and back (Hinnant, "chrono-compatible low-level date algorithms").
inline int64_t days_from_civil(int64_t y, int m, int d) {
  y -= m <= 2;
  const int64_t era = (y >= 0 ? y : y - 399) / 400;
  const int64_t year_of_era = y - era * 400, day_of_year = (153 * (m > 2 ? m - 3 : m + 9) + 2) / 5 + d - 1;
  return era * 146097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719468;
}

inline Civil civil_from_days(int64_t z) {
  z += 719468;
  const int64_t era = (z >= 0 ? z : z - 146096) / 146097;
  const int64_t day_of_era = z - era * 146097;
  const int64_t year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
  const int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const int64_t mp = (5 * day_of_year + 2) / 153;
  const int month = static_cast<int>(mp < 10 ? mp + 3 : mp - 9);
  return {static_cast<int>(year_of_era + era * 400 + (month <= 2)), month,
          static_cast<int>(day_of_year - (153 * mp + 2) / 5 + 1)};
}

inline bool is_day(int year, int month, int day) {
  constexpr int kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  if (year < 1 || month < 1 || month > 12 || day < 1) return false;
  const bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
  return day <= kDays[month - 1] + (month == 2 && leap);
}

// A number that may mean something else is taken for a year only if it is recent.
constexpr bool is_recent_year(int year) { return year >= 1900 && year <= 2100; }

inline constexpr std::string_view kDayNames[] = {"Monday", "Tuesday",  "Wednesday", "Thursday",
                                                 "Friday", "Saturday", "Sunday"};
inline constexpr size_t kShortDayName = 3;  // letters: Mon, Tue …
// From 0, Monday, to 6.
constexpr int weekday_of(int64_t day) { return static_cast<int>(((day + 3) % 7 + 7) % 7); }

// Years of two digits lie in 1969 … 2068, as in POSIX.
constexpr int full_year(int two_digits) { return two_digits + (two_digits < 69 ? 2000 : 1900); }

}  // namespace tessera
