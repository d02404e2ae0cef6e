// The log-density of a Gaussian is linear in the features (1, x_a, x_a·x_b): so the E step is a product of features and
// parameters, the M step one of responsibilities and features. Points are taken in blocks, blocks in groups of fixed
// extent whose sums are added in order.
#include "models/tvae/latent_mixture.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "engine/run/cpu_features.h"
#include "kernels/math/philox.h"

// Vectors are used only inside functions that are always inlined.
#pragma GCC diagnostic ignored "-Wpsabi"

namespace tessera {
namespace {

constexpr int64_t kMostBlock = 128, kLeastBlock = 32;  // points whose features lie in the cache together
constexpr int64_t kBlockBytes = 384 << 10;
constexpr int64_t kGroup = 512;         // points summed by one thread before the groups are added
constexpr int64_t kPartials = 64;       // sums kept side by side at most: groups beyond share one, in order
constexpr int64_t kStartPoints = 8192;  // that k-means++ looks at
constexpr int kLloyd = 10;
constexpr double kLogTwoPi = 1.8378770664093453;

typedef double Four __attribute__((vector_size(32)));

[[gnu::always_inline]] inline Four load(const double* p) {
  Four v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}
[[gnu::always_inline]] inline void store(double* p, Four v) { __builtin_memcpy(p, &v, sizeof v); }

// out[k, r] = Σ_f theta[k, f]·feature[f, r], components four at a time (K is a multiple of 4), features [F, block].
[[gnu::always_inline]] inline void scores(const double* theta, const double* feature, int64_t components,
                                          int64_t features, int64_t block, double* out) {
  for (int64_t k = 0; k < components; k += 4)
    for (int64_t r = 0; r < block; r += 8) {
      Four acc[4][2] = {};
      for (int64_t f = 0; f < features; ++f) {
        const Four a = load(feature + f * block + r), b = load(feature + f * block + r + 4);
        for (int q = 0; q < 4; ++q) {
          const double t = theta[(k + q) * features + f];
          acc[q][0] += t * a;
          acc[q][1] += t * b;
        }
      }
      for (int q = 0; q < 4; ++q)
        store(out + (k + q) * block + r, acc[q][0]), store(out + (k + q) * block + r + 4, acc[q][1]);
    }
}
// sum[k, f] += Σ_r share[k, r]·feature[f, r]
[[gnu::always_inline]] inline void moments(const double* share, const double* feature, int64_t components,
                                           int64_t features, int64_t block, double* sum) {
  for (int64_t k = 0; k < components; k += 4)
    for (int64_t f = 0; f < features; ++f) {
      Four acc[4] = {};
      for (int64_t r = 0; r < block; r += 4) {
        const Four x = load(feature + f * block + r);
        for (int q = 0; q < 4; ++q) acc[q] += load(share + (k + q) * block + r) * x;
      }
      for (int q = 0; q < 4; ++q) sum[(k + q) * features + f] += (acc[q][0] + acc[q][1]) + (acc[q][2] + acc[q][3]);
    }
}

void scores_plain(const double* theta, const double* feature, int64_t components, int64_t features, int64_t block,
                  double* out) {
  scores(theta, feature, components, features, block, out);
}
void moments_plain(const double* share, const double* feature, int64_t components, int64_t features, int64_t block,
                   double* sum) {
  moments(share, feature, components, features, block, sum);
}
#if defined(__x86_64__)
[[gnu::target("avx2,fma")]] void scores_avx2(const double* theta, const double* feature, int64_t components,
                                             int64_t features, int64_t block, double* out) {
  scores(theta, feature, components, features, block, out);
}
[[gnu::target("avx2,fma")]] void moments_avx2(const double* share, const double* feature, int64_t components,
                                              int64_t features, int64_t block, double* sum) {
  moments(share, feature, components, features, block, sum);
}
#endif

struct Kernels {
  void (*scores)(const double*, const double*, int64_t, int64_t, int64_t, double*) = scores_plain;
  void (*moments)(const double*, const double*, int64_t, int64_t, int64_t, double*) = moments_plain;
  Kernels() {
#if defined(__x86_64__)
    if (best_isa() != Isa::plain) scores = scores_avx2, moments = moments_avx2;
#endif
  }
};

// A = L·Lᵀ, lower triangle; false where A is not positive definite.
bool cholesky(const double* a, int64_t d, double* l) {
  std::fill_n(l, d * d, 0.0);
  for (int64_t i = 0; i < d; ++i)
    for (int64_t j = 0; j <= i; ++j) {
      double s = a[i * d + j];
      for (int64_t k = 0; k < j; ++k) s -= l[i * d + k] * l[j * d + k];
      if (i == j && !(s > 0)) return false;
      l[i * d + j] = i == j ? std::sqrt(s) : s / l[j * d + j];
    }
  return true;
}

class Fit {
 public:
  Fit(const std::vector<double>& points, int64_t d, const LatentMixtureOptions& o, Team& team)
      : x_(points), n_(static_cast<int64_t>(points.size()) / d), d_(d), options_(o), team_(team) {
    count_ = std::clamp<int64_t>(n_ / (10 * d), 1, o.components);
    padded_ = (count_ + 3) / 4 * 4;
    features_ = 1 + d + d * (d + 1) / 2;
    while (block_ > kLeastBlock && block_ * features_ * static_cast<int64_t>(sizeof(double)) > kBlockBytes) block_ /= 2;
    mixture_.components = count_, mixture_.dimensions = d;
    mixture_.share.resize(static_cast<size_t>(count_)), mixture_.mean.resize(static_cast<size_t>(count_ * d)),
        mixture_.factor.resize(static_cast<size_t>(count_ * d * d));
  }

  LatentMixture run(const Monitor& monitor) {
    maximise(start());
    double before = -INFINITY;
    Deadline until = options_.until;
    bool time = until.next();
    for (bool last = false; !last && mixture_.iterations < options_.max_iterations;) {
      std::vector<double> sums = expect();
      ++mixture_.iterations;
      maximise(sums);
      time = until.next();
      last = mixture_.mean_log_likelihood - before < options_.tolerance ||
             mixture_.iterations == options_.max_iterations || !time;
      before = mixture_.mean_log_likelihood;
      monitor.report({"prior", static_cast<double>(mixture_.iterations),
                      static_cast<double>(last ? mixture_.iterations : options_.max_iterations), "steps",
                      note() + (time ? "" : "; --max-time is up"), last});
    }
    return std::move(mixture_);
  }

 private:
  std::string note() const {
    char text[96];
    std::snprintf(text, sizeof text, "%lld Gaussians in %lld dimensions", static_cast<long long>(count_),
                  static_cast<long long>(d_));
    return text;
  }
  double uniform(uint32_t draw) const {
    const Philox w = random_words(options_.seed, Purpose::mixture, draw, 0, 1);
    return open_uniform(w.word[0], w.word[1]);
  }
  double distance(const double* a, const double* b) const {
    double s = 0;
    for (int64_t j = 0; j < d_; ++j) s += (a[j] - b[j]) * (a[j] - b[j]);
    return s;
  }
  const double* point(int64_t i) const { return x_.data() + i * d_; }

  // Moments of a hard partition: k-means++ on evenly spaced points, then Lloyd's steps.
  std::vector<double> start() const {
    const int64_t m = std::min(n_, kStartPoints);
    std::vector<int64_t> at(static_cast<size_t>(m));
    for (int64_t i = 0; i < m; ++i) at[static_cast<size_t>(i)] = i * n_ / m;
    std::vector<double> centre(static_cast<size_t>(count_ * d_)), nearest(static_cast<size_t>(m), INFINITY);
    std::vector<int64_t> label(static_cast<size_t>(m), 0);
    int64_t chosen = std::min(static_cast<int64_t>(uniform(0) * static_cast<double>(m)), m - 1);
    for (int64_t k = 0; k < count_; ++k) {
      std::copy_n(point(at[static_cast<size_t>(chosen)]), d_, centre.begin() + k * d_);
      double total = 0;
      for (size_t i = 0; i < nearest.size(); ++i)
        total += nearest[i] = std::min(nearest[i], distance(point(at[i]), centre.data() + k * d_));
      double left = uniform(static_cast<uint32_t>(k + 1)) * total;
      for (chosen = 0; chosen < m - 1 && left >= nearest[static_cast<size_t>(chosen)]; ++chosen)
        left -= nearest[static_cast<size_t>(chosen)];
    }
    for (int step = 0; step < kLloyd; ++step) {
      std::vector<double> sum(centre.size(), 0), rows(static_cast<size_t>(count_), 0);
      for (size_t i = 0; i < at.size(); ++i) {
        double best = INFINITY;
        for (int64_t k = 0; k < count_; ++k)
          if (const double s = distance(point(at[i]), centre.data() + k * d_); s < best) best = s, label[i] = k;
        for (int64_t j = 0; j < d_; ++j) sum[static_cast<size_t>(label[i] * d_ + j)] += point(at[i])[j];
        ++rows[static_cast<size_t>(label[i])];
      }
      for (int64_t k = 0; k < count_; ++k)
        for (int64_t j = 0; j < d_ && rows[static_cast<size_t>(k)] > 0; ++j)
          centre[static_cast<size_t>(k * d_ + j)] = sum[static_cast<size_t>(k * d_ + j)] / rows[static_cast<size_t>(k)];
    }
    std::vector<double> sums(static_cast<size_t>(padded_ * features_), 0), feature(static_cast<size_t>(features_));
    for (size_t i = 0; i < at.size(); ++i) {
      fill_features(at[i], 1, 1, feature.data());
      for (int64_t f = 0; f < features_; ++f)
        sums[static_cast<size_t>(label[i] * features_ + f)] += feature[static_cast<size_t>(f)];
    }
    return sums;
  }

  // Features of points [first, first + rows), feature f of point r at to[f·stride + r].
  void fill_features(int64_t first, int64_t rows, int64_t stride, double* to) const {
    for (int64_t r = 0; r < rows; ++r) {
      const double* p = point(first + r);
      int64_t f = 0;
      to[f++ * stride + r] = 1;
      for (int64_t a = 0; a < d_; ++a) to[f++ * stride + r] = p[a];
      for (int64_t a = 0; a < d_; ++a)
        for (int64_t b = 0; b <= a; ++b) to[f++ * stride + r] = p[a] * p[b];
    }
  }

  // Parameters as coefficients of the features: ln share_k + ln N(x; mean_k, covariance_k).
  std::vector<double> coefficients() const {
    std::vector<double> theta(static_cast<size_t>(padded_ * features_), 0), inverse(static_cast<size_t>(d_ * d_)),
        precision(static_cast<size_t>(d_ * d_));
    for (int64_t k = 0; k < padded_; ++k) {
      double* t = theta.data() + k * features_;
      if (k >= count_ || mixture_.share[static_cast<size_t>(k)] <= 0) {
        t[0] = -1e300;
        continue;
      }
      const double *l = mixture_.factor.data() + k * d_ * d_, *m = mixture_.mean.data() + k * d_;
      // L⁻¹ column by column, then Λ = L⁻ᵀ·L⁻¹.
      std::fill(inverse.begin(), inverse.end(), 0.0);
      double log_determinant = 0;
      for (int64_t j = 0; j < d_; ++j) {
        log_determinant += 2 * std::log(l[j * d_ + j]);
        for (int64_t i = j; i < d_; ++i) {
          double s = i == j ? 1 : 0;
          for (int64_t c = j; c < i; ++c) s -= l[i * d_ + c] * inverse[static_cast<size_t>(c * d_ + j)];
          inverse[static_cast<size_t>(i * d_ + j)] = s / l[i * d_ + i];
        }
      }
      for (int64_t a = 0; a < d_; ++a)
        for (int64_t b = 0; b <= a; ++b) {
          double s = 0;
          for (int64_t i = a; i < d_; ++i)
            s += inverse[static_cast<size_t>(i * d_ + a)] * inverse[static_cast<size_t>(i * d_ + b)];
          precision[static_cast<size_t>(a * d_ + b)] = precision[static_cast<size_t>(b * d_ + a)] = s;
        }
      double square = 0;
      int64_t f = 1;
      for (int64_t a = 0; a < d_; ++a) {
        double s = 0;
        for (int64_t b = 0; b < d_; ++b) s += precision[static_cast<size_t>(a * d_ + b)] * m[b];
        square += s * m[a];
        t[f++] = s;
      }
      for (int64_t a = 0; a < d_; ++a)
        for (int64_t b = 0; b <= a; ++b)
          t[f++] =
              a == b ? -0.5 * precision[static_cast<size_t>(a * d_ + b)] : -precision[static_cast<size_t>(a * d_ + b)];
      t[0] = std::log(mixture_.share[static_cast<size_t>(k)]) -
             0.5 * (square + log_determinant + static_cast<double>(d_) * kLogTwoPi);
    }
    return theta;
  }

  // Σ over points of responsibility × features, [padded, features].
  std::vector<double> expect() {
    static const Kernels kernels;
    const std::vector<double> theta = coefficients();
    const int64_t groups = (n_ + kGroup - 1) / kGroup, partials = std::min(groups, kPartials);
    const size_t size = theta.size();
    std::vector<double> sums(static_cast<size_t>(partials) * size, 0), likelihood(static_cast<size_t>(partials), 0);
    team_.for_each(partials, [&](int64_t p) {
      std::vector<double> feature(static_cast<size_t>(features_ * block_)),
          share(static_cast<size_t>(padded_ * block_));
      const int64_t begin = p * groups / partials * kGroup, end = std::min((p + 1) * groups / partials * kGroup, n_);
      for (int64_t first = begin; first < end; first += block_) {
        const int64_t rows = std::min(block_, end - first);
        if (rows < block_) std::fill(feature.begin(), feature.end(), 0.0);
        fill_features(first, rows, block_, feature.data());
        kernels.scores(theta.data(), feature.data(), padded_, features_, block_, share.data());
        likelihood[static_cast<size_t>(p)] += to_shares(share.data(), rows);
        kernels.moments(share.data(), feature.data(), padded_, features_, block_,
                        sums.data() + static_cast<size_t>(p) * size);
      }
    });
    double total = 0;
    for (const double l : likelihood) total += l;
    mixture_.mean_log_likelihood = total / static_cast<double>(n_);
    for (int64_t p = 1; p < partials; ++p)
      for (size_t i = 0; i < size; ++i) sums[i] += sums[static_cast<size_t>(p) * size + i];
    sums.resize(size);
    return sums;
  }

  // Log-densities → responsibilities, in place; rows beyond `rows` become 0. Returns Σ ln p(x).
  double to_shares(double* s, int64_t rows) const {
    double total = 0;
    for (int64_t r = 0; r < block_; ++r) {
      double top = -INFINITY, sum = 0;
      for (int64_t k = 0; k < count_; ++k) top = std::max(top, s[k * block_ + r]);
      for (int64_t k = 0; k < padded_; ++k) {
        const double gap = s[k * block_ + r] - top;
        sum += s[k * block_ + r] = k < count_ && gap > -40 ? std::exp(gap) : 0;
      }
      for (int64_t k = 0; k < padded_; ++k) s[k * block_ + r] = r < rows ? s[k * block_ + r] / sum : 0;
      if (r < rows) total += top + std::log(sum);
    }
    return total;
  }

  // Shares, means and covariances from the moments; a component without points stays out.
  void maximise(const std::vector<double>& sums) {
    std::vector<double> covariance(static_cast<size_t>(d_ * d_));
    double all = 0;
    for (int64_t k = 0; k < count_; ++k) all += sums[static_cast<size_t>(k * features_)];
    for (int64_t k = 0; k < count_; ++k) {
      const double* s = sums.data() + k * features_;
      double* mean = mixture_.mean.data() + k * d_;
      double& share = mixture_.share[static_cast<size_t>(k)];
      share = s[0] / all;
      if (s[0] < 1) {
        share = 0;
        continue;
      }
      for (int64_t a = 0; a < d_; ++a) mean[a] = s[1 + a] / s[0];
      const double* square = s + 1 + d_;
      for (int64_t a = 0; a < d_; ++a)
        for (int64_t b = 0; b <= a; ++b) {
          const double c = *square++ / s[0] - mean[a] * mean[b] + (a == b ? options_.covariance_floor : 0);
          covariance[static_cast<size_t>(a * d_ + b)] = covariance[static_cast<size_t>(b * d_ + a)] = c;
        }
      if (!cholesky(covariance.data(), d_, mixture_.factor.data() + k * d_ * d_)) share = 0;
    }
    double left = 0;
    for (const double share : mixture_.share) left += share;
    for (double& share : mixture_.share) share /= left;
  }

  const std::vector<double>& x_;
  int64_t n_, d_, count_ = 0, padded_ = 0, features_ = 0, block_ = kMostBlock;
  LatentMixtureOptions options_;
  Team& team_;
  LatentMixture mixture_;
};

}  // namespace

LatentMixture fit_latent_mixture(const std::vector<double>& points, int64_t dimensions,
                                 const LatentMixtureOptions& options, Team& team, const Monitor& monitor) {
  return Fit(points, dimensions, options, team).run(monitor);
}

MixtureDensity::MixtureDensity(int64_t d, std::vector<double> share, std::vector<double> mean,
                               std::vector<double> factor)
    : dimensions_(d) {
  for (size_t k = 0; k < share.size(); ++k) {
    if (!(share[k] > 0)) continue;
    const double *m = mean.data() + static_cast<int64_t>(k) * d, *l = factor.data() + static_cast<int64_t>(k) * d * d;
    double scale = std::log(share[k]) - 0.5 * static_cast<double>(d) * kLogTwoPi;
    for (int64_t a = 0; a < d; ++a) scale -= std::log(l[a * d + a]);
    mean_.insert(mean_.end(), m, m + d);
    factor_.insert(factor_.end(), l, l + d * d);
    log_scale_.push_back(scale);
  }
}

double MixtureDensity::log_at(const float* point) const {
  std::vector<double> y(static_cast<size_t>(dimensions_));
  double top = -INFINITY, sum = 0;
  for (size_t k = 0; k < log_scale_.size(); ++k) {
    const double *m = mean_.data() + static_cast<int64_t>(k) * dimensions_,
                 *l = factor_.data() + static_cast<int64_t>(k) * dimensions_ * dimensions_;
    double log_density = log_scale_[k];
    for (int64_t a = 0; a < dimensions_; ++a) {  // y = L⁻¹·(x − mean)
      double v = static_cast<double>(point[a]) - m[a];
      for (int64_t b = 0; b < a; ++b) v -= l[a * dimensions_ + b] * y[static_cast<size_t>(b)];
      v /= l[a * dimensions_ + a];
      y[static_cast<size_t>(a)] = v;
      log_density -= 0.5 * v * v;
    }
    if (log_density > top) sum = sum * std::exp(top - log_density) + 1, top = log_density;
    else sum += std::exp(log_density - top);
  }
  return top + std::log(sum);
}

}  // namespace tessera
