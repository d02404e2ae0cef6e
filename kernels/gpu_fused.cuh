// What a fused launch is told, in its parameters, and how a block does one step of a chain: each op by the same device functions as in a launch of its own, over the
// block's rows, columns or elements. So a fused step has the bits of its composition.
#pragma once
#include "kernels/fused.h"
#include "kernels/gpu_batch_norm.cuh"
#include "kernels/gpu_functions.cuh"
#include "kernels/gpu_optimizer.cuh"
#include "kernels/gpu_product.cuh"
#include "kernels/gpu_recurrent.cuh"
#include "kernels/gpu_rows.cuh"
#include "kernels/gpu_sampling.cuh"
#include "kernels/gpu_span.cuh"
#include "kernels/gpu_sparse.cuh"
#include "kernels/gpu_step.cuh"

namespace tessera::gpu {

// ---- steps, ready for the device ---------------------------------------------------------------------------------------------------
struct RandomStep {
  RandomSource source;
  Mat<const int32_t> rows;
  Target out;
};
struct FillStep {
  float value;
  Target out;
};
struct DrawStep {
  ConditionTables in;
  Mat<int32_t> condition, row;
  DrawConditions op;
};
struct GatherStep {
  SpanTable spans;
  Mat<const int32_t> codes;
  Mat<const float> alphas;
  Mat<const int32_t> row;
  Mat<int32_t> index;
  Mat<float> value;
};
struct DenseStep {
  Entries entries;
  Mat<float> out;
};
struct SparseStep {  // sparse_matmul; sparse_wgrad with d in place of the weight
  Entries entries;
  Operand weight, addend;
  Target out;
};
struct ProductStep {
  Problem problem;
  int64_t part;  // where the sums of slices are: bytes from the start of the workspace
  bool trans_a, trans_b;
};
template <class Op>
struct MapStep {  // unary, binary, lerp_rows, broadcast
  Op op;
  Operand x[3];
  Target out;
};
struct DotStep {
  Mat<const float> x, y;
  Mat<float> out;
  double scale;
};
struct SumStep {
  Mat<const float> x;
  float* out;
  double scale;
};
constexpr int kCopyParts = 8;
struct CopyStep {  // reshape, concat_rows, concat_cols, in words
  Mat<uint32_t> out;
  int count;
  struct Part {
    const uint32_t* from;
    int64_t ld;
    int rows, cols;
  } part[kCopyParts];
};
struct SpanStep {
  SpanTable spans;
  Mat<const float> x, y;
  Mat<const int32_t> condition;
  Mat<float> out;
  float a, b, c;
};
struct ReconstructionStep {
  SpanTable spans;
  Reconstruction in;
  Mat<const float> d;
  Mat<float> out, d_sigma;
};
struct NormStep {
  NormIn in;
  NormOut out;
  int groups;
};
struct NormGradStep {
  NormIn in;
  NormGrad d;
};
struct AdamStep {
  AdamState state;
  Adam op;
};
struct AverageStep {
  double decay;
  Operand average, param;
  Target out;
};
struct ClampStep {
  ClampedRange range;
  int rows, cols;
};
struct ReportStep {
  Mat<float> ring;
  Scalars scalars;
  int count;
  int64_t slots;
};

// The largest of the tiles' rooms; column sums and rates need less, sequences take what there is.
constexpr int kSharedFloats = shared_floats<FmaTile<128, 8, true, true>>;
static_assert(kSharedFloats >= shared_floats<FmaTile<64, 64, true, true>> && kSharedFloats >= shared_floats<FmaTile<16, 64, true, true>> &&
              kSharedFloats >= shared_floats<FmaTile<8, 128, true, true>>);

// ---- the table ---------------------------------------------------------------------------------------------------------------------
constexpr int kMaxChains = 32, kMaxSteps = 96, kPoolBytes = 28 * 1024;
struct FusedTable {
  struct Chain {
    FusedChain::Cut cut;
    int end;  // blocks of this chain and all before
    int units, per_block, first_step, steps;
    int parts, width;  // cells; tiles: rows and columns of what its tiles make
    bool by_rows;      // tiles: of a scatter, whose warps make a row each
  } chain[kMaxChains];
  struct Step {
    OpKind kind;
    FusedStep::Part part;
    int offset;  // in the pool
    int run, apart, repeats;
  } step[kMaxSteps];
  int chains, steps, used;
  bool first, last;  // of a step whose launches count it; by the first block of the chain `counting`
  int counting;
  StepState* state;
  char* workspace;
  alignas(16) unsigned char pool[kPoolBytes];
};
static_assert(sizeof(FusedTable) < 32 * 1024 - 64, "what a kernel's parameters may take");

// ---- loops over a block's part -----------------------------------------------------------------------------------------------------
constexpr int kBlockWarps = kThreads / 32;

template <class F>
__device__ inline void each_item(int count, F&& f) {
  for (int i = static_cast<int>(threadIdx.x); i < count; i += kThreads) f(i);
}
template <class F>
__device__ inline void each_chunk(const Rows& rows, int cols, F&& f) {
  const int chunks = (cols + kChunk - 1) / kChunk;  // mutant: a chunk of 0 columns
  each_item(rows.count * chunks, [&](int i) { f(rows.at(i / chunks), i % chunks * kChunk); });
}
template <class F>
__device__ inline void each_warp(int count, F&& f) {
  for (int i = static_cast<int>(threadIdx.x) / 32; i < count; i += kBlockWarps) f(i);
}
template <class F>
__device__ inline void each_span(const SpanTable& spans, const Rows& rows, F&& f) {
  each_warp(rows.count * spans.count, [&](int i) { f(span_place(spans, rows.at(i / spans.count), i % spans.count)); });
}

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

// The elementwise ops over whatever part `part` walks: part(g) calls g(row, first column, end of columns).
template <class Walk>
__device__ inline bool do_map(OpKind kind, const unsigned char* step, Walk&& part) {
  if (kind == OpKind::unary) {
    const auto& s = *reinterpret_cast<const MapStep<Unary>*>(step);
    with_function(s.op, [&](auto f) { part(s.out, [&](int r, int c, int end) { map_chunk<1>(s.x, s.out, r, c, end, f); }); });
  } else if (kind == OpKind::binary) {
    const auto& s = *reinterpret_cast<const MapStep<Binary>*>(step);
    with_function(s.op, [&](auto f) { part(s.out, [&](int r, int c, int end) { map_chunk<2>(s.x, s.out, r, c, end, f); }); });
  } else if (kind == OpKind::lerp_rows) {
    const auto& s = *reinterpret_cast<const MapStep<LerpRows>*>(step);
    part(s.out, [&](int r, int c, int end) { map_chunk<3>(s.x, s.out, r, c, end, Lerp{}); });
  } else if (kind == OpKind::broadcast) {
    const auto& s = *reinterpret_cast<const MapStep<Broadcast>*>(step);
    part(s.out, [&](int r, int c, int end) { map_chunk<1>(s.x, s.out, r, c, end, Same{}); });
  } else if (kind == OpKind::fill) {
    const auto& s = *reinterpret_cast<const FillStep*>(step);
    const float v[kChunk] = {s.value, s.value, s.value, s.value};
    part(s.out, [&](int r, int c, int end) { store_chunk(s.out, r, c, min(kChunk, end - c), v); });
  } else {
    return false;
  }
  return true;
}

// This and the do_… below are functions of their own: inlined into one kernel they would crowd its registers.
template <bool trans_a, bool trans_b, int down, int across>
__attribute__((noinline)) __device__ void make_rows(const Problem& p, const Rows& rows, int first, int end, int slice, float* out, float* shared) {
  for (int r = 0; r < rows.count; r += down)       // mutant: a tile of no rows
    for (int c = first; c < end; c += across)      // mutant: a tile of no columns
      make_tile<FmaTile<down, across, !trans_a, trans_b>, trans_a, trans_b>(p, rows, r, c, end, slice, out, shared);
}
// Rows of a product in columns [first, end): low tiles where there are few rows.
__device__ inline void make_product(const ProductStep& x, const Rows& rows, int first, int end, int slice, float* out, float* shared) {
  const Problem& p = x.problem;
  if (rows.count <= 8)  // mutant: either tile gives the same bits
    x.trans_b ? make_rows<false, true, 8, 128>(p, rows, first, end, slice, out, shared) : make_rows<false, false, 8, 128>(p, rows, first, end, slice, out, shared);
  else x.trans_b ? make_rows<false, true, 16, 64>(p, rows, first, end, slice, out, shared) : make_rows<false, false, 16, 64>(p, rows, first, end, slice, out, shared);
}

// The updates over whatever part `part` walks, as in do_map.
template <class Walk>
__device__ inline bool do_update(OpKind kind, const unsigned char* step, const StepState& state, float* shared, Walk&& part) {
  if (kind == OpKind::adam) {
    const auto& x = *reinterpret_cast<const AdamStep*>(step);
    Rates& rates = *reinterpret_cast<Rates*>(shared);
    if (threadIdx.x == 0) rates = rates_of(x.op, state.step);
    __syncthreads();
    part(x.state.param.rows, x.state.param.cols, [&](int r, int c, int end) { adam_chunk(x.state, x.op, rates, r, c, end); });
  } else if (kind == OpKind::average) {
    const auto& x = *reinterpret_cast<const AverageStep*>(step);
    const Operand in[3] = {x.average, x.param, {}};
    part(x.out.rows, x.out.cols, [&](int r, int c, int end) { map_chunk<2>(in, x.out, r, c, end, Mix{&state, x.decay}); });
  } else if (kind == OpKind::clamp_range) {
    const auto& x = *reinterpret_cast<const ClampStep*>(step);
    part(x.rows, x.cols, [&](int r, int c, int end) {
      for (int k = c; k < min(c + kChunk, end); ++k) clamp_element(x.range, static_cast<int64_t>(r) * x.cols + k);
    });
  } else {
    return false;
  }
  return true;
}

// ---- rows --------------------------------------------------------------------------------------------------------------------------
// Sequences are taken through a layer as many at a time as their state has room for, `floats` each.
template <class Go>
__device__ inline void each_group(const Rows& rows, int64_t floats, Go&& go) {
  const int most = kSharedFloats / static_cast<int>(floats);
  if (rows.count <= most) return go(rows);  // mutant: as one group of all
  for (int first = 0, n = 0; first < rows.count; first += n) {
    n = min(most, rows.run - first % rows.run);
    go(Rows{rows.at(first), n, n, 0});
    __syncthreads();
  }
}
__attribute__((noinline)) __device__ void do_recurrent(const RecurrentLayer& x, const Rows& rows, float* shared) {
  each_group(rows, layer_floats(x.in, x.hidden), [&](const Rows& some) { recurrent_forwards<0>(x, some, shared); });
  clear_beyond(x.saved, rows, x.y.rows, x.steps, static_cast<int>(saved_of(x.cell)) * x.hidden);
}
__attribute__((noinline)) __device__ void do_recurrent_grad(const RecurrentBack& x, const Rows& rows, float* shared) {
  each_group(rows, back_floats(x.w_h.rows), [&](const Rows& some) { recurrent_backwards<0>(x, some, shared); });
  clear_beyond(x.slopes, rows, x.sequences, x.steps, static_cast<int>(slopes_of(x.cell)) * x.w_h.rows);
}

__attribute__((noinline)) __device__ void do_rows(const FusedTable::Step& s, const unsigned char* step, const Rows& rows, const StepState& state, const char* workspace, float* shared) {
  const auto walk = [&](const Target& out, auto&& f) { each_chunk(rows, out.cols, [&](int r, int c) { f(r, c, out.cols); }); };
  if (do_map(s.kind, step, walk)) return;
  switch (s.kind) {
    case OpKind::random: {
      const auto& x = *reinterpret_cast<const RandomStep*>(step);
      return each_chunk(rows, x.out.cols, [&](int r, int c) { random_chunk(x.source, x.rows, x.out, state, r, c / kChunk); });
    }
    case OpKind::draw_conditions: {
      const auto& x = *reinterpret_cast<const DrawStep*>(step);
      return each_item(rows.count, [&](int i) { draw_condition(x.in, x.condition, x.row, state, x.op, rows.at(i)); });
    }
    case OpKind::gather_rows: {
      const auto& x = *reinterpret_cast<const GatherStep*>(step);
      return each_item(rows.count * x.spans.count, [&](int i) {
        const int r = rows.at(i / x.spans.count);
        gather_entry(x.spans, x.codes, x.alphas, x.row.row(r)[0], x.index, x.value, r, i % x.spans.count);
      });
    }
    case OpKind::sparse_dense: {
      const auto& x = *reinterpret_cast<const DenseStep*>(step);
      return each_warp(rows.count, [&](int i) { sparse_dense(x.entries, x.out, rows.at(i)); });
    }
    case OpKind::sparse_pick: {
      const auto& x = *reinterpret_cast<const Pick*>(step);
      return each_item(rows.count * x.out.cols, [&](int i) { sparse_pick(x, rows.at(i / x.out.cols), i % x.out.cols); });
    }
    case OpKind::sparse_matmul: {
      const auto& x = *reinterpret_cast<const SparseStep*>(step);
      return each_chunk(rows, x.out.cols, [&](int r, int c) { sparse_matmul_chunk(x.entries, x.weight, x.addend, x.out, r, c); });
    }
    case OpKind::matmul: {
      const auto& x = *reinterpret_cast<const ProductStep*>(step);
      if (s.part == FusedStep::sum) {
        const float* part = reinterpret_cast<const float*>(workspace + x.part);
        return each_item(rows.count * x.problem.cols, [&](int i) { add_slices(x.problem, part, rows.at(i / x.problem.cols), i % x.problem.cols); });
      }
      return make_product(x, rows, 0, x.problem.cols, kAllSlices, x.problem.out, shared);
    }
    case OpKind::sum_cols: {
      const auto& x = *reinterpret_cast<const DotStep*>(step);
      return each_warp(rows.count, [&](int i) { row_dot<false>(x.x, x.y, x.out, x.scale, rows.at(i)); });
    }
    case OpKind::row_dot: {
      const auto& x = *reinterpret_cast<const DotStep*>(step);
      return each_warp(rows.count, [&](int i) { row_dot<true>(x.x, x.y, x.out, x.scale, rows.at(i)); });
    }
    case OpKind::reshape: {
      const auto& x = *reinterpret_cast<const CopyStep*>(step);
      return each_item(rows.count * x.out.cols, [&](int i) {
        const int64_t at = static_cast<int64_t>(rows.at(i / x.out.cols)) * x.out.cols + i % x.out.cols;
        x.out.row(rows.at(i / x.out.cols))[i % x.out.cols] = x.part[0].from[at / x.part[0].cols * x.part[0].ld + at % x.part[0].cols];
      });
    }
    case OpKind::concat_rows:
    case OpKind::concat_cols: {
      const auto& x = *reinterpret_cast<const CopyStep*>(step);
      const bool down = s.kind == OpKind::concat_rows;
      return each_item(rows.count * x.out.cols, [&](int i) {
        const int row = rows.at(i / x.out.cols), col = i % x.out.cols;
        int r = row, c = col, k = 0;
        while ((down ? r : c) >= (down ? x.part[k].rows : x.part[k].cols)) {
          (down ? r : c) -= down ? x.part[k].rows : x.part[k].cols;
          ++k;
        }
        const uint32_t* from = x.part[k].from + r * x.part[k].ld + c;
        if (from != &x.out.row(row)[col]) x.out.row(row)[col] = *from;
      });
    }
    case OpKind::span_activation: {
      const auto& x = *reinterpret_cast<const SpanStep*>(step);
      return each_span(x.spans, rows, [&](const SpanPlace& p) { span_activation(p, x.x, x.y, x.out, x.a, x.b, x.c); });
    }
    case OpKind::span_activation_grad: {
      const auto& x = *reinterpret_cast<const SpanStep*>(step);
      return each_span(x.spans, rows, [&](const SpanPlace& p) { span_activation_grad(p, x.x, x.y, x.out, x.a); });
    }
    case OpKind::span_cross_entropy: {
      const auto& x = *reinterpret_cast<const SpanStep*>(step);
      return each_warp(rows.count, [&](int i) { span_cross_entropy(x.spans, x.x, x.condition, x.out, rows.at(i)); });
    }
    case OpKind::span_cross_entropy_grad: {
      const auto& x = *reinterpret_cast<const SpanStep*>(step);
      return each_warp(rows.count, [&](int i) { span_cross_entropy_grad(x.spans, x.x, x.condition, x.y, x.out, rows.at(i)); });
    }
    case OpKind::span_reconstruction: {
      const auto& x = *reinterpret_cast<const ReconstructionStep*>(step);
      return each_span(x.spans, rows, [&](const SpanPlace& p) { span_reconstruction(p, x.in, x.out); });
    }
    case OpKind::span_reconstruction_grad: {
      const auto& x = *reinterpret_cast<const ReconstructionStep*>(step);
      return each_span(x.spans, rows, [&](const SpanPlace& p) { span_reconstruction_grad(p, x.in, x.d, x.out, x.d_sigma); });
    }
    case OpKind::gather_sequences: {
      const auto& x = *reinterpret_cast<const SequenceRows*>(step);
      return each_item(rows.count * x.x.cols, [&](int i) { gather_sequence_element(x, rows.at(i / x.x.cols), i % x.x.cols); });
    }
    case OpKind::recurrent: return do_recurrent(*reinterpret_cast<const RecurrentLayer*>(step), rows, shared);
    case OpKind::recurrent_grad: return do_recurrent_grad(*reinterpret_cast<const RecurrentBack*>(step), rows, shared);
    case OpKind::recurrent_input_grad: {
      const auto& x = *reinterpret_cast<const RecurrentInput*>(step);
      return each_item(rows.count * x.d_x.cols, [&](int i) { recurrent_input_element(x, rows.at(i / x.d_x.cols), i % x.d_x.cols / x.w_x.rows, i % x.w_x.rows); });
    }
    case OpKind::mixture_draw: {
      const auto& x = *reinterpret_cast<const Mixture*>(step);
      return each_item(rows.count * x.out.cols, [&](int i) { mixture_element(x, rows.at(i / x.out.cols), i % x.out.cols); });
    }
    default: return;
  }
}

// ---- columns -----------------------------------------------------------------------------------------------------------------------
__attribute__((noinline)) __device__ void do_cols(const FusedTable::Step& s, const unsigned char* step, int first, int width, const StepState& state, StepState* noted, float* shared) {
  ColumnRoom& room = *reinterpret_cast<ColumnRoom*>(shared);
  const int end = min(first + kAcross, width);
  const auto elements = [&](int rows, int, auto&& f) {
    constexpr int kParts = kAcross / kChunk;
    each_item(rows * kParts, [&](int i) {
      if (const int c = first + i % kParts * kChunk; c < end) f(i / kParts, c, end);  // mutant: a chunk of 0 columns
    });
  };
  if (do_map(s.kind, step, [&](const Target& out, auto&& f) { elements(out.rows, out.cols, f); })) return;
  if (do_update(s.kind, step, state, shared, elements)) return;
  switch (s.kind) {
    case OpKind::matmul: {
      const auto& x = *reinterpret_cast<const ProductStep*>(step);
      const Problem& p = x.problem;
      const Rows rows = rows_between(0, p.rows);
      return x.trans_b ? make_rows<false, true, 128, 8>(p, rows, first, end, kAllSlices, p.out, shared) : make_rows<false, false, 128, 8>(p, rows, first, end, kAllSlices, p.out, shared);
    }
    case OpKind::sum_rows: {
      const auto& x = *reinterpret_cast<const SumStep*>(step);
      return sum_rows(x.x, x.out, x.scale, first, room);
    }
    case OpKind::recurrent_wgrad: {
      const auto& x = *reinterpret_cast<const RecurrentWeights*>(step);
      return each_item(x.out.rows * (end - first), [&](int i) { recurrent_weight(x, i / (end - first), first + i % (end - first)); });
    }
    case OpKind::batch_norm: {
      const auto& x = *reinterpret_cast<const NormStep*>(step);
      for (int g = 0; g < x.groups; ++g) batch_norm(x.in, x.out, first, g, room);
      return;
    }
    case OpKind::batch_norm_grad: {
      const auto& x = *reinterpret_cast<const NormGradStep*>(step);
      return batch_norm_grad(x.in, x.d, first, room);
    }
    case OpKind::running_stats: {
      const auto& x = *reinterpret_cast<const Running*>(step);
      return each_item(end - first, [&](int i) { running_stats(x, first + i); });
    }
    case OpKind::report: {
      const auto& x = *reinterpret_cast<const ReportStep*>(step);
      if (threadIdx.x == 0) report(x.ring, x.scalars, 0, x.count, state.step, noted, x.slots);
      return;
    }
    default: return;
  }
}

// ---- cells -------------------------------------------------------------------------------------------------------------------------
// Units `first` … first + count − 1 at place j.
__device__ inline void do_cells(const FusedTable::Step& s, const unsigned char* step, int first, int count, int j, const FusedTable::Chain& chain, const StepState& state, char* workspace,
                                float* shared) {
  if (s.run != 1) return do_rows(s, step, {first * chain.parts + j, count, 1, chain.parts}, state, workspace, shared);
  const auto& x = *reinterpret_cast<const ProductStep*>(step);  // of packed rows there are only products
  const Problem& p = x.problem;
  const Rows rows{first, count, count, 0};
  if (s.part == FusedStep::slices) {
    float* out = reinterpret_cast<float*>(workspace + x.part) + static_cast<int64_t>(j) * p.rows * p.cols;
    make_product(x, rows, 0, p.cols, j, out, shared);
  } else {
    make_product(x, rows, j * chain.width, min(p.cols, (j + 1) * chain.width), kAllSlices, p.out, shared);
  }
}

// ---- elements and tiles ------------------------------------------------------------------------------------------------------------
__attribute__((noinline)) __device__ void do_flat(const FusedTable::Step& s, const unsigned char* step, int block, const StepState& state, float* shared) {
  const int c = (block * kThreads + static_cast<int>(threadIdx.x)) * kChunk;
  do_update(s.kind, step, state, shared, [&](int, int cols, auto&& f) {
    if (c < cols) f(0, c, cols);  // mutant: a chunk of 0 columns
  });
}

__device__ inline int tiles_of(int size, int tile) { return (size + tile - 1) / tile; }

template <bool trans_a, bool trans_b>
__attribute__((noinline)) __device__ void do_tile(const ProductStep& x, int block, float* part, float* shared) {
  const Problem& p = x.problem;
  const int across = tiles_of(p.cols, 64), tiles = across * tiles_of(p.rows, 64), tile = block % tiles, slice = block / tiles;
  float* out = part != nullptr ? part + static_cast<int64_t>(slice) * p.rows * p.cols : p.out;
  make_tile<FmaTile<64, 64, !trans_a, trans_b>, trans_a, trans_b>(p, rows_between(0, p.rows), tile / across * 64, tile % across * 64, p.cols, part != nullptr ? slice : kAllSlices, out, shared);
}

__attribute__((noinline)) __device__ void do_tiles(const FusedTable::Step& s, const unsigned char* step, int block, const FusedTable::Chain& chain, const StepState& state, char* workspace,
                                                   float* shared) {
  // The block's elements of what the chain's first step makes.
  const int rows = chain.parts, cols = chain.width, warp_parts = tiles_of(cols, 32 * kChunk), item = block * kBlockWarps + static_cast<int>(threadIdx.x) / 32;
  if (s.kind == OpKind::matmul) {
    const auto& x = *reinterpret_cast<const ProductStep*>(step);
    float* part = s.part == FusedStep::slices ? reinterpret_cast<float*>(workspace + x.part) : nullptr;
    if (x.trans_a) x.trans_b ? do_tile<true, true>(x, block, part, shared) : do_tile<true, false>(x, block, part, shared);
    else x.trans_b ? do_tile<false, true>(x, block, part, shared) : do_tile<false, false>(x, block, part, shared);
  } else if (s.kind == OpKind::sparse_wgrad) {
    const auto& x = *reinterpret_cast<const SparseStep*>(step);
    if (item < rows * warp_parts) sparse_wgrad(x.entries, x.weight, x.addend, x.out, item / warp_parts, item % warp_parts);
  } else {
    do_update(s.kind, step, state, shared, [&](int, int, auto&& f) {
      if (chain.by_rows) {
        if (const int c = (item % warp_parts * 32 + lane_id()) * kChunk; item < rows * warp_parts && c < cols) f(item / warp_parts, c, cols);  // mutant 2: a chunk of 0 columns
        return;
      }
      const int across = tiles_of(cols, 64), row0 = block / across * 64, col0 = block % across * 64;
      each_item(64 * (64 / kChunk), [&](int i) {
        if (const int r = row0 + i / (64 / kChunk), c = col0 + i % (64 / kChunk) * kChunk; r < rows && c < cols) f(r, c, min(cols, col0 + 64));  // mutant 2: a chunk of 0 columns
      });
    });
  }
}

}  // namespace tessera::gpu
