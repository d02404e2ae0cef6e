// The launches of a plan as source, without a device: addresses are those of memory that does not exist.
#pragma once
#include <vector>

#include "engine/emit/emit.h"
#include "engine/plan/plan.h"
#include "engine/schedule/gpu_fusion.h"
#include "engine/schedule/placement.h"

namespace tessera {

// One for each launch of `fusion` that has chains with work; a chain of any length fits.
std::vector<EmittedLaunch> emit_launches(const Plan& plan, const Fusion& fusion, const Placement& placement);

}  // namespace tessera
