// matmul: out [M, N] = Σ_i op(A_i)·op(B_i) (+ addend [M, N] or [1, N]). NN forward, NT for the input's gradient, TN for
// the weights' gradient.
//   2·M·N·K FLOP; 4·(M·K + K·N + M·N) bytes: compute-bound for M ≥ ~30 (fp32), latency-bound at the sizes of a step
//   A block computes a tile of 64 × 32, or in fp32 of 32 × 32 if those would be too few for a device (matmul_tile.cuh),
//   with three or four stages of shared memory (45 KiB at most): four warps multiply one while four copy the others.
//   k is cut into slices (split_k.h), by K alone; slices are added in order. If there are too few tiles to fill a
//   device, each slice gets its own blocks, which write its sums to the workspace, and a second kernel adds them in the
//   same order: splitting changes no bit, and a row has the same bits in any batch.
//   one block barrier per stage · deterministic, no atomics
#include "kernels/gpu/bodies/product.cuh"

namespace tessera::gpu {
namespace {

template <class Tile, bool trans_a, bool trans_b>
__global__ void __launch_bounds__(kThreads, 2) matmul_kernel(Problem p, float* part) {
  TESS_SHARED(shared, float[shared_floats<Tile>]);
  float* out = part != nullptr ? part + static_cast<int64_t>(blockIdx.z) * p.rows * p.cols : p.out;
  make_tile<Tile, trans_a, trans_b>(p, rows_between(0, p.rows), static_cast<int>(blockIdx.x) * Tile::kRows,
                                    static_cast<int>(blockIdx.y) * Tile::kCols, p.cols,
                                    part != nullptr ? static_cast<int>(blockIdx.z) : kAllSlices, out, shared);
}

// matmul_slices: the slices' sums added in order. 4·(slices + 1)·M·N bytes from L2: bandwidth-bound · four columns per
// thread, no barrier
__global__ void __launch_bounds__(kThreads) matmul_slices_kernel(const float* part, Problem p, int chunks) {
  const int64_t item = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (item < static_cast<int64_t>(p.rows) * chunks)
    add_slices(p, part, static_cast<int>(item / chunks), static_cast<int>(item % chunks) * kChunk);
}

// Whether each slice gets its own blocks.
bool is_cut(const Problem& p) { return worth_cutting(p.slices, p.rows, p.cols); }

template <class F>
void each_launch(const Call& call, F&& f) {
  const auto& op = *static_cast<const Matmul*>(call.op);
  for (int first = 0; first < op.pairs; first += kMaxPairs)
    f(problem(call, op, first, op.pairs - first < kMaxPairs ? op.pairs - first : kMaxPairs));
}

int64_t scratch_bytes(const Call& call) {
  int64_t most = 0;
  each_launch(call, [&](const Problem& p) {
    const int64_t bytes = is_cut(p) ? int64_t{4} * p.slices * p.rows * p.cols : 0;
    most = bytes > most ? bytes : most;
  });
  return most;
}

template <class Tiles, bool trans_a, bool trans_b>
void launch_product(const GpuContext& context, const Problem& p) {
  const bool cut = is_cut(p);
  const int64_t parts = cut ? p.slices : 1;
  float* part = cut ? static_cast<float*>(context.workspace) : nullptr;
  with_tile<Tiles, trans_a, trans_b>(tile_rows(p.units, parts, p.rows, p.cols, kFullGrid), [&](auto tile) {
    using T = typename decltype(tile)::Type;
    launch({dim3(grid_of(p.rows, T::kRows), grid_of(p.cols, T::kCols), static_cast<unsigned>(parts)), dim3(kThreads), 0,
            context.stream},
           "matmul", matmul_kernel<T, trans_a, trans_b>, p, part);
  });
  if (!cut) return;
  const int chunks = static_cast<int>(blocks_for(p.cols, kChunk));
  launch({dim3(grid_of(static_cast<int64_t>(p.rows) * chunks, kThreads)), dim3(kThreads), 0, context.stream},
         "matmul_slices", matmul_slices_kernel, static_cast<const float*>(part), p, chunks);
}

void run(const Call& call, int64_t, void* scratch) {
  const auto& op = *static_cast<const Matmul*>(call.op);
  const GpuContext& context = gpu_context(scratch);
  each_launch(call, [&](const Problem& p) {
    with_tiles(p.units, [&](auto tiles) {
      using Tiles = decltype(tiles);
      if (op.trans_a)
        op.trans_b ? launch_product<Tiles, true, true>(context, p) : launch_product<Tiles, true, false>(context, p);
      else
        op.trans_b ? launch_product<Tiles, false, true>(context, p) : launch_product<Tiles, false, false>(context, p);
    });
  });
}

}  // namespace

Kernel matmul_entry() { return {one_if_any, run, scratch_bytes}; }

}  // namespace tessera::gpu
