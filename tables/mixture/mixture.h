// One-dimensional variational Gaussian mixture with a stick-breaking (Dirichlet process) prior on the weights: the
// modes of a numeric column.
//   Blei & Jordan, Variational inference for Dirichlet process mixtures, 2006; the same updates and the same bound as
//   scikit-learn's
//   BayesianGaussianMixture with one feature. CTGAN's mode-specific normalization (Xu et al. 2019, §4.2) uses its modes
//   of weight > 0.005.
// Rows enter as groups (value, count, variance inside the group). Groups of equal values give the fit of the rows
// themselves; wider groups keep the count, the mean and the second moment exact and approximate only the
// responsibilities.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace tessera {

struct MixtureOptions {
  int components = 10;
  double weight_concentration = 1e-3;  // γ
  double mean_precision = 1;           // β0
  double degrees_of_freedom = 1;       // ν0
  double covariance_floor = 1e-6;      // added to every component's empirical variance, in the data's unit squared
  int max_iterations = 100;
  double tolerance = 1e-3;  // stops when the bound, a sum over rows, moves by less
};

// Rows of a column, compressed. All three have one entry per group; values of group_sorted() ascend.
struct Groups {
  std::vector<double> value;   // mean of the group's rows
  std::vector<double> count;   // rows in the group, > 0
  std::vector<double> spread;  // variance of the rows around `value`; 0 for equal rows
  size_t size() const { return value.size(); }
};

// Component k of K: weight, mean, covariance (a variance), and the posterior's own parameters.
struct Mixture {
  std::vector<double> weights, means, covariances;
  std::vector<double> stick_a, stick_b, mean_precision, degrees_of_freedom;
  std::vector<double> lower_bounds;  // one per iteration; constants dropped
  bool converged = false;

  int components() const { return static_cast<int>(weights.size()); }
  int iterations() const { return static_cast<int>(lower_bounds.size()); }
  // ln ρ_k(x), the unnormalized log responsibility, for every k. Shape of `out`: components().
  void log_responsibilities(double x, std::span<double> out) const;
};

// Ascending values → groups. Up to max_groups distinct values: one group each (exact). More: neighbors are merged into
// at most max_groups groups of about equal numbers of rows; equal values are always in the same group. O(n).
Groups group_sorted(std::span<const double> ascending, int max_groups);

enum class MixturePrecision { fp64, fp32 };  // of the E step; parameters and bound are always double

// Fits from a given partition: label[g] in [0, components) is the initial component of group g. Components may start
// empty.
Mixture fit_mixture(const Groups& groups, std::span<const int32_t> label, const MixtureOptions& options,
                    MixturePrecision precision);

// Fits from the best of several k-means++ starts, drawn by philox from (seed, stream); `groups` ascending.
// options.max_iterations ≥ 1.
Mixture fit_mixture(const Groups& groups, const MixtureOptions& options, uint64_t seed, uint32_t stream,
                    MixturePrecision precision);

// One start: k-means++ (2+⌊ln K⌋ candidates per center), then Lloyd's steps, on ascending groups. Fewer distinct values
// than components leave components empty.
std::vector<int32_t> kmeans_labels(const Groups& groups, int components, uint64_t seed, uint32_t stream,
                                   uint32_t trial);

}  // namespace tessera
