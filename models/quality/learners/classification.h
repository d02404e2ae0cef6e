// Scores of a binary classifier's predictions.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace tessera::quality {

// Area under the ROC curve: the share of pairs (positive, negative) in which the positive one has the higher score, a
// tie counting one half, exactly.
// Undefined (NaN) if there are only positives or only negatives. Scores must not be NaN.
double roc_auc(std::span<const double> score, std::span<const char> positive);

// The ROC curve at false positive rates 0, 1/steps, … 1: the share of positives above the score that this share of
// negatives reach, ties by straight lines. Empty if roc_auc() is undefined.
std::vector<double> roc_curve(std::span<const double> score, std::span<const char> positive, int steps);

struct BinaryCounts {
  int64_t true_positives = 0, false_positives = 0, false_negatives = 0, true_negatives = 0;
  double f1() const;  // 2·TP / (2·TP + FP + FN); 0 if all three are 0, as in scikit-learn
};

// Positive is predicted if score > threshold.
BinaryCounts count_answers(std::span<const double> score, std::span<const char> positive, double threshold = 0.5);

}  // namespace tessera::quality
