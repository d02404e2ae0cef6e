// A deep product towards a small weight as a step of a fused launch: op(A) = Aᵀ, out [≤ 32, ≤ 32], several slices. One
// tile of 64 × 64 would make its slices one after the other, with most of its threads idle.
//   a warp makes a slice, eight side by side; a thread has 4 × 8 elements and reads its factors where they lie, two of
//   k on their way at a time · an element of a slice is one chain over k and slices are added in order: the bits of
//   make_tile · two block barriers per eight slices
#pragma once
#include "kernels/gpu/bodies/chain.cuh"

namespace tessera::gpu {

constexpr int kDeepSide = 32, kDeepFloats = kBlockWarps * kDeepSide * kDeepSide;
static_assert(kDeepFloats <= kSharedFloats);

__host__ __device__ inline bool is_deep(const Problem& p) {
  return p.slices > 1 && p.rows <= kDeepSide && p.cols <= kDeepSide;
}

// Elements row … row + 3, column … column + 7 of one slice.
__device__ inline void make_deep_slice(const Problem& p, int slice, int row, int column, float (&acc)[4][8]) {
  constexpr int kAhead = 2;  // as many as leave the fused kernel its registers
  const Walk at = begin_of(p, slice);
  const Problem::Pair& pair = p.pair[at.pair];
  const Operand a{pair.a.data, pair.a.ld, 1, pair.a.wide}, b{pair.b.data, pair.b.ld, 1, pair.b.wide};
  const int down = min(kChunk, p.rows - row), left = min(kChunk, p.cols - column),
            right = min(kChunk, p.cols - column - kChunk), end = at.end(p);
  for (int k = at.k; k < end; k += kAhead) {
    float x[kAhead][kChunk] = {}, y[kAhead][2][kChunk] = {};
#pragma unroll
    for (int q = 0; q < kAhead; ++q)
      if (k + q < end) {
        load_chunk(a, k + q, row, down, x[q]);
        load_chunk(b, k + q, column, left, y[q][0]);
        load_chunk(b, k + q, column + kChunk, right, y[q][1]);
      }
#pragma unroll
    for (int q = 0; q < kAhead; ++q)
#pragma unroll
      for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int j = 0; j < 8; ++j) acc[i][j] += x[q][i] * y[q][j / kChunk][j % kChunk];
  }
}

// noinline: inlined into one kernel this would spill its registers.
__attribute__((noinline)) __device__ inline void make_deep(const Problem& p, float* shared) {
  const int thread = static_cast<int>(threadIdx.x), warp = thread / 32, row = lane_id() / 4 * 4,
            column = lane_id() % 4 * 8;
  const int r = thread / 8, c = thread % 8 * kChunk;  // four elements of the sum
  float total[kChunk] = {};
  for (int first = 0; first < p.slices; first += kBlockWarps) {
    float acc[4][8] = {};
    if (first + warp < p.slices) make_deep_slice(p, first + warp, row, column, acc);
#pragma unroll
    for (int i = 0; i < 4; ++i)
#pragma unroll
      for (int j = 0; j < 8; ++j) shared[(warp * kDeepSide + row + i) * kDeepSide + column + j] = acc[i][j];
    __syncthreads();
    for (int s = 0; s < min(kBlockWarps, p.slices - first); ++s)
#pragma unroll
      for (int q = 0; q < kChunk; ++q) total[q] += shared[(s * kDeepSide + r) * kDeepSide + c + q];
    __syncthreads();
  }
  if (r < p.rows && c < p.cols) finish_sum(p, r, c, total);
}

}  // namespace tessera::gpu
