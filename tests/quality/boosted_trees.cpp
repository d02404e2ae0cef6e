// Boosted trees learn what they should, from any kind of column, and the same trees from any team; AUC is exact.
#include "models/quality/learners/boosted_trees.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "base/error.h"
#include "models/quality/learners/classification.h"
#include "models/quality/metrics/two_sample.h"
#include "tables.h"

namespace tq = tessera::quality;

namespace {

constexpr double kNaN = tessera::kMissing;

// Feature columns, and the predictions of a model trained on `target` for its training rows.
struct Data {
  std::vector<std::vector<double>> numbers;
  std::vector<std::vector<int32_t>> codes;
  std::vector<double> target;

  tq::Features features() const {
    tq::Features x;
    x.rows = static_cast<int64_t>(target.size());
    for (const auto& v : numbers) x.columns.push_back({v, {}, 0});
    for (const auto& v : codes) x.columns.push_back({{}, v, *std::max_element(v.begin(), v.end()) + 1});
    return x;
  }
  tq::BinnedRows binned() const { return tq::BinnedRows(tq::FeatureBins(features()), features()); }
  std::vector<double> learned(tq::TreeLoss loss, const tq::TreeOptions& options = {}) const {
    const tq::BinnedRows x = binned();
    const std::vector<int64_t> rows = tq::every_row(x.rows());
    return tq::BoostedTrees::fit(x, rows, target, loss, options).predict(x, rows);
  }
};

double r2(const std::vector<double>& answer, const std::vector<double>& truth) {
  double mean = 0, error = 0, spread = 0;
  for (const double t : truth) mean += t / static_cast<double>(truth.size());
  for (size_t i = 0; i < truth.size(); ++i)
    error += std::pow(answer[i] - truth[i], 2), spread += std::pow(truth[i] - mean, 2);
  return 1 - error / spread;
}

double auc(const std::vector<double>& answer, const std::vector<double>& truth) {
  std::vector<char> positive;
  for (const double t : truth) positive.push_back(t > 0.5);
  return tq::roc_auc(answer, positive);
}

Data uniform_data(size_t rows, size_t numbers, uint32_t seed) {
  Data d;
  std::mt19937 gen(seed);
  d.numbers.assign(numbers, std::vector<double>(rows));
  d.target.resize(rows);
  for (auto& column : d.numbers)
    for (double& v : column) v = std::uniform_real_distribution<>(-1, 1)(gen);
  return d;
}

}  // namespace

TEST(BoostedTrees, LearnKnownFunctions) {
  Data d = uniform_data(4000, 3, 1);
  for (size_t i = 0; i < 4000; ++i) d.target[i] = std::sin(3 * d.numbers[0][i]) + (d.numbers[1][i] > 0.2 ? 2 : 0) + 1e6;
  EXPECT_GT(r2(d.learned(tq::TreeLoss::squared), d.target), 0.99);
  for (size_t i = 0; i < 4000; ++i) d.target[i] = d.numbers[0][i] + d.numbers[2][i] > 0.3;
  EXPECT_GT(auc(d.learned(tq::TreeLoss::logistic), d.target), 0.995);
}

TEST(BoostedTrees, LearnExclusiveOr) {
  Data d = uniform_data(2000, 2, 2);
  for (size_t i = 0; i < 2000; ++i) d.target[i] = (d.numbers[0][i] > 0) != (d.numbers[1][i] > 0);
  EXPECT_GT(auc(d.learned(tq::TreeLoss::logistic), d.target), 0.999);
  d.codes.assign(2, {});
  for (size_t i = 0; i < 2000; ++i)
    for (size_t k = 0; k < 2; ++k) d.codes[k].push_back(d.numbers[k][i] > 0);
  d.numbers.clear();
  EXPECT_EQ(auc(d.learned(tq::TreeLoss::logistic), d.target), 1);
}

// Depth 1, one tree, no l2: the leaves are the means of the two sides of the best cut.
TEST(BoostedTrees, OneStumpIsTheBestCut) {
  Data d;
  d.numbers = {{1, 2, 3, 4, 5, 6}};
  d.target = {1, 1, 1, 1, 7, 9};
  tq::TreeOptions o;
  o.trees = 1, o.depth = 1, o.shrinkage = 1, o.l2 = 0;
  const std::vector<double> answer = d.learned(tq::TreeLoss::squared, o);
  for (size_t i = 0; i < 6; ++i) EXPECT_NEAR(answer[i], i < 4 ? 1 : 8, 1e-8) << i;
  d.numbers = {{1, 2, 3, kNaN, 5, kNaN}};  // missing values go where they fit
  d.target = {1, 1, 1, 9, 1, 9};
  const std::vector<double> missing = d.learned(tq::TreeLoss::squared, o);
  for (size_t i = 0; i < 6; ++i) EXPECT_NEAR(missing[i], d.target[i], 1e-8) << i;
}

TEST(BoostedTrees, CategoriesSplitByOneLevelAndBySets) {
  std::mt19937 gen(3);
  Data d;
  d.codes.resize(1);
  for (int i = 0; i < 3000; ++i) {
    d.codes[0].push_back(static_cast<int32_t>(gen() % 40) - 1);  // −1: missing
    d.target.push_back(d.codes[0].back() % 2 == 0);
  }
  tq::TreeOptions one;
  one.trees = 1, one.depth = 1;
  tq::TreeOptions sets = one;
  sets.level_sets = true;
  EXPECT_LT(auc(d.learned(tq::TreeLoss::logistic, one), d.target), 0.6);  // a stump knows one level
  EXPECT_EQ(auc(d.learned(tq::TreeLoss::logistic, sets), d.target), 1);   // or all the even ones
  one.trees = 150;
  EXPECT_EQ(auc(d.learned(tq::TreeLoss::logistic, one), d.target), 1);
}

TEST(BoostedTrees, ThousandsOfLevelsAndUnseenOnes) {
  Data d;
  d.codes.resize(1);
  for (int i = 0; i < 6000; ++i)
    d.codes[0].push_back(i % 2 == 0 ? i % 20 : i),
        d.target.push_back(d.codes[0].back() < 20 && d.codes[0].back() % 4 == 0);
  EXPECT_EQ(auc(d.learned(tq::TreeLoss::logistic), d.target), 1);
  const tq::FeatureBins bins(d.features());
  const std::vector<int32_t> unseen{7000};
  const tq::BinnedRows other(bins, {1, {{{}, unseen, 7001}}}), seen(bins, d.features());
  EXPECT_EQ(other.row(0)[0], bins.columns()[0].bins - 1);
  const auto model = tq::BoostedTrees::fit(seen, tq::every_row(6000), d.target, tq::TreeLoss::logistic, {});
  EXPECT_LT(model.predict(other, tq::every_row(1))[0], 0.5);
}

TEST(BoostedTrees, IgnoreConstantAndEmptyColumns) {
  Data d;
  d.numbers = {std::vector<double>(50, 3.0), std::vector<double>(50, kNaN)};
  d.codes = {std::vector<int32_t>(50, 0)};
  d.target.assign(50, 0);
  for (size_t i = 0; i < 20; ++i) d.target[i] = 1;
  for (const double p : d.learned(tq::TreeLoss::logistic)) EXPECT_NEAR(p, 0.4, 1e-6);
  for (const double p : d.learned(tq::TreeLoss::squared)) EXPECT_NEAR(p, 0.4, 1e-6);
}

TEST(BoostedTrees, PredictAConstantForConstantTargets) {
  Data d = uniform_data(40, 2, 4);
  d.target.assign(40, 1);
  const std::vector<double> sure = d.learned(tq::TreeLoss::logistic);
  for (const double p : sure) {
    EXPECT_GT(p, 0.95);
    EXPECT_LT(p, 1);
  }
  d.target.assign(40, -2.5);
  for (const double v : d.learned(tq::TreeLoss::squared)) EXPECT_NEAR(v, -2.5, 1e-12);
  EXPECT_TRUE(std::isnan(auc({0.5, 0.7}, {1, 1})));  // nothing to rank against
}

TEST(BoostedTrees, RejectInvalidTargets) {
  Data d = uniform_data(5, 1, 4);
  d.target[3] = 2;
  EXPECT_THROW(d.learned(tq::TreeLoss::logistic), tessera::Error);
  d.target[3] = kNaN;
  EXPECT_THROW(d.learned(tq::TreeLoss::squared), tessera::Error);
  EXPECT_THROW(tq::BoostedTrees::fit(d.binned(), {}, d.target, tq::TreeLoss::squared, {}), tessera::Error);
}

TEST(BoostedTrees, StopWhenTheHeldOutLossStalls) {
  Data noise = uniform_data(600, 5, 5);
  std::mt19937 gen(6);
  for (double& t : noise.target) t = static_cast<double>(gen() % 2);
  tq::TreeOptions o;
  o.trees = 300, o.held_out = 0.2, o.seed = 9;
  const tq::BinnedRows x = noise.binned();
  const auto stopped = tq::BoostedTrees::fit(x, tq::every_row(600), noise.target, tq::TreeLoss::logistic, o);
  EXPECT_LT(stopped.trees(), 10);
  Data real = noise;
  for (size_t i = 0; i < 600; ++i) real.target[i] = real.numbers[0][i] > 0;
  EXPECT_GT(tq::BoostedTrees::fit(x, tq::every_row(600), real.target, tq::TreeLoss::logistic, o).trees(), 10);
}

TEST(BoostedTrees, SubsamplesAreDrawnBySeed) {
  Data d = uniform_data(1500, 4, 7);
  for (size_t i = 0; i < 1500; ++i) d.target[i] = d.numbers[0][i] * d.numbers[1][i] > 0;
  tq::TreeOptions o;
  o.rows = 0.5, o.columns = 0.5, o.seed = 1;
  const std::vector<double> a = d.learned(tq::TreeLoss::logistic, o), again = d.learned(tq::TreeLoss::logistic, o);
  EXPECT_EQ(a, again);
  EXPECT_GT(auc(a, d.target), 0.98);
  o.seed = 2;
  EXPECT_NE(a, d.learned(tq::TreeLoss::logistic, o));
}

// Sums are integers: in what order rows come cannot matter.
TEST(BoostedTrees, OrderOfRowsDoesNotMatter) {
  Data d = uniform_data(800, 3, 8);
  for (size_t i = 0; i < 800; ++i) d.target[i] = std::exp(4 * d.numbers[0][i]) + d.numbers[1][i];
  const tq::BinnedRows x = d.binned();
  std::vector<int64_t> rows = tq::every_row(800), shuffled = rows;
  std::shuffle(shuffled.begin(), shuffled.end(), std::mt19937(1));
  tq::TreeOptions o;
  o.trees = 20;
  const auto a = tq::BoostedTrees::fit(x, rows, d.target, tq::TreeLoss::squared, o).predict(x, rows),
             b = tq::BoostedTrees::fit(x, shuffled, d.target, tq::TreeLoss::squared, o).predict(x, rows);
  for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-6);  // but for the mean they start from
}

TEST(FeatureBins, FewValuesAreExactAndSpikesGetTheirOwnBin) {
  std::vector<double> few, many;
  std::mt19937 gen(1);
  for (int i = 0; i < 1000; ++i)
    few.push_back(i % 200), many.push_back(i % 4 == 0 ? 0.25 : std::normal_distribution<>()(gen));
  many[5] = kNaN;
  const tq::Features x{1000, {{few, {}, 0}, {many, {}, 0}}};
  const tq::FeatureBins bins(x);
  EXPECT_EQ(bins.columns()[0].bins, 201);
  EXPECT_LE(bins.columns()[1].bins, 256);
  const tq::BinnedRows rows(bins, x);
  for (int64_t i = 0; i < 1000; ++i) {
    EXPECT_EQ(rows.row(i)[0], i % 200 + 1);
    if (many[static_cast<size_t>(i)] != 0.25) {
      EXPECT_NE(rows.row(i)[1], rows.row(0)[1]) << many[static_cast<size_t>(i)];
    }
  }
  EXPECT_EQ(rows.row(5)[1], 0);
}

TEST(RocAuc, CountsPairsAndHalvesTies) {
  EXPECT_EQ(tq::roc_auc(std::vector<double>{0.1, 0.4, 0.35, 0.8}, std::vector<char>{0, 0, 1, 1}), 0.75);
  EXPECT_EQ(tq::roc_auc(std::vector<double>{1, 1, 1, 1}, std::vector<char>{0, 1, 0, 1}), 0.5);
  EXPECT_EQ(tq::roc_auc(std::vector<double>{3, 2, 2, 1}, std::vector<char>{1, 1, 0, 0}), 0.875);
  // Scores uniform on [0, 1] and [d, 1 + d]: AUC = 1 − (1 − d)²/2.
  std::vector<double> score;
  std::vector<char> positive;
  const int n = 2000;
  const double d = 0.3;
  for (int i = 0; i < n; ++i)
    for (const char p : {char{0}, char{1}}) score.push_back((i + 0.5) / n + d * p), positive.push_back(p);
  EXPECT_NEAR(tq::roc_auc(score, positive), 1 - (1 - d) * (1 - d) / 2, 1e-3);
}

TEST(RocAuc, IsTheShareOfPairs) {
  std::mt19937 gen(3);
  for (int trial = 0; trial < 20; ++trial) {
    std::vector<double> score;
    std::vector<char> positive;
    for (int i = 0; i < 60; ++i)
      score.push_back(static_cast<double>(gen() % 15)), positive.push_back(static_cast<char>(gen() % 2));
    double won = 0, pairs = 0;
    for (size_t i = 0; i < 60; ++i)
      for (size_t j = 0; j < 60; ++j)
        if (positive[i] > positive[j]) won += score[i] > score[j] ? 1 : score[i] == score[j] ? 0.5 : 0, ++pairs;
    EXPECT_DOUBLE_EQ(tq::roc_auc(score, positive), won / pairs);
  }
}

TEST(Answers, AreCounted) {
  const auto n = tq::count_answers(std::vector<double>{0.9, 0.6, 0.4, 0.1, 0.7}, std::vector<char>{1, 0, 1, 0, 1});
  EXPECT_EQ(n.true_positives + n.true_negatives, 3);
  EXPECT_DOUBLE_EQ(n.f1(), 2.0 / 3);
  EXPECT_EQ(tq::count_answers(std::vector<double>{0.1}, std::vector<char>{0}).f1(), 0);
}
