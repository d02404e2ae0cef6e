// Planted bugs: what a GPU may let pass, or hang on, is a fault of the emulated machine that names kernel, thread and
// line.
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>

#include "buffer.h"

namespace tessera {
namespace {

std::string fault_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const emulation::Fault& e) { return e.what(); }
  return "no fault";
}
void expect_fault(const std::function<void()>& f, const std::string& part) {
  for (const char* order : {"sequential", "reverse", "random:1", "random:2"}) {
    emulation::set_schedule(emulation::parse_schedule(order));
    EXPECT_NE(fault_of(f).find(part), std::string::npos) << order << ": " << fault_of(f);
  }
  emulation::set_schedule({});
}

// ---- barriers -----------------------------------------------------------------------------------
__global__ void divergent_barrier() {
  if (threadIdx.x < 16) __syncthreads();
  else __syncthreads();
}
__global__ void early_return() {
  if (threadIdx.x == 3) return;
  __syncthreads();
}
__global__ void grid_barrier_alone() { grid_sync(); }
TEST(Faults, BarriersInTwoPlaces) {
  expect_fault([] { launch({1, 64}, "divergent", divergent_barrier); }, "of which thread");
}
TEST(Faults, AThreadReturnsBeforeTheBarrier) {
  expect_fault([] { launch({2, 64}, "early", early_return); }, "return");
}
TEST(Faults, GridBarrierWithoutACooperativeLaunch) {
  expect_fault([] { launch({2, 64}, "alone", grid_barrier_alone); }, "not launched as a cooperative one");
}

// ---- clusters ----------------------------------------------------------------------------------
// What the right kernel has and each of the others lacks.
struct ClusterKernel {
  bool first = true, last = true;
  int leaves = -1, rank = -1, offset = 0;  // rank -1: the other block of two
};
__global__ void neighbors(ClusterKernel k, float* out) {
  TESS_SHARED(own, float[32]);
  own[threadIdx.x] = static_cast<float>(threadIdx.x);
  if (k.first) cluster_sync();
  if (static_cast<int>(threadIdx.x) == k.leaves) return;
  const float read = from_block(own + threadIdx.x + k.offset, k.rank < 0 ? 1 - cluster_rank() : k.rank);
  if (k.last) cluster_sync();
  out[blockIdx.x * 32 + threadIdx.x] = read;
}
TEST(Faults, WhatABlockOfAClusterMayReach) {
  const Buffer<float> out(64);
  const auto two = [&](ClusterKernel k) {
    launch({2, 32, 0, nullptr, false, 2}, "neighbors", neighbors, k, out.data());
  };
  const auto only_first = +[](float* x) {  // the second block is not read, and ends
    TESS_SHARED(own, float);
    own = 1;
    cluster_sync();
    if (cluster_rank() == 0) x[0] = from_block(&own, 1);
  };
  expect_fault([&] { two({.first = false}); }, "before the first barrier of the cluster");
  expect_fault([&] { two({.rank = 2}); }, "of block 2 of its cluster, which has 2");
  expect_fault([&] { two({.offset = 32}); }, "in no array of its own shared memory");
  expect_fault([&] { two({.leaves = 5}); }, "return");
  expect_fault([&] { launch({2, 1, 0, nullptr, false, 2}, "first", only_first, out.data()); }, "ended");
  expect_fault(
      [&] {
        launch({3, 32, 0, nullptr, false, 2}, "neighbors", neighbors, ClusterKernel{}, out.data());
      },
      "3 blocks are no multiple of a cluster of 2");
  expect_fault(
      [&] {
        launch({9, 32, 0, nullptr, false, 9}, "neighbors", neighbors, ClusterKernel{}, out.data());
      },
      "8 fit on any GPU");
  emulation::device().major = 8;
  expect_fault([&] { two({}); }, "compute capability 9.0");
  emulation::device().major = 9;
}

// ---- matrices ----------------------------------------------------------------------------------
__global__ void lines_at(int first, int apart) {
  TESS_SHARED(stage, uint16_t[256]);
  stage[threadIdx.x] = 0;
  __syncthreads();
  uint32_t m[4];
  ldmatrix_4(m[0], m[1], m[2], m[3], stage + first + apart * static_cast<int>(threadIdx.x));
}
TEST(Faults, AMatrixLineThatIsNotAlignedOrNotThere) {
  expect_fault([] { launch({1, 32}, "lines", lines_at, 0, 4); }, "no multiple of 16");
  expect_fault([] { launch({1, 32}, "lines", lines_at, 1024 * 1024, 8); }, "not in the block's shared memory");
}

__global__ void assumes_shared(const float* x) { assume_shared(x); }
TEST(Faults, NamesAPointerWronglyAssumedToBeShared) {
  const Buffer<float> x(4);
  expect_fault([&] { launch({1, 32}, "assumes", assumes_shared, x.data()); }, "not into the block's shared memory");
}

// ---- masks --------------------------------------------------------------------------------------
__global__ void not_in_mask(int* x) { x[threadIdx.x] = __shfl_sync(0xFFFFu, static_cast<int>(threadIdx.x), 0); }
__global__ void absent_lanes(int* x) { x[threadIdx.x] = __shfl_sync(kWholeWarp, static_cast<int>(threadIdx.x), 0); }
__global__ void returned_lanes(int* x) {
  if (threadIdx.x >= 20) return;
  x[threadIdx.x] = __shfl_sync(kWholeWarp, static_cast<int>(threadIdx.x), 0);
}
__global__ void source_outside(int* x) {
  if (threadIdx.x < 16) x[threadIdx.x] = __shfl_sync(0xFFFFu, static_cast<int>(threadIdx.x), 20);
}
__global__ void divergent_shuffle(int* x) {  // the mask says 32 lanes, half of them are elsewhere
  if (threadIdx.x < 16) x[threadIdx.x] = __shfl_xor_sync(kWholeWarp, 1, 1);
  else x[threadIdx.x] = __shfl_xor_sync(kWholeWarp, 2, 1);
}
__global__ void waits_for_ever(int* x) {
  if (threadIdx.x < 16) x[threadIdx.x] = __shfl_xor_sync(kWholeWarp, 1, 1);
  else __syncthreads();
}
TEST(Faults, WrongMasks) {
  const Buffer<int> x(32);
  expect_fault([&] { launch({1, 32}, "k", not_in_mask, x.data()); }, "is not in its mask 0x0000ffff");
  expect_fault([&] { launch({1, 20}, "k", absent_lanes, x.data()); }, "names lanes that are not there");
  expect_fault([&] { launch({1, 32}, "k", returned_lanes, x.data()); }, "mask");
  expect_fault([&] { launch({1, 32}, "k", source_outside, x.data()); }, "reads lane 20, which is not in the mask");
  expect_fault(
      [&] {
        launch({1, 32}, "k", divergent_shuffle, x.data());
      },
      "lanes of mask 0xffffffff are in a __shfl_xor_sync at faults.cpp");
  expect_fault([&] { launch({1, 32}, "k", waits_for_ever, x.data()); }, "deadlock");
}

// ---- results that depend on luck ----------------------------------------------------------------
// A right kernel gives the same bits under all schedules; these do not, and reverse and random schedules show it.
std::set<std::string> results(void (*kernel)(const float*, float*), unsigned blocks, unsigned threads, size_t n) {
  std::set<std::string> all;
  std::vector<float> x(n);
  for (size_t i = 0; i < n; ++i) x[i] = static_cast<float>(i) + 0.1f;
  for (const char* order : {"sequential", "reverse", "random:1", "random:2", "random:3"}) {
    emulation::set_schedule(emulation::parse_schedule(order));
    const Buffer<float> in(x), out(std::vector<float>(n, 0.0f));
    launch({blocks, threads}, "k", kernel, in.data(), out.data());
    const std::vector<float> y = out.read();
    all.insert(std::string(reinterpret_cast<const char*>(y.data()), n * sizeof(float)));
  }
  emulation::set_schedule({});
  return all;
}
template <bool barrier>
__global__ void reversed(const float* x, float* y) {
  TESS_SHARED(s, float[64]);
  s[threadIdx.x] = x[threadIdx.x];
  if (barrier) __syncthreads();
  y[threadIdx.x] = s[63 - threadIdx.x];
}
template <bool barrier>
__global__ void scan(const float* x, float* y) {  // lanes pass sums on through shared memory
  TESS_SHARED(s, float[32]);
  s[threadIdx.x] = x[threadIdx.x];
  __syncwarp();
  for (unsigned step = 1; step < 32; step *= 2) {
    const float before = threadIdx.x >= step ? s[threadIdx.x - step] : 0;
    if (barrier) __syncwarp();
    s[threadIdx.x] += before;
    __syncwarp();
  }
  y[threadIdx.x] = s[threadIdx.x];
}
template <bool ordered_sum>
__global__ void total(const float* x, float* y) {
  if (!ordered_sum) atomicAdd(y, 1 / x[blockIdx.x * blockDim.x + threadIdx.x]);
  if (ordered_sum && blockIdx.x == 0) {
    const float s = warp_sum(1 / x[threadIdx.x]);
    if (threadIdx.x == 0) y[0] = s;
  }
}
template <bool wait>
__global__ void copied(const float* x, float* y) {
  TESS_SHARED(s, float[32][4]);
  cp_async_16(s[threadIdx.x], x + threadIdx.x * 4);
  cp_async_commit();
  if (wait) cp_async_wait<0>();
  for (int i = 0; i < 4; ++i) y[threadIdx.x * 4 + static_cast<unsigned>(i)] = s[threadIdx.x][i];
  if (!wait) cp_async_wait<0>();
}
TEST(Faults, SchedulesTellWhereABarrierIsMissing) {
  EXPECT_EQ(results(reversed<true>, 1, 64, 64).size(), 1u);
  EXPECT_EQ(results(scan<true>, 1, 32, 32).size(), 1u);
  EXPECT_EQ(results(total<true>, 2, 32, 64).size(), 1u);
#if !defined(__SANITIZE_THREAD__)
  EXPECT_GT(results(reversed<false>, 1, 64, 64).size(), 1u);
  EXPECT_GT(results(scan<false>, 1, 32, 32).size(), 1u);
#endif
  EXPECT_GT(results(total<false>, 2, 32, 64).size(), 1u) << "a float sum by atomics depends on the order";
}
#if !defined(__SANITIZE_THREAD__)
TEST(Faults, AMissingWaitShowsAsNaN) {
  const Buffer<float> x(std::vector<float>(128, 1.0f)), y(128);
  launch({1, 32}, "k", copied<true>, x.data(), y.data());
  EXPECT_EQ(y.read(), std::vector<float>(128, 1.0f));
  launch({1, 32}, "k", copied<false>, x.data(), y.data());
  for (const float v : y.read()) ASSERT_TRUE(std::isnan(v));
}
__global__ void unset(float* y) {
  TESS_SHARED(s, float[4]);
  TESS_DYN_SHARED(float, d);
  y[threadIdx.x] = threadIdx.x < 4 ? s[threadIdx.x] : d[threadIdx.x - 4];
}
TEST(Faults, SharedMemoryThatNobodyWroteIsNaN) {
  const Buffer<float> y(8);
  launch({1, 8, 16}, "k", unset, y.data());
  for (const float v : y.read()) ASSERT_TRUE(std::isnan(v));
}
#endif
__global__ void abandoned_copy(const float* x) {
  TESS_SHARED(s, float[32][4]);
  cp_async_16(s[threadIdx.x], x + threadIdx.x * 4);
  cp_async_commit();
}
__global__ void crooked_copy(const float* x) {
  TESS_SHARED(s, float[32][4]);
  cp_async_16(s[threadIdx.x], x + threadIdx.x * 4 + 1);
}
TEST(Faults, CopiesThatAreNotWaitedForOrNotAligned) {
  const Buffer<float> x(std::vector<float>(132, 1.0f));
  expect_fault([&] { launch({1, 32}, "k", abandoned_copy, x.data()); }, "a wait is missing");
  expect_fault([&] { launch({1, 32}, "k", crooked_copy, x.data()); }, "not a multiple");
}

// ---- bounds -------------------------------------------------------------------------------------
__global__ void past_shared(int n) {
  TESS_SHARED(s, float[8]);
  float* p = s;
  if (threadIdx.x < static_cast<unsigned>(n)) p[threadIdx.x] = 1;
}
__global__ void past_dynamic(int n) {
  TESS_DYN_SHARED(float, s);
  if (threadIdx.x < static_cast<unsigned>(n)) s[threadIdx.x] = 1;
}
__global__ void past_global(float* x, int n) {
  if (threadIdx.x < static_cast<unsigned>(n)) x[threadIdx.x] = 1;
}
TEST(Faults, OutOfBounds) {
  launch({1, 32}, "k", past_shared, 8);
  launch({1, 32, 40}, "k", past_dynamic, 10);
  const auto global = [](int n) {
    const Buffer<float> x(31);
    launch({1, 32}, "k", past_global, x.data(), n);
  };
  global(31);
#if defined(__SANITIZE_ADDRESS__)
  EXPECT_DEATH(launch({1, 32}, "k", past_shared, 9), "use-after-poison.*faults.cpp");
  EXPECT_DEATH(launch({1, 32, 40}, "k", past_dynamic, 11), "use-after-poison.*faults.cpp");
  EXPECT_DEATH(global(32), "use-after-poison.*faults.cpp");
#elif defined(__SANITIZE_THREAD__)
  expect_fault([] { launch({1, 32}, "k", past_shared, 9); }, "shared memory outside of its arrays");
  expect_fault([] { launch({1, 32, 40}, "k", past_dynamic, 11); }, "shared memory outside of its arrays");
  expect_fault([&] { global(32); }, "outside of an allocation of 124 bytes");
#else
  expect_fault([] { launch({1, 32}, "k", past_shared, 9); }, "past the end of its shared array of 32 bytes");
  expect_fault(
      [] {
        launch({1, 32, 40}, "k", past_dynamic, 11);
      },
      "past the end of its dynamic shared memory of 40 bytes");
  expect_fault([&] { global(32); }, "past the end of an allocation of 124 bytes");
#endif
}

TEST(Faults, LaunchesThatNoDeviceTakes) {
  EXPECT_NE(fault_of([] { launch({1, 1025}, "k", early_return); }).find("1 to 1024"), std::string::npos);
  EXPECT_NE(fault_of([] { launch({{1, 70000}, 32}, "k", early_return); }).find("65535"), std::string::npos);
  EXPECT_NE(fault_of([] { launch({1, 32, 300000}, "k", past_dynamic, 1); }).find("232448"), std::string::npos);
  EXPECT_NE(fault_of([] {
              launch({100000, 1024, 0, nullptr, true}, "k", grid_barrier_alone);
            }).find("does not fit"),
            std::string::npos);
}

}  // namespace
}  // namespace tessera
