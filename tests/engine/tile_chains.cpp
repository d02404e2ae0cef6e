// Chains of recurrent ops on tiles of sequences: what goes on in a chain, what a tile keeps to itself, and that no bit depends on any of it.
#include "engine/tile_chains.h"

#include <gtest/gtest.h>

#include "engine/placement.h"
#include "support/sandbox.h"

namespace tessera::sandbox {
namespace {

constexpr int64_t kIn = 3, kHidden = 5, kSteps = 4;

// A layer and its parameters, named.
std::vector<Var> layer(Sandbox& s, Cell cell, const std::string& name, Var x, Var length) {
  const int64_t in = x.cols() / kSteps, gates = gates_of(cell) * kHidden;
  const Var w_x = s.real(name + ".w_x", {in, gates}), w_h = s.real(name + ".w_h", {kHidden, gates}), b_x = s.real(name + ".b_x", {1, gates});
  const Var b_h = cell == Cell::gru_reset_before ? Var{} : s.real(name + ".b_h", {1, gates});
  return s.r.emit(Recurrent{cell, kSteps, 0}, {x, length, Var{}, Var{}, w_x, w_h, b_x, b_h});
}

// Two layers and, if wanted, the gradients of all that is bound.
struct Net {
  Net(Cell cell, int64_t sequences, bool backwards) {
    const Var x = s.real("x", {sequences, kSteps * kIn}), length = s.real("length", {sequences, 1}, 0.5, kSteps + 0.5);
    first = layer(s, cell, "first", x, length);
    second = layer(s, cell, "second", first[0], length);
    s.see(second[0], "y");
    if (!backwards) return;
    std::vector<Var> wrt{x};
    for (const Leaf& l : s.plan.leaves)
      if (l.name.find('.') != std::string::npos) wrt.push_back({&s.r, l.value});
    const Var seed = s.real("seed", {sequences, kSteps * kHidden});
    const std::vector<Var> d = pullback(s.r, {second[0]}, {seed}, wrt);
    for (size_t i = 0; i < d.size(); ++i) s.see(d[i], "d" + std::to_string(i));
  }
  Sandbox s;
  std::vector<Var> first, second;
};

Plan fused(const Sandbox& s) {
  Plan plan = s.plan;
  optimise(plan);
  return plan;
}
bool kept(const RowChains& c, Id v) { return c.local[static_cast<size_t>(v)].offset >= 0; }

TEST(TileChains, LayersGoOnInOneChainForwardsAndInOneBackwards) {
  for (const Cell cell : {Cell::gru, Cell::gru_reset_before, Cell::lstm}) {
    const Net net(cell, 40, true);
    const Plan plan = fused(net.s);
    const RowChains c = tile_chains(plan, 4);
    ASSERT_EQ(c.chains.size(), 1u) << "what is given back is known before: forwards goes on backwards";
    EXPECT_EQ(c.chains[0].rows, 3);
    EXPECT_EQ(c.chains[0].nodes.size(), 8u);
    for (const auto& [op, node] : ops<RecurrentGrad>(plan)) EXPECT_TRUE(kept(c, node.out[0])) << "slopes never leave the tile";
    for (const auto& [op, node] : ops<RecurrentWgrad>(plan)) EXPECT_FALSE(kept(c, node.out[0])) << "shares are added up over all tiles";
    EXPECT_LT(lay_out(plan, 4).placement.phases.size(), place(plan, 4).phases.size());
  }
}

TEST(TileChains, WhatNobodyReadsIsKept) {
  const Net net(Cell::gru, 40, false);
  const Plan plan = fused(net.s);
  const RowChains c = tile_chains(plan, 4);
  const auto layers = ops<Recurrent>(plan);
  ASSERT_EQ(layers.size(), 2u);
  for (const auto& [op, node] : layers) EXPECT_TRUE(kept(c, node.out[2])) << "nothing is differentiated";
  EXPECT_TRUE(kept(c, layers[0].second.out[0])) << "the next layer alone reads it";
  EXPECT_FALSE(kept(c, layers[1].second.out[0]));
}

TEST(TileChains, APlanWithoutThemHasNone) {
  Sandbox s;
  s.see(tanh(s.real("x", {300, 4})), "y");
  EXPECT_TRUE(tile_chains(fused(s), 4).chains.empty());
}

TEST(TileChains, NoBitDependsOnThem) {
  for (const Cell cell : {Cell::gru, Cell::gru_reset_before, Cell::lstm})
    for (const int64_t sequences : {1, 16, 21, 40}) {
      const Net net(cell, sequences, true);
      for (const KernelTable* table : {&cpu_kernels(), cpu_kernels("double")}) {
        const Values want = net.s.run({table, {"fuse"}});
        for (const int threads : {1, 2, 3}) EXPECT_EQ(want, net.s.run({table, {}, threads})) << table->name << ", " << sequences << " sequences, " << threads << " threads";
      }
    }
}

}  // namespace
}  // namespace tessera::sandbox
