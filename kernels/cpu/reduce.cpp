// sum_rows, sum_cols, row_dot. Sums are accumulated in double, in an order fixed by the shape: rows in sequence,
// columns in kWays interleaved chains.
#include "kernels/cpu/tables.h"

namespace tessera::TESSERA_ISA {
namespace {

constexpr int64_t kColumns = 64, kRows = 16, kWays = 16;

int64_t column_tiles(const Call& call) { return div_up(call.out[0].cols, kColumns); }
int64_t row_tiles(const Call& call) { return div_up(call.out[0].rows, kRows); }

constexpr int kDoubles = kVectorBytes / 8;

static inline Vec<double> doubles(const double* p) { return load(p); }
static inline Vec<double> doubles(const float* p) {
#if defined(__AVX512F__)
  return _mm512_cvtps_pd(_mm256_loadu_ps(p));  // written out: __builtin_convertvector splits the halves
#elif defined(__AVX__)
  return _mm256_cvtps_pd(_mm_loadu_ps(p));
#else
  return Vec<double>{p[0], p[1]};
#endif
}

static inline Vec<double> doubles(const uint16_t* bf16) {
#if defined(__AVX512F__)
  const __m256i wide = _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(bf16)));
  return _mm512_cvtps_pd(_mm256_castsi256_ps(_mm256_slli_epi32(wide, 16)));
#else
  float wide[kDoubles];
  widen(bf16, kDoubles, Precision::bf16, wide);
  return doubles(wide);
#endif
}

// The sums of columns, as many vectors of them as stay in registers at a time, while there are whole vectors. Returns
// how many were summed.
template <int vectors = 8, class T>
int64_t sum_vectors(const T* row, int64_t rows, int64_t ld, int64_t cols, double* sum) {
  constexpr int64_t kAhead = 12;  // rows of prefetch distance: they come from the outer caches
  constexpr int64_t kWidth = vectors * kDoubles;
  int64_t done = 0;
  for (; done + kWidth <= cols; done += kWidth) {
    Vec<double> acc[vectors] = {};
    const T* at = row + done;
    for (int64_t i = 0; i < rows; ++i, at += ld) {
      for (int64_t k = 0; k < kWidth; k += 64 / static_cast<int64_t>(sizeof(T)))
        __builtin_prefetch(at + kAhead * ld + k);
#pragma GCC unroll 8
      for (int q = 0; q < vectors; ++q) acc[q] += doubles(at + q * kDoubles);
    }
    for (int q = 0; q < vectors; ++q) store(sum + done + q * kDoubles, acc[q]);
  }
  if constexpr (vectors > 1) done += sum_vectors<vectors / 2>(row + done, rows, ld, cols - done, sum + done);
  return done;
}

template <class T>
void sum_rows_run(const Call& call, int64_t tile, void*) {
  const Mat<T> x(call.in[0]), out(call.out[0]);
  const Range c = piece(tile, kColumns, x.cols);
  double sum[kColumns] = {};
  const int64_t n = c.end - c.begin;
  const Precision stored = call.in[0].stored;
  int64_t done = 0;
  if (stored == Precision::bf16) {
    const Mat<uint16_t> narrow(call.in[0]);
    done = sum_vectors(narrow.data + c.begin, x.rows, x.ld, n, sum);
  } else if (stored == Precision::fp32) {
    done = sum_vectors(x.data + c.begin, x.rows, x.ld, n, sum);
  }
  T buffer[kColumns];
  for (int64_t i = 0; i < x.rows && done < n; ++i) {
    const T* row = read_row(call.in[0], i, c.begin + done, n - done, buffer);
    for (int64_t k = done; k < n; ++k) sum[k] += static_cast<double>(row[k - done]);
  }
  const double scale = static_cast<const SumRows*>(call.op)->scale;
  for (int64_t k = 0; k < n; ++k) out.row(0)[c.begin + k] = static_cast<T>(sum[k] * scale);
}

template <class F>
double sum_ways(int64_t n, F term) {
  double sum[kWays] = {};
  int64_t c = 0;
  for (; c + kWays <= n; c += kWays)
    for (int64_t k = 0; k < kWays; ++k) sum[k] += term(c + k);
  for (int64_t k = 0; c + k < n; ++k) sum[k] += term(c + k);
  double total = 0;
  for (const double s : sum) total += s;
  return total;
}

template <class T>
void sum_cols_run(const Call& call, int64_t tile, void*) {
  const Mat<T> x(call.in[0]), out(call.out[0]);
  const double scale = static_cast<const SumCols*>(call.op)->scale;
  const Range r = piece(tile, kRows, x.rows);
  for (int64_t i = r.begin; i < r.end; ++i) {
    const T* row = x.row(i);
    out.row(i)[0] = static_cast<T>(scale * sum_ways(x.cols, [=](int64_t c) { return static_cast<double>(row[c]); }));
  }
}

template <class T>
void row_dot_run(const Call& call, int64_t tile, void*) {
  const Mat<T> x(call.in[0]), y(call.in[1]), out(call.out[0]);
  const Range r = piece(tile, kRows, x.rows);
  for (int64_t i = r.begin; i < r.end; ++i) {
    const T *p = x.row(i), *q = y.row(i);
    out.row(i)[0] = static_cast<T>(
        sum_ways(x.cols, [=](int64_t c) { return static_cast<double>(p[c]) * static_cast<double>(q[c]); }));
  }
}

}  // namespace

TESSERA_KERNEL(sum_rows, column_tiles, sum_rows_run<T>, nullptr)
TESSERA_KERNEL(sum_cols, row_tiles, sum_cols_run<T>, nullptr)
TESSERA_KERNEL(row_dot, row_tiles, row_dot_run<T>, nullptr)

}  // namespace tessera::TESSERA_ISA
