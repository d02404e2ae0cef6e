// Cases of products with rounded factors, and their rounded inputs.
#pragma once
#include "ops/op_check.h"
#include "support/of_precision.h"

namespace tessera::oracle {

// Whether the case is of a product; its factors are then inputs 0, 1, … `count`.
inline bool with_factors(Case& c, Precision precision, size_t& count) {
  return std::visit(
      [&](auto& op) {
        if constexpr (requires { op.factors; }) {
          op.factors = precision;
          count = 2;
          if constexpr (requires { op.pairs; }) count = static_cast<size_t>(2 * op.pairs);
          return true;
        } else {
          return false;
        }
      },
      c.op);
}

inline Grids rounded_factors(Grids in, size_t factors, Precision precision) {
  for (size_t i = 0; i < factors; ++i)
    for (Number& x : in[i].cells) x = rounded(x.v, precision);
  return in;
}

// f(case of a product whose factors are rounded, its inputs, the expected result).
template <class F>
void each_rounded_case(Precision precision, F&& f) {
  int count = 0;
  for (Case c : all_cases()) {
    size_t factors = 0;
    if (!with_factors(c, precision, factors)) continue;
    const Grids in = draw_inputs(c, true);
    SCOPED_TRACE(c.note + ", " + op_name(c.op));
    f(c, in, c.of_rounded ? c.of_rounded(in, precision) : c.reference(rounded_factors(in, factors, precision)));
    ++count;
  }
  EXPECT_GT(count, 90);
}

}  // namespace tessera::oracle
