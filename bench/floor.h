// The work of a training step, from which its floor follows by the machine's ceilings (engine/run/roofline.h), measured
// in the same run as the figure; and the clock of the figures.
#pragma once
#include <chrono>

#include "engine/plan/plan.h"
#include "engine/run/roofline.h"

namespace bench {

// The work of one step of a plan by the costs of its ops: matrix products and recurrent layers are bound by arithmetic,
// everything else by memory.
struct Work {
  double matrix_flops = 0, flops = 0;
  double other_bytes = 0;
  double floor_seconds(const tessera::Ceilings& best) const {
    return matrix_flops / best.flops_per_second + other_bytes / best.bytes_per_second;
  }
};
Work work_of(const tessera::Plan& plan);

inline double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace bench
