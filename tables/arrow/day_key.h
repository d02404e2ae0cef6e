// Days as warehouses key them: 20240131.
#pragma once
#include "tables/formats/calendar.h"
#include "tables/table/table.h"

namespace tessera {

// NaN: the key is no day.
inline double day_of_key(double key) {
  if (!(key >= 10101 && key <= 99991231) || key != static_cast<double>(static_cast<int32_t>(key))) return kMissing;
  const auto k = static_cast<int32_t>(key);
  const int year = k / 10000, month = k / 100 % 100, day = k % 100;
  return is_day(year, month, day) ? static_cast<double>(days_from_civil(year, month, day)) : kMissing;
}

inline double key_of_day(double day) {
  if (day != day) return day;
  const Civil c = civil_from_days(day_in_calendar(day));
  return c.year * 10000 + c.month * 100 + c.day;
}

}  // namespace tessera
