// A column's distribution function as points, and its inverse, for bins and calibration on the host and in kernels
// (tables/encoding/quantiles.h computes the points).
//   exact: point k is a value that occurs, shares[k] the share of values up to it · else: points[k] is the quantile of
//       level shares[k], linear in between
#pragma once
#include "kernels/math/host_device.h"

namespace tessera {

struct QuantileView {
  const double *points, *shares;  // both ascend
  int count;
  bool exact;
};

struct Rank {
  double below, upto;  // share of values below x, share of values up to x
  // repeated values cover a range of ranks
  TESSERA_HD double middle() const { return (below + upto) / 2; }
};

// The first of n ascending numbers that is not below x; n if all are.
TESSERA_HD static inline int not_below(const double* ascending, int n, double x) {
  int low = 0;
  for (int high = n; low < high;) {
    const int middle = (low + high) / 2;
    if (ascending[middle] < x) low = middle + 1;
    else high = middle;
  }
  return low;
}

// The first of n ascending numbers that exceeds x; n if none does.
TESSERA_HD static inline int first_above(const double* ascending, int n, double x) {
  int low = 0;
  for (int high = n; low < high;) {
    const int middle = (low + high) / 2;
    if (x < ascending[middle]) high = middle;
    else low = middle + 1;
  }
  return low;
}

TESSERA_HD static inline bool holds(const double* ascending, int n, double x) {
  const int at = not_below(ascending, n, x);
  return at < n && ascending[at] == x;
}

// Of a distribution with at least one point.
TESSERA_HD static inline Rank rank_of(const QuantileView& q, double x) {
  const int a = not_below(q.points, q.count, x), b = a + first_above(q.points + a, q.count - a, x);
  if (q.exact) return {a == 0 ? 0 : q.shares[a - 1], b == 0 ? 0 : q.shares[b - 1]};
  if (a == b) {  // between two quantiles, or outside
    if (a == 0) return {0, 0};
    if (a == q.count) return {1, 1};
    const double t = (x - q.points[a - 1]) / (q.points[a] - q.points[a - 1]),
                 p = q.shares[a - 1] + t * (q.shares[a] - q.shares[a - 1]);
    return {p, p};
  }
  // The rank range of a value that several quantiles share begins and ends halfway to their neighbors.
  return {b - a > 1 && a > 0 ? (q.shares[a - 1] + q.shares[a]) / 2 : q.shares[a],
          b - a > 1 && b < q.count ? (q.shares[b - 1] + q.shares[b]) / 2 : q.shares[b - 1]};
}

// The value of rank p in [0, 1].
TESSERA_HD static inline double value_at(const QuantileView& q, double p) {
  const int k = not_below(q.shares, q.count, p);
  if (k >= q.count) return q.points[q.count - 1];
  if (q.exact || k == 0) return q.points[k];
  const double t = (p - q.shares[k - 1]) / (q.shares[k] - q.shares[k - 1]);
  return q.points[k - 1] + t * (q.points[k] - q.points[k - 1]);
}

}  // namespace tessera
