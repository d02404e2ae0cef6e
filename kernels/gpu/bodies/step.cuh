// The end of a step on the device.
#pragma once
#include "kernels/gpu/dialect/table.h"

namespace tessera::gpu {

// The counter after `step`. After a step that reported a non-finite value the counter stops, so that the ring keeps its
// last row and the host sees the step.
__device__ inline int64_t after_step(const StepState& state, int64_t step) {
  return state.bad < 0 || state.bad == step ? step + 1 : step;
}

}  // namespace tessera::gpu
