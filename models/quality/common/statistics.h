// Small statistics shared by the metrics. Undefined results are NaN, and null in JSON (json_number.h).
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace tessera::quality {

constexpr double kUndefined = std::numeric_limits<double>::quiet_NaN();

// Mean of the defined values, in order; undefined if there are none.
inline double mean_defined(const std::vector<double>& values) {
  double sum = 0;
  int64_t count = 0;
  for (const double v : values)
    if (!std::isnan(v)) sum += v, ++count;
  return count == 0 ? kUndefined : sum / static_cast<double>(count);
}

// Quantile q in [0, 1] of sorted values, linear between neighbors at (n − 1)·q, as in numpy.
inline double quantile_sorted(const std::vector<double>& sorted, double q) {
  if (sorted.empty()) return kUndefined;
  const double at = static_cast<double>(sorted.size() - 1) * q;
  const auto below = static_cast<size_t>(at);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (sorted[above] - sorted[below]) * (at - static_cast<double>(below));
}

inline double quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  return quantile_sorted(values, q);
}

inline double median(std::vector<double> values) { return quantile(std::move(values), 0.5); }

}  // namespace tessera::quality
