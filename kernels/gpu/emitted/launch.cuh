// What a generated launch (engine/emit/emit.h) is made of: its parameters, a block's part of a chain, ops by their own
// device functions, and elementwise ops whose values stay in registers.
//   An op's step is packed on the device, as the host does for the interpreter (gpu/fused/fused.cu): the attributes are
//   constants of the source, so the compiler drops what they exclude.
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

// ---- parameters -----------------------------------------------------------------------------------------------------
// Every launch's parameters begin with these; addresses follow as numbers of four bytes from `base`, then sizes.
struct LaunchParameters {
  char* base;
  StepState* state;
  char* workspace;

  template <class T>
  __device__ T* at(uint32_t offset) const {
    return reinterpret_cast<T*>(base + int64_t{4} * offset);
  }
  __device__ View view(uint32_t offset, int rows, int cols, int64_t ld) const {
    return {at<void>(offset), rows, cols, ld, 4};
  }
  // Rows may be accessed 16 bytes at a time, and the compiler knows it.
  __device__ View wide(uint32_t offset, int rows, int cols, int64_t ld) const {
#if defined(__CUDACC__)
    __builtin_assume(ld % 4 == 0);
    return {__builtin_assume_aligned(at<void>(offset), 16), rows, cols, ld, 4};
#else
    return view(offset, rows, cols, ld);
#endif
  }
};

// The step's state, read once for the block; `running`: by the step's last launch. It may precede
// wait_for_launch_before() where the launch before does not write the counter: then what wrote it has ended, because
// the launch before waited for it. Volatile: the multiprocessor's own cache may be older than that launch's wait.
__device__ inline void read_state(StepState& own, const volatile StepState* state, bool running) {
  if (threadIdx.x == 0) own = {state->seed, running ? state->running : state->step, -1};
  __syncthreads();
}
// By the block that may have run `report` in this launch.
__device__ inline void begin_count(StepState* state, const StepState& own) {
  if (threadIdx.x == 0) state->running = own.step;
}
__device__ inline void end_count(StepState* state, const StepState& own) {
  if (threadIdx.x == 0) state->step = after_step(*state, own.step);
}

// ---- a block's part of a chain --------------------------------------------------------------------------------------
struct UnitsOfRows {
  int first, count;
  const StepState& state;
  const char* workspace;
  float* shared;
  __device__ UnitsOfRows(int block, int per_block, int units, const LaunchParameters& p, const StepState& own,
                         float* memory)
      : first(block * per_block),
        count(min(per_block, units - first)),
        state(own),
        workspace(p.workspace),
        shared(memory) {}
  // Units of `run` rows, `repeats` times with a stride of `stride` rows.
  __device__ RowsPart rows(int run, int stride = 0, int repeats = 1, FusedStep::Part part = FusedStep::all) const {
    const int n = count * run;
    return {{first * run, n * repeats, n, stride}, part, state, workspace, shared};
  }
};
__device__ inline ColsPart columns_of(int block, int units, const LaunchParameters& p, const StepState& own,
                                      float* shared) {
  return {block * kAcross, min((block + 1) * kAcross, units), own, p.state, shared};
}
// f(row, first of four columns, end of columns) for the elements of rows or columns. Not unrolled: a thread has few of
// them, and f is long.
template <class F>
__device__ inline void each_chunk(const RowsPart& part, int cols, F&& f) {
  const int chunks = (cols + kChunk - 1) / kChunk, all = part.rows.count * chunks;
#pragma unroll 1
  for (int i = static_cast<int>(threadIdx.x); i < all; i += kThreads)
    f(part.rows.at(i / chunks), i % chunks * kChunk, cols);
}
template <class F>
__device__ inline void each_chunk(const ColsPart& part, int rows, F&& f) {
  constexpr int kParts = kAcross / kChunk;
#pragma unroll 1
  for (int i = static_cast<int>(threadIdx.x); i < rows * kParts; i += kThreads)
    if (const int c = part.first + i % kParts * kChunk; c < part.end) f(i / kParts, c, part.end);
}
// What the source knows of a loop over elements, or of a view in it: full: four adjacent ones exist, everywhere; wide:
// then they are one access.
enum Form : int { plain = 0, full = 1, wide = 2, one_row = 4, one_column = 8 };
// Elements of [1, n], four for each thread.
template <int form>
struct ElementsOf {
  int block;
  template <class F>
  __device__ void operator()(int, int cols, F&& f) const {
    if (const int c = (block * kThreads + static_cast<int>(threadIdx.x)) * kChunk; c < cols)
      f(0, c, form & full ? c + kChunk : cols);
  }
};
template <int form>
struct ElementsOfTile {
  const TilesPart& tile;
  template <class F>
  __device__ void operator()(int, int, F&& f) const {
    tile.each_chunk([&](int r, int c, int end) { f(r, c, form & full ? c + kChunk : end); });
  }
};

// ---- an op by its own device functions ------------------------------------------------------------------------------
template <int n>
struct Views {
  View of[n == 0 ? 1 : n];
  static constexpr int kCount = n;
};
template <class... V>
__device__ inline Views<sizeof...(V)> in(const V&... v) {
  return {{v...}};
}
template <class... V>
__device__ inline Views<sizeof...(V)> out(const V&... v) {
  return {{v...}};
}
template <class Op, int n, int m>
__device__ inline typename Fused<Op>::Step step_of(FusedChain::Cut cut, const Op& op, const Views<n>& in,
                                                   const Views<m>& out, int64_t workspace = 0) {
  Packing packing{cut, workspace};
  return Fused<Op>::pack({in.of, out.of, n, m, &op, nullptr}, packing);
}
template <class Op, class In, class Out>
__device__ inline void do_rows(const RowsPart& part, const Op& op, const In& in, const Out& out,
                               int64_t workspace = 0) {
  Fused<Op>::rows(step_of(FusedChain::rows, op, in, out, workspace), part);
}
template <class Op, class In, class Out>
__device__ inline void do_columns(const ColsPart& part, const Op& op, const In& in, const Out& out) {
  Fused<Op>::cols(step_of(FusedChain::cols, op, in, out), part);
}
template <class Op, class In, class Out>
__device__ inline void do_tile(const TilesPart& part, const Op& op, const In& in, const Out& out,
                               int64_t workspace = 0) {
  Fused<Op>::tiles(step_of(FusedChain::tiles, op, in, out, workspace), part);
}
// An update, by its elements.
template <int form, class Op, class In, class Out>
__device__ inline void update_columns(const ColsPart& part, const Op& op, const In& in, const Out& out) {
  Fused<Op>::elements(step_of(FusedChain::cols, op, in, out), part.state, part.shared, [&](int rows, int, auto&& f) {
    each_chunk(part, rows, [&](int r, int c, int end) { f(r, c, form & full ? c + kChunk : end); });
  });
}
template <int form, class Op, class In, class Out>
__device__ inline void do_elements(const ElementsOf<form>& part, const Op& op, const In& in, const Out& out,
                                   const StepState& state, float* shared) {
  Fused<Op>::elements(step_of(FusedChain::flat, op, in, out), state, shared, part);
}
template <int form, class Op, class In, class Out>
__device__ inline void do_elements(const ElementsOfTile<form>& part, const Op& op, const In& in, const Out& out,
                                   const StepState& state, float* shared) {
  Fused<Op>::elements(step_of(FusedChain::tiles, op, in, out), state, shared, part);
}

// ---- products -------------------------------------------------------------------------------------------------------
// A product whose tiles, orientations and slices (slices_of(), by the host: its divisions are long) are known.
template <class Tiles, bool trans_a, bool trans_b, int pairs>
struct Product {
  bool addend;
  Precision factors;
  Slices slices[pairs];
  template <int n, int m>
  __device__ ProductStep step(const Views<n>& in, const Views<m>& out, int64_t workspace) const {
    ProductStep x;
    x.part = workspace, x.trans_a = trans_a, x.trans_b = trans_b;
    Problem& p = x.problem;
    p.pairs = pairs, p.units = units_of(factors);
    p.rows = static_cast<int>(out.of[0].rows), p.cols = static_cast<int>(out.of[0].cols);
    p.out = static_cast<float*>(out.of[0].data), p.ld_out = out.of[0].ld;
    p.slices = 0;
#pragma unroll
    for (int i = 0; i < pairs; ++i) {
      const View &a = in.of[2 * i], &b = in.of[2 * i + 1];
      p.pair[i] = {{static_cast<const float*>(a.data), a.ld, aligned16(a)},
                   {static_cast<const float*>(b.data), b.ld, aligned16(b)},
                   static_cast<int>(trans_a ? a.rows : a.cols),
                   slices[i]};
      p.slices += slices[i].count;
    }
    const View* more = addend ? &in.of[n - 1] : nullptr;
    p.addend = addend ? static_cast<const float*>(more->data) : nullptr;
    p.ld_addend = !addend || more->rows == 1 ? 0 : more->ld;
    return x;
  }
};
// Of at most `height` rows in a block.
template <int height, class Tiles, bool trans_b, int pairs, class In, class Out>
__device__ inline void product_of_rows(const RowsPart& part, const Product<Tiles, false, trans_b, pairs>& op,
                                       const In& in, const Out& out) {
  const ProductStep x = op.step(in, out, 0);
  if constexpr (Tiles::kFma && height <= 8) make_few<height <= 4 ? 4 : 8, trans_b>(x.problem, part.rows, part.shared);
  else
    make_rows<typename Tiles::template Low<true, trans_b>, trans_b>(x.problem, part.rows, 0, x.problem.cols,
                                                                    part.shared);
}
// Of at most eight rows in a block, and one column.
template <class Tiles, bool trans_b, int pairs, class In, class Out>
__device__ inline void product_of_one_column(const RowsPart& part, const Product<Tiles, false, trans_b, pairs>& op,
                                             const In& in, const Out& out) {
  if constexpr (Tiles::kFma) make_column(op.step(in, out, 0).problem, trans_b, part.rows, part.shared);
  else product_of_rows<8>(part, op, in, out);
}
template <class Tiles, bool trans_b, int pairs, class In, class Out>
__device__ inline void product_of_columns(const ColsPart& part, const Product<Tiles, false, trans_b, pairs>& op,
                                          const In& in, const Out& out) {
  const ProductStep x = op.step(in, out, 0);
  make_rows<typename Tiles::template Tall<true, trans_b>, trans_b>(x.problem, rows_between(0, x.problem.rows),
                                                                   part.first, part.end, part.shared);
}
template <int down, class Tiles, bool trans_a, bool trans_b, int pairs, class In, class Out>
__device__ inline void product_of_tile(const TilesPart& part, const Product<Tiles, trans_a, trans_b, pairs>& op,
                                       const In& in, const Out& out) {
  make_block<typename Tiles::template Block<down, !trans_a, trans_b>, trans_a, trans_b>(op.step(in, out, 0), part,
                                                                                        nullptr);
}
// A deep product of a small weight's gradient: its slices by the warps of one block.
template <class Op, class In, class Out>
__device__ inline void deep_product(const TilesPart& part, const Op& op, const In& in, const Out& out) {
  make_deep(op.step(in, out, 0).problem, part.shared);
}
// The slices of a deep product, by separate blocks, to the workspace; and their sum, in a later launch.
template <int down, class Tiles, bool trans_a, bool trans_b, int pairs, class In, class Out>
__device__ inline void slices_of_product(const TilesPart& part, const Product<Tiles, trans_a, trans_b, pairs>& op,
                                         const In& in, const Out& out, int64_t workspace) {
  make_block<typename Tiles::template Block<down, !trans_a, trans_b>, trans_a, trans_b>(
      op.step(in, out, workspace), part, reinterpret_cast<float*>(part.workspace + workspace));
}
template <class Op, class In, class Out>
__device__ inline void sum_of_slices(const TilesPart& part, const Op& op, const In& in, const Out& out,
                                     int64_t workspace) {
  add_slices_by_rows(op.step(in, out, workspace).problem, part, part.workspace + workspace);
}
template <class Op, class In, class Out>
__device__ inline void sum_of_slices(const RowsPart& part, const Op& op, const In& in, const Out& out,
                                     int64_t workspace) {
  const ProductStep x = op.step(in, out, workspace);
  const auto* slices = reinterpret_cast<const float*>(part.workspace + workspace);
  part.each_chunk(x.problem.cols, [&](int r, int c) { add_slices(x.problem, slices, r, c); });
}
template <BlockMatmul::Form form, class In, class Out>
__device__ inline void block_product_of_tile(const TilesPart& part, const BlockMatmul& op, const In& in,
                                             const Out& out) {
  block_tile<form>(step_of(FusedChain::tiles, op, in, out), part);
}

// ---- elementwise ops in registers -----------------------------------------------------------------------------------
// Four adjacent elements of a row.
struct Four {
  float of[kChunk];
};
// Columns c to c + 3 of x, before `end`; one_row, one_column: of its only row or column, for all.
template <int form>
__device__ inline Four load(const View& x, int r, int c, int end) {
  const auto* row = static_cast<const float*>(x.data) + (form & one_row ? 0 : r * x.ld);
  Four v;
  if constexpr ((form & one_column) != 0) v = {{*row, *row, *row, *row}};
  else load_chunk({row, 0, 1, (form & wide) != 0}, 0, c, form & full ? kChunk : min(kChunk, end - c), v.of);
  return v;
}
template <int form>
__device__ inline void store(const View& to, int r, int c, int end, const Four& v) {
  store_chunk({static_cast<float*>(to.data), to.ld, 0, 0, (form & wide) != 0}, r, c,
              form & full ? kChunk : min(kChunk, end - c), v.of);
}
// x as memory would give it back: the compiler does not know where it comes from, so no multiply-add, constant or
// common subexpression spans two ops.
__device__ inline float from_memory(float x) {
#if defined(__CUDACC__)
  asm volatile("" : "+f"(x));
#endif
  return x;
}
template <class F, class... X>
__device__ inline Four each(F f, const X&... x) {
  Four y;
#pragma unroll
  for (int k = 0; k < kChunk; ++k) y.of[k] = f(from_memory(x.of[k])...);
  return y;
}
// Four numbers of `random`, by its own function: into a row that is as long as they are.
template <class Draw>
__device__ inline Four random_four(const Draw& op, const View& rows, const StepState& state, int r, int c) {
  Four v;
  random_chunk(random_source(op), Mat<const int32_t>(rows), {v.of - c, 0, 1, c + kChunk, false}, state, r, c / kChunk);
  return v;
}
__device__ inline Four filled(float value) { return {{value, value, value, value}}; }

}  // namespace tessera::gpu
