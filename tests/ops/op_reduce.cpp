// sum_rows, sum_cols, row_dot.
#include "op_case.h"

namespace tessera::oracle {

void reduce_cases(Cases& cases) {
  for (const auto& [r, c] : {std::pair{1, 1}, {2, 31}, {31, 2}, {33, 65}, {65, 33}, {1, 127}, {129, 1}})
    for (const double scale : {1.0, -0.125}) {
      cases.push_back({"rows", SumRows{scale}, {real(r, c)}, [scale](const Grids& in) {
                         return Grids{grid(1, in[0].cols, [&](int64_t, int64_t k) {
                           Number s;
                           for (int64_t i = 0; i < in[0].rows; ++i) s += in[0](i, k);
                           return scale * s;
                         })};
                       }});
      cases.push_back({"columns", SumCols{scale}, {real(r, c)}, [scale](const Grids& in) {
                         return Grids{grid(in[0].rows, 1, [&](int64_t i, int64_t) {
                           Number s;
                           for (int64_t k = 0; k < in[0].cols; ++k) s += in[0](i, k);
                           return scale * s;
                         })};
                       }});
      cases.back().by_rows = true;
      if (scale != 1) continue;
      cases.push_back({"dot", RowDot{}, {real(r, c), real(r, c)}, [](const Grids& in) {
                         return Grids{grid(in[0].rows, 1, [&](int64_t i, int64_t) {
                           Number s;
                           for (int64_t k = 0; k < in[0].cols; ++k) s += in[0](i, k) * in[1](i, k);
                           return s;
                         })};
                       }});
      cases.back().by_rows = true;
    }
  // Σ (2²⁶, 1, 1, …, −2²⁶) is the sum of the ones; in float it would be 0.
  for (const auto& [r, c] : {std::pair{129, 3}, {3, 129}}) {
    std::vector<double> values;
    const bool down = r > c;
    for (int64_t i = 0; i < r * c; ++i) {
      const int64_t at = down ? i / c : i % c;
      values.push_back(at == 0 ? 0x1p26 : at == 128 ? -0x1p26 : 1);
    }
    const auto sum = [down](const Grids& in) {
      const int64_t n = down ? in[0].cols : in[0].rows;
      return Grids{grid(down ? 1 : n, down ? n : 1, [&](int64_t i, int64_t k) {
        Number s;
        for (int64_t j = 0; j < 129; ++j)
          s += down ? in[0](j, k) : in.size() > 1 ? in[0](i, j) * in[1](i, j) : in[0](i, j);
        return s;
      })};
    };
    const Law exact{"sums are kept in double", [](const Grids&, const Grids& out) {
                      double wrong = 0;
                      for (const Number& n : out[0].cells) wrong += n.v != 127;
                      return wrong;
                    }};
    const Input x = real(r, c).of(values).constant(), ones = real(r, c).range(1, 1).constant();
    if (down) cases.push_back({"rows of very different size", SumRows{1}, {x}, sum, {exact}});
    else cases.push_back({"columns of very different size", SumCols{1}, {x}, sum, {exact}});
    if (!down) cases.push_back({"columns of very different size", RowDot{}, {x, ones}, sum, {exact}});
  }
}

}  // namespace tessera::oracle
