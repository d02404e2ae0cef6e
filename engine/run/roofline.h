// The peak rates of this machine, from a short measurement: the floor of an op is the time of its bytes or its FLOPs at
// these rates.
#pragma once
#include <algorithm>
#include <cstdint>

#include "base/threads/team.h"
#include "engine/plan/op_rules.h"

namespace tessera {

struct Ceilings {
  double bytes_per_second = 0;  // read and written by a copy within a working set of the given size, all threads
  double flops_per_second = 0;  // fp32 multiply-adds on registers, two FLOPs each, all threads

  // Lower bound in seconds for any schedule. (Roofline: Williams, Waterman, Patterson 2009.)
  double floor(const Cost& cost) const {
    return std::max(cost.bytes / bytes_per_second, cost.flops / flops_per_second);
  }
};

// Takes about 0.1 s. A working set that fits in a cache is copied at that cache's rate, as in the step.
Ceilings measure_ceilings(Team& team, int64_t working_set_bytes);

}  // namespace tessera
