// The same tests under every instruction set this processor has: the program runs itself with TESSERA_CPU set.
#include <cstdlib>

#include "engine/run/program.h"
#include "models/tables.h"
#include "support/golden.h"

namespace tessera::whole {
namespace {

int run_under(const std::string& set, const std::string& tests) {
  const std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
  return std::system(
      ("TESSERA_CPU=" + set + " '" + program + "' --gtest_filter='" + tests + "' --gtest_brief=1 > /dev/null").c_str());
}

class InstructionSets : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (cpu_kernels(GetParam()) == nullptr) GTEST_SKIP() << "this processor or build has no " << GetParam();
  }
};

TEST_P(InstructionSets, MatchGoldenVectors) {
  if (golden::cases("ctgan_generator_step").empty())
    GTEST_SKIP() << "no golden vectors in " << golden::folder() << " (set TESSERA_GOLDEN)";
  EXPECT_EQ(run_under(GetParam(), "Golden.Ctgan*"), 0);
}

TEST_P(InstructionSets, KeepBitsAndFitEdgeCaseTables) {
  EXPECT_EQ(run_under(GetParam(), "Shapes.FitOneColumn:Bits.DifferForDistantRows:Bits.OfRowsOfEveryModel*"), 0);
}

INSTANTIATE_TEST_SUITE_P(Cpu, InstructionSets, ::testing::Values("plain", "avx2", "avx512", "avx512_bf16", "amx_bf16"),
                         [](const auto& set) { return std::string(set.param); });

TEST(InstructionSet, RejectsUnknownNames) {
  EXPECT_NE(run_under("sse9", "Shapes.FitOneColumn"), 0);
  EXPECT_EQ(cpu_kernels("sse9"), nullptr);
}

}  // namespace
}  // namespace tessera::whole
