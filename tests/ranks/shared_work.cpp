// What ranks share after training comes to the same, whatever their number.
#include "models/method/shared_work.h"

#include <gtest/gtest.h>

#include <atomic>

#include "models/tables.h"
#include "models/tvae/latent_mixture.h"
#include "ranks/world.h"

namespace tessera {
namespace {

constexpr int64_t kPieces = 23;

// The pieces as they were taken, each a square and its neighbour.
std::vector<double> taken(const SharedWork& shared, int64_t most, std::atomic<int64_t>& made) {
  std::vector<double> all;
  shared.in_order<double>(
      kPieces, most, 2,
      [&](int64_t first, int64_t count, double* results) {
        EXPECT_LE(count, most);
        made += count;
        for (int64_t i = 0; i < 2 * count; ++i)
          results[i] = static_cast<double>((first + i / 2) * (first + i / 2) + i % 2);
      },
      [&](const double* result) {
        all.insert(all.end(), {result[0], result[1]});
      });
  return all;
}

TEST(SharedWork, EveryRankTakesEveryPieceInOrderAndEachIsMadeOnce) {
  std::vector<double> expected;
  for (int64_t i = 0; i < kPieces; ++i)
    expected.insert(expected.end(), {static_cast<double>(i * i), static_cast<double>(i * i + 1)});
  std::atomic<int64_t> made = 0;
  EXPECT_EQ(taken({}, 4, made), expected);
  EXPECT_EQ(made, kPieces);
  for (const int ranks : {1, 2, 3, 5, 32})
    for (const int64_t most : {1, 4, 100}) {
      made = 0;
      as_ranks(ranks, [&](Communicator& c) { EXPECT_EQ(taken(SharedWork(c), most, made), expected); });
      EXPECT_EQ(made, kPieces) << ranks << " ranks, " << most << " at once";
    }
}

TEST(SharedWork, WhatRankZeroHasIsOnEveryRank) {
  as_ranks(3, [](Communicator& c) {
    const SharedWork shared(c);
    const bool first = c.rank() == 0;
    const double patience = c.patience;
    EXPECT_EQ(shared.agreed(10 + c.rank()), 10);
    EXPECT_EQ(shared.given(first ? std::vector<float>{1, 2, 3} : std::vector<float>{}), (std::vector<float>{1, 2, 3}));
    EXPECT_TRUE(shared.given(std::vector<double>()).empty());
    EXPECT_EQ(c.patience, patience);
  });
  EXPECT_EQ(SharedWork().agreed(7), 7);
  EXPECT_EQ(SharedWork().given(std::vector<float>{4}), std::vector<float>{4});
}

std::vector<float> points() {
  std::vector<float> x;
  for (int64_t i = 0; i < 12000; ++i) x.push_back(static_cast<float>(whole::normal(i, 1) + (i % 3 == 0 ? 4.0 : 0.0)));
  return x;
}

// The ranks' teams differ, and only rank 0 has a deadline: its clock passes a second with each look.
LatentMixture fitted(Communicator* c, double seconds) {
  const int rank = c != nullptr ? c->rank() : 0;
  Team team(1 + rank % 2);
  double now = 0;
  LatentMixtureOptions o;
  o.components = 6;
  if (c != nullptr) o.shared = SharedWork(*c);
  if (rank == 0 && seconds > 0) o.until = Deadline(seconds, [&now] { return now += 1; });
  return fit_latent_mixture(points(), 3, o, team, Monitor{});
}

TEST(SharedWork, RanksFitTheMixtureOfOne) {
  for (const double seconds : {0.0, 5.0}) {  // without and with a deadline
    const LatentMixture one = fitted(nullptr, seconds);
    EXPECT_EQ(seconds > 0, one.iterations < 8) << one.iterations;
    for (const int ranks : {2, 3, 4})
      as_ranks(ranks, [&](Communicator& c) {
        const LatentMixture m = fitted(&c, seconds);
        EXPECT_EQ(m.iterations, one.iterations);
        EXPECT_EQ(m.mean_log_likelihood, one.mean_log_likelihood);
        EXPECT_EQ(m.share, one.share);
        EXPECT_EQ(m.mean, one.mean);
        EXPECT_EQ(m.factor, one.factor);
      });
  }
}

}  // namespace
}  // namespace tessera
