// The parameters of a fused launch, and how a block runs one step of a chain. The ops, and how each can be partitioned,
// come from TESSERA_OPS; the work of a block is Fused<Op> (gpu/bodies/chain.cuh), next to the op's other device code.
#pragma once
#include "kernels/gpu/bodies/batch_norm.cuh"
#include "kernels/gpu/bodies/block_matmul.cuh"
#include "kernels/gpu/bodies/copy.cuh"
#include "kernels/gpu/bodies/elementwise.cuh"
#include "kernels/gpu/bodies/matmul.cuh"
#include "kernels/gpu/bodies/optimizer.cuh"
#include "kernels/gpu/bodies/recurrent_wave.cuh"
#include "kernels/gpu/bodies/rows.cuh"
#include "kernels/gpu/bodies/sampling.cuh"
#include "kernels/gpu/bodies/span.cuh"
#include "kernels/gpu/bodies/sparse.cuh"
#include "kernels/gpu/bodies/step.cuh"

namespace tessera::gpu {

// ---- the table ----------------------------------------------------------------------------------
constexpr int kMaxChains = 32, kMaxSteps = 96, kPoolBytes = 28 * 1024;
struct FusedTable {
  struct Chain {
    FusedChain::Cut cut;
    int end;  // blocks of this chain and all previous ones
    int units, per_block, first_step, steps;
    Tiling tiling;  // tiles
  } chain[kMaxChains];
  struct Step {
    OpKind kind;
    FusedStep::Part part;
    int offset;  // in the pool
    int run, apart, repeats;
    int span;  // the number of steps that it does, itself and those after it
  } step[kMaxSteps];
  int chains, steps, used;
  bool first, last;  // of a step whose launches count it; by the first block of the chain `counting`
  int counting;
  StepState* state;
  char* workspace;
  alignas(16) unsigned char pool[kPoolBytes];
};
static_assert(sizeof(FusedTable) < 32 * 1024 - 64, "what a kernel's parameters may take");

// ---- a step of a chain ----------------------------------------------------------------------------------------------
template <class Op>
__device__ inline const typename Fused<Op>::Step& told(const unsigned char* step) {
  return *reinterpret_cast<const typename Fused<Op>::Step*>(step);
}
// Called by the kernel itself: do_layers, and what spills its registers if another function calls it.
template <class Op>
constexpr bool kOwnCall = false;
template <>
constexpr bool kOwnCall<Recurrent> = true;
template <>
constexpr bool kOwnCall<RecurrentGrad> = true;
template <>
constexpr bool kOwnCall<SparseWgrad> = true;

// Never called for an op without this partition: the host does not put it into such a chain (fused.cu).
template <class Op, int parts>
__device__ inline void rows_of_op(const unsigned char* step, const RowsPart& part) {
  if constexpr ((parts & Parts::rows) != 0 && !kOwnCall<Op>) Fused<Op>::rows(told<Op>(step), part);
}
template <class Op, int parts>
__device__ inline void cols_of_op(const unsigned char* step, const ColsPart& part) {
  if constexpr ((parts & Parts::cols) != 0) Fused<Op>::cols(told<Op>(step), part);
}
template <class Op, int parts, class Walk>
__device__ inline void elements_of_op(const unsigned char* step, const StepState& state, float* shared, Walk&& walk) {
  if constexpr ((parts & Parts::elements) != 0) Fused<Op>::elements(told<Op>(step), state, shared, walk);
}
template <class Op, int parts, class Walk>
__device__ inline void tiles_of_op(const unsigned char* step, const TilesPart& part, const StepState& state,
                                   Walk&& walk) {
  if constexpr (kOwnCall<Op>) return;
  else if constexpr ((parts & Parts::tiles) != 0) Fused<Op>::tiles(told<Op>(step), part);
  else elements_of_op<Op, parts>(step, state, part.shared, walk);
}

// noinline, here and below: inlined into one kernel these would spill its registers. Recurrent layers are separate from
// other rows, because their variants need many calls.
__attribute__((noinline)) __device__ void do_layers(OpKind kind, const unsigned char* step, int span,
                                                    const RowsPart& part) {
  if (kind == OpKind::recurrent) Fused<Recurrent>::layers(&told<Recurrent>(step), span, part);
  else Fused<RecurrentGrad>::layers(&told<RecurrentGrad>(step), span, part);
}
__attribute__((noinline)) __device__ void do_rows(OpKind kind, const unsigned char* step, RowsPart part) {
  assume_shared(part.shared);
  switch (kind) {
#define TESSERA_STEP(type, field, parts) \
  case OpKind::field: return rows_of_op<type, parts>(step, part);
    TESSERA_OPS(TESSERA_STEP)
#undef TESSERA_STEP
  }
}

// Recurrent layers wait for their steps.
__host__ __device__ inline bool is_layer(OpKind kind) {
  return kind == OpKind::recurrent || kind == OpKind::recurrent_grad;
}

// A step of a chain that partitions rows.
__device__ inline void do_rows_or_layers(OpKind kind, const unsigned char* step, int span, const RowsPart& part) {
  if (is_layer(kind)) do_layers(kind, step, span, part);
  else do_rows(kind, step, part);
}

__attribute__((noinline)) __device__ void do_cols(OpKind kind, const unsigned char* step, ColsPart part) {
  assume_shared(part.shared);
  switch (kind) {
#define TESSERA_STEP(type, field, parts) \
  case OpKind::field: return cols_of_op<type, parts>(step, part);
    TESSERA_OPS(TESSERA_STEP)
#undef TESSERA_STEP
  }
}

__attribute__((noinline)) __device__ void do_flat(OpKind kind, const unsigned char* step, int block,
                                                  const StepState& state, float* shared) {
  assume_shared(shared);
  const int c = (block * kThreads + static_cast<int>(threadIdx.x)) * kChunk;
  const auto walk = [&](int, int cols, auto&& f) {
    if (c < cols) f(0, c, cols);
  };
  switch (kind) {
#define TESSERA_STEP(type, field, parts) \
  case OpKind::field: return elements_of_op<type, parts>(step, state, shared, walk);
    TESSERA_OPS(TESSERA_STEP)
#undef TESSERA_STEP
  }
}

__attribute__((noinline)) __device__ void do_tiles(OpKind kind, const unsigned char* step, TilesPart part,
                                                   const StepState& state) {
  assume_shared(part.shared);
  const auto walk = [&](int, int, auto&& f) { part.each_chunk(f); };
  switch (kind) {
#define TESSERA_STEP(type, field, parts) \
  case OpKind::field: return tiles_of_op<type, parts>(step, part, state, walk);
    TESSERA_OPS(TESSERA_STEP)
#undef TESSERA_STEP
  }
}

}  // namespace tessera::gpu
