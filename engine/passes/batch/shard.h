// shard: a step cut by the rows of its batch, so that each of several ranks computes its own rows and all of them end
// with the same weights (docs/engine/devices.md).
//
// A row's values do not depend on its neighbours, and its draws are keyed by its index in the whole batch: row-by-row
// ops simply get fewer rows. Every sum over rows is computed for each of `shards` equal pieces of the batch separately,
// and the pieces' sums are added pairwise, in a tree that depends on the number of shards alone: every number of ranks
// that divides it gives the same bits. A rank whose pieces are a subtree adds them itself and sends one sum; for a
// weight's gradient, the op that computes it adds them (sharded_wgrad).
//
// The update of a large set of parameters is divided among ranks: a rank sums its part of the gradient, updates that
// part, holds moments and averages of that part only, and receives the others' weights.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "engine/plan/plan.h"

namespace tessera {

struct RankCut {
  int shards = 1;                  // pieces of the batch that are summed separately
  int ranks = 1;                   // of which each takes shards / ranks, in order; it divides `shards`
  int rank = 0;                    // the rank for which the step is rewritten
  const Wires* wires = nullptr;    // to the other ranks; must outlive the plan. One rank needs none
  bool apart = false;              // a product for each shard, which a device's fused launches make side by side
  int64_t least_shared = 1 << 15;  // size of the smallest set of parameters whose update ranks divide
};

// The part of a state that a rank has.
struct StateStretch {
  int64_t start, count;
};
struct StateCut {
  int64_t whole;                  // elements of the state
  std::vector<StateStretch> own;  // the rank's parts, in its order
};
using StateCuts = std::map<std::string, StateCut>;  // by leaf; a leaf that is not in the map is whole on every rank

// The state that keeps the collectives of a step in one order.
constexpr const char* kRankOrder = "rank.order";

// Rewrites an optimised plan of the whole batch. Shards are whole packs and whole tiles of sequences. Throws
// Error(usage) if there are fewer of those than shards, Error(unsupported) for a step that cannot be cut by rows.
StateCuts shard(Plan& plan, const RankCut& cut);

}  // namespace tessera
