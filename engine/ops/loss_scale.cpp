#include "engine/plan/loss_scale.h"

#include <string_view>

#include "engine/ops/optimizer.h"

namespace tessera {
namespace {

constexpr const char *kScale = ".scale", *kGood = ".good", *kSkipped = ".skipped";

double scale_of(double held) { return LossScale::kFirst * (held + 1); }

// 1 if every gradient is finite, else 0. It tests their sum, which is infinite or NaN if one of them is. Sums by
// columns run in the launch of a gradient that is computed column by column. Finite numbers whose sum is beyond
// kLargest count as overflowed: products of fp16 factors are far below it.
Var all_finite(const std::vector<Var>& gradients) {
  constexpr double kLargest = 1e38;
  std::vector<Var> sums;
  for (const Var g : gradients) sums.push_back(sum_rows(g));
  const Var all = concat_cols(sums), total = sum_rows(reshape(all, {all.shape().cols, 1}));
  return step(kLargest - total) * step(total + kLargest);
}

}  // namespace

LossScale::LossScale(Recorder& r, const std::string& name)
    : r_(r),
      held_(r.state(name + kScale, {1, 1})),
      good_(r.state(name + kGood, {1, 1})),
      skipped_(r.state(name + kSkipped, {1, 1})),
      scale_(kFirst * held_ + kFirst) {}

Var LossScale::scaled(Var loss) const { return loss * scale_; }

Gate LossScale::judge(const std::vector<Var>& gradients, const Gate& other) const {
  const Var finite = all_finite(gradients), made = step(finite + step(2 * kMin - scale_));
  const Var raised = step(good_ + (1.5 - kRaisedAfter));  // this step is the kRaisedAfter-th good one
  const Var factor = finite * (raised + 0.5) + 0.5;       // 1/2, or 1, or 2
  assign(r_, good_, finite * (good_ + 1.0) * (1.0 - raised));
  assign(r_, held_, (1 / kFirst) * clamp(scale_ * factor, kMin, kMax) + -1.0);
  assign(r_, skipped_, skipped_ + (1.0 - made));
  return {other.value ? made * step(other.value + -other.above) : made, 0.5};
}

std::vector<ScaleReport> scale_reports(const Plan& plan, const std::function<float(const std::string&)>& get) {
  std::vector<ScaleReport> all;
  for (const Leaf& leaf : plan.leaves) {
    if (leaf.kind != Leaf::state || !leaf.name.ends_with(kSkipped)) continue;
    const std::string name = leaf.name.substr(0, leaf.name.size() - std::string_view(kSkipped).size());
    all.push_back({name, scale_of(static_cast<double>(get(name + kScale))), static_cast<int64_t>(get(leaf.name))});
  }
  return all;
}

}  // namespace tessera
