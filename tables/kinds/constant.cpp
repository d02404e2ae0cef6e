// One text, or nothing, in all rows.
#include "tables/kinds/kinds.h"

namespace tessera::kinds {

constinit const ColumnKind kConstant{
    .type = ColumnType::constant,
    .name = "constant",
    .holds = "one value",
    .free_text = true,
    .varies = false,
};

}  // namespace tessera::kinds
