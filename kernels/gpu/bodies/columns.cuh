// Sums over rows per column, shared by sum_rows and batch norm. A block of kThreads threads owns kAcross columns and
// processes kDown rows at a time. Eight floats are one 32-byte sector, so narrow blocks use full sectors and there are
// many blocks. Sums are accumulated in double, in an order fixed by the shape.
#pragma once
#include "kernels/gpu/dialect/view.cuh"

namespace tessera::gpu {

constexpr int kAcross = 8, kDown = 32, kColumnWarps = kAcross * kDown / 32;
static_assert(kAcross * kDown == kThreads);
using ColumnScratch = double[kColumnWarps][kAcross];

__device__ inline int column_lane() { return static_cast<int>(threadIdx.x) % kAcross; }
__device__ inline int row_lane() { return static_cast<int>(threadIdx.x) / kAcross; }

// The sum of v over the block's threads of one column, returned to each of them: lanes by a butterfly, then warps in
// order. Two barriers.
__device__ inline double column_sum(double v, ColumnScratch& scratch) {
  v += __shfl_xor_sync(kWholeWarp, v, 8);
  v += __shfl_xor_sync(kWholeWarp, v, 16);
  if (lane_id() < kAcross) scratch[threadIdx.x / 32][column_lane()] = v;
  __syncthreads();
  double sum = 0;
#pragma unroll
  for (int w = 0; w < kColumnWarps; ++w) sum += scratch[w][column_lane()];
  __syncthreads();  // scratch may be reused
  return sum;
}

// use(row, load(row)) for this thread's rows first, first + 32, … before `end`, in order; eight of them are loaded
// before the first is used, so that their latencies overlap.
template <class Load, class Use>
__device__ inline void rows_ahead(int first, int end, Load&& load, Use&& use) {
  constexpr int kAhead = 8;
  for (int r = first; r < end; r += kDown * kAhead) {
    decltype(load(0)) v[kAhead] = {};
#pragma unroll
    for (int k = 0; k < kAhead; ++k)
      if (r + k * kDown < end) v[k] = load(r + k * kDown);
#pragma unroll
    for (int k = 0; k < kAhead; ++k)
      if (r + k * kDown < end) use(r + k * kDown, v[k]);
  }
}

// sum_rows: out[0, c] = scale·Σ_r x[r, c].   x [rows, cols] · out [1, cols]
//   4·rows·cols bytes, 1 FLOP per element: bandwidth-bound · a block owns 8 columns from `first` · two block barriers ·
//   lanes and warps in a fixed order
__device__ inline void sum_rows(const Mat<const float>& x, float* out, double scale, int first,
                                ColumnScratch& scratch) {
  const int c = first + column_lane();
  double sum = 0;
  rows_ahead(
      row_lane(), c < x.cols ? x.rows : 0, [&](int r) { return x.row(r)[c]; },
      [&](int, float v) { sum += static_cast<double>(v); });
  sum = column_sum(sum, scratch);
  if (c < x.cols && row_lane() == 0) out[c] = static_cast<float>(sum * scale);
}

}  // namespace tessera::gpu
