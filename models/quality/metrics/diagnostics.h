// Diagnostics: whether a synthetic column stays within the values of the real one, and whether it covers them.
// Definitions: sdmetrics.
#pragma once
#include <vector>

#include "models/quality/common/workers.h"
#include "models/quality/metrics/comparison.h"

namespace tessera::quality {

struct ColumnDiagnostics {
  const char* adherence_metric = "";   // "BoundaryAdherence" | "CategoryAdherence"
  const char* coverage_metric = "";    // "RangeCoverage" | "CategoryCoverage"
  double adherence = 0, coverage = 0;  // NaN: undefined (no real range, or no value)
  double missing_similarity = 0;
};

// Share of synthetic values in [min, max] of the real ones. Missing values are ignored if the real column has some,
// else they are outside.
double boundary_adherence(const ComparedColumn& real, const ComparedColumn& synthetic);
// max(0, 1 − max((min_s − min_r)/w, 0) − max((max_r − max_s)/w, 0)), w = max_r − min_r.
double range_coverage(const ComparedColumn& real, const ComparedColumn& synthetic);
// Share of synthetic rows whose level the real column has; missing is known if the real column has missing values.
double category_adherence(const ComparedColumn& real, const ComparedColumn& synthetic, int32_t levels);
// Share of the real levels that occur in the synthetic column, missing dropped.
double category_coverage(const ComparedColumn& real, const ComparedColumn& synthetic, int32_t levels);

std::vector<ColumnDiagnostics> diagnostics(const Comparison& c, const Workers& workers);

}  // namespace tessera::quality
