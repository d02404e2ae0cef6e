// The runtime's twin keeps CUDA's promises and no others: work runs late, streams know of each other only through
// events, a recorded graph repeats what was recorded.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "buffer.h"

namespace tessera {
namespace {

__global__ void set_to(float* x, int n, float v) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) x[i] = v;
}
__global__ void add_one(float* x, const float* y, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) x[i] = y[i] + 1;
}

class Streams : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking), cudaSuccess);
    ASSERT_EQ(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking), cudaSuccess);
    ASSERT_EQ(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), cudaSuccess);
    ASSERT_EQ(cudaEventCreateWithFlags(&second, cudaEventDisableTiming), cudaSuccess);
  }
  void TearDown() override {
    emulation::reset_runtime();
    cudaEventDestroy(event);
    cudaEventDestroy(second);
    cudaStreamDestroy(a);
    cudaStreamDestroy(b);
    emulation::set_schedule({});
  }
  // What body(first element of a buffer) leaves behind, over schedules.
  template <class F>
  std::set<std::string> outcomes(F&& body) {
    std::set<std::string> all;
    for (const char* order : {"sequential", "reverse", "random:1", "random:2", "random:3", "random:4"}) {
      emulation::set_schedule(emulation::parse_schedule(order));
      const Buffer<float> x(std::vector<float>(8, 0.0f)), y(std::vector<float>(8, 0.0f));
      body(x.data(), y.data());
      EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
      all.insert(std::to_string(x.read()[0]) + " " + std::to_string(y.read()[0]));
    }
    emulation::set_schedule({});
    return all;
  }
  static void set(cudaStream_t s, float* x, float v) { launch({1, 32, 0, s}, "set", set_to, x, 8, v); }
  static void add(cudaStream_t s, float* x, const float* y) { launch({1, 32, 0, s}, "add", add_one, x, y, 8); }

  cudaStream_t a = nullptr, b = nullptr;
  cudaEvent_t event = nullptr, second = nullptr;
};

TEST_F(Streams, AStreamKeepsItsOrderAndRunsWhenWaitedFor) {
  float* p = nullptr;
  const Buffer<float> x(std::vector<float>(8, 0.0f));
  ASSERT_EQ(cudaHostAlloc(reinterpret_cast<void**>(&p), 32, cudaHostAllocDefault), cudaSuccess);
  set(a, x.data(), 3);
  add(a, x.data(), x.data());
  ASSERT_EQ(cudaMemcpyAsync(p, x.data(), 32, cudaMemcpyDeviceToHost, a), cudaSuccess);
  EXPECT_TRUE(std::isnan(p[0])) << "nothing has run yet";
  ASSERT_EQ(cudaStreamSynchronize(a), cudaSuccess);
  EXPECT_EQ(p[0], 4);
  cudaFreeHost(p);
}

TEST_F(Streams, EventsOrderStreamsAndNothingElseDoes) {
  const auto with_event = [&](float* x, float* y) {
    set(a, x, 5);
    cudaEventRecord(event, a);
    cudaStreamWaitEvent(b, event, 0);
    add(b, y, x);
    cudaStreamSynchronize(b);
  };
  const auto without = [&](float* x, float* y) {  // the planted bug: b does not wait for a
    set(a, x, 5);
    add(b, y, x);
    cudaStreamSynchronize(b);
  };
  EXPECT_EQ(outcomes(with_event), (std::set<std::string>{"5.000000 6.000000"}));
  EXPECT_EQ(outcomes(without).count("5.000000 1.000000"), 1u) << "a missing event wait shows";
  EXPECT_GT(outcomes(without).size(), 1u);
}

TEST_F(Streams, AnEventStandsForWhatWasQueuedWhenItWasRecorded) {
  EXPECT_EQ(outcomes([&](float* x, float* y) {
              cudaStreamWaitEvent(b, event, 0);  // never recorded: no wait
              set(a, x, 1);
              cudaEventRecord(event, a);
              cudaStreamWaitEvent(b, event, 0);
              add(b, y, x);
              cudaEventRecord(second, b);
              cudaStreamWaitEvent(a, second, 0);
              set(a, x, 7);
              cudaEventRecord(event, a);
            }),
            (std::set<std::string>{"7.000000 2.000000"}));
}

TEST_F(Streams, QueriesEndAndTellTheTruth) {
  const Buffer<float> x(std::vector<float>(8, 0.0f));
  for (int i = 0; i < 5; ++i) set(a, x.data(), static_cast<float>(i));
  cudaEventRecord(event, a);
  EXPECT_EQ(cudaEventQuery(event), cudaErrorNotReady);
  int asked = 1;
  while (cudaEventQuery(event) == cudaErrorNotReady) ASSERT_LT(++asked, 100);
  EXPECT_EQ(x.read()[0], 4);
}

TEST_F(Streams, PageableMemoryIsStagedAndPinnedMemoryIsReadLate) {
  float* p = nullptr;
  cudaHostAlloc(reinterpret_cast<void**>(&p), 32, cudaHostAllocDefault);
  std::vector<float> v(8, 1.0f);
  std::fill_n(p, 8, 1.0f);
  const Buffer<float> x(8), y(8);
  cudaMemcpyAsync(x.data(), v.data(), 32, cudaMemcpyHostToDevice, a);
  cudaMemcpyAsync(y.data(), p, 32, cudaMemcpyHostToDevice, a);
  v[0] = p[0] = 2;  // the bug that pinned memory makes possible
  cudaStreamSynchronize(a);
  EXPECT_EQ(x.read()[0], 1);
  EXPECT_EQ(y.read()[0], 2);
  cudaFreeHost(p);
}

TEST_F(Streams, CopiesOutsideOfAnAllocationAreRefused) {
  const Buffer<float> x(8);
  std::vector<float> v(16);
  EXPECT_EQ(cudaMemcpyAsync(x.data(), v.data(), 36, cudaMemcpyHostToDevice, a), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpyAsync(v.data(), x.data() + 1, 32, cudaMemcpyDeviceToHost, a), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpyAsync(v.data(), v.data(), 4, cudaMemcpyDeviceToHost, a), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpyAsync(x.data(), x.data(), 4, cudaMemcpyHostToDevice, a), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemsetAsync(x.data(), 0, 33, a), cudaErrorInvalidValue);
}

TEST_F(Streams, ARecordedGraphRepeatsItsWork) {
  for (const char* order : {"sequential", "reverse", "random:1", "random:5"}) {
    emulation::set_schedule(emulation::parse_schedule(order));
    const Buffer<float> x(std::vector<float>(8, 0.0f)), y(std::vector<float>(8, 0.0f));
    ASSERT_EQ(cudaStreamBeginCapture(a, cudaStreamCaptureModeThreadLocal), cudaSuccess);
    add(a, x.data(), x.data());
    cudaEventRecord(event, a);
    cudaStreamWaitEvent(b, event, 0);  // b forks off …
    add(b, y.data(), x.data());
    cudaEventRecord(second, b);
    cudaStreamWaitEvent(a, second, 0);  // … and joins
    add(a, x.data(), y.data());
    cudaGraph_t graph = nullptr;
    ASSERT_EQ(cudaStreamEndCapture(a, &graph), cudaSuccess);
    EXPECT_EQ(x.read()[0], 0) << "recorded, not run";
    cudaGraphExec_t exec = nullptr;
    ASSERT_EQ(cudaGraphInstantiate(&exec, graph, 0), cudaSuccess);
    cudaGraphDestroy(graph);
    for (int i = 0; i < 3; ++i) ASSERT_EQ(cudaGraphLaunch(exec, a), cudaSuccess);
    cudaGraphExecDestroy(exec);
    cudaStreamSynchronize(a);
    EXPECT_EQ(x.read()[0], 9);
    EXPECT_EQ(y.read()[0], 8);
  }
}

TEST_F(Streams, AGraphWithoutTheJoinOrTheWait) {
  const Buffer<float> x(std::vector<float>(8, 0.0f)), y(std::vector<float>(8, 0.0f));
  cudaGraph_t graph = nullptr;
  cudaStreamBeginCapture(a, cudaStreamCaptureModeThreadLocal);
  set(a, x.data(), 1);
  cudaEventRecord(event, a);
  cudaStreamWaitEvent(b, event, 0);
  set(b, y.data(), 1);
  EXPECT_EQ(cudaStreamEndCapture(a, &graph), cudaErrorStreamCaptureUnjoined);

  std::set<float> results;  // two branches that should have been one after the other
  for (const char* order : {"sequential", "reverse", "random:1", "random:2"}) {
    emulation::set_schedule(emulation::parse_schedule(order));
    cudaStreamBeginCapture(a, cudaStreamCaptureModeThreadLocal);
    cudaEventRecord(event, a);
    cudaStreamWaitEvent(b, event, 0);
    set(a, x.data(), 1);
    set(b, x.data(), 2);
    cudaEventRecord(second, b);
    cudaStreamWaitEvent(a, second, 0);
    ASSERT_EQ(cudaStreamEndCapture(a, &graph), cudaSuccess);
    cudaGraphExec_t exec = nullptr;
    cudaGraphInstantiate(&exec, graph, 0);
    cudaGraphLaunch(exec, a);
    cudaStreamSynchronize(a);
    results.insert(x.read()[0]);
    cudaGraphDestroy(graph);
    cudaGraphExecDestroy(exec);
  }
  EXPECT_EQ(results, (std::set<float>{1, 2}));
}

TEST_F(Streams, WhatACaptureForbids) {
  const Buffer<float> x(8);
  std::vector<float> v(8);
  void* p = nullptr;
  cudaGraph_t graph = nullptr;
  const auto broken_by = [&](auto&& call) {
    cudaStreamBeginCapture(a, cudaStreamCaptureModeThreadLocal);
    EXPECT_NE(call(), cudaSuccess);
    EXPECT_EQ(cudaStreamEndCapture(a, &graph), cudaErrorStreamCaptureInvalidated);
  };
  broken_by([&] { return cudaMalloc(&p, 8); });
  broken_by([&] { return cudaStreamSynchronize(a); });
  broken_by([&] { return cudaMemcpyAsync(x.data(), v.data(), 32, cudaMemcpyHostToDevice, a); });
}

TEST(DeviceMemory, HasALimitAndGuardsAndKnowsItsAllocations) {
  emulation::Device& d = emulation::device();
  const emulation::Device was = d;
  d.memory = 1000;
  void *p = nullptr, *q = nullptr;
  EXPECT_EQ(cudaMalloc(&p, 600), cudaSuccess);
  EXPECT_EQ(cudaMalloc(&q, 600), cudaErrorMemoryAllocation);
  size_t free = 0, total = 0;
  cudaMemGetInfo(&free, &total);
  EXPECT_EQ(free, 400u);
  EXPECT_EQ(cudaFree(static_cast<char*>(p) + 4), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFree(p), cudaSuccess);
  EXPECT_EQ(cudaFree(p), cudaErrorInvalidValue);
  d.driver = false;
  EXPECT_EQ(cudaMalloc(&p, 8), cudaErrorInsufficientDriver);
  d = was;
  d.count = 0;
  int n = -1;
  EXPECT_EQ(cudaGetDeviceCount(&n), cudaErrorNoDevice);
  EXPECT_EQ(n, -1) << "left untouched, as the real one does";
  d = was;
}

#if defined(__SANITIZE_ADDRESS__)
TEST(DeviceMemory, TheHostMayNotTouchIt) {
  const Buffer<float> x(8);
  EXPECT_DEATH(x.data()[0] = 1, "use-after-poison");
}
#endif

}  // namespace
}  // namespace tessera
