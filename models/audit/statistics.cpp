#include "models/audit/statistics.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace tessera::audit {
namespace {

double variance_of_mean(std::span<const double> v) {
  const double m = mean(v), n = static_cast<double>(v.size());
  double sum = 0;
  for (const double x : v) sum += (x - m) * (x - m);
  return n > 1 ? sum / (n - 1) / n : 0;
}

// The area at which `area` is kZ standard deviations away, towards `limit`.
double end_of_area(double area, double limit, double m, double n) {
  const double others = (m + n) / 2 - 1;
  double inside = area, outside = limit;
  for (int i = 0; i < 60; ++i) {
    const double x = (inside + outside) / 2;
    const double variance = x * (1 - x) * (1 + others * ((1 - x) / (2 - x) + x / (1 + x))) / (m * n);
    (std::abs(area - x) <= kZ * std::sqrt(variance) ? inside : outside) = x;
  }
  return inside;
}

}  // namespace

double mean(std::span<const double> values) {
  double sum = 0;
  for (const double x : values) sum += x;
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

Interval wilson(const Rate& rate) {
  if (rate.trials == 0) return {0, 0, 1};
  const double n = static_cast<double>(rate.trials), p = rate.share(), z2 = kZ * kZ;
  const double center = (p + z2 / (2 * n)) / (1 + z2 / n),
               half = kZ / (1 + z2 / n) * std::sqrt(p * (1 - p) / n + z2 / (4 * n * n));
  return {std::max(center - half, 0.0), p, std::min(center + half, 1.0)};
}

Interval difference(const Rate& a, const Rate& b) {
  const Interval x = wilson(a), y = wilson(b);
  const double d = x.value - y.value;
  return {d - std::hypot(x.value - x.low, y.high - y.value), d, d + std::hypot(x.high - x.value, y.value - y.low)};
}

Interval difference_of_means(std::span<const double> a, std::span<const double> b) {
  const auto is_hit = [](double x) { return x == 0 || x == 1; };
  const auto rate = [](std::span<const double> v) {
    return Rate{std::count(v.begin(), v.end(), 1.0), static_cast<int64_t>(v.size())};
  };
  if (std::all_of(a.begin(), a.end(), is_hit) && std::all_of(b.begin(), b.end(), is_hit))
    return difference(rate(a), rate(b));
  const double d = mean(a) - mean(b), half = kZ * std::sqrt(variance_of_mean(a) + variance_of_mean(b));
  return {d - half, d, d + half};
}

Interval area_under_roc(std::span<const double> a, std::span<const double> b) {
  std::vector<double> sorted(b.begin(), b.end());
  std::sort(sorted.begin(), sorted.end());
  double wins = 0;
  for (const double x : a) {
    const auto [first, last] = std::equal_range(sorted.begin(), sorted.end(), x);
    wins += static_cast<double>(first - sorted.begin()) + 0.5 * static_cast<double>(last - first);
  }
  const double m = static_cast<double>(a.size()), n = static_cast<double>(b.size());
  if (a.empty() || b.empty()) return {0, 0.5, 1};
  const double area = wins / m / n;
  return {end_of_area(area, 0, m, n), area, end_of_area(area, 1, m, n)};
}

Operating at_false_positives(std::span<const double> members, std::span<const double> others, double false_positives) {
  std::vector<double> o(others.begin(), others.end());
  std::sort(o.begin(), o.end(), std::greater<>());
  const double threshold = o[static_cast<size_t>(false_positives * static_cast<double>(o.size()))];
  const auto above = [&](std::span<const double> v) {
    return Rate{std::count_if(v.begin(), v.end(), [&](double x) { return x > threshold; }),
                static_cast<int64_t>(v.size())};
  };
  return {above(members), above(others)};
}

}  // namespace tessera::audit
