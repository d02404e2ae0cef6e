// Where the cells of a column are.
#pragma once
#include "tables/table/table.h"

namespace tessera {

// In Column::numbers, or by Column::codes among the texts of Column::values.
inline bool has_numbers(const Column& column) { return is_numeric(column.type); }
inline bool has_texts(const Column& column) { return !has_numbers(column); }

}  // namespace tessera
