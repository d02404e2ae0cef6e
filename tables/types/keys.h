// Columns that are keys of rows or of persons: their names say so, and their values were given out, not measured.
#pragma once
#include <string>

#include "tables/table/table.h"

namespace tessera {

// Of whole numbers or of texts that would be a category: why they are a key, whose values are regenerated; or nothing.
//   Whole numbers are keys where no two rows have one, or where they repeat so that as numbers they would be lost, or
// where each ends in a check digit.
//   Texts are keys where they repeat in the same way and look generated (C100357): a model that learned them would give
// the values of real persons away. Those that goods and places are called by stay categories.
std::string reason_of_key(const Column& column);

}  // namespace tessera
