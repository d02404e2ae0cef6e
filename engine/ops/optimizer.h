// adam, average, clamp_range, report: ops that change state in place.
#pragma once
#include "engine/ops/rule.h"

namespace tessera {

template <>
struct Rule<Adam> : NoGradient {
  static Traits traits(const Adam&, size_t) {
    const Follows parts = Follows::of({0, 1, 2, 3});  // gate, count and scale are read whole
    return {.rows = parts, .cols = parts, .elements = parts, .in_place = 3};
  }
  static std::vector<Result> infer(const Adam&, const Shapes& in) {
    require(in[0] == in[1] && in[0] == in[2] && in[0] == in[3], "adam");
    require(in.size() == 4 || in.size() == 6 || in.size() == 7, "adam's gate");
    for (size_t i = 4; i < in.size(); ++i) require(in[i] == Shape{1, 1}, "adam's gate");
    return {{in[0]}, {in[1]}, {in[2]}};
  }
  static double flops(const Adam&, const Shapes& in, const Shapes&) { return 14 * static_cast<double>(in[0].count()); }
};

template <>
struct Rule<CountAbove> : NoGradient, Light {
  static constexpr Traits traits{
      .rows = Follows::never(), .cols = Follows::each(), .elements = Follows::never(), .in_place = 1, .scalars = true};
  static std::vector<Result> infer(const CountAbove&, const Shapes& in) {
    require(in[0] == Shape{1, 1} && in[1] == in[0], "count_above");
    return {{in[0]}};
  }
};

template <>
struct Rule<Average> : NoGradient {
  static constexpr Traits traits{
      .rows = Follows::each(), .cols = Follows::each(), .elements = Follows::each(), .in_place = 1};
  static std::vector<Result> infer(const Average&, const Shapes& in) {
    require(in[0] == in[1], "average");
    return {{in[0]}};
  }
  static double flops(const Average&, const Shapes& in, const Shapes&) {
    return 3 * static_cast<double>(in[0].count());
  }
};

// Sets the state to x: an average with decay 0.
inline void assign(Recorder& r, Var state, Var x) { r.advance(state, r.emit1(Average{0}, {state, x})); }

template <>
struct Rule<ClampRange> : NoGradient {
  static constexpr Traits traits{
      .rows = Follows::never(), .cols = Follows::each(), .elements = Follows::each(), .in_place = 1};
  static std::vector<Result> infer(const ClampRange& op, const Shapes& in) {
    require(op.start >= 0 && op.count >= 0 && op.start + op.count <= in[0].cols, "clamp_range");
    return {{in[0]}};
  }
  static double flops(const ClampRange& op, const Shapes&, const Shapes&) { return 2 * static_cast<double>(op.count); }
};

template <>
struct Rule<Report> : NoGradient, Free {
  static constexpr Traits traits{
      .rows = Follows::never(), .cols = Follows::each(), .elements = Follows::never(), .in_place = 1, .scalars = true};
  static std::vector<Result> infer(const Report& op, const Shapes& in) {
    require(in[0].rows == op.slots && in.size() == static_cast<size_t>(in[0].cols) + 1, "report");
    return {{in[0]}};
  }
};

}  // namespace tessera
