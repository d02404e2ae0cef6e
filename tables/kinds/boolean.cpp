// Two texts that say yes and no: true, false; 1, 0 where a schema says so.
#include "tables/kinds/kinds.h"

namespace tessera::kinds {

constinit const ColumnKind kBoolean{
    .type = ColumnType::boolean,
    .name = "boolean",
    .holds = "true and false",
    .cell = "true or false",
    .truths = true,
    .arrow = [](const Column&) { return std::string("b"); },
    .fits =
        [](const ArrowType& type) {
          return type.kind == ArrowKind::boolean || type.kind == ArrowKind::whole || type.kind == ArrowKind::real ||
                 type.kind == ArrowKind::exact;
        },
    .example = "true",
};

}  // namespace tessera::kinds
