// Recomputation: bits stay the same, memory falls, and state updates are never repeated.
#include "engine/passes/recompute.h"

#include <gtest/gtest.h>

#include "engine/run/footprint.h"
#include "engine/schedule/placement.h"
#include "support/placement_check.h"
#include "support/random_plan.h"

namespace tessera::sandbox {
namespace {

int64_t bytes_of(const Plan& plan) { return footprint(plan, Device::processor(), 2).total(); }

Plan optimized(const Sandbox& s) {
  Plan plan = s.plan;
  optimize(plan);
  return plan;
}
RecomputeReport repeat(Plan& plan, Recompute mode = Recompute::all, int64_t most = 0) {
  return recompute(plan, mode, most, bytes_of);
}

// The plan gives the same bits with and without recomputed values.
void expect_same(const Sandbox& s, const Plan& kept, const Plan& repeated, const std::string& what) {
  EXPECT_EQ(misplaced(repeated), "") << what;
  for (const int threads : {1, 3}) {
    const Setting setting{&cpu_kernels(), {}, threads, 3};
    EXPECT_EQ(s.run(kept, setting), s.run(repeated, setting)) << what << ", " << threads << " threads";
  }
}

// A deep network with noise, batch norm and running statistics, and an update.
struct Deep : Sandbox {
  explicit Deep(int layers, bool penalty = false) {
    constexpr int64_t kRows = 64, kWidth = 48;
    ParameterSet net{"net", {}, 0};
    for (int l = 0; l < layers; ++l) net.add("w" + std::to_string(l), {kWidth, kWidth});
    net.add("gamma", {1, kWidth});
    net.add("beta", {1, kWidth});
    own(net);
    const Var x = real("x", {kRows, kWidth});
    Var y = x;
    for (int l = 0; l < layers; ++l) {
      const Normalized n =
          batch_norm(matmul(y, r(net, "w" + std::to_string(l))), r(net, "gamma"), r(net, "beta"), 1e-5);
      const std::string layer = std::to_string(l);
      const Var mean = state("mean" + layer, {1, kWidth}), var = state("var" + layer, {1, kWidth}, 0.5, 1);
      const auto next = r.emit(RunningStats{0.1, kRows}, {mean, var, n.mean, n.var});
      r.advance(mean, next[0]);
      r.advance(var, next[1]);
      const Var kept = r.bernoulli("keep" + layer, {kRows, kWidth}, 0.8);
      y = y + tanh(n.y) * kept;
    }
    Var loss = tessera::mean(square(y));
    if (penalty) {
      const Var slope = pullback(r, {sum(y)}, {fill(r, {1, 1}, 1)}, {x})[0];
      loss = loss + tessera::mean(square(sqrt(row_dot(slope, slope)) + -1.0));
    }
    see(1.0 * loss, "loss");
    r.minimize(loss, net, {Adam::torch, 0.01, 0.5, 0.9, 1.0, 0, 1, 0, 0, 0});
  }
};

TEST(Recompute, LowersMemoryAndKeepsBits) {
  for (const bool penalty : {false, true}) {
    const Deep s(6, penalty);
    const Plan kept = optimized(s);
    Plan repeated = kept;
    const RecomputeReport r = repeat(repeated);
    ASSERT_FALSE(r.values.empty());
    EXPECT_LT(r.bytes_after, r.bytes_before);
    EXPECT_EQ(r.bytes_before, bytes_of(kept));
    EXPECT_EQ(r.bytes_after, bytes_of(repeated));
    EXPECT_EQ(r.flops_after, flops(repeated));
    double added = 0;
    for (const Recomputed& v : r.values) added += v.flops;
    EXPECT_NEAR(r.flops_after - r.flops_before, added, 1e-6 * r.flops_after);
    expect_same(s, kept, repeated, penalty ? "with a penalty" : "plain");
  }
}

TEST(Recompute, NeverRepeatsStateUpdates) {
  const Deep s(6);
  const Plan kept = optimized(s);
  Plan repeated = kept;
  repeat(repeated);
  EXPECT_EQ(count<RunningStats>(kept), count<RunningStats>(repeated));
  EXPECT_EQ(count<Adam>(kept), count<Adam>(repeated));
}

TEST(Recompute, KeepsPlanWhenOffOrWithinLimit) {
  const Deep s(4);
  const Plan kept = optimized(s);
  for (const auto& [mode, most] :
       {std::pair{Recompute::off, int64_t{0}}, std::pair{Recompute::automatic, bytes_of(kept)}}) {
    Plan plan = kept;
    EXPECT_TRUE(repeat(plan, mode, most).values.empty());
    EXPECT_EQ(plan.nodes.size(), kept.nodes.size());
  }
}

TEST(Recompute, AutomaticStopsAtLimit) {
  const Deep s(6);
  const Plan kept = optimized(s);
  Plan all = kept, some = kept;
  const RecomputeReport most = repeat(all);
  const int64_t limit = (most.bytes_before + most.bytes_after) / 2;
  const RecomputeReport r = repeat(some, Recompute::automatic, limit);
  EXPECT_LE(r.bytes_after, limit);
  EXPECT_LE(r.flops_after, most.flops_after);
  EXPECT_LT(r.values.size(), most.values.size());
  expect_same(s, kept, some, "under a limit");
}

TEST(Recompute, KeepsBitsOfRandomPlans) {
  for (uint64_t seed = 0; seed < 6; ++seed) {
    const RandomPlan s(seed);
    const Plan kept = optimized(s);
    Plan repeated = kept;
    const RecomputeReport r = repeat(repeated);
    EXPECT_LE(r.bytes_after, r.bytes_before);
    expect_same(s, kept, repeated, "plan " + std::to_string(seed));
  }
}

// ---- recurrent layers ---------------------------------------------------------------------------
struct Layers : Sandbox {
  Layers(Cell cell, int64_t sequences, int64_t steps, int depth, bool ragged) {
    constexpr int64_t kIn = 3, kHidden = 7;
    const int64_t gates = gates_of(cell) * kHidden;
    const Var x = real("x", {sequences, steps * kIn});
    const Var length = ragged ? real("length", {sequences, 1}, 0, static_cast<double>(steps) + 0.5) : Var{};
    std::vector<Var> wrt{x};
    Var y = x, h;
    for (int l = 0; l < depth; ++l) {
      const std::string n = std::to_string(l);
      const Var w_x = real("w_x" + n, {l == 0 ? kIn : kHidden, gates}, -0.4, 0.4),
                w_h = real("w_h" + n, {kHidden, gates}, -0.4, 0.4), b_x = real("b_x" + n, {1, gates}),
                b_h = cell == Cell::gru_reset_before ? Var{} : real("b_h" + n, {1, gates}),
                h0 = real("h" + n, {sequences, kHidden}),
                c0 = cell == Cell::lstm ? real("c" + n, {sequences, kHidden}) : Var{};
      const auto out = r.emit(Recurrent{cell, steps, 0.5}, {y, length, h0, c0, w_x, w_h, b_x, b_h});
      y = out[0], h = out[1];
      for (const Var v : {w_x, w_h, b_x, b_h, h0, c0})
        if (v) wrt.push_back(v);
    }
    const Var loss = mean(square(y)) + mean(h);
    const auto d = pullback(r, {loss}, {fill(r, {1, 1}, 1)}, wrt);
    see(1.0 * y, "y");
    for (size_t i = 0; i < d.size(); ++i) see(1.0 * d[i], "d" + std::to_string(i));
  }
};

TEST(Recompute, KeepsBitsOfSegmentedRecurrentLayers) {
  for (const Cell cell : {Cell::gru, Cell::gru_reset_before, Cell::lstm})
    for (const bool ragged : {false, true}) {
      const Layers s(cell, 19, 70, 2, ragged);
      const Plan kept = optimized(s);
      Plan repeated = kept;
      const RecomputeReport r = repeat(repeated);
      EXPECT_GE(r.values.size(), 2u) << "both layers";
      EXPECT_LT(r.bytes_after, r.bytes_before);
      EXPECT_GT(count<Recurrent>(repeated), 2 * count<Recurrent>(kept));
      expect_same(s, kept, repeated, ragged ? "70 steps at most" : "70 steps");
    }
}

TEST(Recompute, KeepsShortLayersWhole) {
  const Layers s(Cell::gru, 16, 32, 1, false);
  Plan plan = optimized(s);
  const int before = count<Recurrent>(plan);
  repeat(plan);
  EXPECT_LE(count<Recurrent>(plan), before + 1);
}

// The live memory of a segmented layer grows with its output only.
TEST(Recompute, QuartersMemoryOfLongSequences) {
  const Layers s(Cell::gru, 32, 640, 3, false);
  Plan plan = optimized(s);
  const int64_t before = place(plan, 4).activation_bytes;
  repeat(plan);
  EXPECT_LE(4 * lay_out(plan, 4).placement.activation_bytes, before);
}

}  // namespace
}  // namespace tessera::sandbox
