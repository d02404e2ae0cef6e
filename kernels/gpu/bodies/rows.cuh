// row_dot and sum_cols of one row by one warp; these and sum_rows (gpu/bodies/columns.cuh) as steps of a fused launch.
#pragma once
#include "kernels/gpu/bodies/chain.cuh"

namespace tessera::gpu {

// row_dot: out[r, 0] = scale·Σ_c x[r, c]·y[r, c], or of x alone: sum_cols.   x, y [rows, cols] · out [rows, 1]
//   4 or 8 bytes and 2 FLOP per element: bandwidth-bound · one warp per row, one lane per column in 32 · no barrier
//   the order of a row's sum depends only on cols, so a row has the same bits in any batch
template <bool with_y>
__device__ inline void row_dot(const Mat<const float>& x, const Mat<const float>& y, const Mat<float>& out,
                               double scale, int r) {
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

struct DotStep {
  Mat<const float> x, y;
  Mat<float> out;
  double scale;
};
template <bool with_y>
struct FusedDot {
  using Step = DotStep;
  __device__ static void rows(const Step& x, const RowsPart& p) {
    p.each_row_by_warp([&](int r) { row_dot<with_y>(x.x, x.y, x.out, x.scale, r); });
  }
};
template <>
struct Fused<SumCols> : FusedDot<false> {
  static Step pack(const Call& call, Packing&) {
    return {Mat<const float>(call.in[0]), Mat<const float>(call.in[0]), Mat<float>(call.out[0]),
            static_cast<const SumCols*>(call.op)->scale};
  }
};
template <>
struct Fused<RowDot> : FusedDot<true> {
  static Step pack(const Call& call, Packing&) {
    return {Mat<const float>(call.in[0]), Mat<const float>(call.in[1]), Mat<float>(call.out[0]), 1};
  }
};

struct SumStep {
  Mat<const float> x;
  float* out;
  double scale;
};
template <>
struct Fused<SumRows> {
  using Step = SumStep;
  static Step pack(const Call& call, Packing&) {
    return {Mat<const float>(call.in[0]), static_cast<float*>(call.out[0].data),
            static_cast<const SumRows*>(call.op)->scale};
  }
  __device__ static void cols(const Step& x, const ColsPart& p) { sum_rows(x.x, x.out, x.scale, p.first, p.room()); }
};

}  // namespace tessera::gpu
