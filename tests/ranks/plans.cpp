// The pass `shard`: the parts of a step that ranks compute are together the step, and every number of ranks gives the
// same bits.
#include <gtest/gtest.h>

#include <cstring>

#include "engine/passes/batch/shard.h"
#include "engine/run/footprint.h"
#include "ranks/parts.h"
#include "ranks/world.h"
#include "support/ctgan_training.h"
#include "support/thrown.h"
#include "support/timegan_training.h"
#include "support/tvae_training.h"

namespace tessera::sandbox {
namespace {

// What was received of an exchange that failed may be rows by number: the step ends with zeros instead of it.
TEST(FailedExchange, LeavesZerosForTheRestOfItsStep) {
  Wires wires{};
  wires.all_gather = [](void*, const void*, void* to, int64_t bytes, int64_t apart, void*) {
    for (int r = 0; r < 3; ++r) std::memset(static_cast<char*>(to) + r * apart, 0x7f, bytes);
    return false;
  };
  for (const Setting& setting : {Setting{}, Setting{.table = &cpu_kernels(), .steps = 4}}) {
    Sandbox s;
    const Var order = s.state("order", {1, 1}, 0, 0), mine = s.state("mine", {1, 5}, 1, 2);
    s.see(s.r.emit(AllGather{&wires, 3}, {order, mine})[1], "all");
    EXPECT_EQ(s.run(setting).at("all"), std::vector<double>(15, 0));
  }
}

// Updates of sets of `least` numbers or more are shared.
Values run_shards_as_ranks(const Sandbox& training, int ranks, int shards, const Setting& setting,
                           int64_t least = RankCut{}.least_shared) {
  return run_as_ranks(training, ranks, setting, [&](Plan& plan, Communicator& c) {
    optimize(plan, setting.off);
    return shard(plan, {shards, ranks, c.rank(), c.wires(), false, least});
  });
}

void expect_same_of_shards(const Sandbox& training, int shards) {
  const Setting exact, quick{.table = &cpu_kernels()};
  const Values want = whole(training, exact);
  EXPECT_GT(largest(want.at("state losses")), 0.01);
  EXPECT_LE(difference(want, run_shards_as_ranks(training, 1, shards, exact)), 1e-9) << "the sums in another order";
  EXPECT_LE(difference(want, run_shards_as_ranks(training, shards, shards, exact)), 1e-9);
  const Values one = run_shards_as_ranks(training, 1, shards, quick);
  for (int ranks = 2; ranks <= shards; ++ranks) {
    if (shards % ranks != 0) continue;
    EXPECT_EQ(run_shards_as_ranks(training, ranks, shards, quick), one) << ranks << " ranks of " << shards << " shards";
  }
}

// Updates that are shared give the bits of those that each rank makes, whatever the part of a rank begins and ends
// with; only the moments are held in parts.
TEST(SharedUpdates, ChangeNoBit) {
  const Setting quick{.table = &cpu_kernels()};
  const Training ctgan(2, 0.9);
  const TvaeTraining tvae;
  const SequenceTraining timegan({}, TimeganPhase::joint);
  const auto same = [&](const Sandbox& training, int shards, const char* what) {
    const Values one = run_shards_as_ranks(training, 1, shards, quick);
    for (int ranks = 2; ranks <= shards; ++ranks) {
      if (shards % ranks != 0) continue;
      EXPECT_EQ(run_shards_as_ranks(training, ranks, shards, quick, 32), one) << what << ", " << ranks << " ranks";
    }
  };
  same(ctgan, 4, "ctgan"), same(tvae, 6, "tvae"), same(tvae, 3, "tvae"), same(timegan, 2, "timegan");
}

TEST(SharedUpdates, AreThoseOfLargeSets) {
  const auto parts = [](const Sandbox& training, int ranks, int shards, int64_t least) {
    Plan plan = training.plan;
    optimize(plan);
    const StateCuts cuts = shard(plan, {shards, ranks, ranks - 1, SelfCommunicator().wires(), false, least});
    EXPECT_EQ(count<ReduceParts>(plan), count<GatherParts>(plan));
    return std::pair(cuts, count<ReduceParts>(plan));
  };
  const Training training(2, 0.9);
  EXPECT_EQ(parts(training, 2, 4, 32).second, 3);  // two steps of the critic, one of the generator
  EXPECT_EQ(parts(training, 2, 4, 32).first.size(), 5) << "moments of two sets, the average of one";
  EXPECT_EQ(parts(training, 2, 4, 1 << 15).second, 0);
  EXPECT_EQ(parts(training, 1, 4, 32).second, 0) << "there is nobody to share with";
  EXPECT_EQ(parts(training, 3, 6, 32).second, 0) << "two shards of a rank are no branch of the tree";
  const Training scaled(1, 0.9, Size::small, 40, Precision::fp16);
  EXPECT_EQ(parts(scaled, 2, 4, 32).second, 0) << "every rank looks at all gradients";
}

// Of weights, two moments and an average, half of three is gone.
TEST(SharedUpdates, TwoRanksHoldHalfOfTheMoments) {
  const auto state_of = [](int64_t least) {
    const Training training(1, 0.9, Size::adult);
    Plan plan = training.with();
    (void)shard(plan, {8, 2, 0, SelfCommunicator().wires(), false, least});
    return footprint(plan, Device::processor(), 1);
  };
  const Footprint shared = state_of(1 << 15), whole = state_of(INT64_MAX);
  EXPECT_LT(shared.state, whole.state * 7 / 10);
  EXPECT_GT(shared.state, whole.state * 6 / 10);
  EXPECT_LE(shared.total(), whole.total() * 9 / 10);
}

TEST(Shard, Tvae) {
  for (const int shards : {1, 4, 6}) expect_same_of_shards(TvaeTraining(), shards);
}
TEST(Shard, Ctgan) { expect_same_of_shards(Training(), 4); }
TEST(Shard, CtganWithTwoStepsOfTheCritic) { expect_same_of_shards(Training(2, 0), 2); }
TEST(Shard, Timegan) {
  for (const TimeganPhase phase : {TimeganPhase::embedding, TimeganPhase::supervised, TimeganPhase::joint})
    expect_same_of_shards(SequenceTraining({}, phase), 2);
}

// Passes off change what the pass meets, not what it gives.
TEST(Shard, EveryPassOff) {
  const Training t;
  for (const PassInfo& p : passes()) {
    const Setting setting{.off = {p.name}};
    EXPECT_LE(difference(whole(t, setting), run_shards_as_ranks(t, 2, 2, setting)), 1e-9) << "without " << p.name;
  }
}

TEST(Shard, ABatchWithTooFewPartsIsRefused) {
  const SequenceTraining t;  // 32 sequences: two tiles
  Plan plan = t.plan;
  optimize(plan);
  test::expect_error(ErrorCode::usage, {"`virtual_shards` asks for 4"}, [&] { (void)shard(plan, {4, 1, 0, nullptr}); });
}

// Sums that are wanted together share an exchange: those of each set of weights, and the losses.
TEST(Shard, SumsShareExchanges) {
  const TvaeTraining t;
  Plan plan = t.plan;
  optimize(plan);
  shard(plan, {4, 2, 0, SelfCommunicator().wires()});
  EXPECT_EQ(count<AllGather>(plan), 3);
}

// The critic's first layer is large beside the five packs that are scattered into its gradient, of which one rank has
// two and the other three: each of them scatters all.
TEST(Shard, AScatterOfFewRowsExchangesTheRows) {
  const Training t(1, 0.9, Size::wide);
  expect_same_of_shards(t, 4);
  Plan plan = t.with();
  shard(plan, {4, 2, 0, SelfCommunicator().wires()});
  int whole = 0;
  for (const auto& [op, node] : ops<SparseWgrad>(plan)) {
    const bool large = plan.shape(node.out[0]).cols == 63;
    EXPECT_TRUE(!large || plan.shape(node.in[2]).rows == 5);
    whole += large;
  }
  EXPECT_GE(whole, 2);
}

// A step that loses a rank ends there, and says so.
TEST(Shard, ALostRankEndsTheStep) {
  const TvaeTraining t;
  as_ranks(2, [&](Communicator& c) {
    if (c.rank() == 1) return;  // it takes no part
    c.patience = 0.05;
    Plan plan = t.plan;
    optimize(plan);
    shard(plan, {2, 2, 0, c.wires()});
    const Values got = t.run(std::move(plan), {.table = &cpu_kernels(), .steps = kSteps});
    EXPECT_TRUE(c.failed());
    EXPECT_THROW(c.check(), Error);
  });
}

// Rows that a rank draws are its rows of the batch.
TEST(Shard, DrawsAreThoseOfTheWholeBatch) {
  Sandbox s;
  const Var x = s.r.emit1(Random{Random::normal, 3, 12, 5, 0}, {Var{}});
  s.see(sum_rows(x * s.real("w", {12, 5})), "sum");
  Plan whole = s.plan;
  const Values want = s.run(whole, {});
  for (const int ranks : {1, 2, 3})
    as_ranks(ranks, [&](Communicator& c) {
      Plan plan = s.plan;
      shard(plan, {6, ranks, c.rank(), c.wires()});
      const Values got = s.run(std::move(plan), {});
      for (size_t k = 0; k < 5; ++k) EXPECT_NEAR(got.at("sum")[k], want.at("sum")[k], 1e-12);
    });
}

}  // namespace
}  // namespace tessera::sandbox
