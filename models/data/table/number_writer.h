// The numbers of a column as text.
#pragma once
#include <string>

#include "models/data/formats/number_format.h"
#include "models/data/table/table.h"

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
  enum class Kind { whole, fixed, shortest, picture, time_of_day, duration, date, datetime } kind_;
  int decimals_;
  std::string format_;
  NumberFormat picture_;
};

// Takes digits beyond the column's decimals out of its format.
void limit_digits(Column& column);

}  // namespace tessera
