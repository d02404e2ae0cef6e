// shard: a step cut by the rows of its batch, so that each of several ranks computes its own rows and all of them end
// with the same weights (docs/engine/devices.md).
//
// A row's values do not depend on its neighbours, and its draws are keyed by its place in the whole batch: ops that go
// row by row are simply given fewer rows. Whatever sums over rows is summed over each of `shards` equal pieces of the
// batch by itself, and the pieces' sums are added as neighbours, in a tree that depends on the number of shards alone:
// every number of ranks that divides it gives the same bits. A rank whose pieces are a branch of the tree adds them
// itself and sends one sum; of a weight's gradient in the op that makes it (sharded_wgrad).
//
// What changes a large set of parameters is shared out: a rank adds up its part of the gradient, updates that part, of
// which alone it has the moments and averages, and gets the others' weights.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "engine/plan/plan.h"

namespace tessera {

struct RankCut {
  int shards = 1;                  // pieces of the batch that are summed by themselves
  int ranks = 1;                   // of which each takes shards / ranks, in order; it divides `shards`
  int rank = 0;                    // whose part of the step is wanted
  const Wires* wires = nullptr;    // to the other ranks; must outlive the plan. One rank needs none
  bool apart = false;              // a product for each shard, which a device's fused launches make side by side
  int64_t least_shared = 1 << 15;  // numbers of a set of parameters whose update ranks share
};

// What a rank has of a state.
struct StateStretch {
  int64_t start, count;
};
struct StateCut {
  int64_t whole;                  // elements of the state
  std::vector<StateStretch> own;  // the rank's, in its order
};
using StateCuts = std::map<std::string, StateCut>;  // by leaf; a leaf that is not here is whole on every rank

// The state that keeps the collectives of a step in one order.
constexpr const char* kRankOrder = "rank.order";

// Rewrites an optimised plan of the whole batch. Batches are whole packs and whole tiles of sequences: Error(usage)
// where there are fewer of those than shards, Error(unsupported) for a step that does not go by rows.
StateCuts shard(Plan& plan, const RankCut& cut);

}  // namespace tessera
