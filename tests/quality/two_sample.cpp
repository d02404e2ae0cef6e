// What classifier two-sample tests must say: nothing of rows of one source, much of rows of two.
#include "models/quality/two_sample.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tables.h"

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
  Table t;
  t.rows = rows;
  t.columns = {quality_test::number_column("a", ColumnType::decimal, a), quality_test::number_column("b", ColumnType::decimal, b), quality_test::text_column("c", ColumnType::category, c)};
  return t;
}

double trees(const Table& a, const Table& b, uint64_t seed = 0, int threads = 2) {
  tessera::Team team(threads);
  return tessera::c2st_trees(a, b, seed, team);
}

}  // namespace

TEST(TwoSample, TreesCannotTellOneSourceApart) {
  EXPECT_NEAR(trees(normal_table(2000, true, 1), normal_table(2000, true, 2)), 0.5, 0.04);
  const Table t = quality_test::random_table(1500, 1);
  EXPECT_LT(trees(t, t), 0.55);
}

TEST(TwoSample, TreesSeeDependenceThatIsLost) { EXPECT_GT(trees(normal_table(2000, true, 1), normal_table(2000, false, 2)), 0.75); }

TEST(TwoSample, SameNumberForAnyTeamAndSides) {
  const Table a = normal_table(700, true, 1), b = normal_table(500, false, 2);
  const double one = trees(a, b, 3, 1);
  EXPECT_EQ(one, trees(a, b, 3, 2));
  EXPECT_EQ(one, trees(a, b, 3, 4));
  EXPECT_NE(one, trees(a, b, 4, 1));
  EXPECT_NEAR(one, trees(b, a, 3, 1), 0.05);
}

TEST(TwoSample, RowsMayBeChosen) {
  const Table a = normal_table(900, true, 1);
  std::vector<int64_t> low, high;
  for (int64_t i = 0; i < 900; ++i) (a.columns[0].numbers[static_cast<size_t>(i)] < 0 ? low : high).push_back(i);
  tessera::Team team(2);
  EXPECT_EQ(tessera::c2st_trees(a, a, 0, team, low, high), 1);
}

TEST(TwoSample, TooFewRowsAreUndefined) { EXPECT_TRUE(std::isnan(trees(normal_table(2, true, 1), normal_table(50, true, 2)))); }
