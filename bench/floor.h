// What this machine can do at most, measured in the same run as the figure it stands beside.
#pragma once
#include <cstdint>

#include "engine/plan.h"
#include "engine/team.h"

namespace bench {

double peak_flops(tessera::Team& team);                 // fused multiply-adds a second × 2, fp32, widest vectors of this processor, in registers
double copy_rate(tessera::Team& team, int64_t bytes);   // bytes read + bytes written a second, a block of `bytes` a thread copied again and again

// The work of one step of a plan as its ops' costs say: matrix products are bound by arithmetic, everything else by memory.
struct Work {
  double matrix_flops = 0, flops = 0;
  double other_bytes = 0;
  double floor_seconds(double peak, double copy) const { return matrix_flops / peak + other_bytes / copy; }
};
Work work_of(const tessera::Plan& plan);

}  // namespace bench
