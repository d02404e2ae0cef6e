// Numbers of steps are learned against the base that leaves least, and what always holds between them holds for any
// codes.
#include <nlohmann/json.hpp>

#include "sequence/sequences.h"

namespace tessera {
namespace {
using namespace steps;

// Days of a stock: opens near the last close, closes within the day's range, volumes around a level.
Table days(int rows = 800) {
  std::vector<double> open, high, low, close, adjusted, volume;
  double last = 100;
  for (int i = 0; i < rows; ++i) {
    const auto day = static_cast<uint32_t>(i);
    const auto cents = [](double x) { return std::round(100 * x) / 100; };
    const double o = last * std::exp(0.002 * columns::normal(day, 1)), c = o * std::exp(0.02 * columns::normal(day, 2));
    open.push_back(cents(o)), close.push_back(cents(c)), adjusted.push_back(cents(c));
    high.push_back(cents(std::max(o, c) * (1 + 0.01 * uniform(day, 3))));
    low.push_back(cents(std::min(o, c) * (1 - 0.01 * uniform(day, 4))));
    volume.push_back(std::floor(1e6 * std::exp(0.3 * columns::normal(day, 5))));
    last = c;
  }
  return table({numbers("open", ColumnType::decimal, open, 2), numbers("high", ColumnType::decimal, high, 2),
                numbers("low", ColumnType::decimal, low, 2), numbers("close", ColumnType::decimal, close, 2),
                numbers("adjusted", ColumnType::decimal, adjusted, 2), numbers("volume", ColumnType::integer, volume)});
}

std::string all(const StepCoding& c) {
  std::string out;
  for (const std::string& s : c.describe()) out += s + "; ";
  return out;
}

StepCoding found(const Table& t) {
  return StepCoding::find(t, std::vector<int32_t>(static_cast<size_t>(t.rows), 0), {});
}

TEST(StepCoding, PricesAreRatiosAndPositionsAndVolumesLevels) {
  EXPECT_EQ(all(found(days())),
            "open / close of the step before; high / open; low / open; close between low and high; adjusted - close; ");
}

TEST(StepCoding, WhatWentInComesBack) {
  const Table t = days();
  Team team(2);
  Sequences s = cut(Table(t), windows(200, 200));
  code_steps(s, 1, 3, team);
  EXPECT_EQ(s.steps.columns.size(), 7u) << "the first step has an open of its own";
  Table back = s.steps;
  s.coding.restore(back, s.length);
  for (size_t j = 0; j < t.columns.size(); ++j)
    for (int64_t i = 0; i < t.rows; ++i)
      ASSERT_EQ(back.columns[j].numbers[static_cast<size_t>(i)], t.columns[j].numbers[static_cast<size_t>(i)])
          << t.columns[j].name << " " << i;
}

TEST(StepCoding, OrdersAndEqualityHoldForAnyCodes) {
  Team team(1);
  Sequences s = cut(days(), windows(50, 50));
  code_steps(s, 5, 3, team);
  protect_numbers(s, nullptr, 5, 3, team);
  Table any = s.steps;  // each column's codes of other rows
  for (size_t j = 0; j < any.columns.size(); ++j) {
    const auto shift = static_cast<std::ptrdiff_t>(37 * (j + 1));
    std::rotate(any.columns[j].numbers.begin(), any.columns[j].numbers.begin() + shift, any.columns[j].numbers.end());
  }
  s.coding.restore(any, s.length);
  const auto& [open, high, low, close, adjusted] =
      std::tie(any.columns[0].numbers, any.columns[1].numbers, any.columns[2].numbers, any.columns[3].numbers,
               any.columns[4].numbers);
  for (size_t i = 0; i < open.size(); ++i) {
    EXPECT_LE(low[i], std::min(open[i], close[i]));
    EXPECT_GE(high[i], std::max(open[i], close[i]));
    EXPECT_EQ(adjusted[i], close[i]);
  }
}

TEST(StepCoding, AStepBeforeIsOfTheSameKey) {
  std::vector<double> key, x;
  for (uint32_t k = 0; k < 100; ++k) {
    double at = 1000 * uniform(k, 1);
    for (uint32_t t = 0; t < 6; ++t)
      key.push_back(k), x.push_back(std::round(10 * (at += columns::normal(6 * k + t, 2))) / 10);
  }
  const Table t = table({numbers("key", ColumnType::integer, key), numbers("x", ColumnType::decimal, x, 1)});
  Team team(1);
  Sequences s = cut(Table(t), keyed("key"));
  code_steps(s, 5, 3, team);
  EXPECT_EQ(all(s.coding), "x - x of the step before; ");
  const auto& change = s.steps.columns[0].numbers;
  EXPECT_LT(*std::max_element(change.begin(), change.end()), 10) << "no step leads from one key to the next";
}

// A forecast of a summer warmer than the table goes on where the given values end, but does not leave what they show.
TEST(StepCoding, AGivenValueBeyondTheTableMovesItsEnd) {
  std::vector<double> key, x;
  for (uint32_t k = 0; k < 100; ++k) {
    double at = 1000 * uniform(k, 1);
    for (uint32_t t = 0; t < 6; ++t) key.push_back(k), x.push_back(std::round(at += columns::normal(6 * k + t, 2)));
  }
  Team team(1);
  Sequences s =
      cut(table({numbers("key", ColumnType::integer, key), numbers("x", ColumnType::integer, x)}), keyed("key"));
  code_steps(s, 1, 3, team);
  ASSERT_EQ(all(s.coding), "x - x of the step before; ");
  const double low = s.coding.columns()[0].low, high = s.coding.columns()[0].high;
  for (const double beyond : {20.0, -20.0}) {
    Table drawn = s.steps;
    drawn.rows = 40;
    for (Column& c : drawn.columns) c.numbers.resize(40);
    std::fill(drawn.columns[0].numbers.begin(), drawn.columns[0].numbers.end(), beyond < 0 ? -1 : 1);
    const double given = beyond > 0 ? high + beyond : low + beyond;
    s.coding.restore(drawn, {40}, {}, {std::vector<double>{given}});
    const auto& y = drawn.columns[0].numbers;
    for (size_t t = 0; t < 40; ++t)
      EXPECT_EQ(y[t], given + (beyond < 0 ? -1 : 1) * static_cast<double>(std::min<size_t>(t, 20))) << t;
  }
  Table rising = s.steps;
  rising.rows = 60;
  for (Column& c : rising.columns) c.numbers.assign(60, 1);
  s.coding.restore(rising, {60}, {}, {std::vector<double>{high - 30, high + 2}});
  EXPECT_EQ(rising.columns[0].numbers.back(), high + 34) << "as far again as from the first given value to the last";
  Table alone = s.steps;
  s.coding.restore(alone, s.length);
  for (const double y : alone.columns[0].numbers) EXPECT_TRUE(y >= low && y <= high) << y;
}

// What the table never broke is no law: after given values that break it, drawn ones need not keep it.
TEST(StepCoding, AnOrderThatGivenValuesBreakIsNotKept) {
  std::vector<double> key, lower, upper;
  for (uint32_t k = 0; k < 100; ++k) {
    double a = std::round(1000 * uniform(k, 1)), b = a + 8;
    for (uint32_t t = 0; t < 6; ++t) {
      a += std::round(3 * columns::normal(6 * k + t, 2));
      b = std::max(a, b + std::round(3 * columns::normal(6 * k + t, 3)));
      key.push_back(k), lower.push_back(a), upper.push_back(b);
    }
  }
  Team team(1);
  Sequences s = cut(table({numbers("key", ColumnType::integer, key), numbers("a", ColumnType::integer, lower),
                           numbers("b", ColumnType::integer, upper)}),
                    keyed("key"));
  code_steps(s, 1, 3, team);
  // codes of other rows: b would fall below a in some steps, but for the order
  Table drawn = s.steps;
  std::rotate(drawn.columns[1].numbers.begin(), drawn.columns[1].numbers.begin() + 37, drawn.columns[1].numbers.end());
  for (const double distance : {2.0, -50.0}) {
    Table rows = drawn;
    const std::vector<double> first{500, 500 + distance};
    s.coding.restore(rows, s.length, {}, std::vector<std::span<const double>>(s.length.size(), first));
    const auto &a = rows.columns[0].numbers, &b = rows.columns[1].numbers;
    size_t above = 0, below = 0;
    for (size_t i = 0; i < a.size(); ++i) above += b[i] > a[i], below += b[i] < a[i];
    if (distance > 0) EXPECT_EQ(below, 0u);
    else EXPECT_GT(below, 300u);
    EXPECT_EQ(above > 0, distance > 0);
  }
}

// Keys whose pressure lies around what their year of birth says and comes back to it; a fifth of the glucose is
// missing.
Sequences patients() {
  std::vector<double> key, year, pressure, glucose;
  std::vector<std::string> sex;
  for (uint32_t k = 0; k < 300; ++k) {
    const double born = 1930 + std::floor(70 * uniform(k, 1)), around = 165 - 0.6 * (born - 1930);
    const bool male = uniform(k, 2) < 0.5;
    double p = around + 6 * columns::normal(k, 3), g = (male ? 6 : 5) + 0.5 * columns::normal(k, 4);
    for (uint32_t t = 0; t < 3 + k % 5; ++t) {
      const uint32_t visit = 8 * k + t;
      key.push_back(k), year.push_back(born), sex.push_back(male ? "m" : "f");
      pressure.push_back(std::round(10 * p) / 10);
      glucose.push_back(uniform(visit, 5) < 0.2 ? kMissing : std::round(100 * g) / 100);
      p = around + 0.7 * (p - around) + 3 * columns::normal(visit, 6);
      g += 0.3 * ((male ? 6 : 5) - g) + 0.2 * columns::normal(visit, 7);
    }
  }
  return cut(table({numbers("key", ColumnType::integer, key), numbers("born", ColumnType::integer, year),
                    texts("sex", ColumnType::category, sex), numbers("pressure", ColumnType::decimal, pressure, 1),
                    numbers("glucose", ColumnType::decimal, glucose, 2)}),
             keyed("key", "", {"born", "sex"}));
}

double spread(const Column& c) {
  double n = 0, sum = 0, squares = 0;
  for (const double x : c.numbers)
    if (x == x) ++n, sum += x, squares += x * x;
  return std::sqrt(squares / n - sum / n * (sum / n));
}

TEST(StepCoding, WhatIsLinearIsLeftOutAndComesBack) {
  Team team(2);
  Sequences s = patients();
  const Table before = s.steps;
  code_steps(s, 1, 3, team);
  EXPECT_LT(spread(s.steps.columns[0]), 3.5) << "pressure, given the last one and the year";
  EXPECT_LT(spread(s.steps.columns[2]), 7) << "a first pressure, given the year";
  EXPECT_LT(spread(s.steps.columns[1]), 0.4) << "glucose, where the last one may be missing";
  Table back = s.steps;
  s.coding.restore(back, s.length, s.attributes);
  for (size_t j = 0; j < before.columns.size(); ++j)
    for (size_t i = 0; i < static_cast<size_t>(before.rows); ++i) {
      const double x = before.columns[j].numbers[i], y = back.columns[j].numbers[i];
      ASSERT_EQ(x == x, y == y);
      if (x == x) { ASSERT_EQ(x, y) << before.columns[j].name << " " << i; }
    }
  const nlohmann::json json = s.coding.to_json();
  EXPECT_EQ(StepCoding::from_json(json, s.steps, s.attributes).to_json(), json);
  EXPECT_EQ(thrown([&] { (void)StepCoding::from_json(json, s.steps); }).code, ErrorCode::format) << "no statics";
}

TEST(StepCoding, WhatIsNoSumHasNoTerms) {
  std::vector<double> volume;
  double log = 0;
  for (uint32_t i = 0; i < 800; ++i)
    volume.push_back(std::floor(1e6 * std::exp(log = 0.8 * log + 0.6 * columns::normal(i, 1))));
  const StepCoding c = found(table({numbers("volume", ColumnType::integer, volume)}));
  EXPECT_TRUE(c.columns()[0].next.terms.empty()) << "what is left grows with what is predicted";
}

// A temperature measured every sixth step, with straight lines between, as files write it: with 9 significant digits.
Column interpolated(int rows = 900) {
  std::vector<double> x;
  double from = 0, to = 5;
  for (int i = 0; i < rows; ++i) {
    if (i % 6 == 0) from = to, to += std::round(10 * columns::normal(static_cast<uint32_t>(i), 1)) / 10;
    const double at = from + (to - from) * (i % 6) / 6;
    x.push_back(std::round(1e8 * at) / 1e8);
  }
  return numbers("outside", ColumnType::decimal, x, 8);
}

TEST(StepCoding, LinesStayStraight) {
  Column outside = interpolated();
  outside.format = "%g";  // one of its values was written as 1.1e-16
  const Table t = table({outside});
  Team team(1);
  Sequences s = cut(Table(t), windows(24, 1));
  code_steps(s, 1, 3, team);
  EXPECT_EQ(all(s.coding), "outside - outside of the step before, or on a line; ");
  ASSERT_EQ(s.steps.columns.size(), 3u) << "the move, the first value, the line";
  for (size_t i = 6; i < 60; ++i) EXPECT_EQ(s.steps.columns[2].numbers[i] > 0, i % 6 != 1) << i;

  Table back = s.steps;
  auto& moves = back.columns[0].numbers;
  for (size_t i = 2; i < moves.size(); ++i)
    if (s.steps.columns[2].numbers[i] > 0) moves[i] = 7;  // what a line gives needs no other code
  s.coding.restore(back, {900});
  for (size_t i = 0; i < 900; ++i)
    ASSERT_NEAR(back.columns[0].numbers[i], outside.numbers[i], 1e-5) << i << ", of moves of 8 digits";
  const nlohmann::json json = s.coding.to_json();
  EXPECT_EQ(StepCoding::from_json(json, s.steps).to_json(), json);

  std::vector<double> walk;
  for (uint32_t i = 0; i < 900; ++i) walk.push_back((walk.empty() ? 0 : walk.back()) + columns::normal(i, 1));
  EXPECT_EQ(found(table({numbers("walk", ColumnType::decimal, walk, 8)})).columns()[0].line_at, -1);
}

// Half of the moves are 0, and the others follow the column beside it: as a level less terms no move would be 0.
TEST(StepCoding, MovesOfZeroStay) {
  std::vector<double> x, y;
  double at = 0;
  for (uint32_t i = 0; i < 900; ++i) {
    if (uniform(i, 1) < 0.5) at += 0.2 * columns::normal(i, 2);
    x.push_back(std::round(1e6 * (at + 0.1 * columns::normal(i, 3))) / 1e6), y.push_back(std::round(1e6 * at) / 1e6);
  }
  const StepCoding c = found(table({numbers("x", ColumnType::decimal, x, 6), numbers("y", ColumnType::decimal, y, 6)}));
  EXPECT_EQ(c.columns()[1].next.form, StepCoding::Code::Form::difference);
  EXPECT_EQ(c.columns()[1].next.base, 1);
  EXPECT_TRUE(c.columns()[1].next.terms.empty());
}

// y is nearly x. A difference to it, or terms, would draw first values between those of the grid.
TEST(StepCoding, FirstStepsHoldValuesThatRepeat) {
  const auto first = [](size_t rows, double digits) {
    std::vector<double> x, y;
    double at = 0;
    for (uint32_t i = 0; i < rows; ++i) {
      at = 0.99 * at + columns::normal(i, 1);
      x.push_back(std::round(digits * at) / digits);
      y.push_back(std::round(digits * (at + 0.3 * columns::normal(i, 2))) / digits);
    }
    return found(table({numbers("x", ColumnType::decimal, x, 3), numbers("y", ColumnType::decimal, y, 3)}))
        .columns()[1]
        .first;
  };
  EXPECT_EQ(first(5000, 5), StepCoding::Code{});
  EXPECT_NE(first(5000, 1000), StepCoding::Code{}) << "values that do not repeat";
  EXPECT_NE(first(2000, 5), StepCoding::Code{}) << "too few rows for levels";
}

// The codes that a window's first step needs follow its attributes, for every window; those of keys do not.
TEST(StepCoding, AnyRowMayBeginAWindow) {
  Team team(2);
  Sequences s = cut(days(), windows(24));
  code_steps(s, 5, 3, team);
  Whole w;
  w.encoder = SequenceEncoder::fit(s, 5, 7, team, Monitor{});
  w.codes = w.encoder.encode(std::move(s), team, Monitor{});
  const SequenceEncoder& e = w.encoder;
  EXPECT_TRUE(e.begins_anywhere());
  EXPECT_EQ(e.own_attributes(), 0) << "all windows are alike in length";
  EXPECT_EQ(e.attributes().codes(), 5) << "open, high, low, close and volume";
  EXPECT_EQ(w.codes.attributes.rows, 800 - 23);
  int end = 0;
  for (const Span& span : e.attributes().spans) EXPECT_EQ(span.start, std::exchange(end, end + span.width));
  EXPECT_EQ(e.attribute_width(), end);
  const int64_t width = e.steps().codes();
  for (int64_t i = 0; i < w.codes.size(); ++i) {
    std::vector<int32_t> step(static_cast<size_t>(width), -1);
    e.first_step(w.codes.attributes.codes.data() + i * e.attributes().codes(), step.data());
    for (int64_t k = 0; k < width; ++k)
      EXPECT_EQ(step[static_cast<size_t>(k)], e.parts()[static_cast<size_t>(k)] == StepPart::later
                                                  ? -1
                                                  : w.codes.steps.codes[static_cast<size_t>(i * width + k)]);
  }
  const SequenceEncoder read = SequenceEncoder::from_json(e.to_json());
  EXPECT_EQ(read.attribute_width(), e.attribute_width());
  EXPECT_FALSE(encode(days(), windows(24)).encoder.begins_anywhere()) << "steps without codes";
}

TEST(StepCoding, SurvivesTheFile) {
  Team team(1);
  Sequences s = cut(days(), windows(50, 50));
  code_steps(s, 5, 3, team);
  const nlohmann::json json = s.coding.to_json();
  EXPECT_EQ(StepCoding::from_json(json, s.steps).to_json(), json);
  for (const auto& [where, what] : {std::pair{"/columns/0/next/base", nlohmann::json(6)},
                                    {"/columns/1/next/base", nlohmann::json(3)},
                                    {"/columns/0/first/before", nlohmann::json(true)},
                                    {"/columns/2/next/form", nlohmann::json("root")},
                                    {"/orders/0/0", nlohmann::json(99)},
                                    {"/columns/0/low", nlohmann::json(1e9)}}) {
    nlohmann::json broken = json;
    broken[nlohmann::json::json_pointer(where)] = what;
    EXPECT_EQ(thrown([&] { (void)StepCoding::from_json(broken, s.steps); }).code, ErrorCode::format) << where;
  }
}

}  // namespace
}  // namespace tessera
