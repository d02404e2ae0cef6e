// Sums over rows, column by column: what sum_rows and batch norm share. A block owns kAcross columns and walks their rows kDown at a time; eight floats are one
// 32-byte sector, so narrow blocks read memory as fully as wide ones and there are many of them. Sums are kept in double, in an order fixed by the shape.
#pragma once
#include "kernels/gpu_view.cuh"

namespace tessera::gpu {

constexpr int kAcross = 8, kDown = 64, kWarps = kAcross * kDown / 32;
using ColumnRoom = double[kWarps][kAcross];

// The sum of v over the block's threads of one column, in each of them: lanes by a butterfly, then warps in order. Barriers: two.
__device__ inline double column_sum(double v, ColumnRoom& room) {
  v += __shfl_xor_sync(kWholeWarp, v, 8);
  v += __shfl_xor_sync(kWholeWarp, v, 16);
  const int warp = static_cast<int>(threadIdx.y) / (32 / kAcross);
  if (threadIdx.y % (32 / kAcross) == 0) room[warp][threadIdx.x] = v;
  __syncthreads();
  double sum = 0;
#pragma unroll
  for (int w = 0; w < kWarps; ++w) sum += room[w][threadIdx.x];
  __syncthreads();  // the room is free again
  return sum;
}

}  // namespace tessera::gpu
