// unary, binary, lerp_rows, broadcast.
#include "op_case.h"

namespace tessera::oracle {
namespace {

struct Function {
  Unary op;
  double low, high, apart;
  Number (*f)(const Unary&, Number);
};

Number sigmoid(Number x) {
  const double y = 1 / (1 + std::exp(-x.v));
  return rounded(y, y * (1 - y) * x.e + y);
}

const Function kFunctions[] = {
    {{Unary::affine, -0.75, 1.5}, -3, 3, 0, [](const Unary& o, Number x) { return o.a * x + o.b; }},
    {{Unary::affine, 3, 0}, -3, 3, 0, [](const Unary& o, Number x) { return o.a * x; }},
    {{Unary::exp, 0, 0}, -20, 20, 0, [](const Unary&, Number x) { return exp(x); }},
    {{Unary::log, 0, 0}, 0.05, 50, 0, [](const Unary&, Number x) { return log(x); }},
    {{Unary::tanh, 0, 0}, -6, 6, 0, [](const Unary&, Number x) { return tanh(x); }},
    {{Unary::tanh, 0, 0}, -0.5, 0.5, 0, [](const Unary&, Number x) { return tanh(x); }},
    {{Unary::sigmoid, 0, 0}, -15, 15, 0, [](const Unary&, Number x) { return sigmoid(x); }},
    {{Unary::silu, 0, 0}, -15, 15, 0, [](const Unary&, Number x) { return x * sigmoid(x); }},
    {{Unary::softplus, 0, 0},
     -15,
     15,
     0,
     [](const Unary&, Number x) {
       return rounded(x.v > 0 ? x.v + std::log1p(std::exp(-x.v)) : std::log1p(std::exp(x.v)), sigmoid(x).v * x.e);
     }},
    {{Unary::sqrt, 0, 0}, 0.05, 20, 0, [](const Unary&, Number x) { return sqrt(x); }},
    {{Unary::rsqrt, 0, 0}, 0.2, 20, 0, [](const Unary&, Number x) { return x.v == 0 ? Number(0) : 1.0 / sqrt(x); }},
    {{Unary::leaky, 0.2, 0}, -2, 2, 1e-3, [](const Unary& o, Number x) { return x.v > 0 ? x : o.a * x; }},
    {{Unary::leaky, 0, 0}, -2, 2, 1e-3, [](const Unary& o, Number x) { return x.v > 0 ? x : o.a * x; }},
    {{Unary::leaky, -1, 0}, -2, 2, 1e-3, [](const Unary& o, Number x) { return x.v > 0 ? x : o.a * x; }},
    {{Unary::step, 0.2, 0},
     -2,
     2,
     1e-3,
     [](const Unary& o, Number x) { return x.v > 0 ? Number(1) : rounded(o.a, 0); }},
};

// The ends of the functions' ranges, where vectorized code may fail: huge, tiny, zero.
const std::vector<double> kEnds{0,     -0.0, 1e-30, -1e-30, 1e30,  -1e30,  88.5f, -87.25f,
                                88.0f, -104, 1,     -1,     0.35f, -0.35f, 10.5f, -10.5f};

Number silu_slope(Number x) {
  const Number share = sigmoid(x);
  return share * (1.0 + x * (1.0 - share));
}

Number combine(const Binary& op, Number x, Number y) {
  switch (op.fn) {
    case Binary::add: return x + y;
    case Binary::sub: return x - y;
    case Binary::mul: return x * y;
    case Binary::div: return x / y;
    case Binary::gate: return y.v > 0 ? x : op.a * x;
    case Binary::silu_slope: return x * silu_slope(y);
    case Binary::sigmoid_slope: return x * (y * (1.0 - y));
    case Binary::tanh_slope: return x * (1.0 - y * y);
  }
  return {};
}

}  // namespace

void elementwise_cases(Cases& cases) {
  for (const Function& f : kFunctions)
    for (const auto& [r, c] : {std::pair{1, 1}, {2, 31}, {33, 65}, {1, 8200}}) {
      const std::string note = "function " + std::to_string(f.op.fn);
      cases.push_back(
          {note, f.op, {real(r, c).range(f.low, f.high).away(f.apart)}, [f](const Grids& in) {
             return Grids{grid(in[0].rows, in[0].cols, [&](int64_t i, int64_t k) { return f.f(f.op, in[0](i, k)); })};
           }});
      cases.back().by_rows = true;
    }
  for (const Function& f : kFunctions) {
    const bool domain = f.op.fn == Unary::log || f.op.fn == Unary::sqrt || f.op.fn == Unary::rsqrt;
    std::vector<double> ends = kEnds;
    for (double& x : ends) x = static_cast<double>(static_cast<float>(domain ? std::fabs(x) : x));
    cases.push_back(
        {"ends of function " + std::to_string(f.op.fn), f.op, {real(1, 16).of(ends).constant()}, [f](const Grids& in) {
           return Grids{grid(1, 16, [&](int64_t i, int64_t k) { return f.f(f.op, in[0](i, k)); })};
         }});
  }
  cases.push_back({"noise is held inside, and has no gradient",
                   Unary{Unary::clamp, 0.25, 0.75},
                   {real(31, 33).range(0, 1)},
                   [](const Grids& in) {
                     return Grids{grid(31, 33, [&](int64_t i, int64_t k) {
                       return std::isnan(in[0](i, k).v) ? in[0](i, k)
                                                        : Number(std::min(std::max(in[0](i, k).v, 0.25), 0.75));
                     })};
                   }});
  cases.back().derived = false;
  for (const Binary op : {Binary{Binary::add}, Binary{Binary::sub}, Binary{Binary::mul}, Binary{Binary::div},
                          Binary{Binary::gate}, Binary{Binary::gate, 0.2}, Binary{Binary::silu_slope},
                          Binary{Binary::sigmoid_slope}, Binary{Binary::tanh_slope}})
    for (const auto& [r, c] : {std::pair{1, 1}, {31, 33}, {65, 2}, {2, 129}, {7, 1}})
      for (const auto& [p, q] : std::vector<std::pair<int, int>>{{r, c}, {1, c}, {r, 1}}) {
        const Input y = real(p, q).away(0.3);
        cases.push_back({"function " + std::to_string(op.fn),
                         op,
                         {real(r, c), op.fn == Binary::gate ? y.constant() : y},
                         [op](const Grids& in) {
                           return Grids{grid(in[0].rows, in[0].cols, [&](int64_t i, int64_t k) {
                             return combine(op, in[0](i, k), in[1].wide(i, k));
                           })};
                         }});
        cases.back().by_rows = true;
      }
  cases.push_back({"a gate of 0 is shut",
                   Binary{Binary::gate, 0.2},
                   {real(1, 4), real(1, 4).of({0, -0.0, 1e-30, -1e-30}).constant()},
                   [](const Grids& in) {
                     return Grids{grid(1, 4, [&](int64_t i, int64_t k) {
                       return combine({Binary::gate, 0.2}, in[0](i, k), in[1](i, k));
                     })};
                   }});
  for (const auto& [r, c] : {std::pair{1, 1}, {31, 65}, {50, 33}}) {
    cases.push_back({"between", LerpRows{}, {real(r, 1).range(0, 1), real(r, c), real(r, c)}, [](const Grids& in) {
                       return Grids{grid(in[1].rows, in[1].cols, [&](int64_t i, int64_t k) {
                         return in[0](i, 0) * in[1](i, k) + (1.0 - in[0](i, 0)) * in[2](i, k);
                       })};
                     }});
    cases.back().by_rows = true;
  }
  for (const auto& [p, q, r, c] : {std::tuple{1, 33, 31, 33}, {31, 1, 31, 33}, {1, 1, 5, 65}, {1, 1, 1, 1}})
    cases.push_back({"spread", Broadcast{r, c}, {real(p, q)}, [r = r, c = c](const Grids& in) {
                       return Grids{grid(r, c, [&](int64_t i, int64_t k) { return in[0].wide(i, k); })};
                     }});
}

}  // namespace tessera::oracle
