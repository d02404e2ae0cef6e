// The update of a set of parameters as the updates of each: Adam, its average and a clamp work element by element, so
// the set's update is its parts' updates side by side. A device then updates a weight where its gradient is made
// (engine/schedule/gpu_fusion.h), and not before everyone who reads that weight has done so.
//   the identity: f of a flat vector, element by element, is the concatenation of f of its pieces
#pragma once
#include "engine/plan/plan.h"

namespace tessera {

// Values keep their numbers; what a state was after the update is put together again as a concatenation of pieces,
// which lie where they lay (engine/schedule/placement.h).
void split_updates(Plan& plan);

}  // namespace tessera
