// Synthetic rows that break rules of the real table are counted, each rule by itself, whatever else a row breaks.
#include <nlohmann/json.hpp>

#include "models/quality/broken_rules.h"
#include "models/quality/evaluate.h"
#include "rules/orders.h"

namespace tessera::whole {
namespace {

using quality::broken_rules;
using quality::RuleCheck;

nlohmann::json check(const Table& real, const Table& synthetic, const RuleCheck& how = {}) {
  Team team(1);
  return broken_rules(real, synthetic, how, team, Monitor{});
}

Column& mutable_column(Table& t, const std::string& name) {
  return *std::find_if(t.columns.begin(), t.columns.end(), [&](const Column& c) { return c.name == name; });
}

const nlohmann::json& named(const nlohmann::json& rules, const std::string& part) {
  for (const nlohmann::json& rule : rules)
    if (rule["rule"].get<std::string>().find(part) != std::string::npos) return rule;
  throw std::runtime_error("no rule has " + part);
}

int32_t code_of(const Column& c, const std::string& value) {
  return static_cast<int32_t>(std::find(c.values.begin(), c.values.end(), value) - c.values.begin());
}

TEST(BrokenRules, RealRowsBreakNone) {
  const nlohmann::json rules = check(orders(800), orders(1500));
  EXPECT_GE(rules.size(), 7u);
  for (const nlohmann::json& rule : rules) {
    EXPECT_EQ(rule["broken"], 0) << rule;
    EXPECT_FALSE(rule.contains("example")) << rule;
  }
  EXPECT_TRUE(check(random_table(3, 400), random_table(4, 400)).empty());
}

struct Fault {
  const char* rule;    // part of its text
  const char* column;  // that the example shows
  std::function<void(Table&, size_t row)> make;
};

TEST(BrokenRules, FindEachFaultInItsRows) {
  const std::vector<Fault> faults{
      {"total", "total", [](Table& t, size_t i) { mutable_column(t, "total").numbers[i] += 1; }},
      {"price", "price", [](Table& t, size_t i) { mutable_column(t, "price").numbers[i] += 0.5; }},
      {"amount", "rate", [](Table& t, size_t i) { mutable_column(t, "amount").numbers[i] += 5; }},
      {"end >= start", "start",
       [](Table& t, size_t i) { mutable_column(t, "end").numbers[i] = mutable_column(t, "start").numbers[i] - 1; }},
      {"combinations", "city",
       [](Table& t, size_t i) {
         Column& city = mutable_column(t, "city");
         city.codes[i] = code_of(city, city.values[static_cast<size_t>(city.codes[i])] == "Tokyo" ? "Boston" : "Tokyo");
       }},
      {"delivered", "status",
       [](Table& t, size_t i) {
         double& x = mutable_column(t, "delivered").numbers[i];
         x = x == x ? kMissing : 3;
       }},
      {"fee", "fee", [](Table& t, size_t i) { mutable_column(t, "fee").numbers[i] += 7; }}};
  const Table real = orders(800);
  for (const Fault& fault : faults) {
    Table rows = orders(600);
    for (size_t i = 4; i < 600; i += 10) fault.make(rows, i);
    const nlohmann::json rules = check(real, rows);
    const nlohmann::json& rule = named(rules, fault.rule);
    EXPECT_EQ(rule["broken"], 60) << rule;
    EXPECT_DOUBLE_EQ(rule["share"], 0.1);
    EXPECT_EQ(rule["example"]["row"], 5) << "rows count from 1";
    const std::string cells = rule["example"]["cells"].dump();
    EXPECT_NE(cells.find(fault.column), std::string::npos) << cells;
    for (const nlohmann::json& other : rules)
      if (other["rule"] != rule["rule"]) { EXPECT_EQ(other["broken"], 0) << fault.rule << " " << other; }
  }
}

TEST(BrokenRules, CountGivenRulesInBothTables) {
  RuleCheck how;
  how.find = false;
  how.given = {"items <= 90", "status in ('open', 'sent')"};
  const Table real = orders(500), rows = orders(300);
  const nlohmann::json rules = check(real, rows, how);
  ASSERT_EQ(rules.size(), 2u);
  const auto above = [](const Table& t) {
    return share(t, [&](int64_t i) { return column(t, "items").numbers[static_cast<size_t>(i)] > 90; });
  };
  EXPECT_DOUBLE_EQ(rules[0]["share"], above(rows));
  EXPECT_NEAR(rules[0]["real_broken"].get<double>(), 500 * above(real), 1e-6);
  EXPECT_GT(rules[1]["broken"], 0);
  how.given = {"status, rate and fee occur in fixed combinations"};
  EXPECT_GT(check(real, orders(900), how)[0]["broken"], 100);
  EXPECT_EQ(check(real, rows, how)[0]["broken"], 0) << "the first rows of the real table";
  how.given = {"items <= 90 and extras > 4"};
  EXPECT_EQ(check(real, rows, how).size(), 2u);
  how.given = {"nothing > 3"};
  EXPECT_THROW(check(real, rows, how), Error);
}

TEST(BrokenRules, IgnoreColumnsOfAnotherType) {
  const Table real = orders(800);
  Table rows = orders(400);
  const auto texts = [](const char* name, const char* value) {
    return texts_by(name, ColumnType::constant, 400, [=](int64_t) { return value; });
  };
  mutable_column(rows, "total") = texts("total", "7");     // digits: the rule is looked at
  mutable_column(rows, "end") = texts("end", "tomorrow");  // no date
  const nlohmann::json rules = check(real, rows);
  EXPECT_GT(named(rules, "total")["broken"], 390);
  for (const nlohmann::json& rule : rules) EXPECT_EQ(rule["rule"].get<std::string>().find("end"), std::string::npos);
}

TEST(BrokenRules, AppearInAReport) {
  EvaluateOptions options;
  options.pairs = options.new_rows = options.distances = options.c2st = false;
  options.rule = {"extras <= 1000"};
  Team team(2);
  const auto report = [&] { return evaluate(orders(800), orders(300), nullptr, options, team, Monitor{}); };
  EXPECT_GE(report()["rules"].size(), 8u);
  options.rules = false;
  ASSERT_EQ(report()["rules"].size(), 1u);
  options.rule.clear();
  EXPECT_FALSE(report().contains("rules"));
}

}  // namespace
}  // namespace tessera::whole
