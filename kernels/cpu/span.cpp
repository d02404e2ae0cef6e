// The spans of a row at once: tanh for positions, Gumbel softmax for choices (Jang et al. 2017), the condition's
// cross-entropy, the reconstruction loss, and their parts.
//   a row of width W: one pass for −log(−log u) and the scale, one for exp, the rest per span; ~4·W transcendental
//       functions, no memory beyond the row.
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

// 1 − y²: the derivative of tanh where it is y.
template <class T>
T tanh_slope(T y) {
  return mul_add(-y, y, T(1));
}

template <class T>
T span_max(const T* x, int width) {
  T m = x[0];
  for (int k = 1; k < width; ++k) m = x[k] > m ? x[k] : m;
  return m;
}

template <class T>
Vec<T> first_of(const T* x, int n) {  // zeros beyond n
  return n < Simd<T>::kLanes ? load_part(x, n) : load(x);
}

// Σ x, or Σ x·y. Sixteen interleaved sums, added in halves: the order depends on the width alone.
template <class T>
T span_total(const T* x, const T* y, int width) {
  constexpr int kWays = 16, L = Simd<T>::kLanes, kVectors = kWays / L;
  Vec<T> sum[kVectors] = {};
  for (int k = 0; k < width; k += kWays)
    for (int v = 0; v < kVectors; ++v) {
      const int n = width - k - v * L;
      if (n <= 0) continue;
      const Vec<T> own = first_of(x + k + v * L, n);
      sum[v] += y == nullptr ? own : own * first_of(y + k + v * L, n);
    }
  T way[kWays];
  for (int v = 0; v < kVectors; ++v) store(way + v * L, sum[v]);
#pragma GCC unroll 4
  for (int half = kWays / 2; half > 0; half /= 2)
    for (int w = 0; w < half; ++w) way[w] += way[w + half];
  return way[0];
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
        to[0] = tanh_slope(p[0]) * q[0];
        continue;
      }
      T dot = 0;
      for (int k = 0; k < span.width; ++k) dot = mul_add(p[k], q[k], dot);
      for (int k = 0; k < span.width; ++k) to[k] = p[k] * (q[k] - dot) * inverse;
    }
}

// The span of a row's condition; nullptr for none.
const SpanTable::Item* chosen(const SpanTable& spans, int32_t condition) {
  return condition < 0 ? nullptr : &spans.items[spans.cond_span[condition]];
}

template <class T>
T exp_sum(const T* x, int width, T m) {
  T sum = 0;
  for (int k = 0; k < width; ++k) sum += exp_of(x[k] - m);
  return sum;
}
template <class T>
T log_sum_exp(const T* x, int width) {
  const T m = span_max(x, width);
  return m + log_of(exp_sum(x, width, m));
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

// ---- reconstruction -----------------------------------------------------------------------------
// Spans are narrow. A tile therefore has as many rows as a vector has lanes, and columns are vectors: a span's maximum,
// sum and logarithm are computed for all these rows at once. Adjacent spans of up to kColumns columns are processed
// together; a wider span is processed row by row.
constexpr int kColumns = 256;

struct SpanGroup {
  int first, last, begin, width;  // spans [first, last), columns [begin, begin + width)
};
SpanGroup group_from(const SpanTable& spans, int first) {
  SpanGroup s{first, first + 1, spans.items[first].start, spans.items[first].width};
  while (s.last < spans.count && s.width + spans.items[s.last].width <= kColumns)
    s.width += spans.items[s.last++].width;
  return s;
}

template <class T>
struct Columns {
  static constexpr int L = Simd<T>::kLanes < 4 ? 4 : Simd<T>::kLanes;
  int64_t begin, count;     // rows; beyond the last row its values are repeated
  T e[kColumns * L];        // by column: e^(x − m), m the span's maximum; meaningless for a tanh span
  T of_span[kColumns * L];  // by span: m; x for a tanh span

  int64_t row(int l) const { return begin + min_of(l, count - 1); }

  void read(const SpanTable& spans, const SpanGroup& s, const Mat<T>& x) {
    for (int l = 0; l < L; l += 4) {
      const T* rows[4];
      for (int q = 0; q < 4; ++q) rows[q] = x.row(row(l + q)) + s.begin;
      transpose4(rows, s.width, e + l, L);
    }
    for (int j = s.first; j < s.last; ++j) {
      const SpanTable::Item& span = spans.items[j];
      T *p = e + (span.start - s.begin) * L, *m = of_span + (j - s.first) * L;
      for (int l = 0; l < L; l += Simd<T>::kLanes) {
        Vec<T> largest = load(p + l);
        for (int k = 1; k < span.width; ++k) {
          const Vec<T> v = load(p + k * L + l);
          largest = v > largest ? v : largest;
        }
        for (int k = 0; k < span.width; ++k) store(p + k * L + l, load(p + k * L + l) - largest);
        store(m + l, largest);
      }
    }
    for (int k = 0; k < s.width * L; ++k) e[k] = exp_of(e[k]);
  }
  void sum(const T* p, int width, T* to) const {
    T total[L] = {};
    for (int k = 0; k < width; ++k)
      for (int l = 0; l < L; ++l) total[l] += p[k * L + l];
    memcpy(to, total, sizeof total);
  }
  // Stores n columns, in each row from column `at`.
  void write(const T* from, int n, const Mat<T>& out, int64_t at) const {
    for (int l = 0; l < count; l += 4) {
      T* rows[4];
      for (int q = 0; q < 4; ++q) rows[q] = out.row(row(l + q)) + at;
      if (l + 4 <= count) transpose4_back<4>(from + l, L, n, rows);
      else if (l + 3 == count) transpose4_back<3>(from + l, L, n, rows);
      else if (l + 2 == count) transpose4_back<2>(from + l, L, n, rows);
      else transpose4_back<1>(from + l, L, n, rows);
    }
  }
};

template <class T>
int64_t lane_tiles(const Call& call) {
  return div_up(call.out[0].rows, Columns<T>::L);
}

template <class T>
void reconstruction_run(const Call& call, int64_t tile, void*) {
  constexpr int L = Columns<T>::L;
  const SpanTable& spans = *static_cast<const SpanReconstruction*>(call.op)->spans;
  const Mat<T> x(call.in[0]), value(call.in[2]), sigma(call.in[3]), out(call.out[0]);
  const Mat<int32_t> index(call.in[1]);
  const Range r = piece(tile, L, out.rows);
  Columns<T> c;
  c.begin = r.begin, c.count = r.end - r.begin;
  T loss[kColumns * L], rest[kColumns * L];  // ln(loss) + rest
  for (int at = 0, last; at < spans.count; at = last) {
    const SpanGroup s = group_from(spans, at);
    last = s.last;
    if (s.width > kColumns) {
      for (int64_t i = r.begin; i < r.end; ++i) {
        const T *p = x.row(i), m = span_max(p + s.begin, s.width);
        out.row(i)[s.first] = log_of(exp_sum(p + s.begin, s.width, m)) + (m - p[index.row(i)[s.first]]);
      }
    } else {
      c.read(spans, s, x);
      for (int j = s.first; j < s.last; ++j) {
        const SpanTable::Item& span = spans.items[j];
        const int to = (j - s.first) * L;
        if (span.softmax) {
          c.sum(c.e + (span.start - s.begin) * L, span.width, loss + to);
          for (int l = 0; l < L; ++l) rest[to + l] = c.of_span[to + l] - x.row(c.row(l))[index.row(c.row(l))[j]];
        } else {
          const T w = sigma.row(0)[span.slot], log_w = log_of(w);
          T v[L];
          for (int l = 0; l < L; ++l) v[l] = value.row(c.row(l))[j];
          for (int l = 0; l < L; ++l) {
            const T miss = (v[l] - tanh_of(c.of_span[to + l])) / w;
            loss[to + l] = T(1);
            rest[to + l] = mul_add(miss * miss, T(0.5), log_w);
          }
        }
      }
      for (int k = 0; k < (s.last - s.first) * L; ++k) loss[k] = log_of(loss[k]) + rest[k];
      c.write(loss, s.last - s.first, out, s.first);
    }
  }
}

template <class T>
void reconstruction_grad_run(const Call& call, int64_t tile, void*) {
  constexpr int L = Columns<T>::L;
  const SpanTable& spans = *static_cast<const SpanReconstructionGrad*>(call.op)->spans;
  const Mat<T> x(call.in[0]), value(call.in[2]), sigma(call.in[3]), d(call.in[4]), out(call.out[0]),
      d_sigma(call.out[1]);
  const Mat<int32_t> index(call.in[1]);
  const Range r = piece(tile, L, out.rows);
  Columns<T> c;
  c.begin = r.begin, c.count = r.end - r.begin;
  for (int at = 0, last; at < spans.count; at = last) {
    const SpanGroup s = group_from(spans, at);
    last = s.last;
    if (s.width > kColumns) {
      for (int64_t i = r.begin; i < r.end; ++i) {
        const T *p = x.row(i) + s.begin, m = span_max(p, s.width), g = d.row(i)[s.first];
        T *to = out.row(i) + s.begin, sum = 0;
        for (int k = 0; k < s.width; ++k) to[k] = exp_of(p[k] - m);
        for (int k = 0; k < s.width; ++k) sum += to[k];
        for (int k = 0; k < s.width; ++k) to[k] *= g / sum;
        out.row(i)[index.row(i)[s.first]] -= g;
      }
    } else {
      c.read(spans, s, x);
      for (int j = s.first; j < s.last; ++j) {
        const SpanTable::Item& span = spans.items[j];
        T* y = c.e + (span.start - s.begin) * L;
        T g[L], scale[L];
        for (int l = 0; l < L; ++l) g[l] = d.row(c.row(l))[j];
        if (span.softmax) {
          c.sum(y, span.width, scale);
          for (int l = 0; l < L; ++l) scale[l] = g[l] / scale[l];
          for (int k = 0; k < span.width; ++k)
            for (int l = 0; l < L; ++l) y[k * L + l] *= scale[l];
          for (int l = 0; l < L; ++l) c.e[(index.row(c.row(l))[j] - s.begin) * L + l] -= g[l];
        } else {
          const T w = sigma.row(0)[span.slot], *was = c.of_span + (j - s.first) * L;
          T v[L];
          for (int l = 0; l < L; ++l) v[l] = value.row(c.row(l))[j];
          for (int l = 0; l < L; ++l) {
            const T t = tanh_of(was[l]), miss = (v[l] - t) / w;
            y[l] = -g[l] * miss * tanh_slope(t) / w;
            scale[l] = g[l] * mul_add(-miss, miss, T(1)) / w;
          }
          for (int l = 0; l < c.count; ++l) d_sigma.row(r.begin + l)[span.slot] = scale[l];
        }
      }
      c.write(c.e, s.width, out, s.begin);
    }
  }
}

#if defined(__AVX512F__)
// span_total of the `count` ≤ 16 spans at `spans`, with the same bits: the halves of sixteen spans are added together,
// in three instructions a span.
void span_totals(const SpanTable::Item* spans, int count, const float* x, const float* y, float* out) {
  constexpr __mmask16 kAll = 0xFFFF;  // without a mask, GCC 12 warns of a variable of its header
  __m512 sum[16];
  for (int s = 0; s < 16; ++s) {
    sum[s] = _mm512_setzero_ps();
    if (s >= count) continue;
    const float *p = x + spans[s].start, *q = y + spans[s].start;
    int left = spans[s].width;
    for (; left >= 16; left -= 16, p += 16, q += 16)
      sum[s] = _mm512_add_ps(sum[s], _mm512_mul_ps(_mm512_loadu_ps(p), _mm512_loadu_ps(q)));
    if (left == 0) continue;
    const __mmask16 part = first_lanes(left);
    sum[s] = _mm512_add_ps(sum[s], _mm512_mul_ps(_mm512_maskz_loadu_ps(part, p), _mm512_maskz_loadu_ps(part, q)));
  }
  const auto halves = [](__m512 a, __m512 b) {
    return _mm512_add_ps(_mm512_maskz_shuffle_f32x4(kAll, a, b, 0x44), _mm512_maskz_shuffle_f32x4(kAll, a, b, 0xEE));
  };
  const auto quarters = [&](int k) {  // of spans k, k + 4, k + 8, k + 12: four sums of each
    const __m512 a = halves(sum[k], sum[k + 4]), b = halves(sum[k + 8], sum[k + 12]);
    return _mm512_add_ps(_mm512_maskz_shuffle_f32x4(kAll, a, b, 0x88), _mm512_maskz_shuffle_f32x4(kAll, a, b, 0xDD));
  };
  const auto pairs = [&](int k) {  // and of spans k + 1, k + 5, k + 9, k + 13: two of each, in turn
    const __m512 a = quarters(k), b = quarters(k + 1);
    return _mm512_add_ps(_mm512_maskz_unpacklo_ps(kAll, a, b), _mm512_maskz_unpackhi_ps(kAll, a, b));
  };
  const __m512 a = pairs(0), b = pairs(2);
  const __m512 total =
      _mm512_add_ps(_mm512_maskz_shuffle_ps(kAll, a, b, 0x44), _mm512_maskz_shuffle_ps(kAll, a, b, 0xEE));
  _mm512_mask_storeu_ps(out, first_lanes(count), total);
}
#endif

template <class T>
void reduce_run(const Call& call, int64_t tile, void*) {
  const auto& op = *static_cast<const SpanReduce*>(call.op);
  const Mat<T> x(call.in[0]), y(call.inputs > 1 ? call.in[1] : View{}), out(call.out[0]);
  const Range r = piece(tile, kRows, out.rows);
  for (int64_t i = r.begin; i < r.end; ++i) {
    int s = 0;
#if defined(__AVX512F__)
    if constexpr (sizeof(T) == 4)
      for (; y && !op.max && s < op.spans->count; s += 16)
        span_totals(op.spans->items + s, static_cast<int>(min_of(16, op.spans->count - s)), x.row(i), y.row(i),
                    out.row(i) + s);
#endif
    for (; s < op.spans->count; ++s) {
      const SpanTable::Item& span = op.spans->items[s];
      const T *p = x.row(i) + span.start, *q = y ? y.row(i) + span.start : nullptr;
      out.row(i)[s] = op.max ? span_max(p, span.width) : span_total(p, q, span.width);
    }
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
  constexpr int64_t L = Simd<T>::kLanes;
  const Range r = piece(tile, kRows, x.rows);
  for (int64_t i = r.begin; i < r.end; ++i) {
    const T *p = x.row(i), *q = u.row(i);
    const int64_t whole = x.cols / L * L;
#pragma GCC ivdep
    for (int64_t c = 0; c < whole; ++c) g[c] = p[c] - log_of(-log_of(clamp(q[c], low, high)));
    if (whole < x.cols) {  // the tail, widened to a vector: choices are often narrow
      T from[L], noise[L];
      store(from, load_part(p + whole, x.cols - whole));
      store(noise, load_part(q + whole, x.cols - whole));
#pragma GCC ivdep
      for (int64_t c = 0; c < L; ++c) g[whole + c] = from[c] - log_of(-log_of(clamp(noise[c], low, high)));
    }
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
  return (call.in[0].cols + Simd<T>::kLanes) * static_cast<int64_t>(sizeof(T));
}

// Index of the first of n running sums, with stride `step`, that exceeds `at`, or else of the first that is the total.
// Counted without a branch, for `count` draws side by side.
template <class T>
void place_in(const T* sums, int n, int step, const T* at, const T* whole, int count, int32_t* place) {
  for (int l = 0; l < count; ++l) place[l] = 0;
  for (int k = 0; k < n; ++k)
    for (int l = 0; l < count; ++l) {
      const T sum = sums[k * step + l];
      place[l] += sum <= at[l] && sum < whole[l] ? 1 : 0;
    }
}

template <class T>
int32_t draw_of_row(const T* x, int width, T u, T* sums) {
  const T m = span_max(x, width);
  for (int k = 0; k < width; ++k) sums[k] = exp_of(x[k] - m);
  for (int k = 1; k < width; ++k) sums[k] += sums[k - 1];
  const T whole = sums[width - 1], at = u * whole;
  int32_t place;
  place_in(sums, width, 1, &at, &whole, 1, &place);
  return place;
}

template <class T>
void draw_run(const Call& call, int64_t tile, void* scratch) {
  constexpr int L = Columns<T>::L;
  const SpanTable& spans = *static_cast<const SpanDraw*>(call.op)->spans;
  const Mat<T> x(call.in[0]), u(call.in[1]);
  const Mat<int32_t> codes(call.out[0]);
  const Range r = piece(tile, L, codes.rows);
  Columns<T> c;
  c.begin = r.begin, c.count = r.end - r.begin;
  for (int first = 0, last; first < spans.count; first = last) {
    const SpanGroup s = group_from(spans, first);
    last = s.last;
    if (s.width > kColumns) {
      for (int64_t i = r.begin; i < r.end; ++i)
        codes.row(i)[s.first] = draw_of_row(x.row(i) + s.begin, s.width, u.row(i)[s.first], static_cast<T*>(scratch));
      continue;
    }
    c.read(spans, s, x);
    for (int j = s.first; j < s.last; ++j) {
      const SpanTable::Item& span = spans.items[j];
      T* sums = c.e + (span.start - s.begin) * L;
      for (int k = L; k < span.width * L; ++k) sums[k] += sums[k - L];
      const T* whole = sums + (span.width - 1) * L;
      T at[L];
      int32_t place[L];
      for (int l = 0; l < L; ++l) at[l] = u.row(c.row(l))[j] * whole[l];
      place_in(sums, span.width, L, at, whole, L, place);
      for (int l = 0; l < c.count; ++l) codes.row(r.begin + l)[j] = place[l];
    }
  }
}
template <class T>
int64_t draw_scratch(const Call& call) {
  return call.in[0].cols * static_cast<int64_t>(sizeof(T));
}
int64_t one_tile(const Call&) { return 1; }

}  // namespace

TESSERA_KERNEL(span_activation, row_tiles, activation_run<T>, nullptr)
TESSERA_KERNEL(span_activation_grad, row_tiles, activation_grad_run<T>, nullptr)
TESSERA_KERNEL(span_cross_entropy, row_tiles, cross_entropy_run<T>, nullptr)
TESSERA_KERNEL(span_cross_entropy_grad, row_tiles, cross_entropy_grad_run<T>, nullptr)
TESSERA_KERNEL(span_reconstruction, lane_tiles<T>, reconstruction_run<T>, nullptr)
TESSERA_KERNEL(span_reconstruction_grad, lane_tiles<T>, reconstruction_grad_run<T>, nullptr)
TESSERA_KERNEL(span_reduce, row_tiles, reduce_run<T>, nullptr)
TESSERA_KERNEL(span_spread, row_tiles, spread_run<T>, nullptr)
TESSERA_KERNEL(span_mask, one_tile, mask_run<T>, nullptr)
TESSERA_KERNEL(span_sample, sample_tiles, sample_run<T>, sample_scratch<T>)
TESSERA_KERNEL(span_draw, lane_tiles<T>, draw_run<T>, draw_scratch<T>)

}  // namespace tessera::TESSERA_ISA
