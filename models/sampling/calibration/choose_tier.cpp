#include "models/sampling/calibration/choose_tier.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "models/quality/metrics/column_shapes.h"
#include "models/quality/metrics/pair_trends.h"
#include "models/quality/metrics/two_sample.h"
#include "tables/kinds/cells.h"

namespace tessera {
namespace {

double over_chance(const TierTrial& t) { return std::max(t.c2st - 0.5, 0.0); }
// The penalty of a trial. A classifier's advantage is between 0 and 1 and counts as much as both errors.
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

double independent_columns(const std::vector<const Column*>& columns) {
  constexpr int64_t kRows = 500;
  const int64_t all = columns.empty() ? 0 : columns[0]->size(), rows = std::min(all, kRows);
  // by column: standardized ranks of rows at equal distances; 0 where a number is missing
  std::vector<std::vector<double>> ranks;
  for (const Column* c : columns) {
    if (has_texts(*c) || rows < 3) continue;
    std::vector<double> x(static_cast<size_t>(rows)), sorted;
    for (int64_t i = 0; i < rows; ++i) {
      const double v = c->numbers[static_cast<size_t>(i * all / rows)];
      x[static_cast<size_t>(i)] = v;
      if (v == v) sorted.push_back(v);
    }
    std::sort(sorted.begin(), sorted.end());
    double sum = 0;
    for (double& v : x) {
      if (v != v) {
        v = 0;
        continue;
      }
      const auto [low, high] = std::equal_range(sorted.begin(), sorted.end(), v);
      v = 0.5 *
          static_cast<double>((low - sorted.begin()) + (high - sorted.begin()) - static_cast<int64_t>(sorted.size()));
      sum += v * v;
    }
    for (double& v : x) v /= sum > 0 ? std::sqrt(sum) : 1;
    if (sum > 0) ranks.push_back(std::move(x));
  }
  // Σρ² over pairs of different columns, less its expectation by chance
  double squares = 0;
  for (size_t j = 0; j < ranks.size(); ++j)
    for (size_t k = 0; k < j; ++k) {
      const double r = std::inner_product(ranks[j].begin(), ranks[j].end(), ranks[k].begin(), 0.0);
      squares += 2 * (r * r - (1 - r * r) / static_cast<double>(rows - 2));
    }
  const auto count = static_cast<double>(columns.size());
  return count * count / std::max(count + std::max(squares, 0.0), 1.0);
}

// Noise of the difference of two trials against one sample: √2 times that of one. A column's Kolmogorov-Smirnov
// distance has the standard deviation .26·√(1/n + 1/m) under the null (Kolmogorov's distribution), and columns are
// averaged; pairs share columns, so Trend, whose cells are coarser, gets the same bound as Shape. C2ST: √(1/6n) if the
// sides are indistinguishable (Mann and Whitney), with n the rows of the smaller side.
TrialNoise::TrialNoise(int64_t rows, int64_t sample, int64_t unseen, double columns) {
  const auto n = static_cast<double>(std::max<int64_t>(rows, 1)), m = static_cast<double>(std::max<int64_t>(sample, 1));
  const double two_errors = 2 * std::sqrt(2.0);
  shape = trend = two_errors * 0.26 * std::sqrt((1 / n + 1 / m) / std::max(columns, 1.0));
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
