// Launches as generated source (engine/emit): what NVRTC makes of it, executed as PTX, has the bits of the composition.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <thread>
#include <utility>

#include "emulation/gpu.h"
#include "engine/device/device_api.h"
#include "engine/emit/emit.h"
#include "engine/emit/launch_compiler.h"
#include "engine/emit/nvrtc.h"
#include "engine/run/compiled_launches.h"
#include "kernels/gpu/dialect/table.h"
#include "ptx/machine/launch.h"
#include "support/ctgan_training.h"
#include "support/made_training.h"
#include "support/other_launches.h"
#include "support/private_folder.h"
#include "support/random_plan.h"
#include "support/tvae_training.h"

namespace tessera::sandbox {
namespace {

// Launches that were queued and not compiled yet are compiled together, when the first of them runs: most of NVRTC's
// time is for the headers.
class Launches {
 public:
  int emitted = 0;
  std::map<std::string, int> refused;  // by reason
  std::pair<std::string, EmittedLaunch> latest;

  std::string name() { return "launch_" + std::to_string(++number_); }
  void add(const EmittedLaunch& e) { pending_ += e.source; }
  void run(const std::string& name, const EmittedLaunch& e) {
    if (!pending_.empty()) {
      const CompiledSource made = compile_source(std::exchange(pending_, ""), "compute_90");
      if (made.image.empty()) throw emulation::Fault(made.log);
      modules_.push_back(std::make_unique<ptx::Module>(ptx::read_module(made.image)));
    }
    for (const auto& m : modules_)
      if (m->functions.contains(name)) return run_early(*m, name, e);
    throw emulation::Fault("no kernel " + name);
  }
  // As a launch that may begin before the one before it has ended.
  static void run_early(const ptx::Module& m, const std::string& name, const EmittedLaunch& e) {
    const ptx::Function& f = m.functions.at(name);
    std::vector<char> parameters = e.parameters;
    parameters.resize(std::max<size_t>(parameters.size(), f.parameters_total) + 16);
    ptx::run(m, f,
             {{static_cast<unsigned>(e.blocks), 1, 1}, {kEmittedThreads, 1, 1}, 0, parameters.data(), true, true});
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
  const std::string name = launches().name();
  const EmittedLaunch e =
      emit_launch(*static_cast<const FusedLaunchOp*>(call.op), gpu_context(context).workspace, name);
  if (e.source.empty()) {
    ++launches().refused[e.reason];
    return fused_kernels_cuda().kernel.run(call, tile, context);
  }
  ++launches().emitted;
  launches().add(e);
  launches().latest = {name, e};
  emulation::enqueue(gpu_context(context).stream, "emitted launch", [name, e] { launches().run(name, e); });
}

// The plugin, with fused launches from generated source.
const DeviceApi& emitting() {
  static const OtherLaunches backend({{[](const Call&) -> int64_t { return 1; }, run_emitted, nullptr},
                                      fused_kernels_cuda().fits,
                                      fused_kernels_cuda().slices_bytes});
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

TEST(Emitted, AStepHasTheBitsOfItsComposition) { has_the_bits_of_its_composition(SmallStep(), 2); }

TEST(Emitted, AStepOfTvaeHasTheBitsOfItsComposition) { has_the_bits_of_its_composition(TvaeTraining(), 2); }
TEST(Emitted, AStepOfMadeHasTheBitsOfItsComposition) { has_the_bits_of_its_composition(MadeTraining(), 2); }
TEST(Emitted, AStepOfCtganHasTheBitsOfItsComposition) { has_the_bits_of_its_composition(Training(1), 2); }

TEST(Emitted, RandomPlansHaveTheBitsOfTheirComposition) {
  for (uint64_t seed = 0; seed < 1; ++seed) has_the_bits_of_its_composition(RandomPlan(seed), 2);
}

// ---- launches that begin early --------------------------------------------------------------------------------------

TEST(Emitted, ALaunchWaitsForTheOneBeforeItAndOneThatDoesNotIsFound) {
  if (nvrtc().version.empty()) GTEST_SKIP() << nvrtc().reason;
  Device generated(emitting(), 0);
  SmallStep().run(on_device(generated, {}, 1));
  const auto& [name, e] = launches().latest;
  const std::string text = compile_source(e.source, "compute_90").image, wait = "griddepcontrol.wait;",
                    trigger = "griddepcontrol.launch_dependents;";
  const size_t at = text.find(wait);
  ASSERT_NE(at, std::string::npos);
  EXPECT_EQ(text.find_first_not_of("\n\t ", at + wait.size()), text.find(trigger)) << "right behind the wait";
  EXPECT_EQ(text.find(wait, at + 1), std::string::npos) << "once";
  EXPECT_EQ(compile_source(e.source, "compute_80").image.find("griddepcontrol"), std::string::npos);
  const auto fault = [&](const std::string& ptx) -> std::string {
    try {
      Launches::run_early(ptx::read_module(ptx), name, e);
    } catch (const emulation::Fault& f) { return f.what(); }
    return "no fault";
  };
  const auto expect_says = [&](const std::string& said, const char* what) {
    EXPECT_NE(said.find(what), std::string::npos) << said;
  };
  std::string without = text;
  expect_says(fault(without.erase(at, wait.size())), "lets the next launch begin before it waited");
  const std::string call = "  wait_for_launch_before();\n";
  std::string late = e.source;
  late.erase(late.find(call), call.size());
  late.insert(late.find('\n', late.find("  read_state(")) + 1, call);
  expect_says(fault(compile_source(late, "compute_90").image), "global memory before griddepcontrol.wait");
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
  const PrivateFolder folder;
  const SmallStep t;
  const Switched first = switch_in_training(t, folder.path), second = switch_in_training(t, folder.path);
  EXPECT_EQ(first.compiled_sources, first.last.launches);
  EXPECT_EQ(second.compiled_sources, 0);
  EXPECT_EQ(second.last.compiled, second.last.launches) << second.last.reason;
  EXPECT_EQ(difference(interpreted(t, second.steps), second.values), 0);
}

}  // namespace
}  // namespace tessera::sandbox
