// Correlations of steps with attributes and with earlier steps, compared between real and generated sequences: the plan
// matches plain loops, and steps past the end of a sequence do not count.
#include <gtest/gtest.h>

#include <cmath>

#include "models/timegan/network.h"
#include "support/sandbox.h"

namespace tessera::sandbox {
namespace {

constexpr int64_t kSequences = 7, kSteps = 4, kFeatures = 2, kAttributes = 3;

int64_t length_of(int64_t sequence) { return 1 + sequence % kSteps; }

// Rows [valid steps][columns], each column minus its mean.
using Rows = std::vector<std::vector<double>>;
Rows centered(Rows rows) {
  for (size_t k = 0; k < rows[0].size(); ++k) {
    double mean = 0;
    for (const auto& row : rows) mean += row[k] / static_cast<double>(rows.size());
    for (auto& row : rows) row[k] -= mean;
  }
  return rows;
}
Rows divided(Rows rows, const Rows& by) {
  for (size_t k = 0; k < rows[0].size(); ++k) {
    double variance = 0;
    for (const auto& row : by) variance += row[k] * row[k] / static_cast<double>(by.size());
    for (auto& row : rows) row[k] /= std::sqrt(variance + 1e-6);
  }
  return rows;
}

// The valid steps of `x`; of attributes, one copy for each such step.
Rows rows_of(const std::vector<double>& x, int64_t width, bool steps) {
  Rows out;
  for (int64_t i = 0; i < kSequences; ++i)
    for (int64_t t = 0; t < length_of(i); ++t) {
      const auto first = x.begin() + (steps ? i * kSteps + t : i) * width;
      out.emplace_back(first, first + width);
    }
  return out;
}

// Mean products of every feature with: the attributes, the same step, the sequence's first step, the step before.
std::vector<double> correlations(const Rows& steps, const Rows& attributes) {
  constexpr size_t kWith = kAttributes + 3 * kFeatures;
  std::vector<double> out(kFeatures * kWith, 0);
  size_t row = 0;
  for (int64_t i = 0; i < kSequences; ++i) {
    const size_t first = row;
    for (int64_t t = 0; t < length_of(i); ++t, ++row) {
      std::vector<double> with = attributes[row];
      with.insert(with.end(), steps[row].begin(), steps[row].end());
      with.insert(with.end(), steps[first].begin(), steps[first].end());
      const std::vector<double> none(kFeatures, 0), &before = t > 0 ? steps[row - 1] : none;
      with.insert(with.end(), before.begin(), before.end());
      for (size_t k = 0; k < kFeatures; ++k)
        for (size_t w = 0; w < kWith; ++w)
          out[k * kWith + w] += steps[row][k] * with[w] / static_cast<double>(steps.size());
    }
  }
  return out;
}

double expected(const Values& v) {
  const Rows real = centered(rows_of(v.at("x"), kFeatures, true)),
             made = centered(rows_of(v.at("made"), kFeatures, true)),
             attributes = centered(rows_of(v.at("attributes"), kAttributes, false));
  const Rows own = divided(attributes, attributes);
  const std::vector<double> a = correlations(divided(real, real), own), b = correlations(divided(made, real), own);
  double square = 0;
  for (size_t k = 0; k < a.size(); ++k) square += (a[k] - b[k]) * (a[k] - b[k]) / static_cast<double>(a.size());
  return std::sqrt(square + kRootEps);
}

TEST(CorrelationLoss, MatchesLoopsOverValidSteps) {
  Sandbox s;
  const Timegan model(kFeatures, kAttributes, kSteps, TimeganConfig{});
  SequenceBatch batch{s.real("x", {kSequences, kSteps * kFeatures}, 0, 1), s.real("length", {kSequences, 1}),
                      s.real("valid", {kSequences, kSteps}), s.real("attributes", {kSequences, kAttributes})};
  const Var made = s.real("made", {kSequences, kSteps * kFeatures}, 0, 1);
  s.see(1.0 * correlation_loss(s.r, model, batch, made), "loss");
  for (int64_t i = 0; i < kSequences * kSteps; ++i)
    s.values["valid"][static_cast<size_t>(i)] = i % kSteps < length_of(i / kSteps) ? 1 : 0;

  const double want = expected(s.values);
  EXPECT_GT(want, 0.1);
  EXPECT_NEAR(s.run().at("loss")[0], want, 1e-9 * want);
  Values& v = s.values;
  v["x"] = v["made"];
  EXPECT_NEAR(s.run().at("loss")[0], std::sqrt(kRootEps), 1e-9);
}

}  // namespace
}  // namespace tessera::sandbox
