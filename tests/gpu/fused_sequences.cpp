// TimeGAN's iterations in fused launches: the bits of their composition for every kind of cell, and how few launches
// there are.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "emulation/gpu.h"
#include "engine/schedule/gpu_fusion.h"
#include "models/plans/describe_launches.h"
#include "support/timegan_training.h"

extern "C" const tessera::DeviceApi* tessera_device_backend();

namespace tessera::sandbox {
namespace {

void has_the_bits_of_its_composition(const SequenceSizes& sizes, const char* schedule, double near = 1e-3) {
  Device device(*tessera_device_backend(), 0);
  const SequenceTraining t(sizes);
  const Values composed = t.run(on_device(device, {"fuse"}, 2));
  emulation::set_schedule(emulation::parse_schedule(schedule));
  EXPECT_EQ(difference(composed, t.run(on_device(device, {}, 2))), 0) << schedule;
  emulation::set_schedule({});
  EXPECT_LE(difference(t.run({cpu_kernels("double"), {}, 1, 2}), composed), near) << "beside the processor in double";
}

TEST(FusedSequences, AnIterationHasTheBitsOfItsComposition) { has_the_bits_of_its_composition({}, "sequential"); }
TEST(FusedSequences, WithAttributesAndResetBefore) {
  has_the_bits_of_its_composition({Cell::gru_reset_before, 16, 3, 2, 2, 4, 1}, "random:3");
}
TEST(FusedSequences, WithoutARandomStart) {
  has_the_bits_of_its_composition({Cell::gru, 16, 3, 2, 0, 4, 2, false}, "random:4");
}
TEST(FusedSequences, OfLstmCells) { has_the_bits_of_its_composition({Cell::lstm, 16, 3, 2, 0, 4, 2}, "reverse"); }
// Neither the batch nor the stacked inputs of a network fill their tiles.
TEST(FusedSequences, OfABatchThatFillsNoTiles) {
  has_the_bits_of_its_composition({Cell::gru, 10, 3, 2, 0, 4, 1}, "random:5");
  has_the_bits_of_its_composition({Cell::gru_reset_before, 37, 2, 2, 1, 3, 2}, "reverse");
  has_the_bits_of_its_composition({Cell::lstm, 2, 3, 1, 0, 3, 1}, "random:8");
}

// More layers than a wavefront has.
TEST(FusedSequences, OfDeepNetworks) {
  has_the_bits_of_its_composition({Cell::gru, 2, 2, 1, 0, 3, 5}, "random:9", 1e-2);
  has_the_bits_of_its_composition({Cell::lstm, 2, 2, 1, 0, 3, 3}, "random:10");
}

// More rows than one block should multiply in series: gradients of weights are cut, since a launch waits for their sum
// anyway.
TEST(FusedSequences, DeepGradientsAreCut) {
  const SequenceSizes sizes{Cell::gru, 64, 16, 1, 0, 3, 1};
  Plan plan = SequenceTraining(sizes).plan;
  optimize(plan);
  int cut = 0;
  for (const FusedLaunch& l : fuse(plan))
    for (const FusedGroup& g : l.chains)
      for (const FusedNode& n : g.nodes)
        if (const auto* m = std::get_if<Matmul>(&plan.nodes[static_cast<size_t>(n.node)].op);
            m != nullptr && m->trans_a) {
          EXPECT_EQ(g.cut, FusedChain::tiles);
          cut += n.part == FusedStep::slices;
        }
  EXPECT_GT(cut, 0);
  has_the_bits_of_its_composition(sizes, "random:6");
}

// Launches of a step as the device counts them.
int64_t launches_of(const SequenceSizes& sizes) {
  Device device(*tessera_device_backend(), 0);
  const SequenceTraining t(sizes);
  emulation::reset_counts();
  t.run(on_device(device, {}, 16));
  return emulation::counts().launches / 16;
}

TEST(FusedSequences, AnIterationTakesFewLaunches) {
  Plan plan = SequenceTraining({Cell::gru, 128, 24, 6, 0, 24, 3}).plan;
  optimize(plan);
  const nlohmann::json fused = describe_launches(plan);
  EXPECT_LE(fused["launches"].get<int>(), 24);
  // A small one has the same ops, and shows what launches there really are.
  for (const int batch : {16, 10, 21})
    EXPECT_EQ(launches_of({Cell::gru, batch, 2, 1, 0, 2, 3}), fused["launches"].get<int>())
        << batch << " sequences: " << fused.dump(2);
}

}  // namespace
}  // namespace tessera::sandbox
