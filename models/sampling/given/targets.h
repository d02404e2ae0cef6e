// Given rows for --balance and --counts: the number of rows for each value or combination.
#pragma once
#include "models/fitted/row_model.h"
#include "tables/table/table.h"

namespace tessera {

// Row i has value i mod n of the n values of a column. Error(condition) for an unknown column, or one without a list of
// values.
Table balanced_rows(const RowModel& model, const std::string& column, int64_t count);

// Repeats each row of `conditions` as often as its count column says, the one column that is not in the model.
// Error(data | usage) naming the line of `file`, also for cells that the model cannot generate.
Table repeated_rows(const RowModel& model, const Table& conditions, const std::string& file, Team& team);

}  // namespace tessera
