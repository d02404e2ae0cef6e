// Numbers with a fixed number of digits behind the point, or with all of theirs (format %g).
#include "tables/kinds/kinds.h"

namespace tessera::kinds {

constinit const ColumnKind kDecimal{
    .type = ColumnType::decimal,
    .name = "decimal",
    .holds = "decimal numbers",
    .cell = "a number",
    .ordered = true,
    .quantity = true,
    .arrow = [](const Column&) { return std::string("g"); },
    .fits = fits_quantity,
    .read = read_quantity,
    .example = "0.5",
    .write = write_quantity,
};

}  // namespace tessera::kinds
