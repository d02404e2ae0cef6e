// The mixture of full Gaussians, TVAE's prior: recovers known mixtures, never lowers the likelihood, and does not
// depend on threads.
#include "models/tvae/latent_mixture.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "models/tables.h"

namespace tessera {
namespace {

using whole::normal;
using whole::uniform;

constexpr int64_t kPoints = 6000;

// Three Gaussians in the plane with shares .5, .3, .2, the first one slanted.
std::vector<float> three() {
  std::vector<float> x;
  const auto add = [&](double a, double b) { x.insert(x.end(), {static_cast<float>(a), static_cast<float>(b)}); };
  for (int64_t i = 0; i < kPoints; ++i) {
    const double u = uniform(i, 1), a = normal(i, 2), b = normal(i, 3);
    if (u < 0.5) add(a, 0.9 * a + 0.3 * b);
    else if (u < 0.8) add(6 + 0.5 * a, -4 + 0.5 * b);
    else add(-5 + 0.2 * a, 5 + b);
  }
  return x;
}

LatentMixture fit(const std::vector<float>& x, int64_t d, int components, int threads = 1, int iterations = 100) {
  Team team(threads);
  LatentMixtureOptions o;
  o.components = components;
  o.max_iterations = iterations;
  return fit_latent_mixture(x, d, o, team, Monitor{});
}

TEST(LatentMixture, RecoversTheMixtureOfItsPoints) {
  const LatentMixture m = fit(three(), 2, 3);
  ASSERT_EQ(m.components, 3);
  for (const auto& [share, x, y, xx, xy, yy] : {std::tuple{0.5, 0.0, 0.0, 1.0, 0.9, 0.9},
                                                {0.3, 6.0, -4.0, 0.25, 0.0, 0.25},
                                                {0.2, -5.0, 5.0, 0.04, 0.0, 1.0}}) {
    size_t k = 0;
    for (size_t j = 1; j < 3; ++j)
      if (std::hypot(m.mean[2 * j] - x, m.mean[2 * j + 1] - y) < std::hypot(m.mean[2 * k] - x, m.mean[2 * k + 1] - y))
        k = j;
    const double* l = m.factor.data() + 4 * k;
    EXPECT_NEAR(m.share[k], share, 0.02);
    EXPECT_NEAR(m.mean[2 * k], x, 0.06);
    EXPECT_NEAR(m.mean[2 * k + 1], y, 0.1);
    EXPECT_EQ(l[1], 0) << "lower triangular";
    EXPECT_NEAR(l[0] * l[0], xx, 0.08);
    EXPECT_NEAR(l[0] * l[2], xy, 0.08);
    EXPECT_NEAR(l[2] * l[2] + l[3] * l[3], yy, 0.1);
  }
}

TEST(LatentMixture, FitsMeanAndCovarianceWithOneComponent) {
  const std::vector<float> x = three();
  const LatentMixture m = fit(x, 2, 1);
  double mean = 0, square = 0;
  for (size_t i = 0; i < x.size(); i += 2) {
    const auto at = static_cast<double>(x[i]);
    mean += at / kPoints, square += at * at / kPoints;
  }
  EXPECT_NEAR(m.mean[0], mean, 1e-9);
  EXPECT_NEAR(m.factor[0] * m.factor[0], square - mean * mean, 1e-3);
  EXPECT_EQ(m.share[0], 1);
}

TEST(LatentMixture, NeverLowersTheLikelihood) {
  double before = -INFINITY;
  for (const int iterations : {1, 2, 3, 5, 8, 13}) {
    const double now = fit(three(), 2, 8, 1, iterations).mean_log_likelihood;
    EXPECT_GE(now, before - 1e-4) << iterations;
    before = now;
  }
}

TEST(LatentMixture, KeepsBitsForAnyThreads) {
  const LatentMixture one = fit(three(), 2, 7);
  for (const int threads : {2, 3}) {
    const LatentMixture m = fit(three(), 2, 7, threads);
    EXPECT_EQ(m.mean, one.mean);
    EXPECT_EQ(m.factor, one.factor);
    EXPECT_EQ(m.share, one.share);
  }
}

TEST(LatentMixture, ReportsEveryStepAndCancels) {
  Team team(1);
  LatentMixtureOptions o;
  o.components = 8;
  std::vector<Progress> told;
  Monitor monitor;
  monitor.on_progress = [&](const Progress& p) { told.push_back(p); };
  const LatentMixture m = fit_latent_mixture(three(), 2, o, team, monitor);
  ASSERT_EQ(told.size(), static_cast<size_t>(m.iterations));
  for (size_t i = 0; i < told.size(); ++i) {
    EXPECT_STREQ(told[i].phase, "prior");
    EXPECT_EQ(told[i].done, static_cast<double>(i + 1));
    EXPECT_EQ(told[i].finished, i + 1 == told.size());
  }
  EXPECT_EQ(told.back().total, told.back().done);
  std::atomic<bool> cancel = false;
  monitor.cancel = &cancel;
  monitor.on_progress = [&](const Progress& p) { cancel = p.done == 3; };
  EXPECT_THROW(fit_latent_mixture(three(), 2, o, team, monitor), Error);
}

TEST(LatentMixture, EvaluatesTheFittedDensity) {
  const std::vector<float> x = three();
  const LatentMixture m = fit(x, 2, 5, 1, 200);
  const MixtureDensity density(2, m.share, m.mean, m.factor);
  double mean = 0;
  for (size_t i = 0; i < x.size(); i += 2) { mean += density.log_at(x.data() + i) / kPoints; }
  EXPECT_NEAR(mean, m.mean_log_likelihood, 2e-3)
      << "parameters are one step ahead of the likelihood they were judged by";
  const MixtureDensity standard(2, {1, 0}, {0, 0, 9, 9}, {1, 0, 0, 1, 0, 0, 0, 0});
  const float at[] = {1, 2};
  EXPECT_NEAR(standard.log_at(at), -std::log(2 * 3.14159265358979) - 2.5, 1e-9)
      << "a component without a share counts for nothing";
}

// Few points, equal points, a constant dimension: shares sum to one and every number is finite.
TEST(LatentMixture, HandlesDegeneratePoints) {
  for (const int64_t n : {1, 2, 19, 129, 700})
    for (const bool equal : {true, false}) {
      std::vector<float> x;
      for (int64_t i = 0; i < n; ++i)
        for (const double c : {equal ? 2.0 : normal(i, 1), 3.0, equal ? 2.0 : normal(i, 2)})
          x.push_back(static_cast<float>(c));
      const LatentMixture m = fit(x, 3, 30);
      EXPECT_LE(m.components, std::max<int64_t>(n / 30, 1));
      double sum = 0;
      for (const double s : m.share) sum += s;
      EXPECT_NEAR(sum, 1, 1e-9) << n;
      for (const auto* v : {&m.mean, &m.factor, &m.share})
        for (const double y : *v) EXPECT_TRUE(std::isfinite(y)) << n;
    }
}

}  // namespace
}  // namespace tessera
