// One text, or nothing, in all rows.
#include "tables/kinds/kinds.h"

namespace tessera::kinds {

constinit const ColumnKind kConstant{
    .type = ColumnType::constant,
    .name = "constant",
    .holds = "one value",
    .numbers = false,
    .quantity = false,
    .whole = false,
    .unit = 1,
    .day = 0,
    .pattern = "",
    .arrow = no_arrow,
    .fits = fits_everything,
    .read = nullptr,
    .example = "'text'",
    .write = write_text,
};

}  // namespace tessera::kinds
