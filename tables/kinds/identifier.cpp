// Texts that each name one row: not learned; new texts of the same form are generated.
#include "tables/kinds/kinds.h"

namespace tessera::kinds {

constinit const ColumnKind kIdentifier{
    .type = ColumnType::identifier,
    .name = "identifier",
    .holds = "identifiers",
    .free_text = true,
    .regenerated = true,
    // Made place by place: the digits remain a number, but not a valid date.
    .fits =
        [](const ArrowType& type) {
          return type.kind == ArrowKind::whole || type.kind == ArrowKind::exact || type.kind == ArrowKind::real;
        },
};

}  // namespace tessera::kinds
