// Texts of which each names one row: they are not learned, but made anew in their form.
#include "tables/kinds/kinds.h"

namespace tessera::kinds {

constinit const ColumnKind kIdentifier{
    .type = ColumnType::identifier,
    .name = "identifier",
    .holds = "identifiers",
    .numbers = false,
    .quantity = false,
    .whole = false,
    .unit = 1,
    .day = 0,
    .pattern = "",
    .arrow = no_arrow,
    // Made place by place: the digits remain a number, but not a valid date.
    .fits =
        [](const ArrowType& type) {
          return type.kind == ArrowKind::whole || type.kind == ArrowKind::exact || type.kind == ArrowKind::real;
        },
    .read = nullptr,
    .example = "'text'",
    .write = write_text,
};

}  // namespace tessera::kinds
