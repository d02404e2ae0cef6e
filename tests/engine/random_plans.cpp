// Properties of any plan: passes (all, one, all but one) change nothing but the work; placement keeps live values; bits
// do not depend on threads, memory or runs.
#include "support/random_plan.h"

#include <gtest/gtest.h>

#include "support/placement_check.h"

namespace tessera::sandbox {
namespace {

#if defined(__SANITIZE_THREAD__)
constexpr uint64_t kPlans = 8;  // they race no more for being many, and each takes fifty times as long
#else
constexpr uint64_t kPlans = 40;
#endif

TEST(RandomPlans, KeepResultsUnderPasses) {
  for (uint64_t seed = 0; seed < kPlans / 3; ++seed) {
    const RandomPlan plan(seed);
    const Values want = plan.run({cpu_kernels("double"), {"as recorded"}, 1, 3});
    for (const auto& [name, v] : want)
      for (const double x : v) ASSERT_TRUE(std::isfinite(x)) << name;
    EXPECT_LE(difference(want, plan.run({cpu_kernels("double"), {}, 1, 3})), 1e-11)
        << "plan " << seed << ", all passes";
    EXPECT_LE(difference(want, plan.run({cpu_kernels("double"), {"all"}, 1, 3})), 1e-12)
        << "plan " << seed << ", no pass";
    for (const PassInfo& p : passes()) {
      EXPECT_LE(difference(want, plan.run({cpu_kernels("double"), {p.name}, 1, 3})), 1e-11)
          << "plan " << seed << " without " << p.name;
      std::set<std::string> others;
      for (const PassInfo& q : passes())
        if (q.name != std::string(p.name)) others.insert(q.name);
      EXPECT_LE(difference(want, plan.run({cpu_kernels("double"), others, 1, 3})), 1e-11)
          << "plan " << seed << " with " << p.name << " alone";
    }
    EXPECT_LE(difference(want, plan.run({&cpu_kernels(), {}, 2, 3})), 2e-4) << "plan " << seed << " in float";
  }
}

TEST(RandomPlans, NeverGainWorkFromPasses) {
  for (uint64_t seed = 0; seed < kPlans; ++seed) {
    Plan plan = RandomPlan(seed).plan;
    for (const PassReport& p : optimize(plan)) {
      const bool only_removes = p.pass == "dead" || p.pass == "constants";
      EXPECT_TRUE(!only_removes || p.nodes_after <= p.nodes_before) << "plan " << seed << ", " << p.pass;
      EXPECT_LE(p.flops_after, p.flops_before * (1 + 1e-9)) << "plan " << seed << ", " << p.pass;
    }
  }
}

TEST(RandomPlans, KeepLiveValuesInPlacement) {
  for (uint64_t seed = 0; seed < kPlans; ++seed) {
    Plan plan = RandomPlan(seed).plan;
    EXPECT_EQ(misplaced(plan), "") << "plan " << seed << " as recorded";
    optimize(plan);
    EXPECT_EQ(misplaced(plan), "") << "plan " << seed << " with all passes";
  }
}

TEST(RandomPlans, KeepBitsForAnyThreadsMemoryAndRuns) {
  for (uint64_t seed = 0; seed < kPlans / 4; ++seed) {
    const RandomPlan plan(seed);
    const Values one = plan.run({&cpu_kernels(), {}, 1, 4});
    for (const int threads : {1, 2, 3})
      EXPECT_EQ(one, plan.run({&cpu_kernels(), {}, threads, 4})) << threads << " threads";
    EXPECT_EQ(one, plan.run({&cpu_kernels(), {}, 2, 4, 42, false})) << "memory not reused";
  }
}

TEST(RandomPlans, KeepBitsInBlocksOfRows) {
  for (uint64_t seed = 0; seed < kPlans; ++seed) {
    const RandomPlan plan(seed);
    for (const std::set<std::string>& off : {std::set<std::string>{"fuse"}, {"all"}}) {
      const Values want = plan.run({&cpu_kernels(), off, 1, 3});
      for (const int64_t block : {1, 4, 5, 100})
        for (const int threads : {1, 3}) {
          Setting s{&cpu_kernels(), off, threads, 3};
          s.row_cut = {2, 0, block};
          s.chains = true;
          EXPECT_EQ(want, plan.run(s)) << "plan " << seed << ", blocks of " << block << " rows, " << threads
                                       << " threads";
        }
    }
  }
}

}  // namespace
}  // namespace tessera::sandbox
