// TVAE's training plan as it is run: one-hot rows are gathered, gradients nobody needs are not computed (plans.cpp has
// what is true of every method's).
#include <gtest/gtest.h>

#include "support/tvae_training.h"

namespace tessera::sandbox {
namespace {

Plan tvae_with(const std::set<std::string>& off) {
  Plan made = TvaeTraining().plan;
  optimize(made, off);
  return made;
}

TEST(TvaePlan, MultipliesNoOneHotRow) {
  const Plan made = tvae_with({});
  EXPECT_EQ(count<SparseDense>(made), 0);
  EXPECT_EQ(count<SparseMatmul>(made), 1) << "the encoder's first layer";
  EXPECT_EQ(count<SparseWgrad>(made), 1);
  EXPECT_GT(count<SparseDense>(tvae_with({"gather"})), 0);
}

TEST(TvaePlan, ComputesOnlyReadProducts) {
  const Plan made = tvae_with({});
  // Dense layers: 1 + mean and variance in the encoder, 3 in the decoder; each forward, by its weight and, but for the
  // encoder's second layer's input, by its input.
  int forward = 0, by_weight = 0, by_input = 0;
  for (const auto& [m, node] : ops<Matmul>(made)) (m.trans_a ? by_weight : m.trans_b ? by_input : forward) += m.pairs;
  EXPECT_EQ(forward, 6);
  EXPECT_EQ(by_weight, 6);
  EXPECT_EQ(by_input, 6);
  EXPECT_EQ(count<SpanReconstruction>(made), 1);
  EXPECT_EQ(count<SpanReconstructionGrad>(made), 1);
  EXPECT_EQ(count<ClampRange>(made), 1);
}

}  // namespace
}  // namespace tessera::sandbox
