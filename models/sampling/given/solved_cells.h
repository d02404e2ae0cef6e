// Given cells solved for what they are computed from: dt of `utc = dt - 2 / 24` where utc is given, extras of
// `total = items + extras` where both others are.
#pragma once
#include <vector>

#include "models/sampling/shown.h"

namespace tessera {

// `given` has all columns of the table; a missing cell is to be drawn. Where a rule computes a given cell from cells of
// which one is missing, that one is written into `given`. It stays missing where rounding of the computed cell leaves
// so wide a range that drawn candidates meet it.
// Returns [column][row], 1: the cell was written; an empty column has none.
std::vector<std::vector<char>> solve_cells(const RowModel& model, const ShownColumns& columns, Table& given);

}  // namespace tessera
