// Finds columns of which the synthetic table covers only a part, as in rows that were sampled under a condition.
#pragma once
#include <nlohmann/json_fwd.hpp>

#include "models/quality/metrics/comparison.h"

namespace tessera::quality {

// {where, rows, columns: [{name, share}]}: the condition in the syntax of --where, the real rows that satisfy it, and
// the share of real rows that each term retains. null if no column is narrowed. A column is narrowed if at least a
// tenth of the real rows lie outside its synthetic values, and chance does not explain that.
nlohmann::json narrowed(const Comparison& c, const Table& real, const Table& synthetic);

}  // namespace tessera::quality
