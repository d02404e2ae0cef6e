// CPU: where a step ends with the gradients and updates of several parameter sets, one set after another. The values
// that only the gradients of one set read are free before the gradients of the next take memory.
//   the identity: an op still runs after those whose results it reads, and before those that overwrite what it reads
#pragma once
#include <vector>

#include "engine/schedule/cpu_row_fusion.h"

namespace tessera {

// The phases of `chains` with the sets in turn, the smallest first; empty: the step does not end so.
std::vector<std::vector<int>> updates_in_turn(const Plan& plan, const RowChains& chains);

}  // namespace tessera
