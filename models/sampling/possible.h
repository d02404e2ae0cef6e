// Detects conditions that no row of a model can satisfy: an error names the term before a row is drawn.
#pragma once
#include "models/fitted/row_model.h"
#include "tables/expression/where.h"

namespace tessera {

// Throws Error(condition) for a term outside the values of its column, and for terms that contradict each other; names
// them and the column's range or values. Conditions that cannot be decided (on a column that a rule derives from others
// without arithmetic) pass.
void check_possible(const Where& where, const RowModel& model);

}  // namespace tessera
