// The contents of a table by column, as printed by `tessera inspect --json`.
#pragma once
#include <nlohmann/json_fwd.hpp>

#include "tables/table/table.h"

namespace tessera {

// {"rows", "columns": [{"name", "type", "reason", "missing", "distinct", …}]}, and by type:
//   integer, decimal   min, max, mean, decimals ("format" where they are not just digits: docs/data/formats.md)
//   date, datetime     min, max as text in the column's format, format (datetime: decimals of the second)
//   all others         top: [{"value", "count"}], at most ten, the most frequent first, ties in order of appearance
// min, max, mean are null if no row has a value.
nlohmann::json inspect(const Table& table);

}  // namespace tessera
