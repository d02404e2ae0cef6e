// Judges of sequences: they tell apart what differs, and nothing else; a score does not depend on threads.
#include "models/quality/sequences/sequence_judges.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "base/error.h"
#include "support/thrown.h"
#include "tables.h"

namespace tq = tessera::quality;

namespace {

// Autoregressive in [0, 1], of a memory, lengths from 4 to 10; feature k > 0 is the first one of the step before, plus
// noise.
tq::StepSet process(int count, double memory, uint32_t seed, int64_t features, double noise_of_copies = 0.05) {
  std::mt19937 gen(seed);
  std::normal_distribution<double> noise;
  tq::StepSet s;
  s.features = features;
  for (int i = 0; i < count; ++i) {
    s.first.push_back(static_cast<int32_t>(s.values.size() / static_cast<size_t>(features)));
    s.length.push_back(4 + static_cast<int32_t>(gen() % 7));
    s.longest = std::max(s.longest, s.length.back());
    double x = noise(gen), before = x;
    for (int t = 0; t < s.length.back(); ++t) {
      for (int64_t k = 0; k < features; ++k)
        s.values.push_back(static_cast<float>(0.5 + 0.15 * (k + 1 == features ? before : x) +
                                              (k + 1 == features ? 0 : noise_of_copies * noise(gen))));
      before = x;
      x = memory * x + std::sqrt(1 - memory * memory) * noise(gen);
    }
  }
  return s;
}

// A ramp, up or down: single steps have the same distribution; only their order differs.
tq::StepSet ramps(int count, bool up, uint32_t seed, int64_t features) {
  std::mt19937 gen(seed);
  std::uniform_real_distribution<double> u;
  tq::StepSet s;
  s.features = features;
  s.longest = 8;
  for (int i = 0; i < count; ++i) {
    s.first.push_back(i * 8), s.length.push_back(8);
    const double base = 0.2 * u(gen);
    for (int t = 0; t < 8; ++t)
      for (int64_t k = 0; k < features; ++k)
        s.values.push_back(static_cast<float>(base + 0.1 * (up ? t : 7 - t) + 0.02 * u(gen)));
  }
  return s;
}

tq::StepFeatures pair(tq::StepSet real, tq::StepSet synthetic) {
  tq::StepFeatures f;
  for (int64_t k = 0; k < real.features; ++k) f.features.push_back({"x" + std::to_string(k), true});
  f.real = std::move(real), f.synthetic = std::move(synthetic);
  return f;
}

tq::JudgeOptions quick(int judges = 2) {
  tq::JudgeOptions o;
  o.judges = judges, o.discriminative_steps = 400, o.predictive_steps = 400, o.batch = 64;
  return o;
}

tq::JudgeReport judge(const tq::StepFeatures& f, const tq::JudgeOptions& o, int threads = 2) {
  quality_test::Bench bench(threads);
  return tq::judge_sequences(f, o, bench.workers);
}

}  // namespace

TEST(SequenceJudges, DetectDifferencesOfOrderOnly) {
  const tq::JudgeReport same = judge(pair(ramps(300, true, 1, 4), ramps(300, true, 2, 4)), quick()),
                        other = judge(pair(ramps(300, true, 1, 4), ramps(300, false, 2, 4)), quick());
  EXPECT_EQ(same.units, 2);
  EXPECT_LT(same.discriminative.mean, 0.12);
  EXPECT_LT(same.discriminative_floor.mean, 0.12);
  EXPECT_GT(other.discriminative.mean, 0.4);
}

TEST(SequenceJudges, PredictFromThePreviousStep) {
  // The last feature is the first one of the step before: known to whoever looks back. By itself it is a normal number
  // of standard deviation 0.15, which a constant misses by 0.12.
  tq::JudgeOptions o = quick(1);
  o.predictive_steps = 3000, o.discriminative_steps = 1;
  const tq::JudgeReport r = judge(pair(process(400, 0.3, 3, 4, 0), process(400, 0.3, 4, 4, 0)), o);
  EXPECT_EQ(r.target, 3);
  EXPECT_LT(r.predictive.mean, 0.06);
  EXPECT_NEAR(r.predictive.mean, r.predictive_floor.mean, 0.03);
  tq::StepSet shuffled = process(400, 0.3, 5, 4, 0);
  std::mt19937 gen(6);
  for (size_t i = 3; i < shuffled.values.size(); i += 4)
    shuffled.values[i] = static_cast<float>(0.5 + 0.15 * std::normal_distribution<>()(gen));
  EXPECT_GT(judge(pair(process(400, 0.3, 3, 4, 0), shuffled), o).predictive.mean, 0.1)
      << "nothing can be learned of sequences that know nothing about it";
}

TEST(SequenceJudges, WorkWithOneFeature) {
  const tq::JudgeReport same = judge(pair(ramps(300, true, 7, 1), ramps(300, true, 8, 1)), quick()),
                        other = judge(pair(ramps(300, true, 7, 1), ramps(300, false, 8, 1)), quick());
  EXPECT_EQ(same.units, 4);
  EXPECT_LT(same.discriminative.mean, 0.15);
  EXPECT_GT(other.discriminative.mean, 0.4);
  EXPECT_GT(other.predictive.mean, 1.5 * other.predictive_floor.mean) << "the wrong direction is predicted";
}

TEST(SequenceJudges, BalanceSidesOfDifferentSize) {
  // A judge that always names the larger side would score 0.4.
  const tq::JudgeReport r = judge(pair(process(900, 0.5, 9, 4), process(100, 0.5, 10, 4)), quick());
  EXPECT_EQ(r.sequences, 100);
  EXPECT_EQ(r.floor_sequences, 100);
  EXPECT_LT(r.discriminative.mean, 0.25);
}

TEST(SequenceJudges, BitsDoNotDependOnThreads) {
  const tq::StepFeatures f = pair(process(60, 0.8, 11, 3), process(50, 0.5, 12, 3));
  tq::JudgeOptions o = quick(3);
  o.discriminative_steps = o.predictive_steps = 20;
  const tq::JudgeReport one = judge(f, o, 1), three = judge(f, o, 3);
  EXPECT_EQ(one.discriminative.each, three.discriminative.each);
  EXPECT_EQ(one.discriminative_floor.each, three.discriminative_floor.each);
  EXPECT_EQ(one.predictive.each, three.predictive.each);
  EXPECT_EQ(one.predictive_floor.each, three.predictive_floor.each);
  EXPECT_NE(one.predictive.each[0], one.predictive.each[1]) << "judges differ from each other";
  o.seed = 1;
  EXPECT_NE(judge(f, o).predictive.each, one.predictive.each);
}

TEST(SequenceJudges, RejectTooFewSequences) {
  tessera::test::expect_error(tessera::ErrorCode::data, {"The synthetic table makes 9 sequences", "`judges=0`"},
                              [&] { judge(pair(process(60, 0.8, 11, 3), process(9, 0.5, 12, 3)), quick()); });
}
