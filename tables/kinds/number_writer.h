// The numbers of a column as text.
#pragma once
#include <string>

#include "tables/formats/number_format.h"
#include "tables/table/table.h"

namespace tessera {

// Writes the numbers of a column, whatever its type and format.
class NumberWriter {
 public:
  explicit NumberWriter(const Column& column);
  void write(double value, std::string& out) const;
  bool is_fixed() const { return kind_ == Kind::fixed; }  // write_decimal(value, decimals())
  bool is_whole() const { return kind_ == Kind::whole; }
  int decimals() const { return decimals_; }

 private:
  enum class Kind { whole, fixed, shortest, fine, picture, time_of_day, duration, date, datetime } kind_;
  int decimals_;
  std::string format_;
  int significant_;
  NumberFormat picture_;
};

// The digits that a column's numbers are rounded to; none for numbers that are written with all of theirs.
constexpr int kAllDigits = 99;
int digits_of(const Column& column);
double rounded(double x, int digits);
// Whether its format rounds to significant digits, whatever the size of a number.
bool has_significant_digits(const Column& column);

// A number of a column as its text says it: rounded to the column's decimals, and to the significant digits of its
// format (0.000e+00, 0.0##~3), so that every output and every condition sees the same number.
double as_written(const Column& column, double x);
// All numbers of a column that its encoder did not round: those of formats with an exponent, and large ones.
void round_as_written(Column& column);

// Takes digits beyond the column's decimals out of its format.
void limit_digits(Column& column);
// For numbers with more digits than the column's: zeros at the end stand if they did.
void allow_digits(Column& column, int decimals);

}  // namespace tessera
