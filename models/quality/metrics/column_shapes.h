// Column Shapes: similarity of one column's distribution in two tables. 1 = equal, 0 = disjoint.
// Definitions: sdmetrics' KSComplement and TVComplement, missing values dropped.
#pragma once
#include <string>
#include <vector>

#include "models/quality/common/workers.h"
#include "models/quality/metrics/comparison.h"

namespace tessera::quality {

struct ColumnShape {
  const char* metric = "";  // "KSComplement" | "TVComplement"
  double score = 0;         // NaN if neither table has a value; 0 if only one has
};

// 1 − sup |F_a − F_b|. `decimals`: values are first rounded at 14 decimals, as sdmetrics does, so that rounding noise
// does not count.
double ks_complement(std::span<const double> a, std::span<const double> b, bool decimals);

// 1 − ½ Σ |a_c − b_c| over the levels of both; a level absent from `real` counts as 1e-6 rows there, as in sdmetrics.
// Codes in [−1, levels).
double tv_complement(std::span<const int32_t> real, std::span<const int32_t> synthetic, int32_t levels);

// One per column of the comparison, tables[0] against tables[1].
std::vector<ColumnShape> column_shapes(const Comparison& c, const Workers& workers);

}  // namespace tessera::quality
