// Derivatives of derivatives: the gradient penalty of smooth, piecewise linear and normalized critics against central
// differences in double, and the laws it obeys.
#include <gtest/gtest.h>

#include "support/sandbox.h"

namespace tessera::sandbox {
namespace {

enum class Act { tanh, leaky, normalized };

// A critic of two hidden layers on [9, 5] rows; every weight is a bound tensor.
struct Critic {
  Sandbox s;
  Act act;
  std::vector<std::string> names;
  std::vector<Var> weights;
  Var x, penalty, scores;

  explicit Critic(Act a, uint64_t seed = 3) : s(seed), act(a) {
    x = s.real("x", {9, 5});
    auto weight = [&](const char* name, Shape shape) {
      names.emplace_back(name);
      weights.push_back(s.real(name, shape, -0.8, 0.8));
      return weights.back();
    };
    Var h = x;
    int64_t in = 5;
    for (const auto& [w, b, out] : {std::tuple{"w0", "b0", int64_t{7}}, {"w1", "b1", int64_t{6}}}) {
      h = matmul(h, weight(w, {in, out})) + weight(b, {1, out});
      if (act == Act::normalized)
        h = batch_norm(h, weight((std::string("gamma") + w).c_str(), {1, out}),
                       weight((std::string("beta") + b).c_str(), {1, out}), 1e-3)
                .y;
      h = act == Act::leaky ? leaky_relu(h, 0.2) : tanh(h);
      in = out;
    }
    scores = matmul(h, weight("w2", {in, 1})) + weight("b2", {1, 1});
    const Var slope = pullback(s.r, {scores}, {fill(s.r, scores.shape(), 1)}, {x})[0];
    penalty = mean(square(sqrt(row_dot(slope, slope)) + -1.0));
  }
  void gradients() {
    s.see(penalty, "penalty");
    const auto g = pullback(s.r, {penalty}, {fill(s.r, {1, 1}, 1)}, weights);
    for (size_t i = 0; i < g.size(); ++i) s.see(g[i] ? 1.0 * g[i] : fill(s.r, weights[i].shape(), 0), "d " + names[i]);
  }
};

// Every element of every weight by central differences of output `name`.
void check(Sandbox& s, const std::string& name, const std::vector<std::string>& weights, double tolerance,
           const Setting& setting = {}) {
  const Values at = s.run(setting);
  double scale = 1e-3;
  for (const auto& w : weights) scale = std::max(scale, largest(at.at("d " + w)));
  const double h = 1e-5;
  for (const auto& w : weights)
    for (size_t i = 0; i < s.values[w].size(); ++i) {
      double& v = s.values[w][i];
      const double was = v;
      v = was + h;
      const double up = s.run(setting).at(name)[0];
      v = was - h;
      const double down = s.run(setting).at(name)[0];
      v = was;
      ASSERT_NEAR(at.at("d " + w)[i], (up - down) / (2 * h), tolerance * scale) << w << "[" << i << "]";
    }
}

TEST(GradientPenalty, MatchesDifferencesForTanhCritic) {
  Critic c(Act::tanh);
  c.gradients();
  check(c.s, "penalty", c.names, 1e-7);
  check(c.s, "penalty", c.names, 1e-7, {cpu_kernels("double"), {"all"}});
}

TEST(GradientPenalty, MatchesDifferencesForLeakyCritic) {
  Critic c(Act::leaky);
  c.gradients();
  check(c.s, "penalty", c.names, 1e-7);
}

TEST(GradientPenalty, MatchesDifferencesForBatchNormCritic) {
  // Batch norm couples the rows, so the slope is that of the sum of the scores; the derivative of its norm passes
  // through the statistics twice.
  Critic c(Act::normalized);
  c.gradients();
  check(c.s, "penalty", c.names, 1e-6);
  check(c.s, "penalty", c.names, 1e-6, {cpu_kernels("double"), {"all"}});
}

// For a piecewise linear critic g = W0·(s0 ∘ W1·(s1 ∘ w2)) with s the slopes; d penalty / d W follows by the product
// rule with the slopes constant (Gulrajani et al. 2017; reference/emulation.md §4). Written out here by hand in double.
TEST(GradientPenalty, MatchesPiecewiseLinearRule) {
  Critic c(Act::leaky);
  c.gradients();
  const Values got = c.s.run();
  const auto& v = c.s.values;
  const auto &x = v.at("x"), &w0 = v.at("w0"), &b0 = v.at("b0"), &w1 = v.at("w1"), &b1 = v.at("b1"), &w2 = v.at("w2");
  std::vector<double> d0(35), d1(42), d2(6);
  for (size_t r = 0; r < 9; ++r) {
    double s0[7], h[7], s1[6], t[7], g[5], norm = 0;
    for (size_t j = 0; j < 7; ++j) {
      double z = b0[j];
      for (size_t i = 0; i < 5; ++i) z += x[5 * r + i] * w0[7 * i + j];
      s0[j] = z > 0 ? 1 : 0.2, h[j] = z * s0[j];
    }
    for (size_t k = 0; k < 6; ++k) {
      double z = b1[k];
      for (size_t j = 0; j < 7; ++j) z += h[j] * w1[6 * j + k];
      s1[k] = z > 0 ? 1 : 0.2;
    }
    for (size_t j = 0; j < 7; ++j) {
      t[j] = 0;
      for (size_t k = 0; k < 6; ++k) t[j] += w1[6 * j + k] * s1[k] * w2[k];
    }
    for (size_t i = 0; i < 5; ++i) {
      g[i] = 0;
      for (size_t j = 0; j < 7; ++j) g[i] += w0[7 * i + j] * s0[j] * t[j];
      norm += g[i] * g[i];
    }
    norm = std::sqrt(norm);
    const double factor = 2 * (norm - 1) / norm / 9;
    double e[7], f[6];
    for (size_t j = 0; j < 7; ++j) {
      e[j] = 0;
      for (size_t i = 0; i < 5; ++i)
        e[j] += factor * g[i] * w0[7 * i + j] * s0[j], d0[7 * i + j] += factor * g[i] * s0[j] * t[j];
    }
    for (size_t k = 0; k < 6; ++k) {
      f[k] = 0;
      for (size_t j = 0; j < 7; ++j) f[k] += e[j] * w1[6 * j + k] * s1[k], d1[6 * j + k] += e[j] * s1[k] * w2[k];
      d2[k] += f[k];
    }
  }
  for (const auto& [name, want] : {std::pair{"d w0", d0}, {"d w1", d1}, {"d w2", d2}})
    for (size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got.at(name)[i], want[i], 1e-13) << name << "[" << i << "]";
}

TEST(GradientPenalty, GivesNoGradientToBiasesAfterPiecewiseLinearLayers) {
  Critic c(Act::leaky);
  c.gradients();
  for (const std::set<std::string>& off : {std::set<std::string>{}, {"all"}}) {
    const Values v = c.s.run({cpu_kernels("double"), off});
    for (const char* bias : {"d b0", "d b1", "d b2"}) EXPECT_EQ(largest(v.at(bias)), 0) << bias << ": exactly zero";
  }
}

TEST(HessianVector, ProductIsSymmetric) {
  for (const Act act : {Act::tanh, Act::normalized}) {
    Critic c(act, 5);
    Recorder& r = c.s.r;
    const Var loss = mean(square(c.scores));
    std::vector<Var> u, v;
    for (size_t i = 0; i < c.weights.size(); ++i) {
      u.push_back(c.s.real("u" + std::to_string(i), c.weights[i].shape()));
      v.push_back(c.s.real("v" + std::to_string(i), c.weights[i].shape()));
    }
    // p·(H q) with H q = ∂(∂loss·q)/∂w
    auto quadratic = [&](const std::vector<Var>& p, const std::vector<Var>& q) {
      const auto gradient = pullback(r, {loss}, {fill(r, {1, 1}, 1)}, c.weights);
      Var along = fill(r, {1, 1}, 0), total = fill(r, {1, 1}, 0);
      for (size_t i = 0; i < q.size(); ++i)
        if (gradient[i]) along = along + sum(gradient[i] * q[i]);
      const auto hq = pullback(r, {along}, {fill(r, {1, 1}, 1)}, c.weights);
      for (size_t i = 0; i < p.size(); ++i)
        if (hq[i]) total = total + sum(hq[i] * p[i]);
      return total;
    };
    c.s.see(quadratic(u, v), "u·Hv");
    c.s.see(quadratic(v, u), "v·Hu");
    const Values got = c.s.run();
    EXPECT_GT(std::fabs(got.at("u·Hv")[0]), 1e-3);
    EXPECT_NEAR(got.at("u·Hv")[0], got.at("v·Hu")[0], 1e-10 * std::fabs(got.at("u·Hv")[0]));
  }
}

TEST(Pullback, IsEmptyForIndependentInputs) {
  Sandbox s;
  const Var x = s.real("x", {3, 3}), y = s.real("y", {3, 3});
  const auto g = pullback(s.r, {sum(x)}, {fill(s.r, {1, 1}, 1)}, {x, y});
  EXPECT_TRUE(g[0]);
  EXPECT_FALSE(g[1]);
}

TEST(Pullback, StopsAtRequestedValues) {
  // d (x·x + h) / d h with h = 3x: 1, not through x.
  Sandbox s;
  const Var x = s.real("x", {2, 2}), h = 3.0 * x;
  const auto g = pullback(s.r, {sum(x * x + h)}, {fill(s.r, {1, 1}, 1)}, {h, x});
  s.see(1.0 * g[0], "by h");
  s.see(1.0 * g[1], "by x");
  const Values v = s.run();
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(v.at("by h")[i], 1);
    EXPECT_NEAR(v.at("by x")[i], 2 * s.values["x"][i], 1e-15) << "h is a constant here";
  }
}

TEST(Pullback, JoinsParametersOfASet) {
  Sandbox s;
  ParameterSet set{"net", {}, 0};
  set.add("w", {4, 3});
  set.add("unused", {1, 2});
  set.add("b", {1, 3});
  s.own(set);
  const Var y = matmul(s.real("x", {5, 4}), s.r(set, "w")) + s.r(set, "b"), loss = mean(square(y));
  const auto g = s.r.gradients(loss, set);
  for (size_t i = 0; i < 3; ++i) s.see(1.0 * g[i], "d " + set.parameters[i].name);
  s.see(loss, "loss");
  const Values at = s.run();
  EXPECT_EQ(largest(at.at("d unused")), 0);
  const double h = 1e-5;
  for (const Parameter& p : set.parameters)
    for (int64_t i = 0; i < p.shape.count(); ++i) {
      double& v = s.values["net"][static_cast<size_t>(p.offset + i)];
      const double was = v;
      v = was + h;
      const double up = s.run().at("loss")[0];
      v = was - h;
      const double down = s.run().at("loss")[0];
      v = was;
      ASSERT_NEAR(at.at("d " + p.name)[static_cast<size_t>(i)], (up - down) / (2 * h), 1e-8)
          << p.name << "[" << i << "]";
    }
}

}  // namespace
}  // namespace tessera::sandbox
