#include "tables/encoding/number_code.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/cpu/cpu_features.h"
#include "tables/mixture/mixture.h"
#include "tables/table/decimals.h"

namespace tessera {
namespace {

constexpr double kValidWeight = 0.005;  // modes of less weight are dropped, as the reference does
constexpr double kModeFloor = 1e-6;     // added to every responsibility before a mode is drawn, as the reference does
constexpr float kAlphaLimit = 0.99f;
constexpr int kExactGroups = 4096;          // up to this many distinct values the fit is exact, in double
constexpr int kGroups = 8192;               // beyond, this many groups, in float
constexpr double kCovarianceFloor = 1e-10;  // in units of the column's variance

// 2^e as two factors, because one may overflow: x·first·second is exact unless the result is out of range.
struct PowerOfTwo {
  double first, second;
  explicit PowerOfTwo(int e) : first(std::ldexp(1.0, e / 2)), second(std::ldexp(1.0, e - e / 2)) {}
  double times(double x) const { return x * first * second; }
};

// Ordinary numbers are unchanged; a column of huge or tiny ones is scaled to [−1, 1], where squares neither overflow
// nor vanish.
int scaling_exponent(double low, double high) {
  const double largest = std::max(std::abs(low), std::abs(high));
  if (largest == 0) return 0;
  const int e = std::ilogb(largest) + 1;
  return std::abs(e) < 400 ? 0 : e;
}

}  // namespace

NumberRange NumberCode::range() const {
  const PowerOfTwo scale(exponent);
  return {{scale.first, scale.second}, low, high, grid_of(decimals)};
}

void NumberCode::fit_modes(std::span<const double> ascending, const NumberCodeOptions& o) {
  exponent = scaling_exponent(ascending.front(), ascending.back());
  const PowerOfTwo scale(-exponent);
  const size_t n = ascending.size();

  // Standardized about the first value, whose difference to its neighbors is exact: even adjacent doubles have a
  // width.
  const double origin = scale.times(ascending[0]);
  std::vector<double> z(n);
  double sum = 0, squares = 0;
  for (size_t i = 0; i < n; ++i) sum += z[i] = scale.times(ascending[i]) - origin;
  const double center = sum / static_cast<double>(n);
  for (const double d : z) squares += (d - center) * (d - center);
  const double sd = std::sqrt(squares / static_cast<double>(n));
  for (double& d : z) d = (d - center) / sd;

  MixtureOptions m;
  m.components = static_cast<int>(std::min<size_t>(static_cast<size_t>(o.max_modes), n));
  m.covariance_floor = kCovarianceFloor;
  Groups groups = group_sorted(z, kGroups);
  const MixturePrecision precision = groups.size() <= kExactGroups ? MixturePrecision::fp64 : MixturePrecision::fp32;
  const Mixture mixture = fit_mixture(groups, m, o.seed, o.stream, precision);

  std::vector<double> log_density(static_cast<size_t>(mixture.components()));
  for (size_t k = 0; k < mixture.weights.size(); ++k) {
    if (mixture.weights[k] <= kValidWeight) continue;
    mixture.log_responsibilities(mixture.means[k], log_density);
    mean.push_back(origin + (center + mixture.means[k] * sd));
    stddev.push_back(std::sqrt(mixture.covariances[k]) * sd);
    offset.push_back(log_density[k]);
  }
}

LogDensity<double> NumberCode::density() const {
  LogDensity<double> d;
  d.components = modes();
  for (size_t k = 0; k < mean.size(); ++k) {
    d.offset[k] = offset[k];
    d.mean[k] = mean[k];
    d.steepness[k] = 1 / (std::sqrt(2.0) * stddev[k]);
  }
  return d;
}

int64_t NumberCode::encode(const double* x, const float* uniform, int64_t n, float* alpha, int64_t alpha_stride,
                           int32_t* code, int64_t code_stride) const {
  constexpr int64_t kBlock = 1024;
  const LogDensity<double> d = density();
  const PowerOfTwo scale(-exponent);
  std::array<double, kBlock> z;
  std::array<int32_t, kBlock> mode;
  for (int64_t start = 0; start < n; start += kBlock) {
    const int64_t rows = std::min(kBlock, n - start);
    for (int64_t i = 0; i < rows; ++i) {
      const double v = x[start + i];
      z[static_cast<size_t>(i)] = v != v ? mean[0] : exponent == 0 ? v : scale.times(v);
    }
    array_kernels().draw_modes(d, kModeFloor, z.data(), uniform + start, rows, mode.data());
    for (int64_t i = 0; i < rows; ++i) {
      const double v = x[start + i];
      float& a = alpha[(start + i) * alpha_stride];
      int32_t& c = code[(start + i) * code_stride];
      a = 0;
      if (v != v) {
        if (!missing) return start + i;
        c = width() - 1;
        continue;
      }
      const auto spike = std::lower_bound(spikes.begin(), spikes.end(), v);
      if (spike != spikes.end() && *spike == v) {
        c = modes() + static_cast<int32_t>(spike - spikes.begin());
        continue;
      }
      c = mode[static_cast<size_t>(i)];
      const size_t k = static_cast<size_t>(c);
      a = std::clamp(static_cast<float>((z[static_cast<size_t>(i)] - mean[k]) / (4 * stddev[k])), -kAlphaLimit,
                     kAlphaLimit);
    }
  }
  return -1;
}

void NumberCode::decode(const float* alpha, int64_t alpha_stride, const int32_t* code, int64_t code_stride, int64_t n,
                        double* x) const {
  const NumberRange r = range();
  const int32_t first_mark = modes() + static_cast<int32_t>(spikes.size());
  for (int64_t i = 0; i < n; ++i) {
    const int32_t c = code[i * code_stride];
    const size_t k = static_cast<size_t>(c);
    if (c < modes()) x[i] = number_of_mode(static_cast<double>(alpha[i * alpha_stride]), mean[k], stddev[k], r);
    else x[i] = c < first_mark ? spikes[static_cast<size_t>(c - modes())] : std::numeric_limits<double>::quiet_NaN();
  }
}

}  // namespace tessera
