// The deep product of a small weight's gradient as a step of a fused launch: op(A) = Aᵀ, out [≤ 32, ≤ 32], several
// slices. A tile of 64 × 64 would compute the slices one after the other, with most threads idle.
//   each two of eight warps compute a slice, a warp two of its four chains (matmul_tile.cuh), one after the other;
//   eight of k are in its part of shared memory while the next eight are being copied; a thread has 4 × 8 elements ·
//   same bits as make_tile · two warp barriers per eight of k, two block barriers per four slices
#pragma once
#include "kernels/gpu/bodies/chain.cuh"

namespace tessera::gpu {

constexpr int kDeepSide = 32, kDeepFloats = kBlockWarps * kDeepSide * kDeepSide;
static_assert(kDeepFloats <= kSharedFloats);

__host__ __device__ inline bool is_deep(const Problem& p) {
  return p.slices > 1 && p.rows <= kDeepSide && p.cols <= kDeepSide;
}

// Depth that a warp has in shared memory at a time, for both factors; double-buffered: one is multiplied while the next
// is copied.
constexpr int kDeepStep = 8, kDeepStage = 2 * kDeepStep * kDeepSide;
static_assert(2 * kDeepStage * kBlockWarps <= kDeepFloats);

// Copies the eight of a chain's k that are in [k, k + 28), zeros beyond `end`, [factor][k][side].
__device__ inline void bring_deep(const Problem::Pair& pair, int rows, int cols, int k, int end, float* stage) {
  for (int i = lane_id(); i < kDeepStage / 4; i += 32) {
    const bool second = i >= kDeepStage / 8;
    const Panel& from = second ? pair.b : pair.a;
    const int line = i / (kDeepSide / 4) % kDeepStep, at = k + line / kChainStep * kRound + line % kChainStep,
              side = i % (kDeepSide / 4) * 4, there = at < end ? (second ? cols : rows) - side : 0;
    const float* x = from.data + (there > 0 ? at * from.ld + side : 0);
    if (from.wide && (there >= 4 || there <= 0)) {
      cp_async_16(stage + 4 * i, x, there > 0);
    } else {
#pragma unroll
      for (int q = 0; q < 4; ++q) cp_async_4(stage + 4 * i + q, x + (q < there ? q : 0), q < there);
    }
  }
}

// Elements row … row + 3, column … column + 7 of one slice: the sum of chains `chain` and `chain` + 1.
__device__ inline void make_deep_chains(const Problem& p, int slice, int chain, int row, int column, float* stage,
                                        float (&acc)[4][8]) {
  const Walk at = begin_of(p, slice);
  const Problem::Pair& pair = p.pair[at.pair];
  constexpr int kDepth = kDeepStep * kChains;  // of the slice, in a stage
  const int end = at.end(p), stages = (end - at.k + kDepth - 1) / kDepth;
  const auto bring = [&](int i) {
    const int k = at.k + (i < stages ? i * kDepth : (i - stages) * kDepth + kChainStep) + chain * kChainStep;
    if (i < 2 * stages) bring_deep(pair, p.rows, p.cols, k, end, stage + i % 2 * kDeepStage);
    cp_async_commit();  // also an empty group: the wait counts groups
  };
  float first[4][8] = {};
  bring(0);
  for (int n = 0; n < 2 * stages; ++n) {
    bring(n + 1);
    cp_async_wait<1>();
    __syncwarp();
    if (n == stages)
#pragma unroll
      for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int j = 0; j < 8; ++j) first[i][j] = acc[i][j], acc[i][j] = 0;
    const float *a = stage + n % 2 * kDeepStage + row, *b = stage + n % 2 * kDeepStage + kDeepStage / 2 + column;
#pragma unroll 4
    for (int q = 0; q < kDeepStep; ++q) {
      float x[kChunk], y[2][kChunk];
      load_four(a + q * kDeepSide, x);
      load_four(b + q * kDeepSide, y[0]);
      load_four(b + q * kDeepSide + kChunk, y[1]);
#pragma unroll
      for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int j = 0; j < 8; ++j) acc[i][j] += x[i] * y[j / kChunk][j % kChunk];
    }
    __syncwarp();  // the stage may be overwritten
  }
#pragma unroll
  for (int i = 0; i < 4; ++i)
#pragma unroll
    for (int j = 0; j < 8; ++j) acc[i][j] = first[i][j] + acc[i][j];
}

// noinline: inlined into one kernel this would spill its registers.
__attribute__((noinline)) __device__ inline void make_deep(const Problem& p, float* shared) {
  assume_shared(shared);
  const int thread = static_cast<int>(threadIdx.x), warp = thread / 32, row = lane_id() / 4 * 4,
            column = lane_id() % 4 * 8;
  const int r = thread / 8, c = thread % 8 * kChunk;  // four elements of the sum
  float total[kChunk] = {};
  constexpr int kSlices = kBlockWarps / 2;  // at a time
  for (int first = 0; first < p.slices; first += kSlices) {
    float acc[4][8] = {};
    if (const int slice = first + warp / 2; slice < p.slices)
      make_deep_chains(p, slice, warp % 2 * 2, row, column, shared + warp * kDeepSide * kDeepSide, acc);
#pragma unroll
    for (int i = 0; i < 4; ++i)
#pragma unroll
      for (int j = 0; j < 8; ++j) shared[(warp * kDeepSide + row + i) * kDeepSide + column + j] = acc[i][j];
    __syncthreads();
    for (int s = 0; s < min(kSlices, p.slices - first); ++s)
#pragma unroll
      for (int q = 0; q < kChunk; ++q) {
        const float* sums = shared + (2 * s * kDeepSide + r) * kDeepSide + c + q;
        total[q] += sums[0] + sums[kDeepSide * kDeepSide];
      }
    __syncthreads();
  }
  if (r < p.rows && c < p.cols) finish_sum(p, r, c, total);
}

}  // namespace tessera::gpu
