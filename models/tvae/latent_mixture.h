// A mixture of Gaussians with full covariances, fitted by expectation maximization (Dempster, Laird, Rubin 1977) from
// k-means++ starts: the prior that TVAE's rows are sampled from. The fit depends on the points and the seed, not on the
// number of threads or ranks.
#pragma once
#include <cstdint>
#include <vector>

#include "base/monitor.h"
#include "base/threads/team.h"
#include "models/method/deadline.h"
#include "models/method/shared_work.h"

namespace tessera {

struct LatentMixtureOptions {
  int components = 30;
  int max_iterations = 100;
  double tolerance = 1e-3;         // stops when the mean log-likelihood per point rises by less
  double covariance_floor = 1e-4;  // added to the diagonal
  uint64_t seed = 0;
  Deadline until = {};     // the iterations end then, after at least one; rank 0's counts
  SharedWork shared = {};  // among ranks that all have the points
};

// K components in d dimensions. Component k: share, mean [d], and the lower triangular L with covariance L·Lᵀ, row by
// row [d, d].
struct LatentMixture {
  int64_t components = 0, dimensions = 0;
  std::vector<double> share, mean, factor;
  double mean_log_likelihood = 0;
  int iterations = 0;
};

// points [n, d], row by row; n ≥ 1, d ≥ 1. Fewer components than requested if there are fewer than five points per
// component.
LatentMixture fit_latent_mixture(const std::vector<float>& points, int64_t dimensions,
                                 const LatentMixtureOptions& options, Team& team, const Monitor& monitor);

// Maximum memory of a fit to n points, the points included.
int64_t latent_mixture_bytes(int64_t n, int64_t dimensions, int components, int threads);

// ln of a mixture's density at a point.
class MixtureDensity {
 public:
  MixtureDensity(int64_t dimensions, std::vector<double> share, std::vector<double> mean, std::vector<double> factor);
  double log_at(const float* point) const;

 private:
  int64_t dimensions_;
  // log_scale: ln share − ln |factor| − ½·d·ln 2π; without the components of share 0
  std::vector<double> mean_, factor_, log_scale_;
};

}  // namespace tessera
