// batch_norm, batch_norm_grad, both by shards (batch_norm_sums, batch_norm_rows_grad), norm_eval, running_stats.
#include "kernels/shards.h"
#include "op_case.h"

namespace tessera::oracle {
namespace {

constexpr double kEps = 1e-5;

Number act(bool relu, Number z) { return relu && z.v < 0 ? Number(0, z.e) : z; }

Grids forward(const BatchNorm& op, const Grids& in) {
  const Grid &x = in[0], &gamma = in[1], &beta = in[2];
  const int64_t n = x.rows / op.groups;
  Grid y(x.rows, x.cols), mean(op.groups, x.cols), var(op.groups, x.cols);
  for (int64_t g = 0; g < op.groups; ++g)
    for (int64_t c = 0; c < x.cols; ++c) {
      double m = 0, v = 0, size = 0;
      for (int64_t r = g * n; r < (g + 1) * n; ++r)
        m += x(r, c).v / static_cast<double>(n), size += std::fabs(x(r, c).v) / static_cast<double>(n);
      for (int64_t r = g * n; r < (g + 1) * n; ++r) v += (x(r, c).v - m) * (x(r, c).v - m) / static_cast<double>(n);
      mean(g, c) = {m, size}, var(g, c) = {v, 2 * v + size * size};
      for (int64_t r = g * n; r < (g + 1) * n; ++r)
        y(r, c) =
            act(op.relu, (x(r, c) - mean(g, c)) * (gamma(0, c) * rounded(1 / std::sqrt(v + op.eps), 0)) + beta(0, c));
    }
  return {y, mean, var};
}

Grids backward(const BatchNormGrad& op, const Grids& in) {
  const Grid &x = in[0], &gamma = in[1], &beta = in[2], &mean = in[3], &var = in[4], &d_y = in[5];
  const int64_t n = x.rows / op.groups;
  Grid d_x(x.rows, x.cols), d_gamma(1, x.cols), d_beta(1, x.cols);
  for (int64_t g = 0; g < op.groups; ++g)
    for (int64_t c = 0; c < x.cols; ++c) {
      const Number rstd = rounded(1 / std::sqrt(var(g, c).v + op.eps), 0);
      auto hat = [&](int64_t r) { return (x(r, c) - mean(g, c)) * rstd; };
      auto d = [&](int64_t r) { return !op.relu || (hat(r) * gamma(0, c) + beta(0, c)).v > 0 ? d_y(r, c) : Number(0); };
      Number sum, dot;
      for (int64_t r = g * n; r < (g + 1) * n; ++r) sum += d(r), dot += d(r) * hat(r);
      d_beta(0, c) += sum, d_gamma(0, c) += dot;
      const Number share = 1 / static_cast<double>(n);
      for (int64_t r = g * n; r < (g + 1) * n; ++r)
        d_x(r, c) = rstd * gamma(0, c) * (d(r) - share * sum - hat(r) * (share * dot));
    }
  return {d_x, d_gamma, d_beta};
}

// The sums of all shards are those of the rows.
Grids sums(const BatchNormSums& op, const Grids& in) {
  const Grid& x = in[0];
  Grid out(1, op.form == BatchNormSums::gradient ? 2 * x.cols : x.cols);
  for (int64_t c = 0; c < x.cols; ++c)
    for (int64_t r = 0; r < x.rows; ++r) {
      if (op.form == BatchNormSums::mean) out(0, c) += x(r, c) * Number(op.scale);
      if (op.form == BatchNormSums::variance)
        out(0, c) += (x(r, c) - in[1](0, c)) * (x(r, c) - in[1](0, c)) * Number(op.scale);
      if (op.form != BatchNormSums::gradient) continue;
      const Number hat = (x(r, c) - in[3](0, c)) * rounded(1 / std::sqrt(in[4](0, c).v + op.eps), 0);
      const bool passed = !op.relu || (hat * in[1](0, c) + in[2](0, c)).v > 0;
      const Number d = passed ? in[5](r, c) : Number(0) * in[5](r, c);
      out(0, c) += d * Number(op.scale), out(0, x.cols + c) += d * hat * Number(op.scale);
    }
  return {out};
}
Grids rows_grad(const BatchNormRowsGrad& op, const Grids& in) {
  const Grid& x = in[0];
  return {grid(x.rows, x.cols, [&](int64_t r, int64_t c) {
    const Number rstd = rounded(1 / std::sqrt(in[4](0, c).v + op.eps), 0), hat = (x(r, c) - in[3](0, c)) * rstd;
    const bool passed = !op.relu || (hat * in[1](0, c) + in[2](0, c)).v > 0;
    const Number d = passed ? in[5](r, c) : Number(0) * in[5](r, c), share = op.share;
    return rstd * in[1](0, c) * (d - share * in[6](0, c) - hat * (share * in[6](0, x.cols + c)));
  })};
}

// `rows` for each unit that the rank has.
void shard_cases(Cases& cases, BatchNormSums op, int64_t rows, int64_t cols) {
  const int64_t own = rows * shard_units(op, op.count);
  const Input x = real(own, cols), row = real(1, cols), var = row.range(0.1, 3);
  const std::vector<Input> given{x, row.range(0.5, 1.5), row.range(-1, 1), row, var, x};
  for (const BatchNormSums::Form form : {BatchNormSums::mean, BatchNormSums::variance, BatchNormSums::gradient}) {
    op.form = form;
    Case c{"of shards", op, given, [op](const Grids& in) { return sums(op, in); }};
    if (form != BatchNormSums::gradient) c.in.resize(form == BatchNormSums::mean ? 1 : 2, row);
    c.derived = false;
    cases.push_back(c);
  }
  const BatchNormRowsGrad of_rows{op.eps, op.scale, op.relu};
  Case c{"by sums of shards", of_rows, given, [of_rows](const Grids& in) { return rows_grad(of_rows, in); }};
  c.in.push_back(real(1, 2 * cols).lying(Input::whole));
  c.derived = false, c.by_rows = true;
  for (size_t k = 1; k < 5; ++k) c.in[k] = c.in[k].lying(Input::whole);
  cases.push_back(c);
}

Law column_law(const char* sentence, int64_t groups,
               std::function<double(const Grids&, const Grids&, int64_t row, int64_t column)> term) {
  return {sentence, [=](const Grids& in, const Grids& out) {
            double worst = 0;
            const int64_t n = in[0].rows / groups;
            for (int64_t g = 0; g < groups; ++g)
              for (int64_t c = 0; c < in[0].cols; ++c) {
                double sum = 0, size = 1;
                for (int64_t r = g * n; r < (g + 1) * n; ++r) {
                  const double t = term(in, out, r, c);
                  sum += t, size += std::fabs(t);
                }
                worst = std::max(worst, std::fabs(sum) / size);
              }
            return worst;
          }};
}

}  // namespace

void batch_norm_cases(Cases& cases) {
  for (const bool relu : {false, true}) {
    shard_cases(cases, {{}, 0.125, kEps, relu, 2, 1, 0, 1}, 1, 1);
    shard_cases(cases, {{}, 0.25, kEps, relu, 50, 8, 0, 8}, 1, 65);
    shard_cases(cases, {{}, 1, kEps, relu, 13, 6, 3, 3}, 4, 259);
    shard_cases(cases, {{}, 0.5, kEps, relu, 8, 4, 2, 1}, 15, 64);
  }
  for (const auto& [rows, cols, groups] :
       {std::tuple{2, 1, 1}, {31, 33, 1}, {65, 31, 1}, {66, 35, 2}, {33, 2, 3}, {500, 3, 1}})
    for (const bool relu : {false, true}) {
      const BatchNorm op{kEps, groups, relu};
      // A wide spread of beta keeps the normalized values of the small cases off ReLU's kink.
      const Input gamma = real(1, cols).range(0.5, 1.5), beta = real(1, cols).range(-1, 1);
      cases.push_back({relu ? "with ReLU" : "", op, {real(rows, cols), gamma, beta}, [op](const Grids& in) {
                         return forward(op, in);
                       }});
      if (!relu)
        cases.back().laws.push_back(column_law(
            "a normalized column has mean beta", groups,
            [](const Grids& in, const Grids& out, int64_t r, int64_t c) { return out[0](r, c).v - in[2](0, c).v; }));

      // Statistics of the data, so that the laws of the true derivative hold.
      Case back{relu ? "with ReLU" : "",
                BatchNormGrad{kEps, groups, relu},
                {real(rows, cols), gamma, beta, real(groups, cols), real(groups, cols), real(rows, cols)},
                {}};
      back.reference = [b = std::get<BatchNormGrad>(back.op)](const Grids& in) { return backward(b, in); };
      std::mt19937_64 random(rows * 131 + cols);
      std::uniform_real_distribution<float> uniform(-2, 2);
      // no variance near 0
      for (int64_t i = 0; i < rows * cols; ++i)
        back.in[0].values.push_back(static_cast<double>(uniform(random) + (i / cols % 2 == 0 ? 2.0f : -2.0f)));
      Grids data{
          grid(rows, cols, [&, i = size_t{0}](int64_t, int64_t) mutable { return Number(back.in[0].values[i++]); }),
          Grid(1, cols, 1), Grid(1, cols, 0)};
      const Grids statistics = forward({kEps, groups, false}, data);
      for (size_t k = 3; k < 5; ++k)
        for (const Number& n : statistics[k - 2].cells) back.in[k].values.push_back(n.v);
      if (!relu) {
        back.laws.push_back(
            column_law("columns of d_x sum to zero", groups,
                       [](const Grids&, const Grids& out, int64_t r, int64_t c) { return out[0](r, c).v; }));
        // x̂·x̂ = n·var/(var + eps), so the product is not 0 but what eps leaves of d_gamma.
        if (groups == 1)
          back.laws.push_back(column_law("d_x is orthogonal to the normalized x", groups,
                                         [](const Grids& in, const Grids& out, int64_t r, int64_t c) {
                                           const double v = in[4](0, c).v + kEps, rstd = 1 / std::sqrt(v),
                                                        left = in[1](0, c).v * rstd * out[1](0, c).v * kEps / v;
                                           return out[0](r, c).v * (in[0](r, c).v - in[3](0, c).v) * rstd -
                                                  left / static_cast<double>(in[0].rows);
                                         }));
      }
      cases.push_back(back);

      cases.push_back({relu ? "with ReLU" : "",
                       NormEval{kEps, relu},
                       {real(rows, cols), gamma, beta, real(1, cols), real(1, cols).range(0.1, 3)},
                       [relu = relu](const Grids& in) {
                         return Grids{grid(in[0].rows, in[0].cols, [&](int64_t r, int64_t c) {
                           return act(relu,
                                      (in[0](r, c) - in[3](0, c)) / sqrt(in[4](0, c) + Number(kEps)) * in[1](0, c) +
                                          in[2](0, c));
                         })};
                       }});
      cases.back().by_rows = true;

      if (relu) continue;
      const RunningStats running{0.1, rows / groups};
      cases.push_back(
          {"unbiased variance, group after group",
           running,
           {real(1, cols), real(1, cols).range(0.5, 2), real(groups, cols), real(groups, cols).range(0.1, 3)},
           [running](const Grids& in) {
             Grid mean = in[0], var = in[1];
             for (int64_t g = 0; g < in[2].rows; ++g)
               for (int64_t c = 0; c < mean.cols; ++c) {
                 const double n = static_cast<double>(running.rows);
                 mean(0, c) = 0.9 * mean(0, c) + 0.1 * in[2](g, c);
                 var(0, c) = 0.9 * var(0, c) + 0.1 * (n / (n - 1)) * in[3](g, c);
               }
             return Grids{mean, var};
           }});
    }
  // The mean of numbers around 2²⁴, half of them two higher; sums in float would be off by more than all that varies.
  {
    constexpr int64_t kRows = 128, kCols = 9;
    const BatchNorm op{kEps, 1, false};
    Case far{"far from 0",
             op,
             {real(kRows, kCols).constant(), real(1, kCols).range(0.5, 1.5).constant(), real(1, kCols).constant()},
             [op](const Grids& in) { return forward(op, in); }};
    for (int64_t i = 0; i < kRows * kCols; ++i) far.in[0].values.push_back(0x1p24 + (i / kCols % 2 == 0 ? 4 : 0));
    far.laws.push_back({"statistics are kept in double", [](const Grids&, const Grids& out) {
                          double wrong = 0;
                          for (int64_t c = 0; c < kCols; ++c)
                            wrong += (out[1](0, c).v != 0x1p24 + 2) + (out[2](0, c).v != 4);
                          return wrong;
                        }});
    cases.push_back(far);
    Case back{"slopes of very different size",
              BatchNormGrad{kEps, 1, false},
              {real(kRows, kCols).constant(), real(1, kCols).range(0.5, 1.5).constant(), real(1, kCols).constant(),
               real(1, kCols).constant(), real(1, kCols).range(1, 2).constant(), real(kRows, kCols).constant()},
              [b = BatchNormGrad{kEps, 1, false}](const Grids& in) { return backward(b, in); }};
    for (int64_t i = 0; i < kRows * kCols; ++i)
      back.in[5].values.push_back(i / kCols == 0 ? 0x1p26 : i / kCols == kRows - 1 ? -0x1p26 : 1);
    back.laws.push_back({"sums are kept in double", [](const Grids&, const Grids& out) {
                           double wrong = 0;
                           for (const Number& n : out[2].cells) wrong += n.v != kRows - 2;
                           return wrong;
                         }});
    cases.push_back(back);
    // x = mean and beta = 0: ReLU's input is 0, where nothing is let through.
    const BatchNormGrad kink{kEps, 1, true};
    Case at_kink{"at ReLU's kink",
                 kink,
                 {real(3, 2).of({1, -2, 2, 0, 3, 2}).constant(), real(1, 2).of({1, 0.5}).constant(),
                  real(1, 2).of({0, 0}).constant(), real(1, 2).of({2, 0}).constant(), real(1, 2).of({1, 3}).constant(),
                  real(3, 2).constant()},
                 [kink](const Grids& in) { return backward(kink, in); }};
    cases.push_back(at_kink);
  }
  const RunningStats one{0.25, 1};
  cases.push_back({"one row has no unbiased variance: the biased one stays",
                   one,
                   {real(1, 3), real(1, 3), real(1, 3), real(1, 3)},
                   [](const Grids& in) {
                     auto mix = [&](size_t a, size_t b) {
                       return grid(1, 3, [&](int64_t, int64_t c) { return 0.75 * in[a](0, c) + 0.25 * in[b](0, c); });
                     };
                     return Grids{mix(0, 2), mix(1, 3)};
                   }});
}

}  // namespace tessera::oracle
