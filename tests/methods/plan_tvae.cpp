// TVAE's training plan as it runs: no pass changes the results, one-hot rows are gathered, unread gradients are not
// computed; memory and bits.
#include <gtest/gtest.h>

#include "models/tvae/network.h"
#include "support/placement_check.h"
#include "support/sandbox.h"

namespace tessera::sandbox {
namespace {

// A table of 40 rows: a number with three modes, a column of four values, one of two.
class Training : public Sandbox {
 public:
  Training() : model_(layout(), config()) {
    r.start_purposes(Purpose::step);
    record_training(r, model_, kRows, 1000);
    std::vector<double> codes;
    for (int i = 0; i < kRows; ++i) codes.insert(codes.end(), {double(i % 3), double(i % 7 % 4), double(i % 2)});
    values["codes"] = codes;
    values["alphas"] = draw({kRows, 1}, -0.9, 0.9);
    values["encoder"] = draw({1, model_.encoder.size}, -0.4, 0.4);
    values["decoder"] = draw({1, model_.decoder.size}, -0.4, 0.4);
    values["decoder"].back() = 0.3;  // σ
  }
  Plan with(const std::set<std::string>& off = {}) const {
    Plan made = plan;
    optimize(made, off);
    return made;
  }

 private:
  static constexpr int kRows = 40;
  static RowLayout layout() {
    using Part = Span::Part;
    return {{{0, Part::alpha, 0, 1, -1},
             {0, Part::mode, 1, 3, -1},
             {1, Part::category, 4, 4, 0},
             {2, Part::category, 8, 2, 4}},
            10,
            6};
  }
  static TvaeConfig config() {
    TvaeConfig c;
    c.batch = 150, c.embedding_dim = 5;
    c.encoder_dim = {8, 9};
    c.decoder_dim = {11, 7};
    c.average_decay = 0.9;
    c.adam_eps = 1e-2;  // steps in proportion to gradients, so that rounding stays rounding
    c.learning_rate = 1e-2;
    c.decay_from = 0.5;
    return c;
  }
  Tvae model_;
};

TEST(TvaePlan, KeepsResultsUnderEveryPass) {
  const Training t;
  const Values want = t.run({cpu_kernels("double"), {"as recorded"}, 1, 3});
  EXPECT_GT(largest(want.at("state losses")), 0.1);
  EXPECT_LE(difference(want, t.run({cpu_kernels("double"), {}, 1, 3})), 1e-10) << "all passes";
  for (const PassInfo& p : passes())
    EXPECT_LE(difference(want, t.run({cpu_kernels("double"), {p.name}, 1, 3})), 1e-10) << "without " << p.name;
  EXPECT_LE(difference(t.run({cpu_kernels("double"), {"as recorded"}, 1, 1}), t.run({&cpu_kernels(), {}, 2, 1})), 2e-4)
      << "in float";
}

TEST(TvaePlan, MultipliesNoOneHotRow) {
  const Training t;
  const Plan made = t.with();
  EXPECT_EQ(count<SparseDense>(made), 0);
  EXPECT_EQ(count<SparseMatmul>(made), 1) << "the encoder's first layer";
  EXPECT_EQ(count<SparseWgrad>(made), 1);
  EXPECT_GT(count<SparseDense>(t.with({"gather"})), 0);
}

TEST(TvaePlan, ComputesOnlyReadProducts) {
  const Training t;
  const Plan made = t.with();
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

TEST(TvaePlan, ReusesOnlyFreeMemory) {
  const Training t;
  EXPECT_EQ(misplaced(t.plan), "");
  EXPECT_EQ(misplaced(t.with()), "");
  for (const PassInfo& p : passes()) EXPECT_EQ(misplaced(t.with({p.name})), "") << "without " << p.name;
}

TEST(TvaePlan, KeepsBitsForAnyThreadsAndRuns) {
  const Training t;
  const Values one = t.run({&cpu_kernels(), {}, 1, 20});
  for (const auto& [name, v] : one)
    for (const double x : v) ASSERT_TRUE(std::isfinite(x)) << name;
  for (const int threads : {1, 2, 3}) EXPECT_EQ(one, t.run({&cpu_kernels(), {}, threads, 20})) << threads << " threads";
  EXPECT_NE(one, t.run({&cpu_kernels(), {}, 1, 20, 43})) << "another seed";
}

}  // namespace
}  // namespace tessera::sandbox
