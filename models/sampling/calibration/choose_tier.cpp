#include "models/sampling/calibration/choose_tier.h"

#include <algorithm>
#include <cmath>

#include "models/quality/metrics/column_shapes.h"
#include "models/quality/metrics/pair_trends.h"
#include "models/quality/metrics/two_sample.h"

namespace tessera {
namespace {

double over_chance(const TierTrial& t) { return std::max(t.c2st - 0.5, 0.0); }
// The score of a trial. A classifier's advantage is between 0 and 1 and counts as much as both errors.
double badness(const TierTrial& t) { return t.shape_error + t.trend_error + 2 * over_chance(t); }

}  // namespace

TierTrial measure_tier(Tier tier, double temperature, double yield, const Table& sample, const Table& unseen,
                       const Table& rows, uint64_t seed, Team& team) {
  TierTrial t{tier, temperature, yield, 1, 1, 1};
  if (rows.rows < 2) return t;
  const quality::Comparison c = quality::compare_tables({{"real", &sample}, {"synthetic", &rows}});
  const Monitor silent;
  const quality::Workers workers{team, silent};
  auto mean_error = [](const auto& scored, auto score) {
    double sum = 0;
    int count = 0;
    for (const auto& s : scored)
      if (s.*score == s.*score) sum += 1 - s.*score, ++count;
    return count == 0 ? 0 : sum / count;
  };
  t.shape_error = mean_error(quality::column_shapes(c, workers), &quality::ColumnShape::score);
  t.trend_error = mean_error(quality::pair_trends(c, {}, workers), &quality::PairTrend::score_real_edges);
  t.c2st = c2st_trees(unseen, rows, seed, team);
  return t;
}

// Of two trials against one sample: √2 times one trial's. A column's Kolmogorov-Smirnov distance has the standard
// deviation .26·√(1/n + 1/m) under the null (Kolmogorov's distribution), and columns are averaged; pairs share columns,
// so Trend, whose cells are coarser, gets the same bound as Shape. C2ST: √(1/6n) if the sides are indistinguishable
// (Mann and Whitney), n the rows of the smaller side.
TrialNoise::TrialNoise(int64_t rows, int64_t sample, int64_t unseen, size_t columns) {
  const auto n = static_cast<double>(std::max<int64_t>(rows, 1)), m = static_cast<double>(std::max<int64_t>(sample, 1));
  const double two_errors = 2 * std::sqrt(2.0);
  shape = trend = two_errors * 0.26 * std::sqrt((1 / n + 1 / m) / static_cast<double>(std::max<size_t>(columns, 1)));
  c2st = two_errors / std::sqrt(6 * std::min(n, static_cast<double>(std::max<int64_t>(unseen, 1))));
}

bool serves(const TierTrial& t, const TierTrial& raw, const TrialNoise& noise) {
  return t.shape_error <= raw.shape_error + noise.shape && t.trend_error <= raw.trend_error + noise.trend &&
         over_chance(t) <= over_chance(raw) + noise.c2st;
}

bool prefer_tempered(const TierTrial& tempered, const TierTrial& whole, const TierTrial& raw, const TrialNoise& noise) {
  if (!serves(whole, raw, noise)) return serves(tempered, raw, noise) || badness(tempered) < badness(whole);
  return badness(tempered) < badness(whole) - 2 * noise.c2st;
}

const TierTrial& best_trial(const std::vector<TierTrial>& trials, double temperature, const TrialNoise& noise) {
  const TierTrial &raw = trials.front(), *best = &raw;
  for (const TierTrial& t : trials) {
    if (t.tier == Tier::full && t.temperature != temperature) continue;
    if (serves(t, raw, noise) && badness(t) < badness(*best)) best = &t;
  }
  return *best;
}

}  // namespace tessera
