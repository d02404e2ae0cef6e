// Splits the update of a parameter set into the updates of its parameters: Adam, its average and a clamp are
// elementwise, so the update of the set is the concatenation of the updates of its parts. A device then updates a
// weight in the block that computed its gradient (engine/schedule/gpu_fusion.h), after the last read of that weight.
//   the identity: f of a flat vector, element by element, is the concatenation of f of its pieces
#pragma once
#include "engine/plan/plan.h"

namespace tessera {

// Values keep their numbers; a state after the update is a concatenation of its pieces, which stay in place
// (engine/schedule/placement.h).
void split_updates(Plan& plan);

}  // namespace tessera
