// Recomputation of recurrent layers: a layer over T steps becomes one over each block of kStepBlock steps, which passes
// its state to the next. Only these states are kept: in the backward pass, a block's forward pass is repeated before
// its derivative. Stacked layers process a block together, so the tensors between them exist for one block only.
//   the identity: a layer over T steps is its blocks one after the other, and the weights' gradients are summed block
//       by block, the last first (kernels/cpu/recurrent_grad.cpp). A GPU sums them step by step: there the sums differ
//       by rounding
#pragma once
#include <vector>

#include "engine/passes/recompute.h"
#include "engine/plan/plan.h"

namespace tessera {

// Cuts all layers of two blocks or more that are differentiated once; the plan needs schedule() and drop_dead() then.
std::vector<Recomputed> cut_recurrent_layers(Plan& plan);

}  // namespace tessera
