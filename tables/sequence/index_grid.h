// The places that the index of sequences takes: every hour, Monday to Friday, the first of each month. Steps are
// counted in places, so that sampled ones lie on them: a weekend is no longer a gap than a night.
#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "tables/table/table.h"

namespace tessera {

class IndexGrid {
 public:
  IndexGrid() = default;  // any number is a place
  // Of a column's values and the holder of each (a key, or its row), those of a holder together. A weekday or time of
  // day that fewer than `least` holders have is no place: their rows take the place before.
  IndexGrid(const Column& index, std::span<const double> values, std::span<const int32_t> holders, int64_t least);

  bool any() const { return unit_ > 0; }
  double place(double x) const;   // the number of the place at or before x
  double at(double place) const;  // the place of this number
  std::string text() const;       // for people

  nlohmann::json to_json() const;
  static IndexGrid from_json(const nlohmann::json& json);  // throws Error(format)

 private:
  // Where the days of a month are counted from.
  enum class MonthDay { fixed, last, first_working, last_working };

  void find_times(std::span<const int64_t> distinct, std::span<const int64_t> ticks, std::span<const int32_t> holders,
                  int64_t least);
  void find_months(std::span<const int64_t> days);
  void find_weekdays(std::span<const int64_t> distinct, std::span<const int64_t> days, std::span<const int32_t> holders,
                     int64_t least);
  int64_t day_in_month(int64_t month) const;  // months since 1970-01
  double places_per_day() const;
  double day_place(int64_t day) const;
  double day_at(double place) const;

  double unit_ = 0, phase_ = 0;   // in the column's last digit: ticks; of dates 1; 0: no grid
  double day_ticks_ = 0;          // of a day; 0: numbers
  double digits_ = 1;             // ticks per unit of the column
  std::vector<double> times_;     // of a day, in ticks, ascending; empty: every unit
  int64_t step_ = 1, first_ = 0;  // in days, or in months if a day of the month is given
  int months_ = 0;                // 1: by months
  MonthDay month_day_ = MonthDay::fixed;
  int day_of_month_ = 1;  // fixed
  int weekdays_ = 0;      // a bit each, from Monday; 0: all
};

}  // namespace tessera
