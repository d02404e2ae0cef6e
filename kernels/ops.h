// The closed set of ops: attributes only. Shape rules and derivatives are in engine/ops/, kernels in kernels/cpu/ and
// kernels/gpu/. The list at the end is the only place where an op is registered. An op without a rule (engine/ops/), or
// without a device case that the list promises (gpu/bodies/chain.cuh), does not compile; one without a kernel of some
// backend (of CUDA unless gpu/table.cu excepts it) does not link.
#pragma once
#include <cstdint>

#include "kernels/math/host_device.h"
#include "kernels/view.h"
#include "kernels/wires.h"

namespace tessera {

// ---- sources ------------------------------------------------------------------------------------
// Random tensors [rows, cols]: element (r, c) is a function of (seed, purpose, c / 4, row, step). With the optional
// input `rows` [rows, 3] (int32: low word, high word, try) the row's identity replaces (row, step), so that a sampled
// row does not depend on its batch.
struct Random {
  enum Kind : int { uniform, normal, bernoulli } kind;
  int purpose;
  int64_t rows, cols;
  double keep;        // bernoulli: probability of 1
  int64_t first = 0;  // the first row is this one of the batch: a rank draws its own rows
  int64_t block = 0;  // the first column is column 4·block: a rank draws its own columns
  bool operator==(const Random&) const = default;
};

// x + scale·(z + z′): z and z′ are the normal numbers that Random draws for the purpose and the next one
struct AddNoise {
  int purpose;
  double scale;
  bool operator==(const AddNoise&) const = default;
};

struct Fill {  // [rows, cols] = value
  int64_t rows, cols;
  double value;
  bool operator==(const Fill&) const = default;
};

// Training by sampling (Xu et al. 2019, §4.3): a discrete column uniformly, a value of it by `cumulative`, a table row
// with that value.
//   in  cumulative [1, cond_width] (per column, ends at 1) · start [columns + 1, 1] int32 · (rows [n, 3])
//       row_offset [cond_width + columns, 1] int32: where the groups of a column's values begin and end in its part of
//           row_index [columns·table_rows, 1] int32
//   out condition [rows, 1] int32: position in the condition vector · row [rows, 1] int32: table row with that value;
//       −1 if table_rows is 0
// Without discrete columns (start has one entry): condition −1 and any of the table_rows.
struct DrawConditions {
  int purpose;
  int64_t rows, columns, table_rows;
  int64_t first = 0;  // as in Random
  bool operator==(const DrawConditions&) const = default;
};

// Table rows as sparse rows. in codes [n, C] int32 · alphas [n, A] · row [rows, 1] int32 · out index [rows, A + C]
// int32, value [rows, A + C]; spans in order.
struct SpanTable;
struct GatherRows {
  const SpanTable* spans;
  bool operator==(const GatherRows&) const = default;
};

// Sequences by number, padded to `steps` steps: step t of sequence i is row first[i] + t of the features.
//   in features [n, F], first [N, 1] int32, length [N, 1] int32, sequence [B, 1] int32 · out x [B, steps·F] (0 past the
//       end), length [B, 1], valid [B, steps]: 1 where there is a step
struct GatherSequences {
  int64_t steps;
  bool operator==(const GatherSequences&) const = default;
};

// Rows of codes and alphas as inputs of calibration's density ratio (kernels/math/profile.h): sparse rows; numbers are
// decoded on the way.
//   in codes [B, C] int32, alphas [B, A], rows [B, 3] int32 · out index [B, entries] int32, value [B, entries]
struct ProfileTable;
struct ProfileRows {
  const ProfileTable* profile;
  bool operator==(const ProfileRows&) const = default;
};

// The rows whose `keep` exceeds 0, in order and without gaps. in keep [B, 1], codes [B, C] int32, alphas [B, A]
//   out count [1, 1] int32, row [B, 1] int32: their indices, codes [B, C], alphas [B, A]; beyond the count −1, 0, 0
struct CompactRows {
  bool operator==(const CompactRows&) const = default;
};

// A draw from a Gaussian mixture with a given component: out [B, d] = mean_k + F_k·noise.
//   in noise [B, d], component k [B, 1] int32, mean [K, d], factor [K·d, d]: the K matrices F_k stacked
struct MixtureDraw {
  bool operator==(const MixtureDraw&) const = default;
};

// ---- linear algebra -----------------------------------------------------------------------------
// out [M, N] = Σ_i op(A_i)·op(B_i) (+ addend [M, N] or [1, N]). in A_1, B_1, A_2, B_2, …, (addend).
struct Matmul {
  bool trans_a, trans_b;
  int pairs;
  bool addend;
  int64_t cut = 0;  // > 0: length of the slices in which a backend that splits the depth sums it (kernels/split_k.h)
  Precision factors = Precision::fp32;
  bool operator==(const Matmul&) const = default;
};

// Sparse rows: entry j of row p stands for column (j / per)·width + index[p, j] of a dense row of (entries / per)·width
// columns, with value value[p, j] (1 where `value` is absent); a negative index is no entry. `per` is the number of
// entries that share one block of `width` columns: packing pac rows is a reshape.
struct SparseDense {  // in index, (value) · out [rows, blocks·width]
  int64_t width, per;
  bool operator==(const SparseDense&) const = default;
};
// in index, dense · out [rows, entries]: the dense row at each entry, 0 for no entry. The transpose of SparseDense
struct SparsePick {
  int64_t width, per;
  bool operator==(const SparsePick&) const = default;
};
// in index · out index: entries in columns [start, start + width) of their block, counted from there; −1 for the
// others. SliceCols of sparse rows
struct SparseSlice {
  int64_t start, width;
  bool operator==(const SparseSlice&) const = default;
};
struct SparseMatmul {  // in index, (value), weight [blocks·width, N], (addend [rows, N] or [1, N]) · out [rows, N]
  int64_t width, per;
  bool addend;
  bool operator==(const SparseMatmul&) const = default;
};
struct SparseWgrad {  // in index, (value), d [rows, N], (addend [blocks·width, N]) · out [blocks·width, N] = denseᵀ·d
  int64_t width, per;
  bool addend;
  bool operator==(const SparseWgrad&) const = default;
};

// A product with a weight that is nonzero in blocks only: masks as structure (a staircase of blocks), or products side
// by side (one block each). Elements outside the blocks are not read or multiplied, and are 0 in results.
//   forward  in x [M, depth], weight [rows, cols], (addend [M, cols] or [1, cols])
//            out [M, cols] = x·weight (+ addend)
//   input    in d [M, cols], weight · out [M, depth] = d·weightᵀ
//   weight   in x [M, depth], d [M, cols] · out [rows, cols] = xᵀ·d
struct BlockTable;
struct BlockMatmul {
  enum Form : int { forward, input, weight } form;
  const BlockTable* blocks;
  bool addend;  // forward
  Precision factors = Precision::fp32;
  bool operator==(const BlockMatmul&) const = default;
};

// The gradient of a weight over a rank's shards of a batch (engine/passes/batch/shard.h): out [M, N] = Σ_s Σ_i
// A_i[rows of s]ᵀ·B_i[rows of s] (+ addend [M, N]). Each shard's sum is computed separately, the first one with the
// addend, and shards are added pairwise: (s0 + s1) + (s2 + s3). Ranks that have two or four of the shards each and add
// their sums in the same way get the same bits.
//   in A_1 [R_1, M], B_1 [R_1, N], A_2, B_2, …, (addend) · blocks: of a weight that is nonzero in blocks only; one pair
//   The rank has shards [first, first + count) of `shards`. Shards are cut from `units`: R_i has a multiple of the
//   rank's units.
struct ShardedWgrad {
  int pairs;
  bool addend;
  int64_t units;
  int shards, first, count;
  const BlockTable* blocks = nullptr;
  Precision factors = Precision::fp32;
  bool operator==(const ShardedWgrad&) const = default;
};

// out = x in 16 bits per element, rounded as a product with these factors rounds its inputs: bf16 or fp16.
struct Narrow {
  Precision to;
  bool operator==(const Narrow&) const = default;
};

// ---- elementwise --------------------------------------------------------------------------------
struct Unary {  // a, b are the parameters of the functions that have some
  enum Fn : int {
    affine /* a·x + b */,
    exp,
    log,
    tanh,
    sigmoid,
    silu /* x·sigmoid(x) */,
    softplus,
    sqrt,
    rsqrt /* 0 at 0 */,
    leaky /* x > 0 ? x : a·x */,
    step /* x > 0 ? 1 : a */,
    clamp /* to [a, b]; for noise: no gradient */
  } fn;
  double a, b;
  bool operator==(const Unary&) const = default;
};
struct Binary {  // y may be [r, c], [1, c], [r, 1] or [1, 1] beside x [r, c]
  enum Fn : int {
    add,
    sub,
    mul,
    div,
    gate /* y > 0 ? x : a·x; no gradient by y */,
    silu_slope /* x·silu′(y) */,
    sigmoid_slope /* x·y·(1 − y): y is a sigmoid */,
    tanh_slope /* x·(1 − y²): y is a tanh */
  } fn;
  double a = 0;
  bool operator==(const Binary&) const = default;
};
struct LerpRows {  // out = a·x + (1 − a)·y; a [rows, 1]
  bool operator==(const LerpRows&) const = default;
};
struct Broadcast {  // [1, c], [r, 1] or [1, 1] to [rows, cols]
  int64_t rows, cols;
  bool operator==(const Broadcast&) const = default;
};

// ---- reductions ---------------------------------------------------------------------------------
struct SumRows {  // [r, c] → [1, c], times scale: rows in order, so any schedule gives the same bits
  double scale;
  bool operator==(const SumRows&) const = default;
};
struct SumCols {  // [r, c] → [r, 1], times scale
  double scale;
  bool operator==(const SumCols&) const = default;
};
struct RowDot {  // x, y [r, c] → [r, 1]
  bool operator==(const RowDot&) const = default;
};

// ---- views and copies ---------------------------------------------------------------------------
struct Reshape {  // the same elements in the same order
  int64_t rows, cols;
  bool operator==(const Reshape&) const = default;
};
struct SliceRows {
  int64_t start, rows;
  bool operator==(const SliceRows&) const = default;
};
struct SliceCols {
  int64_t start, cols;
  bool operator==(const SliceCols&) const = default;
};
struct ConcatRows {
  bool operator==(const ConcatRows&) const = default;
};
struct ConcatCols {
  bool operator==(const ConcatCols&) const = default;
};

// ---- spans --------------------------------------------------------------------------------------
// out = tanh(x) on tanh spans, softmax((x + gumbel(u)) / tau) on softmax spans; u is clamped to [u_low, u_high]. in x,
// u
struct SpanActivation {
  const SpanTable* spans;
  double tau, u_low, u_high;
  bool operator==(const SpanActivation&) const = default;
};
struct SpanActivationGrad {  // in y (the activation's output), d_y · out d_x
  const SpanTable* spans;
  double tau;
  bool operator==(const SpanActivationGrad&) const = default;
};
// −log softmax(x's span)[chosen] per row; 0 for condition −1. in x [B, W], condition [B, 1] int32 · out [B, 1]
struct SpanCrossEntropy {
  const SpanTable* spans;
  bool operator==(const SpanCrossEntropy&) const = default;
};
// in x, condition, d [B, 1] · out d_x [B, W]: (softmax − one-hot)·d in the chosen span, 0 elsewhere
struct SpanCrossEntropyGrad {
  const SpanTable* spans;
  bool operator==(const SpanCrossEntropyGrad&) const = default;
};
// The parts of the fused span ops. A tanh span counts as a span of one column.
struct SpanReduce {  // x [B, W], y [B, W] or none → [B, S]: sum of x or x·y, or max of x, over each span
  const SpanTable* spans;
  bool max;
  bool operator==(const SpanReduce&) const = default;
};
struct SpanSpread {  // [B, S] → [B, W]
  const SpanTable* spans;
  bool operator==(const SpanSpread&) const = default;
};
struct SpanMask {  // → [1, W]: 1 on tanh spans (or on softmax spans), 0 elsewhere
  const SpanTable* spans;
  bool softmax;
  bool operator==(const SpanMask&) const = default;
};
// −log of the decoder's density at a row, span by span, constants dropped (TVAE; Xu et al. 2019, §4.4).
//   tanh span: (value − tanh(x))²/(2σ²) + ln σ · softmax span: −log softmax(x's span)[index]
//   in x [B, W], index [B, S] int32, value [B, S] (as GatherRows gives them), sigma [1, A] (none without tanh spans) ·
//       out [B, S]
struct SpanReconstruction {
  const SpanTable* spans;
  bool operator==(const SpanReconstruction&) const = default;
};
// in x, index, value, sigma, d [B, S] · out d_x [B, W], d_sigma [B, A]: each row's share
struct SpanReconstructionGrad {
  const SpanTable* spans;
  bool operator==(const SpanReconstructionGrad&) const = default;
};
// Draws a row: alphas [B, A] = tanh(x), codes [B, C] int32 = argmax(x + gumbel(u)) (= a draw from softmax(x); lowest
// index on a tie). in x, u
struct SpanSample {
  const SpanTable* spans;
  double u_low, u_high;
  bool operator==(const SpanSample&) const = default;
};
// Draws a level of each span, all of them softmax spans, by inversion: the lowest k at which the cumulative share of
// softmax(x) exceeds u. A level of share 0 is never drawn, and NaN draws 0. in x [B, W], u [B, S]
//   out [B, S] int32
struct SpanDraw {
  const SpanTable* spans;
  bool operator==(const SpanDraw&) const = default;
};

// ---- batch norm ---------------------------------------------------------------------------------
// y = act((x − mean)·rstd·gamma + beta), statistics over each of `groups` equal blocks of rows (biased variance); act =
// ReLU if relu.
//   in x [r, c], gamma [1, c], beta [1, c] · out y [r, c], mean [groups, c], var [groups, c]
struct BatchNorm {
  double eps;
  int64_t groups;
  bool relu;
  bool operator==(const BatchNorm&) const = default;
};
struct BatchNormGrad {  // in x, gamma, beta, mean, var, d_y · out d_x [r, c], d_gamma [1, c], d_beta [1, c]
  double eps;
  int64_t groups;
  bool relu;
  bool operator==(const BatchNormGrad&) const = default;
};
// Batch norm's sums over the rows of a rank's shards (as in ShardedWgrad): each shard's sum separately, times `scale`;
// then shards are added pairwise.
//   mean      in x [r, c] · out Σ x [1, c]
//   variance  in x, mean [1, c] · out Σ (x − mean)² [1, c]
//   gradient  in x, gamma, beta, mean, var [1, c], d_y [r, c] · out Σ d and Σ d·x̂ [1, 2·c], d masked by the ReLU if
//   relu
struct BatchNormSums {
  enum Form : int { mean, variance, gradient } form;
  double scale, eps;
  bool relu;
  int64_t units;
  int shards, first, count;
  bool operator==(const BatchNormSums&) const = default;
};
// d_x of rows of a batch from the sums over all rows: (d − share·Σ d − x̂·share·Σ d·x̂)·rstd·gamma. in as of a
// gradient's sums, sums [1, 2·c] · out d_x [r, c]
struct BatchNormRowsGrad {
  double eps, share;
  bool relu;
  bool operator==(const BatchNormRowsGrad&) const = default;
};
// y = act((x − mean)/√(var + eps)·gamma + beta) with given statistics [1, c]. in x, gamma, beta, mean, var
struct NormEval {
  double eps;
  bool relu;
  bool operator==(const NormEval&) const = default;
};
// running ← (1 − momentum)·running + momentum·batch, group after group; the variance unbiased. In place. in
// running_mean, running_var [1, c], mean, var [groups, c]
struct RunningStats {
  double momentum;
  int64_t rows;  // in a group
  bool operator==(const RunningStats&) const = default;
};

// ---- recurrent layers ---------------------------------------------------------------------------
// One layer over `steps` steps; row b is sequence b, its step t the columns [t·in, (t + 1)·in) of x and [t·H, (t +
// 1)·H) of y. Gates are side by side, H columns each.
//   gru               r, z = σ(x·W_x + b_x + h·W_h + b_h), n = tanh(x·W_xn + b_xn + r⊙(h·W_hn + b_hn)), h′ = (1 − z)⊙n
//                     + z⊙h: reset after, as torch and cuDNN
//   gru_reset_before  r, z = σ(x·W_x + h·W_h + b_x), n = tanh(x·W_xn + (r⊙h)·W_hn + b_xn), h′ as above: Cho et al.
//                     2014, TF1
//   lstm              i, f, g, o = x·W_x + b_x + h·W_h + b_h, c′ = σ(f + forget_bias)⊙c + σ(i)⊙tanh(g), h′ =
//                     σ(o)⊙tanh(c′)
// Beyond its length a sequence keeps its state, its outputs are 0, and its inputs are not read.
enum class Cell : int { gru, gru_reset_before, lstm };

// Sequences are processed in tiles; tensors that only the derivative reads are stored tile by tile, one sequence per
// column: [tiles·steps·parts·H, kSequenceTile], in the order (tile, step, part, unit), 0 for padding sequences and past
// a sequence's end.
constexpr int64_t kSequenceTile = 16;
constexpr int64_t sequence_tiles(int64_t sequences) { return (sequences + kSequenceTile - 1) / kSequenceTile; }
TESSERA_HD constexpr int64_t gates_of(Cell c) { return c == Cell::lstm ? 4 : 3; }
// Parts of `saved`: gru r, z, n, q = h·W_hn + b_hn, h · gru_reset_before r, z, n, h · lstm i, f, g, o, tanh c′, c, h; c
// and h as they were before the step.
TESSERA_HD constexpr int64_t saved_of(Cell c) { return c == Cell::lstm ? 7 : c == Cell::gru ? 5 : 4; }
// Parts of `slopes`, the gradients of the gates' pre-activations: in the order of the gates; gru has q's after them.
TESSERA_HD constexpr int64_t slopes_of(Cell c) { return c == Cell::gru_reset_before ? 3 : 4; }

// Minimum floats that a GPU block holds per sequence in a layer: forward its state (four times, padded to multiples of
// four for the products), a step's input and the input's part of the gates; backward the gates' gradients of two steps,
// with a quarter of padding, and three of the state's.
TESSERA_HD constexpr int64_t recurrent_padded(int64_t n) { return (n + 3) / 4 * 4; }
TESSERA_HD constexpr int64_t recurrent_floats(int64_t in, int64_t hidden) {
  return 4 * recurrent_padded(hidden) + recurrent_padded(in) + 4 * hidden + 4;
}
TESSERA_HD constexpr int64_t recurrent_grad_floats(int64_t hidden) {
  return 10 * recurrent_padded(hidden) + 3 * hidden + 4;
}
// For `columns` steps, a multiple of four: the gradients of `gates` gates each, with padding, and the steps'
// identities.
TESSERA_HD constexpr int64_t recurrent_input_floats(int64_t gates, int64_t columns) {
  return recurrent_padded(gates) * (columns + 1) + 2 * columns;
}

//   in  x [B, steps·in], (length [B, 1]), (h0 [B, H]), (c0 [B, H], lstm), W_x [in, gates·H], W_h [H, gates·H], b_x [1,
//       gates·H], (b_h, not gru_reset_before)
//       no length: all steps; no h0, c0: zero
//   out y [B, steps·H], h_last [B, H], saved (on the processor empty if no op reads it), (c_last [B, H], lstm)
struct Recurrent {
  Cell cell;
  int64_t steps;
  double forget_bias;  // lstm
  Precision factors = Precision::fp32;
  bool operator==(const Recurrent&) const = default;
};
// in (length), saved, W_h, (d_y), (d_h_last), (d_c_last, lstm) · out slopes, d_h0 [sequences, H], (d_c0, lstm)
struct RecurrentGrad {
  Cell cell;
  int64_t steps, sequences;
  Precision factors = Precision::fp32;
  bool operator==(const RecurrentGrad&) const = default;
};
struct RecurrentInputGrad {  // in slopes, W_x · out d_x [sequences, steps·in]
  Cell cell;
  int64_t steps, sequences;
  Precision factors = Precision::fp32;
  bool operator==(const RecurrentInputGrad&) const = default;
};
// Each tile's share of the weights' gradients. in x, (length), saved, slopes · out [tiles, (in + H + 2)·gates·H]:
// d_W_x, d_W_h, d_b_x, d_b_h (one bias: without the last)
struct RecurrentWgrad {
  Cell cell;
  int64_t steps;
  Precision factors = Precision::fp32;
  bool operator==(const RecurrentWgrad&) const = default;
};

// ---- the end of a step --------------------------------------------------------------------------
// Adam (Kingma & Ba 2015) over a flat parameter set [1, n] or a parameter [r, c], in place. in param, m, v, grad. t =
// step·updates + index + 1 is read from the device.
// With two more inputs, gate [1, 1] and done [1, 1], the update is skipped unless gate > above, and t = done, including
// this update: the decision is made within the step. With one more, scale [1, 1], the gradient is divided by it: a
// power of two.
struct Adam {
  enum Form : int { torch, tf1 } form;
  double lr, beta1, beta2, eps, weight_decay;
  int64_t updates, index;  // this is update `index` of `updates` in a step
  // lr falls linearly from step decay_from to 0 at decay_from + decay_steps; decay_steps 0: constant
  int64_t decay_from, decay_steps;
  double above = 0;
  bool operator==(const Adam&) const = default;
};
struct CountAbove {  // done ← done + 1 if gate > above, in place. in done, gate [1, 1]
  double above;
  bool operator==(const CountAbove&) const = default;
};
// average ← d·average + (1 − d)·param with d = min(decay, (step + 1)/(step + 10)), in place. in average, param, of one
// shape
struct Average {
  double decay;
  bool operator==(const Average&) const = default;
};
struct ClampRange {  // elements start … start + count − 1 of param [1, n] are clamped to [low, high], in place
  int64_t start, count;
  double low, high;
  bool operator==(const ClampRange&) const = default;
};
// Writes scalars [1, 1] into row step mod slots of the ring [slots, n], in place, and records the first step with a
// non-finite one. in ring, x_1 … x_n
struct Report {
  int64_t slots;
  bool operator==(const Report&) const = default;
};

// ---- between ranks ------------------------------------------------------------------------------
// The rows of all ranks, stacked. in order [1, 1] (in place and unchanged: ops that share it run one after the other,
// on every rank in the same order), x [1, n] · out order, all [ranks, n]
struct AllGather {
  const Wires* wires;
  int64_t ranks;
  bool operator==(const AllGather&) const = default;
};
// A sum over ranks, divided among them: each rank receives all ranks' values of its part and adds them pairwise.
// in order, x [1, n] · out order, Σ x [1, the part]
struct ReduceParts {
  const Wires* wires;
  int64_t ranks, rank, part;  // numbers that a rank owns; the last rank owns fewer
  bool operator==(const ReduceParts&) const = default;
};
// A state that ranks update in parts: each rank receives the others' parts. In place.
// in order, the parts in the order of ranks [1, c], side by side in one state · out order, the parts
struct GatherParts {
  const Wires* wires;
  int64_t ranks, rank;
  bool operator==(const GatherParts&) const = default;
};

// A row's spans, as kernels read them (the engine owns the arrays).
struct SpanTable {  // spans are adjacent, in order
  struct Item {
    int start, width;
    int softmax;     // 0: tanh
    int cond_start;  // −1: not a condition
    int slot;        // number among the tanh spans or among the softmax spans
  };
  const Item* items;
  const int* cond_span;  // [cond_width]: the span a condition belongs to
  int count, width, tanhs, softmaxes, cond_width;
};

// The blocks of a weight [rows, cols], as kernels read them (the engine owns the arrays).
struct BlockTable {
  struct Item {  // rows [row, row + rows), columns [col, col + cols) of the weight; depth [from, from + rows)
    int row, rows, col, cols, from;
  };
  const Item* items;  // in the order in which a sum takes them; they share no element
  const Item* holes;  // the rest of the weight (without `from`)
  int count, hole_count, depth, rows, cols;
};

// The parts in which a backend's kernels can compute an op. The op's traits (engine/plan/traits.h) say which inputs are
// cut in the same way.
struct Parts {
  enum : int {
    whole = 0,
    blocks = 1,  // CPU: a block of rows (Call::block)
    // CUDA: a step of a fused launch (fused.h), whose device code is Fused<Op> (gpu/bodies/chain.cuh)
    rows = 2,
    cols = 4,
    elements = 8,  // in a chain `flat`, and on tiles that the chain has computed
    tiles = 16,    // tiles of a product or rows of a scatter
  };
};

#define TESSERA_OPS(X) \
  X(Random, random, Parts::blocks | Parts::rows) \
  X(AddNoise, add_noise, Parts::whole) \
  X(Fill, fill, Parts::blocks | Parts::rows | Parts::cols) \
  X(DrawConditions, draw_conditions, Parts::blocks | Parts::rows) \
  X(GatherRows, gather_rows, Parts::blocks | Parts::rows) \
  X(GatherSequences, gather_sequences, Parts::rows) \
  X(ProfileRows, profile_rows, Parts::whole) \
  X(CompactRows, compact_rows, Parts::whole) \
  X(MixtureDraw, mixture_draw, Parts::blocks | Parts::rows) \
  X(Matmul, matmul, Parts::blocks | Parts::rows | Parts::cols | Parts::tiles) \
  X(BlockMatmul, block_matmul, Parts::blocks | Parts::tiles) \
  X(ShardedWgrad, sharded_wgrad, Parts::whole) \
  X(Narrow, narrow, Parts::blocks) \
  X(SparseDense, sparse_dense, Parts::blocks | Parts::rows) \
  X(SparsePick, sparse_pick, Parts::blocks | Parts::rows) \
  X(SparseSlice, sparse_slice, Parts::blocks) \
  X(SparseMatmul, sparse_matmul, Parts::blocks | Parts::rows) \
  X(SparseWgrad, sparse_wgrad, Parts::tiles) \
  X(Unary, unary, Parts::blocks | Parts::rows | Parts::cols | Parts::elements) \
  X(Binary, binary, Parts::blocks | Parts::rows | Parts::cols | Parts::elements) \
  X(LerpRows, lerp_rows, Parts::blocks | Parts::rows) \
  X(Broadcast, broadcast, Parts::blocks | Parts::rows | Parts::cols) \
  X(SumRows, sum_rows, Parts::cols | Parts::elements) \
  X(SumCols, sum_cols, Parts::blocks | Parts::rows) \
  X(RowDot, row_dot, Parts::blocks | Parts::rows) \
  X(Reshape, reshape, Parts::rows) \
  X(SliceRows, slice_rows, Parts::whole) \
  X(SliceCols, slice_cols, Parts::whole) \
  X(ConcatRows, concat_rows, Parts::rows) \
  X(ConcatCols, concat_cols, Parts::blocks | Parts::rows) \
  X(SpanActivation, span_activation, Parts::blocks | Parts::rows) \
  X(SpanActivationGrad, span_activation_grad, Parts::blocks | Parts::rows) \
  X(SpanCrossEntropy, span_cross_entropy, Parts::blocks | Parts::rows) \
  X(SpanCrossEntropyGrad, span_cross_entropy_grad, Parts::blocks | Parts::rows) \
  X(SpanReconstruction, span_reconstruction, Parts::blocks | Parts::rows) \
  X(SpanReconstructionGrad, span_reconstruction_grad, Parts::blocks | Parts::rows) \
  X(SpanReduce, span_reduce, Parts::blocks) \
  X(SpanSpread, span_spread, Parts::blocks) \
  X(SpanMask, span_mask, Parts::whole) \
  X(SpanSample, span_sample, Parts::blocks) \
  X(SpanDraw, span_draw, Parts::blocks) \
  X(BatchNorm, batch_norm, Parts::cols) \
  X(BatchNormGrad, batch_norm_grad, Parts::cols) \
  X(BatchNormSums, batch_norm_sums, Parts::whole) \
  X(BatchNormRowsGrad, batch_norm_rows_grad, Parts::whole) \
  X(NormEval, norm_eval, Parts::blocks) \
  X(RunningStats, running_stats, Parts::cols) \
  X(Recurrent, recurrent, Parts::rows) \
  X(RecurrentGrad, recurrent_grad, Parts::rows) \
  X(RecurrentInputGrad, recurrent_input_grad, Parts::rows) \
  X(RecurrentWgrad, recurrent_wgrad, Parts::tiles) \
  X(AllGather, all_gather, Parts::whole) \
  X(ReduceParts, reduce_parts, Parts::whole) \
  X(GatherParts, gather_parts, Parts::whole) \
  X(Adam, adam, Parts::cols | Parts::elements) \
  X(CountAbove, count_above, Parts::cols) \
  X(Average, average, Parts::cols | Parts::elements) \
  X(ClampRange, clamp_range, Parts::cols | Parts::elements) \
  X(Report, report, Parts::cols)

}  // namespace tessera
