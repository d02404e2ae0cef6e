// Given rows for --balance and --counts: the number of rows for each value or combination.
#pragma once
#include "models/fitted/row_model.h"
#include "tables/table/table.h"

namespace tessera {

// Row i has value i mod n of the n values of a column. Error(condition) for a column that the model does not have or
// that has no list of values.
Table balanced_rows(const RowModel& model, const std::string& column, int64_t count);

// Each row of `conditions` as often as its one column that the model does not have says. Error(data | usage), naming
// the line of `file`, also for cells that the model cannot show.
Table repeated_rows(const RowModel& model, const Table& conditions, const std::string& file, Team& team);

}  // namespace tessera
