// Which values are stored in 16 bits for a weight's gradient, and what that changes.
#include <gtest/gtest.h>

#include "engine/run/footprint.h"
#include "support/sandbox.h"

namespace tessera {
namespace {

using sandbox::Sandbox;
using sandbox::Setting;
using sandbox::Values;

// Three layers without biases: gradients read only factors, or their signs.
class Layers : public Sandbox {
 public:
  static constexpr int64_t kRows = 512, kWidth = 64;
  explicit Layers(Precision precision, bool biases = false) {
    plan.precision = precision;
    set_.name = "net";
    const Weight w[] = {set_.add("w.0", {8, kWidth}), set_.add("w.1", {kWidth, kWidth}), set_.add("w.2", {kWidth, 4})};
    const Weight bias = set_.add("bias", {1, kWidth});
    own(set_);
    Var h = matmul(real("x", {kRows, 8}), r(w[0]));
    if (biases) h = h + r(bias);
    h = relu(matmul(relu(h), r(w[1])));
    const Var loss = mean(square(matmul(h, r(w[2])) - real("y", {kRows, 4})));
    r.minimize(loss, set_, {Adam::torch, 0.01, 0.9, 0.99, 1e-8, 0, 1, 0, 0, 0});
    see(loss, "loss");
  }
  Plan arranged(const std::set<std::string>& off = {}) const {
    Plan made = plan;
    optimize(made, off);
    arrange(made, Device::processor(), *cpu_kernels("plain"), true);
    return made;
  }
  int64_t activations(const std::set<std::string>& off = {}) const {
    Plan made = plan;
    optimize(made, off);
    return footprint(made, Device::processor(), 1).activations;
  }

 private:
  ParameterSet set_;
};

int narrowed(const Plan& plan) {
  int count = 0;
  for (const Node& x : plan.nodes) count += std::holds_alternative<Narrow>(x.op);
  return count;
}

TEST(Narrowing, StoresFactorsOfWeightGradientsIn16Bits) {
  for (const Precision precision : {Precision::bf16, Precision::fp16}) {
    const Plan plan = Layers(precision).arranged();
    EXPECT_EQ(narrowed(plan), 5) << "two activations and the gradients of three layers";
    for (const Node& x : plan.nodes) {
      const auto* product = std::get_if<Matmul>(&x.op);
      if (product == nullptr || !product->trans_a) continue;
      const bool first = plan.maker(x.in[0]) == nullptr;  // bound rows stay as they are
      EXPECT_EQ(stored_as(plan[x.in[0]].dtype), first ? Precision::fp32 : precision);
      EXPECT_EQ(stored_as(plan[x.in[1]].dtype), precision);
    }
  }
  EXPECT_EQ(narrowed(Layers(Precision::fp32).arranged()), 0);
  EXPECT_EQ(narrowed(Layers(Precision::tf32).arranged()), 0);
  EXPECT_EQ(narrowed(Layers(Precision::bf16).arranged({"narrow"})), 0);
  EXPECT_EQ(narrowed(Layers(Precision::bf16).arranged({"precision"})), 0) << "exact factors";
}

TEST(Narrowing, NearlyHalvesMemory) {
  const int64_t all = Layers(Precision::bf16).activations({"narrow"}), narrow = Layers(Precision::bf16).activations();
  EXPECT_EQ(all, Layers(Precision::fp32).activations());
  EXPECT_LT(10 * narrow, 6 * all);
}

TEST(Narrowing, KeepsBitsOfProductsAndGates) {
  for (const Precision precision : {Precision::bf16, Precision::fp16})
    for (const char* kernels : {"plain", "avx2", "avx512", "avx512_bf16", "amx_bf16", "double"}) {
      if (cpu_kernels(kernels) == nullptr) continue;
      for (const bool fuse : {true, false}) {  // in chains, and op by op
        const Layers net(precision);
        std::set<std::string> off, narrow_too{"narrow"};
        if (!fuse) off.insert("fuse"), narrow_too.insert("fuse");
        const Values kept = net.run({cpu_kernels(kernels), narrow_too, 2, 3}),
                     narrow = net.run({cpu_kernels(kernels), off, 2, 3});
        EXPECT_EQ(kept.at("state net"), narrow.at("state net")) << kernels;
        EXPECT_EQ(kept.at("loss"), narrow.at("loss")) << kernels;
      }
    }
}

// Row sums read the narrow values: the gradient of a bias differs by the rounding of its summands only.
TEST(Narrowing, RowSumsReadNarrowValues) {
  const Layers net(Precision::bf16, true);
  const auto moments = [&](const std::set<std::string>& off) {
    return net.run({cpu_kernels("double"), off}).at("state net.m");
  };
  const std::vector<double> kept = moments({"narrow"}), narrow = moments({});
  double differ = 0, size = 0;
  for (size_t i = 0; i < kept.size(); ++i) {
    differ = std::max(differ, std::fabs(kept[i] - narrow[i]));
    size = std::max(size, std::fabs(kept[i]));
  }
  EXPECT_GT(differ, 0);
  EXPECT_LT(differ, size / 256);
}

// Values saved for derivatives besides factors: a recurrent layer's gates and states, a batch norm's input, a sigmoid's
// value.
class Kept : public Sandbox {
 public:
  explicit Kept(Precision precision) {
    constexpr int64_t kRows = 256, kSteps = 10, kIn = 4, kHidden = 16;
    plan.precision = precision;
    set_.name = "net";
    const auto weight = [&](const char* name, Shape s) { return set_.add(name, s); };
    const Weight w_x = weight("w_x", {kIn, 3 * kHidden}), w_h = weight("w_h", {kHidden, 3 * kHidden}),
                 b_x = weight("b_x", {1, 3 * kHidden}), b_h = weight("b_h", {1, 3 * kHidden}),
                 w = weight("w", {kHidden, 24}), gamma = weight("gamma", {1, 24}), beta = weight("beta", {1, 24}),
                 v = weight("v", {24, 8}), out = weight("out", {8, 1});
    own(set_);
    const auto layer = r.emit(Recurrent{Cell::gru, kSteps, 0},
                              {real("x", {kRows, kSteps * kIn}), Var{}, Var{}, Var{}, r(w_x), r(w_h), r(b_x), r(b_h)});
    const Var h = batch_norm(matmul(layer[1], r(w)), r(gamma), r(beta), 1e-5).y;
    const Var loss = mean(square(matmul(sigmoid(matmul(relu(h), r(v))), r(out)) - real("y", {kRows, 1})));
    r.minimize(loss, set_, {Adam::torch, 0.01, 0.9, 0.99, 1e-8, 0, 1, 0, 0, 0});
    see(loss, "loss");
  }
  Plan arranged() const {
    Plan made = plan;
    optimize(made);
    arrange(made, Device::processor(), *cpu_kernels("plain"), true);
    return made;
  }

 private:
  ParameterSet set_;
};

TEST(Narrowing, StoresSavedActivationsIn16Bits) {
  for (const Precision precision : {Precision::fp32, Precision::bf16, Precision::fp16}) {
    const Plan plan = Kept(precision).arranged();
    int forwards = 0, backwards = 0;
    for (const Node& x : plan.nodes) {
      const auto* binary = std::get_if<Binary>(&x.op);
      const bool slope = binary != nullptr && binary->fn == Binary::sigmoid_slope;
      Id kept = kNone;
      if (std::holds_alternative<BatchNormGrad>(x.op)) kept = x.in[0];
      if (slope || std::holds_alternative<RecurrentGrad>(x.op)) kept = x.in[1];
      if (std::holds_alternative<RecurrentWgrad>(x.op)) kept = x.in[2];
      if (kept != kNone) {
        ++backwards;
        EXPECT_EQ(stored_as(plan[kept].dtype), precision) << op_name(x.op);
      }
      if (!std::holds_alternative<BatchNorm>(x.op)) continue;
      ++forwards;
      EXPECT_EQ(plan[x.in[0]].dtype, DType::real);
    }
    EXPECT_EQ(forwards, 1);
    EXPECT_EQ(backwards, 4);
  }
}

TEST(Narrowing, RoundsGradientsAndKeepsLossExact) {
  for (const Precision precision : {Precision::bf16, Precision::fp16}) {
    const Kept net(precision);
    const Values wide = net.run({cpu_kernels("double"), {"narrow"}}), narrow = net.run({cpu_kernels("double"), {}});
    EXPECT_EQ(wide.at("loss"), narrow.at("loss"));
    const std::vector<double>&want = wide.at("state net.m"), &got = narrow.at("state net.m");
    double differ = 0, size = 0;
    for (size_t i = 0; i < want.size(); ++i) {
      differ = std::max(differ, std::fabs(want[i] - got[i]));
      size = std::max(size, std::fabs(want[i]));
    }
    EXPECT_GT(differ, 0);
    EXPECT_LT(differ, size / (precision == Precision::bf16 ? 64 : 512));
  }
}

// Weight gradients read all rows late, so a gradient that a residual sum reads too is stored narrow for them.
TEST(Narrowing, StoresGradientsOfResidualSums) {
  Sandbox s;
  ParameterSet set;
  set.name = "net";
  const Weight in = set.add("in", {8, 64}), a = set.add("a", {64, 64}), b = set.add("b", {64, 64});
  s.own(set);
  const Var h = matmul(s.real("x", {512, 8}), s.r(in)), y = h + matmul(relu(matmul(h, s.r(a))), s.r(b));
  s.r.minimize(mean(square(y)), set, {});
  s.plan.precision = Precision::bf16;
  Plan plan = s.plan;
  optimize(plan);
  arrange(plan, Device::processor(), *cpu_kernels("plain"), true);
  int gradients = 0;
  for (const Node& x : plan.nodes) {
    const auto* product = std::get_if<Matmul>(&x.op);
    if (product == nullptr || !product->trans_a) continue;
    ++gradients;
    EXPECT_EQ(plan[x.in[1]].dtype, DType::bf16);
  }
  EXPECT_EQ(gradients, 3);
}

// A sparse layer scatters the factor of a product with one-hot rows; on a penalty's path it stays exact.
TEST(Narrowing, StoresGradientsThatSparseLayersScatter) {
  for (const bool penalty : {false, true}) {
    Sandbox s;
    ParameterSet set;
    set.name = "critic";
    const Weight w = set.add("w", {9, 64}), v = set.add("v", {64, 8}), u = set.add("u", {8, 1});
    s.own(set);
    const Var hot = sparse_dense(s.index("i", {512, 3}, 0, 8), Var{}, 9, 3);
    const Var y = matmul(tanh(matmul(tanh(matmul(hot, s.r(w))), s.r(v))), s.r(u));
    const Var slope = pullback(s.r, {y}, {fill(s.r, y.shape(), 1)}, {hot})[0];
    s.r.minimize(penalty ? mean(square(sqrt(row_dot(slope, slope)) + -1.0)) : mean(square(y)), set, {});
    s.plan.precision = Precision::bf16;
    Plan plan = s.plan;
    optimize(plan);
    narrow_values(plan);
    int scatters = 0;
    for (const Node& n : plan.nodes) {
      if (!std::holds_alternative<SparseWgrad>(n.op)) continue;
      ++scatters;
      EXPECT_EQ(plan[n.in[2]].dtype, penalty ? DType::real : DType::bf16);
    }
    EXPECT_EQ(scatters, 1);
  }
}

// A gradient that exact products of the penalty's path read again stays available in fp32.
TEST(Narrowing, KeepsSecondOrderPathExact) {
  Sandbox s;
  ParameterSet set;
  set.name = "critic";
  const Weight w = set.add("w", {5, 6}), v = set.add("v", {6, 1});
  s.own(set);
  const Var x = s.real("x", {512, 5}), y = matmul(relu(matmul(x, s.r(w))), s.r(v));
  const Var slope = pullback(s.r, {y}, {fill(s.r, y.shape(), 1)}, {x})[0], norm = sqrt(row_dot(slope, slope));
  s.r.minimize(mean(y) + mean(square(norm + -1.0)), set, {});
  s.plan.precision = Precision::bf16;
  Plan plan = s.plan;
  optimize(plan);
  narrow_values(plan);
  int exact = 0;
  for (const Node& n : plan.nodes) {
    const auto* product = std::get_if<Matmul>(&n.op);
    if (product == nullptr || product->factors != Precision::fp32) continue;
    ++exact;
    for (const Id in : n.in) EXPECT_EQ(plan[in].dtype, DType::real);
  }
  EXPECT_GT(exact, 0);
}

}  // namespace
}  // namespace tessera
