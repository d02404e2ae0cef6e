// unary, binary, lerp_rows, broadcast.
#pragma once
#include "engine/ops/rule.h"

namespace tessera {

template <>
struct Rule<Unary> {
  static bool zero_at_zero(const Unary& op) {
    return (op.fn == Unary::affine && op.b == 0) || op.fn == Unary::tanh || op.fn == Unary::sqrt ||
           op.fn == Unary::rsqrt || op.fn == Unary::leaky || op.fn == Unary::silu;
  }
  static Traits traits(const Unary& op, size_t) {
    const bool nothing = op.fn == Unary::affine && op.a == 0 && op.b == 0;
    return {.rows = Follows::each(),
            .cols = Follows::each(),
            .elements = Follows::each(),
            .zero = {nothing            ? Zero::always
                     : zero_at_zero(op) ? Zero::if_any
                                        : Zero::unknown,
                     {0}},
            .linear = op.fn == Unary::affine && op.b == 0};
  }
  static Var fold(Recorder&, const Unary& op, const std::vector<Var>& in) {
    return op.fn == Unary::affine ? affine(in[0], op.a, op.b) : Var{};
  }
  // a·v + b, merged with v's own fill or affine op.
  static Var affine(Var v, double a, double b) {
    if (a == 1 && b == 0) return v;
    if (const auto value = constant_value(v)) return fill(*v.r, v.shape(), a * *value + b);
    const Unary* inner = v.r->plan.made_by<Unary>(v.id);
    if (inner != nullptr && inner->fn == Unary::affine)
      return affine({v.r, v.r->plan.maker(v.id)->in[0]}, a * inner->a, a * inner->b + b);
    return v.r->emit1(Unary{Unary::affine, a, b}, {v});
  }
  static std::vector<Result> infer(const Unary&, const Shapes& in) { return {{in[0]}}; }
  static std::vector<Var> vjp(Recorder&, const Unary& op, const Vjp& v) {
    const Var d = v.d_out[0], x = v.in[0], y = v.out[0];
    switch (op.fn) {
      case Unary::affine: return {op.a * d};
      case Unary::exp: return {d * y};
      case Unary::log: return {d / x};
      case Unary::tanh: return {tanh_slope(d, y)};
      case Unary::sigmoid: return {sigmoid_slope(d, y)};
      case Unary::silu: return {silu_slope(d, x)};
      case Unary::softplus: return {d * sigmoid(x)};
      case Unary::sqrt: return {d * (0.5 * rsqrt(x))};
      case Unary::rsqrt: return {d * (-0.5 * (y * y * y))};
      case Unary::leaky: return {gate(d, op.a >= 0 ? y : x, op.a)};  // y has the sign of x, and is read anyway
      case Unary::clamp: return {};
      case Unary::step: return {0.0 * d};  // piecewise constant; the pass `constants` removes what this multiplies
    }
    return {};
  }
  static double flops(const Unary& op, const Shapes&, const Shapes& out) {
    const bool heavy = op.fn == Unary::exp || op.fn == Unary::log || op.fn == Unary::tanh || op.fn == Unary::sigmoid ||
                       op.fn == Unary::silu || op.fn == Unary::softplus;
    const bool scales = op.fn == Unary::affine && op.b == 0;
    return (heavy ? 16.0 : scales ? 1.0 : 2.0) * static_cast<double>(out[0].count());
  }
};

template <>
struct Rule<Binary> {
  // Slopes that are computed from the value of the function, which the forward pass has made.
  static bool of_value(const Binary& op) { return op.fn == Binary::sigmoid_slope || op.fn == Binary::tanh_slope; }
  static Traits traits(const Binary& op, size_t) {
    const bool product = op.fn == Binary::mul,
               of_first = op.fn == Binary::div || op.fn == Binary::gate || op.fn == Binary::silu_slope || of_value(op);
    return {.rows = Follows::each(),
            .cols = Follows::each(),
            .elements = Follows::each(),
            .zero = {product || of_first ? Zero::if_any : Zero::unknown, product ? OperandSet{0, 1} : OperandSet{0}},
            .linear = op.fn == Binary::add || op.fn == Binary::sub,
            .narrow = op.fn == Binary::gate || of_value(op) ? OperandSet{1} : OperandSet{},
            .kept = of_value(op) ? OperandSet{1} : OperandSet{}};
  }
  static Var fold(Recorder&, const Binary& op, const std::vector<Var>& in) {
    if (op.fn == Binary::add && in[0].id == in[1].id) return Rule<Unary>::affine(in[0], 2, 0);
    const bool sub = op.fn == Binary::sub, mul = op.fn == Binary::mul;
    if (op.fn != Binary::add && !sub && !mul) return {};
    if (const auto c = constant_value(in[1])) return Rule<Unary>::affine(in[0], mul ? *c : 1, mul ? 0 : sub ? -*c : *c);
    if (in[0].shape() != in[1].shape()) return {};
    if (const auto c = constant_value(in[0])) return Rule<Unary>::affine(in[1], mul ? *c : sub ? -1 : 1, mul ? 0 : *c);
    return {};
  }
  static std::vector<Result> infer(const Binary&, const Shapes& in) {
    require(in[0] == in[1] || (in[1].rows == in[0].rows && in[1].cols == 1) ||
                (in[1].rows == 1 && in[1].cols == in[0].cols),
            "binary");
    return {{in[0]}};
  }
  static std::vector<Var> vjp(Recorder&, const Binary& op, const Vjp& v) {
    const Var d = v.d_out[0], x = v.in[0], y = v.in[1];
    const Shape s = y.shape();
    switch (op.fn) {
      case Binary::add: return {d, sum_to(d, s)};
      case Binary::sub: return {d, -1.0 * sum_to(d, s)};
      case Binary::mul:
        return {d * y, s == x.shape() ? d * x : s == Shape{x.rows(), 1} ? row_dot(d, x) : sum_to(d * x, s)};
      case Binary::div: return {d / y, -1.0 * sum_to(d * v.out[0] / y, s)};
      case Binary::gate: return {gate(d, y, op.a), Var{}};
      case Binary::silu_slope: {
        const Var share = sigmoid(y), rest = 1.0 - share;
        const Var curve = share * rest * (y * (rest - share) + 2);
        return {silu_slope(d, y), sum_to(d * x * curve, s)};
      }
      case Binary::sigmoid_slope: return {sigmoid_slope(d, y), sum_to(d * x * (1.0 - 2.0 * y), s)};
      case Binary::tanh_slope: return {tanh_slope(d, y), sum_to(-2.0 * (d * x * y), s)};
    }
    return {};
  }
  static double flops(const Binary& op, const Shapes&, const Shapes& out) {
    return (op.fn == Binary::silu_slope ? 20.0 : of_value(op) ? 3.0 : 1.0) * static_cast<double>(out[0].count());
  }
};

template <>
struct Rule<LerpRows> {
  static constexpr Traits traits{.rows = Follows::each(),
                                 .cols = Follows::of({1, 2}),
                                 .elements = Follows::of({1, 2}),
                                 .zero = {Zero::if_all, {1, 2}}};
  static std::vector<Result> infer(const LerpRows&, const Shapes& in) {
    require(in[1] == in[2] && in[0].rows == in[1].rows && in[0].cols == 1, "lerp_rows");
    return {{in[1]}};
  }
  static std::vector<Var> vjp(Recorder&, const LerpRows&, const Vjp& v) {
    const Var d = v.d_out[0], a = v.in[0];
    return {row_dot(d, v.in[1] - v.in[2]), d * a, d * (1.0 - a)};
  }
  static double flops(const LerpRows&, const Shapes&, const Shapes& out) {
    return 3 * static_cast<double>(out[0].count());
  }
};

template <>
struct Rule<Broadcast> : Free {
  static constexpr Traits traits{.rows = Follows::each(), .cols = Follows::each(), .elements = Follows::alone()};
  static Var fold(Recorder& r, const Broadcast& op, const std::vector<Var>& in) {
    const auto value = constant_value(in[0]);
    return value ? fill(r, {op.rows, op.cols}, *value) : Var{};
  }
  static std::vector<Result> infer(const Broadcast& op, const Shapes& in) {
    require((in[0].rows == 1 || in[0].rows == op.rows) && (in[0].cols == 1 || in[0].cols == op.cols), "broadcast");
    return {{{op.rows, op.cols}}};
  }
  static std::vector<Var> vjp(Recorder&, const Broadcast&, const Vjp& v) {
    return {sum_to(v.d_out[0], v.in[0].shape())};
  }
};

}  // namespace tessera
