// Columns of which the synthetic table holds a part only, as rows that were sampled under a condition do.
#pragma once
#include <nlohmann/json_fwd.hpp>

#include "models/quality/metrics/comparison.h"

namespace tessera::quality {

// {where, rows, columns: [{name, share}]}: the condition in the language of --where, the real rows that meet it, and
// the share of the real rows that each term keeps of those before. null if no column is narrowed. A column is, if a
// tenth of the real rows or more lie outside its synthetic values, and chance does not explain that.
nlohmann::json narrowed(const Comparison& c, const Table& real, const Table& synthetic);

}  // namespace tessera::quality
