// Numbers that few rows share identify individuals. They are replaced before anything is learned from a table, as rare
// categories are, so that nothing computed from the table afterwards (modes, ranges, quantiles, levels, weights) is a
// function of fewer than `least` rows of the column.
// If rows have holders (the keys of sequences), `least` counts distinct holders, however many rows each has.
//   A value that `least` rows share is kept. The others, in ascending order, form groups of at least `least` rows
//   between kept values: a group's rows become points on a line through the group's mean, whose slope is the smaller of
//   those to both neighbors (so that gaps stay gaps), and 0 at the ends of the column. So each is a function of means
//   over whole groups, and groups share no rows. Fewer than `least` rows between kept values take the nearest kept
//   value. Results are rounded to the column's digits.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/threads/team.h"
#include "tables/table/table.h"

namespace tessera {

class ProtectedNumbers {
 public:
  // From finite values in ascending order. `decimals`: the known digits of the column; results have as many as all but
  // fewer than `least` rows need.
  // `holder`, unless empty, gives the holder of each value: then `least` counts distinct holders.
  ProtectedNumbers(std::span<const double> ascending, int64_t least, int decimals,
                   std::span<const int32_t> holder = {});

  bool none() const { return values_.empty(); }  // fewer than `least` values or holders: nothing may be stored
  // the replacement for x; for an unknown value, the replacement of the next value below
  double of(double x) const;
  void replace(double* x, size_t n) const;    // replaces each value; NaN stays
  int decimals() const { return decimals_; }  // of the results; below 0: tens, hundreds, …; kNotRounded

  static constexpr int kNotRounded = 99;

 private:
  std::vector<double> values_, protected_;  // distinct values, ascending, and their replacements
  int decimals_ = kNotRounded;
};

struct EmptiedColumn {
  std::string name;
  int64_t rows;          // that had a value
  bool holders = false;  // whether holders counted, not rows
};

// Protects every numeric column of the table. A column with values in fewer than `least` rows loses them, and is named.
// least ≤ 1 changes nothing. `holder`, unless empty: the owner of each row; then `least` counts owners.
std::vector<EmptiedColumn> protect_numbers(Table& table, int64_t least, uint64_t seed, Team& team,
                                           std::span<const int32_t> holder = {});
void replace_numbers(Column& column, const ProtectedNumbers& numbers);  // replaces each value

}  // namespace tessera
