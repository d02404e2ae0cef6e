// Numbers that often repeat an earlier column: found, restored to the digit, and sampled as often.
#include <nlohmann/json.hpp>

#include "rules/orders.h"
#include "tables/rules/rule/columns.h"

namespace tessera::whole {
namespace {

constexpr double kPaid = 0.2;  // of the bills, to the cent

double bill(int64_t i) { return std::floor(-9000 * std::log(1 - uniform(i, 1))) / 100; }
bool pays_all(int64_t i) { return uniform(i, 2) < kPaid; }
double payment(int64_t i) {
  return pays_all(i) ? bill(i) : uniform(i, 3) < 0.3 ? 0 : std::floor(bill(i) * uniform(i, 4) * 100) / 100;
}

Table payments(int64_t rows) {
  return table({decimals_by("bill", rows, 2, bill),
                texts_by("kind", rows, [](int64_t i) { return i % 3 == 0 ? "card" : "bank"; }),
                decimals_by("paid", rows, 2, payment),
                // more than the bill at times, so that no order is a rule
                decimals_by("booked", rows, 2, [](int64_t i) {
                  return uniform(i, 5) < 0.6 ? payment(i) : std::floor(uniform(i, 6) * 3e4) / 100;
                })});
}

double repeats(const Table& t, const char* name, const char* of) {
  const Column &c = column(t, name), &other = column(t, of);
  return share(t, [&](int64_t i) {
    const double x = c.numbers[static_cast<size_t>(i)];
    return x > 0 && x == other.numbers[static_cast<size_t>(i)];
  });
}

TEST(RepeatRules, AreFoundBesideOthers) {
  Table t = payments(2000);
  for (size_t i = 0; i < t.columns[2].numbers.size(); i += 40) t.columns[2].numbers[i] += 700;  // no order
  const std::vector<std::string> rules = said(found(std::move(t)));
  ASSERT_EQ(rules.size(), 2u) << nlohmann::json(rules).dump();
  EXPECT_EQ(rules[0].substr(0, 15), "booked = paid i");
  EXPECT_EQ(rules[1].substr(0, 12), "paid = bill ");
}

// Distances of 0 are repeats already; an order that is kept by rejection has none.
TEST(RepeatRules, YieldToDistances) {
  const auto repeats = [](const RuleOptions& options) {
    const std::vector<std::string> rules = said(found(payments(2000), options));
    EXPECT_TRUE(std::find(rules.begin(), rules.end(), "bill >= paid") != rules.end()) << nlohmann::json(rules).dump();
    return std::count_if(rules.begin(), rules.end(), [](const std::string& r) { return r.starts_with("paid = bill"); });
  };
  EXPECT_EQ(repeats({}), 1);
  RuleOptions options;
  options.given = {"bill >= paid"};
  EXPECT_EQ(repeats(options), 0);
}

TEST(RepeatRules, CloseColumnsDoNotRepeatEachOther) {
  const auto whole = [](int64_t i) { return std::floor(uniform(i, 1) * 2000); };
  const auto close = [&](int64_t i) { return whole(i) + std::floor(uniform(i, 2) * 9) - 4; };
  EXPECT_EQ(said(found(table({whole_by("first", 3000, whole), whole_by("second", 3000, close)}))),
            std::vector<std::string>{});
  // numbers that many rows hold are equal by chance
  const auto rounded = [](uint32_t stream) {
    return [=](int64_t i) { return 500 * std::floor(uniform(i, stream) * 20); };
  };
  const std::vector<std::string> rules =
      said(found(table({whole_by("first", 3000, rounded(1)), whole_by("second", 3000, rounded(2))})));
  for (const std::string& rule : rules) EXPECT_EQ(rule.find(" = "), std::string::npos) << rule;
}

TEST(RepeatRules, StandBesideMissingCells) {
  Table real = payments(2000);
  for (size_t i = 0; i < 2000; ++i) {
    if (i % 9 == 0) real.columns[2].numbers[i] = kMissing;
    if (i % 7 == 0) real.columns[0].numbers[i] = kMissing;
    if (i % 40 == 0) real.columns[2].numbers[i] += 700;  // no order
  }
  Table t = real;
  const Rules rules = reduced(t);
  const std::vector<std::string> all = said(rules);
  ASSERT_EQ(all.size(), 2u) << nlohmann::json(all).dump();
  EXPECT_EQ(all[1].substr(0, 12), "paid = bill ");
  rules.restore(t);
  for (const char* name : {"bill", "paid", "booked"})
    for (int64_t i = 0; i < t.rows; ++i)
      ASSERT_EQ(column(t, name).is_missing(i), column(real, name).is_missing(i)) << name << " in row " << i;
}

// The choice and the cell may contradict each other in a sampled row: the number stays, and so does the share of gaps.
TEST(RepeatRules, TakeNoCellAway) {
  Table t = payments(2000);
  for (size_t i = 0; i < 2000; ++i) {
    if (i % 7 == 0) t.columns[0].numbers[i] = kMissing;
    if (i % 40 == 0) t.columns[2].numbers[i] += 700;  // no order
  }
  const Rules rules = reduced(t);
  rules.fill(t, 1);
  EXPECT_TRUE(is_complete(column(t, "paid")));
  Column& choice = t.columns[static_cast<size_t>(place_of(t, "source of paid"))];
  for (int32_t& code : choice.codes) code = 1 - code;
  rules.restore(t);
  EXPECT_TRUE(is_complete(column(t, "paid")));
}

// Three parts of a whole, each rounded to three digits; in a twentieth of the rows there is nothing to share.
TEST(RepeatRules, SayASumOfMostRows) {
  const auto part = [](int64_t i, int k) {
    double part[3], all = 0;
    for (uint32_t j = 0; j < 3; ++j) all += part[j] = -std::log(1 - uniform(i, 1 + j));
    return std::nearbyint(1000 * part[k] / all) / 1000;
  };
  for (const bool all : {true, false}) {
    const auto of = [&](int k) { return [=](int64_t i) { return all || uniform(i, 9) < .95 ? part(i, k) : 0; }; };
    Table real = table({decimals_by("wages", 3000, 3, of(0)), decimals_by("rent", 3000, 3, of(1)),
                        decimals_by("other", 3000, 3, of(2))}),
          t = real;
    const Rules rules = reduced(t);
    const std::vector<std::string> texts = said(rules);
    const char* sum = "other = 1 - wages - rent";
    EXPECT_TRUE(std::any_of(texts.begin(), texts.end(), [&](const std::string& r) {
      return all ? r == sum : r.starts_with(sum);
    })) << nlohmann::json(texts).dump();
    rules.restore(t);
    for (int64_t i = 0; i < t.rows; ++i)
      ASSERT_NEAR(column(t, "other").numbers[static_cast<size_t>(i)], real.columns[2].numbers[static_cast<size_t>(i)],
                  .0021)
          << i;
  }
}

class RepeatedPayments : public testing::Test {
 protected:
  RepeatedPayments() : real(payments(3000)) {
    for (size_t i = 0; i < real.columns[2].numbers.size(); i += 40) real.columns[2].numbers[i] += 700;
  }
  Table real;
};

TEST_F(RepeatedPayments, RoundTripToTheDigit) {
  Table t = real;
  const Rules rules = reduced(t);
  EXPECT_GT(share(t, [&](int64_t i) { return column(t, "paid").is_missing(i); }), kPaid - 0.05);
  // but for copies beyond the mean of the five outermost ones
  EXPECT_EQ(rules.shown("kind"), std::vector<std::string>{"kind"});
  EXPECT_EQ(rules.shown("bill"), std::vector<std::string>{"bill"});
  rules.restore(t);
  int64_t changed = 0;
  for (int64_t i = 0; i < t.rows; ++i)
    for (const char* name : {"paid", "booked"})
      changed += column(t, name).numbers[static_cast<size_t>(i)] != column(real, name).numbers[static_cast<size_t>(i)];
  EXPECT_LE(changed, 2 * 2 * 5);
}

TEST_F(RepeatedPayments, AreSampledAsOften) {
  for (FitOptions options : {quick_made(8), quick_tvae(8)}) {
    const Table rows = sample(fit(real, options), 4000);
    EXPECT_NEAR(repeats(rows, "paid", "bill"), repeats(real, "paid", "bill"), 0.06) << options.method;
    EXPECT_EQ(share(rows, [&](int64_t i) { return column(rows, "paid").is_missing(i); }), 0);
    options.rules.find = false;
    EXPECT_LT(repeats(sample(fit(real, options), 4000), "paid", "bill"), 0.02) << options.method;
  }
}

TEST_F(RepeatedPayments, MeetConditionsAndGivenBits) {
  const Model m = fit(real, quick_made(4));
  const Table rows = sample(m, 300, where("paid > 100 and booked = paid"));
  EXPECT_EQ(share(rows,
                  [&](int64_t i) {
                    const auto at = static_cast<size_t>(i);
                    const double paid = column(rows, "paid").numbers[at];
                    return paid > 100 && column(rows, "booked").numbers[at] == paid;
                  }),
            1);
  const Model read = Model::from_bytes(m.bytes(), "payments.tessera");
  EXPECT_EQ(lines(sample(m, 300)), lines(sample(read, 300)));
  const nlohmann::json described = read.describe()["rules"];
  ASSERT_EQ(described.size(), 2u);
  for (const nlohmann::json& rule : described) EXPECT_EQ(rule["kept"], "in its share");
}

TEST_F(RepeatedPayments, RejectDamagedFiles) {
  Table t = real;
  const Rules rules = reduced(t);
  const nlohmann::json good = rules.to_json();
  const auto refused = [&](const std::string& key, const nlohmann::json& value) {
    expect_refused(good, 0, key, value, t);
  };
  ASSERT_EQ(good["found"][0]["kind"], "repeat");
  for (const auto& [key, value] : good["found"][0].items()) refused(key, nullptr);
  refused("share", 2);
  refused("low", 1e300);
  refused("is", good["found"][0]["column"]);
  refused("is", "kind");  // texts
  refused("column", "nothing");
}

}  // namespace
}  // namespace tessera::whole
