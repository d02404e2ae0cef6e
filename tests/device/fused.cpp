// Whole steps in fused launches on a real GPU: the bits of their composition, in every precision, and beside the
// processor. What a compiler contracts, or a barrier does not order, differs here alone.
#include <chrono>
#include <thread>

#include "device.h"
#include "engine/emit/launch_compiler.h"
#include "engine/run/compiled_launches.h"
#include "support/ctgan_training.h"
#include "support/made_training.h"
#include "support/of_precision.h"
#include "support/random_plan.h"
#include "support/timegan_training.h"
#include "support/tvae_training.h"

namespace tessera::sandbox {
namespace {

class DeviceFused : public testing::TestWithParam<Precision> {
 protected:
  void SetUp() override { TESSERA_NEEDS_A_REAL_GPU(); }
  // A step in fp32 is held beside one in double; a rounded one beside the processor's kernels, which round in the same
  // places: a value at the edge of two rounded ones may fall to either.
  template <class T>
  static void has_the_bits_of_its_composition(const T& t, int64_t steps) {
    const Values fused = t.run(on_device(float_device(), {}, steps));
    EXPECT_EQ(difference(t.run(on_device(float_device(), {"fuse"}, steps)), fused), 0) << "op by op";
    EXPECT_EQ(difference(t.run(on_device(float_device(), {}, steps)), fused), 0) << "again";
    const bool exact = GetParam() == Precision::fp32;
    const KernelTable* table = exact ? cpu_kernels("double") : &cpu_kernels();
    const double apart = difference(t.run({table, {}, 4, steps}), fused);
    EXPECT_LE(apart, exact ? 1e-3 : 0.1) << "beside the processor";
  }
};

TEST_P(DeviceFused, RandomPlans) {
  for (uint64_t seed = 0; seed < 12; ++seed) {
    SCOPED_TRACE("plan " + std::to_string(seed));
    RandomPlan plan(seed);
    plan.plan.precision = GetParam();
    has_the_bits_of_its_composition(plan, 2);
  }
}
TEST_P(DeviceFused, Ctgan) { has_the_bits_of_its_composition(Training(1, 0.9, Size::small, 40, GetParam()), 2); }
TEST_P(DeviceFused, CtganWide) { has_the_bits_of_its_composition(Training(2, 0.9, Size::wide, 40, GetParam()), 2); }
TEST_P(DeviceFused, CtganOfAdult) {
  has_the_bits_of_its_composition(Training(1, 0.9, Size::adult, 300, GetParam()), 1);
}
TEST_P(DeviceFused, Tvae) { has_the_bits_of_its_composition(TvaeTraining(false, 40, GetParam()), 2); }
TEST_P(DeviceFused, TvaeOfAdult) {
  TvaeTraining t(true, 600, GetParam());
  for (double& w : t.values.at("encoder")) w *= 0.1;  // else its exponents leave the range of fp16
  has_the_bits_of_its_composition(t, 2);
}
TEST_P(DeviceFused, Made) {
  for (const Sees sees : {Sees::columns_before, Sees::shown_columns})
    has_the_bits_of_its_composition(MadeTraining(sees, GetParam()), 2);
}
TEST_P(DeviceFused, Timegan) {
  for (const SequenceSizes& sizes :
       {SequenceSizes{}, SequenceSizes{Cell::gru_reset_before, 37, 2, 2, 1, 3, 2},
        SequenceSizes{Cell::gru, 16, 3, 2, 0, 4, 2, false}, SequenceSizes{Cell::lstm, 16, 3, 2, 0, 4, 2},
        SequenceSizes{Cell::gru, 128, 24, 6, 0, 24, 3}})
    has_the_bits_of_its_composition(SequenceTraining(sizes, TimeganPhase::joint, GetParam()), 2);
}
// Steps by the interpreter, by both, and by what NVRTC makes for this GPU. Many of the last: a launch that reads too
// early need not do so every time.
class DeviceCompiled : public testing::TestWithParam<bool> {};  // whether launches begin early
TEST_P(DeviceCompiled, ATrainingThatSwitchesHasTheBitsOfTheInterpreter) {
  TESSERA_NEEDS_A_REAL_GPU();
  if (nvrtc().version.empty()) GTEST_SKIP() << nvrtc().reason;
  const auto check = [](const auto& t) {
    int64_t steps = 0;
    Setting s = on_device(float_device(), {}, 0);
    s.training = [&](Program& p) {
      Compilation how;
      how.cache = "off";
      how.threads = 4;
      how.early = GetParam();
      p.compile_launches(how);
      const auto run = [&](int64_t n) { steps += p.run(n); };
      for (run(3); p.launches().waiting > 0; run(1)) std::this_thread::sleep_for(std::chrono::milliseconds(20));
      EXPECT_EQ(p.launches().compiled, p.launches().launches) << p.launches().reason;
      run(1618);
    };
    const Values switched = t.run(s);
    EXPECT_EQ(difference(t.run(on_device(float_device(), {}, steps)), switched), 0);
  };
  check(Training(1));
  check(TvaeTraining());
  check(MadeTraining());
}

INSTANTIATE_TEST_SUITE_P(Begun, DeviceCompiled, testing::Bool(),
                         [](const auto& test) { return std::string(test.param ? "early" : "in_order"); });
INSTANTIATE_TEST_SUITE_P(In, DeviceFused,
                         testing::Values(Precision::fp32, Precision::tf32, Precision::bf16, Precision::fp16),
                         [](const auto& test) { return std::string(name_of(test.param)); });

}  // namespace
}  // namespace tessera::sandbox
