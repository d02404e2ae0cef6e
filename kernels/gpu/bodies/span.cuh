// The spans of a row: tanh for positions, Gumbel softmax for choices (Jang et al. 2017), the condition's cross-entropy,
// and their parts.
//   x, y [rows, W], the spans adjacent; SpanTable (ops.h) is passed by value, its arrays are in device memory
//   One warp per (row, span), one lane per column in 32: spans differ in width, from one column to the size of a
//   table's largest category, and do not wait for each other. No barrier; sums over lanes by a butterfly, whose order
//   depends only on the span, so a row has the same bits in any batch.
#pragma once
#include "kernels/gpu/bodies/chain.cuh"

namespace tessera::gpu {

constexpr float kLowest = -__builtin_inff();

// The row and span of a warp.
struct SpanPlace {
  int row, number, lane;
  SpanTable::Item span;
};
__device__ inline SpanPlace span_place(const SpanTable& spans, int row, int number) {
  return {row, number, lane_id(), spans.items[number]};
}

__device__ inline float clamp(float u, float low, float high) {
  u = u < low ? low : u;
  return u > high ? high : u;
}
__device__ inline float gumbel(float u, float low, float high) { return -logf(-logf(clamp(u, low, high))); }

// The maximum of a span's values, ignoring NaN; at least one lane reads a value.
__device__ inline float span_max(const float* x, int width, int lane) {
  float m = kLowest;
  for (int k = lane; k < width; k += 32) m = x[k] > m ? x[k] : m;
  return warp_max(m);
}

// span_activation: y = softmax((x + gumbel(u))/tau) on softmax spans, tanh(x) on tanh spans.
//   12·rows·W bytes, ~4 transcendental functions per element: bandwidth-bound once the functions overlap · a lane reads
//   back only what it wrote
__device__ inline void span_activation(const SpanPlace& p, const Mat<const float>& x, const Mat<const float>& u,
                                       const Mat<float>& out, float inverse_tau, float low, float high) {
  const float* logit = x.row(p.row) + p.span.start;
  const float* noise = u.row(p.row) + p.span.start;
  float* y = out.row(p.row) + p.span.start;
  if (!p.span.softmax) {
    if (p.lane == 0) y[0] = tanhf(logit[0]);
    return;
  }
  if (p.span.width <= 32) {  // a lane keeps its only column: otherwise it would wait for memory three times
    const bool any = p.lane < p.span.width;
    const float own = any ? (logit[p.lane] + gumbel(noise[p.lane], low, high)) * inverse_tau : kLowest,
                top = warp_max(own > kLowest ? own : kLowest), e = any ? expf(own - top) : 0.0f,
                scale = 1.0f / warp_sum(e);
    if (any) y[p.lane] = e * scale;
    return;
  }
  float m = kLowest;
  for (int k = p.lane; k < p.span.width; k += 32) {
    y[k] = (logit[k] + gumbel(noise[k], low, high)) * inverse_tau;
    m = y[k] > m ? y[k] : m;
  }
  m = warp_max(m);
  float sum = 0;
  for (int k = p.lane; k < p.span.width; k += 32) {
    y[k] = expf(y[k] - m);
    sum += y[k];
  }
  const float scale = 1.0f / warp_sum(sum);
  for (int k = p.lane; k < p.span.width; k += 32) y[k] *= scale;
}

// span_activation_grad: d_x = y·(d − Σ y·d)/tau on softmax spans, (1 − y²)·d on tanh spans.   y, d, d_x [rows, W]
//   12·rows·W bytes (y and d are read twice, the second time from cache), 5 FLOP per element: bandwidth-bound
__device__ inline void span_activation_grad(const SpanPlace& p, const Mat<const float>& y, const Mat<const float>& d,
                                            const Mat<float>& out, float inverse_tau) {
  const float* a = y.row(p.row) + p.span.start;
  const float* b = d.row(p.row) + p.span.start;
  float* to = out.row(p.row) + p.span.start;
  if (!p.span.softmax) {
    if (p.lane == 0) to[0] = (1.0f - a[0] * a[0]) * b[0];
    return;
  }
  float dot = 0, first_a = 0, first_b = 0;  // a lane keeps its first column
  if (p.lane < p.span.width) first_a = a[p.lane], first_b = b[p.lane], dot = first_a * first_b;
  for (int k = p.lane + 32; k < p.span.width; k += 32) dot += a[k] * b[k];
  dot = warp_sum(dot);
  if (p.lane < p.span.width) to[p.lane] = first_a * (first_b - dot) * inverse_tau;
  for (int k = p.lane + 32; k < p.span.width; k += 32) to[k] = a[k] * (b[k] - dot) * inverse_tau;
}

__device__ inline float log_sum_exp(const float* x, int width, int lane) {
  const float m = span_max(x, width, lane);
  float sum = 0;
  for (int k = lane; k < width; k += 32) sum += expf(x[k] - m);
  return m + logf(warp_sum(sum));
}

// span_cross_entropy: out[r] = −log softmax(x's span)[chosen]; 0 for condition −1.   x [rows, W], condition [rows, 1]
// int32 · out [rows, 1]
//   one warp per row, only the chosen span is read, twice: latency-bound
__device__ inline void span_cross_entropy(const SpanTable& spans, const Mat<const float>& x,
                                          const Mat<const int32_t>& condition, const Mat<float>& out, int r) {
  const int lane = lane_id();
  const int c = condition.row(r)[0];
  float loss = 0;
  if (c >= 0) {
    const SpanTable::Item span = spans.items[spans.cond_span[c]];
    const float* p = x.row(r) + span.start;
    loss = log_sum_exp(p, span.width, lane) - p[c - span.cond_start];
  }
  if (lane == 0) out.row(r)[0] = loss;
}

// span_cross_entropy_grad: d_x = (softmax − one-hot)·d in the chosen span, 0 elsewhere.   x, d_x [rows, W], d [rows, 1]
//   one warp per row; 4·rows·W bytes written: bandwidth-bound
__device__ inline void span_cross_entropy_grad(const SpanTable& spans, const Mat<const float>& x,
                                               const Mat<const int32_t>& condition, const Mat<const float>& d,
                                               const Mat<float>& out, int r) {
  const int lane = lane_id();
  const int c = condition.row(r)[0];
  SpanTable::Item span{0, 0, 1, 0, 0};
  float lse = 0, scale = 0;
  if (c >= 0) {
    span = spans.items[spans.cond_span[c]];
    lse = log_sum_exp(x.row(r) + span.start, span.width, lane);
    scale = d.row(r)[0];
  }
  const float* p = x.row(r);
  float* to = out.row(r);
  const int end = span.start + span.width, hot = span.start + c - span.cond_start;
  for (int k = lane; k < out.cols; k += 32) {
    const float inside = k >= span.start && k < end ? expf(p[k] - lse) * scale : 0.0f;
    to[k] = c >= 0 && k == hot ? inside - scale : inside;
  }
}

// span_reconstruction: −log of the decoder's density, constants dropped: (value − tanh(x))²/(2σ²) + ln σ on tanh spans,
// −log softmax(x's span)[index] on softmax spans.
//   x [rows, W], index, value [rows, S] (index is a column of the row), sigma [1, A] · out [rows, S]
//   4·rows·(W + 3·S) bytes, x read twice, the second time from cache; one exponential per element: bandwidth-bound
struct Reconstruction {
  Mat<const float> x;
  Mat<const int32_t> index;
  Mat<const float> value, sigma;
};
inline Reconstruction reconstruction(const Call& call) {
  return {Mat<const float>(call.in[0]), Mat<const int32_t>(call.in[1]), Mat<const float>(call.in[2]),
          Mat<const float>(call.in[3])};
}
__device__ inline void span_reconstruction(const SpanPlace& p, const Reconstruction& in, const Mat<float>& out) {
  const float* x = in.x.row(p.row);
  float loss = 0;
  if (p.span.softmax) {
    const float m = span_max(x + p.span.start, p.span.width, p.lane);
    float sum = 0;
    for (int k = p.lane; k < p.span.width; k += 32) sum += expf(x[p.span.start + k] - m);
    loss = logf(warp_sum(sum)) + (m - x[in.index.row(p.row)[p.number]]);
  } else {
    const float w = in.sigma.row(0)[p.span.slot], miss = (in.value.row(p.row)[p.number] - tanhf(x[p.span.start])) / w;
    loss = miss * miss * 0.5f + logf(w);
  }
  if (p.lane == 0) out.row(p.row)[p.number] = loss;
}

// span_reconstruction_grad: d_x = (softmax − one-hot)·d, or −d·miss·(1 − tanh²)/σ, and each row's share of d_sigma =
// d·(1 − miss²)/σ, miss = (value − tanh(x))/σ.
//   d [rows, S] · d_x [rows, W], d_sigma [rows, A]; 4·rows·(2·W + 4·S) bytes: bandwidth-bound · a lane reads back only
//       what it wrote
__device__ inline void span_reconstruction_grad(const SpanPlace& p, const Reconstruction& in, const Mat<const float>& d,
                                                const Mat<float>& d_x, const Mat<float>& d_sigma) {
  const float* x = in.x.row(p.row) + p.span.start;
  float* to = d_x.row(p.row) + p.span.start;
  const float g = d.row(p.row)[p.number];
  if (!p.span.softmax) {
    if (p.lane != 0) return;
    const float w = in.sigma.row(0)[p.span.slot], t = tanhf(x[0]), miss = (in.value.row(p.row)[p.number] - t) / w;
    to[0] = -g * miss * (1.0f - t * t) / w;
    d_sigma.row(p.row)[p.span.slot] = g * (1.0f - miss * miss) / w;
    return;
  }
  const float m = span_max(x, p.span.width, p.lane);
  float sum = 0;
  for (int k = p.lane; k < p.span.width; k += 32) {
    to[k] = expf(x[k] - m);
    sum += to[k];
  }
  const float scale = g / warp_sum(sum);
  const int hot = in.index.row(p.row)[p.number] - p.span.start;
  for (int k = p.lane; k < p.span.width; k += 32) to[k] = k == hot ? to[k] * scale - g : to[k] * scale;
}

// span_reduce: out[r, s] = sum of x or x·y, or max of x, over span s.   x, y [rows, W] · out [rows, S];
// 4·rows·(W + S) bytes for each: bandwidth-bound
//   The maximum is that of a scan from the first column with >: NaN in the first column stays, NaN elsewhere is
//   ignored.
__device__ inline void span_reduce(const SpanPlace& p, const Mat<const float>& x, const Mat<const float>& y,
                                   const Mat<float>& out, bool max) {
  const float* from = x.row(p.row) + p.span.start;
  float result;
  if (max) {
    result = span_max(from, p.span.width, p.lane);
    if (from[0] != from[0]) result = from[0];
  } else {
    const float* by = y.data != nullptr ? y.row(p.row) + p.span.start : nullptr;
    float sum = 0;
    for (int k = p.lane; k < p.span.width; k += 32) sum += by != nullptr ? from[k] * by[k] : from[k];
    result = warp_sum(sum);
  }
  if (p.lane == 0) out.row(p.row)[p.number] = result;
}

// span_spread: out[r, k] = x[r, s] for the columns k of span s.   x [rows, S] · out [rows, W]; bandwidth-bound, exact
__device__ inline void span_spread(const SpanPlace& p, const Mat<const float>& x, const Mat<float>& out) {
  const float v = x.row(p.row)[p.number];
  float* to = out.row(p.row) + p.span.start;
  for (int k = p.lane; k < p.span.width; k += 32) to[k] = v;
}

// span_mask: out[0, k] = 1 on tanh spans (or on softmax spans), 0 elsewhere.   out [1, W], exact
__device__ inline void span_mask(const SpanPlace& p, float* out, bool softmax) {
  for (int k = p.lane; k < p.span.width; k += 32)
    out[p.span.start + k] = (p.span.softmax != 0) == softmax ? 1.0f : 0.0f;
}

// span_sample: alphas = tanh(x), codes = argmax(x + gumbel(u)), a draw from softmax(x); the lowest index on a tie.   x,
// u [rows, W] · codes [rows, C], alphas [rows, A]
//   8·rows·W bytes, two logarithms per element: bandwidth-bound once they overlap · maxima are exact, so any order
//   gives the same draw
__device__ inline void span_sample(const SpanPlace& p, const Mat<const float>& x, const Mat<const float>& u,
                                   const Mat<int32_t>& codes, const Mat<float>& alphas, float low, float high) {
  const float* logit = x.row(p.row) + p.span.start;
  if (!p.span.softmax) {
    if (p.lane == 0) alphas.row(p.row)[p.span.slot] = tanhf(logit[0]);
    return;
  }
  const float* noise = u.row(p.row) + p.span.start;
  float best = kLowest;
  int at = 0x7FFFFFFF;
  for (int k = p.lane; k < p.span.width; k += 32) {
    const float g = logit[k] + gumbel(noise[k], low, high);
    if (g > best) best = g, at = k;
  }
  warp_argmax(best, at);
  // A scan from the first column with >: if no value is greater the first column wins, and NaN there is never exceeded.
  const float first = logit[0] + gumbel(noise[0], low, high);
  if (at == 0x7FFFFFFF || first != first) at = 0;
  if (p.lane == 0) codes.row(p.row)[p.span.slot] = at;
}

// span_draw: the lowest level whose e^(x − m), with those before it, exceeds u times the whole.   x [rows, W],
// u [rows, S] · codes [rows, S]
//   4·rows·W bytes, two exponentials per element: bandwidth-bound · a lane sums adjacent levels; the lanes' sums are
//   added in order, so a row has the same draw in any batch
__device__ inline void span_draw(const SpanPlace& p, const Mat<const float>& x, const Mat<const float>& u,
                                 const Mat<int32_t>& codes) {
  const float* logit = x.row(p.row) + p.span.start;
  const int width = p.span.width, share = (width + 31) / 32;
  const int first = min(p.lane * share, width), last = min(first + share, width);
  const float m = span_max(logit, width, p.lane);
  float own = 0, sum = 0, whole = 0;
  for (int k = first; k < last; ++k) own += expf(logit[k] - m);
  for (int lane = 0; lane < 32; ++lane) {
    const float other = __shfl_sync(kWholeWarp, own, lane);
    if (lane < p.lane) sum += other;
    whole += other;
  }
  const float at = u.row(p.row)[p.number] * whole;
  int drawn = width, possible = 0;
  for (int k = first; k < last; ++k) {
    const float e = expf(logit[k] - m);
    sum += e;
    if (e > 0) possible = k;
    if (drawn == width && e > 0 && sum > at) drawn = k;
  }
  drawn = warp_min(drawn);
  possible = warp_max(possible);
  if (drawn == width) drawn = whole == whole ? possible : 0;
  if (p.lane == 0) codes.row(p.row)[p.number] = drawn;
}

// ---- as steps of a fused launch -------------------------------------------------------------------------------------
template <class F>
__device__ inline void each_span(const SpanTable& spans, const Rows& rows, F&& f) {
  each_warp(rows.count * spans.count, [&](int i) { f(span_place(spans, rows.at(i / spans.count), i % spans.count)); });
}

struct SpanStep {
  SpanTable spans;
  Mat<const float> x, y;
  Mat<const int32_t> condition;
  Mat<float> out;
  float inverse_tau, low, high;
};
inline SpanStep activation_step(const Call& call, const SpanTable& spans, double tau, double low, double high) {
  return {spans,
          Mat<const float>(call.in[0]),
          Mat<const float>(call.in[1]),
          Mat<const int32_t>(View{}),
          Mat<float>(call.out[0]),
          static_cast<float>(1 / tau),
          static_cast<float>(low),
          static_cast<float>(high)};
}
template <>
struct Fused<SpanActivation> {
  using Step = SpanStep;
  static Step pack(const Call& call, Packing&) {
    const auto& op = *static_cast<const SpanActivation*>(call.op);
    return activation_step(call, *op.spans, op.tau, op.u_low, op.u_high);
  }
  __device__ static void rows(const Step& x, const RowsPart& p) {
    each_span(x.spans, p.rows,
              [&](const SpanPlace& at) { span_activation(at, x.x, x.y, x.out, x.inverse_tau, x.low, x.high); });
  }
};
template <>
struct Fused<SpanActivationGrad> {
  using Step = SpanStep;
  static Step pack(const Call& call, Packing&) {
    const auto& op = *static_cast<const SpanActivationGrad*>(call.op);
    return activation_step(call, *op.spans, op.tau, 0, 0);
  }
  __device__ static void rows(const Step& x, const RowsPart& p) {
    each_span(x.spans, p.rows, [&](const SpanPlace& at) { span_activation_grad(at, x.x, x.y, x.out, x.inverse_tau); });
  }
};
template <>
struct Fused<SpanCrossEntropy> {
  using Step = SpanStep;
  static Step pack(const Call& call, Packing&) {
    const SpanTable& spans = *static_cast<const SpanCrossEntropy*>(call.op)->spans;
    return {spans,
            Mat<const float>(call.in[0]),
            Mat<const float>(View{}),
            Mat<const int32_t>(call.in[1]),
            Mat<float>(call.out[0]),
            0,
            0,
            0};
  }
  __device__ static void rows(const Step& x, const RowsPart& p) {
    p.each_row_by_warp([&](int r) { span_cross_entropy(x.spans, x.x, x.condition, x.out, r); });
  }
};
template <>
struct Fused<SpanCrossEntropyGrad> {
  using Step = SpanStep;
  static Step pack(const Call& call, Packing&) {
    const SpanTable& spans = *static_cast<const SpanCrossEntropyGrad*>(call.op)->spans;
    return {spans,
            Mat<const float>(call.in[0]),
            Mat<const float>(call.in[2]),
            Mat<const int32_t>(call.in[1]),
            Mat<float>(call.out[0]),
            0,
            0,
            0};
  }
  __device__ static void rows(const Step& x, const RowsPart& p) {
    p.each_row_by_warp([&](int r) { span_cross_entropy_grad(x.spans, x.x, x.condition, x.y, x.out, r); });
  }
};

struct ReconstructionStep {
  SpanTable spans;
  Reconstruction in;
  Mat<const float> d;
  Mat<float> out, d_sigma;
};
template <>
struct Fused<SpanReconstruction> {
  using Step = ReconstructionStep;
  static Step pack(const Call& call, Packing&) {
    return {*static_cast<const SpanReconstruction*>(call.op)->spans, reconstruction(call), Mat<const float>(View{}),
            Mat<float>(call.out[0]), Mat<float>(View{})};
  }
  __device__ static void rows(const Step& x, const RowsPart& p) {
    each_span(x.spans, p.rows, [&](const SpanPlace& at) { span_reconstruction(at, x.in, x.out); });
  }
};
template <>
struct Fused<SpanReconstructionGrad> {
  using Step = ReconstructionStep;
  static Step pack(const Call& call, Packing&) {
    return {*static_cast<const SpanReconstructionGrad*>(call.op)->spans, reconstruction(call),
            Mat<const float>(call.in[4]), Mat<float>(call.out[0]), Mat<float>(call.out[1])};
  }
  __device__ static void rows(const Step& x, const RowsPart& p) {
    each_span(x.spans, p.rows, [&](const SpanPlace& at) { span_reconstruction_grad(at, x.in, x.d, x.out, x.d_sigma); });
  }
};

}  // namespace tessera::gpu
