// Texts of which each stands in several rows: they are learned.
#include "tables/kinds/kinds.h"

namespace tessera::kinds {

constinit const ColumnKind kCategory{
    .type = ColumnType::category,
    .name = "category",
    .holds = "texts",
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
