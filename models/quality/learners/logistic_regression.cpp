#include "models/quality/learners/logistic_regression.h"

#include <algorithm>
#include <cmath>

namespace tessera::quality {
namespace {

using Vector = std::vector<double>;

constexpr int kMaxSteps = 60, kMaxInner = 250;
constexpr double kNear = 1e-6;  // Newton's decrement: the loss (a sum) minus its minimum

double dot(const Vector& a, const Vector& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

class Problem {
 public:
  Problem(const DesignRows& x, std::span<const int64_t> rows, std::span<const double> target, double l2)
      : x_(x), rows_(rows), target_(target), l2_(l2), bend_(rows.size()) {}

  size_t size() const { return static_cast<size_t>(x_.features) + 1; }

  double loss(const Vector& w) const {
    double sum = 0;
    for (const int64_t r : rows_) {
      const double z = product(w, r);
      sum += std::max(z, 0.0) - z * target_[static_cast<size_t>(r)] + std::log1p(std::exp(-std::abs(z)));
    }
    return sum + penalty(w);
  }

  // Gradient and the Hessian's diagonal at w; the second derivatives of the rows are kept for curve().
  double differentiate(const Vector& w, Vector& gradient, Vector& diagonal) {
    std::fill(gradient.begin(), gradient.end(), 0.0);
    std::fill(diagonal.begin(), diagonal.end(), 0.0);
    double sum = 0;
    for (size_t i = 0; i < rows_.size(); ++i) {
      const int64_t r = rows_[i];
      const double z = product(w, r), t = target_[static_cast<size_t>(r)], tail = std::exp(-std::abs(z)),
                   p = (z > 0 ? 1 : tail) / (1 + tail);
      sum += std::max(z, 0.0) - z * t + std::log1p(tail);
      bend_[i] = std::max(p * (1 - p), 1e-12);
      each(r, [&](size_t j, double v) { gradient[j] += (p - t) * v, diagonal[j] += bend_[i] * v * v; });
    }
    for (size_t j = 0; j + 1 < w.size(); ++j) gradient[j] += l2_ * w[j], diagonal[j] += l2_;
    return sum + penalty(w);
  }

  // Hessian times v, at the w of the last differentiate().
  void curve(const Vector& v, Vector& out) const {
    std::fill(out.begin(), out.end(), 0.0);
    for (size_t i = 0; i < rows_.size(); ++i) {
      const double along = product(v, rows_[i]) * bend_[i];
      each(rows_[i], [&](size_t j, double x) { out[j] += along * x; });
    }
    for (size_t j = 0; j + 1 < v.size(); ++j) out[j] += l2_ * v[j];
  }

  double product(const Vector& w, int64_t row) const {
    double sum = 0;
    each(row, [&](size_t j, double v) { sum += w[j] * v; });
    return sum;
  }

 private:
  template <class Use>
  void each(int64_t row, Use&& use) const {
    const double* number = x_.number.data() + static_cast<size_t>(row) * x_.numbers;
    const int32_t* hot = x_.hot.data() + static_cast<size_t>(row) * x_.hots;
    for (size_t k = 0; k < x_.numbers; ++k) use(k, number[k]);
    for (size_t k = 0; k < x_.hots; ++k) use(static_cast<size_t>(hot[k]), 1.0);
    use(static_cast<size_t>(x_.features), 1.0);
  }

  double penalty(const Vector& w) const {
    double sum = 0;
    for (size_t j = 0; j + 1 < w.size(); ++j) sum += w[j] * w[j];
    return l2_ / 2 * sum;
  }

  const DesignRows& x_;
  std::span<const int64_t> rows_;
  std::span<const double> target_;
  double l2_;
  Vector bend_;
};

// Solves H·d = −gradient approximately: until the residual is `share` of it, in the norm of the preconditioner.
void newton_direction(const Problem& problem, const Vector& gradient, const Vector& diagonal, double share, Vector& d) {
  const size_t n = gradient.size();
  Vector left(n), scaled(n), along(n), bent(n);
  std::fill(d.begin(), d.end(), 0.0);
  for (size_t j = 0; j < n; ++j) left[j] = -gradient[j], along[j] = scaled[j] = left[j] / diagonal[j];
  double size = dot(left, scaled);
  const double enough = size * share * share;
  for (int k = 0; k < kMaxInner && size > enough; ++k) {
    problem.curve(along, bent);
    const double step = size / dot(along, bent);
    for (size_t j = 0; j < n; ++j)
      d[j] += step * along[j], left[j] -= step * bent[j], scaled[j] = left[j] / diagonal[j];
    const double now = dot(left, scaled);
    for (size_t j = 0; j < n; ++j) along[j] = scaled[j] + now / size * along[j];
    size = now;
  }
}

}  // namespace

LogisticRegression LogisticRegression::fit(const DesignRows& x, std::span<const int64_t> rows,
                                           std::span<const double> target, double l2) {
  Problem problem(x, rows, target, l2);
  const size_t n = problem.size();
  LogisticRegression model;
  Vector& w = model.weights_;
  w.assign(n, 0);
  Vector gradient(n), diagonal(n), d(n), trial(n);
  double share = 0.1;
  for (; model.steps_ < kMaxSteps; ++model.steps_) {
    const double loss = problem.differentiate(w, gradient, diagonal);
    newton_direction(problem, gradient, diagonal, share, d);
    const double slope = dot(gradient, d);
    if (-slope / 2 < kNear) break;
    double step = 1, fallen = loss;
    for (; step > 1e-10; step /= 2) {
      for (size_t j = 0; j < n; ++j) trial[j] = w[j] + step * d[j];
      fallen = problem.loss(trial);
      if (fallen <= loss + 1e-4 * step * slope) break;
    }
    if (!(fallen < loss)) break;
    w.swap(trial);
    share = std::clamp(std::min(0.1, (loss - fallen) / loss), 1e-4, 0.1);  // the last steps are solved exactly
  }
  return model;
}

double LogisticRegression::log_odds(const DesignRows& x, int64_t row) const {
  double sum = weights_.back();
  for (size_t k = 0; k < x.numbers; ++k) sum += weights_[k] * x.number[static_cast<size_t>(row) * x.numbers + k];
  for (size_t k = 0; k < x.hots; ++k)
    sum += weights_[static_cast<size_t>(x.hot[static_cast<size_t>(row) * x.hots + k])];
  return sum;
}

}  // namespace tessera::quality
