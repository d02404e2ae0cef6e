#include "tables/protection/quantiles.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/error.h"

namespace tessera {

Quantiles Quantiles::of(std::vector<double> v, bool atoms) {
  std::sort(v.begin(), v.end());
  const double n = static_cast<double>(v.size());
  Quantiles q;
  for (size_t i = 0; i < v.size() && q.points_.size() <= kPoints; ++i) {
    if (i + 1 < v.size() && v[i + 1] == v[i]) continue;
    q.points_.push_back(v[i]);
    q.shares_.push_back(static_cast<double>(i + 1) / n);
  }
  const bool few = q.points_.size() <= kPoints;
  if (few && (atoms || q.points_.size() < 2)) {
    q.exact_ = true;
    return q;
  }
  const int count = few ? std::clamp(static_cast<int>(n / kTailRows), 2, kPoints) : kPoints;
  q.points_.clear();
  q.shares_.clear();
  const double finest = std::min(kTailRows / n, 0.25);
  for (int k = 0; k < count; ++k) {
    const double level = 0.5 * (1 - std::cos(std::numbers::pi * k / (count - 1)));
    const bool end = k == 0 || k == count - 1;
    if (!end && (level < finest || level > 1 - finest)) continue;
    const double at = level * (n - 1), whole = std::floor(at);
    const size_t i = std::min(static_cast<size_t>(whole), v.size() - 1), j = std::min(i + 1, v.size() - 1);
    q.points_.push_back(v[i] + (at - whole) * (v[j] - v[i]));
    q.shares_.push_back(level);
  }
  return q;
}

Quantiles Quantiles::from(std::vector<double> points, std::vector<double> shares, bool exact) {
  auto need = [](bool ok) {
    if (!ok) throw Error(ErrorCode::format, "a column's quantiles are not ascending.");
  };
  need(points.size() == shares.size() && points.size() <= kPoints);
  for (size_t k = 0; k < points.size(); ++k) {
    need(std::isfinite(points[k]) && shares[k] >= 0 && shares[k] <= 1);
    need(k == 0 || ((exact ? points[k - 1] < points[k] : points[k - 1] <= points[k]) && shares[k - 1] < shares[k]));
  }
  need(points.empty() || (shares.back() == 1 && (exact || (points.size() >= 2 && shares.front() == 0))));
  Quantiles q;
  q.points_ = std::move(points);
  q.shares_ = std::move(shares);
  q.exact_ = exact;
  return q;
}

}  // namespace tessera
