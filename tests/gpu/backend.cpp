// Programs on a device are the programs of the processor: the same numbers at rounding, the same bits for any schedule
// and any cut into replays, and the same answers when something goes wrong. The backend is the plugin's own code, on
// the emulated machine.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <tuple>

#include "base/error.h"
#include "emulated_device.h"
#include "emulation/machine.h"
#include "emulation/memory.h"
#include "emulation/runtime.h"
#include "engine/device/device_api.h"
#include "engine/passes/passes.h"
#include "engine/plan/recorder.h"
#include "engine/run/program.h"
#include "kernels/gpu/dialect/dialect.h"
#include "support/thrown.h"

namespace tessera {
namespace {

constexpr int64_t kRing = 8;

// A closed training step: random rows and a bound one, a layer, a loss, Adam, a report.
Plan closed() {
  Plan plan;
  Recorder r(plan);
  ParameterSet set{"net", {}, 0};
  set.add("w", {5, 3});
  set.add("b", {1, 3});
  r.own(set);
  const Var x = r.normal("x", {7, 5}) + r.input("shift", {1, 5});
  const Var y = tanh(matmul(x, r(set, "w")) + r(set, "b")), loss = mean(square(y + -0.5));
  r.minimize(loss, set, {Adam::torch, 0.01, 0.5, 0.9, 1.0, 1e-6, 1, 0, 3, 20});
  const Var ring = r.state("losses", {kRing, 1});
  r.advance(ring, r.emit1(Report{kRing}, {ring, loss}));
  r.output(y, "y");
  optimize(plan);
  return plan;
}

struct Trained {
  std::vector<float> net, losses, y;
  StepState step;
  bool operator==(const Trained& o) const {
    return net == o.net && losses == o.losses && y == o.y && step.step == o.step.step && step.bad == o.step.bad;
  }
};
const std::vector<float> kShift{0.5f, -1, 0, 0.25f, 2};

Trained train(Device& device, const std::vector<int64_t>& cuts, const std::vector<float>& shift = kShift,
              uint64_t seed = 4) {
  Team team(1);
  Program p(closed(), device, team, seed);
  p.bind("shift", shift.data());
  std::vector<float> start(18);
  for (size_t i = 0; i < start.size(); ++i) start[i] = 0.1f * static_cast<float>(i % 7) - 0.3f;
  p.put("net", start.data());
  for (const int64_t n : cuts) EXPECT_EQ(p.run(n), n);
  return {p.get<float>("net"), p.get<float>("losses"), p.read<float>(p.find("y")), p.step()};
}

void near(const std::vector<float>& a, const std::vector<float>& b, double tolerance) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], tolerance) << "element " << i;
}

class Backend : public testing::Test {
 protected:
  void TearDown() override {
    emulation::set_schedule({});
    emulation::device().memory = size_t{1} << 30;
  }
};

TEST_F(Backend, IsTheProcessorAtRounding) {
  const Trained here = train(Device::processor(), {40}), there = train(emulated_device(), {40});
  near(there.net, here.net, 1e-5);
  near(there.losses, here.losses, 1e-5);
  near(there.y, here.y, 1e-5);
  EXPECT_EQ(there.step.step, 40);
  EXPECT_EQ(there.step.bad, -1);
}

TEST_F(Backend, AnyScheduleAndAnyCutGivesTheSameBits) {
  const Trained whole = train(emulated_device(), {35});
  EXPECT_EQ(train(emulated_device(), {1, 1, 16, 2, 15}), whole) << "16 steps unrolled or one by one";
  for (const char* order : {"reverse", "random:1", "random:2"}) {
    emulation::set_schedule(emulation::parse_schedule(order));
    EXPECT_EQ(train(emulated_device(), {20, 15}), whole) << order;
  }
  EXPECT_FALSE(train(emulated_device(), {35}, kShift, 5) == whole) << "another seed";
}

TEST_F(Backend, AStepIsRecordedOnceAndReplayed) {
  Team team(1);
  Program p(closed(), emulated_device(), team, 1);
  p.bind("shift", kShift.data());
  p.run(16);
  emulation::reset_counts();
  p.run(16);
  const int64_t launches = emulation::counts().launches;
  EXPECT_GT(launches, 16);
  EXPECT_EQ(launches % 16, 0);
  p.run(1);
  EXPECT_EQ(emulation::counts().launches, launches + launches / 16);
}

TEST_F(Backend, BoundMemoryIsCopiedWhenItIsBound) {
  Team team(1);
  Program p(closed(), emulated_device(), team, 1);
  std::vector<float> shift(5, 0.0f), net(18, 1.0f);
  p.bind("shift", shift.data());
  p.put("net", net.data());
  p.run(1);
  const std::vector<float> zero = p.read<float>(p.find("y"));
  shift.assign(5, 100.0f);
  p.step().step = 0;
  p.put("net", net.data());
  p.run(1);
  EXPECT_EQ(p.read<float>(p.find("y")), zero);
  p.bind("shift", shift.data());
  p.step().step = 0;
  p.put("net", net.data());
  p.run(1);
  for (const float y : p.read<float>(p.find("y"))) EXPECT_NEAR(y, 1, 1e-6);
}

// Between batches a device is given what has changed, and not the tables that stay.
TEST_F(Backend, OnlyWhatIsNamedIsCopiedAnew) {
  for (Device* device : {&emulated_device(), &Device::processor()}) {
    Plan plan;
    Recorder r(plan);
    r.output(r.input("rows", {1, 4}) + 10.0 * r.input("table", {1, 4}), "y");
    optimize(plan);
    Team team(1);
    Program p(std::move(plan), *device, team, 1);
    std::vector<float> rows(4, 1.0f), table(4, 1.0f);
    p.bind("rows", rows.data());
    p.bind("table", table.data());
    p.run(1);
    rows.assign(4, 2.0f), table.assign(4, 2.0f);
    p.refresh({"rows", "of another plan"});
    p.run(1);
    EXPECT_EQ(p.read<float>(p.find("y")), std::vector<float>(4, device->is_processor() ? 22.0f : 12.0f));
    p.refresh({"rows", "table"});
    p.run(1);
    EXPECT_EQ(p.read<float>(p.find("y")), std::vector<float>(4, 22.0f));
  }
}

TEST_F(Backend, ALossThatIsNotFiniteStopsTheCountAndIsExplained) {
  const auto bad = [](Device& device, int64_t before) {
    Team team(1);
    Program p(closed(), device, team, 4);
    std::vector<float> shift(5, 0.0f);
    p.bind("shift", shift.data());
    if (before > 0) p.run(before);
    shift[2] = std::numeric_limits<float>::quiet_NaN();
    p.bind("shift", shift.data());
    p.snapshot();
    EXPECT_EQ(p.run(20), 1) << "the step that went bad is the last that counts";
    EXPECT_EQ(p.step().bad, before);
    EXPECT_EQ(p.run(5), 0);
    return p.diagnose();
  };
  for (const int64_t before : {0, 3}) {
    const std::string there = bad(emulated_device(), before);
    EXPECT_NE(there, "");
    EXPECT_EQ(there, bad(Device::processor(), before));
  }
}

TEST_F(Backend, NoRoom) {
  emulation::device().memory = emulation::device_bytes_in_use() + 700;
  test::expect_error(ErrorCode::memory, {"cudaMalloc failed while asking for", "A smaller `batch_size` needs less"},
                     [&] { train(emulated_device(), {1}); });
  EXPECT_EQ(emulation::device_bytes_in_use() + 700, emulation::device().memory)
      << "what was allocated before is free again";
  const DeviceApi& api = *tessera_device_backend();
  DeviceSession* s = nullptr;
  ASSERT_EQ(api.open(0, &s), DeviceStatus::ok);
  void* p = nullptr;
  for (const auto& [bytes, text] :
       {std::pair<int64_t, const char*>{(1 << 20) - 1, "asking for 1048575 bytes for a test"},
        {1 << 20, "asking for 1.0 MiB for a test"}}) {
    EXPECT_EQ(api.allocate(s, bytes, "a test", &p), DeviceStatus::memory);
    EXPECT_NE(std::string(api.message()).find(text), std::string::npos) << api.message();
  }
  api.close(s);
}

TEST_F(Backend, NothingIsLeftBehind) {
  const size_t before = emulation::device_bytes_in_use();
  train(emulated_device(), {17});
  EXPECT_EQ(emulation::device_bytes_in_use(), before);
}

TEST_F(Backend, ResultsArriveInTheOrderOfTheirTickets) {
  const DeviceApi& api = *tessera_device_backend();
  DeviceSession* s = nullptr;
  ASSERT_EQ(api.open(0, &s), DeviceStatus::ok);
  void* p = nullptr;
  ASSERT_EQ(api.allocate(s, 8, "a test", &p), DeviceStatus::ok);
  const void* from = p;
  const int64_t bytes = 8;
  for (const char* order : {"sequential", "reverse", "random:3"}) {
    emulation::set_schedule(emulation::parse_schedule(order));
    int64_t ticket[3], value = 0;
    for (int64_t k = 0; k < 3; ++k) {
      value = 100 + k;
      ASSERT_EQ(api.upload(s, p, &value, 8), DeviceStatus::ok);
      ASSERT_EQ(api.begin_download(s, &from, &bytes, 1, &ticket[k]), DeviceStatus::ok);
      if (k == 0) continue;
      const void* data = nullptr;
      ASSERT_EQ(api.wait_download(s, ticket[k - 1], &data), DeviceStatus::ok);
      EXPECT_EQ(*static_cast<const int64_t*>(data), 99 + k) << order;
    }
  }
  api.free(s, p);
  api.close(s);
}

// Memory that the device writes late, and larger results than those before, for which the pinned memory is made anew
// while copies are under way.
TEST_F(Backend, ResultsArriveInPinnedMemoryAndGrow) {
  const DeviceApi& api = *tessera_device_backend();
  DeviceSession* s = nullptr;
  ASSERT_EQ(api.open(0, &s), DeviceStatus::ok);
  const int64_t words = 8;
  void *p = nullptr, *none = nullptr, *pinned = nullptr;
  ASSERT_EQ(api.allocate(s, 8 * words, "a test", &p), DeviceStatus::ok);
  ASSERT_EQ(api.allocate(s, 0, "nothing", &none), DeviceStatus::ok);
  EXPECT_NE(none, nullptr) << "what is empty has an address, too";
  ASSERT_EQ(cudaHostAlloc(&pinned, size_t{8} * words, cudaHostAllocDefault), cudaSuccess);
  const void* pieces[2] = {p, none};
  for (const char* order : {"sequential", "reverse", "random:3"}) {
    emulation::set_schedule(emulation::parse_schedule(order));
    std::vector<int64_t> value(words, 7);
    ASSERT_EQ(api.upload(s, p, value.data(), 8 * words), DeviceStatus::ok);
    ASSERT_EQ(api.download(s, pinned, p, 8 * words), DeviceStatus::ok);
    EXPECT_EQ(static_cast<int64_t*>(pinned)[words - 1], 7) << order;
    int64_t ticket = -1;
    for (int64_t k = 0; k < words; ++k) {
      value.assign(words, k);
      const int64_t bytes[2] = {8 * (k + 1), 0};
      ASSERT_EQ(api.upload(s, p, value.data(), 8 * words), DeviceStatus::ok);
      ASSERT_EQ(api.begin_download(s, pieces, bytes, 2, &ticket), DeviceStatus::ok) << api.message();
    }
    const void* data = nullptr;
    ASSERT_EQ(api.wait_download(s, ticket, &data), DeviceStatus::ok);
    for (int64_t k = 0; k < words; ++k) EXPECT_EQ(static_cast<const int64_t*>(data)[k], words - 1) << order;
  }
  // Closed in the middle of work: nothing that it may still use is freed before.
  int64_t ticket = 0;
  const int64_t bytes = 8;
  api.free(s, none);
  ASSERT_EQ(api.begin_download(s, pieces, &bytes, 1, &ticket), DeviceStatus::ok);
  api.free(s, p);
  cudaFreeHost(pinned);
  ASSERT_EQ(api.allocate(s, 8, "a test", &p), DeviceStatus::ok);
  pieces[0] = p;
  ASSERT_EQ(api.begin_download(s, pieces, &bytes, 1, &ticket), DeviceStatus::ok);
  api.close(s);
  ASSERT_EQ(cudaFree(p), cudaSuccess);
}

// A table goes up in pieces through pinned memory, which the device reads late: what is filled again too early arrives
// twice.
TEST_F(Backend, LongUploadsArriveWhole) {
  const DeviceApi& api = *tessera_device_backend();
  DeviceSession* s = nullptr;
  ASSERT_EQ(api.open(0, &s), DeviceStatus::ok);
  std::vector<int32_t> table(5 * (1 << 18) + 77), back(table.size());
  const auto bytes = static_cast<int64_t>(4 * table.size());
  for (const char* order : {"sequential", "reverse", "random:3"}) {
    emulation::set_schedule(emulation::parse_schedule(order));
    void *first = nullptr, *second = nullptr;
    ASSERT_EQ(api.allocate(s, bytes, "a test", &first), DeviceStatus::ok);
    ASSERT_EQ(api.allocate(s, bytes, "a test", &second), DeviceStatus::ok);
    for (int32_t round = 0; round < 2; ++round) {
      for (size_t i = 0; i < table.size(); ++i) table[i] = static_cast<int32_t>(i) * 2 + round;
      ASSERT_EQ(api.upload(s, round == 0 ? first : second, table.data(), bytes), DeviceStatus::ok);
    }
    for (int32_t round = 0; round < 2; ++round) {
      ASSERT_EQ(api.download(s, back.data(), round == 0 ? first : second, bytes), DeviceStatus::ok);
      size_t wrong = 0;
      for (size_t i = 0; i < back.size(); ++i) wrong += back[i] != static_cast<int32_t>(i) * 2 + round;
      EXPECT_EQ(wrong, 0u) << order << ", upload " << round;
    }
    api.free(s, first);
    api.free(s, second);
  }
  api.close(s);
}

// Two runs of steps in flight: the first one's results are looked at while the second is under way, and are those of
// the first.
TEST_F(Backend, StepsInFlightAreTheSteps) {
  const Trained whole = train(emulated_device(), {23});
  for (const char* order : {"sequential", "reverse", "random:4"}) {
    emulation::set_schedule(emulation::parse_schedule(order));
    for (Device* device : {&emulated_device(), &Device::processor()}) {
      Team team(1);
      Program p(closed(), *device, team, 4);
      p.bind("shift", kShift.data());
      std::vector<float> start(18), losses(kRing);
      for (size_t i = 0; i < start.size(); ++i) start[i] = 0.1f * static_cast<float>(i % 7) - 0.3f;
      p.put("net", start.data());
      p.watch({p.plan().find_leaf("losses")});
      int64_t started = 0, step = 0;
      for (int flying = 0; step < 23; --flying) {
        for (; flying < p.flights() && started < 23; ++flying, started = std::min<int64_t>(started + 4, 23))
          p.start(std::min<int64_t>(4, 23 - started), true);
        const int64_t ran = p.finish();
        EXPECT_EQ(p.step().step, step + ran);
        for (const int64_t end = step + ran; step < end; ++step)
          losses[static_cast<size_t>(step % kRing)] = p.watched<float>(0)[step % kRing];
      }
      if (device->is_processor()) continue;  // other bits
      EXPECT_EQ(losses, whole.losses) << order;
      EXPECT_EQ(p.get<float>("net"), whole.net) << order;
    }
  }
}

// No plan of a device has such an op.
TEST_F(Backend, NamesAnOpWithoutACudaKernel) {
  Plan plan;
  plan.outputs = {plan.emit(Narrow{Precision::bf16}, {plan.leaf(Leaf::bound, "x", {3, 2})})[0]};
  const std::vector<float> x(6, 1.0f);
  Team team(1);
  test::expect_error(ErrorCode::unsupported, {"the op narrow has no cuda kernel"}, [&] {
    Program p(std::move(plan), emulated_device(), team, 1);
    p.bind("x", x.data());
    p.run(1);
  });
}

TEST_F(Backend, DevicesAreDescribed) {
  const DeviceApi& api = *tessera_device_backend();
  int driver = 0, runtime = 0, devices = 0;
  ASSERT_EQ(api.versions(&driver, &runtime), DeviceStatus::ok);
  EXPECT_GE(driver, 1000);
  EXPECT_GE(runtime, 1000);
  ASSERT_EQ(api.count(&devices), DeviceStatus::ok);
  ASSERT_GE(devices, 1);
  DeviceInfo info;
  ASSERT_EQ(api.describe(0, &info), DeviceStatus::ok);
  cudaDeviceProp p{};
  ASSERT_EQ(cudaGetDeviceProperties(&p, 0), cudaSuccess);
  EXPECT_EQ(std::string(info.name), p.name);
  EXPECT_EQ(info.major, p.major);
  EXPECT_EQ(info.minor, p.minor);
  EXPECT_EQ(info.multiprocessors, p.multiProcessorCount);
  EXPECT_EQ(info.memory, static_cast<int64_t>(emulation::device().memory));
  EXPECT_EQ(info.free_memory, static_cast<int64_t>(emulation::device().memory - emulation::device_bytes_in_use()));
  EXPECT_EQ(api.describe(devices, &info), DeviceStatus::missing);
}

// A GPU that has no image of the kernels is refused when it is opened, not at the first launch.
TEST_F(Backend, RefusesAGpuOlderThanItsKernels) {
  const DeviceApi& api = *tessera_device_backend();
  const auto [major, minor] = std::pair{emulation::device().major, emulation::device().minor};
  for (const auto& [newer, capability] :
       {std::pair{false, std::pair{7, 5}}, {true, std::pair{8, 0}}, {true, std::pair{12, 0}}}) {
    std::tie(emulation::device().major, emulation::device().minor) = capability;
    DeviceSession* s = nullptr;
    EXPECT_EQ(api.open(0, &s), newer ? DeviceStatus::ok : DeviceStatus::missing) << capability.first;
    if (newer) api.close(s);
    else
      EXPECT_NE(std::string(api.message()).find("compute capability 7.5, and the kernels need 8.0 or newer"),
                std::string::npos)
          << api.message();
  }
  std::tie(emulation::device().major, emulation::device().minor) = std::pair{major, minor};
}

// Rows that another program writes on its own stream are read after its event, and not before.
TEST_F(Backend, WaitsForAnEventOfSomebodyElse) {
  const DeviceApi& api = *tessera_device_backend();
  DeviceSession* s = nullptr;
  ASSERT_EQ(api.open(0, &s), DeviceStatus::ok);
  void* p = nullptr;
  ASSERT_EQ(api.allocate(s, 4, "a test", &p), DeviceStatus::ok);
  int32_t cleared = -1;
  ASSERT_EQ(api.download(s, &cleared, p, 4), DeviceStatus::ok);
  EXPECT_EQ(cleared, 0) << "memory is zero at first";
  cudaStream_t theirs = nullptr;
  cudaEvent_t made = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&theirs, cudaStreamNonBlocking), cudaSuccess);
  ASSERT_EQ(cudaEventCreateWithFlags(&made, cudaEventDisableTiming), cudaSuccess);
  for (const char* order : {"sequential", "reverse", "random:3"}) {
    emulation::set_schedule(emulation::parse_schedule(order));
    for (const int byte : {1, 2}) {
      ASSERT_EQ(cudaMemsetAsync(p, byte, 4, theirs), cudaSuccess);
      ASSERT_EQ(cudaEventRecord(made, theirs), cudaSuccess);
      ASSERT_EQ(api.wait_event(s, &made), DeviceStatus::ok);
      int32_t got = 0;
      ASSERT_EQ(api.download(s, &got, p, 4), DeviceStatus::ok);
      EXPECT_EQ(got, byte * 0x01010101) << order;
    }
  }
  cudaEventDestroy(made);
  cudaStreamDestroy(theirs);
  api.free(s, p);
  api.close(s);
}

TEST_F(Backend, ErrorsOfTheDeviceSayWhatWasDoneAndWhatToTry) {
  const DeviceApi& api = *tessera_device_backend();
  const emulation::Device was = emulation::device();
  emulation::device().count = 0;
  int none = 7;
  EXPECT_EQ(api.count(&none), DeviceStatus::missing);
  EXPECT_NE(std::string(api.message()).find("CUDA_VISIBLE_DEVICES"), std::string::npos) << api.message();
  emulation::device() = was;
  DeviceSession* open = nullptr;
  ASSERT_EQ(api.open(0, &open), DeviceStatus::ok);
  cudaEvent_t nothing = nullptr;
  EXPECT_EQ(api.wait_event(open, &nothing), DeviceStatus::failed);
  EXPECT_NE(
      std::string(api.message()).find("waiting for rows that another program makes: cudaErrorInvalidResourceHandle"),
      std::string::npos)
      << api.message();
  EXPECT_NE(std::string(api.message()).find("`device=cpu` runs the same plan"), std::string::npos) << api.message();
  // A kernel that cannot be started.
  EXPECT_ANY_THROW(cuda_check(cudaErrorLaunchFailure, "matmul"));
  api.close(open);
  emulation::device().driver = false;
  int n = 7;
  EXPECT_EQ(api.count(&n), DeviceStatus::missing);
  EXPECT_EQ(n, 0);
  EXPECT_NE(std::string(api.message()).find("looking for a GPU: cudaErrorInsufficientDriver"), std::string::npos)
      << api.message();
  emulation::device() = was;
  DeviceSession* s = nullptr;
  EXPECT_EQ(api.open(3, &s), DeviceStatus::missing);
  EXPECT_NE(std::string(api.message()).find("cudaErrorInvalidDevice"), std::string::npos) << api.message();
}

}  // namespace
}  // namespace tessera
