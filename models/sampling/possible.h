// Whether any row of a model can meet a condition: if not, an error names the term before a row is drawn.
#pragma once
#include "models/fitted/row_model.h"
#include "tables/expression/where.h"

namespace tessera {

// Throws Error(condition) for a term outside what its column holds, and for terms that contradict each other; names
// them and the column's range or values. What it cannot decide (a column that a rule
// makes of others, but not by arithmetic) it lets pass.
void check_possible(const Where& where, const RowModel& model);

}  // namespace tessera
