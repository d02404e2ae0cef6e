// batch_norm (Ioffe & Szegedy 2015): y = act((x − mean)·rstd·gamma + beta), statistics over each group of rows, kept in
// double.
//   x, y [rows, cols]; gamma, beta [1, cols]; mean, var [groups, cols]; the variance is the biased one; act = ReLU if
//       relu
//   A block owns 8 columns from `first`, its 256 threads process 32 rows at a time: no sum crosses a block. Rows in a
//   fixed order: the same bits for any schedule.
#pragma once
#include "kernels/gpu/bodies/chain.cuh"

namespace tessera::gpu {

// NaN is not below the floor, so it is kept.
__device__ inline float at_least(float v, float floor) { return v < floor ? floor : v; }
inline float floor_of(bool relu) { return relu ? 0.0f : -__builtin_inff(); }

struct NormIn {
  Mat<const float> x;
  const float *gamma, *beta;
  double eps;
  bool relu;
  int rows;  // of a group
};
struct NormOut {
  Mat<float> y, mean, var;
};

// Forward, one group. 3 reads and 1 write of x (16·rows·cols bytes, two of the reads from cache), 8 FLOP per element:
// bandwidth-bound · four block barriers
__device__ inline void batch_norm(const NormIn& in, const NormOut& out, int first_column, int g,
                                  ColumnScratch& scratch) {
  const int c = first_column + column_lane();
  const int first = g * in.rows + row_lane(), end = c < in.x.cols ? (g + 1) * in.rows : 0;
  const auto x = [&](int r) { return in.x.row(r)[c]; };
  double sum = 0;
  rows_ahead(first, end, x, [&](int, float at) { sum += static_cast<double>(at); });
  const double m = column_sum(sum, scratch) / in.rows;
  double square = 0;
  rows_ahead(first, end, x, [&](int, float at) {
    const double d = static_cast<double>(at) - m;
    square += d * d;
  });
  const double v = column_sum(square, scratch) / in.rows;
  if (c >= in.x.cols) return;
  if (row_lane() == 0) {
    out.mean.row(g)[c] = static_cast<float>(m);
    out.var.row(g)[c] = static_cast<float>(v);
  }
  const float centre = static_cast<float>(m),
              scale = static_cast<float>(static_cast<double>(in.gamma[c]) / sqrt(v + in.eps)), shift = in.beta[c];
  const float floor = in.relu ? 0.0f : -__builtin_inff();
  rows_ahead(first, end, x, [&](int r, float at) { out.y.row(r)[c] = at_least((at - centre) * scale + shift, floor); });
}

// Backward, all groups one after the other. d_x = gamma·rstd·(d − mean(d) − x̂·mean(d·x̂)) with d = d_y where ReLU
// passed x, else 0 (recomputed, not stored);
//   d_gamma = Σ d·x̂, d_beta = Σ d
//   4 reads and 1 write of x (20·rows·cols bytes, two of the reads from cache), 14 FLOP per element: bandwidth-bound ·
//   four block barriers per group
struct Norm {
  float centre, rstd, scale, shift;
  bool relu;
  __device__ float hat(float x) const { return (x - centre) * rstd; }
  __device__ float passed(float x, float d) const { return !relu || (x - centre) * scale + shift > 0.0f ? d : 0.0f; }
};
struct NormGrad {
  Mat<const float> mean, var, d_y;
  Mat<float> d_x;
  float *d_gamma, *d_beta;
};

__device__ inline void batch_norm_grad(const NormIn& in, const NormGrad& d, int first_column, ColumnScratch& scratch) {
  const int c = first_column + column_lane();
  const bool inside = c < in.x.cols;
  double total_gamma = 0, total_beta = 0;
  for (int g = 0; g < d.mean.rows; ++g) {
    const int first = g * in.rows + row_lane(), end = inside ? (g + 1) * in.rows : 0;
    Norm n{0, 0, 0, 0, in.relu};
    if (inside) {
      n.centre = d.mean.row(g)[c];
      n.rstd = static_cast<float>(1 / sqrt(static_cast<double>(d.var.row(g)[c]) + in.eps));
      n.scale = n.rstd * in.gamma[c];
      n.shift = in.beta[c];
    }
    struct Both {
      float x, d;
    };
    const auto load = [&](int r) { return Both{in.x.row(r)[c], d.d_y.row(r)[c]}; };
    double sum = 0, dot = 0;
    rows_ahead(first, end, load, [&](int, const Both& at) {
      const double v = static_cast<double>(n.passed(at.x, at.d));
      sum += v;
      dot += v * static_cast<double>(n.hat(at.x));
    });
    sum = column_sum(sum, scratch);
    dot = column_sum(dot, scratch);
    total_beta += sum;
    total_gamma += dot;
    const float mean_d = static_cast<float>(sum / in.rows), mean_dx = static_cast<float>(dot / in.rows);
    rows_ahead(first, end, load, [&](int r, const Both& at) {
      d.d_x.row(r)[c] = n.scale * (n.passed(at.x, at.d) - mean_d - n.hat(at.x) * mean_dx);
    });
  }
  if (inside && row_lane() == 0) {
    d.d_gamma[c] = static_cast<float>(total_gamma);
    d.d_beta[c] = static_cast<float>(total_beta);
  }
}

// running ← (1 − momentum)·running + momentum·batch, group after group, of column c.   running [1, cols], in place;
// mean, var [groups, cols]
struct Running {
  Mat<const float> mean, var;
  float *running_mean, *running_var;
  double momentum, unbiased;
};
inline Running running(const Call& call) {
  const auto& op = *static_cast<const RunningStats*>(call.op);
  return {Mat<const float>(call.in[2]),
          Mat<const float>(call.in[3]),
          static_cast<float*>(call.out[0].data),
          static_cast<float*>(call.out[1].data),
          op.momentum,
          op.rows > 1 ? static_cast<double>(op.rows) / static_cast<double>(op.rows - 1) : 1};
}
__device__ inline void running_stats(const Running& s, int c) {
  for (int g = 0; g < s.mean.rows; ++g) {
    s.running_mean[c] = static_cast<float>((1 - s.momentum) * static_cast<double>(s.running_mean[c]) +
                                           s.momentum * static_cast<double>(s.mean.row(g)[c]));
    s.running_var[c] = static_cast<float>((1 - s.momentum) * static_cast<double>(s.running_var[c]) +
                                          s.momentum * s.unbiased * static_cast<double>(s.var.row(g)[c]));
  }
}

inline NormIn norm_in(const Call& call, double eps, bool relu, int64_t groups) {
  return {Mat<const float>(call.in[0]),
          static_cast<const float*>(call.in[1].data),
          static_cast<const float*>(call.in[2].data),
          eps,
          relu,
          static_cast<int>(call.in[0].rows / groups)};
}
inline NormOut norm_out(const Call& call) {
  return {Mat<float>(call.out[0]), Mat<float>(call.out[1]), Mat<float>(call.out[2])};
}
inline NormGrad norm_grad(const Call& call) {
  return {Mat<const float>(call.in[3]), Mat<const float>(call.in[4]),          Mat<const float>(call.in[5]),
          Mat<float>(call.out[0]),      static_cast<float*>(call.out[1].data), static_cast<float*>(call.out[2].data)};
}

// ---- as steps of a fused launch -------------------------------------------------------------------------------------
struct NormStep {
  NormIn in;
  NormOut out;
  int groups;
};
template <>
struct Fused<BatchNorm> {
  using Step = NormStep;
  static Step pack(const Call& call, Packing&) {
    const auto& op = *static_cast<const BatchNorm*>(call.op);
    return {norm_in(call, op.eps, op.relu, op.groups), norm_out(call), static_cast<int>(op.groups)};
  }
  __device__ static void cols(const Step& x, const ColsPart& p) {
    for (int g = 0; g < x.groups; ++g) batch_norm(x.in, x.out, p.first, g, p.scratch());
  }
};

struct NormGradStep {
  NormIn in;
  NormGrad d;
};
template <>
struct Fused<BatchNormGrad> {
  using Step = NormGradStep;
  static Step pack(const Call& call, Packing&) {
    const auto& op = *static_cast<const BatchNormGrad*>(call.op);
    return {norm_in(call, op.eps, op.relu, op.groups), norm_grad(call)};
  }
  __device__ static void cols(const Step& x, const ColsPart& p) { batch_norm_grad(x.in, x.d, p.first, p.scratch()); }
};

template <>
struct Fused<RunningStats> {
  using Step = Running;
  static Step pack(const Call& call, Packing&) { return running(call); }
  __device__ static void cols(const Step& x, const ColsPart& p) {
    each_item(p.end - p.first, [&](int i) { running_stats(x, p.first + i); });
  }
};

}  // namespace tessera::gpu
