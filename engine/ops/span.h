// The span ops: fused forms with their compositions, and the simple ops.
#pragma once
#include "engine/ops/rule.h"

namespace tessera {

inline Var span_sum(Var x, const SpanTable* s) { return x.r->emit1(SpanReduce{s, false}, {x}); }
inline Var span_max(Var x, const SpanTable* s) { return x.r->emit1(SpanReduce{s, true}, {x}); }
inline Var span_spread(Var x, const SpanTable* s) { return x.r->emit1(SpanSpread{s}, {x}); }
inline Var span_mask(Recorder& r, const SpanTable* s, bool softmax) { return r.emit1(SpanMask{s, softmax}, {}); }
inline Var span_softmax(Var x, const SpanTable* s) {
  const Var e = exp(x - span_spread(span_max(x, s), s));
  return e / span_spread(span_sum(e, s), s);
}

struct PerSpan {
  template <class T>
  static double flops(const T&, const Shapes& in, const Shapes&) {
    return 48 * static_cast<double>(in.empty() ? 0 : in[0].count());
  }
};

template <>
struct Rule<SpanActivation> : PerSpan {
  static constexpr Traits traits{
      .rows = Follows::each(), .cols = Follows::never(), .elements = Follows::never(), .batch = true, .wide = {0, 1}};
  static std::vector<Result> infer(const SpanActivation& op, const Shapes& in) {
    require(in[0].cols == op.spans->width && in[0] == in[1], "span_activation");
    return {{in[0]}};
  }
  static std::vector<Var> vjp(Recorder& r, const SpanActivation& op, const Vjp& v) {
    return {r.emit1(SpanActivationGrad{op.spans, op.tau}, {v.out[0], v.d_out[0]}), Var{}};
  }
  static std::vector<Var> compose(Recorder& r, const SpanActivation& op, const std::vector<Var>& in) {
    const Var noise = -1.0 * log(-1.0 * log(clamp(in[1], op.u_low, op.u_high)));
    const Var soft = span_softmax((1 / op.tau) * (in[0] + noise), op.spans);
    return {tanh(in[0]) * span_mask(r, op.spans, false) + soft * span_mask(r, op.spans, true)};
  }
};

template <>
struct Rule<SpanActivationGrad> : PerSpan {
  static constexpr Traits traits{.rows = Follows::each(),
                                 .cols = Follows::never(),
                                 .elements = Follows::never(),
                                 .zero = {Zero::if_any, {1}},
                                 .wide = {0, 1}};
  static std::vector<Result> infer(const SpanActivationGrad&, const Shapes& in) { return {{in[0]}}; }
  static std::vector<Var> compose(Recorder& r, const SpanActivationGrad& op, const std::vector<Var>& in) {
    const Var y = in[0], d = in[1];
    const Var soft = (1 / op.tau) * (y * (d - span_spread(span_sum(y * d, op.spans), op.spans)));
    return {(1.0 - y * y) * d * span_mask(r, op.spans, false) + soft * span_mask(r, op.spans, true)};
  }
};

template <>
struct Rule<SpanCrossEntropy> : PerSpan {
  static constexpr Traits traits{
      .rows = Follows::each(), .cols = Follows::never(), .elements = Follows::never(), .wide = {0}};
  static std::vector<Result> infer(const SpanCrossEntropy&, const Shapes& in) { return {{{in[0].rows, 1}}}; }
  static std::vector<Var> vjp(Recorder& r, const SpanCrossEntropy& op, const Vjp& v) {
    return {r.emit1(SpanCrossEntropyGrad{op.spans}, {v.in[0], v.in[1], v.d_out[0]}), Var{}};
  }
  // The category spans side by side, in the order of the condition vector; `full` maps [B, cond_width] back to [B,
  // width].
  static Var conditional(const SpanTable* s, Var x) {
    std::vector<Var> parts;
    for (int i = 0; i < s->count; ++i)
      if (s->items[i].cond_start >= 0) parts.push_back(slice_cols(x, s->items[i].start, s->items[i].width));
    return concat_cols(parts);
  }
  static Var full(Recorder& r, const SpanTable* s, Var x) {
    std::vector<Var> parts;
    for (int i = 0; i < s->count; ++i) {
      const SpanTable::Item& span = s->items[i];
      parts.push_back(span.cond_start < 0 ? fill(r, {x.rows(), span.width}, 0)
                                          : slice_cols(x, span.cond_start, span.width));
    }
    return concat_cols(parts);
  }
  static std::vector<Var> compose(Recorder& r, const SpanCrossEntropy& op, const std::vector<Var>& in) {
    const SpanTable* s = op.spans;
    if (s->cond_width == 0) return {fill(r, {in[0].rows(), 1}, 0)};
    const Var max = span_max(in[0], s), lse = max + log(span_sum(exp(in[0] - span_spread(max, s)), s));
    return {r.emit1(SparsePick{s->cond_width, 1}, {in[1], conditional(s, span_spread(lse, s) - in[0])})};
  }
};

template <>
struct Rule<SpanCrossEntropyGrad> : PerSpan {
  static constexpr Traits traits{.rows = Follows::each(),
                                 .cols = Follows::never(),
                                 .elements = Follows::never(),
                                 .zero = {Zero::if_any, {2}},
                                 .wide = {0}};
  static std::vector<Result> infer(const SpanCrossEntropyGrad&, const Shapes& in) { return {{in[0]}}; }
  static std::vector<Var> compose(Recorder& r, const SpanCrossEntropyGrad& op, const std::vector<Var>& in) {
    const SpanTable* s = op.spans;
    if (s->cond_width == 0) return {fill(r, in[0].shape(), 0)};
    const Var hot = Rule<SpanCrossEntropy>::full(r, s, sparse_dense(in[1], in[2], s->cond_width, 1));
    return {span_softmax(in[0], s) * span_spread(span_sum(hot, s), s) - hot};
  }
};

template <>
struct Rule<SpanReconstruction> : PerSpan {
  static constexpr Traits traits{.rows = Follows::of(OperandSet::but({3})),
                                 .cols = Follows::never(),
                                 .elements = Follows::never(),
                                 .batch = true,
                                 .wide = {0},
                                 .numbers = {3}};
  static std::vector<Result> infer(const SpanReconstruction& op, const Shapes& in) {
    require(in[0].cols == op.spans->width && in[1].cols == op.spans->count && in[1] == in[2] &&
                in[3].cols == op.spans->tanhs,
            "span_reconstruction");
    return {{{in[0].rows, op.spans->count}}};
  }
  static std::vector<Var> vjp(Recorder& r, const SpanReconstruction& op, const Vjp& v) {
    const auto g = r.emit(SpanReconstructionGrad{op.spans}, {v.in[0], v.in[1], v.in[2], v.in[3], v.d_out[0]});
    return {g[0], Var{}, Var{}, v.in[3] ? sum_rows(g[1]) : Var{}};
  }
  // [1, S]: `tanh` or `softmax` by the kind of span; and the σ of each tanh span, 1 under the softmax spans.
  static Var by_kind(Recorder& r, const SpanTable* s, double tanh, double softmax) {
    std::vector<Var> parts;
    for (int i = 0; i < s->count; ++i) parts.push_back(fill(r, {1, 1}, s->items[i].softmax != 0 ? softmax : tanh));
    return concat_cols(parts);
  }
  static Var sigmas(Recorder& r, const SpanTable* s, Var sigma) {
    std::vector<Var> parts;
    for (int i = 0; i < s->count; ++i)
      parts.push_back(s->items[i].softmax != 0 ? fill(r, {1, 1}, 1) : slice_cols(sigma, s->items[i].slot, 1));
    return concat_cols(parts);
  }
  static std::vector<Var> compose(Recorder& r, const SpanReconstruction& op, const std::vector<Var>& in) {
    const SpanTable* s = op.spans;
    const Var picked = r.emit1(SparsePick{s->width, s->count}, {in[1], in[0]}), sigma = sigmas(r, s, in[3]);
    const Var max = span_max(in[0], s), lse = max + log(span_sum(exp(in[0] - span_spread(max, s)), s));
    const Var miss = (in[2] - tanh(picked)) / sigma;
    return {(0.5 * (miss * miss) + log(sigma)) * by_kind(r, s, 1, 0) + (lse - picked) * by_kind(r, s, 0, 1)};
  }
};

template <>
struct Rule<SpanReconstructionGrad> : PerSpan {
  static constexpr Traits traits{.rows = Follows::of(OperandSet::but({3})),
                                 .cols = Follows::never(),
                                 .elements = Follows::never(),
                                 .wide = {0},
                                 .numbers = {3}};
  static std::vector<Result> infer(const SpanReconstructionGrad& op, const Shapes& in) {
    return {{in[0]}, {{in[0].rows, op.spans->tanhs}}};
  }
  static std::vector<Var> compose(Recorder& r, const SpanReconstructionGrad& op, const std::vector<Var>& in) {
    const SpanTable* s = op.spans;
    const Var picked = r.emit1(SparsePick{s->width, s->count}, {in[1], in[0]}),
              sigma = Rule<SpanReconstruction>::sigmas(r, s, in[3]), d = in[4];
    const Var y = tanh(picked), miss = (in[2] - y) / sigma;
    const Var of_tanh = (-1.0 * (d * (miss * (1.0 - y * y)))) / sigma, of_sigma = (d * (1.0 - miss * miss)) / sigma;
    const Var hot = r.emit1(SparseDense{s->width, s->count}, {in[1], d});
    std::vector<Var> rows;
    for (int i = 0; i < s->count; ++i)
      if (s->items[i].softmax == 0) rows.push_back(slice_cols(of_sigma, i, 1));
    return {(span_softmax(in[0], s) * span_spread(d, s) - hot) * span_mask(r, s, true) +
                span_spread(of_tanh, s) * span_mask(r, s, false),
            rows.empty() ? fill(r, {in[0].rows(), 0}, 0) : concat_cols(rows)};
  }
};

template <>
struct Rule<SpanReduce> : Light {
  static constexpr Traits traits{.rows = Follows::each(), .cols = Follows::never(), .elements = Follows::never()};
  static std::vector<Result> infer(const SpanReduce& op, const Shapes& in) { return {{{in[0].rows, op.spans->count}}}; }
  static std::vector<Var> vjp(Recorder&, const SpanReduce& op, const Vjp& v) {
    if (op.max) return {};  // used only as a shift inside softmax, which does not depend on it
    const Var d = span_spread(v.d_out[0], op.spans);
    if (v.in.size() == 1) return {d};
    return {d * v.in[1], d * v.in[0]};
  }
};

template <>
struct Rule<SpanSpread> : Free {
  static constexpr Traits traits{
      .rows = Follows::each(), .cols = Follows::never(), .elements = Follows::never(), .zero = {Zero::if_all, {0}}};
  static std::vector<Result> infer(const SpanSpread& op, const Shapes& in) { return {{{in[0].rows, op.spans->width}}}; }
  static std::vector<Var> vjp(Recorder&, const SpanSpread& op, const Vjp& v) {
    return {span_sum(v.d_out[0], op.spans)};
  }
};

template <>
struct Rule<SpanMask> : NoGradient, Free {
  static constexpr Traits traits{.rows = Follows::never(), .cols = Follows::never(), .elements = Follows::never()};
  static std::vector<Result> infer(const SpanMask& op, const Shapes&) { return {{{1, op.spans->width}}}; }
};

template <>
struct Rule<SpanSample> : NoGradient, PerSpan {
  static constexpr Traits traits{.rows = Follows::each(), .cols = Follows::never(), .elements = Follows::never()};
  static std::vector<Result> infer(const SpanSample& op, const Shapes& in) {
    return {{{in[0].rows, op.spans->softmaxes}, DType::index}, {{in[0].rows, op.spans->tanhs}}};
  }
};

template <>
struct Rule<SpanDraw> : NoGradient, PerSpan {
  static constexpr Traits traits{.rows = Follows::each(), .cols = Follows::never(), .elements = Follows::never()};
  static std::vector<Result> infer(const SpanDraw& op, const Shapes& in) {
    require(in[0].cols == op.spans->width && op.spans->tanhs == 0 && in[1].cols == op.spans->count, "span_draw");
    return {{{in[0].rows, op.spans->count}, DType::index}};
  }
};

}  // namespace tessera
