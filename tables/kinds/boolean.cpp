// Two texts that say yes and no: true, false; 1, 0 where a schema says so.
#include "tables/kinds/kinds.h"

namespace tessera::kinds {

constinit const ColumnKind kBoolean{
    .type = ColumnType::boolean,
    .name = "boolean",
    .holds = "true and false",
    .numbers = false,
    .quantity = false,
    .whole = false,
    .unit = 1,
    .day = 0,
    .pattern = "",
    .arrow = [](const Column&) { return std::string("b"); },
    .fits =
        [](const ArrowType& type) {
          return type.kind == ArrowKind::boolean || type.kind == ArrowKind::whole || type.kind == ArrowKind::real ||
                 type.kind == ArrowKind::exact;
        },
    .read = nullptr,
    .example = "true",
    .write = write_text,
};

}  // namespace tessera::kinds
