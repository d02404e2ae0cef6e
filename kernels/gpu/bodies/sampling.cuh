// draw_conditions, gather_rows, gather_sequences, mixture_draw: the rows a step trains on, their codes, and latent rows
// drawn from a mixture. All stay on the device: no row crosses the bus during a step.
#pragma once
#include "kernels/gpu/bodies/random.cuh"

namespace tessera::gpu {

__device__ inline int at_most(uint32_t word, int64_t n) {
  return static_cast<int>((static_cast<uint64_t>(word) * static_cast<uint64_t>(n)) >> 32);
}

// draw_conditions: training by sampling (ops.h has the inputs). One thread per row: one Philox block, a binary search
// in the column's cumulative shares, three dependent reads: latency-bound, ~40 bytes per row · no synchronisation; a
// row depends only on its key
struct ConditionTables {
  const float* cumulative;
  Mat<const int32_t> start, offset, index, rows;
};

inline ConditionTables condition_tables(const View* in) {
  return {static_cast<const float*>(in[0].data), Mat<const int32_t>(in[1]), Mat<const int32_t>(in[2]),
          Mat<const int32_t>(in[3]), Mat<const int32_t>(in[4])};
}
__device__ inline void draw_condition(const ConditionTables& in, const Mat<int32_t>& condition, const Mat<int32_t>& row,
                                      const StepState& state, const DrawConditions& op, int i) {
  const Philox w = random_words(state.seed, row_key(state, in.rows, i, op.purpose, static_cast<int>(op.first)), 0);
  if (op.columns == 0) {
    condition.row(i)[0] = -1;
    row.row(i)[0] = op.table_rows == 0 ? -1 : at_most(w.word[2], op.table_rows);
    return;
  }
  const int column = at_most(w.word[0], op.columns);
  const float u = open_uniform(w.word[1]);
  // the first value whose cumulative share exceeds u
  int low = in.start.row(column)[0], high = in.start.row(column + 1)[0] - 1;
  while (low < high) {
    const int middle = (low + high) / 2;
    if (in.cumulative[middle] > u) high = middle;
    else low = middle + 1;
  }
  condition.row(i)[0] = low;
  if (op.table_rows == 0) {  // sampling: only the condition is needed
    row.row(i)[0] = -1;
    return;
  }
  const int first = in.offset.row(low + column)[0], last = in.offset.row(low + column + 1)[0];
  const int64_t place = column * op.table_rows + first + at_most(w.word[2], last - first);
  row.row(i)[0] = in.index.data[place * in.index.ld];
}

// gather_rows: index[i, s], value[i, s] of table row row[i]: a softmax span's chosen column with 1, a tanh span's
// column with its alpha.
//   codes [n, C], alphas [n, A], row [rows, 1] · index, value [rows, spans]; 16 bytes per entry plus the row's codes:
//   bandwidth-bound · one thread per entry · no synchronisation, exact
__device__ inline void gather_entry(const SpanTable& spans, const Mat<const int32_t>& codes,
                                    const Mat<const float>& alphas, int from, const Mat<int32_t>& index,
                                    const Mat<float>& value, int i, int s) {
  const SpanTable::Item span = spans.items[s];
  index.row(i)[s] = span.softmax ? span.start + codes.row(from)[span.slot] : span.start;
  value.row(i)[s] = span.softmax ? 1.0f : alphas.row(from)[span.slot];
}

// gather_sequences: one thread per element of x.   4·B·steps·(F + 1) bytes written, as many read: bandwidth-bound · no
// synchronisation, exact
struct SequenceRows {
  Mat<const float> features;
  Mat<const int32_t> first, lengths, sequence;
  Mat<float> x, length, valid;
  int steps;
};
inline SequenceRows sequence_rows(const Call& call) {
  const View *in = call.in, *out = call.out;
  return {Mat<const float>(in[0]),   Mat<const int32_t>(in[1]),
          Mat<const int32_t>(in[2]), Mat<const int32_t>(in[3]),
          Mat<float>(out[0]),        Mat<float>(out[1]),
          Mat<float>(out[2]),        static_cast<int>(static_cast<const GatherSequences*>(call.op)->steps)};
}
__device__ inline void gather_sequence_element(const SequenceRows& s, int b, int c) {
  const int t = c / s.features.cols, k = c % s.features.cols, i = s.sequence.row(b)[0],
            n = min(s.lengths.row(i)[0], s.steps);
  s.x.row(b)[c] = t < n ? s.features.row(s.first.row(i)[0] + t)[k] : 0.0f;
  if (k == 0) s.valid.row(b)[t] = t < n ? 1.0f : 0.0f;
  if (c == 0) s.length.row(b)[0] = static_cast<float>(n);
}

// mixture_draw: out[i, a] = mean[k, a] + Σ_b factor[k·d + a, b]·noise[i, b], k = component[i].   noise, out [rows, d] ·
// mean [K, d], factor [K·d, d]
//   2·d FLOP and 4·d bytes of factor per element, from cache: latency-bound · one thread per element, one chain over b
//   · no synchronisation
struct Mixture {
  Mat<const float> noise;
  Mat<const int32_t> component;
  Mat<const float> mean, factor;
  Mat<float> out;
};
inline Mixture mixture(const Call& call) {
  return {Mat<const float>(call.in[0]), Mat<const int32_t>(call.in[1]), Mat<const float>(call.in[2]),
          Mat<const float>(call.in[3]), Mat<float>(call.out[0])};
}
__device__ inline void mixture_element(const Mixture& m, int i, int a) {
  const int k = m.component.row(i)[0];
  const float *f = m.factor.row(k * m.out.cols + a), *e = m.noise.row(i);
  float sum = m.mean.row(k)[a];
  for (int b = 0; b < m.out.cols; ++b) sum += f[b] * e[b];
  m.out.row(i)[a] = sum;
}

// ---- as steps of a fused launch -------------------------------------------------------------------------------------
struct DrawStep {
  ConditionTables in;
  Mat<int32_t> condition, row;
  DrawConditions op;
};
template <>
struct Fused<DrawConditions> {
  using Step = DrawStep;
  static Step pack(const Call& call, Packing&) {
    return {condition_tables(call.in), Mat<int32_t>(call.out[0]), Mat<int32_t>(call.out[1]),
            *static_cast<const DrawConditions*>(call.op)};
  }
  __device__ static void rows(const Step& x, const RowsPart& p) {
    p.each_row([&](int r) { draw_condition(x.in, x.condition, x.row, p.state, x.op, r); });
  }
};

struct GatherStep {
  SpanTable spans;
  Mat<const int32_t> codes;
  Mat<const float> alphas;
  Mat<const int32_t> row;
  Mat<int32_t> index;
  Mat<float> value;
};
template <>
struct Fused<GatherRows> {
  using Step = GatherStep;
  static Step pack(const Call& call, Packing&) {
    const View *in = call.in, *out = call.out;
    return {*static_cast<const GatherRows*>(call.op)->spans,
            Mat<const int32_t>(in[0]),
            Mat<const float>(in[1]),
            Mat<const int32_t>(in[2]),
            Mat<int32_t>(out[0]),
            Mat<float>(out[1])};
  }
  __device__ static void rows(const Step& x, const RowsPart& p) {
    p.each_element(x.spans.count, [&](int r, int span) {
      gather_entry(x.spans, x.codes, x.alphas, x.row.row(r)[0], x.index, x.value, r, span);
    });
  }
};

template <>
struct Fused<GatherSequences> {
  using Step = SequenceRows;
  static Step pack(const Call& call, Packing&) { return sequence_rows(call); }
  __device__ static void rows(const Step& x, const RowsPart& p) {
    p.each_element(x.x.cols, [&](int r, int c) { gather_sequence_element(x, r, c); });
  }
};
template <>
struct Fused<MixtureDraw> {
  using Step = Mixture;
  static Step pack(const Call& call, Packing&) { return mixture(call); }
  __device__ static void rows(const Step& x, const RowsPart& p) {
    p.each_element(x.out.cols, [&](int r, int c) { mixture_element(x, r, c); });
  }
};

}  // namespace tessera::gpu
