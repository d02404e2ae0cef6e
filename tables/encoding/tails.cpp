#include "tables/encoding/tails.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace tessera {
namespace {

constexpr size_t kMinRows = 3 * kTailRows;
constexpr size_t kMaxShared = 9;                   // rows per mean: 5 to 9
constexpr double kMinShape = -1, kMaxShape = 0.5;  // a uniform end; a tail with infinite variance
// The rows of a tail for which points are added, counted from the end; the last is about the median of the maximum over
// other tables of the same size.
constexpr std::array<double, 4> kRowsFromEnd{3, 1.5, 0.8, 0.5};

// Distance of the outermost kTailRows from the next number: P(excess > x) = (1 + shape·x/scale)^(−1/shape).
struct Excess {
  double scale, shape;
  // The excess that is exceeded by this number of the kTailRows.
  double at(double rows) const {
    const double ratio = kTailRows / rows;
    return std::abs(shape) < 1e-6 ? scale * std::log(ratio) : scale / shape * (std::pow(ratio, shape) - 1);
  }
};

// By probability-weighted moments (Hosking, Wallis 1987); `from_end(i)`: the number of row i, the outermost first.
template <class F>
Excess excess_of(F&& from_end) {
  double mean = 0, weighted = 0;
  for (size_t i = 0; i < kTailRows; ++i) {
    const double x = std::abs(from_end(i) - from_end(kTailRows)) / kTailRows;
    mean += x, weighted += (static_cast<double>(i) + 0.5) / kTailRows * x;
  }
  const double spread = mean - 2 * weighted;  // 0: all are equal
  const double shape = spread > 0 ? std::clamp(2 - mean / spread, kMinShape, kMaxShape) : kMinShape;
  return {mean * (1 - shape), shape};
}

// Points beyond the last but one of `upper` ends, ordered from there to the end.
std::vector<double> tail(std::span<const double> ascending, bool upper, double inner) {
  const size_t n = ascending.size();
  const auto from_end = [&](size_t i) { return upper ? ascending[n - 1 - i] : ascending[i]; };
  if (n < kMinRows || from_end(0) == from_end(kMaxShared)) return {from_end(0)};
  const Excess excess = excess_of(from_end);
  std::vector<double> points;
  for (const double rows : kRowsFromEnd) {
    double x = from_end(kTailRows) + (upper ? 1 : -1) * excess.at(rows);
    if ((x < 0) != (from_end(0) < 0)) x = 0;
    x = upper ? std::max(x, points.empty() ? inner : points.back())
              : std::min(x, points.empty() ? inner : points.back());
    points.push_back(x);
  }
  const bool finite = std::all_of(points.begin(), points.end(), [](double x) { return std::isfinite(x); });
  return finite ? points : std::vector<double>{from_end(0)};
}

}  // namespace

Quantiles with_tails(const Quantiles& quantiles, std::span<const double> ascending) {
  const std::vector<double>&points = quantiles.points(), &shares = quantiles.shares();
  if (quantiles.exact() || points.size() < 3 || points.size() + 2 * kRowsFromEnd.size() > Quantiles::kPoints)
    return quantiles;
  const double rows = static_cast<double>(ascending.size());
  const std::vector<double> low = tail(ascending, false, points[1]), high = tail(ascending, true, points.end()[-2]);
  std::vector<double> to, at;
  for (size_t k = low.size(); k-- > 0;)
    to.push_back(low[k]), at.push_back(k + 1 == low.size() ? 0 : kRowsFromEnd[k] / rows);
  to.insert(to.end(), points.begin() + 1, points.end() - 1);
  at.insert(at.end(), shares.begin() + 1, shares.end() - 1);
  for (size_t k = 0; k < high.size(); ++k)
    to.push_back(high[k]), at.push_back(k + 1 == high.size() ? 1 : 1 - kRowsFromEnd[k] / rows);
  return Quantiles::from(std::move(to), std::move(at), false);
}

}  // namespace tessera
