// What attacks are judged by, against values known from elsewhere.
#include "privacy/attacks/statistics.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tessera::privacy {
namespace {

TEST(Statistics, WilsonsIntervalSolvesItsEquation) {
  for (const auto& [hits, trials] : {std::pair<int64_t, int64_t>{0, 10}, {3, 10}, {50, 100}, {999, 1000}}) {
    const Interval w = wilson(hits, trials);
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
  const Interval a = area_under_roc({3, 2, 2, 5}, {1, 2, 4});
  EXPECT_NEAR(a.value, (2 + 1.5 + 1.5 + 3) / 12, 1e-12);
  EXPECT_LT(a.low, a.value);
  const Interval all = area_under_roc({3, 4, 5}, {0, 1, 2});
  EXPECT_EQ(all.value, 1);
  EXPECT_EQ(all.low, 1);
  EXPECT_EQ(members_found({3, 4, 5}, {0, 1, 4}, 0.0).hits, 1);
}

TEST(Statistics, IntervalOfEqualSharesContainsZero) {
  const Interval d = difference({30, 100}, {30, 100});
  EXPECT_LT(d.low, 0);
  EXPECT_GT(d.high, 0);
  EXPECT_GT(difference({90, 100}, {30, 100}).low, 0.3);
}

}  // namespace
}  // namespace tessera::privacy
