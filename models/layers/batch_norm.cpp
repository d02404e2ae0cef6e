#include "models/layers/batch_norm.h"

namespace tessera::layers {

BatchNorm::BatchNorm(ParameterSet& set, const std::string& name, int64_t width, double eps_, double momentum_)
    : gamma(set.add(name + ".weight", {1, width}, {Start{1}})),
      beta(set.add(name + ".bias", {1, width}, {Start{0}})),
      eps(eps_),
      momentum(momentum_),
      running(set.name + "." + name + ".running_") {}

Var BatchNorm::operator()(Var x, Norm norm) const {
  Recorder& r = *x.r;
  const Var g = r(gamma), b = r(beta);
  const Var mean = r.state(running + "mean", g.shape()), var = r.state(running + "var", g.shape());
  if (norm == Norm::inference) return r.emit1(NormEval{eps, false}, {x, g, b, mean, var});
  const Normalized n = batch_norm(x, g, b, eps);
  const double weight = norm == Norm::population ? 1 : momentum;  // of this batch's statistics
  const auto next = r.emit(RunningStats{weight, x.rows()}, {mean, var, n.mean, n.var});
  r.advance(mean, next[0]);
  r.advance(var, next[1]);
  return n.y;
}

}  // namespace tessera::layers
