// A product of at most eight rows as a step of a fused launch, in fp32. Tiles would copy the weight through shared
// memory for a few rows only.
//   the lanes of a warp share the depth as in a tile (matmul_tile.cuh): a thread computes one chain of four columns of
//   four or eight rows, a block 256 columns. The rows' factors are in shared memory, k by k, and broadcast; weights are
//   read directly from the caches, 16 bytes at a time, and 64 of k are on their way while others are multiplied
//   4·(rows·K + K·N) bytes; bound by the second-level cache
//   same bits as make_tile (0·0 at the end of a chain that began with 0 changes none) · two block barriers per slice of
//   k and 256 columns
#pragma once
#include "kernels/gpu/bodies/chain.cuh"

namespace tessera::gpu {

constexpr int kFewDepth = 1024;  // k in shared memory
static_assert(8 * kFewDepth <= kSharedFloats && kFewDepth % kRound == 0);

// Weights [k][column] of four k and four columns.
using FewWeights = float[kChainStep][4];

// chain[r][j] += Σ a[r, k]·w[k][j] in order; `a` in shared memory, k by k.
template <int height>
__device__ inline void multiply_few(const float* a, const FewWeights& w, float (&chain)[height][4]) {
#pragma unroll
  for (int q = 0; q < kChainStep; ++q)
#pragma unroll
    for (int r = 0; r < height; r += 4) {
      float x[4];
      load_four(a + q * height + r, x);
#pragma unroll
      for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) chain[r + i][j] += x[i] * w[q][j];
    }
}

// The weights of a lane's chain, four k of every 16: columns c … c + 3, of which `exist` do. `depth` of k are to come,
// from the next four on.
template <bool trans_b>
struct FewColumns {
  const float* from;
  int64_t ld;
  int exist, depth;
  __device__ void next() {
    from += trans_b ? kRound : kRound * ld;
    depth -= kRound;
  }
  __device__ void load(FewWeights& w) {
#pragma unroll
    for (int q = 0; q < kChainStep; ++q)
#pragma unroll
      for (int j = 0; j < 4; ++j) w[q][j] = q < depth && j < exist ? from[trans_b ? j * ld + q : q * ld + j] : 0.0f;
    next();
  }
  // Of four columns, or of four k if trans_b, all or none exist, and are aligned.
  __device__ void load_wide(FewWeights& w) {
    const float* row = from;
#pragma unroll
    for (int i = 0; i < 4; ++i, row += ld) {
      float v[4] = {};
      if (trans_b ? i < exist && depth > 0 : exist > 0 && i < depth) load_four(row, v);
#pragma unroll
      for (int q = 0; q < 4; ++q) (trans_b ? w[q][i] : w[i][q]) = v[q];
    }
    next();
  }
};

// chain[r][j] += Σ a[r, k]·b[k, c + j] for the k of this lane's chain in [begin, end), in order. Every thread of the
// block calls it.
template <int height, bool trans_b>
__device__ inline void few_columns(const Problem::Pair& pair, const Rows& rows, int c, int cols, int begin, int end,
                                   float* shared, float (&chain)[height][4]) {
  constexpr int kAhead = height == 4 ? 4 : 3;  // rounds whose weights are on their way
  const int own = chain_of_lane() * kChainStep, r = static_cast<int>(threadIdx.x) % height;
  const bool there = r < rows.count, wide = pair.b.wide && (trans_b ? (begin | end) % 4 == 0 : cols % 4 == 0);
  for (int first = begin; first < end; first += kFewDepth) {
    const int count = min(kFewDepth, end - first), whole = (count + kRound - 1) / kRound * kRound;
    const float *from = pair.a.data + (there ? rows.at(r) * pair.a.ld : 0) + first, *a = shared + own * height;
    const int k0 = first + own;
    FewColumns<trans_b> b{pair.b.data + (trans_b ? c * pair.b.ld + k0 : k0 * pair.b.ld + c), pair.b.ld, cols - c,
                          end - k0};
    __syncthreads();  // the previous contents have been read
    for (int k = static_cast<int>(threadIdx.x) / height; k < whole; k += kThreads / height)
      cp_async_4(shared + k * height + r, from + (k < count ? k : 0), there && k < count);
    cp_async_commit();
    if (wide) {
      FewWeights w[kAhead];
#pragma unroll
      for (int u = 0; u < kAhead; ++u) b.load_wide(w[u]);
      cp_async_wait<0>();
      meet();
#pragma unroll 1
      for (int k = 0; k < whole; k += kAhead * kRound)
#pragma unroll
        for (int u = 0; u < kAhead; ++u) {
          if (k + u * kRound >= whole) break;
          multiply_few(a + (k + u * kRound) * height, w[u], chain);
          b.load_wide(w[u]);
        }
    } else {
      cp_async_wait<0>();
      meet();
#pragma unroll 1
      for (int k = 0; k < whole; k += kRound) {
        FewWeights w;
        b.load(w);
        multiply_few(a + k * height, w, chain);
      }
    }
  }
}

// noinline: inlined into one kernel this would spill its registers. `rows` by value: a reference would be read from
// local memory in the loops.
template <int height, bool trans_b>
__attribute__((noinline)) __device__ void make_few(const Problem& p, Rows rows, float* shared) {
  using Own = Owned<height, 4>;
  assume_shared(shared);
  for (int c0 = 0; c0 < p.cols; c0 += kThreads) {
    const int c = c0 + (static_cast<int>(threadIdx.x) / 32 * kLanesOfChain + lane_id() % kLanesOfChain) * 4;
    float total[height / 2][2] = {};
    for (int i = 0; i < p.pairs; ++i) {
      const Problem::Pair& pair = p.pair[i];
      for (int s = 0; s < pair.slices.count; ++s) {
        float chain[height][4] = {};
        few_columns<height, trans_b>(pair, rows, c, p.cols, s * pair.slices.length,
                                     min(pair.depth, (s + 1) * pair.slices.length), shared, chain);
        add_chains(chain, [&](int r, int j, float v) { total[r][j] += v; });
      }
    }
    float* const out = p.out;
    const float* const addend = p.addend;
    const int64_t ld = p.ld_out, ld_addend = p.ld_addend;
#pragma unroll
    for (int i = 0; i < height / 2; ++i) {
      if (Own::row() + i >= rows.count) break;
      const int64_t row = rows.at(Own::row() + i);
#pragma unroll
      for (int j = 0; j < 2; ++j)
        if (const int at = c + Own::col() + j; at < p.cols)
          out[row * ld + at] = addend != nullptr ? total[i][j] + addend[row * ld_addend + at] : total[i][j];
    }
  }
}

// A product of one column: a thread of the first warp computes one chain of one row. The form above would multiply four
// columns for it, and wait for the weights of each 16 of k, because a column is read 4 bytes at a time.
//   rows and weights come to shared memory at once, up to kFewDepth of k · two block barriers for each such part
__attribute__((noinline)) __device__ inline void make_column(const Problem& p, bool trans_b, Rows rows, float* shared) {
  assume_shared(shared);
  constexpr int kPitch = kFewDepth + 4;  // lines are read without bank conflicts
  static_assert((kLanesOfChain + 1) * kPitch <= kSharedFloats);
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = lane_id(), own = chain_of_lane() * kChainStep,
            row = lane % kLanesOfChain;
  const bool multiplies = warp == 0 && row < rows.count;
  float total = 0;
  for (int i = 0; i < p.pairs; ++i) {
    const Problem::Pair& pair = p.pair[i];
    for (int s = 0; s < pair.slices.count; ++s) {
      const int end = min(pair.depth, (s + 1) * pair.slices.length);
      float chain = 0;
      for (int first = s * pair.slices.length; first < end; first += kFewDepth) {
        const int count = min(kFewDepth, end - first), whole = (count + kRound - 1) / kRound * kRound;
        __syncthreads();                                                  // the previous contents have been read
        for (int line = warp; line <= rows.count; line += kBlockWarps) {  // the last one: weights
          const bool weights = line == rows.count;
          const int64_t step = weights && !trans_b ? pair.b.ld : 1;
          const float* from = weights ? pair.b.data + first * step : pair.a.data + rows.at(line) * pair.a.ld + first;
          for (int k = lane; k < whole; k += 32)
            cp_async_4(shared + line * kPitch + k, from + (k < count ? k : 0) * step, k < count);
        }
        cp_async_commit();
        cp_async_wait<0>();
        meet();
        if (!multiplies) continue;
        const float *a = shared + row * kPitch + own, *b = shared + rows.count * kPitch + own;
#pragma unroll 4
        for (int k = 0; k < whole; k += kRound) {
          float x[4], w[4];
          load_four(a + k, x);
          load_four(b + k, w);
#pragma unroll
          for (int q = 0; q < kChainStep; ++q) chain += x[q] * w[q];
        }
      }
      __syncwarp();
      chain += __shfl_xor_sync(kWholeWarp, chain, kLanesOfChain);
      total += chain + __shfl_xor_sync(kWholeWarp, chain, 2 * kLanesOfChain);
    }
  }
  if (!multiplies || lane >= kLanesOfChain) return;
  const int64_t r = rows.at(row);
  p.out[r * p.ld_out] = p.addend != nullptr ? total + p.addend[r * p.ld_addend] : total;
}

}  // namespace tessera::gpu
