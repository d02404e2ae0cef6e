// CTGAN's training plan as it is run: what the passes do to it (plans.cpp has what is true of every method's).
#include <gtest/gtest.h>

#include "support/ctgan_training.h"

namespace tessera::sandbox {
namespace {

TEST(CtganPlan, OmitsGeneratorBackwardFromCriticStep) {
  for (const int critic_steps : {1, 2}) {
    const Training t(critic_steps);
    EXPECT_GT(count<BatchNormGrad>(t.plan), 2) << "recorded, the critic's loss reaches into the generator";
    const Plan made = t.with();
    EXPECT_EQ(count<BatchNormGrad>(made), 2) << "one a block, in the generator's own step";
    EXPECT_EQ(count<SpanActivationGrad>(made), 1);
    EXPECT_EQ(count<BatchNorm>(made), 2 * (critic_steps + 1));
  }
}

// The penalty is a part of the critic's work, so most products round.
TEST(CtganPlan, KeepsOnlyPenaltyProductsExact) {
  Training t;
  t.plan.precision = Precision::bf16;
  const Plan made = t.with();
  int rounded = 0, exact = 0;
  for (const Node& x : made.nodes)
    if (const auto* m = std::get_if<Matmul>(&x.op)) (m->factors == Precision::bf16 ? rounded : exact) += 1;
  EXPECT_GT(rounded, exact);
  EXPECT_GT(exact, 0);
  const Values one = t.run({&cpu_kernels(), {}, 1, 20});
  for (const auto& [name, values] : one)
    for (const double x : values) ASSERT_TRUE(std::isfinite(x)) << name;
  for (const int threads : {2, 3}) EXPECT_EQ(one, t.run({&cpu_kernels(), {}, threads, 20})) << threads << " threads";
  EXPECT_NE(one, t.run({&cpu_kernels(), {"precision"}, 1, 20})) << "in fp32";
}

TEST(CtganPlan, MultipliesNoOneHotRow) {
  const Training t;
  const Plan made = t.with(), without = t.with({"gather"});
  // What is left of sparse_dense feeds the interpolation, never a product.
  auto products_of_sparse = [](const Plan& plan) {
    int n = 0;
    for (const auto& [m, node] : ops<Matmul>(plan))
      for (const Id v : node.in) {
        Id from = v;
        while (plan.made_by<Reshape>(from) != nullptr) from = plan.maker(from)->in[0];
        n += plan.made_by<SparseDense>(from) != nullptr;
        if (plan.made_by<ConcatCols>(from) != nullptr)
          for (const Id part : plan.maker(from)->in) {
            Id p = part;
            while (plan.made_by<Reshape>(p) != nullptr) p = plan.maker(p)->in[0];
            n += plan.made_by<SparseDense>(p) != nullptr;
          }
      }
    return n;
  };
  EXPECT_GT(products_of_sparse(without), 0);
  EXPECT_EQ(products_of_sparse(made), 0);
  EXPECT_GT(count<SparseMatmul>(made), 0);
  EXPECT_GT(count<SparseWgrad>(made), 0);
  EXPECT_EQ(count<SparseMatmul>(without) + count<SparseWgrad>(without), 0);
}

TEST(CtganPlan, ReusesFirstLayerForInterpolates) {
  const Training t;
  // Forward products with the critic's first layer that start from interpolated rows.
  auto of_interpolates = [](const Plan& plan) {
    int n = 0;
    for (const auto& [m, node] : ops<Matmul>(plan)) n += !m.trans_a && plan.made_by<LerpRows>(node.in[0]) != nullptr;
    return n;
  };
  EXPECT_EQ(of_interpolates(t.with({"interpolate"})), 1);
  EXPECT_EQ(of_interpolates(t.with()), 0);
  EXPECT_LT(flops(t.with()), flops(t.with({"interpolate"})));
}

TEST(CtganPlan, StacksTheBatchesOfTheCritic) {
  const Training t;
  auto tall = [](const Plan& plan) {
    int n = 0;
    for (const auto& [m, node] : ops<Matmul>(plan))
      n += !m.trans_a && plan.shape(node.out[0]).rows == 150 && plan.shape(node.in[0]).cols == 11;
    return n;
  };
  EXPECT_EQ(tall(t.with({"stack"})), 0);
  EXPECT_GT(tall(t.with()), 0) << "the second layer on 3·50 packed rows";
  EXPECT_LT(count<Matmul>(t.with()), count<Matmul>(t.with({"stack"})));
}

TEST(CtganPlan, FusesReluAndSums) {
  const Training t;
  const Plan made = t.with();
  for (const auto& [n, node] : ops<BatchNorm>(made)) EXPECT_TRUE(n.relu);
  for (const auto& [n, node] : ops<BatchNormGrad>(made)) EXPECT_TRUE(n.relu);
  for (const auto& [b, node] : ops<Binary>(made)) {
    const auto* m = made.made_by<Matmul>(node.in[0]);
    EXPECT_FALSE(b.fn == Binary::add && m != nullptr && !m->addend) << "a sum that a product could have started from";
  }
  EXPECT_LT(count<Binary>(made), count<Binary>(t.with({"accumulate"})));
}

TEST(CtganPlan, SavesWorkOrOpsWithEveryPass) {
  const Training t;
  Plan plan = t.plan;
  for (const PassReport& p : optimize(plan)) {
    // change no op: they save memory (below), launches of a device, and the time of products
    const std::set<std::string> others = {"liveness", "fuse", "compile", "early_launch", "pack", "precision", "narrow"};
    if (others.count(p.pass) != 0) continue;
    EXPECT_LE(p.flops_after, p.flops_before * 1.0000001) << p.pass;
    EXPECT_TRUE(p.flops_after < p.flops_before || p.nodes_after != p.nodes_before) << p.pass << " did nothing";
  }
}

TEST(CtganPlan, ReusesMemory) {
  for (const int critic_steps : {1, 2}) {
    const Placement p = place(Training(critic_steps).with(), 4);
    EXPECT_LT(p.activation_bytes, p.unplaced_bytes / 2);
  }
}

}  // namespace
}  // namespace tessera::sandbox
