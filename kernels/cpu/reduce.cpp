// sum_rows, sum_cols, row_dot. Sums are kept in double and taken in an order fixed by the shape: rows one after the other; columns in kWays interleaved chains.
#include "kernels/cpu/tables.h"

namespace tessera::TESSERA_ISA {
namespace {

constexpr int64_t kColumns = 64, kRows = 16, kWays = 16;

int64_t column_tiles(const Call& call) { return div_up(call.out[0].cols, kColumns); }
int64_t row_tiles(const Call& call) { return div_up(call.out[0].rows, kRows); }

template <class T>
void sum_rows_run(const Call& call, int64_t tile, void*) {
  const Mat<T> x(call.in[0]), out(call.out[0]);
  const Range c = piece(tile, kColumns, x.cols);
  double sum[kColumns] = {};
  const int64_t n = c.end - c.begin;
  for (int64_t i = 0; i < x.rows; ++i) {
    const T* row = x.row(i) + c.begin;
    for (int64_t k = 0; k < n; ++k) sum[k] += static_cast<double>(row[k]);
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
    out.row(i)[0] = static_cast<T>(sum_ways(x.cols, [=](int64_t c) { return static_cast<double>(p[c]) * static_cast<double>(q[c]); }));
  }
}

}  // namespace

template <class T>
void add_reduce(KernelTable& t) {
  t.sum_rows = {column_tiles, sum_rows_run<T>, nullptr};
  t.sum_cols = {row_tiles, sum_cols_run<T>, nullptr};
  t.row_dot = {row_tiles, row_dot_run<T>, nullptr};
}
TESSERA_INSTANTIATE(add_reduce)

}  // namespace tessera::TESSERA_ISA
