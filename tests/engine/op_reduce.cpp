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
}

}  // namespace tessera::oracle
