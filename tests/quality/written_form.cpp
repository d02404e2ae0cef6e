// What a person sees: written form, near-rules, rows of a part of the table, unseen rows, and the verdict in words.
#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "models/quality/evaluate.h"
#include "models/report/measures.h"
#include "quality/tables.h"
#include "support/thrown.h"
#include "tables/formats/calendar.h"

namespace {

using namespace quality_test;

Json short_report(const Table& real, const Table& synthetic, tessera::EvaluateOptions options = {},
                  const Table* holdout = nullptr) {
  options.distances = options.new_rows = options.utility = false;
  return evaluated(real, synthetic, holdout, options);
}

tessera::EvaluateOptions only_forms() {
  tessera::EvaluateOptions options;
  options.c2st = options.pairs = false;
  return options;
}

const Json* form(const Json& report, const std::string& name, const std::string& column = "x") {
  for (const Json& f : report["written_form"]["forms"])
    if (f["form"] == name && f["column"] == column) return &f;
  return nullptr;
}

double gap(const Json& report, const std::string& name) {
  const Json* f = form(report, name);
  return f == nullptr ? -1 : (*f)["gap"].get<double>();
}

double rule_gap(const Json& report, const std::string& rule) {
  for (const Json& r : report["written_form"]["rules"])
    if (r["rule"] == rule) return r["gap"];
  return -1;
}

Table prices(int64_t rows, uint32_t seed, int decimals_of_most) {
  std::mt19937 gen(seed);
  return table({decimals_by("x", rows, 0, [&](int64_t i) {
    const double scale = std::pow(10, i % 100 == 0 ? 4 : decimals_of_most);
    return std::nearbyint(std::uniform_real_distribution<>(1, 100)(gen) * scale) / scale;
  })});
}

TEST(WrittenForm, DetectsUnusualDecimals) {
  const Table real = prices(1000, 1, 2);
  const Json far = short_report(real, prices(1000, 2, 4), only_forms());
  EXPECT_GT(gap(far, "digits"), 0.5);
  EXPECT_EQ((*form(far, "digits"))["level"], "4 decimals");
  EXPECT_LT(gap(short_report(real, prices(1000, 2, 2), only_forms()), "digits"), 0.02);
}

// Shares are those of the rows that the words are true of: a multiple of 1000 is one of 100 too.
TEST(WrittenForm, SharesAreOfAllRowsThatTheWordsAreTrueOf) {
  const auto rounded_to = [](double step, uint32_t seed) {
    std::mt19937 gen(seed);
    return table({decimals_by("x", 1000, 0, [&](int64_t) {
      return step * std::ceil(std::uniform_real_distribution<>(0, 1e6)(gen) / step);
    })});
  };
  const Json report = short_report(rounded_to(1000, 1), rounded_to(100, 2), only_forms());
  const Json* digits = form(report, "digits");
  ASSERT_NE(digits, nullptr);
  EXPECT_EQ((*digits)["level"], "multiples of 1000");
  EXPECT_EQ((*digits)["real"], 1);
  EXPECT_NEAR((*digits)["synthetic"].get<double>(), 0.1, 0.05);
  const auto days = [](bool starts) {
    return table({dates_by("x", 1200, [=](int64_t i) {
      const int month = static_cast<int>(i / 4 % 24), off = starts || i % 2 == 0 ? 0 : i % 4 == 1 ? -1 : 14;
      return static_cast<double>(tessera::days_from_civil(2023 + month / 12, month % 12 + 1, 1) + off);
    })});
  };
  const Json months = short_report(days(true), days(false), only_forms());
  const Json* day = form(months, "day");
  ASSERT_NE(day, nullptr);
  EXPECT_EQ((*day)["level"], "on the first of a month");
  EXPECT_EQ((*day)["real"], 1) << "1 January too";
}

TEST(WrittenForm, DetectsLostMidnightsAndDays) {
  std::mt19937 gen(1);
  const auto times = [&](bool midnight) {
    return table({times_by("x", 800, [&](int64_t i) {
      const auto day =
          static_cast<double>(i % 20 != 0 ? days(static_cast<int>(2000 + i % 20), 12, 31) : 12000 + i % 900);
      return 86400 * day + (midnight && i % 10 != 0 ? 0 : static_cast<double>(gen() % 86400));
    })});
  };
  const Table real = times(true);
  const Json far = short_report(real, times(false), only_forms());
  EXPECT_EQ((*form(far, "time"))["level"], "at midnight");
  EXPECT_GT(gap(far, "time"), 0.7);
  EXPECT_LT(gap(far, "day"), 0.02);
  EXPECT_LT(gap(short_report(real, times(true), only_forms()), "time"), 0.02);
}

TEST(WrittenForm, IsTheSameInSamplesOfOneTable) {
  for (uint32_t seed = 0; seed < 6; ++seed) {
    const Json report = short_report(random_table(600, 2 * seed), random_table(500, 2 * seed + 1), only_forms());
    for (const char* list : {"forms", "rules"})
      for (const Json& entry : report["written_form"][list]) EXPECT_LT(entry["gap"].get<double>(), 0.05) << entry;
  }
}

TEST(WrittenForm, DetectsLostRepeatsAndOrder) {
  std::vector<std::string> repeated, single;
  for (int i = 0; i < 600; ++i)
    repeated.push_back("C-" + std::to_string(100 + i % 200)), single.push_back("C-" + std::to_string(10000 + i));
  const Table real = table(
                  {texts("x", ColumnType::identifier, repeated), whole_by("n", 600, [](int64_t i) { return i / 2; })}),
              made = table({texts("x", ColumnType::identifier, single),
                            whole_by("n", 600, [](int64_t i) { return i * 77 % 300; })});
  const Json report = short_report(real, made, only_forms());
  EXPECT_GT(gap(report, "repeats"), 0.8);
  EXPECT_GT(gap(report, "length"), 0.8);
  ASSERT_NE(form(report, "order", "n"), nullptr);
  EXPECT_LT((*form(report, "order", "n"))["synthetic"].get<double>(), 0.9);
}

TEST(WrittenForm, DetectsNearCertainRelations) {
  const auto rows = [](int64_t broken_every) {
    std::mt19937 gen(3);
    std::vector<double> from, to, reason;
    std::vector<std::string> status;
    for (int64_t i = 0; i < 1000; ++i) {
      const bool odd = i % broken_every == 0;
      from.push_back(static_cast<double>(gen() % 1000)),
          to.push_back(from.back() + (odd ? -5 : static_cast<double>(gen() % 300)));
      status.push_back(gen() % 2 != 0 ? "serving" : "left");
      reason.push_back((status.back() == "serving") != odd ? tessera::kMissing : static_cast<double>(gen() % 9));
    }
    return table({numbers("start", ColumnType::integer, from), numbers("end", ColumnType::integer, to),
                  texts("status", ColumnType::category, status), numbers("reason", ColumnType::integer, reason)});
  };
  const Table real = rows(40);
  const Json far = short_report(real, rows(4), only_forms());
  EXPECT_GT(std::max(rule_gap(far, "start <= \"end\""), rule_gap(far, "start <= end")), 0.1);
  EXPECT_GT(rule_gap(far, "reason is null where status = 'serving'"), 0.1);
  const Json near = short_report(real, rows(40), only_forms());
  EXPECT_EQ(rule_gap(near, "reason is null where status = 'serving'"), 0);
  // A relation that chance explains is none.
  EXPECT_EQ(rule_gap(far, "start <= reason"), -1);

  const Json verdict = tessera::report::verdict_of(short_report(real, rows(4)));
  EXPECT_NE(verdict["text"].get<std::string>().find("relation of the real table is lost"), std::string::npos)
      << verdict;
}

TEST(WrittenForm, InvalidDatesBreakARule) {
  const auto dates = [](bool exist) {
    return table({whole_by("x", 400, [&](int64_t i) {
      return static_cast<double>(20200000 + 100 * (1 + i % 12) + (exist ? 1 + i % 28 : 1 + i % 60));
    })});
  };
  const Json report = short_report(dates(true), dates(false), only_forms());
  ASSERT_FALSE(report["rules"].empty());
  EXPECT_EQ(report["rules"].back()["kind"], "calendar");
  EXPECT_GT(report["rules"].back()["share"].get<double>(), 0.3);
  EXPECT_EQ(short_report(dates(true), dates(true), only_forms())["rules"].back()["broken"], 0);
}

// Ages and a level that follows from neither.
Table people(int64_t rows, uint32_t seed) {
  std::mt19937 gen(seed);
  std::vector<std::string> level;
  std::vector<double> age, pay;
  for (int64_t i = 0; i < rows; ++i) {
    level.push_back(std::vector<std::string>{"a", "b", "it's"}[gen() % 3]);
    age.push_back(static_cast<double>(18 + gen() % 60));
    pay.push_back(static_cast<double>(gen() % 5000) + (level.back() == "a" ? 5000 : 0));
  }
  return table({texts("level", ColumnType::category, level), numbers("age", ColumnType::integer, age),
                numbers("pay", ColumnType::integer, pay)});
}

TEST(RowsOfAPart, AreDescribedByTheirCondition) {
  const Table real = people(2000, 1);
  tessera::EvaluateOptions part = only_forms();
  part.where = "level = 'it''s' and age >= 40";
  // The rows that meet it, as a sample: the table of another seed, filtered.
  Table sample = people(4000, 2);
  std::vector<size_t> keep;
  for (size_t i = 0; i < 4000; ++i)
    if (sample.columns[0].values[static_cast<size_t>(sample.columns[0].codes[i])] == "it's" &&
        sample.columns[1].numbers[i] >= 40)
      keep.push_back(i);
  for (Column& c : sample.columns) {
    Column rows = c;
    rows.numbers.clear(), rows.codes.clear();
    for (const size_t i : keep)
      if (tessera::is_numeric(c.type)) rows.numbers.push_back(c.numbers[i]);
      else rows.codes.push_back(c.codes[i]);
    c = rows;
  }
  sample.rows = static_cast<int64_t>(keep.size());

  const Json whole = short_report(real, sample);
  ASSERT_TRUE(whole.contains("narrowed")) << whole["scores"];
  EXPECT_EQ(whole["narrowed"]["where"], part.where);
  const Json verdict = tessera::report::verdict_of(whole);
  EXPECT_EQ(verdict["mark"], "plain");
  EXPECT_NE(verdict["reasons"][0]["text"].get<std::string>().find(whole["narrowed"]["where"].get<std::string>()),
            std::string::npos);

  part.c2st = true;
  const Json judged = short_report(real, sample, part);
  EXPECT_FALSE(judged.contains("narrowed"));
  EXPECT_EQ(judged["rows"]["real"], whole["narrowed"]["rows"]);
  EXPECT_EQ(judged["where"]["of"]["real"], 2000);
  EXPECT_LT(judged["c2st"]["trees"]["auc"].get<double>(), 0.65);
  EXPECT_GT(whole["c2st"]["trees"]["auc"].get<double>(), 0.85);
}

TEST(RowsOfAPart, AreNotDetectedInSamplesOfTheTable) {
  for (uint32_t seed = 0; seed < 6; ++seed) {
    EXPECT_FALSE(short_report(people(500, seed), people(400, seed + 50), only_forms()).contains("narrowed"));
    EXPECT_FALSE(
        short_report(random_table(400, seed), random_table(300, seed + 50), only_forms()).contains("narrowed"));
  }
}

TEST(RowsOfAPart, NeedRowsThatMeetTheCondition) {
  tessera::EvaluateOptions part = only_forms();
  part.where = "age > 500";
  tessera::test::expect_error(tessera::ErrorCode::condition, {},
                              [&] { short_report(people(100, 1), people(100, 2), part); });
}

TEST(UnseenRows, AreTheReferenceOfDetection) {
  const Table real = people(600, 1), few = people(100, 2), many = people(400, 3);
  tessera::EvaluateOptions options;
  options.pairs = options.rules = false;
  const Json copied = short_report(real, real, options, &many), seen = short_report(real, real, options, &few);
  EXPECT_EQ(copied["c2st"]["against"], "holdout");
  EXPECT_EQ(copied["c2st"]["rows"], 400);
  EXPECT_TRUE(copied["c2st"]["trees"].contains("training_auc"));
  EXPECT_EQ(seen["c2st"]["against"], "real");
  EXPECT_FALSE(seen["c2st"]["trees"].contains("training_auc"));
}

TEST(Verdicts, HaveTheirFiguresAndNoHtml) {
  const Table holdout = random_table(400, 3);
  tessera::Team team(2);
  const Json report = tessera::evaluate(random_table(600, 1), random_table(500, 2), &holdout, {}, team, {});
  const Json verdict = tessera::report::verdict_of(report), figures = tessera::report::figures_of(report);
  EXPECT_EQ(verdict.dump().find('<'), std::string::npos) << verdict;
  EXPECT_EQ(verdict.dump().find("&#"), std::string::npos) << verdict;
  std::vector<std::string> keys;
  for (const Json& f : figures) keys.push_back(f["key"]);
  for (const char* key : {"c2st_auc", "column_shapes", "pair_trends", "quality", "exact_copies", "utility_auc"})
    EXPECT_NE(std::find(keys.begin(), keys.end(), key), keys.end()) << key;
  for (const Json& f : figures)
    if (f["key"] == "pair_trends") { EXPECT_EQ(f["value"], report["scores"]["pair_trends_real_edges"]); }
}

}  // namespace
