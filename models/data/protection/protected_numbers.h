// Numbers that few rows share say who, not what: before anything is learnt from a table they are replaced, as rare
// categories are, so that nothing that is made from the table afterwards (modes, ranges, quantiles, levels, weights) is
// a function of fewer than `least` rows of the column.
//   A value that `least` rows share stands as it is. The others, in ascending order, form groups of at least `least`
//   rows between the values that stand: a group's rows become points on a line through the group's mean, whose slope is
//       the lesser of those to both neighbours (so that gaps stay gaps), and 0 at the ends of the column.
//   So each is a function of means over whole groups, and no two groups share a row. Fewer than `least` rows between
//   values that stand take the nearest of these.
//   What comes out is rounded to the column's digits.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/run/team.h"
#include "models/data/table/table.h"

namespace tessera {

class ProtectedNumbers {
 public:
  // Of finite values in ascending order. `decimals`: the digits that are known of the column; those that come out have
  // as many as all but fewer than `least` rows need.
  ProtectedNumbers(std::span<const double> ascending, int64_t least, int decimals);

  bool none() const { return values_.empty(); }  // fewer than `least` values: nothing may be told of them
  // what stands for x; of a value that was not given, what stands for the next one below
  double of(double x) const;
  void replace(double* x, size_t n) const;    // each by what stands for it; NaN stays
  int decimals() const { return decimals_; }  // of what comes out; below 0: tens, hundreds, …; kNotRounded

  static constexpr int kNotRounded = 99;

 private:
  std::vector<double> values_, protected_;  // distinct values, ascending, and what stands for each
  int decimals_ = kNotRounded;
};

struct EmptiedColumn {
  std::string name;
  int64_t rows;  // that had a value
};

// Every numeric column of the table. A column that fewer than `least` rows have a value of loses it, and is named.
// least ≤ 1 changes nothing.
std::vector<EmptiedColumn> protect_numbers(Table& table, int64_t least, uint64_t seed, Team& team);
void replace_numbers(Column& column, const ProtectedNumbers& numbers);  // each by what stands for it

}  // namespace tessera
