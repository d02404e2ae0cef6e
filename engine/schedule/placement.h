// Assigns memory to each value of a plan: phases, liveness, offsets in two arenas. Pure arithmetic, so the memory a run
// needs is known before any allocation.
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
  int64_t inside = 0;  // block: bytes of a row before it
};

struct Placement {
  std::vector<Slot> slots;               // by value
  std::vector<bool> runs;                // by node: false if placement made it a view
  std::vector<std::vector<int>> phases;  // nodes that may run in parallel; a barrier between phases
  int64_t state_bytes = 0, activation_bytes = 0;
  int64_t unplaced_bytes = 0;  // bytes of activations without reuse
};

// Nodes in phases, in their order: a node joins the last phase unless an op in it writes what the node reads, or reads
// a value that the node changes. `goes_on(node, i)`: the node may run right after the producer of its input i, and then
// joins the producer's phase if nothing else prevents it.
std::vector<std::vector<int>> phases_in_order(const Plan& plan,
                                              const std::function<bool(const Node&, size_t)>& goes_on = {});

// `reuse` off: every computed value gets its own memory (the pass `liveness` disabled).
// `phases`: the given ones instead of its own; a node in none of them is only a view of a leaf.
Placement place(const Plan& plan, int scalar_bytes, bool reuse = true,
                const std::vector<std::vector<int>>* phases = nullptr);

// How the CPU runs a plan: with row fusion if it saves enough phases (TVAE's step: 5 instead of 55), else with
// recurrent layers fused over tiles, or without `plan.fuse`, as single ops.
struct Layout {
  RowChains chains;  // no phases: single ops
  Placement placement;
};
Layout lay_out(const Plan& plan, int scalar_bytes, bool reuse = true);

}  // namespace tessera
