// The accountant against dp-accounting 0.6.0 (PyPI), its privacy loss distributions and its RDP accountant; discrete
// Gaussians on its grid of 1e-5, whose rounding of 120 of them adds 6e-4.
#include "models/privacy/privacy_loss.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace tessera;

namespace {

constexpr double kClose = 1e-3;

PrivacyLoss times(const PrivacyLoss& loss, int64_t n) { return PrivacyLoss::composed({{loss, n}}); }

double epsilon_of_sampling(double sigma, double rate, int64_t steps, double delta, double grid) {
  double worst = 0;
  for (const auto neighbor : {PrivacyLoss::Neighbor::removed, PrivacyLoss::Neighbor::added})
    worst = std::max(worst, times(PrivacyLoss::subsampled_gaussian(sigma, rate, neighbor, grid), steps).epsilon(delta));
  return worst;
}

}  // namespace

TEST(Accountant, GaussiansHaveThePublishedEpsilonAndDelta) {
  EXPECT_NEAR(PrivacyLoss::gaussian(3.73).epsilon(1e-5), 1.000186, kClose);
  EXPECT_NEAR(PrivacyLoss::gaussian(3.73).epsilon(1e-6), 1.143822, kClose);
  EXPECT_NEAR(PrivacyLoss::gaussian(1).epsilon(1e-5), 4.377178, kClose);
  EXPECT_NEAR(PrivacyLoss::gaussian(1).delta(1), 0.126936738, kClose * 0.127);
  EXPECT_NEAR(PrivacyLoss::gaussian(1).delta(3), 0.0015371853, kClose * 0.0015);
  EXPECT_NEAR(PrivacyLoss::gaussian(10, 10).epsilon(1e-6), 4.886554, kClose);
}

TEST(Accountant, CompositionHasThePublishedEpsilon) {
  EXPECT_NEAR(times(PrivacyLoss::gaussian(20), 30).epsilon(1e-5), 1.023833, kClose);
  EXPECT_NEAR(times(PrivacyLoss::gaussian(20), 30).epsilon(1e-6), 1.170419, kClose);
  const PrivacyLoss both =
      PrivacyLoss::composed({{PrivacyLoss::discrete_gaussian(1600), 100}, {PrivacyLoss::discrete_gaussian(400), 20}});
  EXPECT_NEAR(both.epsilon(1e-5), 1.280354, kClose);
  EXPECT_NEAR(both.epsilon(1e-6), 1.458307, kClose);
}

TEST(Accountant, DiscreteGaussiansHaveThePublishedEpsilon) {
  EXPECT_NEAR(PrivacyLoss::discrete_gaussian(25).epsilon(1e-5), 0.726643, kClose);
  EXPECT_NEAR(PrivacyLoss::discrete_gaussian(25).epsilon(1e-6), 0.834976, kClose);
}

TEST(Accountant, PoissonSamplesHaveThePublishedEpsilon) {
  EXPECT_NEAR(epsilon_of_sampling(1.1, .01, 1000, 1e-5, 5e-4), 1.51537, kClose);
  EXPECT_NEAR(epsilon_of_sampling(.8, .004, 5000, 1e-5, 5e-4), 2.499118, kClose);
}

TEST(Accountant, RenyiBoundsAreThePublishedOnesAndNeverSmaller) {
  EXPECT_NEAR(epsilon_of_zcdp(1 / (2 * 3.73 * 3.73), 1e-5), 1.0928, 2 * kClose);
  EXPECT_NEAR(epsilon_of_subsampled_rdp(1.1, .01, 1000, 1e-5), 1.7252908, kClose);
}

TEST(Accountant, BudgetsAreSpentExactly) {
  for (const double epsilon : {.1, 1.0, 3.0, 8.0}) {
    const double mu = gaussian_budget(epsilon, 1e-5);
    EXPECT_NEAR(PrivacyLoss::gaussian(1 / mu).epsilon(1e-5), epsilon, kClose);
    // mechanisms of any shares of μ² compose to it
    const PrivacyLoss parts = PrivacyLoss::composed({{PrivacyLoss::gaussian(std::sqrt(10 / (.2 * mu * mu))), 10},
                                                     {PrivacyLoss::gaussian(std::sqrt(3 / (.8 * mu * mu))), 3}});
    EXPECT_NEAR(parts.epsilon(1e-5), epsilon, kClose);
  }
}
