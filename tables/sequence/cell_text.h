// One cell for a message: spelled as in the file, texts in quotes.
#pragma once
#include <cstdint>
#include <string>

#include "tables/table/table.h"

namespace tessera {

std::string cell_text(const Column& column, int64_t row);

}  // namespace tessera
