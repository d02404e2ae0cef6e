// block_matmul: products with a weight that is nonzero in blocks only (ops.h).
//   2·M FLOP per element of the blocks, in every form; each block of the weight is read once for every 32 rows
//   A thread block computes a tile of 32 rows and at most 32 columns by a tile of the FMA units (matmul_tile.cuh): half
//   of its warps copy stages of 32 of the depth, asynchronously, the others multiply. It does so in passes, one for
//   each block of the weight that meets the tile. A pass multiplies the whole tile, without a condition, and its sums
//   go to those elements that its block holds: what the others hold, not finite perhaps, is dropped. Passes that hold
//   all of a tile are one.
//   Of the weight's gradient an element lies in one block, so a pass serves all blocks whose rows lie at the same place
//   of the depth: all of a staircase.
//   Factors are rounded in shared memory by the threads that copied them.
//   one block barrier per stage · an element is the sum of its passes in the order of the blocks: the same bits in any
//   batch, no atomics
#pragma once
#include "kernels/gpu/bodies/chain.cuh"

namespace tessera::gpu {

struct BlockStep {
  BlockTable blocks;
  Panel left, right;
  Mat<const float> addend;
  Mat<float> out;
  int rows, depth;  // of the left factor
  Precision factors;
  BlockMatmul::Form form;
};
inline BlockStep block_step(const Call& call) {
  const auto& op = *static_cast<const BlockMatmul*>(call.op);
  const View &left = call.in[0], &right = call.in[1];
  return {*op.blocks,
          {static_cast<const float*>(left.data), left.ld, aligned16(left)},
          {static_cast<const float*>(right.data), right.ld, aligned16(right)},
          Mat<const float>(op.addend ? call.in[2] : View{}),
          Mat<float>(call.out[0]),
          static_cast<int>(left.rows),
          static_cast<int>(left.cols),
          op.factors,
          op.form};
}

constexpr int kBlockSide = 32;
template <BlockMatmul::Form form>
using BlockTile = FmaTile<kBlockSide, kBlockSide, form != BlockMatmul::weight, form == BlockMatmul::input>;
template <BlockMatmul::Form form>
constexpr int kBlockFloats = shared_floats<BlockTile<form>>;

struct TileOfBlocks {
  int row, col, col_end;
};

// What a pass multiplies: rows `a` and columns `b` of the tile from (row, TileOfBlocks::col) on.
struct BlockPass {
  Panel a, b;
  AdjacentRows a_side, b_side;
  int row, first_col;  // columns before first_col are not read
  int depth;
};

// The columns of the result that a pass holds, and whether they are all of the tile.
struct BlockColumns {
  int begin, end, depth;
  bool whole;
};

// The passes of a tile. All lanes of a warp call its functions: lane l has item `first` + l of the table.
template <BlockMatmul::Form form>
struct BlockPasses {
  using Item = BlockTable::Item;
  static constexpr bool kRounds = true;
  const BlockStep& x;
  Precision factors;
  TileOfBlocks tile;
  int first = -32, lead = 0;
  unsigned left = 0, own = 0;  // lanes whose blocks are still to come, and those of this pass; `lead` is its first one
  Item item{};

  __device__ static bool overlap(int a, int n, int b, int m) { return a < b + m && b < a + n; }
  __device__ bool meets() const {
    const int cols = tile.col_end - tile.col;
    if (form == BlockMatmul::forward) return overlap(item.col, item.cols, tile.col, cols);
    if (form == BlockMatmul::input) return overlap(item.from, item.rows, tile.col, cols);
    return overlap(item.row, item.rows, tile.row, kBlockSide) && overlap(item.col, item.cols, tile.col, cols);
  }
  __device__ int of(int value, int lane) const { return __shfl_sync(kWholeWarp, value, lane); }
  __device__ Item of_lane(int l) const {
    return {of(item.row, l), of(item.rows, l), of(item.col, l), of(item.cols, l), of(item.from, l)};
  }
  __device__ bool next() {
    while (left == 0) {
      first += 32;
      if (first >= x.blocks.count) return false;
      const bool any = first + lane_id() < x.blocks.count;
      if (any) item = x.blocks.items[first + lane_id()];
      left = __ballot_sync(kWholeWarp, any && meets());
    }
    lead = __ffs(static_cast<int>(left)) - 1;
    own = left & (0u - left);
    if (form == BlockMatmul::weight) {
      const int place = item.from - item.row;
      own = left & __ballot_sync(kWholeWarp, place == of(place, lead));
    }
    left ^= own;
    return true;
  }
  __device__ BlockColumns columns() const {
    constexpr bool forward = form == BlockMatmul::forward;
    const int begin = of(forward ? item.col : item.from, lead), rows = of(item.rows, lead), cols = of(item.cols, lead),
              end = begin + (forward ? cols : rows);
    return {begin, end, forward ? rows : cols, begin <= tile.col && end >= tile.col_end};
  }
  __device__ BlockPass pass() const {
    const Item b = of_lane(lead);
    if (form == BlockMatmul::forward)
      return {{x.left.data + b.from, x.left.ld, x.left.wide && b.from % 4 == 0},
              {x.right.data + b.row * x.right.ld, x.right.ld, x.right.wide},
              rows_between(0, x.out.rows),
              rows_between(0, tile.col_end),
              tile.row,
              tile.col,
              b.rows};
    if (form == BlockMatmul::input)
      return {{x.left.data + b.col, x.left.ld, x.left.wide && b.col % 4 == 0},
              {x.right.data + b.col, x.right.ld, x.right.wide && b.col % 4 == 0},
              rows_between(0, x.out.rows),
              {b.row - b.from, min(tile.col_end, b.from + b.rows)},
              tile.row,
              b.from,
              b.cols};
    const int place = b.from - b.row;
    return {x.left,
            x.right,
            {place, min(x.out.rows, x.depth - place)},
            rows_between(0, tile.col_end),
            max(tile.row, -place),
            tile.col,
            x.rows};
  }
  template <class A, class B>
  __device__ int begin(A& of_a, B& of_b) const {
    const BlockPass p = pass();
    of_a.begin(p.a, p.a_side, p.row, 0);
    of_b.begin(p.b, p.b_side, tile.col, 0);
    if constexpr (form == BlockMatmul::input)
#pragma unroll
      for (int own = 0; own < B::kOwn; ++own)
        if (tile.col + B::line(own) < p.first_col) of_b.count[own] = 0, of_b.from[own] = p.b.data;
    return p.depth;
  }
};

// f(own row, own column, sum) for the elements that each pass holds, in order; of a weight's gradient f(row, column,
// sum).
template <BlockMatmul::Form form, class F>
__device__ inline void multiply_passes(BlockPasses<form> passes, float* shared, F&& f) {
  using Tile = BlockTile<form>;
  Tile tile;
  Reader<Tile> stage(shared);
  const int col0 = passes.tile.col, col_end = passes.tile.col_end;
  const auto multiply = [&](int depth) {
#pragma unroll 1
    do {
      meet();
      tile.multiply(stage.a, stage.b);
      stage.next();
      depth -= kStep;
    } while (depth > 0);
  };
  if constexpr (form == BlockMatmul::weight) {
    while (passes.next()) {
      multiply(passes.x.rows);
      const int row0 = passes.pass().row, row_end = passes.tile.row + kBlockSide;
      unsigned held = 0;  // a bit for each own element
      for (unsigned lanes = passes.own; lanes != 0; lanes &= lanes - 1) {
        const BlockTable::Item b = passes.of_lane(__ffs(static_cast<int>(lanes)) - 1);
#pragma unroll
        for (int i = 0; i < Tile::kOwnRows; ++i)
#pragma unroll
          for (int j = 0; j < Tile::kOwnCols; ++j) {
            const int r = row0 + Tile::row(i) - b.row, c = col0 + Tile::col(j);
            if (r >= 0 && r < min(b.rows, row_end - b.row) && c >= b.col && c < min(b.col + b.cols, col_end))
              held |= 1u << (i * Tile::kOwnCols + j);
          }
      }
      tile.take([&](int i, int j, float v) {
        if (held >> (i * Tile::kOwnCols + j) & 1) f(row0 + Tile::row(i), col0 + Tile::col(j), v);
      });
    }
  } else {
    bool more = passes.next();
    for (BlockColumns held = more ? passes.columns() : BlockColumns{}; more;) {
      multiply(held.depth);
      more = passes.next();
      const BlockColumns after = more ? passes.columns() : BlockColumns{};
      if (!(held.whole && after.whole))
        tile.take([&](int i, int j, float v) {
          if (const int c = col0 + Tile::col(j); c >= held.begin && c < held.end) f(i, j, v);
        });
      held = after;
    }
  }
}

// The tile from (row, col) on. Every thread of the block calls it; `shared` holds kBlockFloats<form>.
template <BlockMatmul::Form form>
__device__ inline void block_tile(const BlockStep& x, const TileOfBlocks& at, float* shared) {
  using Tile = BlockTile<form>;
  assume_shared(shared);
  const bool multiplies = threadIdx.x < kMultiplying;
  BlockPasses<form> passes{x, x.factors, at};
  const auto copy = [&] {
    const bool any = passes.next();
    Loads<Tile, form == BlockMatmul::weight, form == BlockMatmul::input, BlockPasses<form>>{passes, shared, any}.run();
  };
  if constexpr (form == BlockMatmul::weight) {  // the barrier of the first stage comes before any sum is written
    const int c = at.col + lane_id();
    for (int i = static_cast<int>(threadIdx.x) / 32; i < kBlockSide; i += kBlockWarps)
      if (at.row + i < x.out.rows && c < at.col_end) x.out.row(at.row + i)[c] = 0;
    if (multiplies) multiply_passes<form>(passes, shared, [&](int r, int c, float v) { x.out.row(r)[c] = v; });
    else copy();
    __syncthreads();  // shared memory may be reused
  } else {
    float total[Tile::kOwnRows][Tile::kOwnCols] = {};
    if (multiplies) multiply_passes<form>(passes, shared, [&](int i, int j, float v) { total[i][j] += v; });
    else copy();
    __syncthreads();  // shared memory may be reused
    if (!multiplies) return;
#pragma unroll
    for (int i = 0; i < Tile::kOwnRows; ++i) {
      const int r = at.row + Tile::row(i);
      if (r >= x.out.rows) break;
#pragma unroll
      for (int j = 0; j < Tile::kOwnCols; ++j) {
        const int c = at.col + Tile::col(j);
        if (c < at.col_end)
          x.out.row(r)[c] = x.addend ? total[i][j] + x.addend.row(x.addend.rows == 1 ? 0 : r)[c] : total[i][j];
      }
    }
  }
}
// noinline: inlined into one kernel this would spill its registers.
template <BlockMatmul::Form form>
__attribute__((noinline)) __device__ void block_tile(const BlockStep& x, const TilesPart& p) {
  const int col = p.tiling.column_of(p.block);
  block_tile<form>(x, {p.tiling.row_of(p.block), col, min(x.out.cols, col + p.tiling.across)}, p.shared);
}

template <>
struct Fused<BlockMatmul> {
  using Step = BlockStep;
  static Step pack(const Call& call, Packing&) { return block_step(call); }
  static TiledBlocks tiling(const FusedStep& s) {
    const View& out = s.call.out[0];
    const bool gradient = static_cast<const BlockMatmul*>(s.call.op)->form == BlockMatmul::weight;
    return tiled({static_cast<int>(out.rows), static_cast<int>(out.cols), kBlockSide,
                  block_tile_cols(gradient, out.rows, out.cols)},
                 1);
  }
  __device__ static void tiles(const Step& x, const TilesPart& p) {
    switch (x.form) {
      case BlockMatmul::forward: return block_tile<BlockMatmul::forward>(x, p);
      case BlockMatmul::input: return block_tile<BlockMatmul::input>(x, p);
      case BlockMatmul::weight: return block_tile<BlockMatmul::weight>(x, p);
    }
  }
};

}  // namespace tessera::gpu
