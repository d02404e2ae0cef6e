// Classifier two-sample tests (C2ST, Lopez-Paz and Oquab, ICLR 2017): whether a classifier can distinguish the rows of
// two tables. AUC .5: indistinguishable. Every row is scored by a classifier that was not trained on it: stratified
// folds, drawn by seed; the AUC is the mean over folds.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "base/threads/team.h"
#include "models/quality/common/workers.h"
#include "models/quality/learners/boosted_trees.h"
#include "models/quality/metrics/comparison.h"

namespace tessera::quality {

constexpr int kFolds = 3;

// Rows of two tables of a comparison, concatenated, and the test fold of each.
struct TwoSamples {
  int64_t rows = 0;  // of each side; rows [0, rows) are the first side's
  std::vector<Kind> kinds;
  Features x;  // 2·rows rows
  std::vector<int> fold;
  std::vector<std::vector<double>> numbers;  // storage of x
  std::vector<std::vector<int32_t>> codes;

  bool second(int64_t row) const { return row >= rows; }
};

// The same number of rows of both sides, at most `most`; those of the larger side are drawn by seed. Empty `a_rows` or
// `b_rows`: all rows of that table. Rows at the same position fall into the same fold, so that a table against itself
// gives .5: no row is scored by a classifier that was trained on its copy.
TwoSamples two_samples(const Comparison& c, size_t a, size_t b, uint64_t seed, int64_t most,
                       std::span<const int64_t> a_rows = {}, std::span<const int64_t> b_rows = {});
// The same for the two halves of one table, drawn by seed.
TwoSamples two_halves(const Comparison& c, size_t table, uint64_t seed, int64_t most);

// NaN if a side has fewer than kFolds rows.
struct Detection {
  double auc;                  // mean over folds
  double score;                // sdmetrics': 1 − mean over folds of (2·max(AUC, ½) − 1); 1: indistinguishable
  std::vector<double> roc{};   // true positive rate at false positive rates 0, 1/kRocSteps, … 1: mean over folds
  std::vector<double> gain{};  // trees: of all splits by each column, as a share, mean over folds
};
constexpr int kRocSteps = 50;

Detection c2st_trees(const TwoSamples& samples, const TreeOptions& options, const Workers& workers, const char* note);

// sdmetrics' LogisticDetection: missing numbers replaced by the first side's mean, centered by the median and divided
// by the interquartile range (if not 0) of the training rows; levels one-hot, including missing; ridge penalty 1.
Detection c2st_logistic(const TwoSamples& samples, const Workers& workers, const char* note);

}  // namespace tessera::quality

namespace tessera {

// AUC of boosted trees that distinguish `synthetic` rows from `real` ones, cross-validated; .5: indistinguishable, 1:
// always distinguished. Identifiers are excluded. NaN with fewer than three rows on a side. Only `real_rows` and
// `synthetic_rows` are used if given. The same number for any team. Throws Error(data) as evaluate() does.
double c2st_trees(const Table& real, const Table& synthetic, uint64_t seed, Team& team,
                  std::span<const int64_t> real_rows = {}, std::span<const int64_t> synthetic_rows = {});

}  // namespace tessera
