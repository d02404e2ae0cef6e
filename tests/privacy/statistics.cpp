// What attacks are judged by, against values known from elsewhere.
#include "models/audit/statistics.h"

#include <gtest/gtest.h>

#include <cmath>

#include "privacy/by_chance.h"

namespace tessera::audit {
namespace {

TEST(Statistics, WilsonsIntervalSolvesItsEquation) {
  for (const auto& [hits, trials] : {std::pair<int64_t, int64_t>{0, 10}, {3, 10}, {50, 100}, {999, 1000}}) {
    const Interval w = wilson({hits, trials});
    for (const double edge : {w.low, w.high}) {  // |p − edge| = z·√(edge(1 − edge)/n), but where it is cut at 0 or 1
      if (edge <= 0 || edge >= 1) continue;
      EXPECT_NEAR(std::abs(w.value - edge), kZ * std::sqrt(edge * (1 - edge) / static_cast<double>(trials)), 1e-12);
    }
  }
}

TEST(Statistics, FishersTestIsTheHypergeometricTail) {
  EXPECT_NEAR(by_chance({3, 4}, {1, 4}), 17.0 / 70, 1e-12);  // the lady tasting tea
  EXPECT_NEAR(by_chance({4, 4}, {0, 4}), 1.0 / 70, 1e-12);
  EXPECT_NEAR(by_chance({0, 4}, {3, 4}), 1, 1e-12);
}

TEST(Statistics, AnAreaIsTheShareOfPairsInOrder) {
  const Interval a = area_under_roc(std::vector{3.0, 2.0, 2.0, 5.0}, std::vector{1.0, 2.0, 4.0});
  EXPECT_NEAR(a.value, (2 + 1.5 + 1.5 + 3) / 12, 1e-12);
  EXPECT_LT(a.low, a.value);
  EXPECT_EQ(area_under_roc(std::vector{3.0, 4.0, 5.0}, std::vector{0.0, 1.0, 2.0}).value, 1);
  const Operating none = at_false_positives(std::vector{3.0, 4.0, 5.0}, std::vector{0.0, 1.0, 4.0}, 0.0);
  EXPECT_EQ(none.found.hits, 1);
  EXPECT_EQ(none.accused.hits, 0);
}

TEST(Statistics, IntervalOfEqualSharesContainsZero) {
  const Interval d = difference({30, 100}, {30, 100});
  EXPECT_LT(d.low, 0);
  EXPECT_GT(d.high, 0);
  EXPECT_GT(difference({90, 100}, {30, 100}).low, 0.3);
}

// Without knowledge the variance of an area is (m + n + 1)/(12·m·n), of any order of few rows.
TEST(Statistics, AnAreaOfOneHalfHasTheVarianceOfRandomOrder) {
  std::vector<double> a, b;
  for (int i = 0; i < 40; ++i) (i % 2 == 0 ? a : b).push_back(i < 20 ? i : 59 - i);
  const Interval half = area_under_roc(a, b);
  EXPECT_NEAR(half.value, 0.5, 1e-12);
  EXPECT_NEAR(half.low, 1 - half.high, 1e-9);
  // the edge solves its equation
  const double x = half.low, v = x * (1 - x) * (1 + 19 * ((1 - x) / (2 - x) + x / (1 + x))) / 400;
  EXPECT_NEAR(half.value - x, kZ * std::sqrt(v), 1e-9);
  const Interval few = area_under_roc(std::vector{3.0, 4.0, 5.0}, std::vector{0.0, 1.0, 2.0});
  EXPECT_LT(few.low, 0.5);
  EXPECT_EQ(few.high, 1);
}

TEST(Statistics, MeansOfSharesDifferAsSharesDo) {
  const std::vector<double> a{1, 0, 1, 1, 0, 1}, b{0, 0, 1, 0};
  const Interval shares = difference({4, 6}, {1, 4}), means = difference_of_means(a, b);
  EXPECT_EQ(means.low, shares.low);
  EXPECT_EQ(means.high, shares.high);
  const Interval other = difference_of_means(std::vector{0.5, 0.25, 0.75}, std::vector{0.5, 0.5, 0.5});
  EXPECT_EQ(other.value, 0);
  EXPECT_NEAR(other.high, kZ * std::sqrt(0.0625 / 3), 1e-12);
}

}  // namespace
}  // namespace tessera::audit
