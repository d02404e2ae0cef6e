// Decodes a number from its mode: the inverse of mode-specific normalization (Xu et al. 2019, §4.2), on the host and in
// kernels.
#pragma once
#include <math.h>

#include "kernels/math/host_device.h"

namespace tessera {

// x rounded to the grid of 1/unit, ties to even; unchanged if it has no finer digits (|x|·unit ≥ 2^51) or unit is 0.
TESSERA_HD static inline double on_grid(double x, double unit) {
  constexpr double kShift = 6755399441055744.0;  // 1.5·2^52: a sum with it has no fraction bits
  const double y = x * unit;
  return unit > 0 && fabs(y) < 2251799813685248.0 ? ((y + kShift) - kShift) / unit : x;
}

struct NumberRange {
  double scale[2];   // their product scales a mode's numbers to the column's; two factors, as one may overflow
  double low, high;  // of the column: results are clipped to it
  double unit;       // 10^digits; 0: not rounded
};

// 4·α·stddev + mean, with α clamped to [−1, 1]. NaN becomes low: it would otherwise be a missing value.
TESSERA_HD static inline double number_of_mode(double alpha, double mean, double stddev, const NumberRange& r) {
  const double a = alpha < -1 ? -1 : alpha > 1 ? 1 : alpha;
  double x = (4 * a * stddev + mean) * r.scale[0] * r.scale[1];
  x = r.low < x ? x : r.low;
  return on_grid(r.high < x ? r.high : x, r.unit);
}

}  // namespace tessera
