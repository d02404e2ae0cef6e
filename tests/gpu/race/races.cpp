// Planted races, in the build that checks every access: found under every schedule, whether or not they did harm, with
// both lines; and their right twins are let pass.
#include <gtest/gtest.h>

#include <string>

#include "gpu/buffer.h"
#include "gpu/watched.h"

namespace tessera {
namespace {

std::string fault_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const emulation::Fault& e) { return e.what(); }
  return "no fault";
}
template <class F>
void found(F&& f, const std::string& what) {
  for (const char* order : {"sequential", "reverse", "random:1"}) {
    emulation::set_schedule(emulation::parse_schedule(order));
    const std::string fault = fault_of(f);
    EXPECT_NE(fault.find(what), std::string::npos) << order << ": " << fault;
    if (what.starts_with("a race")) {
      EXPECT_NE(fault.find("races.cpp:", fault.find("races.cpp:") + 1), std::string::npos) << "both lines: " << fault;
    }
  }
  emulation::set_schedule({});
}
template <class F>
void clean(F&& f) {
  for (const char* order : {"sequential", "reverse", "random:1"})
    for (const int preempt : {0, 3}) {
      emulation::Schedule s = emulation::parse_schedule(order);
      s.preempt = preempt;
      emulation::set_schedule(s);
      EXPECT_EQ(fault_of(f), "no fault") << order << ", pre-emption " << preempt;
    }
  emulation::set_schedule({});
}

template <bool barrier, bool second_barrier>
__global__ void tiles(const float* x, float* y, int n) {  // staged, used, staged again
  TESS_SHARED(s, float[64]);
  float sum = 0;
  for (int k = 0; k < n; ++k) {
    s[threadIdx.x] = x[k * 64 + static_cast<int>(threadIdx.x)];
    if (barrier) __syncthreads();
    sum += s[63 - threadIdx.x];
    if (second_barrier) __syncthreads();
  }
  y[threadIdx.x] = sum;
}
TEST(Races, BarriersOfATileLoop) {
  const Buffer<float> x(std::vector<float>(256, 1.0f)), y(64);
  clean([&] { launch({1, 64}, "k", tiles<true, true>, x.data(), y.data(), 4); });
  found([&] { launch({1, 64}, "k", tiles<true, false>, x.data(), y.data(), 4); }, "a race");
  found([&] { launch({1, 64}, "k", tiles<false, true>, x.data(), y.data(), 4); }, "");
  EXPECT_NE(fault_of([&] { launch({1, 64}, "k", tiles<false, true>, x.data(), y.data(), 4); }), "no fault");
}

enum class Between { nothing, shuffle, syncwarp };
template <Between between>
__global__ void lanes(float* y) {
  TESS_SHARED(s, float[32]);
  s[threadIdx.x] = 1;
  __syncwarp();
  const float v = s[31 - threadIdx.x];
  if (between == Between::shuffle) __shfl_sync(kWholeWarp, v, 0);
  if (between == Between::syncwarp) __syncwarp();
  s[threadIdx.x] = v + 1;
  y[threadIdx.x] = s[threadIdx.x];
}
TEST(Races, LanesOfAWarp) {
  const Buffer<float> y(32);
  clean([&] { launch({1, 32}, "k", lanes<Between::syncwarp>, y.data()); });
  found([&] { launch({1, 32}, "k", lanes<Between::nothing>, y.data()); }, "a race");
  found([&] { launch({1, 32}, "k", lanes<Between::shuffle>, y.data()); }, "a race");  // shuffles do not order memory
}

__global__ void transitive(float* y) {  // 0 tells 1, 1 tells 2
  TESS_SHARED(s, float);
  if (threadIdx.x == 0) s = 5;
  if (threadIdx.x < 2) __syncwarp(3);
  if (threadIdx.x == 1 || threadIdx.x == 2) __syncwarp(6);
  if (threadIdx.x == 2) y[0] = s;
}
TEST(Races, OrderIsHandedOn) {
  const Buffer<float> y(1);
  clean([&] { launch({1, 32}, "k", transitive, y.data()); });
}

template <bool grid>
__global__ void neighbours(float* x) {
  x[blockIdx.x] = static_cast<float>(blockIdx.x);
  if (grid) grid_sync();
  else __syncthreads();
  const float v = x[(blockIdx.x + 1) % gridDim.x];
  if (grid) grid_sync();
  x[gridDim.x + blockIdx.x] = v;
}
TEST(Races, BlocksMeetOnlyAtTheGridBarrier) {
  const Buffer<float> x(8);
  clean([&] { launch({4, 1, 0, nullptr, true}, "k", neighbours<true>, x.data()); });
  found([&] { launch({4, 1, 0, nullptr, true}, "k", neighbours<false>, x.data()); }, "a race");
}
TEST(Races, TwoBlocksWriteOneElement) {
  const auto kernel = +[](float* x) { x[threadIdx.x] = 1; };
  const Buffer<float> x(32);
  clean([&] { launch({1, 32}, "k", kernel, x.data()); });
  found([&] { launch({2, 32}, "k", kernel, x.data()); }, "a race in device memory");
}
TEST(Races, AtomicsDoNotRaceWithEachOther) {
  const auto both = +[](int* x) { atomicAdd(x, 1); };
  const auto mixed = +[](int* x) {
    if (blockIdx.x == 0) atomicAdd(x, 1);
    else *x = 3;
  };
  const Buffer<int> x(std::vector<int>{0});
  clean([&] { launch({4, 32}, "k", both, x.data()); });
  found([&] { launch({2, 1}, "k", mixed, x.data()); }, " race in device memory");
}
TEST(Races, NarrowNeighboursDoNotRace) {
  const auto bytes = +[](unsigned char* x) { x[threadIdx.x] = static_cast<unsigned char>(threadIdx.x); };
  const Buffer<unsigned char> x(64);
  clean([&] { launch({1, 64}, "k", bytes, x.data()); });
}
TEST(Races, LaunchesAreOrdered) {
  const auto writes = +[](float* x) { x[threadIdx.x] = 1; };
  const auto reads = +[](float* x) { x[32 + threadIdx.x] = x[31 - threadIdx.x]; };
  const Buffer<float> x(64);
  clean([&] {
    launch({1, 32}, "k", writes, x.data());
    launch({1, 32}, "k", reads, x.data());
  });
}

template <bool wait, bool barrier>
__global__ void staged(const float* x, float* y) {
  TESS_SHARED(s, float[64][4]);
  cp_async_16(s[threadIdx.x], x + threadIdx.x * 4);
  cp_async_commit();
  if (wait) cp_async_wait<0>();
  if (barrier) __syncthreads();
  y[threadIdx.x] = s[63 - threadIdx.x][1];
  cp_async_wait<0>();
}
TEST(Races, AsynchronousCopies) {
  const Buffer<float> x(std::vector<float>(256, 1.0f)), y(64);
  clean([&] { launch({1, 64}, "k", staged<true, true>, x.data(), y.data()); });
  found([&] { launch({1, 64}, "k", staged<false, true>, x.data(), y.data()); }, "nobody has written to");
  EXPECT_NE(fault_of([&] { launch({1, 64}, "k", staged<true, false>, x.data(), y.data()); }), "no fault");
}
TEST(Races, ReadsOfSharedMemoryThatNobodyWrote) {
  const auto kernel = +[](float* y) {
    TESS_SHARED(s, float[32]);
    if (threadIdx.x < 31) s[threadIdx.x] = 1;
    __syncthreads();
    y[threadIdx.x] = s[threadIdx.x];
  };
  const Buffer<float> y(32);
  found([&] { launch({1, 32}, "k", kernel, y.data()); }, "nobody has written to");
}

template <bool between, bool writes>
__global__ void passed_around(float* y) {
  TESS_SHARED(s, float[32]);
  s[threadIdx.x] = 1;
  cluster_sync();
  const float other = from_block(&s[31 - threadIdx.x], 1 - cluster_rank());
  if (between) cluster_sync();
  if (writes) s[threadIdx.x] = 2;
  else to_block(&s[threadIdx.x], 1 - cluster_rank(), other);
  cluster_sync();
  y[blockIdx.x * 32 + threadIdx.x] = s[threadIdx.x] + other;
}
TEST(Races, SharedMemoryOfOtherBlocks) {
  const Buffer<float> y(64);
  const auto pairs = [&](auto kernel) { launch({2, 32, 0, nullptr, false, 2}, "k", kernel, y.data()); };
  clean([&] { pairs(passed_around<true, true>); });
  clean([&] { pairs(passed_around<true, false>); });
  found([&] { pairs(passed_around<false, true>); }, "a race in shared memory");
  found([&] { pairs(passed_around<false, false>); }, "a race in shared memory");
  const auto unwritten = +[](float* x) {
    TESS_SHARED(s, float[32]);
    cluster_sync();
    x[threadIdx.x] = from_block(&s[threadIdx.x], 1 - cluster_rank());
    cluster_sync();
  };
  found([&] { pairs(unwritten); }, "nobody has written to");
}
TEST(Races, DeviceMemoryOfACluster) {
  const Buffer<float> y(std::vector<float>(4, 0.0f));
  const auto passes = +[](float* x) {
    if (threadIdx.x == 0) x[blockIdx.x] = 1;
    cluster_sync();
    const int other = static_cast<int>(blockIdx.x) ^ 1;
    if (threadIdx.x == 0) x[blockIdx.x] = x[other];
  };
  const auto too_far = +[](float* x) {
    if (threadIdx.x == 0) x[blockIdx.x] = 1;
    cluster_sync();
    const float of = x[(blockIdx.x + 2) % 4];
    if (of < 0) x[0] = of;
  };
  found([&] { launch({4, 32, 0, nullptr, false, 2}, "k", passes, y.data()); }, "a race in device memory");
  found([&] { launch({4, 32, 0, nullptr, false, 2}, "k", too_far, y.data()); }, "a race in device memory");
  const auto ordered = +[](float* x) {
    if (threadIdx.x == 0) x[blockIdx.x] = 1;
    cluster_sync();
    const float of = x[static_cast<int>(blockIdx.x) ^ 1];
    cluster_sync();
    if (threadIdx.x == 0) x[blockIdx.x] = of;
  };
  clean([&] { launch({4, 32, 0, nullptr, false, 2}, "k", ordered, y.data()); });
}

// A view of 4 rows of 3, 5 apart, in host memory that represents device memory.
template <int row, int column>
__global__ void reads(const float* x, float* y) {
  const float v = x[row * 5 + column];
  y[0] = v;
}
TEST(Races, WhatLiesBetweenTheRowsOfAViewAndBesideIt) {
  std::vector<float> memory(84);
  float* const x = memory.data() + 32;
  const View view{x, 4, 3, 5, 4};
  const Call call{&view, nullptr, 1, 0, nullptr, nullptr};
  const Watched watched(call);
  const Buffer<float> y(1);
  clean([&] { launch({1, 1}, "k", reads<3, 2>, x, y.data()); });
  found([&] { launch({1, 1}, "k", reads<0, 3>, x, y.data()); }, "reads at races.cpp:");
  found([&] { launch({1, 1}, "k", reads<2, 4>, x, y.data()); }, "between the rows of an allocation of 72 bytes");
  found([&] { launch({1, 1}, "k", reads<3, 3>, x, y.data()); }, "outside of an allocation of 72 bytes");
  found([&] { launch({1, 1}, "k", reads<4, 0>, x, y.data()); }, "outside of");
  found([&] { launch({1, 1}, "k", reads<0, -1>, x, y.data()); }, "outside of");
}

}  // namespace
}  // namespace tessera
