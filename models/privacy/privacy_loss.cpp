#include "models/privacy/privacy_loss.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <numbers>
#include <numeric>

#include "base/error.h"

namespace tessera {
namespace {

constexpr double kFarSigmas = 10;  // a normal variable is further out with a probability of 1.5e-23

double normal_below(double x) { return std::erfc(-x / std::numbers::sqrt2) / 2; }
// P(low < z <= high), without cancellation in either tail
double normal_between(double low, double high) {
  return low > 0 ? normal_below(-low) - normal_below(-high) : normal_below(high) - normal_below(low);
}

void fft(std::vector<std::complex<double>>& x, bool back) {
  const size_t n = x.size();
  for (size_t i = 1, j = 0; i < n; ++i) {
    size_t bit = n >> 1;
    for (; (j & bit) != 0; bit >>= 1) j ^= bit;
    j ^= bit;
    if (i < j) std::swap(x[i], x[j]);
  }
  std::vector<std::complex<double>> roots(n / 2);
  const double turn = (back ? 2 : -2) * std::numbers::pi / static_cast<double>(n);
  for (size_t k = 0; k < n / 2; ++k) roots[k] = std::polar(1.0, turn * static_cast<double>(k));
  for (size_t half = 1; half < n; half *= 2)
    for (size_t at = 0; at < n; at += 2 * half)
      for (size_t k = 0; k < half; ++k) {
        const std::complex<double> a = x[at + k], b = x[at + k + half] * roots[k * (n / (2 * half))];
        x[at + k] = a + b, x[at + k + half] = a - b;
      }
  if (back)
    for (auto& v : x) v /= static_cast<double>(n);
}

}  // namespace

void PrivacyLoss::add(double p, double q, double loss) {
  const auto last = static_cast<int64_t>(mass_.size()) - 1;
  const double at = loss / step_ - static_cast<double>(low_);
  if (at <= 0) mass_[0] += p;  // rounded up
  else if (at >= static_cast<double>(last)) infinite_ += p;
  else {
    // the losses of the two grid points are known exactly, and so are p and q: two equations
    const auto i = static_cast<size_t>(at);
    const double lower = static_cast<double>(low_ + static_cast<int64_t>(i)) * step_;
    const double share = (q * std::exp(lower + step_) - p) / std::expm1(step_);
    const double below = std::clamp(share, 0.0, p);
    mass_[i] += below, mass_[i + 1] += p - below;
  }
}

PrivacyLoss PrivacyLoss::on_grid(double low, double high, double step, const Masses& masses, double above) {
  PrivacyLoss out;
  out.step_ = step, out.infinite_ = above;
  out.low_ = static_cast<int64_t>(std::floor(low / step));
  const auto end = static_cast<int64_t>(std::ceil(high / step));
  out.mass_.assign(static_cast<size_t>(end - out.low_ + 2), 0);
  double p = 0, q = 0;
  masses(-std::numeric_limits<double>::infinity(), static_cast<double>(out.low_) * step, p, q);
  out.mass_[0] += p;
  for (int64_t i = out.low_; i < end; ++i) {
    const double from = static_cast<double>(i) * step;
    masses(from, from + step, p, q);
    out.add(p, q, from + step / 2);
  }
  return out;
}

PrivacyLoss PrivacyLoss::gaussian(double sigma, double sensitivity, double step) {
  const double mu = sensitivity / sigma, mean = mu * mu / 2;
  const auto masses = [&](double low, double high, double& p, double& q) {
    p = normal_between((low - mean) / mu, (high - mean) / mu);
    q = normal_between((low + mean) / mu, (high + mean) / mu);
  };
  const double end = std::ceil((mean + kFarSigmas * mu) / step) * step;
  return on_grid(mean - kFarSigmas * mu, end, step, masses, normal_below((mean - end) / mu));
}

PrivacyLoss PrivacyLoss::discrete_gaussian(double sigma2, int64_t sensitivity, double step) {
  const auto shift = static_cast<double>(sensitivity);
  const auto far = static_cast<int64_t>(std::ceil(kFarSigmas * std::sqrt(sigma2))) + sensitivity;
  const auto weight = [&](int64_t k) { return std::exp(-static_cast<double>(k * k) / (2 * sigma2)); };
  double total = 0;
  for (int64_t k = -far; k <= far; ++k) total += weight(k);
  const double end = (shift * shift + 2 * static_cast<double>(far) * shift) / (2 * sigma2) + step;
  PrivacyLoss out = on_grid(
      -end, end, step, [](double, double, double& p, double& q) { p = q = 0; }, 1e-22);
  for (int64_t k = -far; k <= far; ++k)
    out.add(weight(k) / total, weight(k - sensitivity) / total,
            (shift * shift - 2 * static_cast<double>(k) * shift) / (2 * sigma2));
  return out;
}

PrivacyLoss PrivacyLoss::subsampled_gaussian(double sigma, double rate, Neighbor neighbor, double step) {
  const bool removed = neighbor == Neighbor::removed;
  const double infinity = std::numeric_limits<double>::infinity(), least = std::log1p(-rate);
  // The mixture's density over that of no row is 1 − rate + rate·exp((2x − 1)/2σ²): the x where its logarithm is l.
  const auto place = [&](double l) {
    return l <= least ? -infinity : 0.5 + sigma * sigma * (std::log(std::expm1(l) + rate) - std::log(rate));
  };
  const auto none = [&](double a, double b) { return normal_between(a / sigma, b / sigma); };
  const auto mixture = [&](double a, double b) {
    return (1 - rate) * none(a, b) + rate * normal_between((a - 1) / sigma, (b - 1) / sigma);
  };
  const auto masses = [&](double low, double high, double& p, double& q) {
    const double a = place(removed ? low : -high), b = place(removed ? high : -low);
    p = removed ? mixture(a, b) : none(a, b);
    q = removed ? none(a, b) : mixture(a, b);
  };
  const auto ratio = [&](double x) { return std::log1p(rate * std::expm1((2 * x - 1) / (2 * sigma * sigma))); };
  const double most = ratio(1 + kFarSigmas * sigma), lowest = ratio(-kFarSigmas * sigma);
  double p = 0, q = 0;
  const double end = std::ceil((removed ? most : -lowest) / step) * step;
  masses(end, infinity, p, q);
  return on_grid(removed ? lowest : -most, end, step, masses, p);
}

double PrivacyLoss::bound(const std::vector<Times>& mechanisms, bool upper) {
  double best = std::numeric_limits<double>::infinity();
  const double sign = upper ? 1 : -1;
  for (double lambda = 0.25; lambda < 1e4; lambda *= 1.5) {  // Chernoff's bound, by the best of many λ
    double log_moment = 0;
    for (const Times& m : mechanisms) {
      const auto exponent = [&](size_t i) {
        return sign * lambda * static_cast<double>(m.loss.low_ + static_cast<int64_t>(i)) * m.loss.step_;
      };
      size_t end = upper ? m.loss.mass_.size() - 1 : 0;  // the last point with a mass
      while (m.loss.mass_[end] <= 0) upper ? --end : ++end;
      const double top = exponent(end);
      double sum = 0;
      for (size_t i = 0; i < m.loss.mass_.size(); ++i)
        if (m.loss.mass_[i] > 0) sum += m.loss.mass_[i] * std::exp(exponent(i) - top);
      log_moment += static_cast<double>(m.times) * (std::log(sum) + top);
    }
    best = std::min(best, (log_moment - std::log(kTail)) / lambda);
  }
  return sign * best;
}

PrivacyLoss PrivacyLoss::composed(const std::vector<Times>& mechanisms) {
  if (mechanisms.empty()) {
    PrivacyLoss none;
    none.mass_ = {1};
    return none;
  }
  const double step = mechanisms.front().loss.step_;
  const auto low = static_cast<int64_t>(std::floor(bound(mechanisms, false) / step)) - 1;
  const auto high = static_cast<int64_t>(std::ceil(bound(mechanisms, true) / step)) + 1;
  size_t n = 1;
  while (static_cast<int64_t>(n) < high - low + 1) n *= 2;
  constexpr size_t kMaxPoints = size_t{1} << 24;
  if (n > kMaxPoints)
    throw Error(ErrorCode::usage, "`epsilon`: the privacy loss is too large to be accounted.\n  Use a smaller one.");
  const auto place = [&](int64_t i) {  // circular
    const auto m = static_cast<int64_t>(n);
    return static_cast<size_t>(((i % m) + m) % m);
  };
  std::vector<std::complex<double>> product(n, 1.0), one(n);
  double finite = 1;
  for (const Times& m : mechanisms) {
    if (m.loss.step_ != step) throw Error(ErrorCode::internal, "privacy losses on different grids");
    std::fill(one.begin(), one.end(), 0.0);
    for (size_t i = 0; i < m.loss.mass_.size(); ++i)
      one[place(m.loss.low_ + static_cast<int64_t>(i))] += m.loss.mass_[i];
    fft(one, false);
    for (size_t k = 0; k < n; ++k) product[k] *= std::pow(one[k], static_cast<double>(m.times));
    finite *= std::pow(1 - m.loss.infinite_, static_cast<double>(m.times));
  }
  fft(product, true);
  PrivacyLoss out;
  out.step_ = step, out.low_ = low;
  out.mass_.resize(n);
  for (size_t i = 0; i < n; ++i) out.mass_[i] = std::max(0.0, product[place(low + static_cast<int64_t>(i))].real());
  out.infinite_ = 1 - finite + 2 * kTail;
  const double all = std::accumulate(out.mass_.begin(), out.mass_.end(), out.infinite_);
  if (!(std::abs(all - 1) < 1e-9)) throw Error(ErrorCode::internal, "a privacy loss does not add up to 1");
  return out;
}

double PrivacyLoss::delta(double epsilon) const {
  double sum = infinite_;
  for (size_t i = 0; i < mass_.size(); ++i) {
    const double over = static_cast<double>(low_ + static_cast<int64_t>(i)) * step_ - epsilon;
    if (over > 0) sum -= mass_[i] * std::expm1(-over);
  }
  return std::min(sum, 1.0);
}

double PrivacyLoss::epsilon(double wanted) const {
  if (infinite_ > wanted) return std::numeric_limits<double>::infinity();
  double low = 0, high = std::max(0.0, static_cast<double>(low_ + static_cast<int64_t>(mass_.size())) * step_);
  if (delta(0) <= wanted) return 0;
  while (high - low > 1e-9 * (1 + high)) {
    const double middle = (low + high) / 2;
    (delta(middle) > wanted ? low : high) = middle;
  }
  return high;
}

namespace {

// Canonne, Kamath, Steinke 2020, proposition 12, for the Rényi divergence of order `a`.
double epsilon_of_order(double divergence, double a, double delta) {
  return divergence + std::log1p(-1 / a) - (std::log(delta) + std::log(a)) / (a - 1);
}

}  // namespace

double epsilon_of_zcdp(double rho, double delta) {
  double best = std::numeric_limits<double>::infinity();
  for (double a = 1.01; a < 1e5; a = 1 + (a - 1) * 1.01) best = std::min(best, epsilon_of_order(rho * a, a, delta));
  return std::max(best, 0.0);
}

double epsilon_of_subsampled_rdp(double sigma, double rate, int64_t times, double delta, double rho) {
  double best = std::numeric_limits<double>::infinity();
  for (int a = 2; a <= 256; ++a) {
    double log_sum = -std::numeric_limits<double>::infinity();
    for (int k = 0; k <= a; ++k) {
      const double term = std::lgamma(a + 1) - std::lgamma(k + 1) - std::lgamma(a - k + 1) + k * std::log(rate) +
                          (a - k) * std::log1p(-rate) + (static_cast<double>(k) * k - k) / (2 * sigma * sigma);
      const double top = std::max(log_sum, term);
      log_sum = top + std::log(std::exp(log_sum - top) + std::exp(term - top));
    }
    best = std::min(best, epsilon_of_order(static_cast<double>(times) * log_sum / (a - 1) + rho * a, a, delta));
  }
  return std::max(best, 0.0);
}

double gaussian_budget(double epsilon, double delta) {
  const auto spent = [&](double mu) {  // Balle, Wang 2018, arXiv 1805.06530
    return normal_below(mu / 2 - epsilon / mu) - std::exp(epsilon) * normal_below(-mu / 2 - epsilon / mu);
  };
  double low = 0, high = 1;
  while (spent(high) < delta && high < 1e3) high *= 2;
  for (int i = 0; i < 100; ++i) {
    const double middle = (low + high) / 2;
    (spent(middle) <= delta ? low : high) = middle;
  }
  return low;
}

}  // namespace tessera
