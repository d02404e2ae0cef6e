// Who a row is to the random number generator: its place in the batch and the step, or its own identity where `rows` is given.
#pragma once
#include "kernels/gpu_view.cuh"
#include "kernels/philox.h"

namespace tessera::gpu {

struct RowKey {
  uint32_t c1, c2, c3;
};

__device__ inline RowKey row_key(const StepState& state, const Mat<const int32_t>& rows, int row, int purpose) {
  const uint32_t p = static_cast<uint32_t>(purpose) << 16;
  if (!rows) {
    const uint64_t step = static_cast<uint64_t>(state.step);
    return {static_cast<uint32_t>(row), static_cast<uint32_t>(step), p | static_cast<uint32_t>(step >> 32 & 0xFFFF)};
  }
  const int32_t* id = rows.row(row);
  return {static_cast<uint32_t>(id[0]), static_cast<uint32_t>(id[1]), p | static_cast<uint32_t>(id[2] & 0xFFFF)};
}

__device__ inline Philox draw(const StepState& state, uint32_t block, const RowKey& key) {
  return philox(block, key.c1, key.c2, key.c3, static_cast<uint32_t>(state.seed), static_cast<uint32_t>(state.seed >> 32));
}

}  // namespace tessera::gpu
