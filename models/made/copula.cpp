#include "models/made/copula.h"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>

#include "models/layers/initial_weights.h"

namespace tessera {
namespace {

constexpr int64_t kMaxRows = 20000;
constexpr int kMaxColumns = 256;
constexpr int kMaxDimensions = 512;  // of all columns together, but one each
constexpr int kSweeps = 4;           // over the categories' scores
constexpr int kSteps = 6;            // of a sweep, for each of them
constexpr int kMaxValues = 32;       // of a number that may differ from others by more than its rank: postcodes, years
constexpr double kPriorRows = 4;     // of a category's score: that of rare ones is near 0
constexpr double kMinSpread = 0.1;   // of a number's rank given others: the network learns the rest
constexpr double kMinSpreadOfMany = 0.25;  // of scores beside a rank: the law is less like theirs
constexpr double kMaxBounded = 3;
constexpr double kMinPivot = 0.02;  // slopes are sums over earlier columns divided by this at worst

// By halves; precise enough for scores.
double normal_quantile(double p) {
  double low = -9, high = 9;
  for (int i = 0; i < 50; ++i) {
    const double x = (low + high) / 2;
    (std::erfc(-x / std::sqrt(2.0)) / 2 < p ? low : high) = x;
  }
  return (low + high) / 2;
}

class Learner {
 public:
  Learner(const Made& m, const std::vector<double>& frequencies, const EncodedTable& table, Team& team)
      : m_(m), frequencies_(frequencies), team_(team), columns_(at(m.count())) {
    rows_ = at(std::min(table.rows, kMaxRows));
    level_.resize(columns_ * rows_);
    for (size_t i = 0; i < rows_; ++i) {
      const auto row = at(static_cast<int64_t>(i) * table.rows / static_cast<int64_t>(rows_));
      for (size_t j = 0; j < columns_; ++j)
        level_[j * rows_ + i] = m.columns[j].start + table.codes[row * columns_ + j];
    }
    const int most = std::min(
        {Copula::kMaxScores, m.config.embedding_dim, m.config.context_dim, std::max(kMaxDimensions / m.count(), 1)});
    for (size_t j = 0; j < columns_; ++j) {
      const Span& span = m.columns[j];
      const int count = std::max(groups(j) - (span.ascending == 0 || by_value(span) ? 1 : 0), 1);
      column_.insert(column_.end(), at(std::min(count, most)), j);
      out_.first.push_back(out_.first.empty() ? 0 : end_);
      end_ = column_.size();
    }
    out_.first.push_back(end_);
  }

  Copula run() {
    out_.score.assign(at(m_.levels) * Copula::kMaxScores, 0);
    z_.assign(end_ * rows_, 0);
    for (size_t j = 0; j < columns_; ++j)
      if (m_.columns[j].ascending > 0) rank(j);
      else draw(j);
    for (int sweep = 0; sweep < kSweeps; ++sweep)
      for (size_t j = 0; j < columns_; ++j)
        if (groups(j) > 2 || m_.columns[j].width > std::max(m_.columns[j].ascending, 2)) rescore(j, sweep > 0);
    correlate();
    regress();
    return std::move(out_);
  }

 private:
  static size_t at(int64_t k) { return static_cast<size_t>(k); }
  const double* scores(size_t a) const { return z_.data() + a * rows_; }
  double& score(int64_t level, size_t a) {
    return out_.score[at(level) * Copula::kMaxScores + a - out_.first[column_[a]]];
  }

  // A number's score by the rank of its level; of what stands beside numbers 0.
  void rank(size_t j) {
    const Span& span = m_.columns[j];
    double all = 0, below = 0;
    for (int k = span.start; k < span.start + span.ascending; ++k) all += frequencies_[at(k)];
    for (int k = span.start; k < span.start + span.ascending; ++k) {
      score(k, out_.first[j]) = normal_quantile((below + frequencies_[at(k)] / 2) / all);
      below += frequencies_[at(k)];
    }
    apply(j, out_.first[j]);
  }
  void draw(size_t j) {
    const Span& span = m_.columns[j];
    for (int k = span.start; k < span.start + span.width; ++k)
      score(k, out_.first[j]) = static_cast<double>(initial_draw(k, 3, 0)) - 0.5;
    apply(j, out_.first[j]);
  }

  // Standardizes a column's scores over the rows and looks them up for each.
  void apply(size_t j, size_t a) {
    const Span& span = m_.columns[j];
    double mean = 0, square = 0, sum = 0;
    for (int k = span.start; k < span.start + span.width; ++k) {
      const double f = frequencies_[at(k)], s = score(k, a);
      sum += f, mean += f * s, square += f * s * s;
    }
    mean /= sum;
    const double deviation = std::sqrt(std::max(square / sum - mean * mean, 0.0));
    const double scale = deviation > 1e-6 ? 1 / deviation : 0;
    for (int k = span.start; k < span.start + span.width; ++k) score(k, a) = (score(k, a) - mean) * scale;
    for (size_t i = 0; i < rows_; ++i) z_[a * rows_ + i] = score(level_[j * rows_ + i], a);
  }

  bool depend(size_t a, size_t b) const {
    return m_.is_seen(std::min(column_[a], column_[b])) && m_.is_learned(std::max(column_[a], column_[b]));
  }
  double correlation(size_t a, size_t b) const {
    if (!depend(a, b)) return 0;
    double sum = 0, mean_a = 0, mean_b = 0, square_a = 0, square_b = 0;
    const double *x = scores(a), *y = scores(b);
    for (size_t i = 0; i < rows_; ++i)
      mean_a += x[i], mean_b += y[i], sum += x[i] * y[i], square_a += x[i] * x[i], square_b += y[i] * y[i];
    const double n = static_cast<double>(rows_), va = square_a - mean_a * mean_a / n,
                 vb = square_b - mean_b * mean_b / n;
    return va > 0 && vb > 0 ? (sum - mean_a * mean_b / n) / std::sqrt(va * vb) : 0;
  }
  bool is_rank(size_t a) const { return m_.columns[column_[a]].ascending > 0 && a == out_.first[column_[a]]; }
  // The directions among which a score was chosen: independent columns have r² of about their sum over rows.
  int choices(size_t a) const { return is_rank(a) ? 1 : std::max(groups(column_[a]) - 1, 1); }
  double beyond_chance(size_t a, size_t b, double r) const {
    const double noise = (choices(a) + choices(b) - 1) / static_cast<double>(rows_);
    return r * r > noise ? r * (1 - noise / (r * r)) : 0;
  }

  static bool by_value(const Span& span) { return span.ascending > 0 && span.ascending <= kMaxValues; }
  // What a column's scores beside its rank tell apart: levels; of many numbers, those that are none.
  int groups(size_t j) const {
    const Span& span = m_.columns[j];
    return span.ascending == 0 || by_value(span) ? span.width : 1 + span.width - span.ascending;
  }
  size_t group(size_t j, int level) const {
    const Span& span = m_.columns[j];
    const int k = level - span.start;
    return at(span.ascending == 0 || by_value(span) ? k : std::max(k - span.ascending + 1, 0));
  }

  // The directions in which the means of the other columns' scores differ most between a category's levels, by subspace
  // iteration; the mean of a direction is weighted by its correlation with each score. `reduced`: by what chance makes.
  void rescore(size_t j, bool reduced) {
    const Span& span = m_.columns[j];
    const size_t fixed = span.ascending > 0 ? 1 : 0, begin = out_.first[j] + fixed;  // the rank stays
    const size_t count = out_.first[j + 1] - out_.first[j];
    if (count == fixed) return;
    const size_t n = at(groups(j));
    std::vector<double> share(n, 0), rows(n, kPriorRows);
    for (int k = span.start; k < span.start + span.width; ++k) share[group(j, k)] += frequencies_[at(k)];
    for (size_t i = 0; i < rows_; ++i) ++rows[group(j, level_[j * rows_ + i])];
    std::vector<double> means(end_ * n, 0);
    size_t depending = 0;
    for (size_t other = 0; other < end_; ++other)
      if (column_[other] != j && depend(begin, other)) ++depending;
    team_.for_each(static_cast<int64_t>(end_), [&](int64_t other) {
      if (column_[at(other)] == j || !depend(begin, at(other))) return;
      double* mean = means.data() + at(other) * n;
      const double* z = scores(at(other));
      for (size_t i = 0; i < rows_; ++i) mean[group(j, level_[j * rows_ + i])] += z[i];
      for (size_t g = 0; g < n; ++g) mean[g] /= rows[g];
    });
    std::vector<double> direction(count * n), next(n), explained(count, 0);
    for (size_t k = 0; k < direction.size(); ++k)
      direction[k] = static_cast<double>(initial_draw(span.start + static_cast<int64_t>(k), 3, 0)) - 0.5;
    if (fixed > 0)  // where a group has many ranks, as good as 0
      for (size_t g = 0; g < n; ++g)
        direction[g] = by_value(span) ? score(span.start + static_cast<int64_t>(g), out_.first[j]) : 0;
    for (int iteration = 0; iteration <= kSteps; ++iteration)
      for (size_t d = fixed; d < count; ++d) {
        double* s = direction.data() + d * n;
        if (iteration > 0) {
          std::ranges::fill(next, 0);
          explained[d] = 0;
          for (size_t other = 0; other < end_; ++other) {
            const double* mean = means.data() + other * n;
            double r = 0;
            for (size_t g = 0; g < n; ++g) r += share[g] * s[g] * mean[g];
            explained[d] += r * r;
            if (reduced) r = beyond_chance(begin, other, r);
            for (size_t g = 0; r != 0 && g < n; ++g) next[g] += r * mean[g];
          }
          std::ranges::copy(next, s);
        }
        orthonormalize(share, direction, d);
      }
    // The largest singular value that noise alone has (Marchenko, Pastur 1967).
    const double scores = std::sqrt(static_cast<double>(depending)) + std::sqrt(static_cast<double>(n - 1));
    for (size_t d = fixed, a = begin; d < count; ++d, ++a) {
      if (d > 0 && explained[d] * static_cast<double>(rows_) < scores * scores)
        std::fill_n(direction.begin() + static_cast<std::ptrdiff_t>(d * n), n, 0);
      for (int k = span.start; k < span.start + span.width; ++k) score(k, a) = direction[d * n + group(j, k)];
      apply(j, a);
    }
  }
  // Direction d without its mean and what those before have of it, of variance 1; 0 if nothing is left.
  static void orthonormalize(const std::vector<double>& share, std::vector<double>& direction, size_t d) {
    const size_t n = share.size();
    double* s = direction.data() + d * n;
    double mean = 0, square = 0;
    for (size_t g = 0; g < n; ++g) mean += share[g] * s[g];
    for (size_t g = 0; g < n; ++g) s[g] -= mean;
    for (size_t before = 0; before < d; ++before) {
      const double* t = direction.data() + before * n;
      double product = 0;
      for (size_t g = 0; g < n; ++g) product += share[g] * s[g] * t[g];
      for (size_t g = 0; g < n; ++g) s[g] -= product * t[g];
    }
    for (size_t g = 0; g < n; ++g) square += share[g] * s[g] * s[g];
    const double scale = square > 1e-12 ? 1 / std::sqrt(square) : 0;
    for (size_t g = 0; g < n; ++g) s[g] *= scale;
  }

  void correlate() {
    r_.assign(end_ * end_, 0);
    team_.for_each(static_cast<int64_t>(end_), [&](int64_t a) {
      for (size_t b = 0; b < out_.first[column_[at(a)]]; ++b)
        r_[at(a) * end_ + b] = beyond_chance(at(a), b, correlation(at(a), b));
    });
  }

  // R = L·Lᵀ, or false where a score is nearly a sum of those before it.
  bool factor(const std::vector<double>& r, std::vector<double>& l) const {
    const size_t n = end_;
    for (size_t j = 0; j < n; ++j) {
      double spread = 1;
      for (size_t i = 0; i < j; ++i) {
        double x = r[j * n + i];
        for (size_t k = 0; k < i; ++k) x -= l[j * n + k] * l[i * n + k];
        l[j * n + i] = x / l[i * n + i];
        spread -= l[j * n + i] * l[j * n + i];
      }
      if (spread < kMinPivot) return false;
      l[j * n + j] = std::sqrt(spread);
    }
    return true;
  }

  void raise_variances(double least) {
    const auto n = static_cast<Eigen::Index>(end_);
    const Eigen::Map<Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>> r(r_.data(), n, n);
    Eigen::MatrixXd whole = r.triangularView<Eigen::StrictlyLower>();
    whole += whole.transpose().eval() + Eigen::MatrixXd::Identity(n, n);
    const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solved(whole);
    whole = solved.eigenvectors() * solved.eigenvalues().array().max(least).matrix().asDiagonal() *
            solved.eigenvectors().transpose();
    const Eigen::VectorXd scale = whole.diagonal().array().rsqrt();
    whole = scale.asDiagonal() * whole * scale.asDiagonal();
    for (Eigen::Index a = 0; a < n; ++a)
      for (Eigen::Index b = 0; b < a; ++b) r_[static_cast<size_t>(a * n + b)] = whole(a, b);
  }

  // Regresses each score on those of the columns before: slopes = L⁻ᵀ·(its row of L). Correlations that were measured
  // pair by pair, each shrunk for its own noise, may not be positive definite: then the directions in which they are
  // not get a small variance.
  void regress() {
    const size_t n = end_;
    std::vector<double> l(n * n);
    for (double least = kMinSpread; !factor(r_, l); least *= 1.5) raise_variances(least);
    out_.slopes.assign(n * n, 0), out_.precision.assign(n * Copula::kMaxScores, 0);
    for (size_t a = 0; a < n; ++a) {
      double* slopes = out_.slopes.data() + a * n;
      for (size_t before = out_.first[column_[a]], i = before; i-- > 0;) {
        double x = l[a * n + i];
        for (size_t k = i + 1; k < before; ++k) x -= l[k * n + i] * slopes[k];
        slopes[i] = x / l[i * n + i];
      }
    }
    for (size_t j = 0; j < columns_; ++j) bound_explained(j, l);
    bound_scores();
  }
  // A bounded score is predicted as the part of it that is a multiple of the score.
  void bound_scores() {
    out_.bounded = out_.score;
    for (double& s : out_.bounded) s = std::clamp(s, -kMaxBounded, kMaxBounded);
    for (size_t a = 0; a < end_; ++a) {
      const Span& span = m_.columns[column_[a]];
      double product = 0, square = 0;
      for (int k = span.start; k < span.start + span.width; ++k) {
        const double f = frequencies_[at(k)], s = score(k, a);
        product += f * s * std::clamp(s, -kMaxBounded, kMaxBounded), square += f * s * s;
      }
      for (size_t b = 0; square > 0 && b < end_; ++b) out_.slopes[a * end_ + b] *= product / square;
    }
  }
  // No direction of a column's scores is explained but for kMinSpread of it.
  void bound_explained(size_t j, const std::vector<double>& l) {
    const size_t n = end_, begin = out_.first[j], count = out_.first[j + 1] - begin;
    const auto size = static_cast<Eigen::Index>(count);
    Eigen::MatrixXd explained(size, size);
    for (size_t a = 0; a < count; ++a)
      for (size_t b = 0; b < count; ++b) {
        double sum = 0;
        for (size_t i = 0; i < begin; ++i) sum += l[(begin + a) * n + i] * l[(begin + b) * n + i];
        explained(static_cast<Eigen::Index>(a), static_cast<Eigen::Index>(b)) = sum;
      }
    const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solved(explained);
    const Eigen::ArrayXd whole = solved.eigenvalues().array().max(0),
                         bounded = whole.min(1 - (count > 1 ? kMinSpreadOfMany : kMinSpread));
    const auto with = [&](const Eigen::ArrayXd& values) -> Eigen::MatrixXd {
      return solved.eigenvectors() * values.matrix().asDiagonal() * solved.eigenvectors().transpose();
    };
    const Eigen::MatrixXd scale = with((bounded / whole.max(1e-12)).sqrt().min(1)), precision = with(1 / (1 - bounded));
    std::vector<double> own(count);
    for (size_t i = 0; i < begin; ++i) {
      for (size_t a = 0; a < count; ++a) own[a] = out_.slopes[(begin + a) * n + i];
      for (size_t a = 0; a < count; ++a) {
        double sum = 0;
        for (size_t b = 0; b < count; ++b)
          sum += scale(static_cast<Eigen::Index>(a), static_cast<Eigen::Index>(b)) * own[b];
        out_.slopes[(begin + a) * n + i] = sum;
      }
    }
    for (size_t a = 0; a < count; ++a)
      for (size_t b = 0; b < count; ++b)
        out_.precision[(begin + a) * Copula::kMaxScores + b] =
            precision(static_cast<Eigen::Index>(a), static_cast<Eigen::Index>(b));
  }

  const Made& m_;
  const std::vector<double>& frequencies_;
  Team& team_;
  const size_t columns_;
  size_t rows_ = 0, end_ = 0;   // of rows; of scores
  std::vector<size_t> column_;  // of each score
  std::vector<int32_t> level_;  // column by column, numbered over all columns
  std::vector<double> z_, r_;   // scores of the rows, one after another; correlations
  Copula out_;
};

}  // namespace

Copula Copula::independent() const {
  Copula out = *this;
  std::ranges::fill(out.slopes, 0);
  std::ranges::fill(out.precision, 0);
  for (size_t j = 0; j + 1 < first.size(); ++j)
    for (size_t a = first[j]; a < first[j + 1]; ++a) out.precision[a * kMaxScores + a - first[j]] = 1;
  return out;
}

bool starts_at_copula(const Made& m) {
  return m.sees == Sees::columns_before && m.skips() && m.count() <= kMaxColumns && m.count() >= 2;
}

Copula learn_copula(const Made& m, const std::vector<double>& frequencies, const EncodedTable& table, Team& team) {
  if (!starts_at_copula(m)) return {};
  return Learner(m, frequencies, table, team).run();
}

}  // namespace tessera
