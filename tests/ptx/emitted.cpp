// Launches as generated source (engine/emit): what NVRTC makes of it, executed as PTX, has the bits of the composition.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "emulation/gpu.h"
#include "engine/device/device_api.h"
#include "engine/emit/emit.h"
#include "engine/emit/nvrtc.h"
#include "kernels/gpu/dialect/table.h"
#include "ptx/machine/launch.h"
#include "support/ctgan_training.h"
#include "support/made_training.h"
#include "support/random_plan.h"
#include "support/tvae_training.h"

extern "C" const tessera::DeviceApi* tessera_device_backend();

namespace tessera::sandbox {
namespace {

// Launches that were queued and not compiled yet are compiled together, when the first of them runs: most of NVRTC's
// time is for the headers.
class Launches {
 public:
  int emitted = 0;
  std::map<std::string, int> refused;  // by reason

  std::string name() { return "launch_" + std::to_string(++number_); }
  void add(const EmittedLaunch& e) { pending_ += e.source; }
  void run(const std::string& name, const EmittedLaunch& e) {
    if (!pending_.empty()) {
      const CompiledSource made = compile_source(std::exchange(pending_, ""), "compute_90");
      if (made.image.empty()) throw emulation::Fault(made.log);
      modules_.push_back(std::make_unique<ptx::Module>(ptx::read_module(made.image)));
    }
    for (const auto& m : modules_)
      if (const auto f = m->functions.find(name); f != m->functions.end()) {
        std::vector<char> parameters = e.parameters;
        parameters.resize(std::max<size_t>(parameters.size(), f->second.parameters_total) + 16);
        ptx::Wanted wanted{
            {static_cast<unsigned>(e.blocks), 1, 1}, {kEmittedThreads, 1, 1}, 0, parameters.data(), true};
        return ptx::run(*m, f->second, wanted);
      }
    throw emulation::Fault("no kernel " + name);
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
  emulation::enqueue(gpu_context(context).stream, "emitted launch", [name, e] { launches().run(name, e); });
}

// The plugin, with fused launches from generated source.
const DeviceApi& emitting() {
  static const FusedKernels fused{{[](const Call&) -> int64_t { return 1; }, run_emitted, nullptr},
                                  fused_kernels_cuda().fits,
                                  fused_kernels_cuda().slices_bytes};
  static const KernelTable table = [] {
    KernelTable t = *tessera_device_backend()->kernels;
    t.fused = &fused;
    return t;
  }();
  static const DeviceApi api = [] {
    DeviceApi a = *tessera_device_backend();
    a.kernels = &table;
    return a;
  }();
  return api;
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

}  // namespace
}  // namespace tessera::sandbox
