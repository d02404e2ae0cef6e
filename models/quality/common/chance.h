// Expected differences between two samples of one table.
#pragma once
#include <cmath>

namespace tessera::quality {

// Mean of |difference| of a share in samples of `rows` and `other` rows: √(2/π) standard deviations.
inline double mean_difference(double share, double rows, double other) {
  return std::sqrt(share * (1 - share) * (1 / rows + 1 / other) * 0.6366197723675814);
}

}  // namespace tessera::quality
