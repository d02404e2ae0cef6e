// micro_batches: a step that processes its batch in parts, one after another, to take less memory.
#pragma once
#include <cstdint>

#include "engine/plan/plan.h"

namespace tessera {

// Cuts a step into `count` micro-batches that are computed one after another, so that only the activations of one are
// in memory at a time; their gradients are added in order. Row by row it is the same step, and sums differ only by
// rounding. But batch norm normalises each micro-batch by itself, and running statistics receive the mean over them. A
// value that is read both before and after a sum over all rows stays in memory for all micro-batches. Errors as of
// shard().
void micro_batches(Plan& plan, int count);
// The parts that a batch can be cut into: its rows, packs of rows, or tiles of sequences.
int64_t units_of_batch(const Plan& plan);

}  // namespace tessera
