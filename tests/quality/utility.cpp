// What a model trained on synthetic rows is worth: as much as one trained on real rows where the dependence is there,
// nothing where it is lost.
#include "models/quality/metrics/utility.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "base/error.h"
#include "models/quality/evaluate.h"
#include "tables.h"

using namespace tessera::columns;
namespace tq = tessera::quality;
using nlohmann::json;
using tessera::ColumnType;
using tessera::Table;

namespace {

// A number, a category of it, a flag that depends on both (learned = false: on neither), and a sum.
Table sample(int64_t rows, bool learned, uint32_t seed) {
  std::mt19937 gen(seed);
  std::normal_distribution<> normal;
  std::vector<double> x, sum;
  std::vector<std::string> group, flag;
  for (int64_t i = 0; i < rows; ++i) {
    const double v = normal(gen), other = learned ? v : normal(gen);
    const auto g = static_cast<int>(gen() % 3);
    x.push_back(v);
    group.push_back(std::string(1, static_cast<char>('a' + g)));
    sum.push_back(3 * other + g + 0.1 * normal(gen));
    flag.push_back(other + (learned ? g : 1) > 1.5 ? "yes" : "no");
  }
  return table({numbers("x", ColumnType::decimal, x), numbers("sum", ColumnType::decimal, sum),
                texts("group", ColumnType::category, group), texts("flag", ColumnType::boolean, flag)});
}

Table keep(Table t, const std::vector<size_t>& columns) {
  Table out;
  out.rows = t.rows;
  for (const size_t k : columns) out.columns.push_back(std::move(t.columns[k]));
  return out;
}

json evaluate(const Table& real, const Table& synthetic, const Table& holdout, const std::string& target = "",
              int threads = 2) {
  tessera::EvaluateOptions options;
  options.distances = options.pairs = options.new_rows = options.c2st = false;
  options.target = target;
  return quality_test::evaluated(real, synthetic, &holdout, options, threads).value("utility", json());
}

std::string refusal(const Table& t, const std::string& target) {
  try {
    evaluate(t, t, t, target);
  } catch (const tessera::Error& e) { return e.what(); }
  return "accepted";
}

}  // namespace

TEST(Utility, IsHighForRealRowsAndZeroForShuffledOnes) {
  const Table real = keep(sample(3000, true, 1), {0, 2, 3}), holdout = keep(sample(2000, true, 2), {0, 2, 3});
  const json same = evaluate(real, real, holdout);
  EXPECT_EQ(same["synthetic"], same["real"]);
  EXPECT_GT(same["real"]["auc"].get<double>(), 0.99);
  EXPECT_EQ(same["target"], "flag");
  EXPECT_EQ(same["positive"], "yes");  // the rarer
  const json lost = evaluate(real, keep(sample(3000, false, 3), {0, 2, 3}), holdout);
  EXPECT_NEAR(lost["synthetic"]["auc"].get<double>(), 0.5, 0.1);
  EXPECT_EQ(lost["real"], same["real"]);
}

TEST(Utility, RegressesNumbers) {
  const Table real = keep(sample(3000, true, 1), {0, 1, 2}), holdout = keep(sample(2000, true, 2), {0, 1, 2});
  const json good = evaluate(real, keep(sample(3000, true, 4), {0, 1, 2}), holdout, "sum"),
             lost = evaluate(real, keep(sample(3000, false, 3), {0, 1, 2}), holdout, "sum");
  EXPECT_EQ(good["kind"], "number");
  EXPECT_GT(good["synthetic"]["r2"].get<double>(), 0.98);
  EXPECT_LT(good["synthetic"]["rmse"].get<double>(), 0.5);
  EXPECT_LT(lost["synthetic"]["r2"].get<double>(), 0.1);
}

TEST(Utility, ClassifiesSeveralClasses) {
  const Table real = keep(sample(3000, true, 1), {0, 1, 2}), holdout = keep(sample(1500, true, 2), {0, 1, 2});
  const json out = evaluate(real, real, holdout);
  EXPECT_EQ(out["target"], "group");
  EXPECT_EQ(out["classes"], 3);
  EXPECT_GT(out["real"]["auc"].get<double>(), 0.95);  // sum − 3·x tells the group
  EXPECT_GT(out["real"]["f1"].get<double>(), 0.85);
  EXPECT_FALSE(out.contains("positive"));
}

TEST(Utility, ReportsTheChosenTarget) {
  const Table t = sample(300, true, 1);
  EXPECT_EQ(evaluate(t, t, t)["target"], "flag");
  EXPECT_EQ(evaluate(keep(t, {3, 0, 1}), keep(t, {3, 0, 1}), keep(t, {3, 0, 1}))["target"], "flag");
  // no column has few values: the last number
  EXPECT_EQ(evaluate(keep(t, {0, 1}), keep(t, {0, 1}), keep(t, {0, 1}))["target"], "sum");
  Table bits = keep(t, {0, 1});
  for (double& v : bits.columns[0].numbers) v = v > 0;
  EXPECT_EQ(evaluate(bits, bits, bits)["target"], "x");
  EXPECT_EQ(evaluate(bits, bits, bits)["kind"], "classes");
  const Table constant = keep(quality_test::random_table(20, 1), {8, 9});
  EXPECT_TRUE(evaluate(constant, constant, constant).is_null());
}

TEST(Utility, RejectsUnpredictableTargets) {
  const Table t = quality_test::random_table(500, 1);
  EXPECT_NE(refusal(t, "flagg").find("not a column"), std::string::npos);
  EXPECT_NE(refusal(t, "flagg").find("whole, decimal, few"), std::string::npos);
  EXPECT_NE(refusal(t, "day").find("a time"), std::string::npos);
  EXPECT_NE(refusal(t, "same").find("single value"), std::string::npos);
  EXPECT_NE(refusal(t, "none").find("single value"), std::string::npos);
  EXPECT_NE(refusal(t, "many").find("categories; the limit is 100"), std::string::npos);
  quality_test::Bench bench;
  tessera::EvaluateOptions options;
  options.target = "whole";
  EXPECT_THROW(tessera::evaluate(t, t, nullptr, options, bench.team, bench.monitor), tessera::Error);
}

// Nothing is left to predict a single column from.
TEST(Utility, OneColumnIsNotPredicted) {
  for (const std::vector<size_t>& column : {std::vector<size_t>{1}, {2}, {3}}) {
    const Table one = keep(sample(60, true, 1), column);
    EXPECT_TRUE(evaluate(one, one, one).is_null());
    EXPECT_NE(refusal(one, one.columns[0].name).find("no other column"), std::string::npos);
  }
}

TEST(Utility, MissingClassesAndTargetsAreNumbersOrNull) {
  const Table real = sample(400, true, 1), holdout = sample(200, true, 2);
  Table one = real, none = real, single = holdout;
  for (int32_t& code : one.columns[3].codes) code = 0;
  for (int32_t& code : none.columns[3].codes) code = -1;
  for (int32_t& code : single.columns[3].codes) code = 0;
  EXPECT_EQ(evaluate(real, one, holdout, "flag")["synthetic"]["auc"], 0.5);  // it knows one answer
  EXPECT_TRUE(evaluate(real, none, holdout, "flag")["synthetic"]["auc"].is_null());
  EXPECT_TRUE(evaluate(real, real, single, "flag")["synthetic"]["auc"].is_null());  // nothing to rank
  EXPECT_TRUE(evaluate(real, real, single, "flag")["synthetic"]["accuracy"].is_number());
}

TEST(Utility, SameBitsForAnyTeam) {
  const Table real = sample(600, true, 1), synthetic = sample(500, true, 2), holdout = sample(300, true, 3);
  for (const char* target : {"flag", "group", "sum"})
    EXPECT_EQ(evaluate(real, synthetic, holdout, target, 1), evaluate(real, synthetic, holdout, target, 3)) << target;
}
