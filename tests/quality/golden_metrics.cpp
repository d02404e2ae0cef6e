// Every number of the golden metric sets at 1e-9: columns, pairs, diagnostics, new rows, distances.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "models/quality/common/statistics.h"
#include "models/quality/evaluate.h"
#include "models/quality/metrics/column_shapes.h"
#include "models/quality/metrics/comparison.h"
#include "models/quality/metrics/diagnostics.h"
#include "models/quality/metrics/distances.h"
#include "models/quality/metrics/new_rows.h"
#include "models/quality/metrics/pair_trends.h"
#include "support/golden.h"
#include "tables.h"

namespace tq = tessera::quality;
using nlohmann::json;

namespace {

constexpr double kTolerance = 1e-9;

// null in the golden file is NaN, or null, here.
void expect_equal(const json& expected, double actual, const std::string& what) {
  if (expected.is_null()) EXPECT_TRUE(std::isnan(actual)) << what << " is " << actual << ", should be undefined";
  else EXPECT_NEAR(actual, expected.get<double>(), kTolerance) << what;
}

void expect_equal(const json& expected, const json& actual, const std::string& what) {
  expect_equal(expected, actual.is_null() ? tq::kUndefined : actual.get<double>(), what);
}

void expect_equal(const std::vector<double>& expected, const std::vector<double>& actual, const std::string& what) {
  ASSERT_EQ(expected.size(), actual.size()) << what;
  for (size_t i = 0; i < expected.size(); ++i)
    ASSERT_NEAR(expected[i], actual[i], kTolerance) << what << " of row " << i;
}

struct Set {
  golden::Case c;
  std::vector<tessera::Table> tables;  // real, synthetic, holdout, random
  json expected;

  explicit Set(const std::filesystem::path& path) : c(golden::read(path)), expected(c.config["expected"]) {
    for (const char* role : {"real", "synthetic", "holdout", "random"})
      tables.push_back(quality_test::golden_table(
          (path.parent_path() / c.config["files"][role].get<std::string>()).string(), c.config["columns"]));
  }
  tq::Comparison compare() const {
    return tq::compare_tables(
        {{"real", &tables[0]}, {"synthetic", &tables[1]}, {"holdout", &tables[2]}, {"random", &tables[3]}});
  }
};

}  // namespace

TEST(GoldenMetrics, ColumnsOneByOne) {
  GOLDEN_CASES_OR_SKIP(paths, "metrics");
  for (const auto& path : paths) {
    const Set set(path);
    const tq::Comparison c = set.compare();
    quality_test::Bench bench;
    const auto shapes = tq::column_shapes(c, bench.workers);
    const auto checks = tq::diagnostics(c, bench.workers);
    ASSERT_EQ(c.facts.size(), set.expected["column_shapes"].size());
    for (size_t k = 0; k < shapes.size(); ++k) {
      const std::string column = c.facts[k].name, what = set.c.name + " " + column;
      EXPECT_EQ(set.expected["column_shapes"][column]["metric"], shapes[k].metric) << what;
      EXPECT_EQ(set.expected["adherence"][column]["metric"], checks[k].adherence_metric) << what;
      EXPECT_EQ(set.expected["coverage"][column]["metric"], checks[k].coverage_metric) << what;
      expect_equal(set.expected["column_shapes"][column]["score"], shapes[k].score, what + " shape");
      expect_equal(set.expected["adherence"][column]["score"], checks[k].adherence, what + " adherence");
      expect_equal(set.expected["coverage"][column]["score"], checks[k].coverage, what + " coverage");
      expect_equal(set.expected["missing_value_similarity"][column], checks[k].missing_similarity, what + " missing");
    }
  }
}

TEST(GoldenMetrics, PairsWithAndWithoutThresholds) {
  GOLDEN_CASES_OR_SKIP(paths, "metrics");
  for (const auto& path : paths) {
    const Set set(path);
    const tq::Comparison c = set.compare();
    quality_test::Bench bench;
    const auto pairs = tq::pair_trends(
        c, {set.c.config["correlation_threshold"], set.c.config["association_threshold"]}, bench.workers);
    ASSERT_EQ(pairs.size(), set.expected["pairs"].size());
    for (size_t i = 0; i < pairs.size(); ++i) {
      const json &plain = set.expected["pairs"][i], &thresholded = set.expected["pairs_thresholded"][i];
      const auto& p = pairs[i];
      const std::string what = set.c.name + " " + plain["a"].get<std::string>() + " × " + plain["b"].get<std::string>();
      EXPECT_EQ(plain["a"], c.facts[static_cast<size_t>(p.a)].name) << what;
      EXPECT_EQ(plain["b"], c.facts[static_cast<size_t>(p.b)].name) << what;
      EXPECT_EQ(plain["metric"], p.metric) << what;
      EXPECT_EQ(plain["error"].is_null(), p.error == nullptr) << what;
      expect_equal(plain["score"], p.score, what);
      if (!plain["real_correlation"].is_null())
        expect_equal(plain["real_correlation"], p.real_correlation, what + " real correlation");
      if (!plain["synthetic_correlation"].is_null())
        expect_equal(plain["synthetic_correlation"], p.synthetic_correlation, what + " synthetic correlation");
      // null: the pair has an error
      EXPECT_EQ(thresholded["counts"].is_null() ? json(false) : thresholded["counts"], p.counts) << what;
      if (!thresholded["score"].is_null()) expect_equal(thresholded["score"], p.score, what + " thresholded");
      if (!thresholded["real_association"].is_null())
        expect_equal(thresholded["real_association"], p.real_association, what + " association");
    }
  }
}

TEST(GoldenMetrics, NewRows) {
  GOLDEN_CASES_OR_SKIP(paths, "metrics");
  for (const auto& path : paths) {
    const Set set(path);
    const tq::Comparison c = set.compare();
    quality_test::Bench bench;
    const auto matched = tq::match_rows(c, 1, 0, set.c.config["numerical_match_tolerance"], bench.workers);
    EXPECT_EQ(set.expected["new_row_synthesis"]["num_matched_rows"], std::count(matched.begin(), matched.end(), 1))
        << set.c.name;
  }
}

TEST(GoldenMetrics, ClosestRecords) {
  GOLDEN_CASES_OR_SKIP(paths, "metrics");
  for (const auto& path : paths) {
    const Set set(path);
    const tq::Comparison c = set.compare();
    quality_test::Bench bench;
    const auto to_real = tq::gower_nearest(c, 1, 0, bench.workers),
               to_holdout = tq::gower_nearest(c, 1, 2, bench.workers),
               random = tq::gower_nearest(c, 3, 0, bench.workers);
    expect_equal(set.c["dcr.synthetic_to_real"].values, to_real, "dcr to real");
    expect_equal(set.c["dcr.synthetic_to_holdout"].values, to_holdout, "dcr to holdout");
    expect_equal(set.c["dcr.random_to_real"].values, random, "dcr of random");
    const auto overfitting = tq::overfitting_protection(to_real, to_holdout);
    const json &o = set.expected["dcr_overfitting"], &b = set.expected["dcr_baseline"];
    expect_equal(o["score"], overfitting.score, "overfitting");
    expect_equal(o["synthetic_data_percentages"]["closer_to_training"], overfitting.closer_to_training,
                 "closer to training");
    expect_equal(o["synthetic_data_percentages"]["closer_to_holdout"], overfitting.closer_to_holdout,
                 "closer to holdout");
    const auto baseline = tq::baseline_protection(to_real, random);
    expect_equal(b["score"], baseline.score, "baseline");
    expect_equal(b["median_DCR_to_real_data"]["synthetic_data"], baseline.synthetic_median, "median of synthetic");
    expect_equal(b["median_DCR_to_real_data"]["random_data_baseline"], baseline.random_median, "median of random");
  }
}

TEST(GoldenMetrics, L1Distances) {
  GOLDEN_CASES_OR_SKIP(paths, "metrics");
  for (const auto& path : paths) {
    const Set set(path);
    const tq::Comparison c = set.compare();
    quality_test::Bench bench;
    const auto real = tq::l1_nearest(c, 1, 0, bench.workers), holdout = tq::l1_nearest(c, 1, 2, bench.workers);
    std::vector<double> two;
    for (size_t i = 0; i < real.first.size(); ++i) two.insert(two.end(), {real.first[i], real.second[i]});
    const auto nndr = tq::nearest_ratios(real);
    expect_equal(set.c["l1.synthetic_to_real"].values, two, "l1 to real");
    expect_equal(set.c["l1.synthetic_to_holdout"].values, holdout.first, "l1 to holdout");
    expect_equal(set.c["l1.nndr"].values, nndr, "nndr");
  }
}

TEST(GoldenMetrics, Report) {
  GOLDEN_CASES_OR_SKIP(paths, "metrics");
  for (const auto& path : paths) {
    const Set set(path);
    quality_test::Bench bench;
    const json out = tessera::evaluate(set.tables[0], set.tables[1], &set.tables[2], {}, bench.team, bench.monitor);
    const json& e = set.expected;
    expect_equal(e["column_shapes_score"], out["scores"]["column_shapes"], "column shapes");
    expect_equal(e["pair_trends_score"], out["scores"]["pair_trends"], "pair trends");
    expect_equal(e["quality_score"], out["scores"]["quality"], "quality");
    expect_equal(e["pair_trends_score_thresholded"], out["scores"]["pair_trends_thresholded"],
                 "pair trends, thresholded");
    expect_equal(e["quality_score_thresholded"], out["scores"]["quality_thresholded"], "quality, thresholded");
    expect_equal(e["new_row_synthesis"]["score"], out["new_row_synthesis"]["score"], "new rows");
    expect_equal(e["new_row_synthesis"]["num_new_rows"], out["new_row_synthesis"]["num_new_rows"], "new rows, number");
    expect_equal(e["dcr_overfitting"]["score"], out["dcr"]["overfitting_protection"]["score"], "overfitting");
    expect_equal(e["l1"]["dcr_share_closer_to_real"], out["l1"]["share_closer_to_real"], "share closer");
    expect_equal(e["l1"]["dcr_mean"], out["l1"]["dcr"]["mean"], "l1 mean");
    expect_equal(e["l1"]["dcr_median"], out["l1"]["dcr"]["median"], "l1 median");
    expect_equal(e["l1"]["dcr_p05"], out["l1"]["dcr"]["p05"], "l1 p05");
    expect_equal(e["l1"]["nndr_p05"], out["l1"]["nndr"]["p05"], "nndr p05");
    expect_equal(e["l1"]["nndr_mean"], out["l1"]["nndr"]["mean"], "nndr mean");
  }
}
