// random, add_noise, fill, draw_conditions, gather_rows, gather_sequences, profile_rows, compact_rows, mixture_draw.
#pragma once
#include "engine/ops/rule.h"
#include "kernels/math/profile.h"

namespace tessera {

template <>
struct Rule<Random> : NoGradient, Light {
  static constexpr Traits traits{
      .rows = Follows::each(), .cols = Follows::alone(), .elements = Follows::alone(), .batch = true};
  static std::vector<Result> infer(const Random& op, const Shapes&) { return {{{op.rows, op.cols}}}; }
};

template <>
struct Rule<AddNoise> {
  static constexpr Traits traits{
      .rows = Follows::never(), .cols = Follows::never(), .elements = Follows::never(), .over = 0};
  static std::vector<Result> infer(const AddNoise&, const Shapes& in) { return {{in[0]}}; }
  static std::vector<Var> vjp(Recorder&, const AddNoise&, const Vjp& v) { return {v.d_out[0]}; }
  static double flops(const AddNoise&, const Shapes& in, const Shapes&) {
    return 3 * static_cast<double>(in[0].count());
  }
};

template <>
struct Rule<Fill> : NoGradient, Free {
  static constexpr Traits traits{.rows = Follows::each(), .cols = Follows::each(), .elements = Follows::each()};
  static std::vector<Result> infer(const Fill& op, const Shapes&) { return {{{op.rows, op.cols}}}; }
};

template <>
struct Rule<DrawConditions> : NoGradient, Light {
  static constexpr Traits traits{.rows = Follows::of({4}),
                                 .cols = Follows::never(),
                                 .elements = Follows::never(),
                                 .gathers = {0, 1, 2, 3},
                                 .batch = true};
  static std::vector<Result> infer(const DrawConditions& op, const Shapes&) {
    return {{{op.rows, 1}, DType::index}, {{op.rows, 1}, DType::index}};
  }
};

template <>
struct Rule<GatherRows> : NoGradient, Free {
  static constexpr Traits traits{.rows = Follows::of({2}),
                                 .cols = Follows::never(),
                                 .elements = Follows::never(),
                                 .gathers = {0, 1},
                                 .batch = true};
  static std::vector<Result> infer(const GatherRows& op, const Shapes& in) {
    const Shape s{in[2].rows, op.spans->count};
    return {{s, DType::index}, {s}};
  }
};

template <>
struct Rule<GatherSequences> : NoGradient, Free {
  static constexpr Traits traits{
      .rows = Follows::of({3}), .cols = Follows::never(), .elements = Follows::never(), .gathers = {0, 1, 2}};
  static std::vector<Result> infer(const GatherSequences& op, const Shapes& in) {
    require(op.steps > 0 && in[1] == in[2] && in[1].cols == 1 && in[3].cols == 1, "gather_sequences");
    return {{{in[3].rows, op.steps * in[0].cols}}, {{in[3].rows, 1}}, {{in[3].rows, op.steps}}};
  }
};

template <>
struct Rule<ProfileRows> : NoGradient {
  static constexpr Traits traits{.rows = Follows::each(), .cols = Follows::never(), .elements = Follows::never()};
  static std::vector<Result> infer(const ProfileRows& op, const Shapes& in) {
    require(in[1].rows == in[0].rows && in[2] == Shape{in[0].rows, 3}, "profile_rows");
    const Shape s{in[0].rows, op.profile->entries};
    return {{s, DType::index}, {s}};
  }
  // Ten comparisons per search among the 1,001 quantiles, three searches per number; half of the entries' sines are
  // products.
  static double flops(const ProfileRows& op, const Shapes& in, const Shapes&) {
    return 50.0 * static_cast<double>(in[0].rows * op.profile->column_count);
  }
};

template <>
struct Rule<CompactRows> : NoGradient, Free {
  static constexpr Traits traits{.rows = Follows::never(), .cols = Follows::never(), .elements = Follows::never()};
  static std::vector<Result> infer(const CompactRows&, const Shapes& in) {
    require(in[0].cols == 1 && in[1].rows == in[0].rows && in[2].rows == in[0].rows, "compact_rows");
    return {{{1, 1}, DType::index}, {in[0], DType::index}, {in[1], DType::index}, {in[2]}};
  }
};

template <>
struct Rule<MixtureDraw> : NoGradient {
  static constexpr Traits traits{.rows = Follows::of({0, 1}), .cols = Follows::never(), .elements = Follows::never()};
  static std::vector<Result> infer(const MixtureDraw&, const Shapes& in) {
    require(in[1].cols == 1 && in[2].cols == in[0].cols && in[3].rows == in[2].rows * in[0].cols &&
                in[3].cols == in[0].cols,
            "mixture_draw");
    return {{in[0]}};
  }
  static double flops(const MixtureDraw&, const Shapes& in, const Shapes&) {
    return 2 * static_cast<double>(in[0].count() * in[0].cols);
  }
};

}  // namespace tessera
