// Layers: initial weights, and the statistics of batch norm.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "engine/run/compile.h"
#include "models/layers/batch_norm.h"
#include "models/layers/linear.h"
#include "models/layers/recurrent.h"

namespace tessera {
namespace {

using layers::Norm;

// Elements of columns [begin, end) of a parameter.
std::vector<double> columns(const ParameterSet& set, const std::vector<float>& flat, const std::string& name,
                            int64_t begin, int64_t end) {
  const Parameter& p = set.find(name);
  std::vector<double> out;
  for (int64_t row = 0; row < p.shape.rows; ++row)
    for (int64_t c = begin; c < end; ++c)
      out.push_back(static_cast<double>(flat[static_cast<size_t>(p.offset + row * p.shape.cols + c)]));
  return out;
}

// Uniform in ±bound: none outside, some near either end.
void expect_uniform(const std::vector<double>& x, double bound) {
  const auto [low, high] = std::minmax_element(x.begin(), x.end());
  EXPECT_GE(*low, -bound * (1 + 1e-6));
  EXPECT_LE(*high, bound * (1 + 1e-6));
  EXPECT_LT(*low, -0.9 * bound);
  EXPECT_GT(*high, 0.9 * bound);
}

TEST(Layers, InitializeLinearAsTorchOrTf1) {
  ParameterSet set{"net", {}, 0};
  layers::Linear(set, "torch", 16, 64);
  layers::Linear(set, "tf1", 16, 64, layers::Initial::tf1);
  const std::vector<float> w = initial_weights(set, 1, 0);
  expect_uniform(columns(set, w, "torch.weight", 0, 64), 0.25);
  expect_uniform(columns(set, w, "torch.bias", 0, 64), 0.25);
  expect_uniform(columns(set, w, "tf1.weight", 0, 64), std::sqrt(6.0 / 80));
  EXPECT_EQ(columns(set, w, "tf1.bias", 0, 64), std::vector<double>(64, 0));
  EXPECT_EQ(initial_weights(set, 1, 0), w);
  EXPECT_NE(initial_weights(set, 2, 0), w);
  EXPECT_NE(initial_weights(set, 1, 1), w);
}

// Gates and candidate of a GRU are drawn separately, over the concatenated input; the gates' biases are 1.
TEST(Layers, InitializeRecurrentLayersByGate) {
  for (const Cell cell : {Cell::gru, Cell::gru_reset_before, Cell::lstm}) {
    ParameterSet set{"net", {}, 0};
    constexpr int64_t in = 5, hidden = 24;
    const layers::Recurrent rnn(set, "", {cell, in, hidden, 2, 1});
    const std::vector<float> w = initial_weights(set, 1, 0);
    for (const int64_t layer : {0, 1}) {
      const std::string name = "layer." + std::to_string(layer) + ".";
      const int64_t fan_in = (layer == 0 ? in : hidden) + hidden;
      const int64_t width = set.find(name + "weight_hh").shape.cols, gates = cell == Cell::lstm ? width : 2 * hidden;
      const auto bound = [&](int64_t fan_out) { return std::sqrt(6.0 / static_cast<double>(fan_in + fan_out)); };
      for (const char* weight : {"weight_ih", "weight_hh"}) {
        expect_uniform(columns(set, w, name + weight, 0, gates), bound(gates));
        if (gates < width) expect_uniform(columns(set, w, name + weight, gates, width), bound(hidden));
      }
      const std::string bias = name + (cell == Cell::gru_reset_before ? "bias" : "bias_ih");
      const double of_gates = cell == Cell::lstm ? 0 : 1;
      EXPECT_EQ(columns(set, w, bias, 0, gates), std::vector<double>(static_cast<size_t>(gates), of_gates));
      EXPECT_EQ(columns(set, w, bias, gates, width), std::vector<double>(static_cast<size_t>(width - gates), 0));
    }
  }
}

// Training moves the running statistics by the momentum, a population replaces them, inference leaves them.
TEST(Layers, BatchNormUsesTheRequestedStatistics) {
  const std::vector<float> x{1, 3, 5, 7};  // mean 4, unbiased variance 20 / 3
  const auto after = [&](Norm norm) {
    ParameterSet set{"net", {}, 0};
    const layers::BatchNorm layer(set, "norm", 1, 1e-5, 0.25);
    Team team(1);
    const auto p = compile({team, 1}, Purpose::step, [&](Recorder& r) {
      r.own(set);
      r.output(layer(r.input("x", {4, 1}), norm), "y");
    });
    const float mean = 2, var = 1;
    p->bind("x", x.data());
    p->put("net", initial_weights(set, 1, 0).data());
    p->put("net.norm.running_mean", &mean);
    p->put("net.norm.running_var", &var);
    p->run(1);
    return std::array{p->get<float>("net.norm.running_mean")[0], p->get<float>("net.norm.running_var")[0],
                      p->read<float>(p->find("y"))[3]};
  };
  const auto near = [](const std::array<float, 3>& got, double mean, double var, double y) {
    EXPECT_NEAR(static_cast<double>(got[0]), mean, 1e-4);
    EXPECT_NEAR(static_cast<double>(got[1]), var, 1e-4);
    EXPECT_NEAR(static_cast<double>(got[2]), y, 1e-4);
  };
  near(after(Norm::training), 2.5, 0.75 + 5.0 / 3, 3 / std::sqrt(5));
  near(after(Norm::population), 4, 20.0 / 3, 3 / std::sqrt(5));
  near(after(Norm::inference), 2, 1, 5);
}

}  // namespace
}  // namespace tessera
