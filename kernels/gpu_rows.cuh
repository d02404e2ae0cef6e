// row_dot and sum_cols of one row by one warp.
#pragma once
#include "kernels/gpu_view.cuh"

namespace tessera::gpu {

// row_dot: out[r, 0] = scale·Σ_c x[r, c]·y[r, c], or of x alone: sum_cols.   x, y [rows, cols] · out [rows, 1]
//   4 or 8 bytes and 2 FLOP an element: bandwidth-bound · one warp a row, its lanes a column in 32 · no barrier
//   the order of a row's sum depends on cols alone, so a row has the same bits in any batch
template <bool with_y>
__device__ inline void row_dot(const Mat<const float>& x, const Mat<const float>& y, const Mat<float>& out, double scale, int r) {
  const float* p = x.row(r);
  double sum = 0;
  for (int c = lane_id(); c < x.cols; c += 32) {
    const double a = static_cast<double>(p[c]);
    if constexpr (with_y) sum += a * static_cast<double>(y.row(r)[c]);
    else sum += a;
  }
  sum = warp_sum(sum);
  if (lane_id() == 0) out.row(r)[0] = static_cast<float>(sum * scale);
}

}  // namespace tessera::gpu
