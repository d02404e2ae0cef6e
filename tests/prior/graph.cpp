// Graph models: the laws of their parts, written down here once more over another generator, and their filter.
#include "models/prior/graph.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <set>

#include "models/prior/table.h"

namespace tp = tessera::prior;

namespace {

std::mt19937_64 generator(7);
double uniform(double low = 0, double high = 1) { return std::uniform_real_distribution<double>(low, high)(generator); }

tp::Columns normal_units(int64_t units, int64_t rows) {
  tp::Columns x;
  x.resize(units, rows);
  std::normal_distribution<float> law;
  for (int64_t j = 0; j < units; ++j)
    for (int64_t i = 0; i < rows; ++i) x[j][i] = law(generator);
  return x;
}

TEST(PriorGraph, EdgesFollowCauchyLogits) {
  // The share of edges of a graph has a wide law: its mean, and how many graphs have none or all of them.
  const auto cauchy = [] { return std::tan(3.14159265358979 * (uniform() - 0.5)); };
  constexpr int kGraphs = 4000, kNodes = 6, kPairs = kNodes * (kNodes - 1) / 2;
  double drawn[3] = {}, expected[3] = {};
  const auto count = [](double* to, int edges) {
    to[0] += static_cast<double>(edges) / kPairs / kGraphs;
    to[1] += (edges == 0 ? 1.0 : 0.0) / kGraphs;
    to[2] += (edges == kPairs ? 1.0 : 0.0) / kGraphs;
  };
  for (uint32_t t = 0; t < kGraphs; ++t) {
    tp::Draws d({3, t, 0}, tp::Use::structure);
    int edges = 0;
    for (const auto& parents : tp::random_graph(d, kNodes)) edges += static_cast<int>(parents.size());
    count(drawn, edges);
    double b[kNodes], c[kNodes];
    for (int i = 0; i < kNodes; ++i) b[i] = cauchy(), c[i] = cauchy();
    const double a = cauchy();
    edges = 0;
    for (int j = 0; j < kNodes; ++j)
      for (int i = 0; i < j; ++i) edges += uniform() < 1 / (1 + std::exp(-(a + b[j] + c[i]))) ? 1 : 0;
    count(expected, edges);
  }
  for (int k = 0; k < 3; ++k) EXPECT_NEAR(expected[k], drawn[k], 4 * 0.5 * std::sqrt(2.0 / kGraphs)) << k;
}

TEST(PriorGraph, ParentsComeBeforeTheirChildren) {
  for (uint32_t t = 0; t < 50; ++t) {
    tp::Draws d({4, t, 0}, tp::Use::structure);
    const auto parents = tp::random_graph(d, 20);
    for (size_t j = 0; j < parents.size(); ++j)
      for (const int i : parents[j]) EXPECT_LT(static_cast<size_t>(i), j);
  }
}

TEST(PriorGraph, ColumnsAreRelatedThroughACommonAncestor) {
  const std::vector<std::vector<int>> fork{{}, {0}, {0}, {}, {3}};  // 0 → 1, 0 → 2 and 3 → 4
  EXPECT_TRUE(tp::related(fork, {1}, 2));
  EXPECT_TRUE(tp::related(fork, {1, 4}, 3));
  EXPECT_TRUE(tp::related(fork, {2}, 2));
  EXPECT_FALSE(tp::related(fork, {1, 2}, 4));
  EXPECT_FALSE(tp::related(fork, {3}, 0));
}

TEST(PriorGraph, NumbersOfOneNameAreAlikeWithinATable) {
  // Over tables, a number is uniform; within one, its deviation is that of a Beta law of its own.
  double mean = 0, squares = 0, within = 0;
  constexpr int kTables = 3000;
  for (uint32_t t = 0; t < kTables; ++t) {
    tp::Work work;
    tp::GraphDraws g({5, t, 0}, work);
    const double a = g.number(tp::Scalar::node_scale, 0, 1, false), b = g.number(tp::Scalar::node_scale, 0, 1, false);
    ASSERT_GE(a, 0);
    ASSERT_LE(a, 1);
    mean += a / kTables, squares += a * a / kTables, within += (a - b) * (a - b) / 2 / kTables;
    const int64_t whole = g.whole(tp::Scalar::trees, 1, 4, true);
    ASSERT_GE(whole, 1);
    ASSERT_LE(whole, 3);
  }
  // Beta(ls, (1 − l)s): E[variance within] = E[l(1 − l)]·E[1/(s + 1)], s log-uniform from 0.1 to 10⁴
  double inverse = 0;
  for (int i = 0; i < 100000; ++i) inverse += 1 / (std::exp(uniform(std::log(0.1), std::log(1e4))) + 1) / 100000;
  EXPECT_NEAR(0.5, mean, 0.025);
  EXPECT_NEAR(inverse / 6, within, 0.01);
  EXPECT_NEAR(1.0 / 12 + inverse / 6, squares - mean * mean, 0.01);
}

TEST(PriorGraph, WeightsArePositiveAndRowsOfMatricesHaveLengthOne) {
  int shorter = 0;
  for (uint32_t t = 0; t < 60; ++t) {
    tp::Work work;
    tp::GraphDraws g({6, t, 0}, work);
    double squares = 0;
    for (const float w : tp::random_weights(g, 17)) {
      EXPECT_GE(w, 0);
      squares += static_cast<double>(w) * static_cast<double>(w);
    }
    EXPECT_NEAR(17, squares, 1e-3);
    const std::vector<float> m = tp::random_matrices(g, 2, 5, 9);
    ASSERT_EQ(90u, m.size());
    for (size_t row = 0; row < 10; ++row) {
      double length = 0;
      for (size_t j = 0; j < 9; ++j) length += std::pow(static_cast<double>(m[row * 9 + j]), 2);
      EXPECT_LE(std::sqrt(length), 1 + 1e-5) << t << ": row " << row;
      shorter += std::sqrt(length) < 0.99 ? 1 : 0;  // the law adds 10⁻⁶ to the length of a row before it divides by it
    }
  }
  EXPECT_LT(shorter, 30) << "of 600 rows";
}

TEST(PriorGraph, FunctionsDependOnTheirUnits) {
  // Rows that are equal have equal outputs, whichever function is drawn; not all outputs are constant.
  int varied = 0;
  constexpr uint32_t kFunctions = 120;
  for (uint32_t t = 0; t < kFunctions; ++t) {
    tp::Work work;
    tp::GraphDraws g({7, t, 0}, work);
    tp::Columns x = normal_units(4, 200);
    for (int64_t j = 0; j < 4; ++j) x[j][150] = x[j][3];
    const tp::Columns y = tp::random_function(g, x, 6);
    ASSERT_EQ(6, y.count());
    ASSERT_EQ(200, y.rows());
    bool constant = true;
    for (int64_t j = 0; j < 6; ++j) {
      if (std::isfinite(y[j][3])) { EXPECT_NEAR(y[j][3], y[j][150], 1e-4f * (1 + std::fabs(y[j][3]))) << t; }
      for (int64_t i = 1; i < 200; ++i) constant &= y[j][i] == y[j][0];
    }
    varied += constant ? 0 : 1;
  }
  EXPECT_GT(varied, static_cast<int>(kFunctions * 9 / 10));
}

TEST(PriorGraph, CentersAreTheNearestRows) {
  const tp::Columns x = normal_units(3, 300);
  const std::vector<int32_t> centers{5, 17, 200, 123};
  for (const double p : {0.5, 1.0, 2.0, 3.7}) {
    const std::vector<int32_t> found = tp::nearest_centers(x, centers, p);
    for (int64_t i = 0; i < 300; ++i) {
      double distance[4] = {};
      for (size_t k = 0; k < 4; ++k)
        for (int64_t j = 0; j < 3; ++j)
          distance[k] += std::pow(std::fabs(static_cast<double>(x[j][i]) - static_cast<double>(x[j][centers[k]])), p);
      EXPECT_LE(distance[found[static_cast<size_t>(i)]], *std::min_element(distance, distance + 4) * (1 + 1e-4)) << p;
    }
  }
}

TEST(PriorGraph, TheFilterRejectsTargetsThatNothingPredicts) {
  int noise = 0, signal = 0, weak = 0;
  constexpr uint32_t kTargets = 60;
  for (uint32_t t = 0; t < kTargets; ++t) {
    const tp::Columns x = normal_units(8, 300);
    std::vector<float> unrelated(300), related(300), classes(300);
    for (size_t i = 0; i < 300; ++i) {
      const float v = x[2][static_cast<int64_t>(i)];
      unrelated[i] = static_cast<float>(uniform());
      related[i] = v + static_cast<float>(uniform());
      classes[i] = v < -0.4f ? 0.0f : v < 0.4f ? 1.0f : 2.0f;
    }
    tp::Draws d({8, t, 0}, tp::Use::filter);
    noise += tp::predictable(x, unrelated, 0, d) ? 1 : 0;
    signal += tp::predictable(x, related, 0, d) ? 1 : 0;
    weak += tp::predictable(x, classes, 3, d) ? 1 : 0;
  }
  EXPECT_LE(noise, static_cast<int>(kTargets / 10));
  EXPECT_EQ(static_cast<int>(kTargets), signal);
  EXPECT_EQ(static_cast<int>(kTargets), weak);
}

TEST(PriorGraph, TablesHoldWhatIsDrawn) {
  tp::Options o;
  o.rows = {300, 300}, o.features = {5, 25}, o.kind = tp::Kind::graph;
  tp::Work work;
  double categorical = 0, features = 0;
  int64_t nodes = 0;
  constexpr int kTables = 60;
  for (int64_t i = 0; i < kTables; ++i) {
    const tp::PriorTable t = tp::draw_table(o, i, work);
    EXPECT_GE(t.settings.nodes, 2);
    EXPECT_LE(t.settings.nodes, 32);
    EXPECT_LE(t.settings.categorical, t.settings.features);
    int64_t few = 0;
    for (int64_t j = 0; j < t.features; ++j) {
      std::set<float> values;
      for (int64_t r = 0; r < t.rows; ++r) values.insert(t.x[static_cast<size_t>(r * t.features + j)]);
      few += values.size() <= 9 ? 1 : 0;
    }
    EXPECT_GE(few + t.settings.features - t.features, t.settings.categorical) << "constant ones are left out";
    categorical += t.settings.categorical, features += static_cast<double>(t.settings.features);
    nodes += t.settings.nodes;
  }
  // the share of categories: U(−0.5, 1.2) cut to [0, 1]; its mean is 7/17
  EXPECT_NEAR(7.0 / 17, categorical / features, 0.15);
  EXPECT_GT(nodes, 5 * kTables);
}

}  // namespace
