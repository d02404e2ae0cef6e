// Trained judges of sequences: the discriminative and the predictive score of TimeGAN (Yoon et al. 2019, §4 and its
// published evaluation). A score is meaningless without depth, width and training length of its judge, so the report
// contains all of them.
//
//   discriminative  a GRU of one layer and ⌊D/2⌋ units reads a sequence and classifies its last state as real or
//                   synthetic; score |accuracy − ½| on the unseen fifth of both
//   predictive      a GRU of the same size reads all features but the last at step t and predicts the last one at t +
//                   1, trained on synthetic sequences; score: mean absolute error on the real ones (train on synthetic,
//                   test on real)
//
// Both are the published protocol: reset before the product, Glorot weights, gate biases 1, Adam 1e-3 in TF1's form,
// 2000 steps of 128 + 128 sequences and 5000 of 128. Differences: sequences of different length are masked; both sides
// of the first judge have the same number of sequences; with one feature, where ⌊D/2⌋ = 0 units always give 0, a judge
// has 4 units and the predictor reads the feature itself.
#pragma once
#include <vector>

#include "models/quality/sequences/step_features.h"

namespace tessera::quality {

struct JudgeOptions {
  int judges = 10;  // training runs of each; several give a standard deviation
  int discriminative_steps = 2000, predictive_steps = 5000, batch = 128;
  uint64_t seed = 0;
};

struct JudgeScores {
  std::vector<double> each;
  double mean = 0, stddev = 0;  // sample standard deviation, 0 for one judge
};

struct JudgeReport {
  int64_t units = 0;      // of the one GRU layer
  int64_t sequences = 0;  // of each side of the discriminative judge; it trains on four fifths
  // the same for the floor: half of the real sequences against the other half, at most as many as above
  int64_t floor_sequences = 0;
  int64_t target = 0;  // feature that is predicted: the last number of the table, else the last feature
  JudgeScores discriminative, discriminative_floor;
  JudgeScores predictive, predictive_floor;  // floor: trained on the real sequences it is tested on
};

// Judges run in parallel, one per thread; the scores do not depend on the number of threads. Error(data) with fewer
// than 10 sequences.
JudgeReport judge_sequences(const StepFeatures& features, const JudgeOptions& options, const Workers& workers);

}  // namespace tessera::quality
