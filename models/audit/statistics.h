// Intervals of shares, of differences of shares and of areas under the ROC curve.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace tessera::audit {

struct Interval {
  double low, value, high;
};

// Standard normal quantile of the two-sided 99.8 % intervals of an audit: if a model discloses nothing, all of 50
// intervals cover the truth in 19 audits of 20.
inline constexpr double kZ = 3.0902;

struct Rate {
  int64_t hits = 0, trials = 0;
  double share() const { return trials == 0 ? 0 : static_cast<double>(hits) / static_cast<double>(trials); }
};

// A share of hits in trials (Wilson 1927). No trials: [0, 1].
Interval wilson(const Rate& rate);

// The difference of two shares (Newcombe 1998, method 10, made of Wilson's intervals).
Interval difference(const Rate& a, const Rate& b);

// The difference of two means: of shares if all values are 0 or 1, else by their variances (Welch 1947).
Interval difference_of_means(std::span<const double> a, std::span<const double> b);

// Probability that a value of `a` exceeds one of `b`, ties counting one half, with its interval (Newcombe 2006, method
// 5: Hanley and McNeil's variance at the end of the interval, so that few rows in perfect order prove little).
Interval area_under_roc(std::span<const double> a, std::span<const double> b);

// Share of `members` above the score that at most `false_positives` of the others exceed (Carlini et al. 2022 judge
// membership attacks by it), and the share of others that do.
struct Operating {
  Rate found, accused;
};
Operating at_false_positives(std::span<const double> members, std::span<const double> others, double false_positives);

double mean(std::span<const double> values);

}  // namespace tessera::audit
