// A product of at most eight rows as a step of a fused launch, in fp32. Tiles would copy the weight through shared
// memory for a few rows only.
//   a thread computes a column of four or eight rows: the rows' factors are in shared memory, k by k, and broadcast to
//   all threads; the weight is read directly from the caches, 16 of k at a time while the last 16 are multiplied
//   4·(rows·K + K·N) bytes; bound by the latency of the weight
//   an element of a slice is one chain over k and slices are added in order: same bits as make_tile (0·0 at the end of
//   a chain that began with 0 changes none) · two block barriers per slice of k and 256 columns
#pragma once
#include "kernels/gpu/bodies/chain.cuh"

namespace tessera::gpu {

constexpr int kFewAhead = 16, kFewDepth = 1024;
static_assert(8 * kFewDepth <= kSharedFloats && kFewDepth % kFewAhead == 0);

// Weights k … k + 15 of column c, zeros from `end` on.
template <bool trans_b>
__device__ inline void few_weights(const Panel& b, int c, int k, int end, float (&w)[kFewAhead]) {
  const int64_t next = trans_b ? 1 : b.ld;
  const float* from = b.data + (trans_b ? c * b.ld + k : k * b.ld + c);
  if (trans_b && b.wide && k % 4 == 0 && k + kFewAhead <= end) {
#pragma unroll
    for (int q = 0; q < kFewAhead; q += 4) {
      float v[4];
      load_four(from + q, v);
#pragma unroll
      for (int i = 0; i < 4; ++i) w[q + i] = v[i];
    }
    return;
  }
#pragma unroll
  for (int q = 0; q < kFewAhead; ++q, from += next) w[q] = k + q < end ? *from : 0.0f;
}

// acc[r] += Σ a[r, k]·b[k, c] for k in [k0, end), in order. Every thread of the block calls it.
template <int height, bool trans_b>
__device__ inline void few_columns(const Problem::Pair& pair, const Rows& rows, int c, bool inside, int k0, int end,
                                   float* shared, float (&acc)[height]) {
  int row[height];
#pragma unroll
  for (int r = 0; r < height; ++r) row[r] = r < rows.count ? rows.at(r) : -1;
  for (int first = k0; first < end; first += kFewDepth) {
    const int count = min(kFewDepth, end - first), whole = (count + kFewAhead - 1) / kFewAhead * kFewAhead;
    __syncthreads();  // the previous contents have been read
    for (int k = static_cast<int>(threadIdx.x); k < whole; k += kThreads) {
      float a[height];
#pragma unroll
      for (int r = 0; r < height; ++r)
        a[r] = row[r] >= 0 && k < count ? pair.a.data[row[r] * pair.a.ld + first + k] : 0.0f;
#pragma unroll
      for (int r = 0; r < height; r += 4)
        *reinterpret_cast<float4*>(shared + k * height + r) = make_float4(a[r], a[r + 1], a[r + 2], a[r + 3]);
    }
    __syncthreads();
    if (!inside) continue;
    float w[kFewAhead];
    few_weights<trans_b>(pair.b, c, first, end, w);
    for (int k = 0; k < whole; k += kFewAhead) {
      float next[kFewAhead];
      few_weights<trans_b>(pair.b, c, first + k + kFewAhead, end, next);
#pragma unroll
      for (int q = 0; q < kFewAhead; ++q) {
#pragma unroll
        for (int r = 0; r < height; r += 4) {
          float a[4];
          load_four(shared + (k + q) * height + r, a);
#pragma unroll
          for (int i = 0; i < 4; ++i) acc[r + i] += a[i] * w[q];
        }
        w[q] = next[q];
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
