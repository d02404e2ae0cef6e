// batch_norm, its derivative, both by shards of a batch, evaluation and running statistics.
#pragma once
#include "engine/ops/rule.h"
#include "kernels/shards.h"

namespace tessera {

// The blocks of rows that batch norm normalizes separately.
template <class F>
Var each_group(int64_t groups, int64_t rows, F&& block) {
  std::vector<Var> parts;
  for (int64_t g = 0; g < groups; ++g) parts.push_back(block(g, rows / groups));
  return concat_rows(parts);
}

template <>
struct Rule<BatchNorm> {
  static constexpr Traits traits{
      .rows = Follows::never(), .cols = Follows::each(), .elements = Follows::never(), .normalizes = true};
  static std::vector<Result> infer(const BatchNorm& op, const Shapes& in) {
    require(in[0].rows % op.groups == 0 && in[1] == Shape{1, in[0].cols} && in[2] == in[1], "batch_norm");
    return {{in[0]}, {{op.groups, in[0].cols}}, {{op.groups, in[0].cols}}};
  }
  static std::vector<Var> vjp(Recorder& r, const BatchNorm& op, const Vjp& v) {
    if (v.d_out[1] || v.d_out[2]) {  // a second derivative: the statistics themselves are differentiated
      const auto y = compose(r, op, v.in);
      std::vector<Var> out, seed;
      for (size_t i = 0; i < y.size(); ++i)
        if (v.d_out[i]) {
          out.push_back(y[i]);
          seed.push_back(v.d_out[i]);
        }
      return pullback(r, out, seed, v.in);
    }
    return r.emit(BatchNormGrad{op.eps, op.groups, op.relu},
                  {v.in[0], v.in[1], v.in[2], v.out[1], v.out[2], v.d_out[0]});
  }
  static std::vector<Var> compose(Recorder&, const BatchNorm& op, const std::vector<Var>& in) {
    const int64_t rows = in[0].rows(), n = rows / op.groups;
    auto block = [&](int64_t g) { return slice_rows(in[0], g * n, n); };
    const Var mean = each_group(op.groups, rows,
                                [&](int64_t g, int64_t) { return sum_rows(block(g), 1.0 / static_cast<double>(n)); });
    auto centered = [&](int64_t g) { return block(g) - slice_rows(mean, g, 1); };
    const Var var = each_group(op.groups, rows, [&](int64_t g, int64_t) {
      return sum_rows(square(centered(g)), 1.0 / static_cast<double>(n));
    });
    const Var y = each_group(op.groups, rows, [&](int64_t g, int64_t) {
      const Var z = centered(g) * (rsqrt(slice_rows(var, g, 1) + op.eps) * in[1]) + in[2];
      return op.relu ? relu(z) : z;
    });
    return {y, mean, var};
  }
  static double flops(const BatchNorm&, const Shapes& in, const Shapes&) {
    return 8 * static_cast<double>(in[0].count());
  }
};

template <>
struct Rule<BatchNormGrad> {
  static constexpr Traits traits{.rows = Follows::never(),
                                 .cols = Follows::each(),
                                 .elements = Follows::never(),
                                 .zero = {Zero::if_any, {5}},
                                 .normalizes = true,
                                 .narrow = {0},
                                 .kept = {0}};
  static std::vector<Result> infer(const BatchNormGrad& op, const Shapes& in) {
    require(in[0] == in[5] && in[3] == Shape{op.groups, in[0].cols} && in[4] == in[3], "batch_norm_grad");
    return {{in[0]}, {in[1]}, {in[2]}};
  }
  static std::vector<Var> compose(Recorder&, const BatchNormGrad& op, const std::vector<Var>& in) {
    const Var gamma = in[1], beta = in[2];
    const int64_t rows = in[0].rows(), n = rows / op.groups;
    const double share = 1.0 / static_cast<double>(n);
    Var d_gamma, d_beta;
    const Var d_x = each_group(op.groups, rows, [&](int64_t g, int64_t) {
      const Var rstd = rsqrt(slice_rows(in[4], g, 1) + op.eps),
                xhat = (slice_rows(in[0], g * n, n) - slice_rows(in[3], g, 1)) * rstd;
      Var d = slice_rows(in[5], g * n, n);
      if (op.relu) d = gate(d, xhat * gamma + beta, 0);
      const Var b = sum_rows(d), a = sum_rows(d * xhat);
      d_beta = d_beta ? d_beta + b : b;
      d_gamma = d_gamma ? d_gamma + a : a;
      return (d - share * b - xhat * (share * a)) * (rstd * gamma);
    });
    return {d_x, d_gamma, d_beta};
  }
  static double flops(const BatchNormGrad&, const Shapes& in, const Shapes&) {
    return 14 * static_cast<double>(in[0].count());
  }
};

template <>
struct Rule<NormEval> {
  static constexpr Traits traits{.rows = Follows::of({0}), .cols = Follows::each(), .elements = Follows::never()};
  static std::vector<Result> infer(const NormEval&, const Shapes& in) { return {{in[0]}}; }
  static std::vector<Var> compose(Recorder&, const NormEval& op, const std::vector<Var>& in) {
    const Var z = (in[0] - in[3]) * rsqrt(in[4] + op.eps) * in[1] + in[2];
    return {op.relu ? relu(z) : z};
  }
  static double flops(const NormEval&, const Shapes& in, const Shapes&) {
    return 5 * static_cast<double>(in[0].count());
  }
};

// Inserted after differentiation (engine/passes/batch/shard.h).
template <>
struct Rule<BatchNormSums> : NoGradient {
  static constexpr Traits traits{
      .rows = Follows::never(), .cols = Follows::never(), .elements = Follows::never(), .normalizes = true};
  static std::vector<Result> infer(const BatchNormSums& op, const Shapes& in) {
    const int64_t own = shard_units(op, op.count);
    require(own > 0 && in[0].rows % own == 0, "batch_norm_sums rows");
    const size_t inputs = op.form == BatchNormSums::mean ? 1 : op.form == BatchNormSums::variance ? 2 : 6;
    require(in.size() == inputs && (inputs < 6 || in[5] == in[0]), "batch_norm_sums inputs");
    return {{{1, op.form == BatchNormSums::gradient ? 2 * in[0].cols : in[0].cols}}};
  }
  static double flops(const BatchNormSums& op, const Shapes& in, const Shapes&) {
    const int each = op.form == BatchNormSums::mean ? 1 : op.form == BatchNormSums::variance ? 3 : 8;
    return each * static_cast<double>(in[0].count());
  }
};

template <>
struct Rule<BatchNormRowsGrad> : NoGradient {
  static constexpr Traits traits{.rows = Follows::of({0, 5}), .cols = Follows::never(), .elements = Follows::never()};
  static std::vector<Result> infer(const BatchNormRowsGrad&, const Shapes& in) {
    require(in.size() == 7 && in[0] == in[5] && in[6] == Shape{1, 2 * in[0].cols}, "batch_norm_rows_grad");
    return {{in[0]}};
  }
  static double flops(const BatchNormRowsGrad&, const Shapes& in, const Shapes&) {
    return 10 * static_cast<double>(in[0].count());
  }
};

template <>
struct Rule<RunningStats> : NoGradient, Light {
  static constexpr Traits traits{
      .rows = Follows::never(), .cols = Follows::each(), .elements = Follows::never(), .in_place = 2};
  static std::vector<Result> infer(const RunningStats&, const Shapes& in) { return {{in[0]}, {in[1]}}; }
};

}  // namespace tessera
