// Which tier serves best: trials on rows of the model from which nothing was learned (docs/calibration.md).
#pragma once
#include "models/sampling/calibration/calibration.h"

namespace tessera {

// Shape and Trend against the whole sample, C2ST against `unseen`, the rows the ratio never saw. Trend with the real
// table's edges: with its own, one extreme row more or less moves all bins, and decides between two tiers that are
// alike.
TierTrial measure_tier(Tier tier, double temperature, double yield, const Table& sample, const Table& unseen,
                       const Table& rows, uint64_t seed, Team& team);

// What a trial's figures differ by, by chance, between two tiers that are alike: two standard errors.
struct TrialNoise {
  // Trials of `rows` model rows, against a sample and rows unseen, of a table of so many columns.
  TrialNoise(int64_t rows, int64_t sample, int64_t unseen, size_t columns);
  double shape, trend, c2st;
};

// Whether a tier is no worse than the raw rows in any figure, beyond noise.
bool serves(const TierTrial& trial, const TierTrial& raw, const TrialNoise& noise);
// Whether the square root of the ratio is to be taken: where it alone serves, or is better by more than noise.
bool prefer_tempered(const TierTrial& tempered, const TierTrial& whole, const TierTrial& raw, const TrialNoise& noise);
// The trial with the least sum of errors and advantage of a classifier over chance, of those that serve; the first
// trial is that of the raw rows. Trials of the full tier at another temperature than `temperature` are passed over.
const TierTrial& best_trial(const std::vector<TierTrial>& trials, double temperature, const TrialNoise& noise);

}  // namespace tessera
