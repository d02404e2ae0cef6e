// Data for a page's charts of two tables (docs/quality/metrics.md, `drawings`): counts in bins and cells, never the
// values of a real row. No count is of one to four real rows. The numbers are the same for any team size.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "models/quality/common/workers.h"
#include "models/quality/drawings/axis.h"
#include "models/quality/metrics/comparison.h"
#include "models/quality/metrics/pair_trends.h"
#include "models/quality/sequences/step_features.h"

namespace tessera::quality {

// Every column's rows by slot, of both tables.
nlohmann::json draw_columns(const Comparison& c, const Table& real, const Workers& workers);

// The pairs with the lowest scores by the real table's bins, as cells.
nlohmann::json draw_worst_pairs(const Comparison& c, const Table& real, const std::vector<PairTrend>& pairs,
                                const Workers& workers);

// Both tables in the plane of the largest variance of the real one: the first two principal components of numbers
// divided by their standard deviation and of levels by the root of their share. At most kProjectedRows rows of either,
// drawn by seed; null if there are fewer than two components.
constexpr int64_t kProjectedRows = 5000;
nlohmann::json draw_projection(const Comparison& c, uint64_t seed);

// Values at 1 %, 2 %, … 99 %.
nlohmann::json draw_percentiles(std::vector<double> values);

// Sequences over time: the features with the largest `differ` first, except statics and times: quantiles by step, or
// shares of 0/1 features, and paths.
nlohmann::json draw_sequences(const StepFeatures& features, const std::vector<double>& differ, const Workers& workers);

}  // namespace tessera::quality
