// The computation and exchanges of each of several ranks in a step, for tessera plan; nothing is run.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>

#include "engine/plan/plan.h"
#include "engine/run/roofline.h"

namespace tessera {

// For 1, 2, 4, … 64 ranks and `ranks`, of an optimized step of the whole batch: bytes that a rank sends in each
// exchange, the floor of its computation here and on a GPU, and the weights and state that it holds. `shards` 0: as
// tessera fit chooses for that number.
nlohmann::json describe_ranks(const Plan& plan, int ranks, int shards, const Ceilings& here);
// The same for ranks that divide the columns of the table (parallel=model), from the step as `recorded`, with its
// passes. Empty: its columns cannot be cut.
nlohmann::json describe_column_ranks(const Plan& plan, const Plan& recorded, const std::set<std::string>& passes_off,
                                     int ranks, int shards, const Ceilings& here);

}  // namespace tessera
