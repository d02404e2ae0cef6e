// Utility of the synthetic table: a model trained on it and tested on unseen real rows, compared with the same model
// trained on the real table.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "models/quality/common/workers.h"
#include "models/quality/learners/boosted_trees.h"
#include "models/quality/metrics/comparison.h"

namespace tessera::quality {

// The column to predict from all others.
struct Target {
  size_t column = 0;            // of the comparison
  bool classes = false;         // classification; else regression of a number
  std::vector<double> numbers;  // classes: of a numerical column, its two values
  // classes: of a categorical column, its levels in the real table, most common first; of two, the rarer is the
  // positive one
  std::vector<int32_t> levels;
  std::string reason;  // one sentence: why this column
  size_t count() const { return numbers.empty() ? levels.size() : numbers.size(); }
};

// The named column; with an empty name the last column that is binary or has at most kFewLevels categories, or else the
// last number. Throws Error(data) for an unknown column, or one that cannot be predicted. A comparison without such
// columns: count() 0, no reason.
constexpr size_t kFewLevels = 20, kMaxTargetLevels = 100;
Target choose_target(const Comparison& c, const std::string& name);

// NaN where undefined.
struct UtilityScores {
  double auc, accuracy, f1;  // classes: of several, AUC and F1 are means over the classes, each against the rest
  double rmse, r2;           // numbers
};

// Trains on table `training`, at most `most` rows drawn by seed, and predicts table `test`. Rows without a target, or
// with one the real table lacks, are excluded. Several classes: one model per class against the rest, with normalized
// probabilities.
UtilityScores utility(const Comparison& c, const Target& target, size_t training, size_t test,
                      const TreeOptions& options, int64_t most, const Workers& workers, const char* note);

}  // namespace tessera::quality
