// Chains on blocks of rows: which ops continue a chain and which end it, which values are private to a block, and that
// no bit depends on the blocks.
#include "engine/schedule/cpu_row_fusion.h"

#include <gtest/gtest.h>

#include "engine/schedule/placement.h"
#include "support/sandbox.h"

namespace tessera::sandbox {
namespace {

Plan cut(Plan plan, RowCut how) {
  plan.row_cut = how;
  plan.fuse = true;
  return plan;
}
RowCut anywhere(int64_t block = 0) { return {2, 0, block}; }
int chain_of(const RowChains& c, Var v, const Plan& plan) { return c.chain_of[static_cast<size_t>(plan[v.id].node)]; }
bool kept(const RowChains& c, Var v) { return c.local[static_cast<size_t>(v.id)].offset >= 0; }

TEST(RowChains, ContinueAlongRowsAndEndAtReductions) {
  Sandbox s;
  const Var x = s.real("x", {40, 8}), w = s.real("w", {8, 8});
  const Var h = matmul(x, w), a = tanh(h), sums = sum_rows(a), centered = a - sums, y = exp(centered);
  s.see(y, "y");
  const RowChains c = row_chains(cut(s.plan, anywhere()), 4);
  EXPECT_EQ(c.chains.size(), 2u);
  EXPECT_GE(chain_of(c, h, s.plan), 0);
  EXPECT_EQ(chain_of(c, h, s.plan), chain_of(c, a, s.plan));
  EXPECT_EQ(chain_of(c, sums, s.plan), -1);
  EXPECT_EQ(chain_of(c, centered, s.plan), chain_of(c, y, s.plan));
  EXPECT_NE(chain_of(c, a, s.plan), chain_of(c, y, s.plan));
  EXPECT_TRUE(kept(c, h));   // only tanh reads it
  EXPECT_FALSE(kept(c, a));  // the sum over all rows does, too
  EXPECT_TRUE(kept(c, centered));
  EXPECT_FALSE(kept(c, y));  // an output
}

// An elementwise function of a value that exists anyway is computed at its first use.
TEST(RowChains, SinkOpsToTheirFirstUse) {
  Sandbox s;
  const Var x = s.real("x", {40, 8}), w = s.real("w", {8, 8});
  const Var a = tanh(matmul(x, w)), slope = a * a, alone = exp(matmul(x, w)), last = alone * alone, sums = sum_rows(a);
  s.see(1.0 * ((a - sums) * slope * last), "y");
  const RowChains c = row_chains(cut(s.plan, anywhere()), 4);
  EXPECT_FALSE(kept(c, a));
  EXPECT_TRUE(kept(c, slope));
  EXPECT_TRUE(kept(c, alone)) << "it would have to wait in its place";
  EXPECT_FALSE(kept(c, last));
  Setting blocks{cpu_kernels("plain"), {"all"}, 2};
  const Values want = s.run(blocks);
  blocks.row_cut = anywhere(5), blocks.chains = true;
  EXPECT_EQ(want, s.run(blocks));
}

TEST(RowChains, DistinguishWeightFromBatchOfEqualRows) {
  Sandbox s;
  const Var x = s.real("x", {32, 32}), w = tanh(s.real("w", {32, 32}));
  const Var h = matmul(x, w);
  s.see(1.0 * h, "y");
  const RowChains c = row_chains(cut(s.plan, anywhere()), 4);
  EXPECT_NE(chain_of(c, w, s.plan), chain_of(c, h, s.plan));
  EXPECT_FALSE(kept(c, w));
  const Values want = s.run({cpu_kernels("double"), {"all"}});
  Setting blocks{cpu_kernels("double"), {"all"}, 2};
  blocks.row_cut = anywhere(5);
  blocks.chains = true;
  EXPECT_EQ(want, s.run(blocks));
}

TEST(RowChains, ReuseMemoryOfBlocks) {
  Sandbox s;
  Var x = s.real("x", {300, 16});
  for (int i = 0; i < 12; ++i) x = tanh(x);
  s.see(x, "y");
  const RowChains c = row_chains(cut(s.plan, {}), 4);
  ASSERT_EQ(c.chains.size(), 1u);
  EXPECT_EQ(c.chains[0].nodes.size(), 12u);
  EXPECT_EQ(c.chains[0].row_bytes, 2 * 16 * 4);  // two values at a time
  const Layout l = lay_out(cut(s.plan, {}), 4);
  EXPECT_EQ(l.placement.activation_bytes, 300 * 16 * 4);  // the output
}

// Column slices of a block-local value, and slices of these, are views of it: nothing is copied.
TEST(RowChains, KeepSlicesOfLocalValuesLocal) {
  Sandbox s;
  const Var x = s.real("x", {300, 12}), w = s.real("w", {12, 20});
  const Var h = tanh(matmul(x, w)), right = slice_cols(h, 7, 13), last = slice_cols(right, 4, 9);
  const Var y = exp(slice_cols(h, 0, 7)) + slice_cols(right, 0, 7);
  s.see(1.0 * concat_cols({1.0 * y, 2.0 * last}), "y");
  const RowChains c = row_chains(cut(s.plan, anywhere()), 4);
  ASSERT_TRUE(kept(c, h));
  ASSERT_TRUE(kept(c, last));
  EXPECT_EQ(c.local[static_cast<size_t>(last.id)].offset, c.local[static_cast<size_t>(h.id)].offset);
  EXPECT_EQ(c.local[static_cast<size_t>(last.id)].inside, (7 + 4) * 4);
  const Values want = s.run({cpu_kernels("double"), {"all"}});
  for (const int64_t block : {1, 7, 300}) {
    Setting blocks{cpu_kernels("double"), {"all"}, 2};
    blocks.row_cut = anywhere(block);
    blocks.chains = true;
    EXPECT_EQ(want, s.run(blocks)) << block;
  }
}

// Noise depends on the row, not on its block; states change after all of their readers.
TEST(RowChains, KeepBitsOfStepsWithNoiseAndUpdates) {
  Sandbox s;
  ParameterSet set;
  set.name = "net";
  set.add("w0", {12, 24});
  set.add("b0", {1, 24});
  set.add("w1", {24, 12});
  s.own(set);
  const Var x = s.real("x", {300, 12}), noise = s.r.normal("noise", {300, 24});
  const Var h = tanh(matmul(x, s.r(set, "w0")) + s.r(set, "b0") + 0.1 * noise), back = matmul(h, s.r(set, "w1"));
  const Var loss = mean(square(back - x));
  s.see(1.0 * loss, "loss");
  s.see(sum_cols(square(back)), "length");
  s.r.minimize(loss, set, {Adam::torch, 0.05, 0.9, 0.99, 1e-8, 1e-3, 1, 0, 0, 0});
  for (const KernelTable* table : {&cpu_kernels(), cpu_kernels("plain"), cpu_kernels("double")}) {
    const Values want = s.run({table, {"fuse"}, 1, 5});
    for (const int threads : {1, 2, 5}) {
      EXPECT_EQ(want, s.run({table, {}, threads, 5})) << table->name << ", " << threads << " threads";
      for (const int64_t block : {1, 7, 28, 300}) {
        Setting cutting{table, {}, threads, 5};
        cutting.row_cut = anywhere(block);
        EXPECT_EQ(want, s.run(cutting)) << table->name << ", blocks of " << block;
      }
    }
  }
}

TEST(RowChains, FindNaNInsideBlocks) {
  Sandbox s;
  const Var x = s.real("x", {300, 4}), w = s.state("w", {1, 4}), ring = s.r.state("ring", {8, 1});
  const Var bad = s.r.name(log(x * w), "logarithm");
  const Var loss = mean(exp(bad));
  s.r.advance(w, s.r.emit1(Average{0.5}, {w, sum_rows(bad)}));
  s.r.advance(ring, s.r.emit1(Report{8}, {ring, loss}));
  Plan plan = cut(s.plan, anywhere(28));
  schedule(plan);
  Team team(2);
  Program p(plan, cpu_kernels(), team, 1);
  std::vector<float> xs(1200, 1.0f);
  xs[4 * 217 + 2] = -1.0f;
  p.bind("x", xs.data());
  const std::vector<float> ws(4, 1.0f), zero(8, 0.0f);
  p.put("w", ws.data());
  p.put("ring", zero.data());
  p.snapshot();
  EXPECT_EQ(p.run(3), 1);
  EXPECT_NE(p.diagnose().find("logarithm (made by unary, row 217, column 2)"), std::string::npos) << p.diagnose();
}

TEST(RowChains, BalanceRowsAmongThreads) {
  const Plan plan;
  for (const int threads : {1, 2, 3, 4, 8, 16})
    for (const int64_t rows : {256, 500, 1000, 4096}) {
      const int64_t block = block_rows(plan, rows, threads), blocks = (rows + block - 1) / block,
                    most = (blocks + threads - 1) / threads;
      EXPECT_LE(block, 140);
      EXPECT_LE(static_cast<double>(most * block), 1.35 * std::max(static_cast<double>(rows) / threads, 28.0))
          << rows << " rows, " << threads << " threads";
    }
}

}  // namespace
}  // namespace tessera::sandbox
