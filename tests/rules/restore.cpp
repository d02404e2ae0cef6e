// What a rule takes out of a table comes back, bit for bit; and the rules of a model file.
#include <nlohmann/json.hpp>

#include "rules/orders.h"
#include "tables/rules/kinds/joint.h"

namespace tessera::whole {
namespace {

TEST(RestoreRules, RestoreTheTable) {
  const Table real = orders(1500);
  Table t = real;
  const Rules rules = reduced(t);
  EXPECT_LT(t.columns.size(), real.columns.size());
  expect_restored(rules, t, real);

  // What is filled in for missing cells is overwritten.
  Table filled = t;
  rules.fill(filled, 7);
  for (int64_t i = 0; i < filled.rows; ++i) EXPECT_FALSE(column(filled, "delivered").is_missing(i));
  expect_restored(rules, std::move(filled), real);
  expect_reduces_again(rules, real);
}

TEST(RestoreRules, KeepTypesAndFormats) {
  const Table real = orders(500);
  Table t = real;
  reduced(t).restore(t);
  ASSERT_EQ(t.columns.size(), real.columns.size());
  for (size_t j = 0; j < t.columns.size(); ++j) {
    EXPECT_EQ(t.columns[j].name, real.columns[j].name);
    EXPECT_EQ(name(t.columns[j].type), name(real.columns[j].type)) << real.columns[j].name;
    EXPECT_EQ(t.columns[j].format, real.columns[j].format);
    EXPECT_EQ(t.columns[j].decimals, real.columns[j].decimals);
  }
}

TEST(RestoreRules, CombinationsAreTextsThatSplitAgain) {
  const std::vector<std::vector<std::string>> cells{{"a", "b"}, {"", "|"}, {"\\", "\\N"}, {"a|b\\", ""}, {"N", "ä"}};
  for (const auto& row : cells)
    for (const std::vector<char>& missing : {std::vector<char>{0, 0}, {1, 0}, {0, 1}}) {
      std::vector<std::string> parts;
      std::vector<char> none;
      ASSERT_TRUE(split_cells(join_cells(row, missing), parts, none));
      ASSERT_EQ(parts.size(), 2u);
      EXPECT_EQ(none, missing);
      for (size_t i = 0; i < 2; ++i) EXPECT_EQ(parts[i], missing[i] != 0 ? "" : row[i]);
    }
  std::vector<std::string> parts;
  std::vector<char> none;
  EXPECT_FALSE(split_cells("a\\", parts, none));
}

TEST(RestoreRules, SurviveTheModelFile) {
  Table t = orders(800);
  RuleOptions options;
  options.given = {"items < 98"};
  const Rules rules = reduced(t, options);
  const Rules read = Rules::from_json(rules.to_json());
  EXPECT_EQ(read.to_json(), rules.to_json());
  Table other = t;
  rules.restore(t);
  read.restore(other);
  EXPECT_EQ(lines(t), lines(other));
  Table schema = other;
  EXPECT_NO_THROW(read.check_values(schema));
}

// Every damage of the document is an Error(format), found before a row is drawn.
TEST(RestoreRules, RejectDamagedFiles) {
  Table t = orders(800);
  const Rules rules = reduced(t);
  const nlohmann::json good = rules.to_json();
  const auto refused = [&](const nlohmann::json& json) {
    const Thrown e = thrown([&] { Rules::from_json(json).check_fits(t); });
    EXPECT_EQ(static_cast<int>(e.code), static_cast<int>(ErrorCode::format)) << e.message;
  };
  for (size_t k = 0; k < good["found"].size(); ++k) {
    for (const auto& [key, value] : good["found"][k].items()) {
      if (key == "seen" || key == "gaps") continue;  // models of older versions lack them
      nlohmann::json bad = good;
      bad["found"][k].erase(key);
      refused(bad);
    }
    nlohmann::json bad = good;
    bad["found"][k]["kind"] = "unheard of";
    refused(bad);
    bad = good;
    bad["found"].erase(k);
    if (bad["found"].size() + 1 == good["found"].size() && good["found"][k]["kind"] != "missing" &&
        good["found"][k]["kind"] != "bound" && good["found"][k]["kind"] != "grid")
      refused(bad);
  }
  for (const char* key : {"columns", "found", "checked"}) {
    nlohmann::json bad = good;
    bad[key] = 3;
    refused(bad);
  }
  nlohmann::json bad = good;
  bad["columns"].push_back("no such column");
  refused(bad);
  bad = good;
  bad["columns"].push_back("items");
  refused(bad);
  bad = good;
  bad["checked"].push_back("items >");
  refused(bad);
  bad = good;
  bad["checked"].push_back("nothing > 3");
  refused(bad);
}

}  // namespace
}  // namespace tessera::whole
