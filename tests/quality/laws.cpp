// What must hold for any tables: equal tables score 1, order and threads do not matter, odd tables give numbers or
// nulls, wrong ones an error with a way out.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/error.h"
#include "models/quality/evaluate.h"
#include "models/quality/metrics/column_shapes.h"
#include "models/quality/metrics/pair_trends.h"
#include "support/thrown.h"
#include "tables.h"

using namespace tessera::columns;
using quality_test::evaluated;
namespace tq = tessera::quality;
using nlohmann::json;
using tessera::Column;
using tessera::ColumnType;
using tessera::Error;
using tessera::ErrorCode;
using tessera::Table;

namespace {

Table permuted(const Table& t, uint32_t seed) {
  std::vector<size_t> order(static_cast<size_t>(t.rows));
  std::iota(order.begin(), order.end(), size_t{0});
  std::mt19937 gen(seed);
  std::shuffle(order.begin(), order.end(), gen);
  Table out = t;
  for (size_t k = 0; k < t.columns.size(); ++k)
    for (size_t i = 0; i < order.size(); ++i) {
      if (tessera::is_numeric(t.columns[k].type)) out.columns[k].numbers[i] = t.columns[k].numbers[order[i]];
      else out.columns[k].codes[i] = t.columns[k].codes[order[i]];
    }
  return out;
}

void expect_near(const json& a, const json& b, const std::string& at) {
  ASSERT_EQ(a.type() == json::value_t::null, b.type() == json::value_t::null) << at;
  if (a.is_object() || a.is_array()) {
    ASSERT_EQ(a.size(), b.size()) << at;
    for (const auto& [key, value] : a.items())
      expect_near(value, a.is_array() ? b[std::stoul(key)] : b.at(key), at + "/" + key);
  } else if (a.is_number()) {
    EXPECT_NEAR(a.get<double>(), b.get<double>(), 1e-9) << at;
  } else {
    EXPECT_EQ(a, b) << at;
  }
}

void expect_error(const Table& real, const Table& synthetic, const std::vector<std::string>& fragments) {
  tessera::test::expect_error(ErrorCode::data, fragments, [&] { evaluated(real, synthetic); });
}

}  // namespace

TEST(QualityLaws, EqualTablesScoreOne) {
  const Table t = quality_test::random_table(500, 1);
  const json out = evaluated(t, t, &t);
  for (const char* score :
       {"column_shapes", "pair_trends", "pair_trends_real_edges", "quality", "pair_trends_thresholded"})
    EXPECT_DOUBLE_EQ(out["scores"][score].get<double>(), 1) << score;
  for (const auto& [name, mean] : out["diagnostics"].items()) EXPECT_DOUBLE_EQ(mean.get<double>(), 1) << name;
  EXPECT_EQ(out["new_row_synthesis"]["num_new_rows"], 0);
  EXPECT_EQ(out["exact_copies"]["share"], 1.0);
  EXPECT_EQ(out["exact_copies"]["holdout_share"], 1.0);
  EXPECT_EQ(out["dcr"]["synthetic_to_real"]["p95"], 0.0);
  EXPECT_EQ(out["l1"]["dcr"]["mean"], 0.0);
  EXPECT_EQ(out["l1"]["share_closer_to_real"], 0.0);
  EXPECT_EQ(out["l1"]["share_closer_to_real_equal_rows"], 0.5);  // every row a tie
  for (const char* classifier : {"trees", "logistic"}) {
    EXPECT_EQ(out["c2st"][classifier]["auc"], 0.5) << classifier;
    EXPECT_EQ(out["c2st"][classifier]["floor_auc"], 0.5) << classifier;
    EXPECT_EQ(out["c2st"][classifier]["score"], 1.0) << classifier;
  }
  EXPECT_EQ(out["utility"]["synthetic"], out["utility"]["real"]);
}

TEST(QualityLaws, OrderOfRowsAndLevelsDoesNotMatter) {
  const Table real = quality_test::random_table(300, 2), synthetic = quality_test::random_table(250, 3),
              holdout = quality_test::random_table(300, 4);
  json a = evaluated(real, synthetic, &holdout), b = evaluated(permuted(real, 5), permuted(synthetic, 6), &holdout);
  for (json* out : {&a, &b}) out->erase("c2st"), out->erase("written_form");  // both see the place of a row
  expect_near(a, b, "");
}

TEST(QualityLaws, SymmetricWhereSymmetric) {
  const Table a = quality_test::random_table(300, 7), b = quality_test::random_table(250, 8);
  quality_test::Bench bench;
  const tq::Comparison ab = tq::compare_tables({{"real", &a}, {"synthetic", &b}}),
                       ba = tq::compare_tables({{"real", &b}, {"synthetic", &a}});
  for (size_t k = 0; k < ab.facts.size(); ++k) {
    if (ab.facts[k].kind == tq::Kind::categorical || ab.tables[0].columns[k].missing == 300) continue;
    EXPECT_EQ(tq::ks_complement(ab.tables[0].columns[k].numbers, ab.tables[1].columns[k].numbers, true),
              tq::ks_complement(ba.tables[0].columns[k].numbers, ba.tables[1].columns[k].numbers, true));
  }
  const auto forth = tq::pair_trends(ab, {}, bench.workers), back = tq::pair_trends(ba, {}, bench.workers);
  for (size_t i = 0; i < forth.size(); ++i) {
    ASSERT_EQ(std::isnan(forth[i].score), std::isnan(back[i].score));
    if (!std::isnan(forth[i].score)) { EXPECT_NEAR(forth[i].score, back[i].score, 1e-12); }
  }
}

TEST(QualityLaws, SameBitsForAnyTeam) {
  const Table real = quality_test::random_table(400, 9), synthetic = quality_test::random_table(330, 10),
              holdout = quality_test::random_table(100, 11);
  const std::string one = evaluated(real, synthetic, &holdout, {}, 1).dump();
  EXPECT_EQ(one, evaluated(real, synthetic, &holdout, {}, 2).dump());
  EXPECT_EQ(one, evaluated(real, synthetic, &holdout, {}, 3).dump());
}

TEST(QualityLaws, EveryScoreIsAShare) {
  for (uint32_t seed = 0; seed < 12; ++seed) {
    const Table real = quality_test::random_table(1 + seed * 7, seed),
                synthetic = quality_test::random_table(1 + seed * 3, seed + 50),
                holdout = quality_test::random_table(1 + seed, seed + 90);
    const json out = evaluated(real, synthetic, &holdout);
    std::function<void(const json&, const std::string&)> walk = [&](const json& j, const std::string& key) {
      for (const auto& [k, v] : j.items()) {
        if (v.is_structured()) {
          walk(v, k);
        } else if (v.is_number() && k.find("score") != std::string::npos) {
          EXPECT_GE(v.get<double>(), -1e-12) << key << "/" << k;
          EXPECT_LE(v.get<double>(), 1 + 1e-12) << key << "/" << k;
        }
      }
    };
    walk(out, "");
  }
}

TEST(QualityLaws, OneRowConstantAndEmptyColumns) {
  const Table one = quality_test::random_table(1, 3), many = quality_test::random_table(60, 4);
  for (const auto& [real, synthetic] : {std::pair{&one, &one}, {&one, &many}, {&many, &one}}) {
    const json out = evaluated(*real, *synthetic, &one);
    EXPECT_TRUE(out["scores"]["column_shapes"].is_number());
    const json& none = out["columns"].back();  // of one row, a category may count as regenerated and be set apart
    EXPECT_EQ(none["name"], "none");
    EXPECT_TRUE(none["shape"]["score"].is_null());
    EXPECT_TRUE(none["coverage"]["score"].is_null());
    EXPECT_EQ(none["missing_value_similarity"], 1.0);
  }
  EXPECT_TRUE(evaluated(one, many)["l1"]["nndr"]["mean"].is_null());  // no second nearest row
}

TEST(QualityLaws, AColumnEmptyOnOneSideScoresZero) {
  Table real = quality_test::random_table(50, 3), synthetic = real;
  synthetic.columns[0].numbers.assign(50, tessera::kMissing);
  synthetic.columns[2].codes.assign(50, -1);
  const json out = evaluated(real, synthetic);
  EXPECT_EQ(out["columns"][0]["shape"]["score"], 0.0);
  EXPECT_EQ(out["columns"][2]["shape"]["score"], 0.0);
}

TEST(QualityLaws, DetectCopiesOfTrainingRows) {
  const Table real = quality_test::random_table(600, 1), holdout = quality_test::random_table(600, 2);
  const json copied = evaluated(real, real, &holdout),
             fresh = evaluated(real, quality_test::random_table(600, 3), &holdout);
  EXPECT_EQ(copied["exact_copies"]["rows"], 600);
  EXPECT_LT(copied["exact_copies"]["holdout_share"].get<double>(), 0.01);
  EXPECT_GT(copied["l1"]["share_closer_to_real_equal_rows"].get<double>(), 0.99);
  EXPECT_EQ(copied["l1"]["nndr"]["p05"], 0.0);
  EXPECT_GT(copied["l1"]["holdout_nndr"]["p05"].get<double>(), 0);
  EXPECT_LT(fresh["exact_copies"]["share"].get<double>(), 0.01);
  EXPECT_EQ(copied["dcr"]["near_copies"]["rows"], 600);
  EXPECT_LT(fresh["dcr"]["near_copies"]["share"].get<double>(), 0.05);  // independent columns: .01 in expectation
  EXPECT_NEAR(fresh["dcr"]["near_copies"]["share"].get<double>(),
              fresh["dcr"]["near_copies"]["holdout_share"].get<double>(), 0.06);
  EXPECT_NEAR(fresh["l1"]["share_closer_to_real_equal_rows"].get<double>(), 0.5, 0.06);
}

TEST(QualityLaws, PartsAreOptional) {
  const Table t = quality_test::random_table(60, 1);
  quality_test::Bench bench;
  tessera::EvaluateOptions options;
  options.c2st = options.utility = options.distances = false;
  const json out = tessera::evaluate(t, t, &t, options, bench.team, bench.monitor);
  for (const char* part : {"c2st", "utility", "dcr", "l1"}) EXPECT_FALSE(out.contains(part)) << part;
  EXPECT_TRUE(out.contains("exact_copies"));
  EXPECT_FALSE(evaluated(t, t).contains("utility"));  // without a holdout
}

TEST(QualityLaws, ExcludeAndNameIdentifiers) {
  constexpr size_t rows = 400;
  Table real = quality_test::random_table(rows, 3), synthetic = quality_test::random_table(rows, 4);
  std::vector<std::string> ids(rows);
  for (size_t i = 0; i < rows; ++i) ids[i] = std::to_string(i) + "-id";
  real.columns.push_back(texts("id", ColumnType::identifier, ids));
  synthetic.columns.push_back(texts("id", ColumnType::category, std::vector<std::string>(rows, "x")));
  const json out = evaluated(real, synthetic);
  EXPECT_EQ(out["excluded"][0]["name"], "id");
  EXPECT_EQ(out["columns"].size(), 10u);
}

TEST(QualityLaws, SpellingAndInferredTypesDoNotMatter) {
  Table real, synthetic;
  real.rows = synthetic.rows = 4;
  real.columns = {texts("flag", ColumnType::boolean, {"True", "False", "True", ""}),
                  numbers("count", ColumnType::integer, {3, 3, 3, 4}),
                  texts("fixed", ColumnType::constant, {"7", "7", "7", "7"})};
  synthetic.columns = {texts("count", ColumnType::constant, {"3", "3", "", "3"}),
                       texts("fixed", ColumnType::constant, {"7", "7", "7", "7"}),
                       texts("flag", ColumnType::boolean, {"true", "false", "true", ""})};
  const json out = evaluated(real, synthetic);
  EXPECT_EQ(out["columns"][0]["shape"]["score"], 1.0);
  EXPECT_EQ(out["columns"][1]["kind"], "numerical");
  EXPECT_DOUBLE_EQ(out["columns"][1]["shape"]["score"], 0.75);
  EXPECT_EQ(out["columns"][2]["kind"], "numerical");
  EXPECT_FALSE(out["pairs"][2]["error"].is_null());  // no correlation with a constant
}

TEST(QualityLaws, ReadAConstantAsADateIfTheOtherTableDoes) {
  Table real, synthetic;
  real.rows = synthetic.rows = 3;
  real.columns = {numbers("day", ColumnType::date, {18262, 18262, 18263})};
  real.columns[0].format = "%Y-%m-%d";
  synthetic.columns = {texts("day", ColumnType::constant, {"2020-01-01", "", "2020-01-01"})};
  for (const json& out : {evaluated(real, synthetic), evaluated(synthetic, real)}) {
    EXPECT_EQ(out["columns"][0]["kind"], "datetime");
    EXPECT_DOUBLE_EQ(out["columns"][0]["shape"]["score"].get<double>(), 2.0 / 3);
  }
  synthetic.columns = {texts("day", ColumnType::category, {"soon", "2020-01-01", "never"})};
  expect_error(real, synthetic, {"\"day\"", "date", "category", "soon"});
}

TEST(QualityLaws, LargeNumbersStayFinite) {
  Table real, synthetic;
  real.rows = synthetic.rows = 3;
  real.columns = {numbers("x", ColumnType::decimal, {-1.7e308, 0, 1.7e308}),
                  numbers("y", ColumnType::decimal, {1e307, 2e307, 5e307})};
  synthetic.columns = {numbers("x", ColumnType::decimal, {-1.7e308, 1e307, 1.7e308}),
                       numbers("y", ColumnType::decimal, {1e307, 2e307, 5e307})};
  const json out = evaluated(real, synthetic);
  EXPECT_TRUE(out["scores"]["quality"].is_number());
  EXPECT_TRUE(out["pairs"][0]["score"].is_number());
  // 1e307 of a range of 3.4e308, halved by the equal column
  EXPECT_NEAR(out["dcr"]["synthetic_to_real"]["p95"].get<double>(), 0.0147 * 0.9, 1e-3);
}

TEST(QualityLaws, NameMismatchedColumns) {
  const Table real = quality_test::random_table(20, 1);
  Table lacking = real, extra = real, other = real, empty = real, infinite = real;
  lacking.columns.erase(lacking.columns.begin() + 2);
  expect_error(real, lacking, {"\"few\"", "synthetic", "missing"});
  extra.columns.push_back(numbers("more", ColumnType::integer, std::vector<double>(20, 1)));
  expect_error(real, extra, {"\"more\"", "not in the real table", "remove"});
  other.columns[0] = texts("whole", ColumnType::category, std::vector<std::string>(20, "old"));
  expect_error(real, other, {"\"whole\"", "integer", "category", "old", "`types=whole=integer`"});
  expect_error(other, real, {"\"whole\"", "`types=whole=category`"});
  empty.rows = 0;
  expect_error(real, empty, {"no rows"});
  infinite.columns[1].numbers[3] = INFINITY;
  expect_error(real, infinite, {"\"decimal\"", "infinite"});
}

TEST(QualityLaws, CancelAndReportProgress) {
  const Table t = quality_test::random_table(300, 1);
  tessera::Team team(2);
  std::atomic<bool> cancel{false};
  tessera::Monitor monitor;
  monitor.cancel = &cancel;
  int events = 0;
  bool finished = false;
  monitor.on_progress = [&](const tessera::Progress& p) {
    EXPECT_STREQ(p.phase, "evaluate");
    EXPECT_LE(p.done, p.total);
    finished = p.finished;
    ++events;
  };
  tessera::evaluate(t, t, nullptr, {}, team, monitor);
  EXPECT_TRUE(finished);
  EXPECT_GT(events, 5);
  monitor.on_progress = [&](const tessera::Progress& p) { cancel = p.note == "pair trends"; };
  tessera::test::expect_error(ErrorCode::cancelled, {}, [&] { tessera::evaluate(t, t, nullptr, {}, team, monitor); });
}
