// A column's distribution function in at most 1,001 points, and its inverse.
// Up to kPoints distinct values are stored exactly with their shares. More values are stored as quantiles at levels
// that are denser towards both ends (to preserve a heavy tail), but at least kTailRows rows apart from each other,
// because a quantile of one row would be that row's value.
#pragma once
#include <vector>

#include "kernels/math/quantiles.h"

namespace tessera {

class Quantiles {
 public:
  static constexpr int kPoints = 1001;
  static constexpr double kTailRows = 5;

  Quantiles() = default;
  // From at least one finite value, in any order.
  static Quantiles of(std::vector<double> values) { return of(std::move(values), true); }
  // Without `atoms`, even few values are stored as quantiles, with about kTailRows rows between two.
  static Quantiles of(std::vector<double> values, bool atoms);
  // From a model file. Throws Error(format) unless points ascend strictly (exact) or weakly (else), and shares ascend
  // to 1.
  static Quantiles from(std::vector<double> points, std::vector<double> shares, bool exact);

  bool empty() const { return points_.empty(); }
  bool exact() const { return exact_; }
  const std::vector<double>& points() const { return points_; }
  const std::vector<double>& shares() const { return shares_; }

  QuantileView view() const { return {points_.data(), shares_.data(), static_cast<int>(points_.size()), exact_}; }
  Rank rank(double x) const { return rank_of(view(), x); }
  // The value of rank p in [0, 1]; rank(at(p)) holds p wherever the distribution has no gap there.
  double at(double p) const { return value_at(view(), p); }

 private:
  std::vector<double> points_;
  std::vector<double> shares_;  // exact: share of values up to points_[k] · else: the level of quantile points_[k]
  bool exact_ = false;
};

}  // namespace tessera
