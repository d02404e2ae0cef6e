// Memory that a fit will take, computed before it starts.
#pragma once
#include <nlohmann/json_fwd.hpp>

#include "models/model/model.h"

namespace tessera {

// Does the same as fit() before and after the steps, but neither allocates nor runs the steps
// (models/training/rehearsal.h). Bytes, by part; "limit_bytes" is the smallest memory limit that is enough for reading,
// encoding and training, "peak_bytes" the maximum of the process, as the kernel counts it (docs/engine/memory.md).
// `outside`: bytes of the limit that the caller holds.
nlohmann::json estimate_memory(Table&& table, const FitOptions& options, Team& team, const Monitor& monitor,
                               int64_t outside = 0);
// The same without a table: for a generated one with these columns (tables/types/column_spec.h). Large numbers of
// rows are extrapolated.
nlohmann::json estimate_columns(const std::string& columns, int64_t rows, const FitOptions& options, Team& team,
                                const Monitor& monitor, int64_t outside = 0);

}  // namespace tessera
