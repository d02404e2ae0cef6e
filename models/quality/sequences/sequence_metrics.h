// Similarity of two sets of sequences without a trained judge: moments, autocorrelation, cross-correlation, marginals,
// kernel mean discrepancy. Definitions:
// docs/quality/metrics.md; they equal the golden vectors at 1e-9.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "models/quality/common/workers.h"

namespace tessera::quality {

// Sequences of steps of `features` numbers. Rows are stored once, however many windows share them; data after a
// sequence's end are never read.
struct StepRows {
  std::span<const float> values;           // [rows, features]
  std::span<const int32_t> first, length;  // of each sequence, in rows
  int64_t features = 0;
  int64_t size() const { return static_cast<int64_t>(first.size()); }
  const float* sequence(int64_t i) const { return values.data() + int64_t{first[static_cast<size_t>(i)]} * features; }
  int64_t steps(int64_t i) const { return length[static_cast<size_t>(i)]; }
};

struct SequenceMetricOptions {
  int lags = 10;        // of the autocorrelation
  int bins = 50;        // of the histograms, over the range of the real values
  int64_t most = 2000;  // sequences of each set that the kernel compares, drawn by seed
  uint64_t seed = 0;
};

// Of one feature over all valid steps; kUndefined if it does not vary.
struct Moments {
  double mean, stddev, skewness, kurtosis;  // stddev ÷ n, kurtosis in excess of the normal's
};

struct StepStatistics {
  std::vector<Moments> moments;  // [features]
  // [features, lags]: lag l = 1 …, over all steps t with t + l inside the sequence, by the mean and variance of all
  // steps
  std::vector<double> autocorrelation;
  std::vector<double> correlation;  // [features, features], Pearson
};

struct Discrepancy {  // squared maximum mean discrepancy under exp(−‖x − y‖²/h) of whole sequences, padded with 0
  double bandwidth = 0;  // h: median of ‖x − y‖² over all pairs of both sets
  double biased = 0, unbiased = 0;
  int64_t real = 0, synthetic = 0;  // sequences compared
};

struct SequenceMetrics {
  StepStatistics real, synthetic;
  std::vector<double> histogram;  // [features]: ½Σ|p − q|
  // Means over features, or pairs of features, of absolute differences; undefined parts are ignored.
  double mean_difference, stddev_difference, skewness_difference, kurtosis_difference, autocorrelation_difference,
      cross_correlation_difference, histogram_distance;
  Discrepancy discrepancy;
};

SequenceMetrics sequence_metrics(const StepRows& real, const StepRows& synthetic, const SequenceMetricOptions& options,
                                 const Workers& workers);

}  // namespace tessera::quality
