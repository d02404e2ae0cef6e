// Functions of dates and times that tables hold in columns of their own: the month of a date, the age at a date. One
// list: finders try each, a rule names one.
#pragma once
#include <optional>
#include <span>
#include <string_view>

#include "tables/formats/calendar.h"
#include "tables/table/table.h"

namespace tessera {

// The parts of a date, of a date with a time of day, or of a time of day.
struct When {
  int64_t day = 0;  // since 1970-01-01
  double second = 0;
  Civil civil{};
  double total() const { return static_cast<double>(day) * kSecondsPerDay + second; }
};

// Which parts a column has.
enum WhenParts { kHasDay = 1, kHasTime = 2, kHasBoth = 3 };
// 0: the column holds neither dates nor times.
int when_parts(const Column& column);
When when_of(const Column& column, double x);

struct TimeFunction {
  enum class Gives { number, date, time };
  const char* name;   // in model files
  const char* words;  // for people: "the month of {}", "the whole years from {} to {}"
  Gives gives;        // date: days, time: seconds, both since 1970
  int needs;          // WhenParts
  double (*of)(const When& a, const When& b) = nullptr;
  bool two = false;      // of two columns, the second one later
  bool by_band = false;  // columns of few values may follow from its bands
  // For functions that spell a date or time as a number: the inverse, in days or seconds; NaN: x is not valid.
  double (*inverse)(double x) = nullptr;

  // In the units of a column of dates, times or numbers; NaN of a missing cell.
  // `unit`: of the target (ColumnKind).
  double value(const Column& a, double x, double unit) const;
  double value(const Column& a, double x, const Column& b, double y, double unit) const;
  bool counts_from_1970() const { return std::string_view(name).ends_with("since 1970"); }
  // Whether such a column can hold it.
  bool fits(const Column& target) const;
};

std::span<const TimeFunction> time_functions();
const TimeFunction* time_function(std::string_view name);  // null: none

}  // namespace tessera
