// What classifier two-sample tests must say: nothing of rows of one source, much of rows of two.
#include "models/quality/metrics/two_sample.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tables.h"

using namespace tessera::columns;
namespace tq = tessera::quality;
using tessera::ColumnType;
using tessera::Table;

namespace {

// Two columns and a category that depend on each other, or have the same distributions and do not.
Table normal_table(int64_t rows, bool dependent, uint32_t seed) {
  std::mt19937 gen(seed);
  std::normal_distribution<> normal;
  std::vector<double> a, b;
  std::vector<std::string> c;
  for (int64_t i = 0; i < rows; ++i) {
    a.push_back(normal(gen));
    b.push_back(dependent ? 0.9 * a.back() + std::sqrt(1 - 0.81) * normal(gen) : normal(gen));
    c.push_back((dependent ? a.back() : normal(gen)) > 0 ? "up" : "down");
  }
  return table({numbers("a", ColumnType::decimal, a), numbers("b", ColumnType::decimal, b),
                texts("c", ColumnType::category, c)});
}

double trees(const Table& a, const Table& b, uint64_t seed = 0, int threads = 2) {
  tessera::Team team(threads);
  return tessera::c2st_trees(a, b, seed, team);
}

tq::Detection logistic(const Table& a, const Table& b) {
  quality_test::Bench bench;
  const tq::Comparison c = tq::compare_tables({{"real", &a}, {"synthetic", &b}});
  return tq::c2st_logistic(tq::two_samples(c, 0, 1, 0, 1 << 20), bench.workers, "");
}

}  // namespace

TEST(TwoSample, DoesNotDistinguishSamplesOfOneSource) {
  const Table a = normal_table(2000, true, 1), b = normal_table(2000, true, 2);
  EXPECT_NEAR(trees(a, b), 0.5, 0.04);
  EXPECT_NEAR(logistic(a, b).auc, 0.5, 0.04);
  EXPECT_GT(logistic(a, b).score, 0.9);
}

TEST(TwoSample, ScoresATableAgainstItselfAtOneHalf) {
  const Table t = quality_test::random_table(1500, 1);
  EXPECT_EQ(trees(t, t), 0.5);  // twins are judged in one fold, and get one score
  EXPECT_EQ(logistic(t, t).auc, 0.5);
  EXPECT_EQ(logistic(t, t).score, 1);
}

TEST(TwoSample, TreesDetectLostDependence) {
  const Table real = normal_table(2000, true, 1), independent = normal_table(2000, false, 2);
  EXPECT_GT(trees(real, independent), 0.75);
  EXPECT_LT(logistic(real, independent).auc, 0.6);  // whose single columns are right
}

TEST(TwoSample, BothDetectAShiftedColumn) {
  const Table real = normal_table(2000, true, 1);
  Table shifted = normal_table(2000, true, 2);
  for (double& x : shifted.columns[1].numbers) x += 1;
  // Normal columns one standard deviation apart: AUC Φ(1/√2) = .760 by that column alone; with the one it depends on,
  // more.
  EXPECT_GT(trees(real, shifted), 0.76);
  EXPECT_GT(logistic(real, shifted).auc, 0.76);
}

TEST(TwoSample, LogisticModelOfOneColumnHasItsAuc) {
  Table real = normal_table(4000, true, 1), shifted = normal_table(4000, true, 2);
  real.columns.resize(1);
  shifted.columns.resize(1);
  for (double& x : shifted.columns[0].numbers) x += 1;
  EXPECT_NEAR(logistic(real, shifted).auc, 0.760, 0.02);
  EXPECT_NEAR(logistic(real, shifted).score, 1 - (2 * 0.760 - 1), 0.04);
}

TEST(TwoSample, DetectsMissingValuesAndLevels) {
  const Table real = quality_test::random_table(1000, 1);
  Table without = quality_test::random_table(1000, 2), renamed = without;
  for (int32_t& code : without.columns[2].codes) code = std::max(code, 0);
  EXPECT_GT(logistic(real, without).auc, 0.52);
  renamed.columns[2].values[0] = "z";
  EXPECT_GT(logistic(real, renamed).auc, 0.6);
  EXPECT_GT(trees(real, renamed), 0.6);
}

TEST(TwoSample, UsesHalvesOfOneTableAsFloor) {
  const Table t = quality_test::random_table(2001, 1);
  const tq::Comparison c = tq::compare_tables({{"real", &t}});
  quality_test::Bench bench;
  const tq::TwoSamples halves = tq::two_halves(c, 0, 5, 1 << 20);
  EXPECT_EQ(halves.rows, 1000);
  EXPECT_NEAR(tq::c2st_trees(halves, {}, bench.workers, "").auc, 0.5, 0.06);
  EXPECT_NEAR(tq::c2st_logistic(halves, bench.workers, "").auc, 0.5, 0.06);
  EXPECT_EQ(tq::two_halves(c, 0, 5, 300).rows, 300);
}

TEST(TwoSample, SameNumberForAnyTeamAndSides) {
  const Table a = normal_table(700, true, 1), b = normal_table(500, false, 2);
  const double one = trees(a, b, 3, 1);
  EXPECT_EQ(one, trees(a, b, 3, 2));
  EXPECT_EQ(one, trees(a, b, 3, 4));
  EXPECT_NE(one, trees(a, b, 4, 1));
  EXPECT_NEAR(one, trees(b, a, 3, 1), 0.05);
}

TEST(TwoSample, UsesSelectedRows) {
  const Table a = normal_table(900, true, 1);
  std::vector<int64_t> low, high;
  for (int64_t i = 0; i < 900; ++i) (a.columns[0].numbers[static_cast<size_t>(i)] < 0 ? low : high).push_back(i);
  tessera::Team team(2);
  EXPECT_EQ(tessera::c2st_trees(a, a, 0, team, low, high), 1);
}

TEST(TwoSample, TooFewRowsAreUndefined) {
  EXPECT_TRUE(std::isnan(trees(normal_table(2, true, 1), normal_table(50, true, 2))));
}
