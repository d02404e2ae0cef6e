// columns: a step cut by the columns of the table (model parallelism), so that each rank holds the weights, gradients,
// optimizer state and activations of its own columns (docs/engine/devices.md).
//
// Layers as wide as a row (the first of an encoder or critic, the last of a decoder or generator) are cut between
// spans. In a product with the columns as its depth, each shard computes a summand, and the ranks exchange them;
// softmax, draws and losses stay within a span; every rank computes everything between the wide ends. Sums are added by
// shard and in order, so the bits depend only on the number of shards, provided that the pass `scale`, whose choices
// depend on widths, is off.
#pragma once
#include "engine/passes/batch/shard.h"

namespace tessera {

// Rewrites a plan as recorded, before other passes. Throws Error(unsupported) for a step without spans of a row, and
// for one that uses its columns differently than tvae and ctgan do; Error(usage) if there are fewer spans than shards.
StateCuts cut_columns(Plan& plan, const RankCut& cut);

}  // namespace tessera
