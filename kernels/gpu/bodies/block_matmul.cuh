// block_matmul: products with a weight that is nonzero in blocks only (ops.h).
//   2·M FLOP per element of the blocks, in every form; each block of the weight is read once for every 32 rows
//   A thread block computes a 32 × 32 tile of the result, a thread four rows of a column; it loops over the weight's
//   blocks that overlap the tile, with 32 of their depth at a time in shared memory (9 KiB)
//   Factors are rounded on their way into shared memory, and multiplied by the FMA units: two reads of shared memory,
//   one of them 16 bytes that a warp shares, for four multiplications.
//   two block barriers per stage · an element is one chain over its blocks in order and their depth: the same bits in
//   any batch, no atomics
#pragma once
#include "kernels/gpu/bodies/chain.cuh"

namespace tessera::gpu {

constexpr int kBlockSide = 32;
struct BlockRoom {  // [depth][row], [depth][column]
  float left[kBlockSide][kBlockSide + 4], right[kBlockSide][kBlockSide + 1];
};
static_assert(sizeof(BlockRoom) <= sizeof(float) * kSharedFloats);

struct BlockStep {
  BlockTable blocks;
  Mat<const float> left, right, addend;
  Mat<float> out;
  Precision factors;
  BlockMatmul::Form form;
};
inline BlockStep block_step(const Call& call) {
  const auto& op = *static_cast<const BlockMatmul*>(call.op);
  return {*op.blocks,
          Mat<const float>(call.in[0]),
          Mat<const float>(call.in[1]),
          Mat<const float>(op.addend ? call.in[2] : View{}),
          Mat<float>(call.out[0]),
          op.factors,
          op.form};
}

// One block in the given form: the rows and columns of the result to which it contributes, and its depth.
struct Meeting {
  int row, rows, col, cols, depth;
  __device__ bool holds(int i, int j) const { return i >= row && i < row + rows && j >= col && j < col + cols; }
  __device__ bool meets(int i, int j) const {
    return i + kBlockSide > row && i < row + rows && j + kBlockSide > col && j < col + cols;
  }
};
template <BlockMatmul::Form form>
__device__ inline Meeting meeting(const BlockStep& x, const BlockTable::Item& b) {
  if (form == BlockMatmul::forward) return {0, x.out.rows, b.col, b.cols, b.rows};
  if (form == BlockMatmul::input) return {0, x.out.rows, b.from, b.rows, b.cols};
  return {b.row, b.rows, b.col, b.cols, x.left.rows};
}
template <BlockMatmul::Form form>
__device__ inline float left_of(const BlockStep& x, const BlockTable::Item& b, int i, int q) {
  if (form == BlockMatmul::forward) return x.left.row(i)[b.from + q];
  if (form == BlockMatmul::input) return x.left.row(i)[b.col + q];
  return x.left.row(q)[b.from + i - b.row];
}
template <BlockMatmul::Form form>
__device__ inline float right_of(const BlockStep& x, const BlockTable::Item& b, int q, int j) {
  if (form == BlockMatmul::forward) return x.right.row(b.row + q)[j];
  if (form == BlockMatmul::input) return x.right.row(b.row + j - b.from)[b.col + q];
  return x.right.row(q)[j];
}

// The tile from (row0, col0) on.
template <BlockMatmul::Form form>
__device__ inline void block_tile(const BlockStep& x, int row0, int col0, float* shared) {
  assume_shared(shared);
  BlockRoom& room = *reinterpret_cast<BlockRoom*>(shared);
  const int lane = lane_id(), line = static_cast<int>(threadIdx.x) / 32, i0 = row0 + kChunk * line, j = col0 + lane;
  float sum[kChunk] = {};
  for (int k = 0; k < x.blocks.count; ++k) {
    const BlockTable::Item b = x.blocks.items[k];
    const Meeting m = meeting<form>(x, b);
    if (!m.meets(row0, col0)) continue;
    bool holds[kChunk];
#pragma unroll
    for (int n = 0; n < kChunk; ++n) holds[n] = m.holds(i0 + n, j);
    for (int first = 0; first < m.depth; first += kBlockSide) {
      const int count = min(kBlockSide, m.depth - first);
      // of the weight's gradient both factors lie along rows, of the others the left one along depth
      float l[kChunk], r[kChunk];
#pragma unroll
      for (int n = 0; n < kChunk; ++n) {
        const int at = line + n * kBlockWarps, i = row0 + (form == BlockMatmul::weight ? lane : at),
                  q = form == BlockMatmul::weight ? at : lane;
        l[n] = q < count && m.holds(i, m.col) ? left_of<form>(x, b, i, first + q) : 0.0f;
        r[n] = at < count && m.holds(m.row, j) ? right_of<form>(x, b, first + at, j) : 0.0f;
      }
#pragma unroll
      for (int n = 0; n < kChunk; ++n) {
        const int at = line + n * kBlockWarps;
        (form == BlockMatmul::weight ? room.left[at][lane] : room.left[lane][at]) = rounded(l[n], x.factors);
        room.right[at][lane] = rounded(r[n], x.factors);
      }
      __syncthreads();
      for (int q = 0; q < count; ++q) {
        float a[kChunk];
        load_four(&room.left[q][kChunk * line], a);
        const float w = room.right[q][lane];
#pragma unroll
        for (int n = 0; n < kChunk; ++n)
          if (holds[n]) sum[n] += a[n] * w;
      }
      __syncthreads();  // the stage may be filled again
    }
  }
#pragma unroll
  for (int n = 0; n < kChunk; ++n) {
    const int i = i0 + n;
    if (i < x.out.rows && j < x.out.cols)
      x.out.row(i)[j] = x.addend ? sum[n] + x.addend.row(x.addend.rows == 1 ? 0 : i)[j] : sum[n];
  }
}
// noinline: inlined into one kernel this would spill its registers.
template <BlockMatmul::Form form>
__attribute__((noinline)) __device__ void block_tile(const BlockStep& x, const TilesPart& p) {
  block_tile<form>(x, p.tiling.row_of(p.block), p.tiling.column_of(p.block), p.shared);
}

template <>
struct Fused<BlockMatmul> {
  using Step = BlockStep;
  static Step pack(const Call& call, Packing&) { return block_step(call); }
  static TiledBlocks tiling(const FusedStep& s) {
    const View& out = s.call.out[0];
    return tiled({static_cast<int>(out.rows), static_cast<int>(out.cols), kBlockSide, kBlockSide}, 1);
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
