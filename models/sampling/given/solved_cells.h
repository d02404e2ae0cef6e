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

}  // namespace tessera
