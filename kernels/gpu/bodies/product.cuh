// The slices of a product and a block's loop over them, shared by a launch of matmul and a fused launch.
#pragma once
#include "kernels/gpu/bodies/matmul_tile.cuh"
#include "kernels/gpu/dialect/map.cuh"
#include "kernels/split_k.h"

namespace tessera::gpu {

constexpr int kMaxPairs = 6;

__device__ constexpr int stages_of(int depth) { return (depth + kStep - 1) / kStep; }
// The number of stages of a product split this way: each slice begins with a new stage.
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
constexpr int kStagesRoom = 10240;
template <class Tile>
constexpr int kStageOf =
    kStageFloats<typename Tile::Stored, Tile::kRows> + kStageFloats<typename Tile::Stored, Tile::kCols>;
template <class Tile>
constexpr int kRooms = sizeof(typename Tile::Stored) == 2 ? 2
                       : kStagesRoom / kStageOf<Tile> < 4 ? kStagesRoom / kStageOf<Tile>
                                                          : 4;
template <class Tile>
constexpr int shared_floats = kRooms<Tile>* kStageOf<Tile>;

constexpr int kAllSlices = -1;

// Loads a tile's stages from global memory, in order.
template <class Tile, bool trans_a, bool trans_b>
struct Loads {
  using Stored = typename Tile::Stored;
  using A = typename Tile::template Carrier<Tile::kRows, !trans_a>;
  using B = typename Tile::template Carrier<Tile::kCols, trans_b>;
  static constexpr int kRoomA = kStageRoom<Stored, Tile::kRows>, kRoomB = kStageRoom<Stored, Tile::kCols>;

  const Problem& p;
  const Rows &rows, cols;
  int row0, col0;
  Stored *a_stage, *b_stage;
  Walk ahead;
  int left;           // stages to load
  bool fresh = true;  // the next one begins a slice
  int end = 0;        // of that slice
  typename A::Own of_a{};
  typename B::Own of_b{};

  __device__ Stored* a(int room) const { return a_stage + room * kRoomA; }
  __device__ Stored* b(int room) const { return b_stage + room * kRoomB; }
  __device__ void start(A& a_carrier, B& b_carrier, int room) {
    if (left <= 0) return;
    --left;
    if (fresh) {
      const Problem::Pair& pair = p.pair[ahead.pair];
      of_a.begin(pair.a, rows, row0, ahead.k);
      of_b.begin(pair.b, cols, col0, ahead.k);
      end = ahead.end(p);
    }
    const int depth = end - ahead.k;
    a_carrier.start(of_a, depth, a(room));
    b_carrier.start(of_b, depth, b(room));
    fresh = depth <= kStep;
    if (fresh) ahead.next_slice(p);
    else ahead.k += kStep;
  }
};

// The elements of a tile: rows from `row0` of `rows`, columns col0 up to col_end; all slices, or a single one, whose
// sum goes to `out`, a separate [rows, cols]. Every thread of the block calls it; a barrier per stage and one last.
// `shared` holds shared_floats<Tile>.
//   Tile: how elements are computed (FmaTile or TensorTile of the same orientations).
template <class Tile, bool trans_a, bool trans_b>
__device__ inline void make_tile(const Problem& p, const Rows& rows, int row0, int col0, int col_end, int slice,
                                 float* out, float* shared) {
  assume_shared(shared);
  using Stored = typename Tile::Stored;
  using In = Loads<Tile, trans_a, trans_b>;
  const bool cut = slice != kAllSlices;
  Walk at{0, 0, 0};  // position of the product
  at.skip_empty(p);
  if (cut) at = begin_of(p, slice);
  int stages = 0;
  if (cut) {
    stages = stages_of(at.end(p) - at.k);
  } else {
    for (int i = 0; i < p.pairs; ++i) stages += stages_of(p.pair[i].slices, p.pair[i].depth);
  }
  Stored* const first_stage = reinterpret_cast<Stored*>(shared);
  In in{p,  rows,  rows_between(0, col_end), row0, col0, first_stage, first_stage + kRooms<Tile> * In::kRoomA,
        at, stages};
  float total[Tile::kElements];
#pragma unroll
  for (float& v : total) v = 0;
  Tile tile;
  int end = stages > 0 ? at.end(p) : 0;
  const auto multiply = [&](int room) {
    tile.multiply(in.a(room), in.b(room));
    at.k += kStep;
    if (at.k < end) return;
    tile.each([&](int, int, float& v, int i) {
      total[i] += v;
      v = 0;
    });
    at.next_slice(p);
    if (at.pair < p.pairs) end = at.end(p);
  };
  // Only one copy of the loading code: a launch runs it a few times only, and instructions are fetched from memory too.
  if constexpr (sizeof(Stored) == 2) {
    // Two stages in registers if a thread has one chunk of each operand.
    constexpr int kAhead = Tile::kRows * kStep <= 1024 && Tile::kCols * kStep <= 1024 ? 2 : 1;
    typename In::A a[kAhead];
    typename In::B b[kAhead];
    for (int first = -kAhead; first < stages; first += kAhead) {
#pragma unroll
      for (int i = 0; i < kAhead; ++i) {
        const int room = kAhead == 2 ? i : first & 1;
        if (first >= 0) {
          if (first + i >= stages) break;
          a[i].put_down(in.a(room));
          b[i].put_down(in.b(room));
          __syncthreads();  // no thread reads the other stage any more
        }
        in.start(a[i], b[i], room);
        if (first >= 0) multiply(room);
      }
    }
  } else {
    constexpr int kAhead = kRooms<Tile> - 1;
    typename In::A a;
    typename In::B b;
    for (int i = -kAhead, room = 0, free = 0; i < stages; ++i) {
      if (i >= 0) {
        cp_async_wait<kAhead - 1>();
        __syncthreads();  // the stage has arrived, and no thread reads the free one any more
      }
      in.start(a, b, free);
      cp_async_commit();  // also an empty group: the wait counts groups
      free = free + 1 == kRooms<Tile> ? 0 : free + 1;
      if (i < 0) continue;
      multiply(room);
      room = room + 1 == kRooms<Tile> ? 0 : room + 1;
    }
  }
  __syncthreads();  // shared memory may be reused
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
