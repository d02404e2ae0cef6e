// Launches as generated source (engine/emit): what NVRTC makes of it, executed as PTX, has the bits of the composition.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <map>
#include <memory>
#include <thread>
#include <utility>

#include "emulation/gpu.h"
#include "emulation/memory.h"
#include "engine/device/device_api.h"
#include "engine/emit/emit.h"
#include "engine/emit/launch_compiler.h"
#include "engine/emit/nvrtc.h"
#include "engine/run/compiled_launches.h"
#include "kernels/gpu/dialect/table.h"
#include "ptx/machine/launch.h"
#include "support/ctgan_training.h"
#include "support/folder.h"
#include "support/made_training.h"
#include "support/other_launches.h"
#include "support/random_plan.h"
#include "support/tvae_training.h"

namespace tessera::sandbox {
namespace {

struct NamedLaunch {
  std::string name;
  EmittedLaunch launch;
};

// Launches that were queued and not compiled yet are compiled together, when the first of them runs: most of NVRTC's
// time is for the headers.
class Launches {
 public:
  int emitted = 0;
  std::map<std::string, int> refused;  // by reason
  std::shared_ptr<const NamedLaunch> latest;
  // Of the calls that were recorded last: their launches as source, and the launch before each; `changed`: another one
  // instead of that.
  std::map<const FusedLaunchOp*, std::shared_ptr<NamedLaunch>> of;
  std::map<const FusedLaunchOp*, const FusedLaunchOp*> before;
  std::function<const FusedLaunchOp*(const FusedLaunchOp*)> changed;

  std::string name() { return "launch_" + std::to_string(++number_); }
  void add(const EmittedLaunch& e) { pending_ += e.source; }
  std::unique_ptr<ptx::Launch> launch(const NamedLaunch& l) {
    if (!pending_.empty()) {
      const CompiledSource made = compile_source(std::exchange(pending_, ""), "compute_90");
      if (made.image.empty()) throw emulation::Fault(made.log);
      modules_.push_back(std::make_unique<ptx::Module>(ptx::read_module(made.image)));
    }
    for (const auto& m : modules_)
      if (m->functions.contains(l.name)) return early(*m, l);
    throw emulation::Fault("no kernel " + l.name);
  }
  // One that may begin before the one before it has ended. `l` outlives it.
  static std::unique_ptr<ptx::Launch> early(const ptx::Module& m, const NamedLaunch& l) {
    const auto blocks = static_cast<unsigned>(l.launch.blocks);
    return std::make_unique<ptx::Launch>(
        m, m.functions.at(l.name),
        ptx::Wanted{{blocks, 1, 1}, {kEmittedThreads, 1, 1}, 0, l.launch.parameters.data(), true, true});
  }

 private:
  int number_ = 0;
  std::string pending_;
  std::vector<std::unique_ptr<ptx::Module>> modules_;
};
Launches& launches() {
  static Launches all;
  return all;
}

void run_emitted(const Call& call, int64_t tile, void* context) {
  const auto* op = static_cast<const FusedLaunchOp*>(call.op);
  const FusedLaunchOp* before = launches().before[op];
  auto& of = launches().of[op];
  if (of == nullptr) {
    of = std::make_shared<NamedLaunch>(NamedLaunch{launches().name(), {}});
    of->launch = emit_launch(*op, gpu_context(context).workspace, of->name, {},
                             launches().changed ? launches().changed(before) : before);
    of->launch.parameters.resize(kMaxParameterBytes);
    launches().add(of->launch);
  }
  if (of->launch.source.empty()) {
    ++launches().refused[of->launch.reason];
    return fused_kernels_cuda().kernel.run(call, tile, context);
  }
  ++launches().emitted;
  launches().latest = of;
  struct Queued {
    std::shared_ptr<const NamedLaunch> of;
    std::unique_ptr<ptx::Launch> launch{};
    ptx::Launch& started() {
      if (launch == nullptr) launch = launches().launch(*of);
      return *launch;
    }
  };
  const auto q = std::make_shared<Queued>(Queued{of});
  emulation::enqueue(
      gpu_context(context).stream, "emitted launch", [q] { q->started().run(); },
      before == nullptr ? std::function<void()>() : [q] { q->started().begin(); });
}

DeviceStatus record_emitted(DeviceSession* session, const DeviceCall* calls, int64_t n, StepState* state,
                            void* workspace, int steps, DeviceRecording** recording) {
  const auto op = [&](int64_t i) {
    return calls[i].kernel.run == run_emitted ? static_cast<const FusedLaunchOp*>(calls[i].call.op) : nullptr;
  };
  launches().before.clear(), launches().of.clear();
  for (int64_t i = 0; i < n; ++i)
    if (i > 0 || state == nullptr) launches().before[op(i)] = op(i > 0 ? i - 1 : n - 1);
  return tessera_device_backend()->record(session, calls, n, state, workspace, steps, recording);
}

// The plugin, with fused launches from generated source.
const DeviceApi& emitting() {
  static OtherLaunches backend({{[](const Call&) -> int64_t { return 1; }, run_emitted, nullptr},
                                fused_kernels_cuda().fits,
                                fused_kernels_cuda().slices_bytes});
  backend.api.record = record_emitted;
  return backend.api;
}

template <class T>
void has_the_bits_of_its_composition(const T& t, int64_t steps) {
  if (nvrtc().version.empty()) GTEST_SKIP() << nvrtc().reason;
  Device composed(*tessera_device_backend(), 0), generated(emitting(), 0);
  launches().emitted = 0, launches().refused.clear();
  const Values expected = t.run(on_device(composed, {"fuse"}, steps)), made = t.run(on_device(generated, {}, steps));
  for (const auto& [name, values] : expected)
    EXPECT_EQ(difference({{name, values}}, {{name, made.at(name)}}), 0) << name;
  EXPECT_GT(launches().emitted, 0);
  for (const auto& [reason, count] : launches().refused)
    ADD_FAILURE() << count << " launches stay with the interpreter: " << reason;
}

// Chains of every kind: draws, products and functions of rows, batch norm by columns, updates by elements and by tiles.
class SmallStep : public Sandbox {
 public:
  SmallStep() {
    ParameterSet set;
    set.name = "net";
    set.add("w", {8, 20});
    set.add("b", {1, 20});
    set.add("gamma", {1, 20});
    set.add("out", {20, 1});
    own(set);
    Var h = leaky_relu(matmul(real("x", {24, 8}), r(set, "w")) + r(set, "b"), 0.2) * r.bernoulli("kept", {24, 20}, 0.5);
    h = relu(batch_norm(tanh(h) + 0.5, r(set, "gamma"), r(set, "b"), 0.1).y);
    const Var loss = mean(square(matmul(h, r(set, "out"))));
    see(1.0 * loss, "loss");
    r.minimize(loss, set, {Adam::torch, 0.1, 0.5, 0.9, 1e-3, 1e-3, 1, 0, 0, 0});
    const Var ring = r.state("ring", {4, 1});
    r.advance(ring, r.emit1(Report{4}, {ring, 1.0 * loss}));
  }
};

TEST(Emitted, AStepHasTheBitsOfItsComposition) { has_the_bits_of_its_composition(SmallStep(), 18); }

TEST(Emitted, AStepOfTvaeHasTheBitsOfItsComposition) { has_the_bits_of_its_composition(TvaeTraining(), 2); }
TEST(Emitted, AStepOfMadeHasTheBitsOfItsComposition) { has_the_bits_of_its_composition(MadeTraining(), 2); }
TEST(Emitted, AStepOfCtganHasTheBitsOfItsComposition) { has_the_bits_of_its_composition(Training(1), 2); }

TEST(Emitted, RandomPlansHaveTheBitsOfTheirComposition) {
  for (uint64_t seed = 0; seed < 1; ++seed) has_the_bits_of_its_composition(RandomPlan(seed), 2);
}

// ---- launches that begin early --------------------------------------------------------------------------------------

// In all tests above a launch does what comes before its wait before the one before it has run.
TEST(Emitted, ALaunchWaitsForTheOneBeforeItAndOneThatDoesNotIsFound) {
  if (nvrtc().version.empty()) GTEST_SKIP() << nvrtc().reason;
  Device generated(emitting(), 0);
  SmallStep().run(on_device(generated, {}, 1));
  NamedLaunch l = *launches().latest;
  const EmittedLaunch& e = l.launch;
  void* state = emulation::allocate_device(sizeof(StepState));  // the training's is gone
  std::memcpy(l.launch.parameters.data() + sizeof state, &state, sizeof state);
  const std::string text = compile_source(e.source, "compute_90").image, wait = "griddepcontrol.wait;",
                    trigger = "griddepcontrol.launch_dependents;", first = "ld.volatile";
  const size_t at = text.find(wait);
  ASSERT_NE(at, std::string::npos);
  EXPECT_EQ(text.find_first_not_of("\n\t ", at + wait.size()), text.find(trigger)) << "right behind the wait";
  EXPECT_EQ(text.find(wait, at + 1), std::string::npos) << "once";
  EXPECT_LT(text.find(first), at) << "the counter is known by then";
  EXPECT_EQ(compile_source(e.source, "compute_80").image.find("griddepcontrol"), std::string::npos);
  const auto fault = [&](const std::string& ptx) -> std::string {
    try {
      const ptx::Module m = ptx::read_module(ptx);
      Launches::early(m, l)->run();
    } catch (const emulation::Fault& f) { return f.what(); }
    return "no fault";
  };
  const auto expect_says = [&](const std::string& said, const char* what) {
    EXPECT_NE(said.find(what), std::string::npos) << said;
  };
  std::string without = text, cached = text;
  for (size_t load; (load = cached.find(first)) < at;) cached.replace(load, first.size(), "ld");
  expect_says(fault(cached), "global memory before griddepcontrol.wait");
  expect_says(fault(without.erase(at, wait.size())), "lets the next launch begin before it waited");
  const std::string call = "  wait_for_launch_before();\n";
  std::string late = e.source;
  late.erase(late.find(call), call.size());
  expect_says(fault(compile_source(late, "compute_90").image), "griddepcontrol.wait in an early launch");
  late.insert(late.rfind("}\n\n}"), call);
  expect_says(fault(compile_source(late, "compute_90").image), "global memory before griddepcontrol.wait");
  emulation::free_device(state);
}

// The first launch of a step may not read the counter early: the last launch of the step before advances it.
TEST(Emitted, ACounterThatIsReadTooEarlyChangesBits) {
  if (nvrtc().version.empty()) GTEST_SKIP() << nvrtc().reason;
  Device composed(*tessera_device_backend(), 0), generated(emitting(), 0);
  static const FusedLaunchOp another{};  // neither first nor last
  launches().changed = [](const FusedLaunchOp*) { return &another; };
  const SmallStep t;
  const auto differences = [&](int64_t steps) {
    return difference(t.run(on_device(composed, {"fuse"}, steps)), t.run(on_device(generated, {}, steps)));
  };
  EXPECT_EQ(differences(2), 0) << "recordings of one step, which run in order";
  EXPECT_GT(differences(16), 0);
  launches().changed = nullptr;
}

// ---- compiled in the background, while a training runs ----------------------------------------------------------

// A training whose launches are compiled while it runs: 3 steps by the interpreter, then as many as it takes until none
// is being compiled, then 3 more. `fails`: a launch that does not compile.
struct Switched {
  Values values;
  int64_t steps = 0, compiled_sources = 0;
  LaunchReport first, last;
};
template <class T>
Switched switch_in_training(const T& t, const std::string& cache,
                            const std::function<bool(const std::string&)>& fails = {}) {
  Switched out;
  Device device(*tessera_device_backend(), 0);
  std::atomic<bool> begun{false};
  std::atomic<int64_t> sources{0};
  Compilation how;
  how.cache = cache;
  how.threads = 2;
  how.compile = [&](const std::string& source, const std::string&) -> CompiledSource {
    while (!begun) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ++sources;
    if (fails && fails(source)) return {"", "no"};
    return compile_source(source, "compute_90");
  };
  Setting s = on_device(device, {}, 0);
  s.training = [&](Program& p) {
    const auto run = [&](int64_t n) { out.steps += p.run(n); };
    p.compile_launches(how);
    begun = cache != "off";  // nothing waits for images that are there
    run(3);
    out.first = p.launches();
    begun = true;
    for (p.start(1); p.launches().waiting > 0; out.steps += p.finish()) {  // one start is in flight at each switch
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      p.start(1);
    }
    out.steps += p.finish();
    out.last = p.launches();
    run(18);
  };
  out.values = t.run(s);
  out.compiled_sources = sources;
  return out;
}
template <class T>
Values interpreted(const T& t, int64_t steps) {
  Device device(*tessera_device_backend(), 0);
  return t.run(on_device(device, {}, steps));
}

TEST(Emitted, ATrainingThatSwitchesHasTheBitsOfTheInterpreter) {
  if (nvrtc().version.empty()) GTEST_SKIP() << nvrtc().reason;
  const SmallStep t;
  const Switched s = switch_in_training(t, "off");
  EXPECT_EQ(s.first.compiled, 0);
  EXPECT_EQ(s.first.waiting, s.first.launches);
  EXPECT_EQ(s.last.compiled, s.last.launches) << s.last.reason;
  EXPECT_GT(s.last.launches, 2);
  EXPECT_EQ(difference(interpreted(t, s.steps), s.values), 0);
}

TEST(Emitted, ALaunchThatFailsToCompileStaysWithTheInterpreter) {
  if (nvrtc().version.empty()) GTEST_SKIP() << nvrtc().reason;
  const SmallStep t;
  const Switched s = switch_in_training(
      t, "off", [](const std::string& source) { return source.find("launch_2") != std::string::npos; });
  EXPECT_EQ(s.last.compiled, s.last.launches - 1);
  EXPECT_EQ(s.last.reason, "launch_2: no");
  EXPECT_EQ(difference(interpreted(t, s.steps), s.values), 0) << "steps of both kinds of launches";
}

TEST(Emitted, ATrainingTakesWhatAnEarlierOneCompiled) {
  if (nvrtc().version.empty()) GTEST_SKIP() << nvrtc().reason;
  const test::Folder folder;
  const SmallStep t;
  const Switched first = switch_in_training(t, folder.path().string()),
                 second = switch_in_training(t, folder.path().string());
  EXPECT_EQ(first.compiled_sources, first.last.launches);
  EXPECT_EQ(second.compiled_sources, 0);
  EXPECT_EQ(second.last.compiled, second.last.launches) << second.last.reason;
  EXPECT_EQ(difference(interpreted(t, second.steps), second.values), 0);
}

}  // namespace
}  // namespace tessera::sandbox
