// Real against synthetic: fidelity, validity, novelty and distance in one JSON object (docs/metrics.md gives its layout and every definition).
#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>

#include "engine/monitor.h"
#include "engine/team.h"
#include "models/table/table.h"

namespace tessera {

struct EvaluateOptions {
  bool pairs = true;      // Column Pair Trends
  bool new_rows = true;   // NewRowSynthesis and exact copies
  bool distances = true;  // DCR and NNDR: by far the longest part of large tables
  double correlation_threshold = 0.5, association_threshold = 0.3;  // sdmetrics' pair thresholds; scores without them are always given too
  double match_tolerance = 0.01;                                    // NewRowSynthesis: numbers within this share of the synthetic value
  uint64_t seed = 0;                                                // the random baseline of DCR, and equal-size draws of reference rows
};

// `real` is the table the model was fitted on; `holdout` (may be null) rows of the same source it has not seen. Columns are matched by name; identifiers
// are left out and listed. Throws Error(data) naming the column where the tables do not fit together, Error(cancelled). Same numbers for any team size.
nlohmann::json evaluate(const Table& real, const Table& synthetic, const Table* holdout, const EvaluateOptions& options, Team& team, const Monitor& monitor);

}  // namespace tessera
