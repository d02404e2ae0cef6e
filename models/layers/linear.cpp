#include "models/layers/linear.h"

namespace tessera::layers {

Linear::Linear(ParameterSet& set, const std::string& name, int64_t in, int64_t out, Initial initial) {
  const bool torch = initial == Initial::torch;
  weight = set.add(name + ".weight", {in, out}, {torch ? torch_uniform(in) : glorot_uniform(in, out)});
  bias = set.add(name + ".bias", {1, out}, {torch ? torch_uniform(in) : Start{}});
}

Var Linear::operator()(Var x) const { return matmul(x, (*x.r)(weight)) + (*x.r)(bias); }

Mlp::Mlp(ParameterSet& set, int64_t in, const std::vector<int>& widths, double slope_, double dropout_)
    : out(in), slope(slope_), dropout(dropout_) {
  for (const int width : widths) {
    layers.emplace_back(set, "hidden." + std::to_string(layers.size()), out, width);
    out = width;
  }
}

Var Mlp::operator()(Var x, const std::string& masks) const {
  const double keep = 1 - dropout;
  for (size_t i = 0; i < layers.size(); ++i) {
    x = leaky_relu(layers[i](x), slope);
    if (dropout > 0 && !masks.empty())
      x = (1 / keep) * (x * x.r->bernoulli("mask." + masks + "." + std::to_string(i), x.shape(), keep));
  }
  return x;
}

}  // namespace tessera::layers
