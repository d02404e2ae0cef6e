// Dynamic loss scaling (Micikevicius et al. 2018), which products of fp16 factors need: gradients below 6·10⁻⁸ would be
// 0 there. An optimizer minimizes its loss times a scale, divides the gradients by the scale, and skips the update if
// one of them is not finite. All of this is done by ops of the step on [1, 1] states of the plan: a recorded step is
// never patched, and checkpoints hold the states.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "engine/plan/recorder.h"

namespace tessera {

class LossScale {
 public:
  static constexpr double kFirst = 65536, kMin = 1, kMax = 0x1p24;  // powers of two: scaling is exact
  static constexpr double kRaisedAfter = 2000;                      // consecutive good steps, after which it doubles

  // For the optimizer whose first set has that name. States: "<name>.scale", "<name>.good", "<name>.skipped".
  LossScale(Recorder& r, const std::string& name);
  Var scaled(Var loss) const;
  Var value() const { return scale_; }  // which the update divides its gradients by
  // The gate of the update, combined with `other` (if it has a value); halves or raises the scale for the next update.
  // At the minimum scale the update is always made: a non-finite value is then not caused by the range of fp16, and the
  // next loss reveals it. `gradients`: all of them, scaled.
  Gate judge(const std::vector<Var>& gradients, const Gate& other) const;

 private:
  Recorder& r_;
  Var held_, good_, skipped_, scale_;  // held_: scale / kFirst − 1, since states begin with 0
};

// The state of an optimizer's scale after training.
struct ScaleReport {
  std::string optimizer;
  double scale;
  int64_t skipped;  // updates
};
// `get`: a state [1, 1] of the plan by its leaf.
std::vector<ScaleReport> scale_reports(const Plan& plan, const std::function<float(const std::string&)>& get);

}  // namespace tessera
