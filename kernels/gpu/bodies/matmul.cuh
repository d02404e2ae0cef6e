// matmul as a step of a fused launch: rows, columns or tiles of a product, slices of a deep one and their sum.
#pragma once
#include "kernels/gpu/bodies/chain.cuh"
#include "kernels/gpu/bodies/matmul_deep.cuh"
#include "kernels/gpu/bodies/matmul_few.cuh"

namespace tessera::gpu {

struct ProductStep {
  Problem problem;
  int64_t part;  // offset of the sums of slices: bytes from the start of the workspace
  bool trans_a, trans_b;
};

// Columns first … end − 1 of rows of a product. noinline: inlined into one kernel these would spill its registers.
template <class Tile, bool trans_b>
__attribute__((noinline)) __device__ void make_rows(const Problem& p, Rows rows, int first, int end, float* shared) {
  for (int r = 0; r < rows.count; r += Tile::kRows)
    for (int c = first; c < end; c += Tile::kCols)
      make_tile<Tile, false, trans_b>(p, rows, r, c, end, kAllSlices, p.out, shared);
}
// All columns of rows of a product.
template <class Tiles, bool trans_b>
__device__ inline void make_product(const Problem& p, const Rows& rows, float* shared) {
  if constexpr (Tiles::kFma) {
    if (rows.count <= 8 && p.cols == 1) return make_column(p, trans_b, rows, shared);
    if (rows.count <= 4) return make_few<4, trans_b>(p, rows, shared);
    if (rows.count <= 8) return make_few<8, trans_b>(p, rows, shared);
  }
  make_rows<typename Tiles::template Low<true, trans_b>, trans_b>(p, rows, 0, p.cols, shared);
}

// A tile of the block's slice, or of all slices.
template <class Tile, bool trans_a, bool trans_b>
__attribute__((noinline)) __device__ void make_block(const ProductStep& x, const TilesPart& at, float* part) {
  const Problem& p = x.problem;
  const int tiles = static_cast<int>(at.tiling.blocks()), tile = at.block % tiles, slice = at.block / tiles;
  float* out = part != nullptr ? part + static_cast<int64_t>(slice) * p.rows * p.cols : p.out;
  make_tile<Tile, trans_a, trans_b>(p, rows_between(0, p.rows), at.tiling.row_of(tile), at.tiling.column_of(tile),
                                    p.cols, part != nullptr ? slice : kAllSlices, out, at.shared);
}
template <class Tiles, bool trans_a, bool trans_b>
__device__ inline void make_block_of(const ProductStep& x, const TilesPart& at, float* part) {
  with_tile<Tiles, trans_a, trans_b>(
      at.tiling.down, [&](auto tile) { make_block<typename decltype(tile)::Type, trans_a, trans_b>(x, at, part); });
}

// The sum of slices that were computed by separate blocks.
__attribute__((noinline)) __device__ inline void add_slices_by_rows(const Problem& p, const TilesPart& at,
                                                                    const char* part) {
  at.each_chunk([&](int r, int c, int) { add_slices(p, reinterpret_cast<const float*>(part), r, c); });
}

template <>
struct Fused<Matmul> {
  using Step = ProductStep;
  static Step pack(const Call& call, Packing& packing) {
    const auto& op = *static_cast<const Matmul*>(call.op);
    packing.fits = op.pairs <= kMaxPairs;
    return {problem(call, op, 0, op.pairs < kMaxPairs ? op.pairs : kMaxPairs), packing.workspace, op.trans_a,
            op.trans_b};
  }
  static TiledBlocks tiling(const FusedStep& s) {
    Packing packing{FusedChain::tiles, 0};
    const Step x = pack(s.call, packing);
    const Problem& p = x.problem;
    if (s.part == FusedStep::sum) return tiled({p.rows, p.cols, 8, 128}, 1);
    if (s.part == FusedStep::all && by_warps(x)) return tiled({p.rows, p.cols, kDeepSide, kDeepSide}, 1);
    const int64_t parts = s.part == FusedStep::slices ? p.slices : 1;
    // half of the grid: a launch usually has another product
    return tiled({p.rows, p.cols, tile_rows(p.units, parts, p.rows, p.cols, kFullGrid / 2), 32}, parts);
  }
  // Whether the warps of one block compute the slices (matmul_deep.cuh).
  __host__ __device__ static bool by_warps(const Step& x) {
    return x.trans_a && !x.trans_b && x.problem.units == Units::fma && is_deep(x.problem);
  }
  __device__ static void rows(const Step& x, const RowsPart& p) {
    if (p.part != FusedStep::sum)
      return with_tiles(x.problem.units, [&](auto tiles) {
        using Tiles = decltype(tiles);
        x.trans_b ? make_product<Tiles, true>(x.problem, p.rows, p.shared)
                  : make_product<Tiles, false>(x.problem, p.rows, p.shared);
      });
    const float* part = reinterpret_cast<const float*>(p.workspace + x.part);
    p.each_chunk(x.problem.cols, [&](int r, int c) { add_slices(x.problem, part, r, c); });
  }
  __device__ static void cols(const Step& x, const ColsPart& p) {
    const Problem& all = x.problem;
    const Rows rows = rows_between(0, all.rows);
    with_tiles(x.problem.units, [&](auto tiles) {
      using Tiles = decltype(tiles);
      x.trans_b ? make_rows<typename Tiles::template Tall<true, true>, true>(all, rows, p.first, p.end, p.shared)
                : make_rows<typename Tiles::template Tall<true, false>, false>(all, rows, p.first, p.end, p.shared);
    });
  }
  __device__ static void tiles(const Step& x, const TilesPart& p) {
    if (p.part == FusedStep::sum) return add_slices_by_rows(x.problem, p, p.workspace + x.part);
    float* part = p.part == FusedStep::slices ? reinterpret_cast<float*>(p.workspace + x.part) : nullptr;
    if (p.part == FusedStep::all && by_warps(x)) return make_deep(x.problem, p.shared);
    with_tiles(x.problem.units, [&](auto tiles) {
      using Tiles = decltype(tiles);
      if (x.trans_a)
        x.trans_b ? make_block_of<Tiles, true, true>(x, p, part) : make_block_of<Tiles, true, false>(x, p, part);
      else x.trans_b ? make_block_of<Tiles, false, true>(x, p, part) : make_block_of<Tiles, false, false>(x, p, part);
    });
  }
};

inline int64_t slices_bytes(const Call& call) {
  Packing packing{FusedChain::tiles, 0};
  return int64_t{4} * Fused<Matmul>::pack(call, packing).problem.slices * call.out[0].rows * call.out[0].cols;
}

}  // namespace tessera::gpu
