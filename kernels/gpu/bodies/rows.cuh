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
  static Step pack(const Call& call, Packing& packing) {
    packing.fits = packing.cut == FusedChain::cols || call.in[0].rows <= kDown;
    return {Mat<const float>(call.in[0]), static_cast<float*>(call.out[0].data),
            static_cast<const SumRows*>(call.op)->scale};
  }
  __device__ static void cols(const Step& x, const ColsPart& p) { sum_rows(x.x, x.out, x.scale, p.first, p.scratch()); }
  // At most kDown rows, in the order of column_sum.
  template <class Walk>
  __device__ static void elements(const Step& x, const StepState&, float*, Walk&& walk) {
    walk(1, x.x.cols, [&](int, int c, int end) {
      double sum[kChunk] = {};
      for (int r = 0; r < x.x.rows; r += 4) {
        float v[4][kChunk];
#pragma unroll
        for (int q = 0; q < 4; ++q)
#pragma unroll
          for (int k = 0; k < kChunk; ++k) v[q][k] = r + q < x.x.rows && c + k < end ? x.x.row(r + q)[c + k] : 0.0f;
#pragma unroll
        for (int k = 0; k < kChunk; ++k)
          sum[k] += (static_cast<double>(v[0][k]) + static_cast<double>(v[1][k])) +
                    (static_cast<double>(v[2][k]) + static_cast<double>(v[3][k]));
      }
#pragma unroll
      for (int k = 0; k < kChunk; ++k)
        if (c + k < end) x.out[c + k] = static_cast<float>(sum[k] * x.scale);
    });
  }
};

}  // namespace tessera::gpu
