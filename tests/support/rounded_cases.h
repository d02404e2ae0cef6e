// Cases of products with rounded factors, and their inputs as a product sees them.
#pragma once
#include <cmath>

#include "engine/run/precision.h"
#include "ops/op_check.h"

namespace tessera::oracle {

constexpr Precision kRounded[] = {Precision::tf32, Precision::bf16, Precision::fp16};

// The nearest number of the format. Of two it is the even one, in tf32 the one away from 0 (cvt.rna).
inline double rounded(double x, Precision precision) {
  if (x == 0 || !std::isfinite(x) || precision == Precision::fp32) return x;
  const int lowest = precision == Precision::fp16 ? -14 : -126, bits = precision == Precision::bf16 ? 7 : 10;
  const double unit = std::ldexp(1, std::max(std::ilogb(x), lowest) - bits);
  return (precision == Precision::tf32 ? std::round(x / unit) : std::nearbyint(x / unit)) * unit;
}

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

// f(case of a product whose factors are rounded, its inputs, and those inputs with rounded factors), in each precision.
template <class F>
void each_rounded_case(F&& f) {
  int count = 0;
  for (Case c : all_cases())
    for (const Precision precision : kRounded) {
      size_t factors = 0;
      if (!with_factors(c, precision, factors)) continue;
      const Grids in = draw_inputs(c, true);
      Grids seen = in;
      for (size_t i = 0; i < factors; ++i)
        for (Number& x : seen[i].cells) x = rounded(x.v, precision);
      SCOPED_TRACE(c.note + ", " + name_of(precision));
      f(c, in, seen);
      ++count;
    }
  EXPECT_GT(count, 120);
}

}  // namespace tessera::oracle
