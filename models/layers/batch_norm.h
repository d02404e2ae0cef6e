#pragma once
#include <string>

#include "engine/plan/recorder.h"

namespace tessera::layers {

// The statistics that a BatchNorm uses.
enum class Norm {
  training,    // this batch's; the running ones move toward them
  population,  // this batch's; they become the running ones
  inference    // the running ones
};

// y = (x − mean)·rstd·γ + β. Weights "<name>.weight" (γ) and "<name>.bias" (β) [1, width]; the running statistics are
// the states "<set>.<name>.running_mean" and "<set>.<name>.running_var".
struct BatchNorm {
  Weight gamma, beta;
  double eps, momentum;
  std::string running;  // prefix of its states' names

  BatchNorm(ParameterSet& set, const std::string& name, int64_t width, double eps, double momentum);
  Var operator()(Var x, Norm norm) const;
};

}  // namespace tessera::layers
