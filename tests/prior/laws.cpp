// Hyper-parameters against the laws that TabICL publishes, written down here once more over another generator.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <vector>

#include "models/prior/table.h"

namespace tp = tessera::prior;

namespace {

using Sample = std::vector<double>;
std::mt19937_64 source(42);
double uniform_in(double low, double high) { return std::uniform_real_distribution<double>(low, high)(source); }
double normal() { return std::normal_distribution<double>()(source); }

Sample drawn_by(int n, const std::function<double()>& law) {
  Sample out;
  for (int i = 0; i < n; ++i) out.push_back(law());
  return out;
}

double truncated(double low, double high) {
  const double m = std::exp(uniform_in(std::log(low), std::log(high))), s = std::exp(uniform_in(std::log(0.01), 0));
  for (;;)
    if (const double x = m + m * s * normal(); x >= 0 && x <= 1e6) return x;
}
// P(the first of `count`) by softmax([1, U(−3, 5), …]).
double first_of(int count) {
  double rest = 0;
  for (int i = 1; i < count; ++i) rest += std::exp(uniform_in(-3, 5));
  return std::exp(1.0) / (std::exp(1.0) + rest);
}

// The largest difference of two empirical distributions, in units of its bound at a level of 0.001.
double kolmogorov(Sample a, Sample b) {
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  double worst = 0;
  for (const double x : a) {
    const auto share = [x](const Sample& s) {
      return static_cast<double>(std::upper_bound(s.begin(), s.end(), x) - s.begin()) / static_cast<double>(s.size());
    };
    worst = std::max(worst, std::fabs(share(a) - share(b)));
  }
  const auto n = static_cast<double>(a.size()), m = static_cast<double>(b.size());
  return worst / (1.95 * std::sqrt((n + m) / (n * m)));
}

constexpr int kTables = 6000;
std::vector<tp::Settings> settings(tp::Options options) {
  std::vector<tp::Settings> out;
  for (uint32_t i = 0; i < kTables; ++i) out.push_back(tp::draw_settings(options, {11, i, 0}));
  return out;
}
Sample of(
    const std::vector<tp::Settings>& all, const std::function<double(const tp::Settings&)>& value,
    const std::function<bool(const tp::Settings&)>& where = [](const tp::Settings&) { return true; }) {
  Sample out;
  for (const tp::Settings& s : all)
    if (where(s)) out.push_back(value(s));
  return out;
}
double mean(const Sample& s) {
  double sum = 0;
  for (const double x : s) sum += x;
  return sum / static_cast<double>(s.size());
}

const std::vector<tp::Settings>& perceptrons() {
  static const std::vector<tp::Settings> all = [] {
    tp::Options o;
    o.kind = tp::Kind::mlp;
    return settings(o);
  }();
  return all;
}

TEST(PriorLaws, NumbersFollowTheirTruncatedNormals) {
  const auto& all = perceptrons();
  const auto causal = [](const tp::Settings& s) { return s.causal; };
  const auto other = [](const tp::Settings& s) { return !s.causal; };
  EXPECT_LT(kolmogorov(of(
                           all, [](auto& s) { return s.causes; }, causal),
                       drawn_by(kTables, [] { return 1 + std::nearbyint(truncated(1, 12)); })),
            1);
  EXPECT_LT(kolmogorov(of(all, [](auto& s) { return s.layers; }),
                       drawn_by(kTables, [] { return 2 + std::nearbyint(truncated(1, 6)); })),
            1);
  EXPECT_LT(kolmogorov(of(
                           all, [](auto& s) { return s.hidden; }, other),
                       drawn_by(kTables, [] { return 4 + std::nearbyint(truncated(5, 130)); })),
            1);
  EXPECT_LT(kolmogorov(of(all, [](auto& s) { return s.init_deviation; }),
                       drawn_by(kTables, [] { return truncated(0.01, 10); })),
            1);
  EXPECT_LT(kolmogorov(of(all, [](auto& s) { return s.noise_deviation; }),
                       drawn_by(kTables, [] { return truncated(1e-4, 0.3); })),
            1);
}

TEST(PriorLaws, DropoutIsABetaOfRandomShapes) {
  const auto law = [] {
    const double a = uniform_in(0.1, 5), b = uniform_in(0.1, 5);
    const double x = std::gamma_distribution<double>(a)(source), y = std::gamma_distribution<double>(b)(source);
    return 0.9 * x / (x + y);
  };
  EXPECT_LT(kolmogorov(of(perceptrons(), [](auto& s) { return s.dropout; }), drawn_by(kTables, law)), 1);
}

TEST(PriorLaws, ChoicesFollowTheirSoftmax) {
  const auto& all = perceptrons();
  const double two = mean(drawn_by(200000, [] { return first_of(2); })), near = 4 * 0.5 / std::sqrt(kTables);
  EXPECT_NEAR(two, mean(of(all, [](auto& s) { return s.causal ? 1.0 : 0.0; })), near);
  EXPECT_NEAR(two, mean(of(all, [](auto& s) { return s.y_is_effect ? 1.0 : 0.0; })), near);
  EXPECT_NEAR(two, mean(of(all, [](auto& s) { return s.in_clique ? 1.0 : 0.0; })), near);
  EXPECT_NEAR(two, mean(of(all, [](auto& s) { return s.sort_features ? 1.0 : 0.0; })), near);
  EXPECT_NEAR(two, mean(of(all, [](auto& s) { return s.cause_statistics ? 1.0 : 0.0; })), near);
  EXPECT_NEAR(two, mean(of(all, [](auto& s) { return s.noise_by_unit ? 1.0 : 0.0; })), near);
  EXPECT_NEAR(two, mean(of(all, [](auto& s) { return s.block_dropout ? 1.0 : 0.0; })), near);
  EXPECT_NEAR(two, mean(of(all, [](auto& s) { return s.labels_by_rank ? 0.0 : 1.0; })), near);
  EXPECT_NEAR(mean(drawn_by(200000, [] { return first_of(3); })),
              mean(of(all, [](auto& s) { return s.sampling == tp::Settings::normal ? 1.0 : 0.0; })), near);
}

TEST(PriorLaws, ActivationsOfLayersShareTheWeightsOfATable) {
  // P(two layers have the same of 28 entries), where the weights of 56 entries are a table's own.
  const auto law = [] {
    Sample weight{std::exp(1.0)};
    double sum = weight[0];
    while (weight.size() < 56) sum += weight.emplace_back(std::exp(uniform_in(-5, 6)));
    double spread = 0, same = 0;
    for (size_t i = 28; i < 56; ++i) spread += weight[i] / sum / 28;
    for (size_t i = 0; i < 28; ++i) same += std::pow(weight[i] / sum + spread, 2);
    return same;
  };
  const auto same = of(perceptrons(), [](auto& s) { return s.activations[0] == s.activations[1] ? 1.0 : 0.0; });
  EXPECT_NEAR(mean(drawn_by(20000, law)), mean(same), 4 * 0.4 / std::sqrt(kTables));
  const auto random = of(perceptrons(), [](auto& s) { return s.activations[0] >= 18 ? 1.0 : 0.0; });
  EXPECT_NEAR(10.0 / 28, mean(random), 4 * 0.5 / std::sqrt(kTables));
}

TEST(PriorLaws, SizesAndPartsAreUniform) {
  tp::Options o;
  o.rows = {100, 10000};
  const auto all = settings(o);
  EXPECT_LT(kolmogorov(of(all, [](auto& s) { return s.features; }),
                       drawn_by(kTables, [] { return std::nearbyint(uniform_in(2, 100)); })),
            1);
  EXPECT_LT(
      kolmogorov(of(all, [](auto& s) { return s.rows; }),
                 drawn_by(kTables, [] { return std::floor(std::exp(uniform_in(std::log(100), std::log(10000)))); })),
      1);
  EXPECT_LT(kolmogorov(of(all, [](auto& s) { return static_cast<double>(s.train_rows) / static_cast<double>(s.rows); }),
                       drawn_by(kTables, [] { return uniform_in(0.1, 0.9) - 0.0005; })),
            1.2);
  EXPECT_LT(kolmogorov(of(all, [](auto& s) { return s.classes; }),
                       drawn_by(kTables, [] { return uniform_in(0, 1) < 0.5 ? 2.0 : std::floor(uniform_in(2, 11)); })),
            1);
  EXPECT_NEAR(0.7, mean(of(all, [](auto& s) { return s.kind == tp::Kind::mlp ? 1.0 : 0.0; })), 0.025);
  const auto trees = [](const tp::Settings& s) { return s.kind == tp::Kind::tree; };
  EXPECT_LT(kolmogorov(of(
                           all, [](auto& s) { return s.hidden; }, trees),
                       drawn_by(kTables, [] { return std::floor(uniform_in(3, 10)); })),
            1);
}

TEST(PriorLaws, CausesHaveTheirDistributions) {
  tp::Settings s;
  s.rows = 20000, s.causes = 60, s.features = 60;
  tp::Work work;
  for (const auto sampling : {tp::Settings::normal, tp::Settings::uniform}) {
    s.sampling = sampling;
    tp::draw_causes(s, {3, 1, 0}, work);
    const Sample x(work.layer[7], work.layer[7] + s.rows);
    const auto law = [&] { return sampling == tp::Settings::normal ? normal() : uniform_in(0, 1); };
    EXPECT_LT(kolmogorov(x, drawn_by(20000, law)), 1);
  }
  s.sampling = tp::Settings::mixed;
  int continuous = 0, codes = 0;
  for (uint32_t table = 0; table < 40; ++table) {
    tp::draw_causes(s, {3, table, 0}, work);
    for (int64_t j = 0; j < s.causes; ++j) {
      Sample x(work.layer[j], work.layer[j] + 500);
      std::sort(x.begin(), x.end());
      const auto kinds = std::unique(x.begin(), x.end()) - x.begin();
      (kinds <= 20 ? codes : continuous) += 1;
    }
  }
  // P(normal) = 1 − E[np] = 0.67, then multinomial, Zipf or uniform: 0.33·0.67, 0.33²·0.67, 0.33³
  EXPECT_NEAR(0.33 * 0.67 + 0.33 * 0.33 * 0.67, codes / (40.0 * 60), 0.1);
}

}  // namespace
