// Numbers with a given number of decimals.
#pragma once
#include <algorithm>
#include <cstddef>

#include "base/text/powers_of_ten.h"
#include "kernels/math/mode_decode.h"

namespace tessera {

// 10^decimals for on_grid() and NumberRange; 0 for decimals < 0.
inline double grid_of(int decimals) {
  return decimals < 0 ? 0 : kPowersOfTen[static_cast<size_t>(std::min(decimals, 15))];
}
inline double round_decimals(double x, int decimals) { return on_grid(x, grid_of(decimals)); }

}  // namespace tessera
