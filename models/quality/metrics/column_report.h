// Scores of single columns for the report.
#pragma once
#include <nlohmann/json_fwd.hpp>

#include "models/quality/common/workers.h"
#include "models/quality/metrics/comparison.h"

namespace tessera::quality {

// tables[0] (real) against tables[1] (synthetic): fills out["columns"] and out["diagnostics"], their means; returns the
// Column Shapes score.
double describe_columns(const Comparison& c, const Workers& workers, nlohmann::json& out);

}  // namespace tessera::quality
