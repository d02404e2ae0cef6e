// The slices of a product and a block's loop over them, shared by a launch of matmul and a fused launch.
#pragma once
#include "kernels/gpu/bodies/matmul_tile.cuh"
#include "kernels/gpu/dialect/map.cuh"
#include "kernels/split_k.h"

namespace tessera::gpu {

constexpr int kMaxPairs = 6;

__device__ constexpr int stages_of(int depth) { return (depth + kStep - 1) / kStep; }
// How often shared memory is filled for a product split this way: a slice begins with a new stage.
__device__ inline int stages_of(Slices slices, int depth) {
  if (slices.count == 0) return 0;
  const int whole = slices.count - 1;
  return whole * stages_of(slices.length) + stages_of(depth - whole * slices.length);
}

struct Problem {
  struct Pair {
    Panel a, b;
    int depth;
    Slices slices;
  } pair[kMaxPairs];
  int pairs, rows, cols, slices;
  float* out;
  int64_t ld_out;
  const float* addend;
  int64_t ld_addend;  // 0: one row for all
};

inline Problem problem(const Call& call, const Matmul& op, int first, int count) {
  const View& out = call.out[0];
  Problem p{};
  p.pairs = count;
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
  __device__ bool last_of_slice(const Problem& p) const { return k + kStep >= end(p); }
  __device__ void skip_empty(const Problem& p) {
    while (pair < p.pairs && p.pair[pair].slices.count == 0) ++pair;
  }
  __device__ void next(const Problem& p) {
    if (!last_of_slice(p)) {
      k += kStep;
      return;
    }
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

// The elements of a tile: rows from `row0` of `rows`, columns col0 up to col_end; all slices, or a single one, whose
// sum goes to `out`, a separate [rows, cols]. Every thread of the block calls it; two barriers per stage, of 16 bits
// one, and one last. `shared` holds shared_floats<Tile>.
//   Tile: how elements are computed (FmaTile or TensorTile of the same orientations).
template <class Tile>
constexpr int shared_floats = 2 * (kStageFloats<typename Tile::Stored, Tile::kRows> +
                                   kStageFloats<typename Tile::Stored, Tile::kCols>);

constexpr int kAllSlices = -1;

template <class Tile, bool trans_a, bool trans_b>
__device__ inline void make_tile(const Problem& p, const Rows& rows, int row0, int col0, int col_end, int slice,
                                 float* out, float* shared) {
  using Stored = typename Tile::Stored;
  constexpr bool kThroughRegisters = sizeof(Stored) == 2;
  constexpr int kRoomA = kStageRoom<Stored, Tile::kRows>, kRoomB = kStageRoom<Stored, Tile::kCols>;
  Stored *a_stage = reinterpret_cast<Stored*>(shared), *b_stage = a_stage + 2 * kRoomA;
  const Rows cols = rows_between(0, col_end);
  const bool cut = slice != kAllSlices;
  Walk at{0, 0, 0};  // position of the product
  at.skip_empty(p);
  if (cut) at = begin_of(p, slice);
  Walk ahead = at;  // position of the loads
  int left = 0;     // stages to load
  if (cut) {
    left = stages_of(at.end(p) - at.k);
  } else {
    for (int i = 0; i < p.pairs; ++i) left += stages_of(p.pair[i].slices, p.pair[i].depth);
  }
  typename Tile::template Carrier<Tile::kRows, !trans_a> a_carrier;
  typename Tile::template Carrier<Tile::kCols, trans_b> b_carrier;
  auto start_next = [&](int room) {
    const Problem::Pair& pair = p.pair[ahead.pair];
    a_carrier.start(pair.a, rows, row0, ahead.k, ahead.end(p), a_stage + room * kRoomA);
    b_carrier.start(pair.b, cols, col0, ahead.k, ahead.end(p), b_stage + room * kRoomB);
    if constexpr (!kThroughRegisters) cp_async_commit();
    ahead.next(p);
  };
  float total[Tile::kElements];
#pragma unroll
  for (float& v : total) v = 0;
  Tile tile;
  if (left > 0) start_next(0);
  for (int room = 0; left > 0; room ^= 1, --left) {
    if constexpr (kThroughRegisters) {
      a_carrier.put_down(a_stage + room * kRoomA);
      b_carrier.put_down(b_stage + room * kRoomB);
    } else if (left > 1) {
      start_next(room ^ 1);
      cp_async_wait<1>();
    } else {
      cp_async_wait<0>();
    }
    __syncthreads();
    if (kThroughRegisters && left > 1) start_next(room ^ 1);  // nobody reads the other room any more
    tile.multiply(a_stage + room * kRoomA, b_stage + room * kRoomB);
    if (at.last_of_slice(p))
      tile.each([&](int, int, float& v, int i) {
        total[i] += v;
        v = 0;
      });
    at.next(p);
    if (!kThroughRegisters || left == 1) __syncthreads();  // the room may be reused
  }
  const float* addend = cut ? nullptr : p.addend;
  const int64_t ld = cut ? p.cols : p.ld_out;
  tile.each([&](int i, int c, float&, int number) {
    i += row0;
    c += col0;
    if (i >= rows.count || c >= col_end) return;
    const int64_t r = rows.at(i);
    out[r * ld + c] = addend != nullptr ? total[number] + addend[r * p.ld_addend + c] : total[number];
  });
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

// out[r, c] = Σ_s part[s][r][c] in order (+ addend), four columns of one row. Eight slices are on their way at a time;
// what is no slice adds 0, which changes no bit of a sum that began with 0.
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
