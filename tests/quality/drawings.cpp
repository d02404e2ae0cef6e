// What a page draws of two tables: every row is in one cell, no count is of a few real rows, threads change nothing.
#include <gtest/gtest.h>

#include "models/quality/drawings/drawings.h"
#include "quality/tables.h"

namespace {

namespace tq = tessera::quality;
using namespace quality_test;

// Sum of the counts that are told, which are 0 or at least five where they are of real rows.
int64_t told(const Json& counts, bool real) {
  int64_t sum = 0;
  for (const Json& n : counts) {
    if (n.is_null()) {
      EXPECT_TRUE(real);
      continue;
    }
    sum += n.get<int64_t>();
    EXPECT_TRUE(!real || n == 0 || n >= tq::kMinDrawn) << n;
  }
  return sum;
}

void expect_whole(const Json& drawn, int64_t real_rows, int64_t synthetic_rows) {
  const auto withheld = drawn["withheld"].get<int64_t>();
  EXPECT_EQ(told(drawn["real"], true) + withheld, real_rows) << drawn;
  EXPECT_EQ(told(drawn["synthetic"], false), synthetic_rows) << drawn;
  EXPECT_TRUE(withheld == 0 || withheld >= tq::kMinDrawn || withheld == real_rows) << drawn;
}

TEST(Drawings, CountEveryRowOnceAndHideFewRealRows) {
  for (const int64_t rows : {3, 7, 40, 600, 3000}) {
    const Table real = random_table(rows, 1), synthetic = random_table(rows / 2 + 1, 2);
    const Json report = with_drawings(real, synthetic), &drawings = report["drawings"];
    ASSERT_EQ(drawings["columns"].size(), report["columns"].size());
    for (const Json& column : drawings["columns"]) expect_whole(column, real.rows, synthetic.rows);
    for (const Json& pair : drawings["pairs"]) expect_whole(pair, real.rows, synthetic.rows);
    if (!drawings["projection"].is_null()) expect_whole(drawings["projection"], real.rows, synthetic.rows);
  }
}

TEST(Drawings, WithholdASecondCountBesideASmallOne) {
  Json shown;
  EXPECT_EQ(tq::withhold({100, 2, 0, 30, 9}, 5, shown), 11);
  EXPECT_EQ(shown, Json::parse("[100, null, 0, 30, null]"));
  EXPECT_EQ(tq::withhold({100, 2, 3, 30, 9}, 5, shown), 5);
  EXPECT_EQ(shown, Json::parse("[100, null, null, 30, 9]"));
  EXPECT_EQ(tq::withhold({3, 1}, 2, shown), 4);
  EXPECT_EQ(shown, Json::parse("[null, null]"));
  EXPECT_EQ(tq::withhold({5, 0}, 2, shown), 0);
  EXPECT_EQ(shown, Json::parse("[5, 0]"));
  // In a line and in a column: sums must not tell a cell.
  EXPECT_EQ(tq::withhold({50, 20, 30, 9, 1, 40, 8, 60, 70}, 3, shown), 78);
  EXPECT_EQ(shown, Json::parse("[50, 20, 30, null, null, 40, null, null, 70]"));
}

TEST(Drawings, HideExtremesAndRareTexts) {
  std::vector<double> salary;
  std::vector<std::string> city;
  for (int i = 0; i < 400; ++i) salary.push_back(1000 + i % 97), city.push_back(i % 3 == 0 ? "Ghent" : "Bruges");
  salary[7] = 123456789, city[7] = "Lone Hamlet";
  Table real = table({numbers("salary", ColumnType::decimal, salary), texts("city", ColumnType::category, city)});
  Table synthetic = real;
  synthetic.columns[0].numbers[7] = 1050;
  synthetic.columns[1].codes[7] = 0;
  const std::string text = with_drawings(real, synthetic)["drawings"].dump();
  EXPECT_EQ(text.find("Lone Hamlet"), std::string::npos);
  EXPECT_EQ(text.find("123456789"), std::string::npos);
  EXPECT_NE(text.find("Ghent"), std::string::npos);
}

TEST(Drawings, DoNotDependOnThreads) {
  const Table real = random_table(500, 4), synthetic = random_table(400, 5), holdout = random_table(300, 6);
  const Json one = with_drawings(real, synthetic, &holdout, 1)["drawings"];
  for (const int threads : {2, 5}) EXPECT_EQ(with_drawings(real, synthetic, &holdout, threads)["drawings"], one);
  EXPECT_EQ(one["distances"]["synthetic"].size(), 99u);
  EXPECT_TRUE(std::is_sorted(one["distances"]["holdout"].begin(), one["distances"]["holdout"].end()));
}

TEST(Drawings, RocCurveHasTheAreaOfTheAuc) {
  const Json report = with_drawings(random_table(900, 4), random_table(900, 5));
  const Json& judge = report["drawings"]["judge"];
  double area = 0, used = 0;
  for (size_t i = 0; i + 1 < judge["roc"].size(); ++i)
    area += (judge["roc"][i].get<double>() + judge["roc"][i + 1].get<double>()) / 2 / judge["steps"].get<double>();
  EXPECT_NEAR(area, report["c2st"]["trees"]["auc"].get<double>(), 0.01);
  for (const Json& column : judge["used"]) used += column["share"].get<double>();
  EXPECT_NEAR(used, 1, 1e-9);
}

TEST(Drawings, LeaveTheRestOfAReportUnchanged) {
  const Table real = random_table(200, 4), synthetic = random_table(150, 5);
  Json with = with_drawings(real, synthetic);
  with.erase("drawings");
  EXPECT_EQ(evaluated(real, synthetic), with);
}

}  // namespace
