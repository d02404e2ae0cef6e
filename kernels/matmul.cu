// matmul: out [M, N] = Σ_i op(A_i)·op(B_i) (+ addend [M, N] or [1, N]). NN forward, NT towards the input, TN towards the weights.
//   2·M·N·K FLOP; 4·(M·K + K·N + M·N) bytes: compute-bound for M ≥ ~30 (fp32), latency-bound at the sizes of a step
//   One block makes a 64 × 64 tile (matmul_tile.cuh) with two stages of shared memory (36 KiB): one is multiplied while the other is brought.
//   k is cut into slices of about kSlice, by K alone; a slice's sum is one chain over k, slices are added in order. Where there are too few tiles to fill a device
//   each slice gets blocks of its own, writes its sums to the workspace, and a second kernel adds them in the same order: cutting changes no bit, and a row has the
//   same bits in any batch.
//   two block barriers a stage · deterministic, no atomics
#include "kernels/gpu_matmul.h"
#include "kernels/matmul_tile.cuh"

namespace tessera::gpu {
namespace {

constexpr int kSlice = 256;
constexpr int kFullGrid = 128;  // blocks; about the multiprocessors of a large device. A constant, so that every device of one kind gives the same bits
constexpr int kMaxPairs = 6;

// How one pair's K is cut: in slices of `length`, whole stages.
struct Slices {
  int count, length;
};
Slices slices_of(int64_t depth) {
  const int64_t wanted = depth < 2 * kSlice ? (depth < kSlice + kSlice / 2 ? 1 : 2) : (depth + kSlice / 2) / kSlice;
  const int64_t length = blocks_for(blocks_for(depth, wanted), kStep) * kStep;
  return {depth == 0 ? 0 : static_cast<int>(blocks_for(depth, length)), static_cast<int>(length)};
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
  bool cut;           // blockIdx.z is the number of a slice, out the workspace [slices][rows][cols]
};

// Where a walk over slices and stages stands.
struct Walk {
  int pair, slice, k;  // slice: within the pair; k: first of the stage
  __device__ int end(const Problem& p) const { return min(p.pair[pair].depth, (slice + 1) * p.pair[pair].slices.length); }
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

// Tile: how elements are made (FmaTile or TensorTile over the same two directions).
template <class Tile, bool trans_a, bool trans_b>
__global__ void __launch_bounds__(Tile::kThreads) matmul_kernel(Problem p) {
  constexpr bool a_along_k = !trans_a, b_along_k = trans_b;
  TESS_SHARED(a_stage, float[2][kRoom]);
  TESS_SHARED(b_stage, float[2][kRoom]);
  const int row0 = static_cast<int>(blockIdx.x) * kSide, col0 = static_cast<int>(blockIdx.y) * kSide;
  Walk at{0, 0, 0};  // of what is multiplied
  at.skip_empty(p);
  if (p.cut) {
    at.slice = static_cast<int>(blockIdx.z);
    while (at.slice >= p.pair[at.pair].slices.count) at.slice -= p.pair[at.pair++].slices.count;
    at.k = at.slice * p.pair[at.pair].slices.length;
  }
  Walk ahead = at;  // of what is brought
  int left = 0;     // stages to bring
  if (p.cut) {
    left = (at.end(p) - at.k + kStep - 1) / kStep;
  } else {
    for (int i = 0; i < p.pairs; ++i) left += (p.pair[i].depth + kStep - 1) / kStep;  // slices are whole stages but for a pair's last
  }
  auto bring_next = [&](int room) {
    const Problem::Pair& pair = p.pair[ahead.pair];
    bring<a_along_k, Tile::kThreads>(pair.a, row0, p.rows, ahead.k, ahead.end(p), a_stage[room]);
    bring<b_along_k, Tile::kThreads>(pair.b, col0, p.cols, ahead.k, ahead.end(p), b_stage[room]);
    cp_async_commit();
    ahead.next(p);
  };
  float total[Tile::kElements];
#pragma unroll
  for (float& v : total) v = 0;
  Tile tile;
  if (left > 0) bring_next(0);
  for (int room = 0; left > 0; room ^= 1, --left) {
    if (left > 1) {
      bring_next(room ^ 1);
      cp_async_wait<1>();
    } else {
      cp_async_wait<0>();
    }
    __syncthreads();
    tile.multiply(a_stage[room], b_stage[room]);
    if (at.last_of_slice(p))
      tile.each([&](int, int, float& v, int i) {
        total[i] += v;
        v = 0;
      });
    at.next(p);
    __syncthreads();  // the room may be filled again
  }
  float* out = p.out + (p.cut ? static_cast<int64_t>(blockIdx.z) * p.rows * p.cols : 0);
  tile.each([&](int r, int c, float&, int i) {
    r += row0;
    c += col0;
    if (r >= p.rows || c >= p.cols) return;
    const float more = p.addend != nullptr ? p.addend[r * p.ld_addend + c] : 0.0f;
    out[r * p.ld_out + c] = p.addend != nullptr ? total[i] + more : total[i];
  });
}

// out[r, c] = Σ_s part[s][r][c] in order (+ addend). 4·(slices + 1)·M·N bytes from L2: bandwidth-bound · a thread an element, no barrier
__global__ void __launch_bounds__(256) matmul_slices_kernel(const float* part, Problem p) {
  const int64_t size = static_cast<int64_t>(p.rows) * p.cols, item = static_cast<int64_t>(blockIdx.x) * 256 + threadIdx.x;
  if (item >= size) return;
  const int64_t r = item / p.cols, c = item % p.cols;
  float total = 0;
  for (int s = 0; s < p.slices; ++s) total += part[s * size + item];
  if (p.addend != nullptr) total += p.addend[r * p.ld_addend + c];
  p.out[r * p.ld_out + c] = total;
}

Problem problem(const Call& call, const Matmul& op, int first, int count) {
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
    p.pair[i] = {{static_cast<const float*>(a.data), a.ld, aligned16(a)}, {static_cast<const float*>(b.data), b.ld, aligned16(b)}, static_cast<int>(depth), slices_of(depth)};
    p.slices += p.pair[i].slices.count;
  }
  if (first > 0) {  // what the pairs before have left in out
    p.addend = p.out;
    p.ld_addend = p.ld_out;
  } else if (op.addend) {
    const View& more = call.in[2 * op.pairs];
    p.addend = static_cast<const float*>(more.data);
    p.ld_addend = more.rows == 1 ? 0 : more.ld;
  }
  p.cut = p.slices > 1 && blocks_for(p.rows, kSide) * blocks_for(p.cols, kSide) < kFullGrid;
  return p;
}

template <class F>
void each_launch(const Call& call, F&& f) {
  const auto& op = *static_cast<const Matmul*>(call.op);
  for (int first = 0; first < op.pairs; first += kMaxPairs) f(problem(call, op, first, op.pairs - first < kMaxPairs ? op.pairs - first : kMaxPairs));
}

int64_t scratch_bytes(const Call& call) {
  int64_t most = 0;
  each_launch(call, [&](const Problem& p) {
    const int64_t bytes = p.cut ? int64_t{4} * p.slices * p.rows * p.cols : 0;
    most = bytes > most ? bytes : most;
  });
  return most;
}

template <template <bool, bool> class Tile, bool trans_a, bool trans_b>
void launch_tiles(const Launch& l, const Problem& p) {
  using T = Tile<!trans_a, trans_b>;
  Launch with = l;
  with.block = dim3(T::kThreads);
  launch(with, "matmul", matmul_kernel<T, trans_a, trans_b>, p);
}

template <template <bool, bool> class Tile>
void run(const Call& call, int64_t, void* scratch) {
  const auto& op = *static_cast<const Matmul*>(call.op);
  const GpuContext& context = gpu_context(scratch);
  each_launch(call, [&](Problem p) {
    const Problem whole = p;
    if (p.cut) {
      p.out = static_cast<float*>(context.workspace);
      p.ld_out = p.cols;
      p.addend = nullptr;
    }
    const Launch l{dim3(grid_of(p.rows, kSide), grid_of(p.cols, kSide), p.cut ? static_cast<unsigned>(p.slices) : 1), dim3(), 0, context.stream};
    if (op.trans_a) op.trans_b ? launch_tiles<Tile, true, true>(l, p) : launch_tiles<Tile, true, false>(l, p);
    else op.trans_b ? launch_tiles<Tile, false, true>(l, p) : launch_tiles<Tile, false, false>(l, p);
    if (p.cut)
      launch({dim3(grid_of(static_cast<int64_t>(p.rows) * p.cols, 256)), dim3(256), 0, context.stream}, "matmul_slices", matmul_slices_kernel, static_cast<const float*>(p.out), whole);
  });
}

template <bool a, bool b>
using Tf32 = TensorTile<Tf32Math<false>, a, b>;
template <bool a, bool b>
using Tf32x3 = TensorTile<Tf32Math<true>, a, b>;
template <bool a, bool b>
using Bf16 = TensorTile<HalfMath<true>, a, b>;
template <bool a, bool b>
using Fp16 = TensorTile<HalfMath<false>, a, b>;

}  // namespace

Kernel matmul_kernel(Math math) {
  void (*const runs[kMaths])(const Call&, int64_t, void*) = {run<FmaTile>, run<Tf32x3>, run<Tf32>, run<Bf16>, run<Fp16>};
  return {one_if_any, runs[static_cast<int>(math)], scratch_bytes};
}

}  // namespace tessera::gpu
