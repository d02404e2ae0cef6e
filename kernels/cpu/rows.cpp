// draw_conditions, gather_rows, gather_sequences, compact_rows, mixture_draw: the rows a step trains on, their codes,
// the accepted ones, and latent rows drawn from a mixture.
#include "kernels/cpu/tables.h"

namespace tessera::TESSERA_ISA {
namespace {

constexpr int64_t kRows = 32;
int64_t row_tiles(const Call& call) { return div_up(call.out[0].rows, kRows); }

int64_t at_most(uint32_t word, int64_t n) {
  return static_cast<int64_t>((static_cast<uint64_t>(word) * static_cast<uint64_t>(n)) >> 32);
}

template <class T>
void draw_run(const Call& call, int64_t tile, void*) {
  const auto& op = *static_cast<const DrawConditions*>(call.op);
  const Mat<T> cumulative(call.in[0]);
  const Mat<int32_t> start(call.in[1]), offset(call.in[2]), index(call.in[3]), condition(call.out[0]), row(call.out[1]);
  const uint32_t k0 = static_cast<uint32_t>(call.state->seed), k1 = static_cast<uint32_t>(call.state->seed >> 32);
  const Range r = piece(tile, kRows, condition.rows);
  for (int64_t i = r.begin; i < r.end; ++i) {
    const RowKey key = row_key(call, call.in[4], i, op.purpose, op.first);
    const Philox w = philox(0, key.c1, key.c2, key.c3, k0, k1);
    if (op.columns == 0) {
      condition.row(i)[0] = -1;
      row.row(i)[0] = op.table_rows == 0 ? -1 : static_cast<int32_t>(at_most(w.word[2], op.table_rows));
      continue;
    }
    const int64_t column = at_most(w.word[0], op.columns);
    const T u = static_cast<T>(open_uniform(w.word[1]));
    const T* c = cumulative.data;
    // the first value whose cumulative share exceeds u
    int64_t low = start.row(column)[0], high = start.row(column + 1)[0] - 1;
    while (low < high) {
      const int64_t middle = (low + high) / 2;
      if (c[middle] > u) high = middle;
      else low = middle + 1;
    }
    condition.row(i)[0] = static_cast<int32_t>(low);
    if (op.table_rows == 0) {  // sampling: only the condition is wanted
      row.row(i)[0] = -1;
      continue;
    }
    const int64_t first = offset.row(low + column)[0], last = offset.row(low + column + 1)[0];
    row.row(i)[0] = index.row(column * op.table_rows + first + at_most(w.word[2], last - first))[0];
  }
}

template <class T>
void fetch(const T* from, int64_t n) {
  for (const char *p = reinterpret_cast<const char*>(from), *end = reinterpret_cast<const char*>(from + n); p < end;
       p += 64)
    __builtin_prefetch(p);
  if (n > 0) __builtin_prefetch(from + n - 1);
}

template <class T>
void gather_run(const Call& call, int64_t tile, void*) {
  const SpanTable& spans = *static_cast<const GatherRows*>(call.op)->spans;
  const Mat<int32_t> codes(call.in[0]), row(call.in[2]), index(call.out[0]);
  const Mat<T> alphas(call.in[1]), value(call.out[1]);
  const Range r = piece(tile, kRows, index.rows);
  // the rows are scattered over the table: all rows of the tile are prefetched before the first is read
  for (int64_t i = r.begin; i < r.end; ++i) {
    const int64_t from = row.row(i)[0];
    fetch(codes.row(from), codes.cols);
    fetch(alphas.row(from), alphas.cols);
  }
  for (int64_t i = r.begin; i < r.end; ++i) {
    const int64_t from = row.row(i)[0];
    int32_t* to = index.row(i);
    T* v = value.row(i);
    for (int s = 0; s < spans.count; ++s) {
      const SpanTable::Item& span = spans.items[s];
      to[s] = span.softmax ? span.start + codes.row(from)[span.slot] : span.start;
      v[s] = span.softmax ? T(1) : alphas.row(from)[span.slot];
    }
  }
}

template <class T>
void sequences_run(const Call& call, int64_t tile, void*) {
  const auto& op = *static_cast<const GatherSequences*>(call.op);
  const Mat<T> features(call.in[0]), x(call.out[0]), length(call.out[1]), valid(call.out[2]);
  const Mat<int32_t> first(call.in[1]), lengths(call.in[2]), sequence(call.in[3]);
  const Range r = piece(tile, kRows, x.rows);
  for (int64_t i = r.begin; i < r.end; ++i) {
    const int64_t s = sequence.row(i)[0], n = min_of(lengths.row(s)[0], op.steps), from = first.row(s)[0];
    T* to = x.row(i);
    for (int64_t t = 0; t < op.steps; ++t, to += features.cols) {
      valid.row(i)[t] = t < n ? T(1) : T(0);
      const T* step = t < n ? features.row(from + t) : nullptr;
      for (int64_t k = 0; k < features.cols; ++k) to[k] = step != nullptr ? step[k] : T(0);
    }
    length.row(i)[0] = static_cast<T>(n);
  }
}

// Rows from `first` on become 0.
template <class X>
void clear_rows(const Mat<X>& x, int64_t first) {
  const auto bytes = [&](int64_t n) { return static_cast<size_t>(n * x.cols) * sizeof(X); };
  if (x.ld == x.cols) memset(x.row(first), 0, bytes(x.rows - first));
  else
    for (int64_t i = first; i < x.rows; ++i) memset(x.row(i), 0, bytes(1));
}

template <class T>
void compact_run(const Call& call, int64_t, void*) {
  const Mat<T> keep(call.in[0]), alphas(call.in[2]), kept_alphas(call.out[3]);
  const Mat<int32_t> codes(call.in[1]), count(call.out[0]), row(call.out[1]), kept_codes(call.out[2]);
  int64_t n = 0;
  for (int64_t i = 0; i < keep.rows; ++i) {
    if (!(keep.row(i)[0] > 0)) continue;
    row.row(n)[0] = static_cast<int32_t>(i);
    for (int64_t c = 0; c < codes.cols; ++c) kept_codes.row(n)[c] = codes.row(i)[c];
    for (int64_t c = 0; c < alphas.cols; ++c) kept_alphas.row(n)[c] = alphas.row(i)[c];
    ++n;
  }
  count.row(0)[0] = static_cast<int32_t>(n);
  clear_rows(kept_codes, n);
  clear_rows(kept_alphas, n);
  for (; n < keep.rows; ++n) row.row(n)[0] = -1;
}
int64_t one_tile(const Call&) { return 1; }

template <class T>
void mixture_run(const Call& call, int64_t tile, void*) {
  const Mat<T> noise(call.in[0]), mean(call.in[2]), factor(call.in[3]), out(call.out[0]);
  const Mat<int32_t> component(call.in[1]);
  const Range r = piece(tile, kRows, out.rows);
  for (int64_t i = r.begin; i < r.end; ++i) {
    const int64_t k = component.row(i)[0];
    const T* e = noise.row(i);
    for (int64_t a = 0; a < out.cols; ++a) {
      const T* f = factor.row(k * out.cols + a);
      T sum = mean.row(k)[a];
      for (int64_t b = 0; b < out.cols; ++b) sum = mul_add(f[b], e[b], sum);
      out.row(i)[a] = sum;
    }
  }
}

}  // namespace

TESSERA_KERNEL(draw_conditions, row_tiles, draw_run<T>, nullptr)
TESSERA_KERNEL(compact_rows, one_tile, compact_run<T>, nullptr)
TESSERA_KERNEL(mixture_draw, row_tiles, mixture_run<T>, nullptr)
TESSERA_KERNEL(gather_sequences, row_tiles, sequences_run<T>, nullptr)
TESSERA_KERNEL(gather_rows, row_tiles, gather_run<T>, nullptr)

}  // namespace tessera::TESSERA_ISA
