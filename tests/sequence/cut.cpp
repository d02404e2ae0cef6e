// How a table becomes sequences: every row in its place, every window used; and what cannot be cut says where and what
// to do.
#include <nlohmann/json.hpp>
#include <numeric>

#include "sequence/sequences.h"
#include "tables/sequence/likely_key.h"

namespace tessera {
namespace {
using namespace steps;

Table count(int rows) {
  std::vector<double> v(static_cast<size_t>(rows));
  std::iota(v.begin(), v.end(), 0);
  return table({numbers("x", ColumnType::integer, v)});
}

TEST(Cut, EveryWindowIsUsedAndNoRowIsStoredTwice) {
  for (int rows : {5, 24, 25, 100})
    for (int length : {2, 3, 4}) {
      const Sequences s = cut(count(rows), windows(length));
      ASSERT_EQ(s.size(), rows - length + 1);
      EXPECT_EQ(s.steps.rows, rows);
      EXPECT_EQ(s.longest, length);
      for (size_t i = 0; i < s.first.size(); ++i) EXPECT_EQ(s.first[i], static_cast<int32_t>(i));
      EXPECT_EQ(s.steps.columns[0].numbers, count(rows).columns[0].numbers) << "time runs as in the file";
    }
}

TEST(Cut, WindowsStepByTheStrideAndTheLastEndsWithTheLastRow) {
  for (int rows : {10, 11, 12, 13})
    for (int stride : {1, 2, 3, 7, 100}) {
      const Sequences s = cut(count(rows), windows(4, stride));
      EXPECT_EQ(s.first.front(), 0);
      EXPECT_EQ(s.first.back() + 4, rows);
      for (size_t i = 1; i < s.first.size(); ++i) {
        EXPECT_GT(s.first[i], s.first[i - 1]);
        if (i + 1 < s.first.size()) { EXPECT_EQ(s.first[i], static_cast<int32_t>(i) * stride); }
      }
    }
}

// Rows of three keys in any order of the file.
Table mixed() {
  return table({numbers("t", ColumnType::integer, {3, 1, 10, 2, 7, 11, 5, 1, 9}),
                texts("who", ColumnType::category, {"b", "a", "b", "a", "c", "b", "a", "b", "c"}),
                numbers("x", ColumnType::decimal, {31, 11, 32, 12, 71, 33, 13, 30, 72}, 1),
                texts("sex", ColumnType::category, {"F", "M", "F", "M", "", "F", "M", "F", ""})});
}

TEST(Cut, KeysGatherTheirRowsAndTheIndexOrdersThem) {
  const Sequences s = cut(mixed(), keyed("who", "t", {"sex"}));
  EXPECT_EQ(cells(s.keys), (std::vector<std::string>{"\"b\"", "\"a\"", "\"c\""})) << "by first appearance";
  EXPECT_EQ(s.length, (std::vector<int32_t>{4, 3, 2}));
  EXPECT_EQ(s.longest, 4);
  EXPECT_EQ(s.steps.columns[0].numbers, (std::vector<double>{30, 31, 32, 33, 11, 12, 13, 71, 72}));
  EXPECT_EQ(s.steps.columns[1].numbers, (std::vector<double>{2, 2, 7, 1, 1, 1, 3, 2, 2}))
      << "differences; the first of a key repeats the second";
  EXPECT_EQ(cells(s.attributes.columns[0]), (std::vector<std::string>{"\"F\"", "\"M\"", "nothing"}));
  EXPECT_EQ(s.attributes.columns[1].numbers, (std::vector<double>{4, 3, 2})) << "lengths";
  EXPECT_EQ(s.attributes.columns[2].numbers, (std::vector<double>{1, 1, 7})) << "starts";
}

TEST(Cut, StaticColumnsAreThoseWithOneValueInEveryKeyAndNotInTheTable) {
  const auto found = [](const Table& t, const SequenceOptions& o) { return static_columns(t, o); };
  EXPECT_EQ(found(mixed(), keyed("who", "t")), (std::vector<std::string>{"sex"}));
  EXPECT_EQ(found(mixed(), windows(3)), (std::vector<std::string>{})) << "without a key a table is one sequence";
  Table t = mixed();
  t.columns.push_back(numbers("born", ColumnType::integer, {60, kMissing, 60, kMissing, 71, 60, kMissing, 60, 71}));
  t.columns.push_back(numbers("seven", ColumnType::integer, std::vector<double>(9, 7)));
  const std::vector<std::string> mail{"x@a", "y@b", "x@a", "y@b", "z@c", "x@a", "y@b", "x@a", "z@c"};
  t.columns.push_back(texts("mail", ColumnType::identifier, mail));
  EXPECT_EQ(found(t, keyed("who", "t")), (std::vector<std::string>{"sex", "born"}))
      << "seven is one in the table, and addresses are made up";
  t.columns.pop_back();
  t.columns[4].numbers[8] = kMissing;
  EXPECT_EQ(found(t, keyed("who", "t")), (std::vector<std::string>{"sex"})) << "missing in one row of c";
  EXPECT_EQ(found(table({t.columns[1], t.columns[3]}), keyed("who")), (std::vector<std::string>{}))
      << "something has to vary";
}

TEST(Cut, ALikelyKeyHasManyValuesWithinWhichColumnsDoNotVary) {
  constexpr int64_t kPeople = 40, kVisits = 4;
  std::vector<std::string> who, sex, shop;
  std::vector<double> born, weight;
  for (int64_t i = 0; i < kPeople * kVisits; ++i) {
    const int64_t person = i % kPeople;
    who.push_back("P" + std::to_string(person)), sex.push_back(person % 3 == 0 ? "F" : "M");
    born.push_back(static_cast<double>(1950 + person)), weight.push_back(static_cast<double>(60 + i % 17));
    shop.push_back(i % 2 == 0 ? "north" : "south");
  }
  Table t = table({texts("who", ColumnType::category, who), texts("sex", ColumnType::category, sex),
                   numbers("born", ColumnType::integer, born), numbers("weight", ColumnType::integer, weight),
                   texts("shop", ColumnType::category, shop)});
  EXPECT_EQ(likely_key(t).column, "who");
  EXPECT_EQ(likely_key(t).values, kPeople);
  EXPECT_EQ(likely_key(t).statics, (std::vector<std::string>{"sex", "born", "shop"}));
  t.columns[0].type = ColumnType::identifier;
  EXPECT_EQ(likely_key(t).column, "who") << "also where it would be regenerated";
  t.columns[1].codes[0] = 1 - t.columns[1].codes[0], t.columns[2].numbers[1] = 7;
  EXPECT_EQ(likely_key(t).column, "") << "one column that does not vary is a property, not a person";
  EXPECT_EQ(likely_key(mixed()).column, "") << "few values";
}

TEST(Cut, KeysMayBeCutIntoWindowsAndShorterOnesStayWhole) {
  SequenceOptions o = keyed("who", "t");
  o.length = 3;
  const Sequences s = cut(mixed(), o);
  EXPECT_EQ(s.length, (std::vector<int32_t>{3, 3, 3, 2}));
  EXPECT_EQ(s.first, (std::vector<int32_t>{0, 1, 4, 7}));
  EXPECT_EQ(s.attributes.columns.back().numbers, (std::vector<double>{1, 3, 1, 7}))
      << "every window has a start of its own";
}

TEST(Cut, KeysOfOneRowAreSequencesOfOneStep) {
  const Table t = table({texts("who", ColumnType::category, {"a", "b", "a", "c", "c", "c"}),
                         numbers("t", ColumnType::integer, {1, 7, 3, 2, 5, 9}),
                         numbers("x", ColumnType::decimal, {10, 20, 11, 30, 31, 32})});
  SequenceOptions o = keyed("who", "t");
  o.rising = {"x"};
  const Sequences s = cut(Table(t), o);
  EXPECT_EQ(s.length, (std::vector<int32_t>{2, 1, 3}));
  EXPECT_EQ(cells(s.steps.columns[1]), (std::vector<std::string>{"2", "2", "nothing", "3", "3", "4"}));
  EXPECT_EQ(cells(s.steps.columns[0]), (std::vector<std::string>{"1", "1", "nothing", "1", "1", "1"})) << "of x";
  EXPECT_EQ(s.attributes.columns[1].numbers, (std::vector<double>{1, 7, 2}));
}

// A series of days with a counter, two clocks and a load; and the same of two keys.
TEST(Cut, ADateThatRisesInEveryRowIsALikelyIndex) {
  const auto days = [](auto of) {
    std::vector<double> out;
    for (int i = 0; i < 30; ++i) out.push_back(of(i));
    return out;
  };
  std::vector<std::string> key;
  for (int i = 0; i < 30; ++i) key.push_back(i < 15 ? "a" : "b");
  const Column even = dates("even", days([](int i) { return 9000 + i % 15 + 100 * (i / 15); })),
               uneven = dates("uneven", days([](int i) { return 9000 + i % 15 * 3 + i % 2 + 100 * (i / 15); })),
               load = numbers("load", ColumnType::decimal, days([](int i) { return i * 7 % 13; })),
               rising = numbers("rising", ColumnType::integer, days([](int i) { return i * i; })),
               count = numbers("count", ColumnType::integer, days([](int i) { return 1 + i % 15; }));
  const auto index_of = [](std::vector<Column> c, const SequenceOptions& o) {
    return likely_index(table(std::move(c)), o);
  };
  const Column who = texts("who", ColumnType::category, key);
  EXPECT_EQ(index_of({load, uneven, rising}, windows(4)), "uneven") << "numbers may rise by themselves";
  EXPECT_EQ(index_of({who, load, uneven, even}, keyed("who")), "even") << "the most regular";
  EXPECT_EQ(index_of({who, load, count}, keyed("who")), "count");
  const Column months = dates("month", days([](int i) {
                                return std::vector<double>{18262, 18293, 18322, 18353, 18383, 18414, 18444, 18475,
                                                           18506, 18536, 18567, 18597, 18628, 18659, 18687}[i % 15];
                              }));
  EXPECT_EQ(index_of({who, load, count, months}, keyed("who")), "month") << "a counter has no calendar";
  EXPECT_EQ(index_of({load, count}, windows(4)), "") << "it begins again";
  EXPECT_EQ(index_of({load, rising}, windows(4)), "") << "by steps that differ";
  EXPECT_EQ(index_of({uneven}, windows(4)), "") << "nothing else is left";
  Column gap = uneven;
  gap.numbers[3] = kMissing;
  EXPECT_EQ(index_of({load, gap}, windows(4)), "");
  gap.numbers[3] = gap.numbers[4];
  EXPECT_EQ(index_of({load, gap}, windows(4)), "") << "twice the same";
}

// Days of a week of five are one place from the next, and a window may begin on any of them.
TEST(Cut, StepsAreCountedInPlacesOfTheIndex) {
  std::vector<double> days, load;
  for (int day = 18000; days.size() < 100; ++day)
    if ((day + 3) % 7 < 5) days.push_back(day), load.push_back(day * 7 % 13);
  const Table t = table({dates("day", days), numbers("load", ColumnType::decimal, load)});
  SequenceOptions o = windows(8);
  o.index = "day", o.grid = find_grid(t, o, 5);
  const Sequences s = cut(Table(t), o);
  EXPECT_EQ(std::count(s.steps.columns.back().numbers.begin(), s.steps.columns.back().numbers.end(), 1), 100);
  const Whole w = encode(Table(t), o);
  const Table back = decode(w);
  for (int64_t i = 0; i < back.rows; ++i)
    EXPECT_EQ(back.columns[1].numbers[static_cast<size_t>(i)], days[static_cast<size_t>(i / 8 + i % 8)]);
  EXPECT_EQ(SequenceEncoder::from_json(w.encoder.to_json()).to_json(), w.encoder.to_json());
}

TEST(Cut, WithoutAnIndexTheFileIsTheTimeOfEachKey) {
  const Table t =
      table({numbers("id", ColumnType::integer, {4, 4, 4, 2, 2}), numbers("x", ColumnType::decimal, {9, 8, 7, 6, 5})});
  const Sequences s = cut(Table(t), keyed("id"));
  EXPECT_EQ(s.length, (std::vector<int32_t>{3, 2}));
  EXPECT_EQ(s.steps.columns[0].numbers, t.columns[1].numbers);
}

struct Case {
  Table table;
  SequenceOptions options;
  ErrorCode code;
  std::vector<std::string> says;
};

void expect(const Case& c) {
  const Thrown t = thrown([&] { cut(Table(c.table), c.options); });
  EXPECT_EQ(t.code, c.code) << t.message;
  for (const std::string& part : c.says)
    EXPECT_NE(t.message.find(part), std::string::npos) << "\"" << part << "\" is not in: " << t.message;
}

TEST(CutErrors, NameThePlaceAndAWayOut) {
  const auto data = ErrorCode::data;
  auto key = [](const std::vector<std::string>& v) { return texts("who", ColumnType::category, v); };
  auto x = [](size_t n) { return numbers("x", ColumnType::decimal, std::vector<double>(n, 1.5), 1); };
  auto time = [](std::vector<double> v) { return dates("day", std::move(v)); };
  // Nothing but sequences of one row.
  expect({table({key({"a", "b", "c"}), x(3)}), keyed("who"), data, {"\"who\" has one row", "`method=made`"}});
  expect({table({x(1)}), windows(2), data, {"one row", "no next step"}});
  // Keys out of order, without an index that could put them right.
  expect({table({key({"a", "a", "b", "b", "a"}), x(5)}),
          keyed("who"),
          data,
          {"Row 5", "who \"a\"", "began in row 1", "Sort the file", "`sequence_index`"}});
  // The same time twice.
  expect({table({key({"a", "b", "a", "b"}), time({5, 6, 5, 7}), x(4)}),
          keyed("who", "day"),
          data,
          {"\"day\"", "who \"a\"", "06.01.1970 twice", "rows 1 and 3", "`sequence_index=none`"}});
  SequenceOptions indexed = windows(2);
  indexed.index = "day";
  expect({table({time({5, 6, 5, 7}), x(4)}), indexed, data, {"twice", "rows 1 and 3", "`sequence_key`"}});
  // Longer than the limit.
  expect({table({numbers("id", ColumnType::integer, std::vector<double>(5000, 3)), x(5000)}),
          keyed("id"),
          data,
          {"id 3", "5000 rows", "4096", "`sequence_length`"}});
  // A static column that varies, also between a value and none.
  expect({table({key({"a", "b", "a", "b"}), time({1, 1, 2, 2}),
                 texts("sex", ColumnType::category, {"F", "F", "M", "F"}), x(4)}),
          keyed("who", "day", {"sex"}),
          data,
          {"\"sex\"", "who \"a\"", "\"F\" in row 1", "\"M\" in row 3", "`static`"}});
  expect({table({key({"a", "a", "b", "b"}), numbers("born", ColumnType::integer, {1970, 1970, 1980, kMissing}), x(4)}),
          keyed("who", "", {"born"}),
          data,
          {"\"born\"", "1980 in row 3", "nothing in row 4"}});
  // Missing keys, missing times, times that are texts.
  expect({table({key({"a", "", "a"}), x(3)}), keyed("who"), data, {"\"who\"", "row 2", "missing"}});
  expect({table({key({"a", "", "a", "", "", "", ""}), x(7)}),
          keyed("who"),
          data,
          {"rows 2, 4, 5 and 2 more", "these rows"}});
  expect({table({numbers("id", ColumnType::integer, {1, 1, kMissing}), x(3)}),
          keyed("id"),
          data,
          {"\"id\"", "row 3", "missing"}});
  expect({table({key({"a", "a", "a"}), time({1, kMissing, 3}), x(3)}),
          keyed("who", "day"),
          data,
          {"\"day\"", "row 2", "who \"a\""}});
  expect({table({key({"a", "a"}), texts("day", ColumnType::category, {"Mon", "Tue"}), x(2)}),
          keyed("who", "day"),
          data,
          {"\"day\" is category", "`sequence_index=none`"}});
  Column zones = texts("at", ColumnType::category, {"2024-03-10T10:00:00+01:00", "2024-03-12 10:01"});
  zones.reason = "dates, but in other formats";
  expect({table({key({"a", "a"}), zones, x(2)}), keyed("who", "at"), data, {"`types=at=datetime`"}});
  SequenceOptions given = keyed("who", "day", {"x"});  // of a model: its options are not those of the file
  given.given = true;
  for (const double day : {5.0, 6.0}) {
    const Thrown t = thrown([&] {
      cut(table({key({"a", "a"}), time({5, day}), numbers("x", ColumnType::integer, {1, 2}),
                 numbers("y", ColumnType::integer, {1, 2})}),
          given);
    });
    EXPECT_NE(t.message.find(day == 5 ? "Omit one" : "Make the rows agree."), std::string::npos) << t.message;
    EXPECT_EQ(t.message.find('`'), std::string::npos) << "names an option that a model does not take: " << t.message;
  }
  // Too little to learn from.
  expect({table({x(5)}), windows(24), data, {"5 rows", "`sequence_length=24`", "2 or less"}});
  expect({table({x(24)}), windows(24), data, {"single window", "shorter"}});
  expect({table({key({"a", "a"}), x(2)}), keyed("who"), data, {"one value", "`sequence_length`"}});
  expect({table({key({"a", "a", "b", "b"}), x(4)}), keyed("who", "", {"x"}), data, {"no column is left"}});
  // Options.
  const auto usage = ErrorCode::usage;
  expect({table({x(5)}), {}, usage, {"`sequence_length=24`", "`sequence_key`"}});
  expect({table({x(5)}), windows(1), usage, {"`sequence_length=1`"}});
  expect({table({x(5)}), windows(2, 0), usage, {"`stride=0`"}});
  expect({table({x(5)}), windows(5000), usage, {"4096"}});
  expect({table({key({"a", "a"}), x(2)}), keyed("whom"), usage, {"`sequence_key`", "no column \"whom\"", "\"who\""}});
  expect({table({key({"a", "a"}), x(2)}), keyed("who", "who"), usage, {"both"}});
  expect({table({key({"a", "a"}), x(2)}), keyed("who", "", {"x", "x"}), usage, {"\"x\" twice"}});
  expect({table({key({"a", "a"}), x(2)}), keyed("who", "", {"who"}), usage, {"already `sequence_key`"}});
  SequenceOptions loose = windows(2);
  loose.statics = {"x"};
  expect({table({x(5)}), loose, usage, {"`static` needs `sequence_key`"}});
  SequenceOptions stride = keyed("who");
  stride.stride = 2;
  expect({table({key({"a", "a"}), x(2)}), stride, usage, {"`stride` needs `sequence_length`"}});
}

}  // namespace
}  // namespace tessera
