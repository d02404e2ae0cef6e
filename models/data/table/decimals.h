// Numbers with a given number of decimals.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>

#include "kernels/math/mode_decode.h"

namespace tessera {

// Each is exact in a double.
constexpr std::array<double, 23> kPowersOfTen{1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                              1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

// 10^decimals for on_grid() and NumberRange; 0 for decimals < 0.
inline double grid_of(int decimals) {
  return decimals < 0 ? 0 : kPowersOfTen[static_cast<size_t>(std::min(decimals, 15))];
}
inline double round_decimals(double x, int decimals) { return on_grid(x, grid_of(decimals)); }

}  // namespace tessera
