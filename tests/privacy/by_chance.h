// Fisher's exact test, one-sided: the probability that of all hits as many as `a` has, or more, fall on a's trials if
// both shares are equal.
#pragma once
#include <algorithm>
#include <cmath>

#include "models/audit/statistics.h"

namespace tessera::audit {

inline double log_choose(int64_t n, int64_t k) {
  return std::lgamma(static_cast<double>(n + 1)) - std::lgamma(static_cast<double>(k + 1)) -
         std::lgamma(static_cast<double>(n - k + 1));
}

inline double by_chance(const Rate& a, const Rate& b) {
  const int64_t hits = a.hits + b.hits, most = std::min(hits, a.trials);
  double sum = 0;
  for (int64_t k = a.hits; k <= most; ++k)
    if (hits - k <= b.trials)
      sum += std::exp(log_choose(a.trials, k) + log_choose(b.trials, hits - k) - log_choose(a.trials + b.trials, hits));
  return std::min(sum, 1.0);
}

}  // namespace tessera::audit
