// Rows of the synthetic table that also occur in the real one.
#pragma once
#include <cstdint>
#include <vector>

#include "models/quality/common/workers.h"
#include "models/quality/metrics/comparison.h"

namespace tessera::quality {

// matched[i] = 1 if some row of `reference` agrees with row i of `rows` in every column: numbers and times |reference −
// row| ≤ tolerance·|row|, levels equal, missing only with missing. tolerance 0.01 is sdmetrics' NewRowSynthesis (1 −
// share matched), 0 finds exact copies.
// Exact: reference rows are grouped by all levels and missing flags, and sorted within a group by the number that
// excludes most. In one table with itself, no row is its own match.
std::vector<char> match_rows(const Comparison& c, size_t rows, size_t reference, double tolerance,
                             const Workers& workers);

}  // namespace tessera::quality
