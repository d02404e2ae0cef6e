// What a fit would take of memory, known before it is made.
#pragma once
#include <nlohmann/json_fwd.hpp>

#include "models/model.h"

namespace tessera {

// Encodes the table and records every phase, but allocates and trains nothing. Bytes, by part; "limit" is the smallest
// memory limit that reading, encoding and training keep to (docs/engine/memory.md).
nlohmann::json estimate_memory(Table&& table, const FitOptions& options, Team& team, const Monitor& monitor);

}  // namespace tessera
