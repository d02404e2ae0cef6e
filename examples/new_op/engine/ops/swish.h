// swish: its shape, derivative, FLOPs and traits.
#pragma once
#include "engine/ops/rule.h"

namespace tessera {

template <>
struct Rule<Swish> {
  static constexpr Traits traits{
      .rows = Follows::each(), .cols = Follows::each(), .elements = Follows::each(), .zero = {Zero::if_any, {0}}};
  static std::vector<Result> infer(const Swish&, const Shapes& in) { return {{in[0]}}; }
  // y′ = σ(βx) + β·y·(1 − σ(βx)), as ops: so it can be differentiated again.
  static std::vector<Var> vjp(Recorder&, const Swish& op, const Vjp& v) {
    const Var s = sigmoid(op.beta * v.in[0]);
    return {v.d_out[0] * (s + op.beta * (v.out[0] * (1.0 - s)))};
  }
  static double flops(const Swish&, const Shapes&, const Shapes& out) {
    return 18 * static_cast<double>(out[0].count());
  }
};

}  // namespace tessera
