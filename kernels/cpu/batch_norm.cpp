// batch_norm (Ioffe & Szegedy 2015): y = act((x − mean)·rstd·gamma + beta), statistics over each group of rows, kept in
// double.
//   forward 3 reads + 1 write of x; backward 2 reads of x and d_y + 1 write · one tile owns kColumns columns of all
//       rows: no sum crosses a tile
//   d_x = gamma·rstd·(d − mean(d) − x̂·mean(d·x̂)) with d = d_y where act passed it, else 0.
// batch_norm_sums, batch_norm_rows_grad: the same for shards of a batch, in two ops between which ranks exchange sums.
//   1 read of x (gradient: and d_y) by tiles of kSumColumns columns; 2 reads and 1 write by tiles of kRows rows
#include "kernels/cpu/tables.h"
#include "kernels/shards.h"

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
    T center[kColumns], scale[kColumns], shift[kColumns];
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
      center[k] = static_cast<T>(sum[k]);
      scale[k] = static_cast<T>(static_cast<double>(gamma.row(0)[c.begin + k]) / sqrt(v + op.eps));
      shift[k] = beta.row(0)[c.begin + k];
    }
    const T floor = op.relu ? T(0) : -static_cast<T>(__builtin_inf());
    for (int64_t i = g * rows; i < (g + 1) * rows; ++i) {
      const T* p = x.row(i) + c.begin;
      T* to = y.row(i) + c.begin;
#pragma GCC ivdep
      for (int64_t k = 0; k < n; ++k) {
        const T v = mul_add(p[k] - center[k], scale[k], shift[k]);
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
  T buffer[kColumns];
  double total_gamma[kColumns] = {}, total_beta[kColumns] = {};
  for (int64_t g = 0; g < op.groups; ++g) {
    double sum[kColumns] = {}, dot[kColumns] = {};
    T center[kColumns], rstd[kColumns], scale[kColumns], shift[kColumns], mean_d[kColumns], mean_dx[kColumns];
    for (int64_t k = 0; k < n; ++k) {
      center[k] = mean.row(g)[c.begin + k];
      rstd[k] = static_cast<T>(1 / sqrt(static_cast<double>(var.row(g)[c.begin + k]) + op.eps));
      scale[k] = rstd[k] * gamma.row(0)[c.begin + k];
      shift[k] = beta.row(0)[c.begin + k];
    }
    // The gradient of the normalized value: d_y, or 0 where ReLU gave 0. Recomputed, not stored.
    auto passed = [&](const T* p, const T* d, int64_t k) {
      return !op.relu || mul_add(p[k] - center[k], scale[k], shift[k]) > T(0) ? d[k] : T(0);
    };
    for (int64_t i = g * rows; i < (g + 1) * rows; ++i) {
      const T *p = read_row(x, i, c.begin, n, buffer), *d = d_y.row(i) + c.begin;
      for (int64_t k = 0; k < n; ++k) {
        const double v = static_cast<double>(passed(p, d, k));
        sum[k] += v;
        dot[k] = mul_add(v, static_cast<double>((p[k] - center[k]) * rstd[k]), dot[k]);
      }
    }
    for (int64_t k = 0; k < n; ++k) {
      total_beta[k] += sum[k];
      total_gamma[k] += dot[k];
      mean_d[k] = static_cast<T>(sum[k] / static_cast<double>(rows));
      mean_dx[k] = static_cast<T>(dot[k] / static_cast<double>(rows));
    }
    for (int64_t i = g * rows; i < (g + 1) * rows; ++i) {
      const T *p = read_row(x, i, c.begin, n, buffer), *d = d_y.row(i) + c.begin;
      T* to = d_x.row(i) + c.begin;
#pragma GCC ivdep
      for (int64_t k = 0; k < n; ++k)
        to[k] = scale[k] * mul_add((center[k] - p[k]) * rstd[k], mean_dx[k], passed(p, d, k) - mean_d[k]);
    }
  }
  for (int64_t k = 0; k < n; ++k) {
    d_gamma.row(0)[c.begin + k] = static_cast<T>(total_gamma[k]);
    d_beta.row(0)[c.begin + k] = static_cast<T>(total_beta[k]);
  }
}

constexpr int64_t kRows = 32;
int64_t row_tiles(const Call& call) { return div_up(call.out[0].rows, kRows); }

constexpr int64_t kAtOnce = 256;  // columns whose constants are held at a time

template <class T>
void eval_run(const Call& call, int64_t tile, void*) {
  const auto& op = *static_cast<const NormEval*>(call.op);
  const Mat<T> x(call.in[0]), gamma(call.in[1]), beta(call.in[2]), mean(call.in[3]), var(call.in[4]), y(call.out[0]);
  const T eps = static_cast<T>(op.eps), floor = op.relu ? T(0) : -static_cast<T>(__builtin_inf());
  const Range r = piece(tile, kRows, x.rows);
  T deviation[kAtOnce];  // a root for each column, not for each element
  for (int64_t first = 0; first < x.cols; first += kAtOnce) {
    const int64_t n = min_of(kAtOnce, x.cols - first);
    const T *m = mean.data + first, *v = var.data + first, *g = gamma.data + first, *b = beta.data + first;
    for (int64_t k = 0; k < n; ++k) deviation[k] = sqrt_of(v[k] + eps);
    for (int64_t i = r.begin; i < r.end; ++i) {
      const T* p = x.row(i) + first;
      T* to = y.row(i) + first;
#pragma GCC ivdep
      for (int64_t k = 0; k < n; ++k) {
        const T z = mul_add((p[k] - m[k]) / deviation[k], g[k], b[k]);
        to[k] = z < floor ? floor : z;
      }
    }
  }
}

// ---- shards ---------------------------------------------------------------------------------------
// Values are rounded as by the elementwise ops of which a device's shards are composed (engine/passes/batch/sharder.h).
constexpr int64_t kSumColumns = 64;
constexpr int kMaxSums = 32;  // that wait for their neighbors: the depth of a tree whose leaves an int counts

int64_t sums_tiles(const Call& call) { return div_up(call.in[0].cols, kSumColumns); }

// What normalizes n columns from `first` on.
template <class T, int64_t kMax>
struct Normal {
  T center[kMax] = {}, rstd[kMax] = {}, gamma[kMax] = {}, beta[kMax] = {};
  bool relu;

  Normal(const Call& call, double eps, bool behind_relu, int64_t first, int64_t n) : relu(behind_relu) {
    const Mat<T> g(call.in[1]), b(call.in[2]), mean(call.in[3]), var(call.in[4]);
    for (int64_t k = 0; k < n; ++k) {
      const T v = var.data[first + k] + static_cast<T>(eps);
      center[k] = mean.data[first + k], gamma[k] = g.data[first + k], beta[k] = b.data[first + k];
      rstd[k] = v == T(0) ? T(0) : T(1) / sqrt_of(v);
    }
  }
  T hat(T x, int64_t k) const { return (x - center[k]) * rstd[k]; }
  T passed(T normal, T d, int64_t k) const {  // 0·NaN is NaN, as in Binary::gate
    return relu ? d * (normal * gamma[k] + beta[k] > T(0) ? T(1) : T(0)) : d;
  }
};

// Sums over the rows of each shard of what terms(row, columns, term) writes, for one tile of columns.
template <class T, int kSums, class Terms>
void sum_shards(const Call& call, const Range& c, Terms&& terms) {
  const auto& op = *static_cast<const BatchNormSums*>(call.op);
  const int64_t rows = call.in[0].rows, n = c.end - c.begin;
  T waiting[kMaxSums][kSums][kSumColumns], term[kSums][kSumColumns] = {};
  int count = 0;
  for (int s = 0; s < op.count; ++s) {
    double sum[kSums][kSumColumns] = {};
    for (int64_t i = shard_begin(op, rows, s); i < shard_begin(op, rows, s + 1); ++i) {
      terms(i, n, term);
      for (int q = 0; q < kSums; ++q)
        for (int64_t k = 0; k < kSumColumns; ++k) sum[q][k] += static_cast<double>(term[q][k]);
    }
    for (int q = 0; q < kSums; ++q)
      for (int64_t k = 0; k < kSumColumns; ++k) waiting[count][q][k] = static_cast<T>(sum[q][k] * op.scale);
    ++count;
    for (int m = shards_joined(op.count, s); m > 0; --m, --count)
      for (int q = 0; q < kSums; ++q)
        for (int64_t k = 0; k < kSumColumns; ++k) waiting[count - 2][q][k] += waiting[count - 1][q][k];
  }
  for (int q = 0; q < kSums; ++q)
    memcpy(static_cast<T*>(call.out[0].data) + q * call.in[0].cols + c.begin, waiting[0][q],
           static_cast<size_t>(n) * sizeof(T));
}

template <class T>
void sums_run(const Call& call, int64_t tile, void*) {
  const auto& op = *static_cast<const BatchNormSums*>(call.op);
  const Mat<T> x(call.in[0]);
  const Range c = piece(tile, kSumColumns, x.cols);
  constexpr int64_t kAhead = 12;  // rows of prefetch distance, as in sum_rows
  const auto row_of = [&](const Mat<T>& from, int64_t i) {
    const T* row = from.row(i) + c.begin;
    for (int64_t k = 0; k < kSumColumns; k += 64 / static_cast<int64_t>(sizeof(T)))
      __builtin_prefetch(row + kAhead * from.ld + k);
    return row;
  };
  if (op.form == BatchNormSums::mean)
    return sum_shards<T, 1>(call, c, [&](int64_t i, int64_t n, T(&term)[1][kSumColumns]) {
      memcpy(term[0], row_of(x, i), static_cast<size_t>(n) * sizeof(T));
    });
  if (op.form == BatchNormSums::variance) {
    const T* mean = static_cast<const T*>(call.in[1].data) + c.begin;
    return sum_shards<T, 1>(call, c, [&](int64_t i, int64_t n, T(&term)[1][kSumColumns]) {
      const T* p = row_of(x, i);
#pragma GCC ivdep
      for (int64_t k = 0; k < n; ++k) {
        const T centered = p[k] - mean[k];
        term[0][k] = centered * centered;
      }
    });
  }
  const Mat<T> d_y(call.in[5]);
  const Normal<T, kSumColumns> by(call, op.eps, op.relu, c.begin, c.end - c.begin);
  sum_shards<T, 2>(call, c, [&](int64_t i, int64_t n, T(&term)[2][kSumColumns]) {
    const T *p = row_of(x, i), *d = row_of(d_y, i);
#pragma GCC ivdep
    for (int64_t k = 0; k < n; ++k) {
      const T normal = by.hat(p[k], k), passed = by.passed(normal, d[k], k);
      term[0][k] = passed;
      term[1][k] = passed * normal;
    }
  });
}

template <class T>
void rows_grad_run(const Call& call, int64_t tile, void*) {
  const auto& op = *static_cast<const BatchNormRowsGrad*>(call.op);
  const Mat<T> x(call.in[0]), d_y(call.in[5]), d_x(call.out[0]);
  const T *sum_d = static_cast<const T*>(call.in[6].data), *sum_dx = sum_d + x.cols, share = static_cast<T>(op.share);
  const Range r = piece(tile, kRows, x.rows);
  for (int64_t first = 0; first < x.cols; first += kAtOnce) {
    const int64_t n = min_of(kAtOnce, x.cols - first);
    const Normal<T, kAtOnce> by(call, op.eps, op.relu, first, n);
    T mean_d[kAtOnce], mean_dx[kAtOnce], scale[kAtOnce];
    for (int64_t k = 0; k < n; ++k) {
      // as Unary::affine: the sum with 0 makes −0 a 0
      mean_d[k] = mul_add(share, sum_d[first + k], T(0)), mean_dx[k] = mul_add(share, sum_dx[first + k], T(0));
      scale[k] = by.rstd[k] * by.gamma[k];
    }
    for (int64_t i = r.begin; i < r.end; ++i) {
      const T *p = x.row(i) + first, *d = d_y.row(i) + first;
      T* to = d_x.row(i) + first;
#pragma GCC ivdep
      for (int64_t k = 0; k < n; ++k) {
        const T normal = by.hat(p[k], k);
        to[k] = (by.passed(normal, d[k], k) - mean_d[k] - normal * mean_dx[k]) * scale[k];
      }
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
TESSERA_KERNEL(batch_norm_sums, sums_tiles, sums_run<T>, nullptr)
TESSERA_KERNEL(batch_norm_rows_grad, row_tiles, rows_grad_run<T>, nullptr)
TESSERA_KERNEL(norm_eval, row_tiles, eval_run<T>, nullptr)
TESSERA_KERNEL(running_stats, one_tile, running_run<T>, nullptr)

}  // namespace tessera::TESSERA_ISA
