// matmul as a step of a fused launch: rows, columns or tiles of a product, slices of a deep one and their sum.
#pragma once
#include "kernels/gpu/bodies/chain.cuh"
#include "kernels/gpu/bodies/matmul_deep.cuh"

namespace tessera::gpu {

struct ProductStep {
  Problem problem;
  int64_t part;  // offset of the sums of slices: bytes from the start of the workspace
  bool trans_a, trans_b;
  Precision factors;
};

// f(the tiles that multiply these factors).
template <class F>
__device__ inline void with_tiles(Precision factors, F&& f) {
  switch (factors) {
    case Precision::fp32: return f(FmaTiles{});
    case Precision::tf32: return f(TensorTiles<Tf32Math<false>>{});
    case Precision::bf16: return f(TensorTiles<HalfMath<true>>{});
    case Precision::fp16: return f(TensorTiles<HalfMath<false>>{});
  }
}

// noinline: inlined into one kernel these would spill its registers.
template <class Tile, bool trans_a, bool trans_b>
__attribute__((noinline)) __device__ void make_rows(const Problem& p, const Rows& rows, int first, int end, int slice,
                                                    float* out, float* shared) {
  for (int r = 0; r < rows.count; r += Tile::kRows)
    for (int c = first; c < end; c += Tile::kCols)
      make_tile<Tile, trans_a, trans_b>(p, rows, r, c, end, slice, out, shared);
}
// Rows of a product in columns [first, end): low tiles if there are few rows.
template <class Tiles>
__device__ inline void make_product(const ProductStep& x, const Rows& rows, int first, int end, int slice, float* out,
                                    float* shared) {
  const Problem& p = x.problem;
  if (rows.count <= Tiles::kFewRows)
    x.trans_b
        ? make_rows<typename Tiles::template Few<true, true>, false, true>(p, rows, first, end, slice, out, shared)
        : make_rows<typename Tiles::template Few<true, false>, false, false>(p, rows, first, end, slice, out, shared);
  else
    x.trans_b
        ? make_rows<typename Tiles::template Low<true, true>, false, true>(p, rows, first, end, slice, out, shared)
        : make_rows<typename Tiles::template Low<true, false>, false, false>(p, rows, first, end, slice, out, shared);
}

template <class Tiles, bool trans_a, bool trans_b>
__attribute__((noinline)) __device__ void make_square(const ProductStep& x, int block, float* part, float* shared) {
  const Problem& p = x.problem;
  const int across = tiles_of(p.cols, 64), tiles = across * tiles_of(p.rows, 64), tile = block % tiles,
            slice = block / tiles;
  float* out = part != nullptr ? part + static_cast<int64_t>(slice) * p.rows * p.cols : p.out;
  make_tile<typename Tiles::template Square<!trans_a, trans_b>, trans_a, trans_b>(
      p, rows_between(0, p.rows), tile / across * 64, tile % across * 64, p.cols, part != nullptr ? slice : kAllSlices,
      out, shared);
}

// The sum of slices whose tiles had blocks of their own.
__attribute__((noinline)) __device__ inline void add_slices_by_rows(const Problem& p, int block, const char* part) {
  WarpRows{block, p.rows, p.cols, 1}.each_chunk(
      [&](int r, int c, int) { add_slices(p, reinterpret_cast<const float*>(part), r, c); });
}

template <>
struct Fused<Matmul> {
  using Step = ProductStep;
  static Step pack(const Call& call, Packing& packing) {
    const auto& op = *static_cast<const Matmul*>(call.op);
    packing.fits = op.pairs <= kMaxPairs;
    return {problem(call, op, 0, op.pairs < kMaxPairs ? op.pairs : kMaxPairs), packing.workspace, op.trans_a,
            op.trans_b, op.factors};
  }
  static int64_t slices(const Call& call) {
    const auto& op = *static_cast<const Matmul*>(call.op);
    return problem(call, op, 0, op.pairs < kMaxPairs ? op.pairs : kMaxPairs).slices;
  }
  static Tiling tiling(const FusedStep& s) {
    const View& out = s.call.out[0];
    if (s.part == FusedStep::sum) return tiles_by_rows(out, 1);
    return {blocks_for(out.rows, 64) * blocks_for(out.cols, 64) * (s.part == FusedStep::slices ? slices(s.call) : 1),
            0};
  }
  __device__ static void rows(const Step& x, const RowsPart& p) {
    if (p.part != FusedStep::sum)
      return with_tiles(x.factors, [&](auto tiles) {
        make_product<decltype(tiles)>(x, p.rows, 0, x.problem.cols, kAllSlices, x.problem.out, p.shared);
      });
    const float* part = reinterpret_cast<const float*>(p.workspace + x.part);
    p.each_chunk(x.problem.cols, [&](int r, int c) { add_slices(x.problem, part, r, c); });
  }
  __device__ static void cols(const Step& x, const ColsPart& p) {
    const Problem& all = x.problem;
    const Rows rows = rows_between(0, all.rows);
    with_tiles(x.factors, [&](auto tiles) {
      using Tiles = decltype(tiles);
      x.trans_b ? make_rows<typename Tiles::template Tall<true, true>, false, true>(all, rows, p.first, p.end,
                                                                                    kAllSlices, all.out, p.shared)
                : make_rows<typename Tiles::template Tall<true, false>, false, false>(all, rows, p.first, p.end,
                                                                                      kAllSlices, all.out, p.shared);
    });
  }
  __device__ static void tiles(const Step& x, const TilesPart& p) {
    if (p.part == FusedStep::sum) return add_slices_by_rows(x.problem, p.block, p.workspace + x.part);
    float* part = p.part == FusedStep::slices ? reinterpret_cast<float*>(p.workspace + x.part) : nullptr;
    if (p.part == FusedStep::all && x.trans_a && !x.trans_b && x.factors == Precision::fp32 && is_deep(x.problem))
      return make_deep(x.problem, p.shared);
    with_tiles(x.factors, [&](auto tiles) {
      using Tiles = decltype(tiles);
      if (x.trans_a)
        x.trans_b ? make_square<Tiles, true, true>(x, p.block, part, p.shared)
                  : make_square<Tiles, true, false>(x, p.block, part, p.shared);
      else
        x.trans_b ? make_square<Tiles, false, true>(x, p.block, part, p.shared)
                  : make_square<Tiles, false, false>(x, p.block, part, p.shared);
    });
  }
  __device__ static void packed(const Step& x, const PackedPart& at) {
    const Problem& p = x.problem;
    with_tiles(x.factors, [&](auto tiles) {
      using Tiles = decltype(tiles);
      if (at.part == FusedStep::slices) {
        float* out =
            reinterpret_cast<float*>(at.workspace + x.part) + static_cast<int64_t>(at.number) * p.rows * p.cols;
        make_product<Tiles>(x, at.rows, 0, p.cols, at.number, out, at.shared);
      } else {
        make_product<Tiles>(x, at.rows, at.number * at.width, min(p.cols, (at.number + 1) * at.width), kAllSlices,
                            p.out, at.shared);
      }
    });
  }
};

inline int64_t slices_bytes(const Call& call) {
  return int64_t{4} * Fused<Matmul>::slices(call) * call.out[0].rows * call.out[0].cols;
}

}  // namespace tessera::gpu
