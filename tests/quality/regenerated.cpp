// Columns that fit regenerates on purpose are no fault of the synthetic rows: they are set apart. What was learned is
// judged, however badly it went.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "models/quality/evaluate.h"
#include "tables.h"

using namespace tessera::columns;
using nlohmann::json;
using tessera::ColumnType;
using tessera::Table;

namespace {

constexpr int kRows = 200;

// A column of names beside two that say something. `name`: of row i.
template <class Name>
Table people(Name name, ColumnType type = ColumnType::category) {
  std::vector<std::string> names, cities;
  std::vector<double> ages;
  for (int i = 0; i < kRows; ++i) {
    names.push_back(name(i));
    cities.push_back(i % 3 == 0 ? "Ghent" : "Bruges");
    ages.push_back(20 + i % 50);
  }
  return table({texts("name", type, names), texts("city", ColumnType::category, cities),
                numbers("age", ColumnType::integer, ages)});
}

json report(const Table& real, const Table& synthetic, const std::string& target = "") {
  quality_test::Bench b;
  tessera::EvaluateOptions options;
  options.target = target;
  return tessera::evaluate(real, synthetic, target.empty() ? nullptr : &real, options, b.team, b.monitor);
}
bool judged(const json& report) {
  for (const json& c : report["columns"])
    if (c["name"] == "name") return true;
  return false;
}

std::string real_name(int i) { return "Name " + std::to_string(i / 2); }  // of two rows each

TEST(Regenerated, ExcludesColumnsOfRareRealAndNewSyntheticTexts) {
  const Table real = people(real_name);
  for (const ColumnType type : {ColumnType::category, ColumnType::identifier}) {
    const json r = report(real, people([](int i) { return "Xyzt " + std::to_string(1000 + i); }, type));
    EXPECT_FALSE(judged(r));
    ASSERT_EQ(r["excluded"].size(), 1u);
    EXPECT_EQ(r["excluded"][0]["name"], "name");
    EXPECT_EQ(r["excluded"][0]["real_texts"], 0);
    EXPECT_EQ(r["scores"]["quality"], 1) << "nothing else differs";
  }
  // Some by chance: they are counted.
  const json chance =
      report(real, people([](int i) { return i % 10 == 0 ? real_name(i) : "Xyzt " + std::to_string(i); }));
  EXPECT_FALSE(judged(chance));
  EXPECT_DOUBLE_EQ(chance["excluded"][0]["real_texts"].get<double>(), 0.1);
}

TEST(Regenerated, ComparesLearnedColumns) {
  const auto novel = people([](int i) { return "Xyzt " + std::to_string(i); });
  EXPECT_TRUE(judged(report(people(real_name), people([](int i) { return real_name(i * 7 % kRows); }))))
      << "real texts came back: --rare-categories keep";
  EXPECT_TRUE(judged(report(people([](int i) { return "Name " + std::to_string(i % 40); }), novel)))
      << "five rows a text are enough to be learned";
  EXPECT_TRUE(judged(report(people([](int i) { return i % 2 == 0 ? "Smith" : real_name(i); }), novel)))
      << "half of the rows hold a common text";
}

TEST(Regenerated, RejectsARegeneratedTarget) {
  try {
    (void)report(people(real_name), people([](int i) { return "Xyzt " + std::to_string(i); }), "name");
    FAIL();
  } catch (const tessera::Error& e) {
    EXPECT_NE(std::string(e.what()).find("target \"name\" is an identifier"), std::string::npos) << e.what();
  }
}

// Every score is in [0, 1], even if nothing agrees: rounding must not print -0.0 %.
TEST(Regenerated, NoScoreIsNegative) {
  for (int n : {3, 7, 11, 49}) {
    const Table real = people([n](int i) { return "r" + std::to_string(i % n); }),
                other = people([n](int i) { return "s" + std::to_string(i * i % n); });
    const json r = report(real, other);
    for (const json& pair : r["pairs"])
      for (const char* score : {"score", "score_real_edges"})
        EXPECT_TRUE(pair[score].is_null() || (pair[score] >= 0.0 && pair[score] <= 1.0)) << pair;
    for (const json& column : r["columns"]) EXPECT_TRUE(column["shape"]["score"] >= 0.0) << column;
  }
}

}  // namespace
