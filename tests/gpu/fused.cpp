// Fused launches: the same bits as op by op, for any plan and schedule, and how many there are of a step of CTGAN.
#include <gtest/gtest.h>

#include "engine/fusion.h"
#include "emulation/gpu.h"
#include "support/ctgan_training.h"
#include "support/random_plan.h"

extern "C" const tessera::DeviceApi* tessera_device_backend();

namespace tessera::sandbox {
namespace {

Setting on_device(Device& device, std::set<std::string> off, int64_t steps) {
  Setting s;
  s.device = &device;
  s.off = std::move(off);
  s.steps = steps;
  return s;
}

TEST(Fused, ARandomPlanHasTheBitsOfItsComposition) {
  Device device(*tessera_device_backend(), 0);
  for (uint64_t seed = 0; seed < 6; ++seed) {
    const RandomPlan plan(seed);
    const Values composed = plan.run(on_device(device, {"fuse"}, 2));
    for (const char* schedule : {"sequential", "random:3"}) {
      emulation::set_schedule(emulation::parse_schedule(schedule));
      EXPECT_EQ(difference(composed, plan.run(on_device(device, {}, 2))), 0) << "plan " << seed << ", " << schedule;
    }
    emulation::set_schedule({});
    EXPECT_LE(difference(plan.run({cpu_kernels("double"), {}, 1, 2}), composed), 2e-4) << "plan " << seed << " beside the processor in double";
  }
}

TEST(Fused, AStepOfCtganHasTheBitsOfItsComposition) {
  Device device(*tessera_device_backend(), 0);
  const Training t(1);
  const Values composed = t.run(on_device(device, {"fuse"}, 2));
  for (const char* schedule : {"reverse", "random:9"}) {
    emulation::set_schedule(emulation::parse_schedule(schedule));
    EXPECT_EQ(difference(composed, t.run(on_device(device, {}, 2))), 0) << schedule;
  }
  emulation::set_schedule({});
  EXPECT_LE(difference(t.run({cpu_kernels("double"), {}, 1, 2}), composed), 1e-3) << "beside the processor in double";
}

// Adult's widths: 15 columns, 172 numbers of data, 120 of conditions, batches of 500 in packs of 10.
Plan adult_step() {
  using Part = Span::Part;
  RowLayout layout;
  int at = 0, cond = 0, column = 0;
  for (const int modes : {10, 9, 10, 5, 8}) {
    layout.spans.push_back({column, Part::alpha, at++, 1, -1});
    layout.spans.push_back({column++, Part::mode, at, modes, -1});
    at += modes;
  }
  for (const int categories : {9, 16, 7, 15, 6, 5, 2, 42, 2, 16}) {
    layout.spans.push_back({column++, Part::category, at, categories, cond});
    at += categories, cond += categories;
  }
  layout.data_width = at;
  layout.cond_width = cond;
  Plan plan;
  Recorder r(plan);
  record_training(r, Ctgan(layout, {}), 32561, 10, 19500);
  return plan;
}

TEST(Fused, AStepOfCtganTakesFewLaunches) {
  Plan plan = adult_step();
  optimise(plan);
  const Fusion fusion = fuse(plan);
  const auto phases = phases_of(fusion);
  const Placement placed = place(plan, 4, true, &phases);
  int alone = 0;
  for (size_t l = 0; l < fusion.size(); ++l) {
    std::string line;
    for (const FusedGroup& g : fusion[l].chains) {
      line += " [" + std::string(g.cut == FusedChain::rows ? "rows " : g.cut == FusedChain::cols ? "cols " : g.cut == FusedChain::flat ? "flat " : "tile ") + std::to_string(g.units) + ":";
      for (const FusedNode& n : g.nodes)
        if (placed.runs[static_cast<size_t>(n.node)]) line += std::string(" ") + op_name(plan.nodes[static_cast<size_t>(n.node)].op) + (n.part == FusedStep::slices ? "/" : n.part == FusedStep::sum ? "+" : "");
      line += "]";
    }
    for (const int n : fusion[l].alone)
      if (placed.runs[static_cast<size_t>(n)]) line += std::string(" ALONE ") + op_name(plan.nodes[static_cast<size_t>(n)].op), ++alone;
    RecordProperty("launch " + std::to_string(l), line);
    if (std::getenv("TESSERA_SHOW") != nullptr) printf("%zu%s\n", l, line.c_str());
  }
  EXPECT_EQ(alone, 0) << "every op has found a chain";
  EXPECT_LE(fusion.size(), 21u);
}

}  // namespace
}  // namespace tessera::sandbox
