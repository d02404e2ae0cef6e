// Two tables of sequences, one report.
#include "models/quality/evaluate_sequences.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <random>

#include "base/error.h"
#include "tables.h"

using namespace quality_test;
using tessera::EvaluateSequencesOptions;
using tessera::SequenceOptions;

namespace {

Table series(int rows, uint32_t seed) {
  std::mt19937 gen(seed);
  std::vector<double> price, volume;
  double x = 100;
  for (int i = 0; i < rows; ++i)
    price.push_back(x += std::normal_distribution<>()(gen)), volume.push_back(static_cast<double>(gen() % 1000));
  return table({numbers("price", ColumnType::decimal, price), numbers("volume", ColumnType::integer, volume)});
}

// Patients of `shortest` to `shortest` + 9 visits.
Table patients(int count, int shortest, uint32_t seed) {
  std::mt19937 gen(seed);
  std::vector<std::string> names, drugs;
  std::vector<double> pulse;
  for (int p = 0; p < count; ++p)
    for (int t = 0; t < shortest + p % 10; ++t) {
      names.push_back("p" + std::to_string(p)), drugs.push_back(gen() % 3 == 0 ? "aspirin" : "none");
      pulse.push_back(60 + p % 20 + std::normal_distribution<>()(gen));
    }
  return table({texts("patient", ColumnType::identifier, names), texts("drug", ColumnType::category, drugs),
                numbers("pulse", ColumnType::decimal, pulse)});
}

// Windows of a table in long format, as sample writes them.
Table long_format(const Table& t, int length) {
  Table out;
  std::vector<double> sequence, step;
  std::vector<std::vector<double>> columns(t.columns.size());
  for (int64_t i = 0; i + length <= t.rows; ++i)
    for (int s = 0; s < length; ++s) {
      sequence.push_back(static_cast<double>(i + 1)), step.push_back(s + 1);
      for (size_t j = 0; j < columns.size(); ++j)
        columns[j].push_back(t.columns[j].numbers[static_cast<size_t>(i + s)]);
    }
  out.rows = static_cast<int64_t>(sequence.size());
  out.columns = {numbers("sequence", ColumnType::integer, sequence), numbers("step", ColumnType::integer, step)};
  for (size_t j = 0; j < columns.size(); ++j)
    out.columns.push_back(numbers(t.columns[j].name, t.columns[j].type, columns[j]));
  return out;
}

// Patients with visits: a sex, 2 to 9 visits a week or so apart; women have more of them.
Table visits(int patients, uint32_t seed, bool dependent = true) {
  std::mt19937 gen(seed);
  const auto pick = [&](int n) { return static_cast<int>(gen() % static_cast<uint32_t>(n)); };
  std::vector<std::string> sex, drug;
  std::vector<double> who, day, weight;
  for (int p = 0; p < patients; ++p) {
    const bool female = pick(2) == 0;
    const int length = (dependent ? (female ? 6 : 2) : (pick(2) == 0 ? 6 : 2)) + pick(4);
    double at = 1000 + pick(300);
    for (int t = 0; t < length; ++t, at += 5 + pick(5)) {
      who.push_back(p), day.push_back(at), sex.push_back(female ? "F" : "M");
      weight.push_back(pick(10) == 0 ? tessera::kMissing : 60 + pick(30)), drug.push_back(pick(3) == 0   ? ""
                                                                                          : pick(2) == 0 ? "a"
                                                                                                         : "b");
    }
  }
  return table({numbers("patient", ColumnType::integer, who), numbers("day", ColumnType::date, day),
                texts("sex", ColumnType::category, sex), numbers("weight", ColumnType::decimal, weight),
                texts("drug", ColumnType::category, drug)});
}

EvaluateSequencesOptions of(const SequenceOptions& s) {
  EvaluateSequencesOptions o;
  o.sequences = s;
  o.judges.judges = 0;
  return o;
}

nlohmann::json evaluate(Table real, Table synthetic, const EvaluateSequencesOptions& o, int threads = 2) {
  tessera::Team team(threads);
  return tessera::evaluate_sequences(std::move(real), std::move(synthetic), o, team, tessera::Monitor{});
}

SequenceOptions windows(int length) {
  SequenceOptions o;
  o.length = length;
  return o;
}
SequenceOptions keyed() {
  SequenceOptions o;
  o.key = "patient", o.index = "day", o.statics = {"sex"};
  return o;
}

std::string message(const std::function<void()>& call) {
  try {
    call();
  } catch (const tessera::Error& e) { return e.what(); }
  return "nothing was thrown";
}

nlohmann::json drawn(int real, int synthetic, int threads = 2) {
  EvaluateSequencesOptions o;
  o.sequences.key = "patient";
  o.judges.judges = 0;
  o.drawings = true;
  tessera::Team team(threads);
  return tessera::evaluate_sequences(patients(real, 8, 1), patients(synthetic, 8, 2), o, team,
                                     {})["drawings"]["sequences"];
}

size_t shown(const nlohmann::json& list) {
  return static_cast<size_t>(std::count_if(list.begin(), list.end(), [](const auto& x) { return !x.is_null(); }));
}

TEST(EvaluateSequences, DrawsPathsAndSpreadsOfManySequencesOnly) {
  const nlohmann::json many = drawn(400, 40), few = drawn(18, 40), fewer = drawn(4, 40);
  EXPECT_EQ(drawn(400, 40, 1), many);
  ASSERT_EQ(many.size(), 2u);
  for (const nlohmann::json& all : {many, few, fewer})
    for (const nlohmann::json& f : all) {
      EXPECT_EQ(f["steps"].size(), 17u);
      if (!f["number"].get<bool>()) continue;
      for (const char* q : {"p10", "p50", "p90"}) EXPECT_EQ(shown(f["quantiles"]["synthetic"][q]), 17u) << q;
      EXPECT_GE(f["paths"]["synthetic"].size(), 2u);
    }
  const auto numbers = [](const nlohmann::json& all) { return all[0]["number"].get<bool>() ? all[0] : all[1]; };
  const auto shares = [](const nlohmann::json& all) { return all[0]["number"].get<bool>() ? all[1] : all[0]; };
  // Quantiles are in the column's units and in order; those with fewer than five sequences beyond them are left out.
  const nlohmann::json q = numbers(many)["quantiles"]["real"];
  for (size_t t = 0; t < 8; ++t) {
    EXPECT_LE(q["p10"][t].get<double>(), q["p50"][t].get<double>());
    EXPECT_LE(q["p50"][t].get<double>(), q["p90"][t].get<double>());
    EXPECT_NEAR(q["p50"][t].get<double>(), 70, 3);
  }
  EXPECT_EQ(numbers(many)["paths"]["real"].size(), 4u);
  const nlohmann::json half = numbers(few)["quantiles"]["real"];
  EXPECT_EQ(shown(half["p10"]), 0u);
  EXPECT_GT(shown(half["p50"]), 0u);
  EXPECT_LT(shown(half["p50"]), 17u);
  EXPECT_LE(numbers(few)["paths"]["real"].size(), 3u) << "no sequence is in two paths of five";
  EXPECT_EQ(shown(numbers(fewer)["quantiles"]["real"]["p50"]), 0u);
  EXPECT_TRUE(numbers(fewer)["paths"]["real"].empty());
  EXPECT_EQ(shown(shares(fewer)["shares"]["real"]), 0u);
  EXPECT_EQ(shown(shares(fewer)["shares"]["synthetic"]), 17u);
}

}  // namespace

TEST(EvaluateSequences, ScoresEqualWindowsInLongFormatAsEqual) {
  const Table real = series(60, 1);
  for (const Table& synthetic : {long_format(real, 8), real}) {
    const nlohmann::json r = evaluate(real, synthetic, of(windows(8)));
    EXPECT_EQ(r["real"]["sequences"], 53);
    EXPECT_EQ(r["synthetic"]["sequences"], 53);
    for (const char* score : {"mean_difference", "std_difference", "skewness_difference", "kurtosis_difference",
                              "autocorrelation_difference", "cross_correlation_difference", "histogram_distance"})
      EXPECT_NEAR(r["scores"][score].get<double>(), 0, 1e-12) << score;
    EXPECT_NEAR(r["scores"]["mmd2_biased"].get<double>(), 0, 1e-12);
    EXPECT_EQ(r["scores"]["attribute_shapes"], 1.0);
    ASSERT_EQ(r["features"].size(), 2u);
    EXPECT_EQ(r["features"][0]["autocorrelation"]["real"].size(), 7u) << "no lag is as long as a window";
    EXPECT_FALSE(r.contains("judges"));
  }
}

TEST(EvaluateSequences, FeaturesOfMixedColumns) {
  const nlohmann::json r = evaluate(visits(80, 1), visits(70, 2), of(keyed()));
  std::vector<std::string> names;  // a feature for each category, one for two of them
  for (const auto& f : r["features"]) names.push_back(f["name"]);
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, (std::vector<std::string>{"(difference)", "drug = a", "drug = b", "drug missing", "sex = F",
                                             "weight", "weight missing"}));
  EXPECT_EQ(r["attributes"].size(), 3u) << "sex, length, start";
  EXPECT_GT(r["scores"]["attribute_trends"].get<double>(), 0.8);
  EXPECT_LT(evaluate(visits(80, 1), visits(70, 2, false), of(keyed()))["scores"]["attribute_trends"].get<double>(),
            r["scores"]["attribute_trends"].get<double>() - 0.03)
      << "lengths that do not depend on the sex are seen";
}

TEST(EvaluateSequences, JudgesReportTheirSettings) {
  EvaluateSequencesOptions o = of(windows(8));
  o.judges.judges = 2, o.judges.discriminative_steps = 30, o.judges.predictive_steps = 40;
  const Table real = series(80, 1);
  const nlohmann::json r = evaluate(real, long_format(series(80, 2), 8), o), j = r["judges"];
  EXPECT_EQ(j["count"], 2);
  EXPECT_EQ(j["layers"], 1);
  EXPECT_EQ(j["units"], 1);
  EXPECT_EQ(j["discriminative"]["steps"], 30);
  EXPECT_EQ(j["predictive"]["steps"], 40);
  EXPECT_EQ(j["predictive"]["target"], "volume");
  const auto [low, high] = std::minmax_element(real.columns[1].numbers.begin(), real.columns[1].numbers.end());
  EXPECT_EQ(j["predictive"]["range"], *high - *low) << "what an error of 1 is in its units";
  for (const char* which : {"discriminative", "predictive"}) {
    EXPECT_EQ(j[which]["each"].size(), 2u);
    EXPECT_EQ(j[which]["floor"]["each"].size(), 2u);
    EXPECT_NEAR(j[which]["mean"].get<double>(),
                (j[which]["each"][0].get<double>() + j[which]["each"][1].get<double>()) / 2, 1e-12);
  }
}

TEST(EvaluateSequences, DoesNotDependOnThreads) {
  EvaluateSequencesOptions o = of(keyed());
  o.judges.judges = 2, o.judges.discriminative_steps = o.judges.predictive_steps = 10;
  EXPECT_EQ(evaluate(visits(40, 1), visits(30, 2), o, 1), evaluate(visits(40, 1), visits(30, 2), o, 3));
}

TEST(EvaluateSequences, ErrorsNameTheTable) {
  Table lone = visits(30, 2);
  for (int64_t i = 0; i < lone.rows; ++i) lone.columns[0].numbers[static_cast<size_t>(i)] = static_cast<double>(i);
  EXPECT_NE(message([&] {
              evaluate(visits(30, 1), lone, of(keyed()));
            }).find("The synthetic table: Every value of \"patient\" has one row"),
            std::string::npos);
  EXPECT_NE(message([&] {
              evaluate(series(5, 1), series(50, 1), of(windows(8)));
            }).find("The real table: The table has 5 rows"),
            std::string::npos);
  Table other = long_format(series(50, 2), 8);
  other.columns[2].name = "cost";
  EXPECT_NE(message([&] { evaluate(series(50, 1), other, of(windows(8))); }).find("cost"), std::string::npos);
}
