// Each pass alone: it does what its head says (removed ops, saved work), and the plan computes the same.
#include <gtest/gtest.h>

#include <set>

#include "base/error.h"
#include "support/sandbox.h"
#include "support/thrown.h"

namespace tessera::sandbox {
namespace {

// The plan after one pass; its results must be those of the plan as recorded.
Plan after(const Sandbox& s, const std::string& pass) {
  Plan made = s.plan;
  only(pass, made);
  const Values want = s.run({cpu_kernels("double"), {"as recorded"}});
  EXPECT_LE(difference(want, s.run(made, {})), 1e-12) << pass << " in double";
  EXPECT_LE(difference(want, s.run(made, {&cpu_kernels()})), 1e-5) << pass << " in float";
  return made;
}

TEST(Passes, RejectUnknownNamesAndListKnownOnes) {
  Plan plan;
  test::expect_error(ErrorCode::usage, {"\"gathr\"", "gather", "dead", "stack", "all"},
                     [&] { optimize(plan, {"gathr"}); });
}

TEST(Passes, ReportDifferencesThatAddUp) {
  Sandbox s;
  const Var x = s.real("x", {4, 4});
  s.see(sum(matmul(x, x) + matmul(x, 0.0 * x)), "y");
  Plan plan = s.plan;
  const double before = flops(plan);
  const auto reports = optimize(plan);
  ASSERT_EQ(reports.size(), passes().size());
  EXPECT_EQ(reports.front().flops_before, before);
  EXPECT_EQ(reports.back().flops_after, flops(plan));
  EXPECT_EQ(reports.back().nodes_after, plan.nodes.size());
  for (size_t i = 1; i < reports.size(); ++i) {
    EXPECT_EQ(reports[i].flops_before, reports[i - 1].flops_after);
    EXPECT_EQ(reports[i].nodes_before, reports[i - 1].nodes_after);
    EXPECT_EQ(reports[i].pass, passes()[i].name);
  }
}

TEST(Dead, RemovesUnreadOpsAndKeepsStateUpdates) {
  Sandbox s;
  const Var x = s.real("x", {3, 3}), state = s.state("count", {1, 9});
  exp(tanh(x));  // dead
  s.r.advance(state, s.r.emit1(Average{0.5}, {state, reshape(1.0 * x, {1, 9})}));
  s.see(sigmoid(x), "y");
  const Plan made = after(s, "dead");
  EXPECT_EQ(s.plan.nodes.size(), 6u);
  EXPECT_EQ(made.nodes.size(), 4u);
  EXPECT_EQ(count<Average>(made), 1);
  for (const auto& [u, node] : ops<Unary>(made)) EXPECT_TRUE(u.fn != Unary::exp && u.fn != Unary::tanh);
}

TEST(Constants, PropagatesZeros) {
  Sandbox s;
  const Var x = s.real("x", {4, 6}), w = s.real("w", {6, 6}), zero = fill(s.r, {4, 6}, 0);
  s.see(matmul(zero, w) + x * zero + concat_rows({slice_rows(zero, 0, 2), slice_rows(zero, 2, 2)}) + tanh(zero) + x,
        "x");
  s.see(1.0 * (zero / (x + 3.0)), "zero");
  s.see(zero - x, "minus x");
  const Plan made = after(s, "constants");
  EXPECT_EQ(count<Matmul>(made), 0);
  EXPECT_EQ(count<Binary>(made), 0);
  EXPECT_EQ(flops(made), 4 * 6) << "−x, and nothing else";
}

TEST(Constants, MergesEqualOps) {
  Sandbox s;
  const Var x = s.real("x", {4, 4});
  s.see(tanh(x) * tanh(x), "y");
  EXPECT_EQ(count<Unary>(after(s, "constants")), 1);
}

TEST(Constants, FoldsScalesAndDropsOnes) {
  Sandbox s;
  const Var x = s.real("x", {4, 4});
  s.see(2.0 * ((3.0 * x + 1.0) + -5.0) * fill(s.r, {4, 4}, 1), "y");
  const Plan made = after(s, "constants");
  ASSERT_EQ(made.nodes.size(), 1u);
  const auto& op = std::get<Unary>(made.nodes[0].op);
  EXPECT_EQ(op.a, 6);
  EXPECT_EQ(op.b, -8);
}

TEST(Constants, FoldsSumsWithConstants) {
  Sandbox s;
  const Var x = s.real("x", {4, 6}), two = fill(s.r, {4, 6}, 2), row = fill(s.r, {1, 6}, 5);
  s.see((two - (x - two)) + row, "y");
  const Plan made = after(s, "constants");
  ASSERT_EQ(made.nodes.size(), 1u);
  const auto& op = std::get<Unary>(made.nodes[0].op);
  EXPECT_EQ(op.a, -1);
  EXPECT_EQ(op.b, 9);
}

TEST(Dead, RemovesDerivativeOfLeakySlope) {
  // The penalty's gradient needs the critic forward, its slope, and the slope's weight gradients: no product with a
  // derivative of the slope.
  Sandbox s;
  const Var x = s.real("x", {8, 5}), w = s.real("w", {5, 7}), v = s.real("v", {7, 1});
  const Var y = matmul(leaky_relu(matmul(x, w), 0.2), v), slope = pullback(s.r, {y}, {fill(s.r, {8, 1}, 1)}, {x})[0];
  const Var penalty = mean(square(sqrt(row_dot(slope, slope)) + -1.0));
  const auto g = pullback(s.r, {penalty}, {fill(s.r, {1, 1}, 1)}, {w, v});
  s.see(1.0 * g[0], "d w");
  s.see(1.0 * g[1], "d v");
  // x·w, then 1·vᵀ, slope·wᵀ, and for the weights: slope's two factors and v's one.
  EXPECT_LE(count<Matmul>(after(s, "dead")), 6);
}

// A critic's first layer on two batches and on their interpolation.
struct Between : Sandbox {
  Between() {
    const Var x = real("x", {50, 20}), y = real("y", {50, 20}), a = real("a", {50, 1}, 0, 1), w = real("w", {20, 30});
    see(matmul(x, w), "of x");
    see(matmul(y, w), "of y");
    see(matmul(lerp_rows(a, x, y), w), "of between");
  }
};

TEST(Interpolate, ReusesProductsOfTheEndpoints) {
  const Between s;
  const Plan made = after(s, "interpolate");
  EXPECT_EQ(count<Matmul>(s.plan), 3);
  EXPECT_EQ(count<Matmul>(made), 2);
  EXPECT_EQ(count<LerpRows>(made), 1);
  EXPECT_EQ(flops(s.plan), 3 * 2.0 * 50 * 20 * 30 + 3 * 50 * 20);
  EXPECT_EQ(flops(made), 2 * 2.0 * 50 * 20 * 30 + 3 * 50 * 30);
}

// A packed, sparse critic row beside dense columns: [rows/2, 2·(9) + 4], forward and the weight's gradient.
struct Packed : Sandbox {
  Packed() {
    const Var hot = sparse_dense(index("i", {20, 3}, -1, 8), real("v", {20, 3}), 9, 3),
              condition = sparse_dense(index("c", {20, 1}, -1, 3), Var{}, 4, 1);
    const Var row = concat_cols({reshape(hot, {10, 18}), reshape(condition, {10, 8}), real("dense", {10, 5})}),
              w = real("w", {31, 7});
    const Var y = tanh(matmul(row, w));
    see(y, "y");
    see(pullback(r, {sum(square(y))}, {fill(r, {1, 1}, 1)}, {w})[0], "d w");
  }
};

TEST(Gather, ReplacesOneHotProducts) {
  const Packed s;
  const Plan made = after(s, "gather");
  EXPECT_EQ(count<SparseDense>(s.plan), 2);
  EXPECT_EQ(count<SparseDense>(made), 0);
  EXPECT_EQ(count<SparseMatmul>(made), 2);
  EXPECT_EQ(count<SparseWgrad>(made), 2);
  EXPECT_EQ(count<Matmul>(made), 2) << "the dense part's, forward and backward";
  for (const auto& [m, node] : ops<Matmul>(made)) EXPECT_TRUE(made.shape(node.in[0]) == (Shape{10, 5}));
  EXPECT_LT(flops(made), flops(s.plan) / 2);
}

TEST(Trim, ComputesOnlyReadPartsOfGradients) {
  Sandbox s;
  const Var data = s.real("data", {12, 10}), noise = s.real("noise", {12, 30}), w = s.real("w", {40, 8});
  const Var y = tanh(matmul(concat_cols({data, noise}), w));
  s.see(pullback(s.r, {sum(y)}, {fill(s.r, {1, 1}, 1)}, {data})[0], "d data");
  const Plan made = after(s, "trim");
  auto backward = [](const Plan& plan) {
    double sum = 0;
    for (const auto& [m, node] : ops<Matmul>(plan)) sum += m.trans_b ? cost(node.op, plan, node.in, node.out).flops : 0;
    return sum;
  };
  EXPECT_EQ(backward(s.plan), 2.0 * 12 * 8 * 40);
  EXPECT_EQ(backward(made), 2.0 * 12 * 8 * 10) << "a quarter";
}

// Two layers whose inputs end in noise; the second layer's input includes the first one's, as in CTGAN's generator.
TEST(Trim, KeepsProductsWholeForNoiseColumns) {
  Sandbox s;
  const Var noise = s.real("noise", {12, 30}), w = s.real("w", {30, 8}), v = s.real("v", {38, 6}),
            u = s.real("u", {44, 4});
  const Var one = concat_cols({tanh(matmul(noise, w)), noise}), two = concat_cols({tanh(matmul(one, v)), one});
  const Var loss = sum(tanh(matmul(two, u)));
  s.see(pullback(s.r, {loss}, {fill(s.r, {1, 1}, 1)}, {w})[0], "d w");
  double backward = 0;
  const Plan made = after(s, "trim");
  for (const auto& [m, node] : ops<Matmul>(made))
    backward += m.trans_b ? cost(node.op, made, node.in, node.out).flops : 0;
  EXPECT_EQ(backward, 2.0 * 12 * (4 * 6 + 4 * 8 + 6 * 8)) << "by the first layer's 8 columns and the second's 6";
}

TEST(Trim, KeepsFullyReadProductsWhole) {
  Sandbox s;
  const Var y = matmul(s.real("x", {6, 5}), s.real("w", {5, 8}));
  s.see(slice_cols(y, 2, 3) + fill(s.r, {6, 3}, 1), "part");
  s.see(exp(y), "whole");
  const Plan made = after(s, "trim");
  EXPECT_EQ(count<Matmul>(made), 1);
  EXPECT_EQ(flops(made), flops(s.plan));
}

TEST(Accumulate, MergesProductsAndBias) {
  Sandbox s;
  const Var b = s.real("b", {1, 5});
  s.see(matmul(s.real("x", {7, 3}), s.real("w", {3, 5})) + matmul(s.real("y", {7, 4}), s.real("v", {4, 5})) + b, "y");
  const Plan made = after(s, "accumulate");
  ASSERT_EQ(made.nodes.size(), 1u);
  const auto& m = std::get<Matmul>(made.nodes[0].op);
  EXPECT_EQ(m.pairs, 2);
  EXPECT_TRUE(m.addend);
}

TEST(Accumulate, KeepsProductsReadElsewhere) {
  Sandbox s;
  const Var p = matmul(s.real("x", {7, 3}), s.real("w", {3, 5}));
  s.see(p, "product");
  s.see(p + s.real("b", {1, 5}), "sum");
  const Plan made = after(s, "accumulate");
  EXPECT_EQ(count<Matmul>(made), 1);
  EXPECT_EQ(count<Binary>(made), 1);
}

TEST(Accumulate, MergesTermsOfWeightGradients) {
  Sandbox s;
  const Var w = s.real("w", {5, 6}), b = s.real("b", {1, 6});
  Var loss;
  for (const char* batch : {"real", "fake", "penalty"}) {
    const Var l = sum(square(matmul(s.real(batch, {9, 5}), w) + b));
    loss = loss ? loss + l : l;
  }
  s.see(pullback(s.r, {loss}, {fill(s.r, {1, 1}, 1)}, {w})[0], "d w");
  const Plan made = after(s, "accumulate");
  int transposed = 0;
  for (const auto& [m, node] : ops<Matmul>(made)) {
    if (!m.trans_a) continue;
    ++transposed;
    EXPECT_EQ(m.pairs, 3);
  }
  EXPECT_EQ(transposed, 1);
}

TEST(NormRelu, FusesReluForwardAndBackward) {
  Sandbox s;
  const Var x = s.real("x", {16, 5}), gamma = s.real("gamma", {1, 5}, 0.5, 1.5), beta = s.real("beta", {1, 5});
  const Var y = relu(batch_norm(x, gamma, beta, 1e-5).y);
  s.see(1.0 * y, "y");
  const auto g = pullback(s.r, {sum(y * s.real("d", {16, 5}))}, {fill(s.r, {1, 1}, 1)}, {x, gamma, beta});
  for (size_t i = 0; i < 3; ++i) s.see(1.0 * g[i], "d " + std::to_string(i));
  const Plan made = after(s, "norm_relu");
  ASSERT_EQ(count<BatchNorm>(made), 1);
  ASSERT_EQ(count<BatchNormGrad>(made), 1);
  EXPECT_TRUE(ops<BatchNorm>(made)[0].first.relu);
  EXPECT_TRUE(ops<BatchNormGrad>(made)[0].first.relu);
  for (const auto& [u, node] : ops<Unary>(made)) EXPECT_EQ(u.fn, Unary::affine) << "no ReLU, no mask of its own";
}

TEST(NormRelu, KeepsNormsReadWithoutRelu) {
  Sandbox s;
  const Var y = batch_norm(s.real("x", {16, 5}), s.real("gamma", {1, 5}), s.real("beta", {1, 5}), 1e-5).y;
  s.see(relu(y) + tanh(y), "y");
  const Plan made = after(s, "norm_relu");
  ASSERT_EQ(count<BatchNorm>(made), 1);
  EXPECT_FALSE(ops<BatchNorm>(made)[0].first.relu);
}

TEST(Stack, MergesSmallProductsWithOneWeight) {
  Sandbox s;
  const Var w = s.real("w", {20, 30}), b = s.real("b", {1, 30}), v = s.real("v", {30, 1});
  for (const char* batch : {"real", "fake", "between"})
    s.see(matmul(leaky_relu(matmul(s.real(batch, {50, 20}), w) + b, 0.2), v), std::string("of ") + batch);
  const Plan made = after(s, "stack");
  EXPECT_EQ(count<Matmul>(s.plan), 6);
  EXPECT_EQ(count<Matmul>(made), 2);
  EXPECT_EQ(count<Unary>(made), 1) << "elementwise ops follow the stack";
  EXPECT_EQ(count<Binary>(made), 1);
  for (const auto& [m, node] : ops<Matmul>(made)) EXPECT_EQ(made.shape(node.out[0]).rows, 150);
  EXPECT_EQ(flops(made), flops(s.plan)) << "the same work, in larger pieces";
}

TEST(Stack, KeepsDependentProductsSeparate) {
  Sandbox s;
  const Var w = s.real("w", {6, 6}), x = s.real("x", {50, 6});
  s.see(matmul(tanh(matmul(x, w)), w), "y");
  EXPECT_EQ(count<Matmul>(after(s, "stack")), 2);
}

TEST(Stack, KeepsLargeProductsSeparate) {
  Sandbox s;
  const Var w = s.real("w", {6, 6});
  s.see(matmul(s.real("x", {500, 6}), w), "x·w");
  s.see(matmul(s.real("y", {500, 6}), w), "y·w");
  EXPECT_EQ(count<Matmul>(after(s, "stack")), 2);
}

TEST(Scale, MovesRowFactorsAfterProducts) {
  Sandbox s;
  const Var x = s.real("x", {8, 40}), w = s.real("w", {40, 6}), factor = s.real("factor", {8, 1}),
            y = s.real("y", {8, 5});
  const Var scaled = 3.0 * (x * factor);
  s.see(matmul(scaled, w), "forward");
  s.see(matmul(scaled, y, true), "weight's gradient");
  const Plan made = after(s, "scale");
  for (const auto& [m, node] : ops<Matmul>(made))
    EXPECT_TRUE(made.shape(node.in[0]) == (Shape{8, 40}) && made.maker(node.in[0]) == nullptr) << "of x itself";
  EXPECT_LT(flops(made), flops(s.plan));
}

TEST(Scale, KeepsFactorsOnNarrowerRows) {
  Sandbox s;
  const Var scaled = s.real("x", {8, 4}) * s.real("factor", {8, 1});
  s.see(matmul(scaled, s.real("w", {4, 6})), "y");
  s.see(matmul(scaled, s.real("v", {8, 4}), true), "as wide");
  EXPECT_EQ(flops(after(s, "scale")), flops(s.plan));
}

TEST(Constants, ReplacesDoublingByScale) {
  Sandbox s;
  const Var x = s.real("x", {4, 4});
  s.see(tanh(x) + tanh(x), "y");
  const Plan made = after(s, "constants");
  EXPECT_EQ(count<Binary>(made), 0);
  EXPECT_EQ(count<Unary>(made), 2);
}

TEST(Accumulate, OrdersSparseGradientsBeforeDense) {
  Sandbox s;
  const Var d = s.real("d", {10, 7}), x = s.real("x", {10, 12}), first = s.index("i", {10, 1}, -1, 11),
            second = s.index("j", {10, 1}, -1, 11);
  const auto sparse = [&](Var index) { return s.r.emit1(SparseWgrad{12, 1, false}, {index, Var{}, d}); };
  s.see((sparse(first) + matmul(x, d, true)) + sparse(second), "after");
  s.see(sparse(second) + (sparse(first) + matmul(x, 2.0 * d, true)), "before");
  const Plan made = after(s, "accumulate");
  EXPECT_EQ(count<Binary>(made), 0);
  for (const auto& [m, node] : ops<SparseWgrad>(made))
    EXPECT_TRUE(!m.addend || made.made_by<SparseWgrad>(node.in[3]) != nullptr);
}

TEST(Pack, SumsPackedRowsByPosition) {
  Sandbox s;
  const Var packed = reshape(tanh(s.real("x", {40, 100})), {10, 400});
  s.see(matmul(packed, s.real("w", {400, 3})), "packed");
  s.see(matmul(s.real("y", {10, 400}), s.real("v", {400, 3})), "rows as they are");
  s.see(matmul(reshape(tanh(s.real("z", {40, 3})), {10, 12}), s.real("u", {12, 3})), "too short to be cut");
  const Plan made = after(s, "pack");
  std::multiset<int64_t> cuts;
  for (const auto& [m, node] : ops<Matmul>(made)) cuts.insert(m.cut);
  EXPECT_EQ(cuts, (std::multiset<int64_t>{0, 0, 100}));
}

}  // namespace
}  // namespace tessera::sandbox
