// sum_rows, sum_cols, row_dot.
#pragma once
#include "engine/ops/rule.h"

namespace tessera {

struct ReadsAll {
  template <class T>
  static double flops(const T&, const Shapes& in, const Shapes&) {
    return static_cast<double>(in.size()) * static_cast<double>(in[0].count());
  }
};

template <>
struct Rule<SumRows> : ReadsAll {
  static constexpr Traits traits{.rows = Follows::never(),
                                 .cols = Follows::each(),
                                 .elements = Follows::never(),
                                 .zero = {Zero::if_all, {0}},
                                 .sums = {0},
                                 .narrow = {0}};
  static std::vector<Result> infer(const SumRows&, const Shapes& in) { return {{{1, in[0].cols}}}; }
  static std::vector<Var> vjp(Recorder&, const SumRows& op, const Vjp& v) {
    return {broadcast(op.scale == 1 ? v.d_out[0] : op.scale * v.d_out[0], v.in[0].shape())};
  }
};

template <>
struct Rule<SumCols> : ReadsAll {
  static constexpr Traits traits{.rows = Follows::each(),
                                 .cols = Follows::never(),
                                 .elements = Follows::never(),
                                 .zero = {Zero::if_all, {0}},
                                 .adds_cols = {0}};
  static std::vector<Result> infer(const SumCols&, const Shapes& in) { return {{{in[0].rows, 1}}}; }
  static std::vector<Var> vjp(Recorder&, const SumCols& op, const Vjp& v) {
    return {broadcast(op.scale == 1 ? v.d_out[0] : op.scale * v.d_out[0], v.in[0].shape())};
  }
};

template <>
struct Rule<RowDot> : ReadsAll {
  static constexpr Traits traits{.rows = Follows::each(),
                                 .cols = Follows::never(),
                                 .elements = Follows::never(),
                                 .zero = {Zero::if_any, {0, 1}},
                                 .adds_cols = {0, 1}};
  static std::vector<Result> infer(const RowDot&, const Shapes& in) {
    require(in[0] == in[1], "row_dot");
    return {{{in[0].rows, 1}}};
  }
  static std::vector<Var> vjp(Recorder&, const RowDot&, const Vjp& v) {
    return {v.in[1] * v.d_out[0], v.in[0] * v.d_out[0]};
  }
};

}  // namespace tessera
