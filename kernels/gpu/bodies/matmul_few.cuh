// A product of at most eight rows as a step of a fused launch, in fp32. Tiles would copy the weight through shared
// memory for a few rows only.
//   a thread computes a column of four or eight rows: the rows' factors are in shared memory, k by k, and broadcast to
//   all threads; the weight is read directly from the caches, with sixteen loads along k in flight
//   4·(rows·K + K·N) bytes; bound by shared-memory bandwidth, one float per multiplication
//   an element of a slice is one chain over k and slices are added in order: same bits as make_tile · two block
//   barriers per slice of k and 256 columns
#pragma once
#include "kernels/gpu/bodies/chain.cuh"

namespace tessera::gpu {

constexpr int kFewAhead = 16, kFewDepth = 1024;
static_assert(8 * kFewDepth <= kSharedFloats);

// Weights k … k + 15 of column c, zeros from `end` on.
template <bool trans_b>
__device__ inline void few_weights(const Panel& b, int c, int k, int end, float (&w)[kFewAhead]) {
  if (trans_b && b.wide && k % 4 == 0 && k + kFewAhead <= end) {
#pragma unroll
    for (int q = 0; q < kFewAhead; q += 4) {
      float v[4];
      load_four(b.data + c * b.ld + k + q, v);
#pragma unroll
      for (int i = 0; i < 4; ++i) w[q + i] = v[i];
    }
    return;
  }
#pragma unroll
  for (int q = 0; q < kFewAhead; ++q)
    w[q] = k + q < end ? (trans_b ? b.data[c * b.ld + k + q] : b.data[(k + q) * b.ld + c]) : 0.0f;
}

// acc[r] += Σ a[r, k]·b[k, c] for k in [k0, end), in order. Every thread of the block calls it.
template <int height, bool trans_b>
__device__ inline void few_columns(const Problem::Pair& pair, const Rows& rows, int c, bool inside, int k0, int end,
                                   float* shared, float (&acc)[height]) {
  for (int first = k0; first < end; first += kFewDepth) {
    const int count = min(kFewDepth, end - first);
    __syncthreads();  // the previous contents have been read
#pragma unroll
    for (int r = 0; r < height; ++r)
      for (int k = static_cast<int>(threadIdx.x); k < count; k += kThreads)
        shared[k * height + r] = r < rows.count ? pair.a.data[rows.at(r) * pair.a.ld + first + k] : 0.0f;
    __syncthreads();
    if (!inside) continue;
    for (int k = 0; k < count; k += kFewAhead) {
      float w[kFewAhead];
      few_weights<trans_b>(pair.b, c, first + k, end, w);
#pragma unroll
      for (int q = 0; q < kFewAhead; ++q) {
        if (k + q >= count) break;
#pragma unroll
        for (int r = 0; r < height; r += 4) {
          float a[4];
          load_four(shared + (k + q) * height + r, a);
#pragma unroll
          for (int i = 0; i < 4; ++i) acc[r + i] += a[i] * w[q];
        }
      }
    }
  }
}

// noinline: inlined into one kernel this would spill its registers. `rows` by value: a reference would be read from
// local memory in the loops.
template <int height, bool trans_b>
__attribute__((noinline)) __device__ void make_few(const Problem& p, Rows rows, float* shared) {
  assume_shared(shared);
  for (int c0 = 0; c0 < p.cols; c0 += kThreads) {
    const int c = c0 + static_cast<int>(threadIdx.x);
    const bool inside = c < p.cols;
    float total[height] = {};
    for (int i = 0; i < p.pairs; ++i) {
      const Problem::Pair& pair = p.pair[i];
      for (int s = 0; s < pair.slices.count; ++s) {
        float acc[height] = {};
        few_columns<height, trans_b>(pair, rows, c, inside, s * pair.slices.length,
                                     min(pair.depth, (s + 1) * pair.slices.length), shared, acc);
#pragma unroll
        for (int r = 0; r < height; ++r) total[r] += acc[r];
      }
    }
#pragma unroll
    for (int r = 0; r < height; ++r) {
      if (r >= rows.count || !inside) break;
      const int64_t row = rows.at(r);
      p.out[row * p.ld_out + c] = p.addend != nullptr ? total[r] + p.addend[row * p.ld_addend + c] : total[r];
    }
  }
}

}  // namespace tessera::gpu
