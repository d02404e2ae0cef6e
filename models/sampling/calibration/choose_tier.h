// Chooses the best tier: trials on rows of the model from which nothing was learned (docs/methods/calibration.md).
#pragma once
#include "models/sampling/calibration/calibration.h"

namespace tessera {

// Shape and Trend against the whole sample, C2ST against `unseen`, the rows not used by the ratio. Trend uses the real
// table's edges: with each table's own edges, a single extreme row moves all bins and could decide between equal tiers.
TierTrial measure_tier(Tier tier, double temperature, double yield, const Table& sample, const Table& unseen,
                       const Table& rows, uint64_t seed, Team& team);

// The number of independent columns whose mean would be as variable as that of these columns: (Σλ)²/Σλ² of the
// eigenvalues λ of the rank correlations of their numbers. Columns of texts count as independent.
double independent_columns(const std::vector<const Column*>& columns);

// The noise between the figures of two equal tiers: two standard errors.
struct TrialNoise {
  // For trials of `rows` model rows against a sample and unseen rows, with this many independent columns.
  TrialNoise(int64_t rows, int64_t sample, int64_t unseen, double columns);
  double shape, trend, c2st;
};

// Whether no figure of a tier is worse than that of the raw rows, beyond noise.
bool serves(const TierTrial& trial, const TierTrial& raw, const TrialNoise& noise);
// Whether to use the square root of the ratio: only it is admissible, or it is better beyond noise.
bool prefer_tempered(const TierTrial& tempered, const TierTrial& whole, const TierTrial& raw, const TrialNoise& noise);
// The admissible trial with the smallest sum of errors and advantage of a classifier over chance; the first trial is
// that of the raw rows. Trials of the full tier at another temperature than `temperature` are skipped.
const TierTrial& best_trial(const std::vector<TierTrial>& trials, double temperature, const TrialNoise& noise);

}  // namespace tessera
