#include "models/quality/learners/classification.h"

#include <algorithm>
#include <vector>

#include "models/quality/common/statistics.h"

namespace tessera::quality {

double roc_auc(std::span<const double> score, std::span<const char> positive) {
  std::vector<std::pair<double, char>> sorted(score.size());
  for (size_t i = 0; i < sorted.size(); ++i) sorted[i] = {score[i], positive[i] != 0};
  std::sort(sorted.begin(), sorted.end());
  // Twice the number of pairs won, in integers.
  int64_t twice = 0, positives = 0, negatives = 0;
  for (size_t i = 0; i < sorted.size();) {
    int64_t here[2] = {0, 0};
    for (const double value = sorted[i].first; i < sorted.size() && sorted[i].first == value; ++i)
      ++here[static_cast<size_t>(sorted[i].second)];
    twice += here[1] * (2 * negatives + here[0]);
    negatives += here[0];
    positives += here[1];
  }
  if (positives == 0 || negatives == 0) return kUndefined;
  return static_cast<double>(twice) / 2 / static_cast<double>(positives) / static_cast<double>(negatives);
}

std::vector<double> roc_curve(std::span<const double> score, std::span<const char> positive, int steps) {
  std::vector<std::pair<double, char>> sorted(score.size());
  for (size_t i = 0; i < sorted.size(); ++i) sorted[i] = {score[i], positive[i] != 0};
  std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<double> negatives{0}, positives{0};  // above each score, from the highest down
  for (size_t i = 0; i < sorted.size();) {
    double here[2] = {negatives.back(), positives.back()};
    for (const double value = sorted[i].first; i < sorted.size() && sorted[i].first == value; ++i)
      here[static_cast<size_t>(sorted[i].second)] += 1;
    negatives.push_back(here[0]);
    positives.push_back(here[1]);
  }
  if (negatives.back() == 0 || positives.back() == 0) return {};
  std::vector<double> curve;
  for (int s = 0; s <= steps; ++s) {
    const double x = negatives.back() * s / steps;
    const auto above = static_cast<size_t>(std::upper_bound(negatives.begin(), negatives.end(), x) - negatives.begin());
    const size_t at = above - 1;
    const double run = above < negatives.size() ? (x - negatives[at]) / (negatives[above] - negatives[at]) : 0;
    const double rise = above < negatives.size() ? positives[above] - positives[at] : 0;
    curve.push_back((positives[at] + run * rise) / positives.back());
  }
  return curve;
}

BinaryCounts count_answers(std::span<const double> score, std::span<const char> positive, double threshold) {
  BinaryCounts n;
  for (size_t i = 0; i < score.size(); ++i) {
    const bool answer = score[i] > threshold, truth = positive[i] != 0;
    ++(answer ? (truth ? n.true_positives : n.false_positives) : (truth ? n.false_negatives : n.true_negatives));
  }
  return n;
}

double BinaryCounts::f1() const {
  const int64_t denominator = 2 * true_positives + false_positives + false_negatives;
  return denominator == 0 ? 0 : 2 * static_cast<double>(true_positives) / static_cast<double>(denominator);
}

}  // namespace tessera::quality
