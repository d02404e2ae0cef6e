// What an attack's success is judged by: intervals of shares, of differences of shares and of areas under the ROC
// curve, and what chance gives.
#pragma once
#include <cstdint>
#include <vector>

namespace tessera::privacy {

struct Interval {
  double low, value, high;
};

// Standard normal quantile of a two-sided 99 % interval, which all intervals of the suite have.
inline constexpr double kZ = 2.5758;

// A share of hits in trials (Wilson 1927). No trials: [0, 1].
Interval wilson(int64_t hits, int64_t trials);

struct Rate {
  int64_t hits = 0, trials = 0;
  double share() const { return trials == 0 ? 0 : static_cast<double>(hits) / static_cast<double>(trials); }
};

// The difference of two shares (Newcombe 1998, method 10, made of Wilson's intervals).
Interval difference(const Rate& a, const Rate& b);

// The probability that of all hits as many as `a` has, or more, fall on a's trials if both shares are equal (Fisher's
// exact test, one-sided).
double by_chance(const Rate& a, const Rate& b);

// Probability that a member scores higher than a non-member, ties counting one half, with its interval (DeLong, DeLong
// and Clarke-Pearson 1988).
Interval area_under_roc(const std::vector<double>& members, const std::vector<double>& others);

// Share of members found where at most `false_positives` of the others are taken for one (Carlini et al. 2022 judge
// membership attacks by it).
Rate members_found(const std::vector<double>& members, const std::vector<double>& others, double false_positives);

}  // namespace tessera::privacy
