// random, fill, draw_conditions, gather_rows.
#pragma once
#include "engine/ops/rule.h"

namespace tessera {

template <>
struct Rule<Random> : NoGradient, Light {
  static std::vector<Result> infer(const Random& op, const Shapes&) { return {{{op.rows, op.cols}}}; }
};

template <>
struct Rule<Fill> : NoGradient, Free {
  static std::vector<Result> infer(const Fill& op, const Shapes&) { return {{{op.rows, op.cols}}}; }
};

template <>
struct Rule<DrawConditions> : NoGradient, Light {
  static std::vector<Result> infer(const DrawConditions& op, const Shapes&) { return {{{op.rows, 1}, DType::index}, {{op.rows, 1}, DType::index}}; }
};

template <>
struct Rule<GatherRows> : NoGradient, Free {
  static std::vector<Result> infer(const GatherRows& op, const Shapes& in) {
    const Shape s{in[2].rows, op.spans->count};
    return {{s, DType::index}, {s}};
  }
};

}  // namespace tessera
