#include "models/made/copula.h"

#include <algorithm>
#include <cmath>

#include "models/layers/initial_weights.h"

namespace tessera {
namespace {

constexpr int64_t kMaxRows = 20000;
constexpr int kMaxColumns = 256;
constexpr int kSweeps = 4;          // over the categories' scores
constexpr double kPriorRows = 4;    // of a category's score: that of rare ones is near 0
constexpr double kMinSpread = 0.1;  // of a column given others: the network learns the rest
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
      : m_(m), frequencies_(frequencies), team_(team), columns_(static_cast<size_t>(m.count())) {
    rows_ = static_cast<size_t>(std::min(table.rows, kMaxRows));
    level_.resize(columns_ * rows_);
    for (size_t i = 0; i < rows_; ++i) {
      const auto row = static_cast<size_t>(static_cast<int64_t>(i) * table.rows / static_cast<int64_t>(rows_));
      for (size_t j = 0; j < columns_; ++j)
        level_[j * rows_ + i] = m.columns[j].start + table.codes[row * columns_ + j];
    }
  }

  Copula run() {
    out_.score.assign(static_cast<size_t>(m_.levels), 0);
    z_.assign(columns_ * rows_, 0);
    for (size_t j = 0; j < columns_; ++j) {
      const Span& span = m_.columns[j];
      double below = 0;
      const auto end = frequencies_.begin() + span.start + span.ascending;
      for (auto f = frequencies_.begin() + span.start; f != end; ++f) below += *f;
      const double all = below;
      below = 0;
      for (int k = span.start; k < span.start + span.width; ++k) {
        const double f = frequencies_[at(k)];
        out_.score[at(k)] = k < span.start + span.ascending ? normal_quantile((below + f / 2) / all)
                                                            : static_cast<double>(initial_draw(k, 3, 0)) - 0.5;
        below += f;
      }
      if (span.ascending > 0)
        for (int k = span.start + span.ascending; k < span.start + span.width; ++k) out_.score[at(k)] = 0;  // missing
      apply(j);
    }
    for (int sweep = 0; sweep < kSweeps; ++sweep)
      for (size_t j = 0; j < columns_; ++j)
        if (m_.columns[j].ascending == 0 && m_.columns[j].width > 2) rescore(j, sweep > 0);
    correlate();
    regress();
    return std::move(out_);
  }

 private:
  static size_t at(int64_t k) { return static_cast<size_t>(k); }
  const double* scores(size_t j) const { return z_.data() + j * rows_; }

  // Standardizes a column's scores over the rows and looks them up for each.
  void apply(size_t j) {
    const Span& span = m_.columns[j];
    double mean = 0, square = 0, sum = 0;
    for (int k = span.start; k < span.start + span.width; ++k) {
      const double f = frequencies_[at(k)], s = out_.score[at(k)];
      sum += f, mean += f * s, square += f * s * s;
    }
    mean /= sum;
    const double deviation = std::sqrt(std::max(square / sum - mean * mean, 0.0));
    const double scale = deviation > 1e-6 ? 1 / deviation : 0;
    for (int k = span.start; k < span.start + span.width; ++k) out_.score[at(k)] = (out_.score[at(k)] - mean) * scale;
    for (size_t i = 0; i < rows_; ++i) z_[j * rows_ + i] = out_.score[at(level_[j * rows_ + i])];
  }

  double correlation(size_t a, size_t b) const {
    if (!m_.is_seen(std::min(a, b)) || !m_.is_learned(std::max(a, b))) return 0;
    double sum = 0, mean_a = 0, mean_b = 0, square_a = 0, square_b = 0;
    const double *x = scores(a), *y = scores(b);
    for (size_t i = 0; i < rows_; ++i)
      mean_a += x[i], mean_b += y[i], sum += x[i] * y[i], square_a += x[i] * x[i], square_b += y[i] * y[i];
    const double n = static_cast<double>(rows_), va = square_a - mean_a * mean_a / n,
                 vb = square_b - mean_b * mean_b / n;
    return va > 0 && vb > 0 ? (sum - mean_a * mean_b / n) / std::sqrt(va * vb) : 0;
  }
  // The directions among which the scores of a pair were chosen: independent columns have r² of about this over rows.
  double choices(size_t j) const { return m_.columns[j].ascending > 0 ? 1 : std::max(m_.columns[j].width - 1, 1); }
  double beyond_chance(size_t a, size_t b) const {
    const double r = correlation(a, b), noise = (choices(a) + choices(b) - 1) / static_cast<double>(rows_);
    return r * r > noise ? r * (1 - noise / (r * r)) : 0;
  }

  // A category's score is the mean, over its rows, of the scores of the other columns weighted by correlation.
  void rescore(size_t j, bool reduced) {
    std::vector<double> weight(columns_, 0);
    team_.for_each(static_cast<int64_t>(columns_), [&](int64_t other) {
      if (at(other) != j) weight[at(other)] = reduced ? beyond_chance(j, at(other)) : correlation(j, at(other));
    });
    if (std::all_of(weight.begin(), weight.end(), [](double w) { return w == 0; })) return;
    const Span& span = m_.columns[j];
    std::vector<double> sum(at(span.width), 0), rows(at(span.width), kPriorRows);
    for (size_t i = 0; i < rows_; ++i) {
      const size_t k = at(level_[j * rows_ + i] - span.start);
      ++rows[k];
      for (size_t other = 0; other < columns_; ++other)
        if (weight[other] != 0) sum[k] += weight[other] * scores(other)[i];
    }
    for (size_t k = 0; k < sum.size(); ++k) out_.score[at(span.start) + k] = sum[k] / rows[k];
    apply(j);
  }

  void correlate() {
    r_.assign(columns_ * columns_, 0);
    team_.for_each(static_cast<int64_t>(columns_), [&](int64_t j) {
      for (size_t i = 0; i < at(j); ++i) r_[at(j) * columns_ + i] = beyond_chance(at(j), i);
    });
  }

  // R = L·Lᵀ, or false where a column is nearly a sum of the columns before it.
  bool factor(const std::vector<double>& r, std::vector<double>& l) const {
    const size_t n = columns_;
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

  // Regresses each column on those before it: slopes = L⁻ᵀ·(its row of L). Correlations measured pair by pair, each
  // shrunk for its own noise, may not be positive definite: then all shrink toward 0, as little as the Cholesky factor
  // L needs.
  void regress() {
    const size_t n = columns_;
    std::vector<double> l(n * n), r = r_;
    for (double shrink = 0; !factor(r, l); shrink = std::max(0.01, shrink * 1.5))
      for (size_t i = 0; i < r.size(); ++i) r[i] = r_[i] / (1 + shrink);
    out_.slopes.assign(n * n, 0), out_.spread.assign(n, 1);
    for (size_t j = 0; j < n; ++j) {
      double* slopes = out_.slopes.data() + j * n;
      for (size_t i = j; i-- > 0;) {
        double x = l[j * n + i];
        for (size_t k = i + 1; k < j; ++k) x -= l[k * n + i] * slopes[k];
        slopes[i] = x / l[i * n + i];
      }
      const double explained = 1 - l[j * n + j] * l[j * n + j];
      const double scale = explained > 1 - kMinSpread ? std::sqrt((1 - kMinSpread) / explained) : 1;
      for (size_t i = 0; i < j; ++i) slopes[i] *= scale;
      out_.spread[j] = 1 - scale * scale * explained;
    }
  }

  const Made& m_;
  const std::vector<double>& frequencies_;
  Team& team_;
  const size_t columns_;
  size_t rows_ = 0;
  std::vector<int32_t> level_;  // column by column, numbered over all columns
  std::vector<double> z_, r_;   // scores of the rows, column by column; correlations
  Copula out_;
};

}  // namespace

bool starts_at_copula(const Made& m) {
  return m.sees == Sees::columns_before && m.skips() && m.count() <= kMaxColumns && m.count() >= 2;
}

Copula learn_copula(const Made& m, const std::vector<double>& frequencies, const EncodedTable& table, Team& team) {
  if (!starts_at_copula(m)) return {};
  return Learner(m, frequencies, table, team).run();
}

}  // namespace tessera
