// Chains of recurrent ops on tiles of sequences: which ops join a chain, which values stay private to a tile, and that
// no bit depends on it.
#include "engine/schedule/cpu_recurrent_tiles.h"

#include <gtest/gtest.h>

#include "engine/schedule/placement.h"
#include "support/sandbox.h"

namespace tessera::sandbox {
namespace {

struct Sizes {
  int64_t in = 3, hidden = 5, steps = 4;
};

// A layer and its parameters, named.
std::vector<Var> layer(Sandbox& s, Cell cell, const Sizes& z, const std::string& name, Var x, Var length) {
  const int64_t in = x.cols() / z.steps, gates = gates_of(cell) * z.hidden;
  // so that rounding does not grow from step to step
  const double most = std::min(1.0, 5.0 / static_cast<double>(z.hidden));
  const Var w_x = s.real(name + ".w_x", {in, gates}, -most, most),
            w_h = s.real(name + ".w_h", {z.hidden, gates}, -most, most), b_x = s.real(name + ".b_x", {1, gates});
  const Var b_h = cell == Cell::gru_reset_before ? Var{} : s.real(name + ".b_h", {1, gates});
  return s.r.emit(Recurrent{cell, z.steps, 0}, {x, length, Var{}, Var{}, w_x, w_h, b_x, b_h});
}

// Two layers and, if requested, the gradients of all bound tensors.
struct TwoLayers {
  TwoLayers(Cell cell, int64_t sequences, bool backwards, const Sizes& z = {}) {
    const Var x = s.real("x", {sequences, z.steps * z.in}),
              length = s.real("length", {sequences, 1}, 0.5, static_cast<double>(z.steps) + 0.5);
    first = layer(s, cell, z, "first", x, length);
    second = layer(s, cell, z, "second", first[0], length);
    s.see(second[0], "y");
    if (!backwards) return;
    std::vector<Var> wrt{x};
    for (const Leaf& l : s.plan.leaves)
      if (l.name.find('.') != std::string::npos) wrt.push_back({&s.r, l.value});
    const Var seed = s.real("seed", {sequences, z.steps * z.hidden});
    const std::vector<Var> d = pullback(s.r, {second[0]}, {seed}, wrt);
    for (size_t i = 0; i < d.size(); ++i) s.see(d[i], "d" + std::to_string(i));
  }
  Sandbox s;
  std::vector<Var> first, second;
};

Plan fused(const Sandbox& s) {
  Plan plan = s.plan;
  optimize(plan);
  return plan;
}
bool kept(const RowChains& c, Id v) { return c.local[static_cast<size_t>(v)].offset >= 0; }

TEST(TileChains, ChainLayersForwardAndBackward) {
  for (const Cell cell : {Cell::gru, Cell::gru_reset_before, Cell::lstm}) {
    const TwoLayers net(cell, 40, true);
    const Plan plan = fused(net.s);
    const RowChains c = tile_chains(plan, 4);
    ASSERT_EQ(c.chains.size(), 1u) << "what is given back is known before: forwards goes on backwards";
    EXPECT_EQ(c.chains[0].rows, 3);
    EXPECT_EQ(c.chains[0].nodes.size(), 8u);
    for (const auto& [op, node] : ops<RecurrentGrad>(plan))
      EXPECT_TRUE(kept(c, node.out[0])) << "slopes never leave the tile";
    for (const auto& [op, node] : ops<RecurrentWgrad>(plan))
      EXPECT_FALSE(kept(c, node.out[0])) << "shares are added up over all tiles";
    EXPECT_LT(lay_out(plan, 4).placement.phases.size(), place(plan, 4).phases.size());
  }
}

TEST(TileChains, OmitUnreadOutputs) {
  const TwoLayers net(Cell::gru, 40, false);
  const Plan plan = fused(net.s);
  const RowChains c = tile_chains(plan, 4);
  const auto layers = ops<Recurrent>(plan);
  ASSERT_EQ(layers.size(), 2u);
  for (const auto& [op, node] : layers) {
    EXPECT_TRUE(c.unread[static_cast<size_t>(node.out[2])]) << "nothing is differentiated";
    EXPECT_FALSE(kept(c, node.out[2]));
  }
  EXPECT_TRUE(kept(c, layers[0].second.out[0])) << "the next layer alone reads it";
  EXPECT_FALSE(kept(c, layers[1].second.out[0]));
}

TEST(TileChains, KeepTensorsBetweenLayersLaneMajor) {
  const TwoLayers net(Cell::gru, 40, true);
  const Plan plan = fused(net.s);
  const RowChains c = tile_chains(plan, 4);
  const auto in_lanes = [&](Id v) { return c.lanes[static_cast<size_t>(v)]; };
  const auto layers = ops<Recurrent>(plan);
  EXPECT_TRUE(in_lanes(layers[0].second.out[0]));
  EXPECT_FALSE(in_lanes(layers[1].second.out[0])) << "an output";
  int rows = 0, lanes = 0;
  for (const auto& [op, node] : ops<RecurrentInputGrad>(plan)) ++(in_lanes(node.out[0]) ? lanes : rows);
  EXPECT_EQ(lanes, 1) << "to the layer below";
  EXPECT_EQ(rows, 1) << "to x, an output";
}

TEST(TileChains, AreEmptyWithoutRecurrentOps) {
  Sandbox s;
  s.see(tanh(s.real("x", {300, 4})), "y");
  EXPECT_TRUE(tile_chains(fused(s), 4).chains.empty());
}

TEST(TileChains, KeepBits) {
  for (const Cell cell : {Cell::gru, Cell::gru_reset_before, Cell::lstm})
    // also with fewer units than a tile has lanes
    for (const auto& [sequences, sizes] :
         {std::pair<int64_t, Sizes>{1, {}}, {16, {}}, {21, {}}, {40, {}}, {40, {2, 3, 1}}, {40, {1, 1, 3}}}) {
      const TwoLayers net(cell, sequences, true, sizes);
      for (const KernelTable* table : {&cpu_kernels(), cpu_kernels("double")}) {
        const Values want = net.s.run({table, {"fuse"}});
        for (const int threads : {1, 2, 3})
          EXPECT_EQ(want, net.s.run({table, {}, threads}))
              << table->name << ", " << sequences << " sequences, " << threads << " threads";
      }
    }
}

// Full and ragged tiles, and every position in them.
TEST(TileChains, KeepSequenceBitsInRaggedTiles) {
  const Sizes sizes{3, 5, 4};
  constexpr int64_t kMax = 2 * kSequenceTile + 1;
  for (const Cell cell : {Cell::gru, Cell::gru_reset_before, Cell::lstm}) {
    const TwoLayers many(cell, kMax, true, sizes);
    for (const char* set : {"plain", "avx2", "avx512"}) {
      if (cpu_kernels(set) == nullptr) continue;
      const Values whole = many.s.run({cpu_kernels(set), {}});
      for (int64_t n = 1; n < kMax; ++n) {
        TwoLayers few(cell, n, true, sizes);
        for (auto& [name, v] : few.s.values) {  // the last n sequences, so that each comes by every place
          const std::vector<double>& all = many.s.values.at(name);
          v.assign(all.end() - static_cast<int64_t>(v.size()), all.end());
        }
        const Values part = few.s.run({cpu_kernels(set), {}});
        for (const char* name : {"y", "d0"})
          EXPECT_TRUE(std::equal(part.at(name).rbegin(), part.at(name).rend(), whole.at(name).rbegin()))
              << name << " of " << n << " sequences, " << set;
      }
    }
  }
}

// For a large batch, `saved` is written with non-temporal stores; for a small one it is not.
TEST(TileChains, KeepSequenceBitsForAnyBatch) {
  const Sizes sizes{3, 64, 24};
  for (const Cell cell : {Cell::gru, Cell::gru_reset_before, Cell::lstm}) {
    const TwoLayers many(cell, 48, true, sizes);
    TwoLayers few(cell, 16, true, sizes);
    for (auto& [name, v] : few.s.values) {
      const std::vector<double>& all = many.s.values.at(name);
      v.assign(all.begin(), all.begin() + static_cast<int64_t>(v.size()));
    }
    const Values whole = many.s.run({&cpu_kernels(), {}, 2}), part = few.s.run({&cpu_kernels(), {}, 2});
    for (const char* name : {"y", "d0"})
      EXPECT_TRUE(std::equal(part.at(name).begin(), part.at(name).end(), whole.at(name).begin())) << name;
    EXPECT_LE(difference(whole, many.s.run()), 1e-4) << "beside double";
  }
}

}  // namespace
}  // namespace tessera::sandbox
