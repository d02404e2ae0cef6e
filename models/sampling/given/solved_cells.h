// Solves given computed cells for their inputs: dt of `utc = dt - 2 / 24` if utc is given, extras of
// `total = items + extras` if both others are given.
#pragma once
#include <vector>

#include "models/sampling/shown.h"

namespace tessera {

// `given` has all columns of the table; a missing cell will be drawn. If a rule computes a given cell from cells of
// which one is missing, that cell is written into `given`. It stays missing if rounding of the computed cell leaves a
// range so wide that drawn candidates fall into it.
// Returns [column][row]; an empty column has only open cells.
enum SolvedCell : char {
  kOpen,
  kSolved,  // the cell was written
  kBlank,   // it must be missing, as `total = items + coalesce(tip, 0)` says of a total without a tip
};
std::vector<std::vector<SolvedCell>> solve_cells(const RowModel& model, const ShownColumns& columns, Table& given);

// Candidates for a given computed cell of which several inputs are drawn: one input takes the number that gives the
// cell, best in the bin of the drawn one, whose place within the bin is all that changes. Without it, drawn inputs
// hardly ever give the cell to the digit.
class OpenInputs {
 public:
  // `given`: rows as solve_cells() leaves them. The arguments must outlive the result.
  OpenInputs(const RowModel& model, const ShownColumns& columns, const Table& given);
  bool any(int64_t row) const;
  // `learned`: row of[i] of the given rows, drawn. Returns for each row the ln of a factor of its weight: the share of
  // the bin that the number is, up to a constant.
  std::vector<double> solve(Table& learned, const std::vector<int64_t>& of) const;

 private:
  // A computed column, and one of its inputs.
  struct Input {
    int target, leaf, learned;
    std::vector<char> open;  // rows with the column, without this input and without another one
  };
  const RowModel& model_;
  const ShownColumns& columns_;
  const Table& given_;
  std::vector<Input> inputs_;
};

}  // namespace tessera
