// The metrics of sequences: the golden vectors at 1e-9, and laws that need none.
#include "models/quality/sequences/sequence_metrics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "support/golden.h"
#include "tables.h"

namespace tq = tessera::quality;

namespace {

// Owns what a StepRows looks at.
struct Steps {
  std::vector<float> values;
  std::vector<int32_t> first, length;
  int64_t features = 1;
  tq::StepRows rows() const { return {values, first, length, features}; }
};

// [N, T, D] with lengths; `poison` replaces what lies behind the ends.
Steps padded(const golden::Tensor& x, const golden::Tensor& length, float poison = 0) {
  Steps s;
  const int64_t steps = x.shape[1];
  s.features = x.shape[2];
  s.values.assign(x.values.begin(), x.values.end());
  for (int64_t i = 0; i < x.shape[0]; ++i) {
    const auto valid = static_cast<int32_t>(length.values[static_cast<size_t>(i)]);
    s.first.push_back(static_cast<int32_t>(i * steps));
    s.length.push_back(valid);
    for (int64_t k = valid * s.features; k < steps * s.features; ++k)
      s.values[static_cast<size_t>(i * steps * s.features + k)] = poison;
  }
  return s;
}

void expect_near(const golden::Tensor& expected, const std::vector<double>& actual, const std::string& what) {
  ASSERT_EQ(expected.values.size(), actual.size()) << what;
  for (size_t i = 0; i < actual.size(); ++i) EXPECT_NEAR(expected.values[i], actual[i], 1e-9) << what << " " << i;
}

std::vector<double> flat(const std::vector<tq::Moments>& moments) {
  std::vector<double> out;
  for (const tq::Moments& m : moments) out.insert(out.end(), {m.mean, m.stddev, m.skewness, m.kurtosis});
  return out;
}

// Sequences of an autoregressive process of order 1, of lengths from 2 to `longest`.
Steps process(int count, int longest, double memory, uint32_t seed, int64_t features = 2) {
  std::mt19937 gen(seed);
  std::normal_distribution<double> noise;
  Steps s;
  s.features = features;
  for (int i = 0; i < count; ++i) {
    s.first.push_back(static_cast<int32_t>(s.values.size() / static_cast<size_t>(features)));
    s.length.push_back(2 + static_cast<int32_t>(gen() % static_cast<uint32_t>(longest - 1)));
    double x = noise(gen);
    for (int t = 0; t < s.length.back(); ++t, x = memory * x + std::sqrt(1 - memory * memory) * noise(gen))
      for (int64_t k = 0; k < features; ++k)
        s.values.push_back(static_cast<float>(x + 0.5 * static_cast<double>(k) * noise(gen)));
  }
  return s;
}

tq::SequenceMetrics compare(const Steps& a, const Steps& b, const tq::SequenceMetricOptions& o = {}, int threads = 2) {
  quality_test::Bench bench(threads);
  return tq::sequence_metrics(a.rows(), b.rows(), o, bench.workers);
}

}  // namespace

TEST(GoldenSequenceMetrics, EveryNumber) {
  GOLDEN_CASES_OR_SKIP(paths, "sequence_metrics");
  for (const auto& path : paths) {
    const golden::Case c = golden::read(path);
    tq::SequenceMetricOptions o;
    o.lags = c.config["lags"];
    o.bins = c.config["bins"];
    o.most = INT64_MAX;
    for (const float poison : {0.0f, 1e30f, std::numeric_limits<float>::quiet_NaN()}) {
      const tq::SequenceMetrics m = compare(padded(c["real"], c["length_real"], poison),
                                            padded(c["synthetic"], c["length_synthetic"], poison), o);
      expect_near(c["moments_real"], flat(m.real.moments), c.name + " moments_real");
      expect_near(c["moments_synthetic"], flat(m.synthetic.moments), c.name + " moments_synthetic");
      expect_near(c["autocorrelation_real"], m.real.autocorrelation, c.name + " autocorrelation_real");
      expect_near(c["autocorrelation_synthetic"], m.synthetic.autocorrelation, c.name + " autocorrelation_synthetic");
      if (c.has("correlation_real"))
        expect_near(c["correlation_real"], m.real.correlation, c.name + " correlation_real");
      if (c.has("correlation_synthetic"))
        expect_near(c["correlation_synthetic"], m.synthetic.correlation, c.name + " correlation_synthetic");
      expect_near(c["histogram"], m.histogram, c.name + " histogram");
      const std::map<std::string, double> scalars{{"mean_difference", m.mean_difference},
                                                  {"std_difference", m.stddev_difference},
                                                  {"skewness_difference", m.skewness_difference},
                                                  {"kurtosis_difference", m.kurtosis_difference},
                                                  {"autocorrelation_difference", m.autocorrelation_difference},
                                                  {"cross_correlation_difference", m.cross_correlation_difference},
                                                  {"histogram_distance", m.histogram_distance},
                                                  {"mmd_bandwidth", m.discrepancy.bandwidth},
                                                  {"mmd2_biased", m.discrepancy.biased},
                                                  {"mmd2_unbiased", m.discrepancy.unbiased}};
      int compared = 0;
      for (const auto& [name, expected] : c.config["expected"].items()) {
        ASSERT_EQ(scalars.count(name), 1u) << c.name << " " << name;
        if (expected.is_null()) EXPECT_TRUE(std::isnan(scalars.at(name))) << c.name << " " << name;
        else
          EXPECT_NEAR(expected.get<double>(), scalars.at(name), 1e-9 * std::max(1.0, std::abs(expected.get<double>())))
              << c.name << " " << name;
        ++compared;
      }
      EXPECT_GE(compared, 9);
    }
  }
}

TEST(SequenceMetrics, ScoreASetAgainstItselfAsEqual) {
  const Steps s = process(60, 20, 0.8, 1);
  const tq::SequenceMetrics m = compare(s, s);
  for (const double d : {m.mean_difference, m.stddev_difference, m.skewness_difference, m.kurtosis_difference,
                         m.autocorrelation_difference, m.cross_correlation_difference, m.histogram_distance})
    EXPECT_EQ(d, 0);
  EXPECT_NEAR(m.discrepancy.biased, 0, 1e-12);
}

TEST(SequenceMetrics, RecoverTheAutocorrelationOfAProcess) {
  const tq::SequenceMetrics m = compare(process(4000, 40, 0.9, 2, 1), process(4000, 40, 0.2, 3, 1));
  for (int lag = 1; lag <= 5; ++lag) {
    EXPECT_NEAR(m.real.autocorrelation[static_cast<size_t>(lag - 1)], std::pow(0.9, lag), 0.03);
    EXPECT_NEAR(m.synthetic.autocorrelation[static_cast<size_t>(lag - 1)], std::pow(0.2, lag), 0.03);
  }
}

TEST(SequenceMetrics, TreatOverlappingWindowsLikeSeparateOnes) {
  const Steps one = process(1, 200, 0.7, 4);
  Steps shared = one, own;
  own.features = one.features;
  shared.first.clear(), shared.length.clear();
  for (int32_t start = 0; start + 12 <= one.length[0]; start += 3) {
    shared.first.push_back(start), shared.length.push_back(12);
    own.first.push_back(static_cast<int32_t>(own.values.size() / 2)), own.length.push_back(12);
    own.values.insert(own.values.end(), one.values.begin() + 2 * start, one.values.begin() + 2 * (start + 12));
  }
  const Steps other = process(30, 12, 0.3, 5);
  const tq::SequenceMetrics a = compare(shared, other), b = compare(own, other);
  EXPECT_EQ(a.mean_difference, b.mean_difference);
  EXPECT_EQ(a.autocorrelation_difference, b.autocorrelation_difference);
  EXPECT_EQ(a.discrepancy.unbiased, b.discrepancy.unbiased);
}

TEST(SequenceMetrics, DoNotDependOnOrderAndThreads) {
  const Steps a = process(80, 15, 0.8, 6), b = process(50, 15, 0.5, 7);
  Steps reversed = a;
  std::reverse(reversed.first.begin(), reversed.first.end());
  std::reverse(reversed.length.begin(), reversed.length.end());
  const tq::SequenceMetrics m = compare(a, b, {}, 1), n = compare(a, b, {}, 3), r = compare(reversed, b);
  EXPECT_EQ(m.discrepancy.unbiased, n.discrepancy.unbiased);
  EXPECT_EQ(m.autocorrelation_difference, n.autocorrelation_difference);
  EXPECT_NEAR(m.discrepancy.unbiased, r.discrepancy.unbiased, 1e-12);
  EXPECT_NEAR(m.kurtosis_difference, r.kurtosis_difference, 1e-12);
}

TEST(SequenceMetrics, KernelDistinguishesProcessesButNotHalvesOfOne) {
  const tq::SequenceMetrics same = compare(process(400, 12, 0.8, 8), process(400, 12, 0.8, 9)),
                            other = compare(process(400, 12, 0.8, 8), process(400, 12, -0.8, 9));
  EXPECT_LT(std::abs(same.discrepancy.unbiased), 0.003);
  EXPECT_GT(other.discrepancy.unbiased, 10 * std::abs(same.discrepancy.unbiased));
}

TEST(SequenceMetrics, OmitUndefinedValues) {
  Steps flat = process(40, 10, 0.5, 10);
  for (size_t i = 0; i < flat.values.size(); i += 2) flat.values[i] = 3;
  const tq::SequenceMetrics m = compare(flat, process(40, 10, 0.5, 11));
  EXPECT_TRUE(std::isnan(m.real.moments[0].skewness));
  EXPECT_TRUE(std::isnan(m.real.autocorrelation[0]));
  EXPECT_FALSE(std::isnan(m.kurtosis_difference));
  EXPECT_FALSE(std::isnan(m.autocorrelation_difference));
  EXPECT_GT(m.histogram[0], 0.9) << "no synthetic value is the constant";
  EXPECT_TRUE(std::isnan(compare(process(9, 5, 0.1, 1, 1), process(9, 5, 0.1, 2, 1)).cross_correlation_difference))
      << "one feature has no pair";
}
