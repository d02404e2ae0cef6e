// The slices of a product and a block's loop over them, shared by a launch of matmul and a fused launch.
#pragma once
#include <stdlib.h>
#include <string.h>

#include "kernels/gpu/bodies/matmul_tile.cuh"
#include "kernels/gpu/dialect/map.cuh"
#include "kernels/split_k.h"

namespace tessera::gpu {

constexpr int kMaxPairs = 6;

// The units that multiply such factors. TESSERA_CUDA_FP32=tf32x3: fp32 on tensor cores, factors as sums of two of tf32.
inline Units units_of(Precision factors) {
  switch (factors) {
    case Precision::fp32: break;
    case Precision::tf32: return Units::tf32;
    case Precision::bf16: return Units::bf16;
    case Precision::fp16: return Units::fp16;
  }
  const char* fp32 = getenv("TESSERA_CUDA_FP32");
  return fp32 != nullptr && strcmp(fp32, "tf32x3") == 0 ? Units::tf32x3 : Units::fma;
}
// The rows of its tiles: 64, or 32 if that fills `grid` blocks better. A stage of 32 × 32 takes 0.6 of the time of one
// of 64 × 32 (bench/predict.py); on tensor cores both take the same.
inline int tile_rows(Units units, int64_t parts, int64_t rows, int64_t cols, int64_t grid) {
  const auto in_series = [&](int64_t down) { return (product_blocks(parts, rows, cols, down) + grid - 1) / grid; };
  return units == Units::fma && 2 * in_series(32) < 3 * in_series(64) ? 32 : 64;
}

struct Problem {
  struct Pair {
    Panel a, b;
    int depth;
    Slices slices;
  } pair[kMaxPairs];
  int pairs, rows, cols, slices;
  Units units;
  float* out;
  int64_t ld_out;
  const float* addend;
  int64_t ld_addend;  // 0: one row for all
};

inline Problem problem(const Call& call, const Matmul& op, int first, int count) {
  const View& out = call.out[0];
  Problem p{};
  p.pairs = count;
  p.units = units_of(op.factors);
  p.rows = static_cast<int>(out.rows);
  p.cols = static_cast<int>(out.cols);
  p.out = static_cast<float*>(out.data);
  p.ld_out = out.ld;
  for (int i = 0; i < count; ++i) {
    const View &a = call.in[2 * (first + i)], &b = call.in[2 * (first + i) + 1];
    const int64_t depth = op.trans_a ? a.rows : a.cols;
    p.pair[i] = {{static_cast<const float*>(a.data), a.ld, aligned16(a)},
                 {static_cast<const float*>(b.data), b.ld, aligned16(b)},
                 static_cast<int>(depth),
                 slices_of(depth, op.cut)};
    p.slices += p.pair[i].slices.count;
  }
  if (first > 0) {  // the sum of the previous pairs in out
    p.addend = p.out;
    p.ld_addend = p.ld_out;
  } else if (op.addend) {
    const View& more = call.in[2 * op.pairs];
    p.addend = static_cast<const float*>(more.data);
    p.ld_addend = more.rows == 1 ? 0 : more.ld;
  }
  return p;
}

// The position of a loop over slices and stages.
struct Walk {
  int pair, slice, k;  // slice: within the pair; k: first of the stage
  __device__ int end(const Problem& p) const {
    return min(p.pair[pair].depth, (slice + 1) * p.pair[pair].slices.length);
  }
  __device__ void skip_empty(const Problem& p) {
    while (pair < p.pairs && p.pair[pair].slices.count == 0) ++pair;
  }
  __device__ void next_slice(const Problem& p) {
    if (++slice == p.pair[pair].slices.count) {
      slice = 0;
      ++pair;
      skip_empty(p);
    }
    if (pair < p.pairs) k = slice * p.pair[pair].slices.length;
  }
};

// The beginning of a slice, counted over all pairs.
__device__ inline Walk begin_of(const Problem& p, int slice) {
  Walk at{0, slice, 0};
  while (at.slice >= p.pair[at.pair].slices.count) at.slice -= p.pair[at.pair++].slices.count;
  at.k = at.slice * p.pair[at.pair].slices.length;
  return at;
}

// Floats of shared memory that are enough for the stages of any tile, and a tile's number of stages.
constexpr int kStagesFloats = 11520;
template <class Tile>
constexpr int kStageFloats = Tile::LayoutA::kFloats + Tile::LayoutB::kFloats;
template <class Tile>
constexpr int kStages = kStagesFloats / kStageFloats<Tile> < 4 ? kStagesFloats / kStageFloats<Tile> : 4;
template <class Tile>
constexpr int shared_floats = kStages<Tile>* kStageFloats<Tile>;

constexpr int kAllSlices = -1;

// The stages are a ring, [factor A, factor B] each. Where the stage after this one begins, for threads that copy.
template <class Tile>
__device__ inline int after(int stage) {
  stage += kStageFloats<Tile>;
  return stage == shared_floats<Tile> ? 0 : stage;
}
// Where a thread's part of each factor begins, of one stage after another, for threads that multiply. Only constants
// are added, so the compiler does not compute the thread's place again for each stage.
template <class Tile>
struct Reader {
  const float *a, *b;
  int left = kStages<Tile>;
  __device__ explicit Reader(const float* shared)
      : a(shared + Tile::place_a()), b(shared + Tile::LayoutA::kFloats + Tile::place_b()) {}
  __device__ void next() {
    int step = kStageFloats<Tile>;
    if (--left == 0) left = kStages<Tile>, step -= shared_floats<Tile>;
    a += step, b += step;
  }
};
// A barrier of the block for warps that come to it on different paths: the emulation knows barriers by their places.
__device__ inline void meet() { __syncthreads(); }

// Fills the ring with the factors of a tile's parts (slices, passes), one after another.
//   Parts: int begin(of_a, of_b)     begins the chunks of a part; its depth
//          bool next()               whether another follows
//          Precision factors         what they are rounded to; only if kRounds
template <class Tile, bool trans_a, bool trans_b, class Parts>
struct Loads {
  using OfA = Chunks<typename Tile::LayoutA, !trans_a>;
  using OfB = Chunks<typename Tile::LayoutB, trans_b>;
  Parts parts;
  float* shared;
  bool more;                  // whether there is a part
  int free = 0, arrived = 0;  // stages
  int depth = 0;              // of the part, that is still to be copied
  bool short_way = false;     // of a warp all of whose chunks of whole stages are wide
  OfA of_a{};
  OfB of_b{};

  // Where the thread's chunks begin. A pointer that went from stage to stage would have 64 bits.
  __device__ float* a(int stage) const { return shared + (stage + OfA::place()); }
  __device__ float* b(int stage) const { return shared + (stage + Tile::LayoutA::kFloats + OfB::place()); }
  __device__ void start() {
    if (depth <= 0) {
      depth = parts.begin(of_a, of_b);
      short_way = __ballot_sync(kWholeWarp, !of_a.wide || !of_b.wide) == 0;
    }
    if (depth < kStep) {
      of_a.clip(depth);
      of_b.clip(depth);
    }
    of_a.copy(a(free));
    of_b.copy(b(free));
    free = after<Tile>(free);
    depth -= kStep;
    if (depth <= 0) more = parts.next();
  }
  static constexpr int kAhead = kStages<Tile> - 1;
  // The stage to be multiplied has arrived, and no thread reads the free one any more.
  __device__ void arrive() {
    cp_async_wait<kAhead - 1>();
    if constexpr (Parts::kRounds)
      if (parts.factors != Precision::fp32) {
        OfA::round(a(arrived), parts.factors);
        OfB::round(b(arrived), parts.factors);
        arrived = after<Tile>(arrived);
      }
    meet();
  }
  // All stages, as many ahead of the one that is multiplied as fit.
  __device__ void run() {
#pragma unroll 1
    for (int first = kAhead, last = kAhead; last > 0;) {
      if (first > 0) --first;
      else arrive();
      if (more) start();
      else --last;
      cp_async_commit();  // also an empty group: the wait counts groups
      if (first > 0 || !short_way) continue;
#pragma unroll 1
      for (; depth > kStep; depth -= kStep) {  // up to the last stage of the part
        arrive();
        of_a.template copy<true>(a(free));
        of_b.template copy<true>(b(free));
        cp_async_commit();
        free = after<Tile>(free);
      }
    }
  }
};

// The slices of a product, from one on, for the tile at (row0, col0).
template <class TileRows>
struct SlicesOfTile {
  static constexpr bool kRounds = false;
  const Problem& p;
  const TileRows& rows;
  AdjacentRows cols;
  int row0, col0;
  bool cut;  // a single slice
  Walk at;
  template <class A, class B>
  __device__ int begin(A& of_a, B& of_b) const {
    const Problem::Pair& pair = p.pair[at.pair];
    of_a.begin(pair.a, rows, row0, at.k);
    of_b.begin(pair.b, cols, col0, at.k);
    return at.end(p) - at.k;
  }
  __device__ bool next() {
    if (!cut) at.next_slice(p);
    return !cut && at.pair < p.pairs;
  }
};

// The sums of a tile that a thread computes: of all slices, or of the one that `at` begins.
template <class Tile>
__device__ inline void multiply_stages(const Problem& p, Walk at, bool cut, float* shared,
                                       float (&total)[Tile::kOwnRows][Tile::kOwnCols]) {
  Tile tile;
  Reader<Tile> stage(shared);
  while (at.pair < p.pairs) {
#pragma unroll 1
    for (int depth = at.end(p) - at.k; depth > 0; depth -= kStep) {
      meet();
      tile.multiply(stage.a, stage.b);
      if constexpr (Tile::kInParts) tile.move_sums();
      stage.next();
    }
    tile.take([&](int i, int j, float v) { total[i][j] += v; });
    if (cut) break;
    at.next_slice(p);
  }
}

// The elements of a tile: rows from `row0` of `rows`, columns col0 up to col_end; all slices, or a single one, whose
// sum goes to `out`, a separate [rows, cols]. Every thread of the block calls it; a barrier per stage and one last.
// `shared` holds shared_floats<Tile>.
//   Tile: how elements are computed (FmaTile or TensorTile of the same orientations).
template <class Tile, bool trans_a, bool trans_b, class TileRows>
__device__ inline void make_tile(const Problem& p, const TileRows& rows, int row0, int col0, int col_end, int slice,
                                 float* out, float* shared) {
  assume_shared(shared);
  const bool cut = slice != kAllSlices, multiplies = threadIdx.x < kMultiplying;
  Walk at{0, 0, 0};
  if (cut) at = begin_of(p, slice);
  else at.skip_empty(p);
  float total[Tile::kOwnRows][Tile::kOwnCols] = {};
  if (multiplies) multiply_stages<Tile>(p, at, cut, shared, total);
  else
    Loads<Tile, trans_a, trans_b, SlicesOfTile<TileRows>>{
        {p, rows, rows_between(0, col_end), row0, col0, cut, at}, shared, at.pair < p.pairs}
        .run();
  __syncthreads();  // shared memory may be reused
  if (!multiplies) return;
  const float* addend = cut ? nullptr : p.addend;
  const int64_t ld = cut ? p.cols : p.ld_out, ld_addend = p.ld_addend;
#pragma unroll
  for (int i = 0; i < Tile::kOwnRows; ++i) {
    if (row0 + Tile::row(i) >= rows.count) break;
    const int64_t r = rows.at(row0 + Tile::row(i));
#pragma unroll
    for (int j = 0; j < Tile::kOwnCols; ++j) {
      const int c = col0 + Tile::col(j);
      if (c < col_end) out[r * ld + c] = addend != nullptr ? total[i][j] + addend[r * ld_addend + c] : total[i][j];
    }
  }
}

// out[r, c] = total (+ addend), four columns of one row.
__device__ inline void finish_sum(const Problem& p, int r, int c, float (&total)[kChunk]) {
  const int n = min(kChunk, p.cols - c);
  if (p.addend != nullptr) {
    float more[kChunk];
    load_chunk({p.addend, p.ld_addend, 1, false}, r, c, n, more);
#pragma unroll
    for (int q = 0; q < kChunk; ++q) total[q] += more[q];
  }
  store_chunk({p.out, p.ld_out, p.rows, p.cols, false}, r, c, n, total);
}

// out[r, c] = Σ_s part[s][r][c] in order (+ addend), four columns of one row. Eight slices are in flight at a time;
// absent slices add 0, which changes no bit of a sum that began with 0.
__device__ inline void add_slices(const Problem& p, const float* part, int r, int c) {
  const int n = min(kChunk, p.cols - c);
  const Operand slices{part, p.cols, 1, p.cols % kChunk == 0};
  float total[kChunk] = {};
  for (int first = 0; first < p.slices; first += kInFlight) {
    float x[kInFlight][kChunk] = {};
#pragma unroll
    for (int k = 0; k < kInFlight; ++k)
      if (first + k < p.slices) load_chunk(slices, (first + k) * p.rows + r, c, n, x[k]);
#pragma unroll
    for (int k = 0; k < kInFlight; ++k)
#pragma unroll
      for (int q = 0; q < kChunk; ++q) total[q] += x[k][q];
  }
  finish_sum(p, r, c, total);
}

}  // namespace tessera::gpu
