// What the emulated machine is: every law here is one of the CUDA programming model, and every fault one that a GPU would let pass or hang on.
#include <gtest/gtest.h>

#include <vector>

#include "kernels/gpu.h"

namespace tessera {
namespace {

__global__ void block_sums(const float* x, float* sums, int n) {
  TESS_SHARED(part, float[8]);
  TESS_DYN_SHARED(float, copy);
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  copy[threadIdx.x] = i < n ? x[i] : 0;
  __syncthreads();
  const float s = warp_sum(copy[blockDim.x - 1 - threadIdx.x]);
  if (lane_id() == 0) part[threadIdx.x / 32] = s;
  __syncthreads();
  if (threadIdx.x == 0) {
    float total = 0;
    for (unsigned w = 0; w < blockDim.x / 32; ++w) total += part[w];
    sums[blockIdx.x] = total;
  }
}

class Machine : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { emulation::set_schedule(emulation::parse_schedule(GetParam())); }
  void TearDown() override { emulation::set_schedule({}); }
};

TEST_P(Machine, BarriersAndSharedMemory) {
  std::vector<float> x(1000), sums(4, -1);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
  launch({4, 256, 256 * sizeof(float)}, "block_sums", block_sums, x.data(), sums.data(), 1000);
  EXPECT_EQ(sums, (std::vector<float>{32640, 98176, 163712, 204972}));
}

INSTANTIATE_TEST_SUITE_P(Schedules, Machine, testing::Values("sequential", "reverse", "random:1", "random:2"),
                         [](const auto& test) { return std::string(test.param).substr(0, 6) + std::to_string(test.index); });

}  // namespace
}  // namespace tessera
