// The products of a recurrent layer (gpu/bodies/recurrent.cuh, recurrent_grad.cuh): weights times values of a block's
// lanes, which are in scratch, [k][lane]. A product has one lane (V = 1) or groups of four lanes (V = 4), whose values
// are one 16-byte word and whose sums share each weight.
//   The order of a sum depends only on its depth, so its bits are the same for any V, any number of lanes, and
//   for a wavefront:
//     down the columns of W (column_sums)  four partial sums, of k ≡ 0, 1, 2, 3 (mod 4), added as (0 + 1) + (2 + 3)
//     along the rows of W (row_sums)       eight threads take four neighbours j at a time in turn, each in four partial
//                                          sums by j mod 4, added as above; the threads' sums are added by a butterfly
//   Weights are read from L1, the next ones being loaded while a thread uses the last; a wavefront
//   (recurrent_wave.cuh) holds those of few units in registers through all steps.
//   Factors are rounded once: values when they are stored to the scratch, weights when they are loaded into registers.
#pragma once
#include "kernels/gpu/bodies/chain.cuh"

namespace tessera::gpu {

constexpr int kTile = static_cast<int>(kSequenceTile);
constexpr int kRowThreads = 8;  // threads that share a sum along a row

__host__ __device__ constexpr int padded(int n) { return static_cast<int>(recurrent_padded(n)); }

__device__ inline int thread() { return static_cast<int>(threadIdx.x); }

template <Precision factors, int n>
__device__ inline void round_to(float (&x)[n]) {
#pragma unroll
  for (int i = 0; i < n; ++i) x[i] = rounded(x[i], factors);
}
template <int n>
__device__ inline void round_all(Precision factors, float (&x)[n]) {
  if (factors == Precision::fp32) return;
  if (factors == Precision::tf32) round_to<Precision::tf32>(x);
  else if (factors == Precision::bf16) round_to<Precision::bf16>(x);
  else round_to<Precision::fp16>(x);
}

// ---- lanes ----------------------------------------------------------------------------------------------------------
// The number of steps of sequence b.
__device__ inline int length_of(const Mat<const float>& length, int b, int sequences, int steps) {
  if (b >= sequences) return 0;
  if (!length) return steps;
  const float own = length.row(b)[0];
  return !(own > 0.0f) ? 0 : own < static_cast<float>(steps) ? static_cast<int>(own) : steps;
}

// A lane's sequence, in the scratch: row −1: none; a row beyond the batch pads the last tile.
struct __align__(16) Lane {
  int row, steps, tile, place;
};
constexpr int kLaneFloats = sizeof(Lane) / sizeof(float);

// Fills the scratch's lanes. A barrier must follow.
__device__ inline void put_lanes(Lane* lanes, int count, const Rows& rows, const Mat<const float>& length,
                                 int sequences, int steps) {
  for (int i = thread(); i < count; i += kThreads) {
    const int b = i < rows.count ? rows.at(i) : -1;
    lanes[i] = {b, b < 0 ? 0 : length_of(length, b, sequences, steps), b / kTile, b % kTile};
  }
}

// Part 0, unit u of a lane's step t in a tile-major matrix; each part is `hidden` rows.
__device__ inline float* cell_of(const Mat<float>& m, const Lane& lane, int t, int steps, int parts, int hidden,
                                 int u) {
  return m.row((lane.tile * steps + t) * parts * hidden + u) + lane.place;
}

// Padding lanes of the last tile are zeroed by the block that owns the last sequence. `rows_a_step`: rows of a
// tile-major matrix per step of a tile.
__device__ inline void clear_beyond(const Mat<float>& m, const Rows& rows, int sequences, int steps, int rows_a_step) {
  const int used = sequences % kTile, beyond = kTile - used, first = sequences / kTile * steps * rows_a_step;
  if (used == 0 || rows.at(rows.count - 1) != sequences - 1) return;
  for (int i = thread(); i < steps * rows_a_step * beyond; i += kThreads)
    m.row(first + i / beyond)[used + i % beyond] = 0.0f;
}

// The number of sequences, of `floats` each, that fit in a scratch: one, or a multiple of four.
__device__ inline int most_lanes(int64_t floats, int scratch) {
  const int fit = scratch / static_cast<int>(floats);
  return fit < 4 ? 1 : fit / 4 * 4;
}
template <class Go>
__device__ inline void each_group(const Rows& rows, int most, Go&& go) {
  for (int first = 0, n = 0; first < rows.count; first += n) {
    if (first > 0) __syncthreads();
    n = rows.count <= most ? rows.count : min(most, rows.run - first % rows.run);
    go(n == rows.count ? rows : Rows{rows.at(first), n, n, 0});
  }
}

// Iterates over items (u, group), u < units: number `first`, then every `step`-th. Divides once.
struct Items {
  int u, group, step_u, step_group, units;
  __device__ Items(int first, int step, int n)
      : u(first % n), group(first / n), step_u(step % n), step_group(step / n), units(n) {}
  __device__ void next() {
    u += step_u;
    group += step_group;
    if (u >= units) u -= units, ++group;
  }
};

// ---- sums over neighbouring threads ---------------------------------------------------------------------------------
// The sum of four neighbours' parts: (0 + 1) + (2 + 3). Every thread of a warp calls it. With V = 4, thread p of them
// gets lane p.
template <int V>
__device__ inline float across_four(const float (&part)[V], int p) {
  if constexpr (V == 1) {
    float sum = part[0];
    sum += __shfl_xor_sync(kWholeWarp, sum, 1);
    return sum + __shfl_xor_sync(kWholeWarp, sum, 2);
  } else {
    const bool odd = (p & 1) != 0, upper = (p & 2) != 0;
    const float low = (odd ? part[1] : part[0]) + __shfl_xor_sync(kWholeWarp, odd ? part[0] : part[1], 1),
                high = (odd ? part[3] : part[2]) + __shfl_xor_sync(kWholeWarp, odd ? part[2] : part[3], 1);
    return (upper ? high : low) + __shfl_xor_sync(kWholeWarp, upper ? low : high, 2);
  }
}

// ---- down the columns of a weight -----------------------------------------------------------------------------------
// sum[g][lane] = Σ_k w[k·ld + g·gate]·v[k·lanes + lane], k < depth, by one thread. v has a multiple of four values
// (V = 1: they are read four at a time), zeros at the end. With four lanes, one gate after the other: a step of a fused
// launch has about 90 registers.
template <int G, int V>
__device__ inline void column_sums(const float* w, int ld, int gate, const float* v, int lanes, int depth,
                                   Precision factors, float (&sum)[G][V]) {
  constexpr int n = V == 4 ? 1 : G == 4 ? 2 : G, kDeep = V == 1 ? 4 : 8;
#pragma unroll
  for (int first = 0; first < G; first += n) {
    float part[4][n][V] = {}, next[kDeep * n];
    const auto load = [&](int k) {
      const float* row = w + k * ld + first * gate;
#pragma unroll
      for (int q = 0; q < kDeep; ++q, row += ld)
#pragma unroll
        for (int g = 0; g < n; ++g) next[q * n + g] = k + q < depth ? row[g * gate] : 0.0f;
    };
    load(0);
#pragma unroll 1
    for (int k = 0; k < depth; k += kDeep) {
      float now[kDeep * n], x[4];
#pragma unroll
      for (int i = 0; i < kDeep * n; ++i) now[i] = next[i];
      if (k + kDeep < depth) load(k + kDeep);
      round_all(factors, now);
      if constexpr (V == 1) load_four(v + k, x);
#pragma unroll
      for (int q = 0; q < kDeep; ++q) {
        if (q == 4 && k + 4 >= depth) break;
        if constexpr (V == 4) load_four(v + (k + q) * lanes, x);
#pragma unroll
        for (int g = 0; g < n; ++g)
#pragma unroll
          for (int lane = 0; lane < V; ++lane)
            part[q % 4][g][lane] = fmaf(now[q * n + g], x[V == 1 ? q % 4 : lane], part[q % 4][g][lane]);
      }
    }
#pragma unroll
    for (int g = 0; g < n; ++g)
#pragma unroll
      for (int lane = 0; lane < V; ++lane)
        sum[first + g][lane] = (part[0][g][lane] + part[1][g][lane]) + (part[2][g][lane] + part[3][g][lane]);
  }
}

// ---- along the rows of a weight -------------------------------------------------------------------------------------
// The position of value j in the scratch. Sixteen bytes of padding follow every fourth value: without them the eight
// threads of a row would read from the same banks.
template <int V>
__device__ inline int value_at(int j, int lanes) {
  return j * lanes + (V == 1 ? 0 : j & ~3);
}
__host__ __device__ constexpr int value_floats(int depth, int lanes) {
  return padded(depth) * (lanes == 1 ? 1 : lanes + 1);
}

// four neighbours, 0 from `depth` on
__device__ inline void load_row(const float* w, int j, int depth, bool wide, float* to) {
  float v[kChunk] = {};
  if (j < depth) load_chunk({w, 0, 1, wide}, 0, j, min(kChunk, depth - j), v);
#pragma unroll
  for (int q = 0; q < kChunk; ++q) to[q] = v[q];
}
template <int V>
__device__ inline void add_row(const float* w, const float* v, int j, int lanes, float (&part)[4][V]) {
  const float* at = v + value_at<V>(j, lanes);
  float x[4];
  if constexpr (V == 1) load_four(at, x);
#pragma unroll
  for (int q = 0; q < 4; ++q) {
    if constexpr (V == 4) load_four(at + q * lanes, x);
#pragma unroll
    for (int lane = 0; lane < V; ++lane) part[q][lane] = fmaf(w[q], x[V == 1 ? q : lane], part[q][lane]);
  }
}
template <int V>
__device__ inline float across_eight(const float (&part)[4][V], int p) {
  float own[V];
#pragma unroll
  for (int lane = 0; lane < V; ++lane) own[lane] = (part[0][lane] + part[1][lane]) + (part[2][lane] + part[3][lane]);
  const float sum = across_four<V>(own, p);
  return sum + __shfl_xor_sync(kWholeWarp, sum, 4);
}

// Σ_j w[j]·v[j][lane], j < depth, by eight threads, of which this is number p; lane p % 4 with V = 4. `v`: of their
// lanes, as value_at lays them out, a multiple of four values with zeros at the end. Every thread of a warp calls it.
template <int V>
__device__ inline float row_sums(const float* w, const float* v, int lanes, int depth, int p, Precision factors) {
  constexpr int kAtATime = 2, kApart = kRowThreads * kChunk;
  const bool wide = reinterpret_cast<uintptr_t>(w) % 16 == 0;
  float part[4][V] = {}, next[kAtATime * kChunk];
  const auto load = [&](int j) {
#pragma unroll
    for (int i = 0; i < kAtATime; ++i) load_row(w, j + i * kApart, depth, wide, next + i * kChunk);
  };
  load(p * kChunk);
#pragma unroll 1
  for (int j = p * kChunk; j < depth; j += kAtATime * kApart) {
    float now[kAtATime * kChunk];
#pragma unroll
    for (int i = 0; i < kAtATime * kChunk; ++i) now[i] = next[i];
    if (j + kAtATime * kApart < depth) load(j + kAtATime * kApart);
    round_all(factors, now);
#pragma unroll
    for (int i = 0; i < kAtATime; ++i)
      if (j + i * kApart < depth) add_row<V>(now + i * kChunk, v, j + i * kApart, lanes, part);
  }
  return across_eight<V>(part, p);
}

}  // namespace tessera::gpu
