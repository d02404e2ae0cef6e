// Parts of tables, which attacks hold against one another.
#pragma once
#include "tables/table/table.h"

namespace tessera::privacy {

Table rows_between(const Table& table, int64_t first, int64_t end);

}  // namespace tessera::privacy
