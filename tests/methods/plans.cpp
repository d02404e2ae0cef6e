// Every method's training plan as it is run: no pass changes what it computes, memory is given again only when free,
// bits do not depend on threads.
#include <gtest/gtest.h>

#include <functional>

#include "support/ctgan_training.h"
#include "support/made_training.h"
#include "support/placement_check.h"
#include "support/tvae_training.h"

namespace tessera::sandbox {
namespace {

void each_training(const std::function<void(const Sandbox&)>& check) {
  const auto named = [&](const char* name, const Sandbox& t) {
    SCOPED_TRACE(name);
    check(t);
  };
  named("ctgan", Training(1));
  named("ctgan of two critic steps", Training(2));
  named("tvae", TvaeTraining());
  named("made", MadeTraining());
  named("made in any order", MadeTraining(Sees::shown_columns));
}

TEST(Plans, KeepResultsUnderEveryPass) {
  each_training([](const Sandbox& t) {
    const Values want = t.run({cpu_kernels("double"), {"as recorded"}, 1, 3});
    EXPECT_GT(largest(want.at("state losses")), 0.1);
    EXPECT_LE(difference(want, t.run({cpu_kernels("double"), {}, 1, 3})), 1e-10) << "all passes";
    for (const PassInfo& p : passes())
      EXPECT_LE(difference(want, t.run({cpu_kernels("double"), {p.name}, 1, 3})), 1e-10) << "without " << p.name;
    const Values one = t.run({cpu_kernels("double"), {"as recorded"}, 1, 1});
    EXPECT_LE(difference(one, t.run({&cpu_kernels(), {}, 2, 1})), 2e-4) << "in float";
  });
}

// The check takes the square of the values: not of made's plan, which has ten times as many.
TEST(Plans, ReuseOnlyFreeMemory) {
  const auto check = [](const Plan& plan, bool without_each) {
    EXPECT_EQ(misplaced(plan), "") << "as recorded";
    const auto optimized = [&](const std::set<std::string>& off) {
      Plan made = plan;
      optimize(made, off);
      return misplaced(made);
    };
    EXPECT_EQ(optimized({}), "");
    if (!without_each) return;
    for (const PassInfo& p : passes()) EXPECT_EQ(optimized({p.name}), "") << "without " << p.name;
  };
  check(Training(1).plan, true);
  check(Training(2).plan, false);
  check(TvaeTraining().plan, true);
}

TEST(Plans, KeepBitsForAnyThreadsAndRuns) {
  each_training([](const Sandbox& t) {
    const Values one = t.run({&cpu_kernels(), {}, 1, 20});
    for (const auto& [name, v] : one)
      for (const double x : v) ASSERT_TRUE(std::isfinite(x)) << name;
    for (const int threads : {1, 2, 3})
      EXPECT_EQ(one, t.run({&cpu_kernels(), {}, threads, 20})) << threads << " threads";
    EXPECT_NE(one, t.run({&cpu_kernels(), {}, 1, 20, 43})) << "another seed";
  });
}

}  // namespace
}  // namespace tessera::sandbox
