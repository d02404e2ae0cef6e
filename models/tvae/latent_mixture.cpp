// The log-density of a Gaussian is linear in the features (1, x_a, x_a·x_b): so the E step is a product of features and
// parameters, the M step one of responsibilities and features. Points are processed in blocks, and blocks in groups of
// fixed size whose sums are added in order.
#include "models/tvae/latent_mixture.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/cpu/cpu_features.h"
#include "kernels/math/philox.h"

namespace tessera {
namespace {

constexpr int64_t kMaxBlock = 128, kMinBlock = kGaussianBlock;  // points whose features fit in the cache together
constexpr int64_t kBlockBytes = 384 << 10;
constexpr int64_t kGroup = 512;         // points summed by one thread before the groups are added
constexpr int64_t kPartials = 64;       // partial sums that are added at the end; further groups share them, in order
constexpr int64_t kSumsAtOnce = 2;      // of these held at the same time, or one per thread
constexpr int64_t kStartPoints = 8192;  // used by k-means++
constexpr int kLloyd = 10;
constexpr double kLogTwoPi = 1.8378770664093453;

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Vector = Eigen::VectorXd;

int64_t features_of(int64_t d) { return 1 + d + d * (d + 1) / 2; }

class Fit {
 public:
  Fit(const std::vector<float>& points, int64_t d, const LatentMixtureOptions& o, Team& team)
      : x_(points), n_(static_cast<int64_t>(points.size()) / d), d_(d), options_(o), team_(team) {
    count_ = std::clamp<int64_t>(n_ / (10 * d), 1, o.components);
    padded_ = (count_ + 3) / 4 * 4;
    features_ = features_of(d);
    while (block_ > kMinBlock && block_ * features_ * static_cast<int64_t>(sizeof(double)) > kBlockBytes) block_ /= 2;
    mixture_.components = count_, mixture_.dimensions = d;
    mixture_.share.resize(static_cast<size_t>(count_)), mixture_.mean.resize(static_cast<size_t>(count_ * d)),
        mixture_.factor.resize(static_cast<size_t>(count_ * d * d));
  }

  LatentMixture run(const Monitor& monitor) {
    maximize(start());
    double before = -INFINITY;
    Deadline until = options_.until;
    bool time = options_.shared.agreed(until.next());
    for (bool last = false; !last && mixture_.iterations < options_.max_iterations;) {
      std::vector<double> sums = expect();
      ++mixture_.iterations;
      maximize(sums);
      time = options_.shared.agreed(until.next());
      last = mixture_.mean_log_likelihood - before < options_.tolerance ||
             mixture_.iterations == options_.max_iterations || !time;
      before = mixture_.mean_log_likelihood;
      monitor.report({"prior", static_cast<double>(mixture_.iterations),
                      static_cast<double>(last ? mixture_.iterations : options_.max_iterations), "steps",
                      note() + (time ? "" : "; `max_time` is up"), last});
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
  double distance(const float* a, const double* b) const {
    double s = 0;
    for (int64_t j = 0; j < d_; ++j) {
      const double gap = static_cast<double>(a[j]) - b[j];
      s += gap * gap;
    }
    return s;
  }
  const float* point(int64_t i) const { return x_.data() + i * d_; }

  // Moments of a hard partition: k-means++ on evenly spaced points, then Lloyd's steps.
  std::vector<double> start() const {
    const int64_t m = std::min(n_, kStartPoints);
    std::vector<int64_t> at(static_cast<size_t>(m));
    for (int64_t i = 0; i < m; ++i) at[static_cast<size_t>(i)] = i * n_ / m;
    std::vector<double> center(static_cast<size_t>(count_ * d_)), nearest(static_cast<size_t>(m), INFINITY);
    std::vector<int64_t> label(static_cast<size_t>(m), 0);
    int64_t chosen = std::min(static_cast<int64_t>(uniform(0) * static_cast<double>(m)), m - 1);
    for (int64_t k = 0; k < count_; ++k) {
      std::copy_n(point(at[static_cast<size_t>(chosen)]), d_, center.begin() + k * d_);
      double total = 0;
      for (size_t i = 0; i < nearest.size(); ++i)
        total += nearest[i] = std::min(nearest[i], distance(point(at[i]), center.data() + k * d_));
      double left = uniform(static_cast<uint32_t>(k + 1)) * total;
      for (chosen = 0; chosen < m - 1 && left >= nearest[static_cast<size_t>(chosen)]; ++chosen)
        left -= nearest[static_cast<size_t>(chosen)];
    }
    for (int step = 0; step < kLloyd; ++step) {
      std::vector<double> sum(center.size(), 0), rows(static_cast<size_t>(count_), 0);
      for (size_t i = 0; i < at.size(); ++i) {
        double best = INFINITY;
        for (int64_t k = 0; k < count_; ++k)
          if (const double s = distance(point(at[i]), center.data() + k * d_); s < best) best = s, label[i] = k;
        for (int64_t j = 0; j < d_; ++j)
          sum[static_cast<size_t>(label[i] * d_ + j)] += static_cast<double>(point(at[i])[j]);
        ++rows[static_cast<size_t>(label[i])];
      }
      for (int64_t k = 0; k < count_; ++k)
        for (int64_t j = 0; j < d_ && rows[static_cast<size_t>(k)] > 0; ++j)
          center[static_cast<size_t>(k * d_ + j)] = sum[static_cast<size_t>(k * d_ + j)] / rows[static_cast<size_t>(k)];
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
      const float* p = point(first + r);
      const auto x = [&](int64_t j) { return static_cast<double>(p[j]); };
      int64_t f = 0;
      to[f++ * stride + r] = 1;
      for (int64_t a = 0; a < d_; ++a) to[f++ * stride + r] = x(a);
      for (int64_t a = 0; a < d_; ++a)
        for (int64_t b = 0; b <= a; ++b) to[f++ * stride + r] = x(a) * x(b);
    }
  }

  // Parameters as coefficients of the features: ln share_k + ln N(x; mean_k, covariance_k).
  std::vector<double> coefficients() const {
    std::vector<double> theta(static_cast<size_t>(padded_ * features_), 0);
    for (int64_t k = 0; k < padded_; ++k) {
      double* t = theta.data() + k * features_;
      if (k >= count_ || mixture_.share[static_cast<size_t>(k)] <= 0) {
        t[0] = -1e300;
        continue;
      }
      const Eigen::Map<const Matrix> factor(mixture_.factor.data() + k * d_ * d_, d_, d_);
      const Eigen::Map<const Vector> mean(mixture_.mean.data() + k * d_, d_);
      const Matrix inverse = factor.triangularView<Eigen::Lower>().solve(Matrix::Identity(d_, d_));
      const Matrix precision = inverse.transpose() * inverse;
      const Vector linear = precision * mean;
      const double log_determinant = 2 * factor.diagonal().array().log().sum();
      t[0] = std::log(mixture_.share[static_cast<size_t>(k)]) -
             0.5 * (linear.dot(mean) + log_determinant + static_cast<double>(d_) * kLogTwoPi);
      Eigen::Map<Vector>(t + 1, d_) = linear;
      double* square = t + 1 + d_;
      for (int64_t a = 0; a < d_; ++a)
        for (int64_t b = 0; b <= a; ++b) *square++ = (a == b ? -0.5 : -1.0) * precision(a, b);
    }
    return theta;
  }

  // Σ over points of responsibility × features, [padded, features].
  std::vector<double> expect() {
    const std::vector<double> theta = coefficients();
    const int64_t groups = (n_ + kGroup - 1) / kGroup, partials = std::min(groups, kPartials);
    const int64_t threads = team_.size(), at_once = (kSumsAtOnce + threads - 1) / threads * threads;
    const int64_t size = padded_ * features_;
    std::vector<double> sums(theta.size(), 0);
    double total = 0;
    const auto make = [&](int64_t begin, int64_t count, double* parts) {
      team_.for_each(count, [&](int64_t i) {
        double* to = parts + i * (size + 1);  // the likelihood follows the sums
        std::fill_n(to, size, 0.0);
        const int64_t first = (begin + i) * groups / partials, end = (begin + i + 1) * groups / partials;
        to[size] = add_moments(theta, first * kGroup, std::min(end * kGroup, n_), to);
      });
    };
    const auto add = [&](const double* part) {
      for (int64_t i = 0; i < size; ++i) sums[static_cast<size_t>(i)] += part[i];
      total += part[size];
    };
    options_.shared.in_order<double>(partials, at_once, size + 1, make, add);
    mixture_.mean_log_likelihood = total / static_cast<double>(n_);
    return sums;
  }

  // Adds responsibility × features of points [begin, end) to `sums`; returns Σ ln p(x).
  double add_moments(const std::vector<double>& theta, int64_t begin, int64_t end, double* sums) const {
    const ArrayKernels& kernels = array_kernels();
    std::vector<double> feature(static_cast<size_t>(features_ * block_)), share(static_cast<size_t>(padded_ * block_));
    double likelihood = 0;
    for (int64_t first = begin; first < end; first += block_) {
      const int64_t rows = std::min(block_, end - first);
      if (rows < block_) std::fill(feature.begin(), feature.end(), 0.0);
      fill_features(first, rows, block_, feature.data());
      kernels.gaussian_scores(theta.data(), feature.data(), padded_, features_, block_, share.data());
      likelihood += to_shares(share.data(), rows);
      kernels.gaussian_moments(share.data(), feature.data(), padded_, features_, block_, sums);
    }
    return likelihood;
  }

  // Log-densities → responsibilities, in place; points beyond `rows` become 0. Returns Σ ln p(x).
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

  // Shares, means and covariances from the moments; a component without points, or without a factor, is dropped.
  void maximize(const std::vector<double>& sums) {
    Matrix covariance(d_, d_);
    double all = 0;
    for (int64_t k = 0; k < count_; ++k) all += sums[static_cast<size_t>(k * features_)];
    for (int64_t k = 0; k < count_; ++k) {
      const double* s = sums.data() + k * features_;
      double& share = mixture_.share[static_cast<size_t>(k)];
      share = s[0] / all;
      if (s[0] < 1) {
        share = 0;
        continue;
      }
      Eigen::Map<Vector> mean(mixture_.mean.data() + k * d_, d_);
      mean = Eigen::Map<const Vector>(s + 1, d_) / s[0];
      const double* square = s + 1 + d_;
      for (int64_t a = 0; a < d_; ++a)
        for (int64_t b = 0; b <= a; ++b) covariance(a, b) = *square++ / s[0] - mean[a] * mean[b];
      covariance.diagonal().array() += options_.covariance_floor;
      const Eigen::LLT<Matrix, Eigen::Lower> cholesky(covariance);
      if (cholesky.info() == Eigen::Success)
        Eigen::Map<Matrix>(mixture_.factor.data() + k * d_ * d_, d_, d_) = cholesky.matrixL();
      else share = 0;
    }
    double left = 0;
    for (const double share : mixture_.share) left += share;
    for (double& share : mixture_.share) share /= left;
  }

  const std::vector<float>& x_;
  int64_t n_, d_, count_ = 0, padded_ = 0, features_ = 0, block_ = kMaxBlock;
  LatentMixtureOptions options_;
  Team& team_;
  LatentMixture mixture_;
};

}  // namespace

LatentMixture fit_latent_mixture(const std::vector<float>& points, int64_t dimensions,
                                 const LatentMixtureOptions& options, Team& team, const Monitor& monitor) {
  return Fit(points, dimensions, options, team).run(monitor);
}

int64_t latent_mixture_bytes(int64_t n, int64_t d, int components, int threads) {
  // coefficients, their sums, and those of each thread; features and responsibilities of its block
  const int64_t sums = (components + 3) * features_of(d) * (2 + std::max<int64_t>(threads, kSumsAtOnce));
  const int64_t blocks = threads * (kBlockBytes / static_cast<int64_t>(sizeof(double)) + (components + 3) * kMaxBlock);
  return static_cast<int64_t>(sizeof(float)) * n * d + static_cast<int64_t>(sizeof(double)) * (sums + blocks);
}

MixtureDensity::MixtureDensity(int64_t d, std::vector<double> share, std::vector<double> mean,
                               std::vector<double> factor)
    : dimensions_(d) {
  for (size_t k = 0; k < share.size(); ++k) {
    if (!(share[k] > 0)) continue;
    const double *m = mean.data() + static_cast<int64_t>(k) * d, *l = factor.data() + static_cast<int64_t>(k) * d * d;
    const double log_determinant = Eigen::Map<const Matrix>(l, d, d).diagonal().array().log().sum();
    mean_.insert(mean_.end(), m, m + d);
    factor_.insert(factor_.end(), l, l + d * d);
    log_scale_.push_back(std::log(share[k]) - 0.5 * static_cast<double>(d) * kLogTwoPi - log_determinant);
  }
}

double MixtureDensity::log_at(const float* point) const {
  const Vector x = Eigen::Map<const Eigen::VectorXf>(point, dimensions_).cast<double>();
  Vector y(dimensions_);
  double top = -INFINITY, sum = 0;
  for (size_t k = 0; k < log_scale_.size(); ++k) {
    const auto first = static_cast<int64_t>(k) * dimensions_;
    y = x - Eigen::Map<const Vector>(mean_.data() + first, dimensions_);
    Eigen::Map<const Matrix>(factor_.data() + first * dimensions_, dimensions_, dimensions_)
        .triangularView<Eigen::Lower>()
        .solveInPlace(y);  // L⁻¹·(x − mean)
    const double log_density = log_scale_[k] - 0.5 * y.squaredNorm();
    if (log_density > top) sum = sum * std::exp(top - log_density) + 1, top = log_density;
    else sum += std::exp(log_density - top);
  }
  return top + std::log(sum);
}

}  // namespace tessera
