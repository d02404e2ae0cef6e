#include "timing/timings.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

namespace {

constexpr double kMaterial = 1.2;  // smaller ratios do not matter

// The 97.5 % quantile of Student's t by degrees of freedom; beyond the table 1.96 + 2.4 / n is accurate to 0.1 %.
double student(size_t degrees) {
  constexpr std::array<double, 10> kTable{12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228};
  return degrees <= kTable.size() ? kTable[degrees - 1] : 1.96 + 2.4 / static_cast<double>(degrees);
}

}  // namespace

double Timings::mean() const {
  return std::accumulate(seconds_.begin(), seconds_.end(), 0.0) / static_cast<double>(seconds_.size());
}

double Timings::margin() const {
  const size_t n = seconds_.size();
  if (n < 2) return std::numeric_limits<double>::infinity();
  const double m = mean();
  double squares = 0;
  for (const double s : seconds_) squares += (s - m) * (s - m);
  const auto count = static_cast<double>(n);
  return student(n - 1) * std::sqrt(squares / (count - 1) / count);
}

Interval operator+(const Interval& a, const Interval& b) { return {a.value + b.value, std::hypot(a.margin, b.margin)}; }
Interval operator*(double times, const Interval& a) { return {times * a.value, times * a.margin}; }

bool no_material_difference(const Interval& a, const Interval& b) {
  const bool overlap = a.low() <= b.high() && b.low() <= a.high();
  return overlap || std::max(a.value, b.value) < kMaterial * std::min(a.value, b.value);
}
