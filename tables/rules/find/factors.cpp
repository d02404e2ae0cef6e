#include "tables/rules/find/factors.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tessera {

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

double short_number(double x, double near) {
  constexpr int kFew = 3, kMax = 6;  // digits: from the first on 1/3 is shorter than 0.3333
  for (int digits = -kMax; digits <= kMax; ++digits) {
    const double tens = std::pow(10.0, std::abs(digits));  // exact, as 1 / tens would not be
    const double rounded = digits < 0 ? std::nearbyint(x / tens) * tens : std::nearbyint(x * tens) / tens;
    if (std::abs(rounded - x) <= near) return rounded;
    const double inverse = std::nearbyint(1 / x);
    if (digits == kFew && std::abs(1 / inverse - x) <= near) return 1 / inverse;
  }
  return x;
}

double simplest_between(double below, double above, Ends ends, int most) {
  constexpr int kFew = 3;
  const auto lies_between = [=](double x) {
    return (ends == Ends::above ? below < x : below <= x) && (ends == Ends::below ? x < above : x <= above);
  };
  for (int digits = -most; digits <= most; ++digits) {
    const double tens = std::pow(10.0, std::abs(digits));
    for (const double part : {10, 5, 2}) {
      const double parts = (digits < 0 ? below / tens : below * tens) / part;
      const double whole = (ends == Ends::above ? std::floor(parts) + 1 : std::ceil(parts)) * part;
      // and its neighbors: the quotient may be rounded away from a whole number
      for (const double near : {whole - part, whole, whole + part})
        if (const double x = digits < 0 ? near * tens : near / tens; lies_between(x)) return x + 0.0;
    }
    if (digits == kFew && ends == Ends::both && below > 0)
      for (const double n : {std::ceil(1 / above), std::ceil(1 / above) + 1})
        if (n > 1 && lies_between(1 / n)) return 1 / n;
  }
  return kMissing;
}

double half_unit(const Column& column) {
  const int digits = digits_of(column);
  if (digits == kAllDigits) return 0;
  return 0.5 * std::pow(10.0, -digits) / kind_of(column).unit;
}

std::unordered_map<double, size_t> frequent_numbers(const std::vector<double>& numbers) {
  constexpr double kShare = 0.01, kMaxOfSmallTable = 4;
  const double most = std::max(kShare * static_cast<double>(numbers.size()), kMaxOfSmallTable);
  std::unordered_map<double, size_t> out;
  for (const double x : numbers) ++out[x];
  std::erase_if(out, [&](const auto& held) { return static_cast<double>(held.second) <= most; });
  return out;
}

size_t distinct_of(std::vector<double> numbers) {
  std::erase_if(numbers, [](double v) { return v != v; });
  std::sort(numbers.begin(), numbers.end());
  return static_cast<size_t>(std::unique(numbers.begin(), numbers.end()) - numbers.begin());
}

}  // namespace tessera
