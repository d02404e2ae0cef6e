#include "tables/mixture/mixture.h"

#include <cmath>
#include <limits>
#include <numbers>

#include "base/cpu/cpu_features.h"
#include "base/error.h"

namespace tessera {
namespace {

constexpr double kEmpty = 10 * std::numeric_limits<double>::epsilon();  // keeps a component without rows finite

// ψ(x), x > 0: recurrence up to 10, then the asymptotic series; absolute error below 1e-15 of the leading term.
double digamma(double x) {
  double sum = 0;
  for (; x < 10; x += 1) sum -= 1 / x;
  const double s = 1 / (x * x);
  return sum + std::log(x) - 0.5 / x -
         s * (1.0 / 12 -
              s * (1.0 / 120 -
                   s * (1.0 / 252 - s * (1.0 / 240 - s * (1.0 / 132 - s * (691.0 / 32760 - s * (1.0 / 12)))))));
}

// std::lgamma writes the global signgam, which threads must not share; x > 0, so only the value is needed.
double log_gamma(double x) {
  double shift = 0;
  if (x < 10) {
    double product = 1;
    for (; x < 10; x += 1) product *= x;
    shift = -std::log(product);
  }
  const double s = 1 / (x * x);
  const double series =
      (1.0 / 12 -
       s * (1.0 / 360 -
            s * (1.0 / 1260 - s * (1.0 / 1680 - s * (1.0 / 1188 - s * (691.0 / 360360 - s * (1.0 / 156))))))) /
      x;
  return shift + (x - 0.5) * std::log(x) - x + 0.5 * std::log(2 * std::numbers::pi) + series;
}

double log_beta(double a, double b) { return log_gamma(a) + log_gamma(b) - log_gamma(a + b); }

// The sums of a component over the rows: Σ r, and about the point `about`: Σ r (x − about), Σ r (x − about)² and Σ r ·
// spread.
struct Evidence {
  ComponentSums sums;
  double about = 0;
};

struct Prior {
  double mean;      // m0
  double variance;  // S0
};

Prior prior_of(const Groups& g) {
  double rows = 0, sum = 0, squares = 0;
  for (size_t i = 0; i < g.size(); ++i) rows += g.count[i], sum += g.count[i] * g.value[i];
  const double mean = sum / rows;
  for (size_t i = 0; i < g.size(); ++i)
    squares += g.count[i] * ((g.value[i] - mean) * (g.value[i] - mean) + g.spread[i]);
  return {mean, rows > 1 ? squares / (rows - 1) : 0};
}

void maximize(const std::vector<Evidence>& evidence, const Prior& prior, const MixtureOptions& o, Mixture& m) {
  const size_t components = evidence.size();
  double later = 0;  // Σ_{j>k} N_j
  for (size_t k = components; k-- > 0;) {
    const auto& [sums, about] = evidence[k];
    const double rows = sums.weight + kEmpty;
    const double mean = (sums.weight * about + sums.first) / rows, shift = mean - about;
    const double variance =
        (sums.second - 2 * shift * sums.first + shift * shift * sums.weight + sums.spread) / rows + o.covariance_floor;
    m.stick_a[k] = 1 + rows;
    m.stick_b[k] = o.weight_concentration + later;
    m.mean_precision[k] = o.mean_precision + rows;
    m.means[k] = (o.mean_precision * prior.mean + rows * mean) / m.mean_precision[k];
    m.degrees_of_freedom[k] = o.degrees_of_freedom + rows;
    const double off = mean - prior.mean;
    m.covariances[k] = (prior.variance + rows * variance + o.mean_precision * rows / m.mean_precision[k] * off * off) /
                       m.degrees_of_freedom[k];
    later += rows;
  }
}

// The part of ln ρ_k that does not depend on x.
void log_offsets(const Mixture& m, double* offset) {
  double sticks = 0;  // Σ_{j<k} [ψ(b_j) − ψ(a_j + b_j)]
  for (size_t k = 0; k < m.means.size(); ++k) {
    const double a = m.stick_a[k], b = m.stick_b[k], nu = m.degrees_of_freedom[k], both = digamma(a + b);
    const double gauss = -0.5 * std::log(2 * std::numbers::pi) - 0.5 * std::log(m.covariances[k]) - 0.5 * std::log(nu) +
                         0.5 * (std::numbers::ln2 + digamma(nu / 2) - 1 / m.mean_precision[k]);
    offset[k] = digamma(a) - both + sticks + gauss;
    sticks += digamma(b) - both;
  }
}

double bound(const Mixture& m, double entropy) {
  double sum = entropy;
  for (size_t k = 0; k < m.means.size(); ++k) {
    const double nu = m.degrees_of_freedom[k];
    sum += nu * (-0.5 * std::log(m.covariances[k]) - 0.5 * std::log(nu)) + 0.5 * nu * std::numbers::ln2 +
           log_gamma(nu / 2);
    sum += log_beta(m.stick_a[k], m.stick_b[k]) - 0.5 * std::log(m.mean_precision[k]);
  }
  return sum;
}

void set_weights(Mixture& m) {
  double rest = 1, total = 0;
  for (size_t k = 0; k < m.means.size(); ++k) {
    const double both = m.stick_a[k] + m.stick_b[k];
    m.weights[k] = rest * m.stick_a[k] / both;
    rest *= m.stick_b[k] / both;
    total += m.weights[k];
  }
  for (double& w : m.weights) w /= total;
}

// The groups for the E step: about the prior mean, so that float keeps the significant digits, padded with empty
// groups.
template <class Real>
struct Operands {
  std::vector<Real> value, count, spread;
  Operands(const Groups& g, double center) {
    const size_t padded = (g.size() + kMixturePadding - 1) / kMixturePadding * kMixturePadding;
    value.resize(padded), count.resize(padded), spread.resize(padded);
    for (size_t i = 0; i < g.size(); ++i) {
      value[i] = static_cast<Real>(g.value[i] - center);
      count[i] = static_cast<Real>(g.count[i]);
      spread[i] = static_cast<Real>(g.spread[i]);
    }
  }
};

Expectation<float> expectation_of(const ArrayKernels& k, const LogDensity<float>&) { return k.expectation_f32; }
Expectation<double> expectation_of(const ArrayKernels& k, const LogDensity<double>&) { return k.expectation_f64; }

// One E step: fills the evidence, returns the entropy −Σ r ln r. It follows from the sums: ln r = ln ρ_k − ln Σρ, and Σ
// r ln ρ_k needs only Σ r and Σ r (x − mean)², so no logarithm per component is needed.
template <class Real>
double expect(const Mixture& m, double center, const Operands<Real>& x, std::vector<Evidence>& evidence) {
  const size_t components = m.means.size();
  double offset[kMaxComponents];
  log_offsets(m, offset);
  LogDensity<Real> density;
  density.components = static_cast<int>(components);
  for (size_t k = 0; k < components; ++k) {
    density.offset[k] = static_cast<Real>(offset[k]);
    density.mean[k] = static_cast<Real>(m.means[k] - center);
    density.steepness[k] = static_cast<Real>(1 / std::sqrt(2 * m.covariances[k]));
  }
  ComponentSums sums[kMaxComponents];
  double entropy = expectation_of(array_kernels(), density)(density, x.value.data(), x.count.data(), x.spread.data(),
                                                            static_cast<int64_t>(x.value.size()), sums);
  for (size_t k = 0; k < components; ++k) {
    evidence[k] = {sums[k], center + static_cast<double>(density.mean[k])};
    const double steepness = static_cast<double>(density.steepness[k]);
    entropy -= static_cast<double>(density.offset[k]) * sums[k].weight - steepness * steepness * sums[k].second;
  }
  return entropy;
}

template <class Real>
void iterate(const Groups& groups, const Prior& prior, const MixtureOptions& o, std::vector<Evidence>& evidence,
             Mixture& m) {
  const Operands<Real> x(groups, prior.mean);
  for (int i = 0; i < o.max_iterations && !m.converged; ++i) {
    const double entropy = expect(m, prior.mean, x, evidence);
    maximize(evidence, prior, o, m);
    m.lower_bounds.push_back(bound(m, entropy));
    m.converged = i > 0 && std::abs(m.lower_bounds[static_cast<size_t>(i)] -
                                    m.lower_bounds[static_cast<size_t>(i - 1)]) < o.tolerance;
  }
}

}  // namespace

void Mixture::log_responsibilities(double x, std::span<double> out) const {
  double offset[kMaxComponents];
  log_offsets(*this, offset);
  for (size_t k = 0; k < means.size(); ++k) {
    const double d = x - means[k];
    out[k] = offset[k] - d * d / (2 * covariances[k]);
  }
}

Mixture fit_mixture(const Groups& groups, std::span<const int32_t> label, const MixtureOptions& o,
                    MixturePrecision precision) {
  if (o.components < 1 || o.components > kMaxComponents)
    throw Error(ErrorCode::usage, "A mixture of " + std::to_string(o.components) + " components was requested; 1 to " +
                                      std::to_string(kMaxComponents) + " are possible.");
  if (groups.size() == 0 || label.size() != groups.size())
    throw Error(ErrorCode::internal, "fit_mixture: one label per group and at least one group are needed");
  const size_t components = static_cast<size_t>(o.components);
  const Prior prior = prior_of(groups);

  Mixture m;
  for (auto* v :
       {&m.weights, &m.means, &m.covariances, &m.stick_a, &m.stick_b, &m.mean_precision, &m.degrees_of_freedom})
    v->resize(components);
  std::vector<Evidence> evidence(components);
  for (size_t i = 0; i < groups.size(); ++i) {
    ComponentSums& s = evidence[static_cast<size_t>(label[i])].sums;
    s.weight += groups.count[i];
    s.first += groups.count[i] * (groups.value[i] - prior.mean);
    s.spread += groups.count[i] * groups.spread[i];
  }
  for (Evidence& e : evidence) {  // about the component's own mean, for the digits of its variance
    e.about = prior.mean + (e.sums.weight > 0 ? e.sums.first / e.sums.weight : 0);
    e.sums.first = 0;
  }
  for (size_t i = 0; i < groups.size(); ++i) {
    auto& [s, about] = evidence[static_cast<size_t>(label[i])];
    const double d = groups.value[i] - about;
    s.first += groups.count[i] * d;
    s.second += groups.count[i] * d * d;
  }
  maximize(evidence, prior, o, m);
  if (precision == MixturePrecision::fp64) iterate<double>(groups, prior, o, evidence, m);
  else iterate<float>(groups, prior, o, evidence, m);
  set_weights(m);
  return m;
}

}  // namespace tessera
