// Layers declare their weights in a set and apply themselves to a Var of a recording that owns the set.
#pragma once
#include <string>
#include <vector>

#include "engine/plan/recorder.h"
#include "models/layers/initial_weights.h"

namespace tessera::layers {

// y = x·W + b. Weights "<name>.weight" [in, out] and "<name>.bias" [1, out]; in files [out, in], as torch stores them.
struct Linear {
  Weight weight, bias;

  Linear() = default;
  Linear(ParameterSet& set, const std::string& name, int64_t in, int64_t out, Initial initial = Initial::torch);
  Var operator()(Var x) const;
};

// Hidden layers "hidden.<i>" of the given widths: linear, leaky ReLU, dropout.
struct Mlp {
  std::vector<Linear> layers;
  int64_t out;  // width of the last one
  double slope, dropout;

  Mlp(ParameterSet& set, int64_t in, const std::vector<int>& widths, double slope = 0, double dropout = 0);
  // The dropout masks are the random tensors "mask.<masks>.<i>". Without a name there is no dropout.
  Var operator()(Var x, const std::string& masks = "") const;
};

}  // namespace tessera::layers
