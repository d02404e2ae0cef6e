// Dynamic loss scaling (Micikevicius et al. 2018), which products of fp16 factors need: gradients below 6·10⁻⁸ would be
// 0 there. An optimiser minimises its loss times a scale, divides the gradients by it, and leaves an update out where
// one of them is not finite. All of it is ops of the step, on numbers [1, 1] that are states of the plan: a recorded
// step is never patched, and checkpoints hold them.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "engine/plan/recorder.h"

namespace tessera {

class LossScale {
 public:
  static constexpr double kFirst = 65536, kLeast = 1, kMost = 0x1p24;  // powers of two: scaling changes no bit
  static constexpr double kRaisedAfter = 2000;                         // good steps, which double it

  // Of the optimiser whose first set has that name. States: "<name>.scale", "<name>.good", "<name>.skipped".
  LossScale(Recorder& r, const std::string& name);
  Var scaled(Var loss) const;
  Var value() const { return scale_; }  // which the update divides its gradients by
  // What the update waits for, `other` (where it has a value) included; halves or raises the scale for the next one.
  // At the least scale an update is made in any case: what is not finite then is no matter of range, and the next loss
  // shows it. `gradients`: scaled ones, all.
  Gate judge(const std::vector<Var>& gradients, const Gate& other) const;

 private:
  Recorder& r_;
  Var held_, good_, skipped_, scale_;  // held_: scale / kFirst − 1, since states begin with 0
};

// What became of an optimiser's scale.
struct ScaleReport {
  std::string optimiser;
  double scale;
  int64_t skipped;  // updates
};
// `get`: a state [1, 1] of the plan by its leaf.
std::vector<ScaleReport> scale_reports(const Plan& plan, const std::function<float(const std::string&)>& get);

}  // namespace tessera
