// The pass `columns`: what ranks compute of their columns is together the step.
#include "engine/passes/columns/columns.h"

#include <gtest/gtest.h>

#include "engine/run/footprint.h"
#include "ranks/parts.h"
#include "ranks/world.h"
#include "support/ctgan_training.h"
#include "support/thrown.h"
#include "support/timegan_training.h"
#include "support/tvae_training.h"

namespace tessera::sandbox {
namespace {

Values run_columns_as_ranks(const Sandbox& training, int ranks, int shards, const Setting& setting) {
  return run_as_ranks(training, ranks, setting, [&](Plan& plan, Communicator& c) {
    return cut_columns(plan, {shards, ranks, c.rank(), c.wires()});
  });
}

void expect_same_of_columns(const Sandbox& training, int shards, const std::set<std::string>& off = {}) {
  const Setting exact{.off = off};
  Setting quick{.table = &cpu_kernels(), .off = off};
  const Values want = whole(training, exact);
  EXPECT_GT(largest(want.at("state losses")), 0.01);
  for (int ranks = 1; ranks <= shards; ++ranks) {
    if (shards % ranks != 0) continue;
    EXPECT_LE(difference(want, run_columns_as_ranks(training, ranks, shards, exact)), 1e-9) << ranks << " ranks";
  }
  quick.off.insert("scale");  // it goes by the widths of products, which differ between ranks
  const Values one = run_columns_as_ranks(training, 1, shards, quick);
  for (int ranks = 2; ranks <= shards; ++ranks) {
    if (shards % ranks != 0) continue;
    EXPECT_EQ(run_columns_as_ranks(training, ranks, shards, quick), one)
        << ranks << " ranks of " << shards << " shards";
  }
}

TEST(Columns, Tvae) {
  for (const int shards : {2, 3}) expect_same_of_columns(TvaeTraining(), shards);
}
TEST(Columns, Ctgan) {
  for (const int shards : {2, 4}) expect_same_of_columns(Training(), shards);
}
TEST(Columns, CtganWithTwoStepsOfTheCritic) { expect_same_of_columns(Training(2, 0), 2); }
TEST(Columns, CtganWithManyCategories) { expect_same_of_columns(Training(1, 0.9, Size::wide), 2); }
TEST(Columns, EveryPassOff) {
  for (const PassInfo& p : passes()) expect_same_of_columns(Training(), 2, {p.name});
}

// What a wide table takes is shared out.
TEST(Columns, TwoRanksTakeLittleMoreThanHalfOfAWideStepEach) {
  const Training training(1, 0.9, Size::wide);
  const auto bytes = [](Plan plan) {
    optimize(plan);
    return footprint(plan, Device::processor(), 1).total();
  };
  const int64_t whole = bytes(training.plan);
  for (const int rank : {0, 1}) {
    Plan part = training.plan;
    cut_columns(part, {2, 2, rank, SelfCommunicator().wires()});
    const int64_t own = bytes(std::move(part));
    EXPECT_LT(own, whole * 7 / 10) << "rank " << rank;
    EXPECT_GT(own, whole * 4 / 10) << "rank " << rank;
  }
}

TEST(Columns, AStepWithoutSpansIsRefused) {
  Plan plan = SequenceTraining({}, TimeganPhase::joint).plan;
  test::expect_error(ErrorCode::unsupported, {"`parallel=data`"}, [&] { cut_columns(plan, {2, 2, 0, nullptr}); });
}

TEST(Columns, TooFewColumnsAreRefused) {
  Plan plan = Training().plan;
  test::expect_error(ErrorCode::usage, {}, [&] { cut_columns(plan, {64, 64, 0, nullptr}); });
}

}  // namespace
}  // namespace tessera::sandbox
