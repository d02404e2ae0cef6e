// Tables for estimates where there are no data yet: columns by kind and number, values made up.
#pragma once
#include <cstdint>
#include <string>

#include "tables/table/table.h"

namespace tessera {

// "6 integer, 9 category:16, decimal": kinds with how many columns there are of each (1) and, behind a colon, how many
// values each takes (categories 16; numbers: all differ). Error(usage) with the part that is not so.
Table table_of_columns(const std::string& spec, int64_t rows);

}  // namespace tessera
