// What each of several ranks would compute and exchange in a step, as tessera plan shows it; nothing is run.
#pragma once
#include <nlohmann/json_fwd.hpp>

#include "engine/plan/plan.h"
#include "engine/run/roofline.h"

namespace tessera {

// For 1, 2, 4, … 64 ranks and `ranks`, of an optimised step of the whole batch: bytes that a rank gives to each
// exchange, and the floor of its computation here and on a GPU. `shards` 0: as tessera fit chooses for that number.
nlohmann::json describe_ranks(const Plan& plan, int ranks, int shards, const Ceilings& here);

}  // namespace tessera
