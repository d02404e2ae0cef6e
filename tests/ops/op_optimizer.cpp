// adam, count_above, average, clamp_range, report: in place. Many steps and the golden vectors are in ending.cpp; here
// are one step's numbers.
#include "op_case.h"

namespace tessera::oracle {

void ending_cases(Cases& cases) {
  for (const int64_t n : {1, 31, 65, 16411})
    for (const Adam& op : {Adam{Adam::torch, 2e-4, 0.5, 0.9, 1e-8, 1e-6, 1, 0, 0, 0},
                           Adam{Adam::tf1, 1e-3, 0.9, 0.999, 1e-8, 0.01, 3, 2, 2, 10},
                           Adam{Adam::torch, 1e-3, 0.9, 0.999, 1e-3, 0, 1, 0, 20, 10}}) {
      const StepState state{0, 6, -1};
      Case c{"", op, {real(1, n), real(1, n), real(1, n).range(0.01, 2), real(1, n)}, [op, state](const Grids& in) {
               // g ← grad + weight_decay·θ; m, v; the step with t = step·updates + index + 1 and the rate of that step
               const double t = static_cast<double>(state.step * op.updates + op.index + 1),
                            c1 = 1 - std::pow(op.beta1, t), c2 = 1 - std::pow(op.beta2, t);
               double lr = op.lr;
               if (op.decay_steps > 0)
                 lr *= 1 - std::min(1.0, static_cast<double>(std::max<int64_t>(state.step - op.decay_from, 0)) /
                                             static_cast<double>(op.decay_steps));
               Grid p = in[0], m = in[1], v = in[2];
               auto k = [](double x) { return rounded(x, 0); };
               for (size_t i = 0; i < p.cells.size(); ++i) {
                 const Number g = in[3].cells[i] + k(op.weight_decay) * p.cells[i];
                 m.cells[i] = k(op.beta1) * m.cells[i] + k(1 - op.beta1) * g;
                 v.cells[i] = k(op.beta2) * v.cells[i] + k(1 - op.beta2) * (g * g);
                 const Number root = sqrt(v.cells[i]);
                 const Number step = op.form == Adam::torch
                                         ? k(lr / c1) * m.cells[i] / (root / k(std::sqrt(c2)) + k(op.eps))
                                         : k(lr * std::sqrt(c2) / c1) * m.cells[i] / (root + k(op.eps));
                 p.cells[i] = p.cells[i] - step;
               }
               return Grids{p, m, v};
             }};
      c.state = state;
      cases.push_back(c);
    }
  // Behind a gate: nothing, or the update that is counted, of a gradient that may be scaled.
  for (const auto& [n, scale] : {std::pair<int64_t, double>{1, 0}, {16411, 0}, {33, 1024}})
    for (const double gate : {0.1, 0.15625, 0.2}) {  // the second is the limit itself
      const Adam op{Adam::tf1, 1e-3, 0.9, 0.999, 1e-8, 0, 7, 3, 0, 0, 0.15625};
      Case c{gate > 0.15625 ? "the gate open" : "the gate shut",
             op,
             {real(1, n), real(1, n), real(1, n).range(0.01, 2), real(1, n), real(1, 1).of({gate}), real(1, 1).of({5})},
             [op](const Grids& in) {
               Grid p = in[0], m = in[1], v = in[2];
               if (!(in[4](0, 0).v > op.above)) return Grids{p, m, v};
               auto k = [](double x) { return rounded(x, 0); };
               const double t = in[5](0, 0).v,
                            rate = op.lr * std::sqrt(1 - std::pow(op.beta2, t)) / (1 - std::pow(op.beta1, t));
               for (size_t i = 0; i < p.cells.size(); ++i) {
                 const Number g =
                     (in.size() > 6 ? in[3].cells[i] / in[6](0, 0) : in[3].cells[i]) + k(op.weight_decay) * p.cells[i];
                 m.cells[i] = k(op.beta1) * m.cells[i] + k(1 - op.beta1) * g;
                 v.cells[i] = k(op.beta2) * v.cells[i] + k(1 - op.beta2) * (g * g);
                 p.cells[i] = p.cells[i] - k(rate) * m.cells[i] / (sqrt(v.cells[i]) + k(op.eps));
               }
               return Grids{p, m, v};
             }};
      if (scale > 0) c.in.push_back(real(1, 1).of({scale}));
      cases.push_back(c);
    }
  for (const double gate : {0.1, 0.15625, 0.2})
    cases.push_back({"", CountAbove{0.15625}, {real(1, 1).of({41}), real(1, 1).of({gate})}, [](const Grids& in) {
                       return Grids{grid(1, 1, [&](int64_t, int64_t) {
                         return in[0](0, 0) + Number(in[1](0, 0).v > 0.15625 ? 1 : 0);
                       })};
                     }});
  for (const int64_t n : {1, 33, 16411})
    for (const int64_t step : {0, 5, 100000}) {
      Case c{"step " + std::to_string(step), Average{0.999}, {real(1, n), real(1, n)}, [step](const Grids& in) {
               const double d = std::min(0.999, static_cast<double>(step + 1) / static_cast<double>(step + 10));
               return Grids{grid(1, in[0].cols, [&](int64_t, int64_t i) {
                 return rounded(d, 0) * in[0](0, i) + rounded(1 - d, 1) * in[1](0, i);
               })};
             }};
      c.state.step = step;
      cases.push_back(c);
    }
  for (const auto& [start, count] : {std::pair<int64_t, int64_t>{0, 0}, {0, 33}, {7, 5}, {32, 1}})
    cases.push_back({"from " + std::to_string(start) + ", " + std::to_string(count),
                     ClampRange{start, count, -0.5, 1.25},
                     {real(1, 33)},
                     [start = start, count = count](const Grids& in) {
                       return Grids{grid(1, 33, [&](int64_t, int64_t i) {
                         const double v = in[0](0, i).v;
                         return i < start || i >= start + count || std::isnan(v)
                                    ? in[0](0, i)
                                    : Number(std::min(std::max(v, -0.5), 1.25));
                       })};
                     }});
  // the last: more than one launch on a device takes
  for (const auto& [step, numbers] : {std::pair{0, 3}, {4, 3}, {13, 3}, {7, 33}}) {
    Case c{"slot of step " + std::to_string(step),
           Report{5},
           {real(5, numbers)},
           [step = step, numbers = numbers](const Grids& in) {
             Grid ring = in[0];
             for (int64_t k = 0; k < numbers; ++k) ring(step % 5, k) = in[static_cast<size_t>(k + 1)](0, 0);
             return Grids{ring};
           }};
    for (int k = 0; k < numbers; ++k) c.in.push_back(real(1, 1));
    c.state.step = step;
    cases.push_back(c);
  }
}

}  // namespace tessera::oracle
