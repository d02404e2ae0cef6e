// Tables with the same columns, whose kinds and codes may differ.
#pragma once
#include <string>
#include <vector>

#include "tables/table/table.h"

namespace tessera::quality {

// The rows of another table with the columns of the real one, in its order. `ignored` receives the columns that cannot
// be compared; their values are missing.
Table aligned(const Table& real, const Table& synthetic, std::vector<std::string>& ignored);

// Appends the rows of a table with the same columns; its texts may have other codes.
void append(Table& to, const Table& rows);
// The rows of one table, then those of another.
Table joined(Table a, const Table& b);

}  // namespace tessera::quality
