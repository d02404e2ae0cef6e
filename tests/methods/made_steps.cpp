// Made on sequences: what a step may see, what sampled sequences keep, bits, files.
#include <map>
#include <set>

#include "models/made/steps.h"
#include "models/model/model_state.h"
#include "models/sampling/given/given_rows.h"
#include "models/tables.h"
#include "tables/formats/calendar.h"

namespace tessera::whole {
namespace {

// A walk with a column that always lies above it.
Table walk(int64_t rows) {
  std::vector<double> x, above;
  double at = 100;
  for (int64_t i = 0; i < rows; ++i) {
    at *= std::exp(0.01 * normal(i, 1));
    x.push_back(std::round(100 * at) / 100), above.push_back(std::round(100 * at * (1 + 0.01 * uniform(i, 2))) / 100);
  }
  return table({numbers("x", ColumnType::decimal, x, 2), numbers("above", ColumnType::decimal, above, 2)});
}

// Given sequences continued by a model.
Table continued(const Model& m, Table given, GivenOptions o, int threads = 1, std::string* notices = nullptr) {
  Team team(threads);
  o.seed = 5;
  Monitor monitor;
  if (notices != nullptr)
    monitor.on_progress = [&](const Progress& p) {
      if (std::string(p.phase) == "notice") *notices += p.note;
    };
  const auto stream = open_given_sequences(m.state().sequences(), std::move(given), o, team, monitor);
  Table all = m.schema(), batch;
  for (Column& c : all.columns) c.values.clear();
  while (stream->next(batch)) {
    for (size_t j = 0; j < all.columns.size(); ++j)
      for (size_t i = 0; i < static_cast<size_t>(batch.rows); ++i) {
        Column& to = all.columns[j];
        const Column& from = batch.columns[j];
        if (is_numeric(to.type)) to.numbers.push_back(from.numbers[i]);
        else
          to.codes.push_back(static_cast<int32_t>(to.values.size())),
              to.values.push_back(cell(from, static_cast<int64_t>(i)));
      }
    all.rows += batch.rows;
  }
  return all;
}

// Sequences of keys, of different lengths, with an attribute that says where they lie.
Table weighings(int64_t keys) {
  std::vector<double> key, weight;
  std::vector<std::string> sex, drug;
  for (int64_t k = 0; k < keys; ++k) {
    const bool male = uniform(k, 1) < 0.5;
    double at = (male ? 85 : 65) + 6 * normal(k, 2);
    const auto length = static_cast<int64_t>(3 + 5 * uniform(k, 3));
    for (int64_t t = 0; t < length; ++t) {
      key.push_back(static_cast<double>(k)), sex.push_back(male ? "m" : "f");
      weight.push_back(std::round(10 * (at += 0.5 * normal(8 * k + t, 4))) / 10);
      drug.push_back(
          std::vector<std::string>{"none", "aspirin", "statin"}[static_cast<size_t>(3 * uniform(8 * k + t, 5))]);
    }
  }
  return table({numbers("key", ColumnType::integer, key), texts("sex", ColumnType::category, sex),
                numbers("weight", ColumnType::decimal, weight, 1), texts("drug", ColumnType::category, drug)});
}

FitOptions made_of_sequences(int epochs, int length, const std::string& key = "") {
  FitOptions o;
  o.method = "made";
  apply_preset(o);
  o.seed = 4;
  set(o, "epochs", std::to_string(epochs));
  set(o, "hidden_dim", "64");
  o.calibrate = Tier::off;
  o.sequences.length = length, o.sequences.key = key;
  if (!key.empty()) o.sequences.statics = {"sex"};
  return o;
}

Table sampled(const Model& m, int64_t offset, int64_t count, int threads = 1, int batch = 0) {
  Team team(threads);
  SampleOptions o;
  o.seed = 9, o.batch = batch;
  const Monitor monitor;  // outlives the stream
  const auto stream = m.sample(offset, count, o, team, monitor);
  return drain(*stream, m.schema());
}

TEST(MadeSteps, WindowsKeepOrdersAndTheirBits) {
  const Model m = fit(walk(600), made_of_sequences(3, 8));
  const Table rows = sampled(m, 0, 40);
  ASSERT_EQ(rows.rows, 40 * 8);
  const Column &x = *rows.find("x"), &above = *rows.find("above");
  for (size_t i = 0; i < x.numbers.size(); ++i) EXPECT_LE(x.numbers[i], above.numbers[i]);
  double step = 0;
  for (size_t i = 1; i < x.numbers.size(); ++i)
    if (i % 8 != 0) step = std::max(step, std::fabs(x.numbers[i] / x.numbers[i - 1] - 1));
  EXPECT_LT(step, 0.05) << "no step is larger than those of the table";
  EXPECT_EQ(lines(rows), lines(sampled(m, 0, 40, 2, 7)));
  EXPECT_EQ(lines(rows), lines(sampled(Model::from_bytes(m.bytes(), "m"), 0, 40)));
}

// The first step of a window is any row of the series: columns far apart in level stay together in it, and given
// cells of it decide those after them.
TEST(MadeSteps, AWindowBeginsAsARow) {
  std::vector<double> x, y;
  for (int64_t i = 0; i < 3000; ++i) {
    const double state = i / 300 % 2 == 0 ? 10 : 30;
    x.push_back(std::round(100 * (state + normal(i, 1))) / 100);
    y.push_back(std::round(100 * (100 - 2 * state + normal(i, 2))) / 100);
  }
  FitOptions o = made_of_sequences(8, 6);
  set(o, "learning_rate", "0.01");
  const Model m = fit(table({numbers("x", ColumnType::decimal, x, 2), numbers("y", ColumnType::decimal, y, 2)}), o);
  const auto split = [](const Table& rows, int64_t every) {  // share of low x; of rows whose y does not belong to x
    double low = 0, mixed = 0, n = 0;
    for (size_t i = 0; i < static_cast<size_t>(rows.rows); i += static_cast<size_t>(every)) {
      const bool below = rows.find("x")->numbers[i] < 20;
      ++n, low += below, mixed += below != (rows.find("y")->numbers[i] > 60);
    }
    return std::pair(low / n, mixed / n);
  };
  const auto [low, mixed] = split(sampled(m, 0, 1000), 6);
  EXPECT_NEAR(low, 0.5, 0.08);
  EXPECT_LT(mixed, 0.05);
  GivenOptions given;
  given.steps = 1, given.copies = 400;
  const auto [own, torn] = split(
      continued(m,
                table({numbers("x", ColumnType::decimal, {30}, 2), numbers("y", ColumnType::decimal, {kMissing}, 2)}),
                given),
      2);
  EXPECT_EQ(own, 0);
  EXPECT_LT(torn, 0.05);
}

// Long windows, and sequences of different lengths, are drawn step by step.
TEST(MadeSteps, StepsAreDrawnOneAfterAnother) {
  const Model m = fit(walk(1500), made_of_sequences(2, 400));
  const Table rows = sampled(m, 0, 3);
  ASSERT_EQ(rows.rows, 3 * 400);
  const Column &x = *rows.find("x"), &above = *rows.find("above");
  for (size_t i = 0; i < x.numbers.size(); ++i) EXPECT_LE(x.numbers[i], above.numbers[i]);
  EXPECT_EQ(lines(rows), lines(sampled(Model::from_bytes(m.bytes(), "m"), 0, 3, 2, 2)));
}

TEST(MadeSteps, KeysKeepAttributesAndWhatPersists) {
  const Table t = weighings(400);
  const Model m = fit(Table(t), made_of_sequences(8, 0, "key"));
  const Table rows = sampled(m, 0, 400, 2);
  EXPECT_EQ(lines(rows), lines(sampled(m, 0, 400, 1, 33)));
  const auto correlation = [](const Table& of) {  // of weights from step to step
    const Column &key = *of.find("key"), &weight = *of.find("weight");
    double n = 0, a = 0, b = 0, aa = 0, bb = 0, ab = 0;
    for (size_t i = 1; i < weight.numbers.size(); ++i) {
      if (key.numbers[i] != key.numbers[i - 1]) continue;
      const double x = weight.numbers[i - 1], y = weight.numbers[i];
      ++n, a += x, b += y, aa += x * x, bb += y * y, ab += x * y;
    }
    return (ab / n - a / n * b / n) / std::sqrt((aa / n - a / n * a / n) * (bb / n - b / n * b / n));
  };
  EXPECT_NEAR(correlation(rows), correlation(t), 0.02);
  const auto mean = [](const Table& of, const std::string& sex) {
    const Column &s = *of.find("sex"), &weight = *of.find("weight");
    double sum = 0, n = 0;
    for (int64_t i = 0; i < of.rows; ++i)
      if (cell(s, i) == sex) sum += weight.numbers[static_cast<size_t>(i)], ++n;
    return sum / n;
  };
  EXPECT_NEAR(mean(rows, "m") - mean(rows, "f"), mean(t, "m") - mean(t, "f"), 6);
}

TEST(MadeSteps, GivenStepsStayAndAreContinued) {
  const Table t = weighings(300);
  const Model m = fit(Table(t), made_of_sequences(2, 0, "key"));
  // two keys of unequal lengths, a text key's order, a missing cell, and a weight beyond all others
  const Table given = table({numbers("key", ColumnType::integer, {7001, 7001, 9, 9, 9}),
                             texts("sex", ColumnType::category, {"f", "f", "m", "m", "m"}),
                             numbers("weight", ColumnType::decimal, {61.5, kMissing, 90.1, 900.5, 90.2}, 1),
                             texts("drug", ColumnType::category, {"statin", "none", "aspirin", "none", ""})});
  GivenOptions o;
  o.steps = 4, o.copies = 3;
  std::string notices;
  const Table rows = continued(m, Table(given), o, 1, &notices);
  ASSERT_EQ(rows.rows, 3 * (2 + 4) + 3 * (3 + 4));
  EXPECT_NE(notices.find("1 given cell is beyond"), std::string::npos) << notices;
  const Column &key = *rows.find("key"), &weight = *rows.find("weight"), &sex = *rows.find("sex");
  for (int64_t copy = 0, row = 0; copy < 6; ++copy) {
    const int64_t first = copy < 3 ? 0 : 2, known = copy < 3 ? 2 : 3;
    for (int64_t step = 0; step < known + 4; ++step, ++row) {
      const int64_t from = first + std::min(step, known - 1);
      EXPECT_EQ(cell(key, row), cell(given.columns[0], from)) << "keys are neither split nor invented";
      EXPECT_EQ(cell(sex, row), cell(given.columns[1], from)) << "what is constant stays";
      for (size_t j = 0; step < known && j < given.columns.size(); ++j)
        if (!given.columns[j].is_missing(from)) {
          EXPECT_EQ(cell(*rows.find(given.columns[j].name), row), cell(given.columns[j], from));
        }
      if (step >= known) {
        const double near = weight.numbers[static_cast<size_t>(row - 1)];
        EXPECT_NEAR(weight.numbers[static_cast<size_t>(row)], near, near > 200 ? 1000 : 8) << "a step from the last";
      }
    }
  }
  o.batch = 2;
  EXPECT_EQ(lines(rows), lines(continued(m, Table(given), o, 2)));
  o.drawn_only = true;
  EXPECT_EQ(continued(m, Table(given), o).rows, 6 * 4);
  o.copies = 1, o.steps = 0, o.drawn_only = false;
  const Table whole = continued(m, Table(given), o);
  EXPECT_GE(whole.rows, 5) << "to lengths that the table has";
  EXPECT_LE(whole.rows, 16);
  o.copies = 40, o.steps = 1;  // a missing cell is drawn, though the other cells of its step are given
  const Table many = continued(m, Table(given), o);
  int64_t above = 0;
  for (size_t i = 1; i < 40 * 3; i += 3) above += column(many, "weight").numbers[i] > 61.5;
  EXPECT_GT(above, 5);
  EXPECT_LT(above, 35);
}

// Balances, meters and rests go on from the last given value, whatever the given steps lack or contradict.
TEST(MadeSteps, SumsOfStepsGoOnFromTheLastGivenValue) {
  std::vector<double> key, amount, balance, meter, rest;
  for (int64_t i = 0; i < 1200; ++i) {
    const bool first = i % 8 == 0;
    key.push_back(static_cast<double>(i / 8)), amount.push_back(std::round(200 * normal(i, 1)) / 100);
    balance.push_back((first ? std::round(1000 * uniform(i, 2)) : balance.back()) + amount.back());
    meter.push_back((first ? std::round(1000 * uniform(i, 3)) : meter.back()) + std::floor(9 * uniform(i, 4)));
    rest.push_back((first ? std::round(1000 * uniform(i, 5)) : rest.back()) - std::floor(7 * uniform(i, 6)));
  }
  const auto of = [](const std::vector<std::vector<double>>& x) {
    return table({numbers("key", ColumnType::integer, x[0]), numbers("amount", ColumnType::decimal, x[1], 2),
                  numbers("balance", ColumnType::decimal, x[2], 2), numbers("meter", ColumnType::integer, x[3]),
                  numbers("rest", ColumnType::integer, x[4])});
  };
  FitOptions f = made_of_sequences(0, 0, "key");
  f.sequences.statics.clear();
  const Model m = fit(of({key, amount, balance, meter, rest}), f);
  ASSERT_EQ(m.state().sequences()->rules.rising().size(), 2u);
  ASSERT_EQ(m.state().sequences()->rules.firsts(), std::vector<std::string>{"balance"});
  GivenOptions o;
  o.steps = 4, o.copies = 2;
  const Table rows = continued(
      m, of({{5, 5, 5}, {-5, kMissing, -5}, {kMissing, 100, 90}, {100, kMissing, 5000}, {kMissing, 7000, kMissing}}),
      o);
  ASSERT_EQ(rows.rows, 2 * 7);
  const auto at = [&](const char* name, size_t i) { return rows.find(name)->numbers[i]; };
  for (size_t copy = 0; copy < 14; copy += 7) {
    EXPECT_NEAR(at("balance", copy) + at("amount", copy + 1), 100, 1e-6) << "also before the first given one";
    EXPECT_EQ(at("balance", copy + 2), 90);
    EXPECT_GE(at("rest", copy), 7000);
    EXPECT_LE(at("rest", copy + 2), 7000);
    for (size_t i = copy + 3; i < copy + 7; ++i) {
      EXPECT_NEAR(at("balance", i), at("balance", i - 1) + at("amount", i), 1e-6) << i;
      EXPECT_NEAR(at("meter", i), at("meter", i - 1) + 4, 4) << i;
      EXPECT_NEAR(at("rest", i), at("rest", i - 1) - 3, 3) << i;
    }
  }
}

// The highest score so far goes on from a given one, and a text that repeats the step before is given as any other.
TEST(MadeSteps, WhatIsCarriedGoesOnFromGivenSteps) {
  const std::vector<std::string> kStates{"new", "open", "closed"};
  std::vector<double> key, score, best;
  std::vector<std::string> state, was;
  for (int64_t i = 0; i < 1200; ++i) {
    const bool first = i % 8 == 0;
    key.push_back(static_cast<double>(i / 8)), score.push_back(std::floor(900 * uniform(i, 1)));
    best.push_back(first ? score.back() : std::max(best.back(), score.back()));
    was.push_back(first ? "none" : state.back()), state.push_back(kStates[static_cast<size_t>(3 * uniform(i, 2))]);
  }
  const auto of = [](const auto& keys, const auto& scores, const auto& bests, const auto& states, const auto& before) {
    return table({numbers("key", ColumnType::integer, keys), numbers("score", ColumnType::integer, scores),
                  numbers("best", ColumnType::integer, bests), texts("state", ColumnType::category, states),
                  texts("was", ColumnType::category, before)});
  };
  FitOptions f = made_of_sequences(0, 0, "key");
  f.sequences.statics.clear();
  const Model m = fit(of(key, score, best, state, was), f);
  EXPECT_EQ(m.state().sequences()->rules.firsts(), (std::vector<std::string>{"best", "was"}));
  GivenOptions o;
  o.steps = 4;
  using Numbers = std::vector<double>;
  using Names = std::vector<std::string>;
  const Table rows = continued(m,
                               of(Numbers{5, 5, 5}, Numbers{10, kMissing, kMissing}, Numbers{10, 880, kMissing},
                                  Names{"new", "open", "closed"}, Names{"none", "new", "open"}),
                               o);
  ASSERT_EQ(rows.rows, 7);
  const auto at = [&](const char* name, size_t i) { return rows.find(name)->numbers[i]; };
  EXPECT_EQ(at("best", 1), 880);
  for (size_t i = 2; i < 7; ++i) {
    EXPECT_EQ(at("best", i), std::max(at("best", i - 1), at("score", i))) << i;
    EXPECT_EQ(cell(*rows.find("was"), static_cast<int64_t>(i)), cell(*rows.find("state"), static_cast<int64_t>(i) - 1))
        << i;
  }
}

// A balance that goes on from a low one does not fall below zero either: its steps are drawn again.
TEST(MadeSteps, ForecastsOfBalancesStayAboveZero) {
  std::vector<double> key, amount, balance;
  for (int64_t i = 0; i < 1200; ++i) {
    key.push_back(static_cast<double>(i / 8)), amount.push_back(std::floor(21 * uniform(i, 1)) - 10);
    balance.push_back((i % 8 == 0 ? 90 + std::floor(90 * uniform(i, 2)) : balance.back()) + amount.back());
  }
  const auto of = [](const std::vector<double>& k, const std::vector<double>& a, const std::vector<double>& b) {
    return table({numbers("key", ColumnType::integer, k), numbers("amount", ColumnType::integer, a),
                  numbers("balance", ColumnType::integer, b)});
  };
  FitOptions f = made_of_sequences(0, 0, "key");
  f.sequences.statics.clear();
  const Model m = fit(of(key, amount, balance), f);
  GivenOptions o;
  o.steps = 3, o.copies = 60;
  const Table given = of({1, 2, 2}, {-1, kMissing, -3}, {3, 5, -4});
  const Table rows = continued(m, Table(given), o);
  ASSERT_EQ(rows.rows, 60 * (4 + 5));
  const Column &x = *rows.find("balance"), &by = *rows.find("amount");
  std::set<double> ends;
  for (size_t i = 0; i < 240; ++i) {
    EXPECT_GE(x.numbers[i], 0) << i;
    if (i % 4 != 0) { EXPECT_EQ(x.numbers[i], x.numbers[i - 1] + by.numbers[i]) << i; }
    if (i % 4 == 3) ends.insert(x.numbers[i]);
  }
  EXPECT_GT(ends.size(), 8u) << "continuations differ";
  const auto below = std::count_if(x.numbers.begin() + 240, x.numbers.end(), [](double b) { return b < 0; });
  EXPECT_GT(below, 60) << "a given balance below zero goes on";
  o.batch = 2;
  EXPECT_EQ(lines(rows), lines(continued(m, Table(given), o, 2)));
}

// Shops that close on Sundays, and at the last step say so: of the steps before alone, neither is known.
Table shops(int64_t keys) {
  constexpr int64_t kFirstDay = 19000;
  std::vector<double> key, day;
  std::vector<std::string> state;
  for (int64_t k = 0; k < keys; ++k) {
    const int64_t begin = kFirstDay + static_cast<int64_t>(60 * uniform(k, 1)),
                  length = 4 + static_cast<int64_t>(12 * uniform(k, 2));
    for (int64_t t = 0; t < length; ++t) {
      key.push_back(static_cast<double>(k)), day.push_back(static_cast<double>(begin + t));
      const bool sunday = weekday_of(begin + t) == 6;
      state.push_back(t + 1 == length ? "sold" : sunday ? "closed" : uniform(20 * k + t, 3) < 0.5 ? "quiet" : "busy");
    }
  }
  return table({numbers("key", ColumnType::integer, key), numbers("day", ColumnType::date, day),
                texts("state", ColumnType::category, state)});
}

TEST(MadeSteps, StepsKnowTheirWeekdayAndTheirEnd) {
  FitOptions f = made_of_sequences(12, 0, "key");
  f.sequences.statics.clear(), f.sequences.index = "day";
  const Model m = fit(shops(400), f);
  const Table rows = sampled(m, 0, 300, 2);
  EXPECT_EQ(lines(rows), lines(sampled(Model::from_bytes(m.bytes(), "m"), 0, 300, 1, 7)));
  const Column &key = *rows.find("key"), &day = *rows.find("day"), &state = *rows.find("state");
  int64_t last = 0, sold_last = 0, sold_before = 0, sundays = 0, closed = 0, closed_else = 0;
  for (int64_t i = 0; i < rows.rows; ++i) {
    const bool ends = i + 1 == rows.rows || key.key(static_cast<size_t>(i)) != key.key(static_cast<size_t>(i) + 1);
    const bool sunday = weekday_of(static_cast<int64_t>(day.numbers[static_cast<size_t>(i)])) == 6;
    const std::string is = cell(state, i);
    last += ends, sold_last += ends && is == "sold", sold_before += !ends && is == "sold";
    sundays += !ends && sunday, closed += !ends && sunday && is == "closed", closed_else += !sunday && is == "closed";
  }
  EXPECT_GE(sold_last, last * 9 / 10);
  EXPECT_LE(sold_before, rows.rows / 100);
  EXPECT_GE(closed, sundays * 9 / 10) << sundays;
  EXPECT_LE(closed_else, rows.rows / 50);

  // and go on from the day that is given
  GivenOptions o;
  o.steps = 7, o.copies = 20;
  const Table given = table({numbers("key", ColumnType::integer, {7001}), numbers("day", ColumnType::date, {19010}),
                             texts("state", ColumnType::category, {"busy"})});
  const Table after = continued(m, Table(given), o);
  ASSERT_EQ(after.rows, 20 * 8);
  for (int64_t i = 0; i < after.rows; ++i)
    if (i % 8 > 0 && i % 8 < 7 &&
        weekday_of(static_cast<int64_t>(after.find("day")->numbers[static_cast<size_t>(i)])) == 6) {
      EXPECT_EQ(cell(*after.find("state"), i), "closed") << i;
    }
}

// Given steps of shops that are sold, and of the same without the last one: what ends a sequence ends it when it is
// given, too.
TEST(MadeSteps, FinishedSequencesAreNotContinued) {
  FitOptions f = made_of_sequences(12, 0, "key");
  f.sequences.statics.clear(), f.sequences.index = "day";
  const Table real = shops(400);
  const Model m = fit(real, f);
  std::vector<int64_t> finished, open;
  for (int64_t i = 0; i < real.rows && finished.size() < 1000; ++i) {
    const bool last = i + 1 == real.rows || real.columns[0].numbers[static_cast<size_t>(i)] !=
                                                real.columns[0].numbers[static_cast<size_t>(i) + 1];
    finished.push_back(i);
    if (!last) open.push_back(i);
  }
  const auto longer = [&](const std::vector<int64_t>& rows) {
    Table given = real;
    for (Column& c : given.columns) c = c.pick(rows);
    given.rows = std::ssize(rows);
    std::map<double, int64_t> more;
    for (const double key : given.columns[0].numbers) --more[key];
    const Table all = continued(m, Table(given), {});
    EXPECT_EQ(lines(all), lines(continued(m, Table(given), {}, 2)));
    for (const double key : all.find("key")->numbers) ++more[key];
    const auto go_on = std::count_if(more.begin(), more.end(), [](const auto& of) { return of.second > 0; });
    return static_cast<double>(go_on) / static_cast<double>(more.size());
  };
  EXPECT_LT(longer(finished), 0.1);
  EXPECT_GT(longer(open), 0.9);
}

// Of fewer keys than protection counts, every length is learned as their mean.
TEST(MadeSteps, FewKeysMayDifferInLength) {
  std::vector<double> key, x;
  for (int64_t k = 0; k < 3; ++k)
    for (int64_t t = 0; t < 20 * (k + 1); ++t)
      key.push_back(static_cast<double>(k)), x.push_back(std::round(100 * normal(80 * k + t, 1)) / 100);
  FitOptions f = made_of_sequences(1, 0, "key");
  f.sequences.statics.clear();
  const Model m = fit(table({numbers("key", ColumnType::integer, key), numbers("x", ColumnType::decimal, x, 2)}), f);
  EXPECT_EQ(sampled(m, 0, 4).rows, 4 * 40);
}

// Many sequences of one length are a row each, of which fewer steps may be wanted.
TEST(MadeSteps, WholeRowsAreContinuedByFewerSteps) {
  std::vector<double> key, x;
  for (int64_t i = 0; i < 4 * 9000; ++i)
    key.push_back(static_cast<double>(i / 4)), x.push_back(std::round(100 * normal(i, 1)) / 100);
  FitOptions f = made_of_sequences(0, 0, "key");
  f.sequences.statics.clear();
  const Model m = fit(table({numbers("key", ColumnType::integer, key), numbers("x", ColumnType::decimal, x, 2)}), f);
  GivenOptions o;
  o.steps = 1, o.copies = 5;
  const Table given =
      table({numbers("key", ColumnType::integer, {7001}), numbers("x", ColumnType::decimal, {0.25}, 2)});
  const Table rows = continued(m, Table(given), o);
  ASSERT_EQ(rows.rows, 5 * 2);
  for (size_t i = 0; i < 10; i += 2) EXPECT_EQ(rows.find("x")->numbers[i], 0.25);
  o.batch = 2;
  EXPECT_EQ(lines(rows), lines(continued(m, Table(given), o, 2)));
  o.steps = 3;
  EXPECT_EQ(continued(m, Table(given), o).rows, 5 * 4);
  o.steps = 4;
  EXPECT_TRUE(thrown([&] { continued(m, Table(given), o); }).says("continues to 4"));
}

TEST(MadeSteps, AHistoryIsContinuedBeyondAWindow) {
  const Model m = fit(walk(1200), made_of_sequences(2, 8));
  Table history = walk(50);
  GivenOptions o;
  o.steps = 30, o.copies = 20;
  const Table rows = continued(m, Table(history), o);
  ASSERT_EQ(rows.rows, 20 * 80);
  const Column &x = *rows.find("x"), &above = *rows.find("above");
  for (size_t i = 0; i < x.numbers.size(); ++i) {
    EXPECT_LE(x.numbers[i], above.numbers[i]);
    if (i % 80 < 50) { EXPECT_EQ(x.numbers[i], history.columns[0].numbers[i % 80]); }
    if (i % 80 > 0) { EXPECT_NEAR(x.numbers[i] / x.numbers[i - 1], 1, 0.06); }
  }
  EXPECT_NE(x.numbers[50], x.numbers[130]) << "continuations differ";
  o.batch = 3;
  EXPECT_EQ(lines(rows), lines(continued(m, Table(history), o, 2)));
  const Model other = fit(walk(60), [] {
    FitOptions f = made_of_sequences(0, 8);
    f.method = "timegan", f.config = {};
    apply_preset(f);
    set(f, "iterations", "0");
    return f;
  }());
  EXPECT_TRUE(thrown([&] { continued(other, Table(history), {}); }).says("method=made"));
}

}  // namespace
}  // namespace tessera::whole
