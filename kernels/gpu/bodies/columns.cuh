// Sums over rows per column, shared by sum_rows and batch norm. A block of kThreads threads owns kAcross columns and
// processes kDown rows at a time. Eight floats are one 32-byte sector, so narrow blocks use full sectors and there are
// many blocks. Sums are accumulated in double, in an order fixed by the shape.
#pragma once
#include "kernels/gpu/dialect/view.cuh"

namespace tessera::gpu {

constexpr int kAcross = 8, kDown = 32, kColumnWarps = kAcross * kDown / 32;
static_assert(kAcross * kDown == kThreads);
using ColumnRoom = double[kColumnWarps][kAcross];

__device__ inline int column_lane() { return static_cast<int>(threadIdx.x) % kAcross; }
__device__ inline int row_lane() { return static_cast<int>(threadIdx.x) / kAcross; }

// The sum of v over the block's threads of one column, returned to each of them: lanes by a butterfly, then warps in
// order. Two barriers.
__device__ inline double column_sum(double v, ColumnRoom& room) {
  v += __shfl_xor_sync(kWholeWarp, v, 8);
  v += __shfl_xor_sync(kWholeWarp, v, 16);
  if (lane_id() < kAcross) room[threadIdx.x / 32][column_lane()] = v;
  __syncthreads();
  double sum = 0;
#pragma unroll
  for (int w = 0; w < kColumnWarps; ++w) sum += room[w][column_lane()];
  __syncthreads();  // the room may be reused
  return sum;
}

// sum_rows: out[0, c] = scale·Σ_r x[r, c].   x [rows, cols] · out [1, cols]
//   4·rows·cols bytes, 1 FLOP per element: bandwidth-bound · a block owns 8 columns from `first` · two block barriers ·
//   lanes and warps in a fixed order
__device__ inline void sum_rows(const Mat<const float>& x, float* out, double scale, int first, ColumnRoom& room) {
  const int c = first + column_lane();
  double sum = 0;
  if (c < x.cols)
    for (int r = row_lane(); r < x.rows; r += kDown) sum += static_cast<double>(x.row(r)[c]);
  sum = column_sum(sum, room);
  if (c < x.cols && row_lane() == 0) out[c] = static_cast<float>(sum * scale);
}

}  // namespace tessera::gpu
