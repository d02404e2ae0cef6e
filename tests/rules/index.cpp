// Orders with the index of sequences, which stays as it is: other columns are counted from it, in both directions.
#include <nlohmann/json.hpp>

#include "models/quality/evaluate_sequences.h"
#include "rules/orders.h"
#include "tables/rules/rule/functions.h"

namespace tessera::whole {
namespace {

constexpr int64_t kPatients = 120, kVisits = 6;
// Visits of patients: the next one is planned 1 to 60 days later, of the last visit it is missing; the illness began in
// the month before. `filed` never falls, and is never before the visit.
Table visits() {
  constexpr int64_t kRows = kPatients * kVisits;
  const auto date = [](int64_t i) {
    double at = 18000 + std::floor(uniform(i / kVisits, 1) * 900);
    for (int64_t k = i - i % kVisits + 1; k <= i; ++k) at += 20 + std::floor(uniform(k, 2) * 40);
    return at;
  };
  const auto wait = [](int64_t i) { return 1 + std::floor(uniform(i, 3) * 60); };
  const auto is_last = [](int64_t i) { return i % kVisits == kVisits - 1; };
  return table(
      {texts_by("patient", kRows, [](int64_t i) { return "patient " + std::to_string(i / kVisits); }),
       dates_by("date", kRows, date),
       dates_by("next visit", kRows, [&](int64_t i) { return is_last(i) ? kMissing : date(i) + wait(i); }),
       dates_by("onset", kRows, [&](int64_t i) { return date(i) - std::floor(uniform(i, 4) * 30); }),
       dates_by("filed", kRows, [&](int64_t i) { return date(i) + std::floor(uniform(i, 5) * 15); }),
       decimals_by("weight", kRows, 1, [](int64_t i) { return 60 + std::nearbyint(uniform(i, 6) * 300) / 10; })});
}

RuleOptions of_visits(const Texts& given = {}, bool find = true) {
  RuleOptions o;
  o.steps = true, o.by_rejection = false, o.orders = false;
  o.key = "patient", o.index = "date", o.excluded = {"patient", "date"};
  o.given = given, o.find = find;
  return o;
}

Rules rules_of(Table& t, const RuleOptions& o) {
  Team team(1);
  return Rules::find(t, o, team, Monitor{});
}

const Texts kFound{"\"next visit\" >= date", "filed >= date", "filed never falls within a patient", "onset <= date"};

TEST(Index, OrdersWithItAreFoundAndReduceAndRestore) {
  Table t = visits();
  const Rules rules = rules_of(t, of_visits());
  EXPECT_EQ(said(rules), kFound);
  EXPECT_TRUE(rules.rising().empty()) << "a distance to the index is learned, not one to the step before";
  EXPECT_EQ(lines(table({column(t, "date")})), lines(table({column(visits(), "date")})));
  Table part = visits();  // a visit without an onset breaks no order
  part.columns[3].numbers[2] = kMissing;
  EXPECT_EQ(said(rules_of(part, of_visits({"onset <= date"}, false))), Texts{"onset <= date"});
  Table month = visits();  // of the index, which tells a step its season, is learned
  const Column date = column(month, "date");
  month.columns.push_back(whole_by("month", month.rows, [&](int64_t i) {
    return time_function("month")->value(date, date.numbers[static_cast<size_t>(i)], 1);
  }));
  EXPECT_EQ(said(rules_of(month, of_visits())), kFound);
  for (const char* name : {"next visit", "onset", "filed"})
    for (const double x : column(t, name).numbers) EXPECT_TRUE(x != x || (x >= 0 && x <= 60)) << name << x;
  expect_restored(Rules::from_json(rules.to_json()), t, visits());
  expect_reduces_again(rules, visits());
  const auto stored = rules.to_json();
  for (size_t k = 0; k < stored["found"].size(); ++k)
    if (stored["found"][k].contains("down")) expect_refused(stored, k, "high", 19000.0, t);

  Table one = visits();
  for (Column& c : one.columns)
    if (c.name == "onset") c.numbers[7] = column(visits(), "date").numbers[7] + 1;
  const Texts others = said(rules_of(one, of_visits()));
  EXPECT_EQ(std::count(others.begin(), others.end(), kFound[3]), 0) << "one row breaks it";
  RuleOptions rows = of_visits();
  rows.key = rows.index = "", rows.steps = false;
  Table flat = visits();
  EXPECT_EQ(said(rules_of(flat, rows)), Texts{}) << "rows have no index, and orders are off";
}

// What is drawn may be anything: the order holds after restore() all the same.
TEST(Index, DrawnDistancesKeepTheOrder) {
  for (const bool strict : {false, true}) {
    Table t = visits();
    const Rules rules =
        rules_of(t, of_visits(strict ? Texts{"\"next visit\" > date", "date >= onset"} : Texts{}, !strict));
    EXPECT_EQ(said(rules), strict ? (Texts{"\"next visit\" > date", "onset <= date"}) : kFound);
    for (Column& c : t.columns)
      if (c.name == "next visit" || c.name == "onset" || (!strict && c.name == "filed"))
        for (size_t i = 0; i < c.numbers.size(); ++i)
          if (c.numbers[i] == c.numbers[i]) c.numbers[i] = static_cast<double>(i % 7) - 3;
    rules.restore(t);
    const auto &date = column(t, "date").numbers, &next = column(t, "next visit").numbers,
               &onset = column(t, "onset").numbers, &filed = column(t, "filed").numbers;
    int64_t equal = 0;
    for (size_t i = 0; i < date.size(); ++i) {
      EXPECT_TRUE(next[i] != next[i] || (strict ? next[i] > date[i] : next[i] >= date[i])) << i;
      EXPECT_LE(onset[i], date[i]);
      EXPECT_GE(filed[i], date[i]);
      if (i % kVisits > 0) { EXPECT_GE(filed[i], filed[i - 1]); }
      equal += next[i] == date[i];
    }
    EXPECT_EQ(equal > 0, !strict);
  }
}

TEST(Index, GivenRulesMayCountFromItButNotGiveIt) {
  Table more = visits();
  Column due = column(more, "date");
  due.name = "due";
  for (double& x : due.numbers) x += 14;
  more.columns.push_back(due);
  Table t = more;
  const Rules rules = rules_of(t, of_visits({"due = date + 14"}, false));
  EXPECT_EQ(said(rules), Texts{"due = date + 14"});
  EXPECT_EQ(t.find("due"), nullptr);
  expect_restored(rules, t, more);
  const auto give = [&](const std::string& rule) {
    return thrown([&] {
      Table again = more;
      (void)rules_of(again, of_visits({rule}, false));
    });
  };
  EXPECT_TRUE(give("onset < date").says("cannot be drawn again"));
  for (const char* rule : {"date = onset", "date = due - 14"})
    EXPECT_TRUE(give(rule).says("cannot be drawn again")) << rule;
  EXPECT_TRUE(give("patient = 'patient 1'").says("\"patient\" is the key"));
}

TEST(Index, SampledSequencesKeepTheOrder) {
  FitOptions o;
  o.method = "made";
  apply_preset(o);
  set(o, "epochs", "2");
  o.sequences.key = "patient", o.sequences.index = "date";
  const Model m = fit(visits(), o);
  EXPECT_EQ(m.describe()["rules"].size(), kFound.size());
  const Table rows = sample(m, 200);
  EXPECT_EQ(lines(sample(Model::from_bytes(m.bytes(), "visits.tessera"), 200)), lines(rows));
  EvaluateSequencesOptions e;
  e.sequences.key = "patient", e.sequences.index = "date", e.judges.judges = 0;
  Team team(1);
  const auto broken = [&](const Table& synthetic) {
    int64_t out = 0;
    Table own = synthetic;
    const auto report = evaluate_sequences(visits(), std::move(own), e, team, Monitor{});
    for (const auto& rule : report["rules"]) out += rule["broken"].get<int64_t>();
    return out;
  };
  EXPECT_EQ(broken(rows), 0);
  Table wrong = rows;
  for (Column& c : wrong.columns)
    if (c.name == "onset") c.numbers[3] += 100;
  EXPECT_EQ(broken(wrong), 1);
  o.rules.find = false;
  EXPECT_GT(broken(sample(fit(visits(), o), 200)), 10) << "without rules they are broken";
}

}  // namespace
}  // namespace tessera::whole
