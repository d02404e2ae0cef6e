// The gradients of parameter sets in turn: where this is done, and that no bit depends on it.
#include "engine/schedule/update_order.h"

#include <gtest/gtest.h>

#include "engine/passes/passes.h"
#include "engine/schedule/placement.h"
#include "support/sandbox.h"

namespace tessera::sandbox {
namespace {

constexpr int64_t kWidth = 128;

// An encoder and a decoder of two layers each.
class Autoencoder : public Sandbox {
 public:
  // `dependent`: the decoder's gradients read the encoder's updated weights.
  explicit Autoencoder(bool dependent = false) {
    plan.precision = Precision::bf16;
    plan.row_cut = {2, 0, 0};
    for (ParameterSet* set : {&encoder_, &decoder_}) own(*set);
    const Var x = real("x", {128, 8}), z = matmul(relu(matmul(x, r(encoder_, "a"))), r(encoder_, "b"));
    const AdamOptions adam{Adam::torch, 0.01, 0.9, 0.99, 1e-8, 0, 1, 0, 0, 0};
    if (dependent) r.minimize(mean(square(z)), encoder_, adam);
    const Var code = dependent ? matmul(relu(matmul(x, r(encoder_, "a"))), r(encoder_, "b")) : z;
    const Var loss = mean(square(matmul(relu(matmul(code, r(decoder_, "a"))), r(decoder_, "b")) - x));
    if (dependent) r.minimize(loss, decoder_, adam);
    else r.minimize(loss, std::vector<const ParameterSet*>{&encoder_, &decoder_}, adam);
    see(loss, "loss");
  }
  Plan made() const {
    Plan p = plan;
    optimize(p);
    narrow_values(p);
    return p;
  }

 private:
  static ParameterSet two(const char* name, int64_t in, int64_t out) {
    ParameterSet set;
    set.name = name;
    set.add("a", {in, kWidth}), set.add("b", {kWidth, out});
    return set;
  }
  ParameterSet encoder_ = two("encoder", 8, kWidth), decoder_ = two("decoder", kWidth, 8);
};

int phase_of(const std::vector<std::vector<int>>& phases, int node) {
  for (size_t p = 0; p < phases.size(); ++p)
    if (std::find(phases[p].begin(), phases[p].end(), node) != phases[p].end()) return static_cast<int>(p);
  return -1;
}

TEST(UpdateOrder, UpdatesOneSetBeforeGradientsOfTheNext) {
  const Plan plan = Autoencoder().made();
  const RowChains chains = row_chains(plan, 4);
  const std::vector<std::vector<int>> phases = updates_in_turn(plan, chains);
  ASSERT_FALSE(phases.empty());
  size_t nodes = 0;
  for (const std::vector<int>& phase : phases) nodes += phase.size();
  EXPECT_EQ(nodes, plan.nodes.size());
  std::vector<int> updates, gradients;
  for (size_t n = 0; n < plan.nodes.size(); ++n) {
    const auto* product = std::get_if<Matmul>(&plan.nodes[n].op);
    if (product != nullptr && product->trans_a) gradients.push_back(phase_of(phases, static_cast<int>(n)));
    if (std::holds_alternative<Adam>(plan.nodes[n].op)) updates.push_back(phase_of(phases, static_cast<int>(n)));
    // the inputs of a node are computed before it, or in its phase if it continues them
    for (const Id v : plan.nodes[n].in) {
      if (v == kNone || plan.maker(v) == nullptr) continue;
      EXPECT_LE(phase_of(phases, plan[v].node), phase_of(phases, static_cast<int>(n)));
    }
  }
  ASSERT_EQ(updates.size(), 2u);
  ASSERT_EQ(gradients.size(), 4u);
  std::sort(updates.begin(), updates.end());
  EXPECT_EQ(std::count_if(gradients.begin(), gradients.end(), [&](int p) { return p < updates[0]; }), 2);
  EXPECT_EQ(std::count_if(gradients.begin(), gradients.end(), [&](int p) { return updates[0] < p && p < updates[1]; }),
            2);
}

// Here the gradients are a third of the memory.
TEST(UpdateOrder, SavesMemoryAndKeepsBits) {
  const Autoencoder net;
  const Plan plan = net.made();
  const Layout layout = lay_out(plan, 4);
  EXPECT_EQ(layout.placement.phases, updates_in_turn(plan, row_chains(plan, 4)));
  const Values want = net.run({cpu_kernels("plain"), {"fuse", "liveness"}, 1, 3});
  for (const int threads : {1, 2, 3}) EXPECT_EQ(want, net.run({cpu_kernels("plain"), {}, threads, 3}));
}

// A set whose update other ops read is not delayed.
TEST(UpdateOrder, StaysIfTheStepReadsAnUpdate) {
  const Plan plan = Autoencoder(true).made();
  EXPECT_TRUE(updates_in_turn(plan, row_chains(plan, 4)).empty());
}

}  // namespace
}  // namespace tessera::sandbox
