// The spans of a row at once: tanh for positions, Gumbel softmax for choices (Jang et al. 2017), the condition's cross-entropy, the reconstruction loss, and the
// pieces they are made of.
//   a row of width W: one pass for −log(−log u) and the scale, one for exp, the rest per span; ~4·W transcendental functions, no memory beyond the row.
#include "kernels/cpu/tables.h"

namespace tessera::TESSERA_ISA {
namespace {

constexpr int64_t kRows = 8;
int64_t row_tiles(const Call& call) { return div_up(call.out[0].rows, kRows); }

template <class T>
T clamp(T u, T low, T high) {
  u = u < low ? low : u;
  return u > high ? high : u;
}

template <class T>
T span_max(const T* x, int width) {
  T m = x[0];
  for (int k = 1; k < width; ++k) m = x[k] > m ? x[k] : m;
  return m;
}

template <class T>
void activation_run(const Call& call, int64_t tile, void*) {
  const auto& op = *static_cast<const SpanActivation*>(call.op);
  const SpanTable& spans = *op.spans;
  const Mat<T> x(call.in[0]), u(call.in[1]), out(call.out[0]);
  const T low = static_cast<T>(op.u_low), high = static_cast<T>(op.u_high), inverse = static_cast<T>(1 / op.tau);
  const int64_t n = out.cols;
  const Range r = piece(tile, kRows, out.rows);
  for (int64_t i = r.begin; i < r.end; ++i) {
    const T *p = x.row(i), *q = u.row(i);
    T* to = out.row(i);
#pragma GCC ivdep
    for (int64_t c = 0; c < n; ++c) to[c] = (p[c] - log_of(-log_of(clamp(q[c], low, high)))) * inverse;
    for (int s = 0; s < spans.count; ++s) {
      const SpanTable::Item& span = spans.items[s];
      T* y = to + span.start;
      const T m = span.softmax ? span_max(y, span.width) : y[0];
      for (int k = 0; k < span.width; ++k) y[k] -= m;
    }
#pragma GCC ivdep
    for (int64_t c = 0; c < n; ++c) to[c] = exp_of(to[c]);
    for (int s = 0; s < spans.count; ++s) {
      const SpanTable::Item& span = spans.items[s];
      T* y = to + span.start;
      if (!span.softmax) {
        y[0] = tanh_of(p[span.start]);
        continue;
      }
      T sum = 0;
      for (int k = 0; k < span.width; ++k) sum += y[k];
      const T scale = T(1) / sum;
      for (int k = 0; k < span.width; ++k) y[k] *= scale;
    }
  }
}

template <class T>
void activation_grad_run(const Call& call, int64_t tile, void*) {
  const auto& op = *static_cast<const SpanActivationGrad*>(call.op);
  const SpanTable& spans = *op.spans;
  const Mat<T> y(call.in[0]), d(call.in[1]), out(call.out[0]);
  const T inverse = static_cast<T>(1 / op.tau);
  const Range r = piece(tile, kRows, out.rows);
  for (int64_t i = r.begin; i < r.end; ++i)
    for (int s = 0; s < spans.count; ++s) {
      const SpanTable::Item& span = spans.items[s];
      const T *p = y.row(i) + span.start, *q = d.row(i) + span.start;
      T* to = out.row(i) + span.start;
      if (!span.softmax) {
        to[0] = (T(1) - p[0] * p[0]) * q[0];
        continue;
      }
      T dot = 0;
      for (int k = 0; k < span.width; ++k) dot += p[k] * q[k];
      for (int k = 0; k < span.width; ++k) to[k] = p[k] * (q[k] - dot) * inverse;
    }
}

// The span a row's condition belongs to; nullptr for none.
const SpanTable::Item* chosen(const SpanTable& spans, int32_t condition) {
  return condition < 0 ? nullptr : &spans.items[spans.cond_span[condition]];
}

template <class T>
T log_sum_exp(const T* x, int width) {
  const T m = span_max(x, width);
  T sum = 0;
  for (int k = 0; k < width; ++k) sum += exp_of(x[k] - m);
  return m + log_of(sum);
}

template <class T>
void cross_entropy_run(const Call& call, int64_t tile, void*) {
  const SpanTable& spans = *static_cast<const SpanCrossEntropy*>(call.op)->spans;
  const Mat<T> x(call.in[0]), out(call.out[0]);
  const Mat<int32_t> condition(call.in[1]);
  const Range r = piece(tile, kRows, out.rows);
  for (int64_t i = r.begin; i < r.end; ++i) {
    const int32_t c = condition.row(i)[0];
    const SpanTable::Item* span = chosen(spans, c);
    const T* p = span == nullptr ? nullptr : x.row(i) + span->start;
    out.row(i)[0] = span == nullptr ? T(0) : log_sum_exp(p, span->width) - p[c - span->cond_start];
  }
}

template <class T>
void cross_entropy_grad_run(const Call& call, int64_t tile, void*) {
  const SpanTable& spans = *static_cast<const SpanCrossEntropyGrad*>(call.op)->spans;
  const Mat<T> x(call.in[0]), d(call.in[2]), out(call.out[0]);
  const Mat<int32_t> condition(call.in[1]);
  const Range r = piece(tile, kRows, out.rows);
  for (int64_t i = r.begin; i < r.end; ++i) {
    memset(out.row(i), 0, static_cast<size_t>(out.cols) * sizeof(T));
    const int32_t c = condition.row(i)[0];
    const SpanTable::Item* span = chosen(spans, c);
    if (span == nullptr) continue;
    const T *p = x.row(i) + span->start, lse = log_sum_exp(p, span->width), scale = d.row(i)[0];
    T* to = out.row(i) + span->start;
    for (int k = 0; k < span->width; ++k) to[k] = exp_of(p[k] - lse) * scale;
    to[c - span->cond_start] -= scale;
  }
}

// e^(x − m) of each span of a row, m its largest; the softmax spans' sums by softmax slot are left to the caller. Tanh spans hold no meaning.
template <class T>
void exp_of_spans(const SpanTable& spans, const T* x, T* to) {
  for (int s = 0; s < spans.count; ++s) {
    const SpanTable::Item& span = spans.items[s];
    const T* p = x + span.start;
    const T m = span_max(p, span.width);
    for (int k = 0; k < span.width; ++k) to[span.start + k] = p[k] - m;
  }
#pragma GCC ivdep
  for (int c = 0; c < spans.width; ++c) to[c] = exp_of(to[c]);
}

template <class T>
T sum_of(const T* x, int width) {
  T sum = 0;
  for (int k = 0; k < width; ++k) sum += x[k];
  return sum;
}

template <class T>
void reconstruction_run(const Call& call, int64_t tile, void* scratch) {
  const SpanTable& spans = *static_cast<const SpanReconstruction*>(call.op)->spans;
  const Mat<T> x(call.in[0]), value(call.in[2]), sigma(call.in[3]), out(call.out[0]);
  const Mat<int32_t> index(call.in[1]);
  T* e = static_cast<T*>(scratch);
  const Range r = piece(tile, kRows, out.rows);
  for (int64_t i = r.begin; i < r.end; ++i) {
    const T* p = x.row(i);
    exp_of_spans(spans, p, e);
    for (int s = 0; s < spans.count; ++s) {
      const SpanTable::Item& span = spans.items[s];
      if (span.softmax) {
        const T m = span_max(p + span.start, span.width);
        out.row(i)[s] = log_of(sum_of(e + span.start, span.width)) + (m - p[index.row(i)[s]]);
      } else {
        const T w = sigma.row(0)[span.slot], miss = (value.row(i)[s] - tanh_of(p[span.start])) / w;
        out.row(i)[s] = miss * miss * T(0.5) + log_of(w);
      }
    }
  }
}

template <class T>
void reconstruction_grad_run(const Call& call, int64_t tile, void*) {
  const SpanTable& spans = *static_cast<const SpanReconstructionGrad*>(call.op)->spans;
  const Mat<T> x(call.in[0]), value(call.in[2]), sigma(call.in[3]), d(call.in[4]), out(call.out[0]), d_sigma(call.out[1]);
  const Mat<int32_t> index(call.in[1]);
  const Range r = piece(tile, kRows, out.rows);
  for (int64_t i = r.begin; i < r.end; ++i) {
    T* to = out.row(i);
    exp_of_spans(spans, x.row(i), to);
    for (int s = 0; s < spans.count; ++s) {
      const SpanTable::Item& span = spans.items[s];
      const T g = d.row(i)[s];
      T* y = to + span.start;
      if (span.softmax) {
        const T scale = g / sum_of(y, span.width);
        for (int k = 0; k < span.width; ++k) y[k] *= scale;
        to[index.row(i)[s]] -= g;
      } else {
        const T w = sigma.row(0)[span.slot], t = tanh_of(x.row(i)[span.start]), miss = (value.row(i)[s] - t) / w;
        y[0] = -g * miss * (T(1) - t * t) / w;
        d_sigma.row(i)[span.slot] = g * (T(1) - miss * miss) / w;
      }
    }
  }
}

template <class T>
void reduce_run(const Call& call, int64_t tile, void*) {
  const auto& op = *static_cast<const SpanReduce*>(call.op);
  const Mat<T> x(call.in[0]), out(call.out[0]);
  const Range r = piece(tile, kRows, out.rows);
  for (int64_t i = r.begin; i < r.end; ++i)
    for (int s = 0; s < op.spans->count; ++s) {
      const T* p = x.row(i) + op.spans->items[s].start;
      const int width = op.spans->items[s].width;
      T sum = 0;
      for (int k = 0; k < width && !op.max; ++k) sum += p[k];
      out.row(i)[s] = op.max ? span_max(p, width) : sum;
    }
}

template <class T>
void spread_run(const Call& call, int64_t tile, void*) {
  const SpanTable& spans = *static_cast<const SpanSpread*>(call.op)->spans;
  const Mat<T> x(call.in[0]), out(call.out[0]);
  const Range r = piece(tile, kRows, out.rows);
  for (int64_t i = r.begin; i < r.end; ++i)
    for (int s = 0; s < spans.count; ++s)
      for (int k = 0; k < spans.items[s].width; ++k) out.row(i)[spans.items[s].start + k] = x.row(i)[s];
}

template <class T>
void mask_run(const Call& call, int64_t, void*) {
  const auto& op = *static_cast<const SpanMask*>(call.op);
  const Mat<T> out(call.out[0]);
  for (int s = 0; s < op.spans->count; ++s) {
    const SpanTable::Item& span = op.spans->items[s];
    for (int k = 0; k < span.width; ++k) out.row(0)[span.start + k] = (span.softmax != 0) == op.softmax ? T(1) : T(0);
  }
}

template <class T>
void sample_run(const Call& call, int64_t tile, void* scratch) {
  const auto& op = *static_cast<const SpanSample*>(call.op);
  const SpanTable& spans = *op.spans;
  const Mat<T> x(call.in[0]), u(call.in[1]), alphas(call.out[1]);
  const Mat<int32_t> codes(call.out[0]);
  const T low = static_cast<T>(op.u_low), high = static_cast<T>(op.u_high);
  T* g = static_cast<T*>(scratch);
  const Range r = piece(tile, kRows, x.rows);
  for (int64_t i = r.begin; i < r.end; ++i) {
    const T *p = x.row(i), *q = u.row(i);
#pragma GCC ivdep
    for (int64_t c = 0; c < x.cols; ++c) g[c] = p[c] - log_of(-log_of(clamp(q[c], low, high)));
    for (int s = 0; s < spans.count; ++s) {
      const SpanTable::Item& span = spans.items[s];
      if (!span.softmax) {
        alphas.row(i)[span.slot] = tanh_of(p[span.start]);
        continue;
      }
      int best = 0;
      for (int k = 1; k < span.width; ++k)
        if (g[span.start + k] > g[span.start + best]) best = k;
      codes.row(i)[span.slot] = best;
    }
  }
}
int64_t sample_tiles(const Call& call) { return div_up(call.in[0].rows, kRows); }
template <class T>
int64_t sample_scratch(const Call& call) {
  return call.in[0].cols * static_cast<int64_t>(sizeof(T));
}
int64_t one_tile(const Call&) { return 1; }

}  // namespace

template <class T>
void add_span(KernelTable& t) {
  t.span_activation = {row_tiles, activation_run<T>, nullptr};
  t.span_activation_grad = {row_tiles, activation_grad_run<T>, nullptr};
  t.span_cross_entropy = {row_tiles, cross_entropy_run<T>, nullptr};
  t.span_cross_entropy_grad = {row_tiles, cross_entropy_grad_run<T>, nullptr};
  t.span_reconstruction = {row_tiles, reconstruction_run<T>, sample_scratch<T>};
  t.span_reconstruction_grad = {row_tiles, reconstruction_grad_run<T>, nullptr};
  t.span_reduce = {row_tiles, reduce_run<T>, nullptr};
  t.span_spread = {row_tiles, spread_run<T>, nullptr};
  t.span_mask = {one_tile, mask_run<T>, nullptr};
  t.span_sample = {sample_tiles, sample_run<T>, sample_scratch<T>};
}
TESSERA_INSTANTIATE(add_span)

}  // namespace tessera::TESSERA_ISA
