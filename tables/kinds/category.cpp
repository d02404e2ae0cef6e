// Texts of which each stands in several rows: they are learned.
#include "tables/kinds/kinds.h"

namespace tessera::kinds {

constinit const ColumnKind kCategory{
    .type = ColumnType::category,
    .name = "category",
    .holds = "texts",
    .called = "a ",
    .free_text = true,
};

}  // namespace tessera::kinds
