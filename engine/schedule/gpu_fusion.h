// Assigns the ops of a plan to GPU launches (kernels/fused.h describes what a launch can hold). A level is a launch
// (engine/schedule/levels.h): an op joins its producer's launch if every block needs only data it computed itself.
//   the identity: ops partitioned by rows (columns, elements) commute with selecting a part of the rows
#pragma once
#include <vector>

#include "engine/plan/plan.h"
#include "kernels/fused.h"

namespace tessera {

struct FusedNode {
  int node;
  FusedStep::Part part;
  int64_t run, stride;  // rows: see FusedStep
};

struct FusedGroup {
  FusedChain::Cut cut;
  int64_t units;
  std::vector<FusedNode> nodes;  // in order
};

struct FusedLaunch {
  std::vector<FusedGroup> chains;
  // after the launch, one by one: ops outside chains, and moves that placement may have turned into views
  std::vector<int> alone;
};

using Fusion = std::vector<FusedLaunch>;
// Splits the plan's updates by parameters (engine/schedule/split_optimizer.h), then puts its ops into launches: as
// Plan::fusion says, else so that there are few.
Fusion fuse(Plan& plan);

// Launches of which chains, cuts and parts are given, as data: `units`, `run` and `stride` are computed, and views
// placed, which may be left out. Throws Error(usage), with the op, the launch and what to do, if an op is missing or
// stands twice, if a chain cannot compute it, or if it reads what is not there yet.
Fusion build_launches(const Plan& plan, Fusion given);

// The phases of place(): nodes of one launch may run in parallel, so none of their values may share memory.
std::vector<std::vector<int>> phases_of(const Fusion& fusion);

}  // namespace tessera
