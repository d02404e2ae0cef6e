// swish.
#include "op_case.h"

namespace tessera::oracle {

// One description serves value, gradient, second derivative and bits, on every instruction set and on the device.
void swish_cases(Cases& cases) {
  for (const double beta : {1.0, 0.25, -2.0})
    for (const auto& [rows, cols] : {std::pair{1, 1}, {2, 31}, {33, 65}, {1, 8200}}) {
      cases.push_back(
          {"beta " + std::to_string(beta), Swish{beta}, {real(rows, cols).range(-6, 6)}, [beta](const Grids& in) {
             return Grids{grid(in[0].rows, in[0].cols, [&](int64_t i, int64_t k) {
               const Number x = in[0](i, k);
               return x * (1.0 / (1.0 + exp(-beta * x)));
             })};
           }});
      cases.back().by_rows = true;
      if (beta == 1)
        cases.back().laws.push_back({"y(x) − y(−x) = x", [](const Grids& in, const Grids& out) {
                                       double worst = 0;
                                       for (size_t i = 0; i < in[0].cells.size(); ++i) {
                                         const double x = in[0].cells[i].v, y = out[0].cells[i].v;
                                         worst = std::max(worst, std::fabs(y + x / (1 + std::exp(x)) - x));
                                       }
                                       return worst;
                                     }});
    }
}

}  // namespace tessera::oracle
