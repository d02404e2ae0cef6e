// Accounting of differential privacy: the distribution of the privacy loss ln P(x)/Q(x), x ~ P, of a mechanism on two
// neighboring tables, composed by FFT (Koskela, Jälkö, Honkela 2020, arXiv 1906.03049; Doroshenko et al. 2022, arXiv
// 2207.04380). Every distribution dominates the true one: delta and epsilon are upper bounds, up to rounding errors of
// the FFT of about 1e-13, which are added to delta.
#pragma once
#include <cstdint>
#include <functional>
#include <vector>

namespace tessera {

class PrivacyLoss {
 public:
  // Noise of deviation `sigma` on a count, or vector, that a row changes by at most `sensitivity` (L2).
  static PrivacyLoss gaussian(double sigma, double sensitivity = 1, double step = kStep);
  // The discrete Gaussian of parameter sigma² (Canonne, Kamath, Steinke 2020, arXiv 2004.00010) on one integer that a
  // row changes by at most `sensitivity`.
  static PrivacyLoss discrete_gaussian(double sigma2, int64_t sensitivity = 1, double step = kStep);
  // The Gaussian mechanism on a Poisson sample of the rows, for a row that is removed, or added.
  enum class Neighbor { removed, added };
  static PrivacyLoss subsampled_gaussian(double sigma, double rate, Neighbor neighbor, double step = kStep);

  struct Times;  // a mechanism and how often it is used
  static PrivacyLoss composed(const std::vector<Times>& mechanisms);

  double delta(double epsilon) const;
  double epsilon(double delta) const;  // infinite if none is large enough

 private:
  // P and Q of losses in (low, high], and of more than `high`.
  using Masses = std::function<void(double low, double high, double& p, double& q)>;
  static PrivacyLoss on_grid(double low, double high, double step, const Masses& masses, double above);
  void add(double p, double q, double loss);  // an atom, split among two grid points with the same sums of p and q
  // A loss that is exceeded with a probability of at most kTail, and one that is not.
  static double bound(const std::vector<Times>& mechanisms, bool upper);

  static constexpr double kStep = 1e-3, kTail = 1e-14;
  double step_ = kStep;
  int64_t low_ = 0;  // of mass_[0], in steps
  std::vector<double> mass_;
  double infinite_ = 0;
};

struct PrivacyLoss::Times {
  PrivacyLoss loss;
  int64_t times;
};

// Zero-concentrated differential privacy, and Rényi's: rho of a Gaussian mechanism is (sensitivity/sigma)²/2.
double epsilon_of_zcdp(double rho, double delta);
// of a Poisson-subsampled Gaussian, used repeatedly (Mironov, Talwar, Zhang 2019, arXiv 1908.10530)
// together with Gaussian mechanisms of `rho`.
double epsilon_of_subsampled_rdp(double sigma, double rate, int64_t times, double delta, double rho = 0);

// The largest μ = sensitivity/sigma of a Gaussian mechanism that is (epsilon, delta)-private. Any sequence of Gaussian
// mechanisms with Σ(sensitivity/sigma)² ≤ μ², each chosen by the results of those before, is so too (Smith, Thakurta
// 2022, arXiv 2210.17520).
double gaussian_budget(double epsilon, double delta);

}  // namespace tessera
