#include "models/calibration/quantiles.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "engine/error.h"

namespace tessera {

Quantiles Quantiles::of(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  const double n = static_cast<double>(v.size());
  Quantiles q;
  for (size_t i = 0; i < v.size() && q.points_.size() <= kPoints; ++i) {
    if (i + 1 < v.size() && v[i + 1] == v[i]) continue;
    q.points_.push_back(v[i]);
    q.shares_.push_back(static_cast<double>(i + 1) / n);
  }
  if (q.points_.size() <= kPoints) {
    q.exact_ = true;
    return q;
  }
  q.points_.clear();
  q.shares_.clear();
  const double finest = std::min(kTailRows / n, 0.25);
  for (int k = 0; k < kPoints; ++k) {
    const double level = 0.5 * (1 - std::cos(std::numbers::pi * k / (kPoints - 1)));
    const bool end = k == 0 || k == kPoints - 1;
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
    if (!ok) throw Error(ErrorCode::format, "a calibrated column's quantiles do not ascend.");
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

Quantiles::Rank Quantiles::rank(double x) const {
  const auto low = std::lower_bound(points_.begin(), points_.end(), x), high = std::upper_bound(low, points_.end(), x);
  const auto a = static_cast<size_t>(low - points_.begin()), b = static_cast<size_t>(high - points_.begin());
  if (exact_) return {a == 0 ? 0 : shares_[a - 1], b == 0 ? 0 : shares_[b - 1]};
  if (a == b) {  // between two quantiles, or outside
    if (a == 0) return {0, 0};
    if (a == points_.size()) return {1, 1};
    const double t = (x - points_[a - 1]) / (points_[a] - points_[a - 1]), p = shares_[a - 1] + t * (shares_[a] - shares_[a - 1]);
    return {p, p};
  }
  // A value that several quantiles share begins and ends somewhere between them and their neighbours.
  const double below = b - a > 1 && a > 0 ? (shares_[a - 1] + shares_[a]) / 2 : shares_[a];
  const double upto = b - a > 1 && b < points_.size() ? (shares_[b - 1] + shares_[b]) / 2 : shares_[b - 1];
  return {below, upto};
}

double Quantiles::at(double p) const {
  const auto k = static_cast<size_t>(std::lower_bound(shares_.begin(), shares_.end(), p) - shares_.begin());
  if (k >= shares_.size()) return points_.back();
  if (exact_ || k == 0) return points_[k];
  const double t = (p - shares_[k - 1]) / (shares_[k] - shares_[k - 1]);
  return points_[k - 1] + t * (points_[k] - points_[k - 1]);
}

}  // namespace tessera
