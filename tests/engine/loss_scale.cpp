// The loss scale of fp16: gradients that overflow, and when the scale is raised.
#include "engine/plan/loss_scale.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support/sandbox.h"

namespace tessera {
namespace {

using sandbox::Sandbox;
using sandbox::Setting;
using sandbox::Values;

// Least squares of y on x: a loss whose gradient by the products' result is about 2·|y|/rows.
class Fitting : public Sandbox {
 public:
  static constexpr int64_t kRows = 16;
  explicit Fitting(double size, Precision precision = Precision::fp16, double above = -1) {
    plan.precision = precision;
    set_.name = "net";
    const Weight w = set_.add("w", {3, 1});
    own(set_, 0, 0);
    const Var x = real("x", {kRows, 3}), y = real("y", {kRows, 1}, size / 2, size);
    const Var loss = mean(square(matmul(x, r(w)) - y));
    const AdamOptions adam{Adam::torch, 0.05 * size, 0.9, 0.99, 1e-8, 0, 1, 0, 0, 0};
    above < 0 ? r.minimize(loss, set_, adam) : r.minimize(loss, {&set_}, adam, {loss, above});
    see(loss, "loss");
  }
  Values after(int64_t steps, const char* kernels = "plain", const std::set<std::string>& off = {}) const {
    Setting s{cpu_kernels(kernels), off, 1, steps};
    return run(s);
  }

 private:
  ParameterSet set_;
};

double scale_of(const Values& v) { return LossScale::kFirst * (v.at("state net.scale")[0] + 1); }
bool finite(const std::vector<double>& values) {
  return std::all_of(values.begin(), values.end(), [](double x) { return std::isfinite(x); });
}

TEST(LossScale, SkipsUpdateAndHalvesScaleOnOverflow) {
  const Fitting f(100);  // 2·100/16·65536 is beyond fp16
  for (const char* kernels : {"plain", "double"}) {
    const Values first = f.after(1, kernels);
    EXPECT_EQ(first.at("state net"), std::vector<double>(3, 0.0)) << "no update";
    EXPECT_EQ(first.at("state net.m"), std::vector<double>(3, 0.0));
    EXPECT_EQ(scale_of(first), 32768);
    EXPECT_EQ(first.at("state net.skipped")[0], 1);
    EXPECT_EQ(first.at("state net.done")[0], 0);
    const Values later = f.after(40, kernels);
    const double skipped = later.at("state net.skipped")[0];
    EXPECT_GE(skipped, 3);
    EXPECT_LE(skipped, 6);
    EXPECT_EQ(later.at("state net.done")[0], 40 - skipped);
    EXPECT_LE(later.at("state net.good")[0], 40 - skipped) << "since the last that overflowed";
    EXPECT_EQ(scale_of(later), std::ldexp(65536, -static_cast<int>(skipped)));
  }
}

TEST(LossScale, ReachesTheSameLoss) {
  const Values exact = Fitting(100, Precision::fp32).after(400), half = Fitting(100).after(400);
  EXPECT_GT(half.at("state net.skipped")[0], 0);
  EXPECT_NEAR(half.at("loss")[0], exact.at("loss")[0], 1e-3 * exact.at("loss")[0]);
  for (size_t i = 0; i < 3; ++i) EXPECT_NEAR(half.at("state net")[i], exact.at("state net")[i], 0.2);
}

// Scaling by powers of two changes no bit where nothing is rounded to fp16.
TEST(LossScale, KeepsBitsOfExactProducts) {
  const Values plain = Fitting(1, Precision::fp32).after(20), scaled = Fitting(1).after(20, "plain", {"precision"});
  EXPECT_EQ(scaled.at("state net.skipped")[0], 0);
  EXPECT_EQ(scaled.at("state net"), plain.at("state net"));
  EXPECT_EQ(scaled.at("loss"), plain.at("loss"));
}

TEST(LossScale, KeepsSmallGradients) {
  // without a scale the gradients of the products' result, 2·10⁻⁷/16, are 0 in fp16
  const Values half = Fitting(1e-7).after(5);
  for (const double w : half.at("state net")) EXPECT_NE(w, 0);
}

TEST(LossScale, DoublesAfterManyGoodSteps) {
  const Fitting f(1);
  const auto steps = static_cast<int64_t>(LossScale::kRaisedAfter);
  const Values before = f.after(steps - 1), then = f.after(steps);
  EXPECT_EQ(scale_of(before), LossScale::kFirst);
  EXPECT_EQ(before.at("state net.good")[0], LossScale::kRaisedAfter - 1);
  EXPECT_EQ(scale_of(then), 2 * LossScale::kFirst);
  EXPECT_EQ(then.at("state net.good")[0], 0);
}

// Gradients beyond fp16 at any scale: training must not stall silently.
TEST(LossScale, UpdatesAtMinimumScaleToRevealNonFiniteValues) {
  const Fitting f(1e12);
  const Values waiting = f.after(16), shown = f.after(18);
  EXPECT_EQ(scale_of(waiting), LossScale::kMin);
  EXPECT_EQ(waiting.at("state net.skipped")[0], 16);
  EXPECT_TRUE(finite(waiting.at("state net")));
  EXPECT_EQ(scale_of(shown), LossScale::kMin);
  EXPECT_EQ(shown.at("state net.skipped")[0], 16);
  EXPECT_FALSE(finite(shown.at("state net"))) << "the next loss is not finite, and training ends with an error";
}

TEST(LossScale, CombinesWithGatesOfUpdates) {
  const Values closed = Fitting(1, Precision::fp16, 1e6).after(10), open = Fitting(1, Precision::fp16, 0).after(10);
  EXPECT_EQ(closed.at("state net"), std::vector<double>(3, 0.0));
  EXPECT_EQ(closed.at("state net.done")[0], 0);
  EXPECT_EQ(closed.at("state net.good")[0], 10) << "its gradients were finite";
  EXPECT_EQ(open.at("state net.done")[0], 10);
}

TEST(LossScale, IsReportedByOptimizer) {
  const Fitting f(100);
  const Values v = f.after(3);
  const auto get = [&](const std::string& leaf) { return static_cast<float>(v.at("state " + leaf)[0]); };
  const std::vector<ScaleReport> all = scale_reports(f.plan, get);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].optimizer, "net");
  EXPECT_EQ(all[0].scale, 8192);
  EXPECT_EQ(all[0].skipped, 3);
  EXPECT_TRUE(scale_reports(Fitting(1, Precision::bf16).plan, get).empty());
}

}  // namespace
}  // namespace tessera
