// An op as a step of a fused launch (kernels/fused.h). Fused<Op> is next to the device functions of the op's own launch
// and calls them on a block's part, so a fused step is bit-identical to its unfused ops.
//   using Step                                   the device's parameters: plain data
//   static Step pack(const Call&, Packing&)      on the host
//   __device__ static void rows(const Step&, const RowsPart&)
//   __device__ static void cols(const Step&, const ColsPart&)
//   __device__ static void elements(const Step&, const StepState&, float* shared, Walk&& walk)
//       where walk(rows, columns, f) calls f(row, first column, end of columns)
//   __device__ static void tiles(const Step&, const TilesPart&), static TiledBlocks tiling(const FusedStep&)
// An op has the functions that TESSERA_OPS lists for it; fused.cu and gpu/fused/chains.cuh are generated from that list
// and do not compile without them.
#pragma once
#include "kernels/fused.h"
#include "kernels/gpu/bodies/columns.cuh"
#include "kernels/gpu/bodies/product.cuh"
#include "kernels/gpu/dialect/map.cuh"

namespace tessera::gpu {

template <class Op>
struct Fused;

struct Packing {
  FusedChain::Cut cut;
  int64_t workspace;  // FusedStep::workspace
  bool fits = true;   // false: a launch cannot hold the op
};

// The most shared memory that a tile takes; column sums and rates need less, sequences use all of it.
constexpr int kSharedFloats = kStagesFloats;
static_assert(kStages<TensorTiles<HalfMath<true>>::Block<64, true, true>> == 3 &&
              kStages<TensorTiles<HalfMath<true>>::Tall<true, true>> == 2 && kSharedFloats >= kFusedFloats);

// ---- loops over a block's part --------------------------------------------------------------------------------------
constexpr int kBlockWarps = kThreads / 32;

template <class F>
__device__ inline void each_item(int count, F&& f) {
  for (int i = static_cast<int>(threadIdx.x); i < count; i += kThreads) f(i);
}
template <class F>
__device__ inline void each_warp(int count, F&& f) {
  for (int i = static_cast<int>(threadIdx.x) / 32; i < count; i += kBlockWarps) f(i);
}

struct RowsPart {
  Rows rows;
  FusedStep::Part part;
  const StepState& state;
  const char* workspace;
  float* shared;

  template <class F>
  __device__ void each_chunk(int cols, F&& f) const {  // f(row, first of four columns)
    const int chunks = (cols + kChunk - 1) / kChunk;
    each_item(rows.count * chunks, [&](int i) { f(rows.at(i / chunks), i % chunks * kChunk); });
  }
  template <class F>
  __device__ void each_element(int cols, F&& f) const {  // f(row, column)
    each_item(rows.count * cols, [&](int i) { f(rows.at(i / cols), i % cols); });
  }
  template <class F>
  __device__ void each_row(F&& f) const {
    each_item(rows.count, [&](int i) { f(rows.at(i)); });
  }
  template <class F>
  __device__ void each_row_by_warp(F&& f) const {
    each_warp(rows.count, [&](int i) { f(rows.at(i)); });
  }
};

struct ColsPart {
  int first, end;
  const StepState& state;
  StepState* noted;
  float* shared;

  __device__ ColumnScratch& scratch() const { return *reinterpret_cast<ColumnScratch*>(shared); }
  template <class F>
  __device__ void each_chunk(int rows, F&& f) const {  // f(row, first column, end of columns)
    constexpr int kParts = kAcross / kChunk;
    each_item(rows * kParts, [&](int i) {
      if (const int c = first + i % kParts * kChunk; c < end) f(i / kParts, c, end);
    });
  }
};

__host__ __device__ inline int tiles_of(int size, int tile) { return (size + tile - 1) / tile; }

// A value [rows, cols] that a chain of tiles computes, cut into tiles of down × across, row by row of tiles.
struct Tiling {
  int rows, cols, down, across;
  __host__ __device__ int tiles_across() const { return tiles_of(cols, across); }
  __host__ __device__ int64_t blocks() const { return static_cast<int64_t>(tiles_of(rows, down)) * tiles_across(); }
  __device__ int row_of(int block) const { return block / tiles_across() * down; }
  __device__ int column_of(int block) const { return block % tiles_across() * across; }
};
struct TiledBlocks {
  Tiling tiling;
  int64_t blocks;  // as many as tiles, or as tiles of each part
};
inline TiledBlocks tiled(const Tiling& tiling, int64_t parts) { return {tiling, tiling.blocks() * parts}; }
struct TilesPart {
  int block;
  const Tiling& tiling;
  FusedStep::Part part;
  char* workspace;
  float* shared;

  // f(row, first of four columns, end of columns) for the elements of the block's tile.
  template <class F>
  __device__ void each_chunk(F&& f) const {
    const int across = tiling.across / kChunk, row0 = tiling.row_of(block), col0 = tiling.column_of(block),
              end = min(tiling.cols, col0 + tiling.across);
    each_item(tiling.down * across, [&](int i) {
      if (const int r = row0 + i / across, c = col0 + i % across * kChunk; r < tiling.rows && c < end) f(r, c, end);
    });
  }
};
// ---- shared by many ops ---------------------------------------------------------------------------------------------
// Elementwise ops: Self::map(step, walk), where walk(out, f) calls f(row, first column, end of columns).
template <class Self>
struct FusedMap {
  template <class Step>
  __device__ static void rows(const Step& x, const RowsPart& p) {
    Self::map(x,
              [&](const Target& out, auto&& f) { p.each_chunk(out.cols, [&](int r, int c) { f(r, c, out.cols); }); });
  }
  template <class Step>
  __device__ static void cols(const Step& x, const ColsPart& p) {
    Self::map(x, [&](const Target& out, auto&& f) { p.each_chunk(out.rows, f); });
  }
  template <class Step, class Walk>
  __device__ static void elements(const Step& x, const StepState&, float*, Walk&& walk) {
    Self::map(x, [&](const Target& out, auto&& f) { walk(out.rows, out.cols, f); });
  }
};
// Updates: their columns are processed like their elements.
template <class Self>
struct FusedUpdate {
  template <class Step>
  __device__ static void cols(const Step& x, const ColsPart& p) {
    Self::elements(x, p.state, p.shared, [&](int rows, int, auto&& f) { p.each_chunk(rows, f); });
  }
};

// f of up to three operands at four columns of a row.
template <int n, class F>
__device__ inline void map_chunk(const Operand (&x)[3], const Target& out, int r, int c, int end, F&& f) {
  float v[3][kChunk], y[kChunk];
  const int width = min(kChunk, end - c);
#pragma unroll
  for (int i = 0; i < n; ++i) load_chunk(x[i], r, c, width, v[i]);
#pragma unroll
  for (int k = 0; k < kChunk; ++k) {
    if constexpr (n == 1) y[k] = f(v[0][k]);
    if constexpr (n == 2) y[k] = f(v[0][k], v[1][k]);
    if constexpr (n == 3) y[k] = f(v[0][k], v[1][k], v[2][k]);
  }
  store_chunk(out, r, c, width, y);
}

}  // namespace tessera::gpu
