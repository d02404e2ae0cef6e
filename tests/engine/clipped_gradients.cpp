// Clipped gradients of rows against those that one backward pass for each row gives, in double; and what they become on
// ranks and in micro-batches.
#include "engine/plan/clipped_gradients.h"

#include <gtest/gtest.h>

#include "engine/passes/batch/micro_batches.h"
#include "engine/passes/batch/shard.h"
#include "engine/plan/blocks.h"
#include "support/sandbox.h"

namespace tessera::sandbox {
namespace {

constexpr int64_t kRows = 8, kEntries = 3, kLevels = 12, kDim = 4, kHidden = 10, kOut = 9;

// Embeddings, a dense layer that is used twice, a staircase and products side by side, each with a bias, and a weight
// that multiplies rows of one-hot parts.
class Net : public Sandbox {
 public:
  explicit Net(double bound, bool drawn = false) : Sandbox(7) {
    embedding_ = set_.add("embedding.weight", {kLevels, kDim});
    first_ = set_.add("first.weight", {kEntries * kDim, kHidden});
    twice_ = set_.add("twice.weight", {kHidden, kHidden});
    bias_ = set_.add("twice.bias", {1, kHidden});
    stairs_ = set_.add("stairs.weight", {kHidden, kOut});
    stairs_bias_ = set_.add("stairs.bias", {1, kOut});
    heads_ = set_.add("heads.weight", {3, 7});
    sparse_ = other_.add("sparse.weight", {kLevels, 7});
    staircase_ = Blocks::staircase(kHidden, {0, 0, 2, 2, 5, 5, 5, 9, 10});
    side_ = Blocks::side_by_side(3, {2, 1, 4});
    plan.tables.push_back(staircase_), plan.tables.push_back(side_);
    own(set_), own(other_);
    std::vector<int> levels;
    for (int64_t i = 0; i < kRows * kEntries; ++i)
      levels.push_back(static_cast<int>(4 * (i % kEntries) + (i * 7 + i / 5) % 4));  // distinct in a row
    index_ = index("levels", {kRows, kEntries}, levels);
    shown_ = real("shown", {kRows, kEntries}, 0, 2);
    weight_ = real("weight", {kRows, 1}, 0, 1);
    if (drawn) {  // the rows of a batch are drawn, as ranks need them
      const Var all =
          r.emit(CompactRows{}, {real("keep", {kRows + 1, 1}, .1, 1), index("numbers", {kRows + 1, 1}, 0, 0),
                                 real("alive", {kRows + 1, 1}, 1, 1)})[3];
      weight_ = weight_ * slice_rows(all, 0, kRows);
    }
    values["weight"][3] = 0;
    losses = loss();
    clipped = clipped_gradients(r, losses, weight_, bound, {&set_, &other_});
    if (!drawn)  // ranks have only their rows of these
      see(1.0 * clipped.square, "square"), see(1.0 * clipped.share, "share"), see(1.0 * weight_, "weights");
    for (size_t i = 0; i < clipped.sums.size(); ++i) see(1.0 * clipped.sums[i], "sum " + std::to_string(i));
  }
  // What a pass for each row gives: its gradients, parameter by parameter.
  void brute_force() {
    for (int64_t i = 0; i < kRows; ++i) {
      std::vector<Var> seed;
      for (int64_t k = 0; k < kRows; ++k) seed.push_back(fill(r, {1, 1}, k == i ? 1 : 0));
      std::vector<Var> wrt;
      for (const ParameterSet* set : {&set_, &other_})
        for (const Parameter& p : set->parameters) wrt.push_back(r(*set, p.name));
      const std::vector<Var> g = pullback(r, {losses}, {concat_rows(seed)}, wrt);
      for (size_t k = 0; k < g.size(); ++k) see(1.0 * g[k], "row " + std::to_string(i) + " of " + std::to_string(k));
    }
  }

  Var losses;
  ClippedGradients clipped;

 private:
  Var loss() {
    const Var cells = r.emit1(SparseMatmul{kLevels, 1, false}, {reshape(index_, {kRows * kEntries, 1}),
                                                                reshape(shown_, {kRows * kEntries, 1}), r(embedding_)});
    const Var x = matmul(reshape(cells, {kRows, kEntries * kDim}), r(first_));
    const Var h = tanh(matmul(tanh(x), r(twice_)) + r(bias_));
    const Var again = silu(matmul(h, r(twice_)) + r(bias_));
    const Var seen = tanh(block_matmul(BlockMatmul::forward, staircase_->table(), again, r(stairs_), r(stairs_bias_)));
    const Var out = block_matmul(BlockMatmul::forward, side_->table(), seen, r(heads_)) +
                    matmul(sparse_dense(index_, shown_, kLevels, kEntries), r(sparse_));
    return sum_cols(square(out));
  }

  ParameterSet set_{"net", {}, 0}, other_{"other", {}, 0};
  Weight embedding_, first_, twice_, bias_, stairs_, stairs_bias_, heads_, sparse_;
  std::shared_ptr<const Blocks> staircase_, side_;
  Var index_, shown_, weight_;
};

TEST(ClippedGradients, EqualThoseOfSingleRows) {
  for (const double bound : {1e-3, 2.0, 1e6}) {
    Net net(bound);
    net.brute_force();
    for (const std::set<std::string>& off : {std::set<std::string>{}, {"all"}}) {
      if (!off.empty() && bound != 2) continue;
      Setting setting;
      setting.off = off;
      const Values v = net.run(setting);
      const size_t parameters = net.clipped.sums.size();
      std::vector<std::vector<double>> sums(parameters);
      int clipped = 0;
      for (size_t i = 0; i < static_cast<size_t>(kRows); ++i) {
        const auto of = [&](size_t k) { return v.at("row " + std::to_string(i) + " of " + std::to_string(k)); };
        double square = 0;
        for (size_t k = 0; k < parameters; ++k)
          for (const double g : of(k)) square += g * g;
        EXPECT_NEAR(v.at("square")[i], square, 1e-12 * square) << "row " << i;
        const double share = v.at("weights")[i] * std::min(1.0, bound / std::sqrt(square));
        clipped += bound < std::sqrt(square) ? 1 : 0;
        EXPECT_NEAR(v.at("share")[i], share, 1e-12);
        for (size_t k = 0; k < parameters; ++k) {
          const std::vector<double> g = of(k);
          sums[k].resize(g.size());
          for (size_t e = 0; e < g.size(); ++e) sums[k][e] += share * g[e];
        }
      }
      EXPECT_EQ(clipped, bound < 1 ? kRows : bound > 1e3 ? 0 : clipped);
      for (size_t k = 0; k < parameters; ++k) {
        const std::vector<double>& sum = v.at("sum " + std::to_string(k));
        ASSERT_EQ(sum.size(), sums[k].size());
        const double scale = std::max(largest(sums[k]), 1e-9);
        for (size_t e = 0; e < sum.size(); ++e) EXPECT_NEAR(sum[e], sums[k][e], 1e-12 * scale) << k << "[" << e << "]";
      }
    }
  }
}

TEST(ClippedGradients, RoundInFloatAsSumsDo) {
  Net net(2);
  const Values exact = net.run();
  Setting f;
  f.table = cpu_kernels("plain");
  EXPECT_LT(difference(exact, net.run(f)), 1e-5);
}

// No row's gradient is in memory: no value of the plan has as many elements as the rows have weights.
TEST(ClippedGradients, AreNotStoredRowByRow) {
  Net net(1);
  Plan plan = net.plan;
  optimize(plan);
  int64_t weights = 0, widest = 0;
  for (const Leaf& leaf : plan.leaves)
    if (leaf.kind == Leaf::state) weights += plan.shape(leaf.value).count();
  for (const Node& n : plan.nodes)
    for (const Id v : n.out) widest = std::max(widest, plan.shape(v).count());
  EXPECT_LT(widest, kRows * weights / 3);
}

TEST(ClippedGradients, AreSummedOverMicroBatches) {
  Net net(2, true);
  const Values whole = net.run();
  Plan cut = net.plan;
  optimize(cut);
  micro_batches(cut, 4);
  EXPECT_LT(difference(whole, net.run(std::move(cut), {})), 1e-12);
}

TEST(ClippedGradients, AreSummedOverShards) {
  Net net(2, true);
  const Values whole = net.run();
  Plan cut = net.plan;
  optimize(cut);
  shard(cut, RankCut{4, 1, 0, nullptr});
  Values parts = net.run(std::move(cut), {});
  std::erase_if(parts, [&](const auto& v) { return whole.count(v.first) == 0; });  // the state that orders exchanges
  EXPECT_LT(difference(whole, parts), 1e-12);
}

}  // namespace
}  // namespace tessera::sandbox
