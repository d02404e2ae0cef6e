// Logistic regression with a ridge penalty: min over w, b of Σ log(1 + exp(−±(w·x + b))) + ½·l2·‖w‖², the intercept b
// free. scikit-learn's LogisticRegression() at C = 1/l2, solved to its optimum instead of stopped after 100 steps.
// Rows are a few dense numbers and a few one-hot features, so a step costs only the nonzeros. Newton's method; each
// step solved by conjugate gradients with the Hessian's diagonal as preconditioner, which makes unscaled columns
// harmless; halved until the loss falls.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace tessera::quality {

struct DesignRows {
  int64_t rows = 0;
  size_t numbers = 0, hots = 0;  // of a row
  int32_t features = 0;          // numbers, then all one-hot ones
  std::vector<double> number;    // [rows][numbers]
  std::vector<int32_t> hot;      // [rows][hots]: the feature that is 1
};

class LogisticRegression {
 public:
  // target[r] is 0 or 1, for r in `rows`.
  static LogisticRegression fit(const DesignRows& x, std::span<const int64_t> rows, std::span<const double> target,
                                double l2 = 1);
  // w·x + b: the log of the odds of 1.
  double log_odds(const DesignRows& x, int64_t row) const;
  const std::vector<double>& weights() const { return weights_; }  // w, then b
  int steps() const { return steps_; }

 private:
  std::vector<double> weights_;
  int steps_ = 0;
};

}  // namespace tessera::quality
