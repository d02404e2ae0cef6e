// Fused launches: the same bits as op by op, for any plan and schedule, and how many there are of a step of CTGAN.
#include <gtest/gtest.h>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "emulation/gpu.h"
#include "engine/schedule/gpu_fusion.h"
#include "engine/schedule/placement.h"
#include "models/plans/describe_launches.h"
#include "support/ctgan_training.h"
#include "support/made_training.h"
#include "support/of_precision.h"
#include "support/random_plan.h"
#include "support/timegan_training.h"
#include "support/tvae_training.h"

extern "C" const tessera::DeviceApi* tessera_device_backend();

namespace tessera::sandbox {
namespace {

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
    EXPECT_LE(difference(plan.run({cpu_kernels("double"), {}, 1, 2}), composed), 2e-4)
        << "plan " << seed << " beside the processor in double";
  }
}

template <class T>
void has_the_bits_of_its_composition(const T& t, int64_t steps, const std::vector<const char*>& schedules) {
  Device device(*tessera_device_backend(), 0);
  const Values composed = t.run(on_device(device, {"fuse"}, steps));
  for (const char* schedule : schedules) {
    emulation::set_schedule(emulation::parse_schedule(schedule));
    EXPECT_EQ(difference(composed, t.run(on_device(device, {}, steps))), 0) << schedule;
  }
  emulation::set_schedule({});
  EXPECT_LE(difference(t.run({cpu_kernels("double"), {}, 1, steps}), composed), 1e-3)
      << "beside the processor in double";
}

TEST(Fused, AStepHasTheBitsOfItsComposition) {
  has_the_bits_of_its_composition(Training(1), 2, {"reverse", "random:9"});
  has_the_bits_of_its_composition(TvaeTraining(), 3, {"sequential", "reverse", "random:9"});
  for (const Sees sees : {Sees::columns_before, Sees::shown_columns})
    has_the_bits_of_its_composition(MadeTraining(sees), 2, {"random:9"});
}

// A critic whose first layer no block can hold: products are made by tiles, sliced, and updated tile by tile.
TEST(Fused, AWideStepOfCtganHasTheBitsOfItsComposition) {
  const Training t(2, 0.9, Size::wide);
  Plan plan = t.with();
  std::map<FusedChain::Cut, int> cuts;
  for (const FusedLaunch& l : fuse(plan))
    for (const FusedGroup& g : l.chains) ++cuts[g.cut];
  for (const FusedChain::Cut cut : {FusedChain::rows, FusedChain::cols, FusedChain::flat, FusedChain::tiles})
    EXPECT_GT(cuts[cut], 0) << cut;
  has_the_bits_of_its_composition(t, 2, {"sequential", "random:5"});
}

// The step that people run, at its size, once: replayed and op by op, and beside the processor.
TEST(Fused, AStepAtAdultsSizeHasTheBitsOfItsComposition) {
  has_the_bits_of_its_composition(Training(1, 0.9, Size::adult, 300), 1, {"sequential"});
}

// More steps than fit into a launch: the chain continues in the next launch.
TEST(Fused, ALongChainGoesOnInTheNextLaunch) {
  Device device(*tessera_device_backend(), 0);
  Sandbox s;
  Var x = matmul(s.real("x", {64, 8}), s.real("w", {8, 8}));
  for (int i = 0; i < 240; ++i) x = tanh(x + 0.01 * i);
  s.see(x, "y");
  emulation::reset_counts();
  const Values composed = s.run(on_device(device, {"fuse"}, 1));
  const int64_t apart = emulation::counts().launches;
  emulation::reset_counts();
  EXPECT_EQ(difference(composed, s.run(on_device(device, {}, 1))), 0);
  EXPECT_GT(apart, 480);
  EXPECT_LE(emulation::counts().launches, 8);
}

Plan adult_step() { return Training(1, 0.9, Size::adult, 32561).plan; }

// Fewer are possible, and take longer: products in chains of few blocks (engine/schedule/gpu_fusion.cpp).
TEST(Fused, AStepOfCtganTakesFewLaunches) {
  Plan plan = adult_step();
  optimize(plan);
  const nlohmann::json fused = describe_launches(plan);
  EXPECT_LE(fused["launches"].get<int>(), 29) << fused.dump(2);
  size_t ops = 0;
  for (const auto& group : fused["groups"])
    for (const auto& chain : group["chains"]) {
      EXPECT_NE(chain["cut"], "whole") << "every op has found a chain: " << chain;
      ops += chain["ops"].size();
    }
  // The numbers of values are edges: what an op reads was made before it, by one op, or comes from outside of the step.
  std::map<Id, size_t> maker;
  size_t number = 0, edges = 0;
  std::set<Id> viewed;
  for (const auto& view : fused["views"])
    for (const auto& v : view["out"]) viewed.insert(v[0].get<Id>());
  EXPECT_GT(viewed.size(), 0u);
  for (const auto& group : fused["groups"])
    for (const auto& chain : group["chains"]) {
      ASSERT_EQ(chain["values"].size(), chain["ops"].size());
      for (size_t i = 0; i < chain["ops"].size(); ++i, ++number) {
        const bool sum = chain["ops"][i] == "matmul (sum of slices)";
        for (const auto& v : chain["values"][i]["out"]) EXPECT_EQ(viewed.count(v[0].get<Id>()), 0u);
        for (const auto& v : chain["values"][i]["out"])
          EXPECT_NE(maker.try_emplace(v[0].get<Id>(), number).second, sum) << chain["ops"][i];
        for (const auto& v : chain["values"][i]["in"]) edges += maker.count(v[0].get<Id>());
      }
    }
  EXPECT_GT(edges, number / 2);
  optimize(plan, {"all"});
  const nlohmann::json composed = describe_launches(plan);
  EXPECT_EQ(composed["groups"].size() + 1, composed["launches"].get<size_t>());
  EXPECT_GT(composed["launches"].get<int>(), 150);
  EXPECT_GE(ops, composed["groups"].size()) << "nothing is left out, and the sums of slices are counted once more";
}

// Products of rounded factors on tensor cores, inside the launches that hold fp32's.
template <class T>
void rounded_steps(const T& t, int64_t steps) {
  Device device(*tessera_device_backend(), 0);
  Plan exact = t.plan, rounded = t.plan;
  exact.precision = Precision::fp32;
  optimize(exact), optimize(rounded);
  EXPECT_EQ(fuse(rounded).size(), fuse(exact).size()) << "launches";
  const Values composed = t.run(on_device(device, {"fuse"}, steps));
  EXPECT_NE(difference(composed, t.run(on_device(device, {"fuse", "precision"}, steps))), 0) << "in fp32";
  for (const char* schedule : {"sequential", "random:9"}) {
    emulation::set_schedule(emulation::parse_schedule(schedule));
    EXPECT_EQ(difference(composed, t.run(on_device(device, {}, steps))), 0) << schedule;
  }
  emulation::set_schedule({});
}

class FusedRounded : public OfPrecision {};
TESSERA_OF_EACH_PRECISION(FusedRounded);

TEST_P(FusedRounded, AStepOfCtganHasTheBitsOfItsComposition) {
  rounded_steps(Training(1, 0.9, Size::small, 40, GetParam()), 2);
}
TEST_P(FusedRounded, AWideStepOfCtganHasTheBitsOfItsComposition) {
  rounded_steps(Training(2, 0.9, Size::wide, 40, GetParam()), 1);
}
TEST_P(FusedRounded, AStepOfTvaeHasTheBitsOfItsComposition) { rounded_steps(TvaeTraining(false, 40, GetParam()), 2); }
TEST_P(FusedRounded, AStepOfMadeHasTheBitsOfItsComposition) {
  rounded_steps(MadeTraining(Sees::columns_before, GetParam()), 1);
}
TEST_P(FusedRounded, AnIterationOfTimeganHasTheBitsOfItsComposition) {
  rounded_steps(SequenceTraining({Cell::gru, 16, 2, 2, 0, 4, 1}, TimeganPhase::joint, GetParam()), 1);
}

TEST(Fused, AStepOfTvaeTakesFewLaunches) {
  for (const bool adult : {false, true}) {
    Plan plan = TvaeTraining(adult, adult ? 32561 : 40).plan;
    optimize(plan);
    const nlohmann::json fused = describe_launches(plan);
    EXPECT_LE(fused["launches"].get<int>(), 4) << fused.dump(2);
    for (const auto& group : fused["groups"])
      for (const auto& chain : group["chains"])
        EXPECT_NE(chain["cut"], "whole") << "every op has found a chain: " << chain;
    optimize(plan, {"all"});
    EXPECT_GT(describe_launches(plan)["launches"].get<int>(), 40);
  }
}

TEST(Fused, AStepOfMadeTakesFewLaunches) {
  Plan plan = MadeTraining().plan;
  optimize(plan);
  const nlohmann::json fused = describe_launches(plan);
  EXPECT_LE(fused["launches"].get<int>(), 18) << fused.dump(2);
  for (const auto& group : fused["groups"])
    for (const auto& chain : group["chains"])
      EXPECT_NE(chain["cut"], "whole") << "every op has found a chain: " << chain;
}

TEST(Fused, LaunchesOfCtganTvaeAndMadeHaveASource) {
  for (Plan plan : {adult_step(), TvaeTraining(true, 32561).plan, MadeTraining().plan}) {
    optimize(plan);
    for (const auto& group : describe_launches(plan)["groups"])
      EXPECT_TRUE(group.contains("source")) << group.value("not_emitted", "");
  }
}

// Least squares whose gradients are beyond fp16 at the first scales.
TEST(Fused, AGradientThatOverflowsLeavesTheUpdateOut) {
  Device device(*tessera_device_backend(), 0);
  Sandbox s;
  s.plan.precision = Precision::fp16;
  ParameterSet set;
  set.name = "net";
  const Weight w = set.add("w", {8, 8});
  s.own(set);
  s.r.minimize(mean(square(matmul(s.real("x", {16, 8}), s.r(w)) - s.real("y", {16, 8}, 500, 1000))), set,
               AdamOptions{Adam::torch, 1, 0.9, 0.99, 1e-8, 0, 1, 0, 0, 0});
  const Values first = s.run(on_device(device, {}, 1)), later = s.run(on_device(device, {}, 12));
  EXPECT_EQ(first.at("state net"), s.values.at("net"));
  EXPECT_EQ(first.at("state net.skipped")[0], 1);
  EXPECT_EQ(first.at("state net.scale")[0], -0.5) << "held as scale / 65536 − 1";
  EXPECT_NE(later.at("state net"), s.values.at("net"));
  EXPECT_GT(later.at("state net.done")[0], 0);
  EXPECT_EQ(later.at("state net.done")[0], 12 - later.at("state net.skipped")[0]);
  EXPECT_EQ(difference(later, s.run(on_device(device, {"fuse"}, 12))), 0);
}

// Three launches more for each optimizer: the sums of its gradients, the verdict on them, the update. TVAE's loss waits
// one more for its scale, which CTGAN's has when it is needed.
TEST(Fused, AStepWithScaledLossesTakesFewMore) {
  const Plan of[] = {Training(1, 0.9, Size::adult, 32561, Precision::fp16).plan,
                     TvaeTraining(true, 32561, Precision::fp16).plan};
  const int most[] = {36, 8};
  for (size_t i = 0; i < 2; ++i) {
    Plan plan = of[i];
    optimize(plan);
    const nlohmann::json fused = describe_launches(plan);
    EXPECT_LE(fused["launches"].get<int>(), most[i]) << fused.dump(2);
    for (const auto& group : fused["groups"])
      for (const auto& chain : group["chains"])
        EXPECT_NE(chain["cut"], "whole") << "every op has found a chain: " << chain;
  }
}

// What the levels promise: nothing reads within a launch what another chain of it makes.
TEST(Fused, ChainsOfALaunchKnowNothingOfEachOther) {
  std::vector<Plan> plans;
  for (uint64_t seed = 0; seed < 40; ++seed) plans.push_back(RandomPlan(seed).plan);
  plans.push_back(Training(2).plan);
  plans.push_back(TvaeTraining().plan);
  plans.push_back(TvaeTraining(true).plan);
  plans.push_back(Training(1, 0.9, Size::wide).plan);
  plans.push_back(adult_step());
  for (const Cell cell : {Cell::gru, Cell::gru_reset_before, Cell::lstm})
    plans.push_back(SequenceTraining({cell}).plan);
  for (size_t i = 0; i < plans.size(); ++i) {
    Plan& plan = plans[i];
    optimize(plan);
    const Fusion fusion = fuse(plan);
    std::vector<std::pair<size_t, int>> made(plan.nodes.size(), {0, -1});  // launch and chain
    for (size_t l = 0; l < fusion.size(); ++l)
      for (size_t c = 0; c < fusion[l].chains.size(); ++c)
        for (const FusedNode& n : fusion[l].chains[c].nodes)
          if (n.part != FusedStep::slices) made[static_cast<size_t>(n.node)] = {l, static_cast<int>(c)};
    for (size_t l = 0; l < fusion.size(); ++l)
      for (size_t c = 0; c < fusion[l].chains.size(); ++c)
        for (const FusedNode& n : fusion[l].chains[c].nodes)
          for (const Id v : plan.nodes[static_cast<size_t>(n.node)].in) {
            if (v == kNone) continue;
            const Node* maker = plan.maker(v);
            while (maker != nullptr && is_view(maker->op)) maker = plan.maker(maker->in[0]);
            if (maker == nullptr) continue;
            const auto [level, chain] = made[static_cast<size_t>(maker - plan.nodes.data())];
            // the addend is for the sum
            if (n.part == FusedStep::slices && v == plan.nodes[static_cast<size_t>(n.node)].in.back() && level >= l)
              continue;
            EXPECT_TRUE(chain < 0 || level < l || (level == l && chain == static_cast<int>(c)))
                << "plan " << i << ", launch " << l << ": " << op_name(plan.nodes[static_cast<size_t>(n.node)].op);
          }
  }
}

// A step of CTGAN makes two batches of rows. The running statistics that both update do not put them in one chain of
// columns, whose few blocks would make one batch after the other.
TEST(Fused, BatchesThatShareStatisticsAreMadeSideBySide) {
  Plan plan = adult_step();
  optimize(plan);
  int chains = 0;
  for (const FusedLaunch& l : fuse(plan))
    for (const FusedGroup& g : l.chains) {
      int norms = 0;
      for (const FusedNode& n : g.nodes)
        norms += std::holds_alternative<BatchNorm>(plan.nodes[static_cast<size_t>(n.node)].op) ? 1 : 0;
      EXPECT_LE(norms, 1);
      chains += norms;
    }
  EXPECT_EQ(chains, 4) << "two layers, two batches";
}

// The memory that a value takes: rows of an arena.
struct Place {
  Slot::Where where;
  int64_t begin, end, ld, cols;  // bytes; of a row
  bool meets(const Place& o) const {
    if (where != o.where || begin >= o.end || o.begin >= end) return false;
    if (ld != o.ld || ld == 0) return true;  // side by side in rows of one length they may lie between each other
    const int64_t a = begin % ld, b = o.begin % ld;
    return (a < b + o.cols && b < a + cols) || a + cols > ld || b + o.cols > ld;
  }
};

// What makes the levels safe, looked at where it counts, in memory: what one chain of a launch writes no other chain of
// it reads or writes.
TEST(Fused, ChainsOfALaunchShareNoMemoryThatIsWritten) {
  std::vector<Plan> plans;
  for (uint64_t seed = 0; seed < 40; ++seed) plans.push_back(RandomPlan(seed).plan);
  for (const int critic_steps : {1, 2})
    for (const Size size : {Size::small, Size::wide}) plans.push_back(Training(critic_steps, 0.9, size).plan);
  for (const bool adult : {false, true}) plans.push_back(TvaeTraining(adult).plan);
  plans.push_back(adult_step());
  for (const Cell cell : {Cell::gru, Cell::gru_reset_before, Cell::lstm})
    plans.push_back(SequenceTraining({cell}).plan);
  for (size_t i = 0; i < plans.size(); ++i) {
    Plan& plan = plans[i];
    optimize(plan);
    const Fusion fusion = fuse(plan);
    const auto phases = phases_of(fusion);
    const Placement placed = place(plan, 4, true, &phases);
    const auto place_of = [&](Id v) {
      const Slot& s = placed.slots[static_cast<size_t>(v)];
      const Shape shape = plan.shape(v);
      return Place{s.where, s.offset, s.offset + 4 * ((shape.rows - 1) * s.ld + shape.cols), 4 * s.ld, 4 * shape.cols};
    };
    for (size_t l = 0; l < fusion.size(); ++l) {
      std::vector<std::pair<size_t, Place>> reads, writes;
      for (size_t c = 0; c < fusion[l].chains.size(); ++c)
        for (const FusedNode& n : fusion[l].chains[c].nodes) {
          const Node& node = plan.nodes[static_cast<size_t>(n.node)];
          if (!placed.runs[static_cast<size_t>(n.node)]) continue;
          const bool addend = n.part != FusedStep::all && std::get<Matmul>(node.op).addend;
          for (size_t k = 0; k < node.in.size(); ++k)
            if (node.in[k] != kNone &&
                (n.part == FusedStep::all || (n.part == FusedStep::sum) == (addend && k + 1 == node.in.size())))
              reads.emplace_back(c, place_of(node.in[k]));
          if (n.part == FusedStep::slices) continue;
          if (const bool by_rows = std::holds_alternative<ConcatRows>(node.op);
              by_rows || std::holds_alternative<ConcatCols>(node.op)) {
            Place to = place_of(node.out[0]);  // only what is not made in its place already is written
            for (const Id v : node.in) {
              const Shape part = plan.shape(v);
              to.end = to.begin + (part.rows - 1) * to.ld + 4 * part.cols;
              to.cols = 4 * part.cols;
              if (const Place from = place_of(v); from.where != to.where || from.begin != to.begin)
                writes.emplace_back(c, to);
              to.begin += by_rows ? part.rows * to.ld : 4 * part.cols;
            }
            continue;
          }
          for (const Id v : node.out) writes.emplace_back(c, place_of(v));
        }
      for (const auto& [c, to] : writes) {
        for (const auto& [d, from] : reads)
          EXPECT_FALSE(c != d && to.where != Slot::bound && to.meets(from))
              << "plan " << i << ", launch " << l << ": chain " << d << " reads what chain " << c << " writes";
        for (const auto& [d, other] : writes)
          EXPECT_FALSE(c != d && to.meets(other))
              << "plan " << i << ", launch " << l << ": chains " << c << " and " << d << " write one place";
      }
    }
  }
}

}  // namespace
}  // namespace tessera::sandbox
