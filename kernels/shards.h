// The shards of a batch that a rank has, for the ops that sum by shards (ops.h: ShardedWgrad, BatchNormSums).
#pragma once
#include <cstdint>

#include "kernels/math/host_device.h"

namespace tessera {

// The first of the `units` of shard s of `shards`.
TESSERA_HD constexpr int64_t shard_begin(int64_t units, int shards, int s) { return units * s / shards; }
// The units of the first s shards of a rank. `op` has units, shards, first, count.
template <class Sharded>
TESSERA_HD constexpr int64_t shard_units(const Sharded& op, int s) {
  return shard_begin(op.units, op.shards, op.first + s) - shard_begin(op.units, op.shards, op.first);
}
// Where shard s of a rank, counted from its first one, begins in its `rows` rows.
template <class Sharded>
TESSERA_HD constexpr int64_t shard_begin(const Sharded& op, int64_t rows, int s) {
  return rows / shard_units(op, op.count) * shard_units(op, s);
}
// How many times the last two pending sums are added after the sum of shard s of `count` is complete: shards are paired
// by repeated halving.
TESSERA_HD constexpr int shards_joined(int count, int s) {
  int from = 0, end = count, joined = 0;
  while (end - from > 1) {
    const int half = from + (end - from) / 2;
    if (s < half) end = half, joined = 0;
    else from = half, ++joined;
  }
  return joined;
}
// Shard sums held at a time besides the result.
TESSERA_HD constexpr int pending_shards(int count) {
  int sums = 0;
  for (int n = 1; n < count; n *= 2) ++sums;
  return sums;
}

}  // namespace tessera
