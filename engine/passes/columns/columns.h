// columns: a step cut by the columns of the table (model parallelism), so that each rank holds the weights, gradients,
// optimizer state and activations of its own columns (docs/engine/devices.md).
//
// What is as wide as a row (the first layer of an encoder or critic, the last of a decoder or generator) is cut where
// spans meet. A product with the columns as its depth gives each shard a summand, which the ranks exchange; softmax,
// draws and losses stay within a span; everything between the wide ends is computed by every rank. Sums are taken by
// shard and in their order, so the bits follow the number of shards, as long as the pass `scale`, whose choices depend
// on widths, is off.
#pragma once
#include "engine/passes/batch/shard.h"

namespace tessera {

// Rewrites a plan as recorded, before other passes. Error(unsupported) for a step without spans of a row, and for one
// that uses its columns otherwise than tvae and ctgan do; Error(usage) where there are fewer spans than shards.
StateCuts cut_columns(Plan& plan, const RankCut& cut);

}  // namespace tessera
