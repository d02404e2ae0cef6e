// batch_norm (Ioffe & Szegedy 2015): y = act((x − mean)·rstd·gamma + beta), statistics over each group of rows, kept in
// double.
//   forward 3 reads + 1 write of x; backward 2 reads of x and d_y + 1 write · one tile owns kColumns columns of all
//       rows: no sum crosses a tile
//   d_x = gamma·rstd·(d − mean(d) − x̂·mean(d·x̂)) with d = d_y where act passed it, else 0.
#include "kernels/cpu/tables.h"

namespace tessera::TESSERA_ISA {
namespace {

constexpr int64_t kColumns = 32;
// What statistics are summed in: wider than T, in the oracle too.
template <class T>
struct Wide {
  using Sum = double;
};
template <>
struct Wide<double> {
  using Sum = long double;
};

int64_t column_tiles(const Call& call) { return div_up(call.out[0].cols, kColumns); }

template <class T>
void forward_run(const Call& call, int64_t tile, void*) {
  using Sum = typename Wide<T>::Sum;
  const auto& op = *static_cast<const BatchNorm*>(call.op);
  const Mat<T> x(call.in[0]), gamma(call.in[1]), beta(call.in[2]), y(call.out[0]), mean(call.out[1]), var(call.out[2]);
  const Range c = piece(tile, kColumns, x.cols);
  const int64_t n = c.end - c.begin, rows = x.rows / op.groups;
  for (int64_t g = 0; g < op.groups; ++g) {
    Sum sum[kColumns] = {}, square[kColumns] = {};
    T centre[kColumns], scale[kColumns], shift[kColumns];
    for (int64_t i = g * rows; i < (g + 1) * rows; ++i) {
      const T* p = x.row(i) + c.begin;
      for (int64_t k = 0; k < n; ++k) sum[k] += static_cast<Sum>(p[k]);
    }
    for (int64_t k = 0; k < n; ++k) sum[k] /= static_cast<Sum>(rows);
    for (int64_t i = g * rows; i < (g + 1) * rows; ++i) {
      const T* p = x.row(i) + c.begin;
      for (int64_t k = 0; k < n; ++k) {
        const Sum d = static_cast<Sum>(p[k]) - sum[k];
        square[k] = mul_add(d, d, square[k]);
      }
    }
    for (int64_t k = 0; k < n; ++k) {
      const auto v = static_cast<double>(square[k] / static_cast<Sum>(rows));
      mean.row(g)[c.begin + k] = static_cast<T>(sum[k]);
      var.row(g)[c.begin + k] = static_cast<T>(v);
      centre[k] = static_cast<T>(sum[k]);
      scale[k] = static_cast<T>(static_cast<double>(gamma.row(0)[c.begin + k]) / sqrt(v + op.eps));
      shift[k] = beta.row(0)[c.begin + k];
    }
    const T floor = op.relu ? T(0) : -static_cast<T>(__builtin_inf());
    for (int64_t i = g * rows; i < (g + 1) * rows; ++i) {
      const T* p = x.row(i) + c.begin;
      T* to = y.row(i) + c.begin;
#pragma GCC ivdep
      for (int64_t k = 0; k < n; ++k) {
        const T v = mul_add(p[k] - centre[k], scale[k], shift[k]);
        to[k] = v < floor ? floor : v;
      }
    }
  }
}

template <class T>
void backward_run(const Call& call, int64_t tile, void*) {
  const auto& op = *static_cast<const BatchNormGrad*>(call.op);
  const View& x = call.in[0];
  const Mat<T> gamma(call.in[1]), beta(call.in[2]), mean(call.in[3]), var(call.in[4]), d_y(call.in[5]);
  const Mat<T> d_x(call.out[0]), d_gamma(call.out[1]), d_beta(call.out[2]);
  const Range c = piece(tile, kColumns, x.cols);
  const int64_t n = c.end - c.begin, rows = x.rows / op.groups;
  T room[kColumns];
  double total_gamma[kColumns] = {}, total_beta[kColumns] = {};
  for (int64_t g = 0; g < op.groups; ++g) {
    double sum[kColumns] = {}, dot[kColumns] = {};
    T centre[kColumns], rstd[kColumns], scale[kColumns], shift[kColumns], mean_d[kColumns], mean_dx[kColumns];
    for (int64_t k = 0; k < n; ++k) {
      centre[k] = mean.row(g)[c.begin + k];
      rstd[k] = static_cast<T>(1 / sqrt(static_cast<double>(var.row(g)[c.begin + k]) + op.eps));
      scale[k] = rstd[k] * gamma.row(0)[c.begin + k];
      shift[k] = beta.row(0)[c.begin + k];
    }
    // The gradient of the normalised value: d_y, or 0 where ReLU gave 0. Recomputed, not stored.
    auto passed = [&](const T* p, const T* d, int64_t k) {
      return !op.relu || mul_add(p[k] - centre[k], scale[k], shift[k]) > T(0) ? d[k] : T(0);
    };
    for (int64_t i = g * rows; i < (g + 1) * rows; ++i) {
      const T *p = read_row(x, i, c.begin, n, room), *d = d_y.row(i) + c.begin;
      for (int64_t k = 0; k < n; ++k) {
        const double v = static_cast<double>(passed(p, d, k));
        sum[k] += v;
        dot[k] = mul_add(v, static_cast<double>((p[k] - centre[k]) * rstd[k]), dot[k]);
      }
    }
    for (int64_t k = 0; k < n; ++k) {
      total_beta[k] += sum[k];
      total_gamma[k] += dot[k];
      mean_d[k] = static_cast<T>(sum[k] / static_cast<double>(rows));
      mean_dx[k] = static_cast<T>(dot[k] / static_cast<double>(rows));
    }
    for (int64_t i = g * rows; i < (g + 1) * rows; ++i) {
      const T *p = read_row(x, i, c.begin, n, room), *d = d_y.row(i) + c.begin;
      T* to = d_x.row(i) + c.begin;
#pragma GCC ivdep
      for (int64_t k = 0; k < n; ++k)
        to[k] = scale[k] * mul_add((centre[k] - p[k]) * rstd[k], mean_dx[k], passed(p, d, k) - mean_d[k]);
    }
  }
  for (int64_t k = 0; k < n; ++k) {
    d_gamma.row(0)[c.begin + k] = static_cast<T>(total_gamma[k]);
    d_beta.row(0)[c.begin + k] = static_cast<T>(total_beta[k]);
  }
}

constexpr int64_t kRows = 32;
int64_t row_tiles(const Call& call) { return div_up(call.out[0].rows, kRows); }

template <class T>
void eval_run(const Call& call, int64_t tile, void*) {
  const auto& op = *static_cast<const NormEval*>(call.op);
  const Mat<T> x(call.in[0]), gamma(call.in[1]), beta(call.in[2]), mean(call.in[3]), var(call.in[4]), y(call.out[0]);
  const T eps = static_cast<T>(op.eps), floor = op.relu ? T(0) : -static_cast<T>(__builtin_inf());
  const T *m = mean.data, *v = var.data, *g = gamma.data, *b = beta.data;
  const int64_t n = x.cols;
  const Range r = piece(tile, kRows, x.rows);
  for (int64_t i = r.begin; i < r.end; ++i) {
    const T* p = x.row(i);
    T* to = y.row(i);
#pragma GCC ivdep
    for (int64_t k = 0; k < n; ++k) {
      const T z = mul_add((p[k] - m[k]) / sqrt_of(v[k] + eps), g[k], b[k]);
      to[k] = z < floor ? floor : z;
    }
  }
}

template <class T>
void running_run(const Call& call, int64_t, void*) {
  const auto& op = *static_cast<const RunningStats*>(call.op);
  const Mat<T> mean(call.in[2]), var(call.in[3]), running_mean(call.out[0]), running_var(call.out[1]);
  const double keep = 1 - op.momentum,
               unbiased = op.rows > 1 ? static_cast<double>(op.rows) / static_cast<double>(op.rows - 1) : 1;
  for (int64_t g = 0; g < mean.rows; ++g)
    for (int64_t k = 0; k < mean.cols; ++k) {
      T &m = running_mean.row(0)[k], &v = running_var.row(0)[k];
      m = static_cast<T>(mul_add(keep, static_cast<double>(m), op.momentum * static_cast<double>(mean.row(g)[k])));
      v = static_cast<T>(
          mul_add(keep, static_cast<double>(v), op.momentum * unbiased * static_cast<double>(var.row(g)[k])));
    }
}
int64_t one_tile(const Call&) { return 1; }

}  // namespace

TESSERA_KERNEL(batch_norm, column_tiles, forward_run<T>, nullptr)
TESSERA_KERNEL(batch_norm_grad, column_tiles, backward_run<T>, nullptr)
TESSERA_KERNEL(norm_eval, row_tiles, eval_run<T>, nullptr)
TESSERA_KERNEL(running_stats, one_tile, running_run<T>, nullptr)

}  // namespace tessera::TESSERA_ISA
