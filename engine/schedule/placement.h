// Where each value of a plan lies: phases, liveness, offsets in two arenas. Pure arithmetic, so the memory a run needs
// is known before anything is allocated.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "engine/plan/plan.h"
#include "engine/schedule/cpu_row_fusion.h"

namespace tessera {

struct Slot {
  // block: in the own memory of a block of rows; unread: nowhere (engine/schedule/cpu_row_fusion.h)
  enum Where : int { none, state, activation, bound, block, unread } where = none;
  int64_t offset = 0;  // bytes from the arena's start; bound: from the leaf's memory; block: for each of its rows
  int64_t ld = 0;      // elements
  int leaf = -1;       // bound: which leaf
};

struct Placement {
  std::vector<Slot> slots;               // by value
  std::vector<bool> runs;                // by node: false where placement made it a view
  std::vector<std::vector<int>> phases;  // nodes that may run side by side; a barrier between phases
  int64_t state_bytes = 0, activation_bytes = 0;
  int64_t unplaced_bytes = 0;  // what activations would take if nothing were reused
};

// Nodes in phases, in their order: one joins the last phase unless something in it makes what the node reads, or reads
// what it changes. `goes_on(node, i)`: the node may be done right after whoever made its input i, and then stands in
// that one's phase, if nothing else holds it up.
std::vector<std::vector<int>> phases_in_order(const Plan& plan,
                                              const std::function<bool(const Node&, size_t)>& goes_on = {});

// `reuse` off: every value that is made gets memory of its own (the pass `liveness` left out).
// `phases`: given ones instead of its own; a node that is in none makes nothing but a view of a leaf.
Placement place(const Plan& plan, int scalar_bytes, bool reuse = true,
                const std::vector<std::vector<int>>* phases = nullptr);

// How the processor runs a plan: in chains of rows where they spare enough phases (TVAE's step: 5 instead of 58), else
// with recurrent layers in chains of tiles, or without `plan.fuse`, as single ops.
struct Layout {
  RowChains chains;  // no phases: single ops
  Placement placement;
};
Layout lay_out(const Plan& plan, int scalar_bytes, bool reuse = true);

}  // namespace tessera
