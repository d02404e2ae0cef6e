#include "privacy/attacks/statistics.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace tessera::privacy {
namespace {

double log_choose(int64_t n, int64_t k) {
  return std::lgamma(static_cast<double>(n + 1)) - std::lgamma(static_cast<double>(k + 1)) -
         std::lgamma(static_cast<double>(n - k + 1));
}

// For each of `a`, the share of `b` (ascending) that it exceeds, ties counting one half.
std::vector<double> placements(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> out;
  for (const double x : a) {
    const auto [first, last] = std::equal_range(b.begin(), b.end(), x);
    out.push_back((static_cast<double>(first - b.begin()) + 0.5 * static_cast<double>(last - first)) /
                  static_cast<double>(b.size()));
  }
  return out;
}

double mean(const std::vector<double>& v) {
  double sum = 0;
  for (const double x : v) sum += x;
  return sum / static_cast<double>(v.size());
}
double variance_of_mean(const std::vector<double>& v) {
  const double m = mean(v), n = static_cast<double>(v.size());
  double sum = 0;
  for (const double x : v) sum += (x - m) * (x - m);
  return sum / (n - 1) / n;
}

}  // namespace

Interval wilson(int64_t hits, int64_t trials) {
  if (trials == 0) return {0, 0, 1};
  const double n = static_cast<double>(trials), p = static_cast<double>(hits) / n, z2 = kZ * kZ;
  const double centre = (p + z2 / (2 * n)) / (1 + z2 / n),
               half = kZ / (1 + z2 / n) * std::sqrt(p * (1 - p) / n + z2 / (4 * n * n));
  return {std::max(centre - half, 0.0), p, std::min(centre + half, 1.0)};
}

Interval difference(const Rate& a, const Rate& b) {
  const Interval x = wilson(a.hits, a.trials), y = wilson(b.hits, b.trials);
  const double d = x.value - y.value;
  return {d - std::hypot(x.value - x.low, y.high - y.value), d, d + std::hypot(x.high - x.value, y.value - y.low)};
}

double by_chance(const Rate& a, const Rate& b) {
  const int64_t hits = a.hits + b.hits, most = std::min(hits, a.trials);
  double sum = 0;
  for (int64_t k = a.hits; k <= most; ++k)
    if (hits - k <= b.trials)
      sum += std::exp(log_choose(a.trials, k) + log_choose(b.trials, hits - k) - log_choose(a.trials + b.trials, hits));
  return std::min(sum, 1.0);
}

Interval area_under_roc(const std::vector<double>& members, const std::vector<double>& others) {
  std::vector<double> m = members, o = others;
  std::sort(m.begin(), m.end());
  std::sort(o.begin(), o.end());
  const std::vector<double> of_members = placements(m, o), of_others = placements(o, m);
  const double area = mean(of_members),
               half = kZ * std::sqrt(variance_of_mean(of_members) + variance_of_mean(of_others));
  return {area - half, area, area + half};
}

Rate members_found(const std::vector<double>& members, const std::vector<double>& others, double false_positives) {
  std::vector<double> o = others;
  std::sort(o.begin(), o.end(), std::greater<>());
  const double threshold = o[static_cast<size_t>(false_positives * static_cast<double>(o.size()))];
  return {std::count_if(members.begin(), members.end(), [&](double x) { return x > threshold; }),
          static_cast<int64_t>(members.size())};
}

}  // namespace tessera::privacy
