// micro_batches: a step whose batch goes through it in parts, one after another, to take less memory.
#pragma once
#include <cstdint>

#include "engine/plan/plan.h"

namespace tessera {

// Cuts a step into `count` micro-batches that are computed one after another, so that the activations of one are in
// memory at a time; their gradients are added in order. Row by row it is the same step, and the sums differ by rounding
// alone, but batch norm sees a micro-batch at a time, and running statistics receive the mean of theirs. A value that
// is read on both sides of a sum over all rows stays in memory for all of them. Errors as of shard().
void micro_batches(Plan& plan, int count);
// The parts that a batch can be cut into: its rows, packs of rows, or tiles of sequences.
int64_t units_of_batch(const Plan& plan);

}  // namespace tessera
