// Identifiers that are UUIDs, such as 123e4567-e89b-42d3-a456-426614174000: new ones have their versions and variant.
#include "tables/kinds/kinds.h"

namespace tessera::kinds {

constinit const ColumnKind kUuid{
    .type = ColumnType::uuid,
    .name = "uuid",
    .holds = "UUIDs",
    .free_text = true,
    .regenerated = true,
    .texts = "uuid",
};

}  // namespace tessera::kinds
