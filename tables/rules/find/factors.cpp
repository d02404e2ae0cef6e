#include "tables/rules/find/factors.h"

#include <fmt/format.h>

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

std::optional<Line> line_through(const std::vector<double>& x, const std::vector<double>& y, double half) {
  constexpr size_t kMinRows = 30;
  constexpr double kRounding = 1e-9;  // relative to a deviation: rounding error of x, which may be a function
  double rows = 0, sx = 0, sy = 0, xx = 0, yy = 0, xy = 0, squares = 0;
  const auto each = [&](auto&& f) {
    for (size_t i = 0; i < x.size(); ++i)
      if (x[i] == x[i] && y[i] == y[i]) f(x[i], y[i]);
  };
  each([&](double a, double b) { ++rows, sx += a, sy += b; });
  if (rows < kMinRows) return {};
  each([&](double a, double b) {
    xx += (a - sx / rows) * (a - sx / rows), yy += (b - sy / rows) * (b - sy / rows);
    xy += (a - sx / rows) * (b - sy / rows);
  });
  if (!(xx > 0 && yy > 0 && std::isfinite(xx) && std::isfinite(yy))) return {};
  const double slope = xy / xx, ahead = (sy - slope * sx) / rows, mean = sy / rows;
  each([&](double a, double b) { squares += std::pow(b - slope * a - ahead, 2); });
  const double rest = std::sqrt(squares / rows), deviation = std::sqrt(yy / rows);
  if (!(rest <= std::max(1.5 * half, kRounding * deviation)) || deviation < 10 * half) return {};
  // four deviations of a mean over the rows
  const double near = 4 * std::max({rest, 0.58 * half, kRounding * deviation}) / std::sqrt(rows);
  Line out{short_number(slope, near / std::sqrt(xx / rows))};
  // halves that are all rounded up move the mean by half of one
  out.constant = short_number(mean - out.factor * sx / rows, std::max(0.6 * half, kRounding * std::abs(mean)));
  return out;
}

std::string line_text(const Line& line, const std::string& x) {
  const auto times = [&](double by) { return by == 1 ? x : fmt::format("{} * {}", by, x); };
  if (line.constant == 0) return times(line.factor);
  if (line.factor < 0) return fmt::format("{} - {}", line.constant, times(-line.factor));
  return fmt::format("{} {} {}", times(line.factor), line.constant < 0 ? "-" : "+", std::abs(line.constant));
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
