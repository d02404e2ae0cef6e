// Numbers of sequences that change by other columns from step to step: found, computed in every sampled sequence,
// counted in a report.
#include <nlohmann/json.hpp>

#include "models/quality/evaluate_sequences.h"
#include "rules/orders.h"

namespace tessera::whole {
namespace {

constexpr int64_t kAccounts = 60, kEntries = kAccounts * 6;

// Of rows that belong to sequences of `length` rows, first + the sum of `of` over the rows up to each.
template <class First, class Of>
Column summed(const std::string& name, int64_t length, First first, Of of) {
  std::vector<double> x;
  for (int64_t i = 0; i < kEntries; ++i) x.push_back(cents((i % length == 0 ? first(i) : x.back()) + of(i)));
  Column c = decimals_by(name, kEntries, 2, [&](int64_t i) { return x[static_cast<size_t>(i)]; });
  return c;
}

double amount(int64_t i) { return cents(between(i, 1, -80, 100)); }
double fee(int64_t i) { return cents(between(i, 2, 0, 3)); }
bool is_deposit(int64_t i) { return uniform(i, 3) < 0.6; }
template <uint32_t stream>
double opening(int64_t i) {
  return cents(between(i, stream, 100, 5000));
}

Table with_keys(int64_t length, std::vector<Column> columns) {
  columns.insert(columns.begin(),
                 {texts_by("account", kEntries, [=](int64_t i) { return "A" + std::to_string(i / length); }),
                  whole_by("n", kEntries, [=](int64_t i) { return 1 + i % length; })});
  return table(std::move(columns));
}

// Balances by a signed amount and a fee, by an amount whose sign follows from its kind, what the shop has sold so far,
// and what was there before each row.
Table accounts() {
  return with_keys(6, {decimals_by("amount", kEntries, 2, amount), decimals_by("fee", kEntries, 2, fee),
                       summed("balance", 6, opening<21>, [](int64_t i) { return amount(i) - fee(i); }),
                       texts_by("kind", kEntries, [](int64_t i) { return is_deposit(i) ? "in" : "out"; }),
                       decimals_by("moved", kEntries, 2, [](int64_t i) { return cents(between(i, 5, 1, 90)); }),
                       summed("stock", 6, opening<22>,
                              [](int64_t i) { return (is_deposit(i) ? 1 : -1) * cents(between(i, 5, 1, 90)); }),
                       summed(
                           "so far", 6, [](int64_t) { return 0; }, fee),
                       summed("before", 6, opening<23>, [](int64_t i) { return i % 6 == 0 ? 0 : amount(i - 1); })});
}

RuleOptions of_accounts() {
  RuleOptions o;
  o.steps = true, o.key = "account", o.index = "n", o.excluded = {"account", "n"};
  return o;
}

const std::vector<std::string> kSaid{
    "\"so far\" = \"so far\" of the step before + fee",
    "balance = balance of the step before + amount - fee",
    "before = before of the step before + amount of it",
    "before >= 0",
    "stock = stock of the step before + \"change of stock\", where \"change of stock\" / moved follows from kind",
    "stock >= 0"};

FitOptions quick() {
  FitOptions o;
  o.method = "timegan";
  apply_preset(o);
  for (const char* key : {"embedding_iterations", "supervised_iterations", "joint_iterations"}) set(o, key, "2");
  set(o, "hidden_dim", "8"), set(o, "batch_size", "16");
  return o;
}

// Rows whose rules a report finds broken.
int64_t broken(const Table& synthetic, SequenceOptions sequences) {
  EvaluateSequencesOptions o;
  o.sequences = std::move(sequences), o.judges.judges = 0;
  Team team(1);
  int64_t out = 0;
  Table real = accounts(), rows = synthetic;
  if (o.sequences.key.empty()) real = without(real, "account");
  const auto report = evaluate_sequences(std::move(real), std::move(rows), o, team, Monitor{});
  for (const auto& rule : report["rules"])
    if (rule["kind"] == "running") out += rule["broken"].get<int64_t>() + 1000;
  return out;
}

TEST(Running, SumsOfStepsAreFound) {
  EXPECT_EQ(said(found(accounts(), of_accounts())), kSaid);
  const auto between_steps = [](const std::vector<std::string>& rules) {
    return std::count_if(rules.begin(), rules.end(),
                         [](const std::string& rule) { return rule.find("step before") != std::string::npos; });
  };
  EXPECT_EQ(between_steps(said(found(accounts()))), 0) << "rows of a table have no step before them";
  for (const int64_t keys : {4, 5}) {  // as sums of rows, they may be broken in few
    Table some = accounts();
    for (Column& c : some.columns)
      for (int64_t k = 0; c.name == "balance" && k < keys; ++k) c.numbers[static_cast<size_t>(9 + 6 * k)] += 0.5;
    std::vector<std::string> left = kSaid;
    if (keys > 4) left.erase(left.begin() + 1);
    EXPECT_EQ(said(found(some, of_accounts())), left) << keys;
  }
  RuleOptions more = of_accounts();
  more.least_rows = kAccounts + 1;
  EXPECT_EQ(between_steps(said(found(accounts(), more))), 0) << "first values would tell of single accounts";
}

// Most rows have no amount: they change nothing, whether the amount or a category says its sign. And a level that is
// cut from what has added up.
TEST(Running, EmptyAmountsAreNoneAndSumsHaveBands) {
  const auto paid = [](int64_t i) { return uniform(i, 1) < 0.5 ? kMissing : cents(between(i, 2, 5, 60)); };
  const auto taken = [=](int64_t i) { return paid(i) == paid(i) ? kMissing : cents(between(i, 3, 1, 9)); };
  const auto or_none = [](double x) { return x == x ? x : 0; };
  Table t = with_keys(
      6, {decimals_by("paid", kEntries, 2, paid), decimals_by("taken", kEntries, 2, taken),
          summed("balance", 6, opening<21>, [=](int64_t i) { return or_none(paid(i)) - or_none(taken(i)); }),
          texts_by("kind", kEntries, [](int64_t i) { return is_deposit(i) ? "in" : "out"; }),
          summed("stock", 6, opening<22>, [=](int64_t i) { return (is_deposit(i) ? 1 : -1) * or_none(paid(i)); })});
  const Bulk<double> balance = column(t, "balance").numbers;
  t.columns.push_back(
      texts_by("level", kEntries, [&](int64_t i) { return balance[static_cast<size_t>(i)] < 2500 ? "low" : "high"; }));
  RuleOptions of_sequences = of_accounts();
  of_sequences.by_rejection = false;
  Table learned = t;
  const Rules rules = reduced(learned, of_sequences);
  expect_among(said(rules),
               {"balance = balance of the step before + paid - taken", "level follows from balance, cut at 2500",
                "stock = stock of the step before + \"change of stock\", where \"change of stock\" / paid follows from "
                "kind"});
  expect_restored(Rules::from_json(rules.to_json()), std::move(learned), t);
  for (const size_t row : {5, 6, 7, 8}) {  // a step cannot be drawn again
    Table gap = t;
    gap.columns.back().set_missing(row);
    for (const std::string& rule : said(found(gap, of_sequences))) EXPECT_NE(rule.substr(0, 5), "level") << row;
  }
}

// Minutes from the step before, which the first one does not have, and from the first one, by a time that is the index
// or not; and seconds, which are not a whole number of them and do not begin at 0.
TEST(Running, CountsTheTimeThatHasPassed) {
  const auto when = [](int64_t i) {
    double x = 1.6e9 + 60 * whole_between(i / 6, 31, 0, 1e6);
    for (int64_t k = i - i % 6; k <= i; ++k) x += 60 * whole_between(k, 32, 1, 600);
    return x;
  };
  Column time = whole_by("at", kEntries, when);
  time.type = ColumnType::datetime;
  Table t = with_keys(
      6,
      {time, whole_by("gap", kEntries, [=](int64_t i) { return i % 6 == 0 ? kMissing : (when(i) - when(i - 1)) / 60; }),
       whole_by("seconds", kEntries,
                [=](int64_t i) { return whole_between(i / 6, 33, 0, 9) + when(i) - when(i - i % 6); }),
       whole_by("x", kEntries, [](int64_t i) { return whole_between(i, 4, 0, 50); })});
  for (const char* index : {"at", "n"}) {
    RuleOptions o = of_accounts();
    o.index = index, o.excluded = {"account", index}, o.by_rejection = false;
    Table learned = t;
    const Rules rules = reduced(learned, o);
    expect_among(said(rules),
                 {"gap = at - at of the step before, in minutes", "seconds = at - at of the first step, in seconds"});
    for (Column& c : learned.columns)
      for (int64_t i = 0; (c.name == "gap" || c.name == "seconds") && i < kEntries; ++i)
        c.numbers[static_cast<size_t>(i)] = c.numbers[static_cast<size_t>(i - i % 6)];
    Table real = t;
    if (index == std::string("at")) std::swap(real.columns[1], real.columns[2]);  // the index comes first
    expect_restored(Rules::from_json(rules.to_json()), learned, real);
    Table wrong = t;
    for (Column& c : wrong.columns)
      if (c.name == "gap" || c.name == "seconds") c.numbers[8] += 1;
    for (const std::string& rule : said(found(wrong, o))) EXPECT_EQ(rule.find("at of the"), std::string::npos) << rule;
    Table once = t;
    for (Column& c : once.columns)
      if (c.name == "gap") c.numbers[0] = 7;
    for (const std::string& rule : said(found(once, o))) EXPECT_NE(rule.substr(0, 3), "gap") << "of one first step";
    for (const FoundRule& f : rules.found())
      if (f.rule->kind() == std::string_view("elapsed")) {
        const std::vector<char> broken = f.rule->broken(wrong, learned);
        EXPECT_EQ(std::count(broken.begin(), broken.end(), 1), 1) << f.rule->text();
      }
  }
  FitOptions o = quick();
  o.sequences.key = "account", o.sequences.index = "at";
  const Table rows = sample(fit(t, o), 40);
  const Column &at = column(rows, "at"), &gap = column(rows, "gap"), &seconds = column(rows, "seconds");
  ASSERT_EQ(rows.rows, 240);
  for (size_t i = 0; i < 240; ++i) {
    EXPECT_EQ(seconds.numbers[i], seconds.numbers[i - i % 6] + at.numbers[i] - at.numbers[i - i % 6]) << i;
    if (i % 6 == 0) {
      EXPECT_TRUE(gap.is_missing(static_cast<int64_t>(i)));
    } else {
      EXPECT_EQ(60 * gap.numbers[i], at.numbers[i] - at.numbers[i - 1]) << i;
    }
  }
}

// What the step before was, a text and a number; the highest score so far, which the first step has, and the lowest,
// which began before it; and what adds up of a column that another rule computes.
TEST(Running, CarriesWhatTheStepsBeforeSay) {
  constexpr const char* kStates[] = {"new", "open", "waiting", "closed"};
  const auto state = [&](int64_t i) { return kStates[static_cast<size_t>(whole_between(i, 1, 0, 3))]; };
  const auto score = [](int64_t i) { return whole_between(i, 2, 0, 999); };
  const auto so_far = [&](int64_t i, double begin, bool most) {
    for (int64_t k = i - i % 6; k <= i; ++k) begin = most ? std::max(begin, score(k)) : std::min(begin, score(k));
    return begin;
  };
  const auto coins = [](int64_t i) { return 5 * whole_between(i, 4, 0, 9); };
  Table t = with_keys(
      6, {texts_by("state", kEntries, state),
          texts_by("was", kEntries, [&](int64_t i) { return i % 6 == 0 ? "none" : state(i - 1); }),
          whole_by("score", kEntries, score),
          whole_by("last", kEntries, [&](int64_t i) { return i % 6 == 0 ? kMissing : score(i - 1); }),
          whole_by("best", kEntries, [&](int64_t i) { return so_far(i, -1, true); }),
          whole_by("worst", kEntries, [&](int64_t i) { return so_far(i, whole_between(i / 6, 5, 100, 900), false); }),
          whole_by("stars", kEntries, [&](int64_t i) { return coins(i) / 5; }), whole_by("coins", kEntries, coins),
          summed("purse", 6, opening<24>, coins)});
  Table learned = t;
  RuleOptions o = of_accounts();
  o.by_rejection = false;
  const Rules rules = reduced(learned, o);
  expect_among(said(rules),
               {"was = state of the step before", "last = score of the step before",
                "best = greatest(best of the step before, score)", "worst = least(worst of the step before, score)",
                "purse = purse of the step before + coins"});
  const std::vector<std::string> firsts = rules.firsts();
  for (Column& c : learned.columns)
    for (int64_t i = 0; std::ranges::find(firsts, c.name) != firsts.end() && i < kEntries; ++i)
      if (i % 6 != 0) c.copy_cell(static_cast<size_t>(i - i % 6), static_cast<size_t>(i));
  expect_restored(Rules::from_json(rules.to_json()), learned, t);
  Table wrong = t;
  for (Column& c : wrong.columns) {
    if (c.name == "was") c.copy_cell(8, 9);
    if (c.name == "best" || c.name == "worst" || c.name == "last") c.numbers[9] += 1;
  }
  for (const FoundRule& f : rules.found())
    if (f.rule->kind() == std::string_view("carried")) {
      const std::vector<char> broken = f.rule->broken(wrong, learned);
      EXPECT_GE(std::count(broken.begin(), broken.end(), 1), 1) << f.rule->text();
      EXPECT_EQ(broken[9], 1) << f.rule->text();
    }
  for (const std::string& rule : said(found(wrong, o)))
    EXPECT_EQ(rule.find("of the step before,"), std::string::npos) << rule;
}

// Where a lift goes next, which the last step does not say; a model may leave it out in the middle, too.
TEST(Running, WhatIsNeverMissingStaysWhereTheStepBeforeSaysNothing) {
  const auto floor = [](int64_t i) { return whole_between(i, 1, 0, 20); };
  const auto name = [](int64_t i) { return "F" + std::to_string(static_cast<int>(whole_between(i, 2, 0, 20))); };
  const Table t =
      with_keys(6, {whole_by("floor", kEntries, floor), texts_by("label", kEntries, name),
                    whole_by("next", kEntries, [=](int64_t i) { return i % 6 == 5 ? kMissing : floor(i + 1); }),
                    texts_by("sign", kEntries, [&](int64_t i) { return i % 6 == 5 ? std::string() : name(i + 1); })});
  Table learned = t;
  RuleOptions o = of_accounts();
  o.by_rejection = false;
  const Rules rules = Rules::from_json(reduced(learned, o).to_json());
  expect_among(said(rules), {"floor = next of the step before", "label = sign of the step before"});
  for (Column& c : learned.columns)
    if (c.name == "next" || c.name == "sign") c.set_missing(2);
  Table rows = learned;
  rules.restore(rows);
  EXPECT_EQ(cell(column(rows, "floor"), 3), cell(column(t, "floor"), 2));
  EXPECT_EQ(cell(column(rows, "label"), 3), cell(column(t, "label"), 2));
  EXPECT_EQ(cell(column(rows, "floor"), 4), cell(column(t, "floor"), 4));
}

// Buses that all begin empty, on which as many get off as are there at most.
Table buses() {
  std::vector<double> boarded, left, onboard;
  for (int64_t i = 0; i < kEntries; ++i) {
    const double before = i % 6 == 0 ? 0 : onboard.back();
    boarded.push_back(whole_between(i, 1, 0, 5)), left.push_back(std::min(whole_between(i, 2, 0, 4), before));
    onboard.push_back(before + boarded.back() - left.back());
  }
  const auto whole = [](const char* name, const std::vector<double>& x) {
    return whole_by(name, kEntries, [&](int64_t i) { return x[static_cast<size_t>(i)]; });
  };
  return with_keys(6, {whole("boarded", boarded), whole("left", left), whole("onboard", onboard)});
}

TEST(Running, BalancesThatAllBeginAlikeTakeLessInsteadOfBeginningHigher) {
  RuleOptions o = of_accounts();
  o.by_rejection = false;
  Table learned = buses();
  const Rules rules = Rules::from_json(reduced(learned, o).to_json());
  EXPECT_EQ(said(rules), (Texts{"onboard = onboard of the step before + boarded - left", "onboard >= 0"}));
  expect_restored(rules, learned, buses());
  for (Column& c : learned.columns)
    if (c.name == "left")
      for (size_t i = 0; i < c.numbers.size(); i += 2) c.numbers[i] += 3;
  for (Table rows : {learned, learned}) {
    rules.restore(rows);
    const auto at = [&](const char* name, int64_t i) { return column(rows, name).numbers[static_cast<size_t>(i)]; };
    int64_t empty = 0;
    for (int64_t i = 0; i < kEntries; ++i) {
      const double taken = column(learned, "left").numbers[static_cast<size_t>(i)];
      EXPECT_EQ(at("onboard", i), (i % 6 == 0 ? 0 : at("onboard", i - 1)) + at("boarded", i) - at("left", i)) << i;
      EXPECT_GE(at("onboard", i), 0) << i;
      EXPECT_GE(at("left", i), 0) << i;
      EXPECT_TRUE(at("left", i) == taken || (at("left", i) < taken && at("onboard", i) == 0)) << "no less than needed";
      empty += at("left", i) < taken;
    }
    EXPECT_GT(empty, 20);
  }
  const auto stored = rules.to_json()["found"];
  for (size_t k = 0; k < stored.size(); ++k)
    if (stored[k]["kind"] == "floor") expect_refused(rules.to_json(), k, "first", 3, learned);
}

// Docks that are free: steps of sequences do not learn them beside the others.
TEST(Running, SharesOfAWholeAreFoundInSteps) {
  const auto broken = [](int64_t i) { return whole_between(i, 1, 0, 9); };
  const auto bikes = [=](int64_t i) { return whole_between(i, 2, 0, 40 - broken(i)); };
  Table learned = with_keys(6, {whole_by("bikes", kEntries, bikes), whole_by("broken", kEntries, broken),
                                whole_by("free", kEntries, [=](int64_t i) { return 40 - bikes(i) - broken(i); })});
  const Table t = learned;
  RuleOptions o = of_accounts();
  o.by_rejection = false;
  const Rules rules = Rules::from_json(reduced(learned, o).to_json());
  EXPECT_EQ(said(rules), (Texts{"free = 40 - bikes - broken"}));
  expect_restored(rules, learned, t);
  for (Column& c : learned.columns)
    for (double& x : c.numbers) x += c.name == "bikes" ? 20 : 0;
  rules.restore(learned);
  int64_t lowered = 0;
  for (size_t i = 0; i < kEntries; ++i) {
    const auto at = [&](const char* name) { return column(learned, name).numbers[i]; };
    EXPECT_EQ(at("bikes") + at("broken") + at("free"), 40) << i;
    EXPECT_GE(std::min({at("bikes"), at("broken"), at("free")}), 0) << i;
    lowered += at("free") == 0;
  }
  EXPECT_GT(lowered, 20);
}

TEST(Running, RoundTripsRows) {
  Table t = accounts();
  const Rules rules = reduced(t, of_accounts());
  EXPECT_EQ(rules.firsts(), (std::vector<std::string>{"balance", "stock", "so far", "before"}));
  for (size_t i = 0; i < t.columns.size(); ++i)
    if (t.columns[i].name == "so far") { EXPECT_EQ(t.columns[i].numbers[0], 0) << "a sum begins with nothing"; }
  // a model has only what was before the first step
  for (Column& c : t.columns)
    if (c.name == "balance" || c.name == "stock" || c.name == "so far" || c.name == "before")
      for (size_t i = 0; i < c.numbers.size(); ++i) c.numbers[i] = c.numbers[i - i % 6];
  expect_restored(Rules::from_json(rules.to_json()), std::move(t), accounts());
}

TEST(Running, SampledSequencesKeepThem) {
  FitOptions o = quick();
  o.sequences.key = "account", o.sequences.index = "n";
  const Model m = fit(accounts(), o);
  EXPECT_EQ(m.describe()["rules"].size(), kSaid.size());
  const Table rows = sample(m, 40);
  ASSERT_EQ(rows.rows, 240);
  EXPECT_EQ(broken(rows, o.sequences), 4000);
  EXPECT_EQ(column(rows, "balance").decimals, 2);
  EXPECT_EQ(column(rows, "so far").numbers[0], column(rows, "fee").numbers[0]);
  EXPECT_EQ(lines(sample(Model::from_bytes(m.bytes(), "accounts.tessera"), 40)), lines(rows));
  Table wrong = rows;
  for (Column& c : wrong.columns)
    if (c.name == "balance") c.numbers[3] += 7;
  EXPECT_EQ(broken(wrong, o.sequences), 4002) << "a step and the next";
}

// One series: each window begins where the series was.
TEST(Running, WindowsKeepThem) {
  Table series = without(without(accounts(), "account"), "n");
  for (const char* name : {"stock", "so far", "before"}) series = without(series, name);
  for (Column& c : series.columns)
    if (c.name == "balance") c = summed("balance", kEntries, opening<21>, [](int64_t i) { return amount(i) - fee(i); });
  FitOptions o = quick();
  o.sequences.length = 8;
  const Model m = fit(series, o);
  EXPECT_EQ(m.describe()["rules"].size(), 2u) << "and balance >= 0";
  const Table rows = sample(m, 30);
  ASSERT_EQ(rows.rows, 240);
  EXPECT_EQ(rows.columns[0].name, "sequence");
  EXPECT_EQ(rows.columns[1].name, "step");
  EvaluateSequencesOptions e;
  e.sequences = o.sequences, e.judges.judges = 0;
  Team team(1);
  const auto report = evaluate_sequences(std::move(series), Table(rows), e, team, Monitor{});
  ASSERT_EQ(report["rules"].size(), 2u);
  for (const auto& rule : report["rules"]) EXPECT_EQ(rule["broken"], 0) << rule;
}

// The balance after a row is the balance before it plus the amount, within the row and from row to row.
TEST(Running, AgreesWithRulesOfARow) {
  Table t = without(without(without(accounts(), "balance"), "stock"), "so far");
  const std::vector<double> before(column(t, "before").numbers.begin(), column(t, "before").numbers.end());
  t.columns.push_back(
      decimals_by("after", kEntries, 2, [&](int64_t i) { return cents(before[static_cast<size_t>(i)] + amount(i)); }));
  EXPECT_EQ(said(found(t, of_accounts())),
            (std::vector<std::string>{"after = amount + before", "after >= 0",
                                      "before = before of the step before + amount of it", "before >= 0"}));
  RuleOptions of_sequences = of_accounts();
  of_sequences.by_rejection = false;
  EXPECT_EQ(said(found(t, of_sequences)),
            (std::vector<std::string>{"after = amount + before", "before = before of the step before + amount of it",
                                      "before >= 0"}));
  Table learned = t;
  const Rules rules = reduced(learned, of_accounts());
  expect_restored(rules, std::move(learned), t);
}

// A stock that is often empty, but never less, and what was there before each step.
Table stocks() {
  std::vector<double> opening, received, issued, stock;
  for (int64_t i = 0; i < kEntries; ++i) {
    opening.push_back(i % 6 == 0 ? whole_between(i, 1, 0, 40) : stock.back());
    received.push_back(whole_between(i, 2, 0, 12));
    issued.push_back(std::min(whole_between(i, 3, 0, 20), opening.back() + received.back()));
    stock.push_back(opening.back() + received.back() - issued.back());
  }
  const auto whole = [](const char* name, const std::vector<double>& x) {
    return whole_by(name, kEntries, [&](int64_t i) { return x[static_cast<size_t>(i)]; });
  };
  return with_keys(
      6, {whole("opening", opening), whole("received", received), whole("issued", issued), whole("stock", stock)});
}

// Of two balances with the same changes one is computed from the other, within the row; and none falls below zero
// where it did not in the table.
TEST(Running, TwoBalancesAgreeAndStayAboveZero) {
  RuleOptions of_sequences = of_accounts();
  of_sequences.by_rejection = false;
  const std::vector<std::string> rules{"opening = stock - received + issued",
                                       "stock = stock of the step before + received - issued", "stock >= 0"};
  EXPECT_EQ(said(found(stocks(), of_sequences)), rules);
  Table learned = stocks();
  const Rules kept = reduced(learned, of_sequences);
  expect_restored(Rules::from_json(kept.to_json()), std::move(learned), stocks());

  FitOptions o = quick();
  o.sequences.key = "account", o.sequences.index = "n";
  const Model m = fit(stocks(), o);
  const Table rows = sample(m, 200);
  ASSERT_EQ(rows.rows, 1200);
  const auto at = [&](const char* name, size_t i) { return column(rows, name).numbers[i]; };
  double least = INFINITY;
  for (size_t i = 0; i < 1200; ++i) {
    EXPECT_EQ(at("stock", i), at("opening", i) + at("received", i) - at("issued", i)) << i;
    if (i % 6 != 0) { EXPECT_EQ(at("opening", i), at("stock", i - 1)) << i; }
    EXPECT_GE(at("opening", i), 0) << i;
    least = std::min(least, at("stock", i));
  }
  EXPECT_EQ(least, 0) << "sequences that would fall further begin higher";
}

// Given ones of stocks that begin differently are drawn again; at last they take less.
TEST(Running, GivenBalancesTakeLessAtLast) {
  RuleOptions o = of_accounts();
  o.by_rejection = false;
  Table learned = stocks();
  const Rules rules = reduced(learned, o);
  for (Column& c : learned.columns)
    if (c.name == "issued") c.numbers[4] = 90, c.numbers[10] = 90;
  Table known;
  known.rows = kEntries;
  known.columns.push_back(column(stocks(), "stock"));
  for (size_t i = 0; i < kEntries; ++i)
    if (i % 6 > 2) known.columns[0].numbers[i] = kMissing;
  known.columns[0].numbers[8] = -1;
  for (const bool last : {false, true}) {
    Table rows = learned;
    rules.restore(rows, &known, last);
    EXPECT_EQ(column(rows, "stock").numbers[2], known.columns[0].numbers[2]);
    EXPECT_EQ(column(rows, "stock").numbers[4] < 0, !last);
    EXPECT_LT(column(rows, "stock").numbers[10], 0) << "a given one is below zero";
    EXPECT_EQ(column(rows, "stock").numbers[4], column(rows, "stock").numbers[3] + column(rows, "received").numbers[4] -
                                                    column(rows, "issued").numbers[4]);
  }
}

TEST(Running, GivenRulesOfBalancesAreAccepted) {
  RuleOptions o = of_accounts();
  o.by_rejection = false;
  const auto with = [&](const std::string& rule) {
    o.given = {rule}, o.find = true;
    return said(found(stocks(), o));
  };
  EXPECT_EQ(with("stock >= 0").size(), 3u);
  const std::vector<std::string> given = with("stock = opening + received - issued");
  EXPECT_EQ(given, (std::vector<std::string>{"opening = opening of the step before + received - issued of it",
                                             "opening >= 0", "stock = opening + received - issued"}));
  for (const char* rule : {"received >= 0", "stock >= 5"})
    EXPECT_TRUE(thrown([&] { with(rule); }).says("nor is it >= 0 of a balance")) << rule;
  o.given = {"stock = opening + received - issued", "stock = opening - issued + received"};
  EXPECT_TRUE(thrown([&] { found(stocks(), o); }).says("compute its column already"));
  const auto post = [](int64_t i) { return whole_between(i, 1, 50, 90); };
  const auto drawn = [](int64_t i) { return whole_between(i, 2, 0, 4); };
  o.given = {"pre >= dry"};
  const Thrown computed = thrown([&] {
    found(with_keys(6, {whole_by("post", kEntries, post), whole_by("drawn", kEntries, drawn),
                        whole_by("pre", kEntries, [=](int64_t i) { return post(i) + drawn(i); }),
                        whole_by("dry", kEntries, [=](int64_t i) { return post(i) - whole_between(i, 3, 0, 9); })}),
          o);
  });
  EXPECT_TRUE(computed.says("column \"pre\" is computed by another rule, pre = post + drawn")) << computed.message;
  o.given = {"account and n are unique together"};
  EXPECT_TRUE(thrown([&] { found(stocks(), o); }).says("not in sequences"));
}

TEST(Running, IsNotFoundInRandomTables) {
  for (uint32_t seed = 0; seed < 12; ++seed) {
    RuleOptions o;
    o.steps = true;
    EXPECT_EQ(said(found(random_table(seed, 600), o)), std::vector<std::string>{}) << seed;
  }
}

}  // namespace
}  // namespace tessera::whole
