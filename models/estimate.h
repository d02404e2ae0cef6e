// Memory that a fit will take, computed before it starts.
#pragma once
#include <nlohmann/json_fwd.hpp>

#include "models/model.h"

namespace tessera {

// Reads, encodes and ends as fit() does, but neither allocates nor runs the steps (models/training/rehearsal.h). Bytes,
// by part; "limit_bytes" is the smallest memory limit that reading, encoding and training keep to, "peak_bytes" what
// the process holds at most, as the kernel counts it (docs/engine/memory.md).
// `outside`: bytes of the limit that the caller holds.
nlohmann::json estimate_memory(Table&& table, const FitOptions& options, Team& team, const Monitor& monitor,
                               int64_t outside = 0);
// The same where there is no table yet: of one that has such columns (models/data/table/column_spec.h), which is made
// and not read. More rows than are worth making are extrapolated.
nlohmann::json estimate_columns(const std::string& columns, int64_t rows, const FitOptions& options, Team& team,
                                const Monitor& monitor, int64_t outside = 0);

}  // namespace tessera
