// The optimum, whatever the scale of a column; and sdmetrics' recipe around it.
#include "models/quality/learners/logistic_regression.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "models/quality/learners/boosted_trees.h"

namespace tq = tessera::quality;

namespace {

// Two numbers, the second on another scale, and a category of three levels.
struct Sample {
  tq::DesignRows x;
  std::vector<double> target;
  Sample(int64_t rows, double scale, uint32_t seed) {
    std::mt19937 gen(seed);
    std::normal_distribution<> normal;
    x.rows = rows, x.numbers = 2, x.hots = 1, x.features = 5;
    for (int64_t i = 0; i < rows; ++i) {
      const double a = normal(gen), b = normal(gen);
      const auto level = static_cast<int32_t>(gen() % 3);
      x.number.insert(x.number.end(), {a, b * scale});
      x.hot.push_back(2 + level);
      target.push_back(a - 0.5 * b + level + normal(gen) > 1);
    }
  }
};

std::vector<double> gradient(const Sample& s, const std::vector<double>& w, double l2) {
  std::vector<double> g(w.size(), 0);
  for (size_t i = 0; i < s.target.size(); ++i) {
    const double row[2] = {s.x.number[2 * i], s.x.number[2 * i + 1]};
    const auto hot = static_cast<size_t>(s.x.hot[i]);
    const double error = 1 / (1 + std::exp(-(w[0] * row[0] + w[1] * row[1] + w[hot] + w[5]))) - s.target[i];
    g[0] += error * row[0], g[1] += error * row[1], g[hot] += error, g[5] += error;
  }
  for (size_t j = 0; j < 5; ++j) g[j] += l2 * w[j];
  return g;
}

}  // namespace

TEST(LogisticRegression, TheGradientVanishesAtTheOptimum) {
  for (const double scale : {1.0, 1e-4, 1e6}) {
    const Sample s(2000, scale, 1);
    const auto model = tq::LogisticRegression::fit(s.x, tq::every_row(2000), s.target, 1);
    const std::vector<double> g = gradient(s, model.weights(), 1);
    // of up to 1000 at w = 0
    for (size_t j = 0; j < g.size(); ++j) EXPECT_LT(std::abs(g[j]), (j == 1 ? scale : 1) * 0.1) << scale << " " << j;
    EXPECT_LT(model.steps(), 30);
  }
}

TEST(LogisticRegression, RecoversKnownOdds) {
  tq::DesignRows x;
  x.rows = 8, x.hots = 1, x.features = 2;
  x.hot = {0, 0, 0, 0, 1, 1, 1, 1};
  const std::vector<double> target{1, 1, 1, 0, 1, 0, 0, 0};
  const auto model = tq::LogisticRegression::fit(x, tq::every_row(8), target, 1e-6);
  EXPECT_NEAR(model.log_odds(x, 0), std::log(3), 1e-3);
  EXPECT_NEAR(model.log_odds(x, 7), -std::log(3), 1e-3);
}

TEST(LogisticRegression, HandlesSeparableRows) {
  tq::DesignRows x;
  x.rows = 100, x.numbers = 1, x.features = 1;
  std::vector<double> target;
  for (int i = 0; i < 100; ++i) x.number.push_back(i < 50 ? -1 - i : i), target.push_back(i >= 50);
  const auto model = tq::LogisticRegression::fit(x, tq::every_row(100), target);
  EXPECT_LT(model.log_odds(x, 0), 0);
  EXPECT_GT(model.log_odds(x, 99), 0);
  EXPECT_TRUE(std::isfinite(model.log_odds(x, 99)));
}
