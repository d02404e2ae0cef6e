// Every type a table may have in Arrow: what it is read as, and that it goes out as it came.
#include <cmath>

#include "arrow_stream.h"
#include "support.h"
#include "support/columns.h"
#include "support/thrown.h"
#include "tables/arrow/export.h"
#include "tables/arrow/float16.h"
#include "tables/arrow/import.h"
#include "tables/arrow/metadata.h"
#include "tables/arrow/values.h"
#include "tables/arrow/wide_decimal.h"
#include "tables/formats/calendar.h"
#include "tables/formats/values.h"

namespace tessera::test {
namespace {

Table import_table(std::vector<Node> batches, const GivenTypes& types = {}) {
  HandMade made(std::move(batches));
  ArrowArrayStream stream;
  made.open(&stream);
  Team team(2);
  Table t = table_import(&stream, team, Monitor{}, types);
  EXPECT_EQ(made.live, 0) << "something was not released";
  EXPECT_EQ(made.released, 1);
  return t;
}
Column import(Node one) { return std::move(import_table({table_of({std::move(one)})}).columns.at(0)); }

// What a table of one column goes out as.
struct Out {
  std::string format, values;
  std::vector<std::string> cells;  // as text; "-" for null
};
Out out_of(Column column, bool plain = false) {
  Table t = columns::table({std::move(column)});
  Table bare;
  bare.columns.push_back(t.columns[0]);
  bare.columns[0].numbers.clear(), bare.columns[0].codes.clear();
  ArrowArrayStream stream;
  table_stream(
      bare, [&t, given = false](Table& batch) mutable { return given ? false : (batch = std::move(t), given = true); },
      &stream, plain);
  ArrowSchema schema;
  ArrowArray batch;
  EXPECT_EQ(stream.get_schema(&stream, &schema), 0);
  EXPECT_EQ(stream.get_next(&stream, &batch), 0) << stream.get_last_error(&stream);
  Out out{schema.children[0]->format,
          schema.children[0]->dictionary == nullptr ? "" : schema.children[0]->dictionary->format,
          {}};
  if (batch.release != nullptr) {
    const ArrowValues values(*schema.children[0], *batch.children[0], 0, batch.length, "c");
    const ArrowType type = ArrowValues::type_of(*schema.children[0], "c");
    for (int64_t i = 0; i < batch.length; ++i) {
      std::string cell = "-";
      if (!values.is_null(i)) {
        cell.clear();
        if (type.kind == ArrowKind::text) cell = values.text(i);
        else if (type.kind == ArrowKind::boolean) cell = values.truth(i) ? "true" : "false";
        else if (type.kind == ArrowKind::whole)
          cell = values.is_too_large(i) ? std::to_string(static_cast<uint64_t>(values.whole(i)))
                                        : std::to_string(values.whole(i));
        else if (type.kind == ArrowKind::exact) values.exact(i, cell);
        else write_shortest(values.number(i), cell);
      }
      out.cells.push_back(cell);
    }
    batch.release(&batch);
  }
  schema.release(&schema);
  stream.release(&stream);
  return out;
}

const std::vector<int> kSecondMissing{1, 0, 1, 1};

// What goes out comes in as it was.
void expect_back(const Column& c) {
  Table t = columns::table({c});
  ArrowArrayStream stream;
  table_export(Table(t), &stream);
  stream = handed_on(stream);
  Team team(1);
  const Table back = table_import(&stream, team, Monitor{});
  expect_equal(back, t);
  EXPECT_EQ(back.columns[0].arrow, c.arrow);
}

// In and out again: the format is the same, and so are the cells.
void expect_same(const Node& n, ColumnType type, const std::vector<std::string>& cells) {
  SCOPED_TRACE(n.format);
  const Column c = import(n);
  EXPECT_STREQ(name(c.type), name(type)) << c.reason;
  const Out out = out_of(c);
  EXPECT_EQ(out.format, n.format);
  EXPECT_EQ(out.cells, cells);
  expect_back(c);
}

TEST(ArrowTypes, IntegersOfEveryWidth) {
  const auto valid = bits_of(kSecondMissing);
  const auto at_ends = [&](const char* format, auto low, auto high) {
    using V = decltype(low);
    expect_same(column<V>(format, {low, 7, high, 1}, valid), ColumnType::integer,
                {std::to_string(low), "-", std::to_string(high), "1"});
  };
  at_ends("c", int8_t{-128}, int8_t{127});
  at_ends("C", uint8_t{0}, uint8_t{255});
  at_ends("s", int16_t{-32768}, int16_t{32767});
  at_ends("S", uint16_t{0}, uint16_t{65535});
  at_ends("i", std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max());
  at_ends("I", uint32_t{0}, std::numeric_limits<uint32_t>::max());
  at_ends("l", int64_t{-999999999999999}, int64_t{999999999999999});
  at_ends("L", uint64_t{0}, uint64_t{999999999999999});
}

TEST(ArrowTypes, IntegersBeyondADoubleAreTextsWithinAndIntegersWithout) {
  const auto valid = bits_of(kSecondMissing);
  expect_same(
      column<int64_t>(
          "l", {std::numeric_limits<int64_t>::min(), 0, std::numeric_limits<int64_t>::max(), 9007199254740993}, valid),
      ColumnType::category, {"-9223372036854775808", "-", "9223372036854775807", "9007199254740993"});
  expect_same(column<uint64_t>("L", {18446744073709551615u, 0, 9223372036854775808u, 3}, valid), ColumnType::category,
              {"18446744073709551615", "-", "9223372036854775808", "3"});
}

TEST(ArrowTypes, Floats) {
  const auto valid = bits_of(kSecondMissing);
  expect_same(column<double>("g", {1.5, 0, -1e300, 0.1}, valid), ColumnType::decimal, {"1.5", "-", "-1e+300", "0.1"});
  expect_same(column<float>("f", {1.5f, 0, 0.25f, 2}, valid), ColumnType::decimal, {"1.5", "-", "0.25", "2"});
  expect_same(column<float>("f", {3, 0, 7, 2}, valid), ColumnType::integer, {"3", "-", "7", "2"});
  expect_same(column<uint16_t>("e", {to_half(1.5), 0, to_half(-65504), to_half(0.5)}, valid), ColumnType::decimal,
              {"1.5", "-", "-65504", "0.5"});
  const Column tenth = import(column<uint16_t>("e", {to_half(0.1), to_half(0.2)}));
  EXPECT_EQ(tenth.numbers, (std::vector<double>{0.1, 0.2})) << "a tenth is meant, not 0.0999755859375";
  for (int bits = 0; bits < 0x7C00; ++bits) ASSERT_EQ(to_half(from_half(static_cast<uint16_t>(bits))), bits);
  EXPECT_TRUE(std::isinf(from_half(0x7C00)));
  EXPECT_TRUE(std::isnan(from_half(0x7C01)));
  EXPECT_EQ(to_half(-1e9), 0xFBFF) << "held at the largest";
}

TEST(ArrowTypes, DecimalsOfEveryWidth) {
  const auto valid = bits_of(kSecondMissing);
  expect_same(column<int32_t>("d:9,2,32", {-150, 0, 999999999, 5}, valid), ColumnType::decimal,
              {"-1.50", "-", "9999999.99", "0.05"});
  expect_same(column<int64_t>("d:18,3,64", {-1500, 0, 123456789012345, 5}, valid), ColumnType::decimal,
              {"-1.500", "-", "123456789012.345", "0.005"});
  const auto wide = [](int width, const std::vector<std::string>& texts, int scale) {
    Bytes out(texts.size() * static_cast<size_t>(width));
    for (size_t i = 0; i < texts.size(); ++i) {
      WideInteger v;
      EXPECT_TRUE(read_wide(texts[i], 76, scale, v));
      v.store(out.data() + i * static_cast<size_t>(width), width);
    }
    return out;
  };
  expect_same(fixed("d:10,2", 4, wide(16, {"-1.5", "0", "12345678.91", "2"}, 2), valid), ColumnType::decimal,
              {"-1.50", "-", "12345678.91", "2.00"});
  expect_same(fixed("d:38,10", 4, wide(16, {"1.5", "0", "12.25", "2"}, 10), valid), ColumnType::decimal,
              {"1.5000000000", "-", "12.2500000000", "2.0000000000"});
  expect_same(fixed("d:5,-2", 4, wide(16, {"12300", "0", "500", "-100"}, -2), valid), ColumnType::integer,
              {"12300", "-", "500", "-100"});
  // More than 15 digits: texts within, none lost.
  const std::string long_one = "-1234567890123456789012345678901234567890123456.7890";
  expect_same(fixed("d:76,4,256", 4, wide(32, {"1.25", "0", long_one, "2"}, 4), valid), ColumnType::category,
              {"1.2500", "-", long_one, "2.0000"});
}

TEST(ArrowTypes, WideDecimals) {
  const auto round = [](const std::string& text, int precision, int scale) {
    WideInteger v, back;
    if (!read_wide(text, precision, scale, v)) return std::string("?");
    char bytes[32];
    v.store(bytes, 32);
    back = WideInteger::load(bytes, 32);
    std::string out;
    write_wide(back, scale, out);
    return out;
  };
  EXPECT_EQ(round("0", 5, 2), "0.00");
  EXPECT_EQ(round("-0", 5, 2), "0.00");
  EXPECT_EQ(round("1.005", 5, 2), "1.01");
  EXPECT_EQ(round("9.995", 5, 2), "10.00");
  EXPECT_EQ(round("999.995", 5, 2), "999.99") << "one more would not fit";
  EXPECT_EQ(round("1e9", 5, 2), "999.99");
  EXPECT_EQ(round("1e-9", 5, 2), "0.00");
  EXPECT_EQ(round("1.5e2", 9, 2), "150.00");
  EXPECT_EQ(round("1450", 9, -2), "1500");
  EXPECT_EQ(round("49", 9, -2), "0");
  for (const char* bad : {"", "-", ".", "1x", "1e", "--1", "1.2.3", "nan"}) EXPECT_EQ(round(bad, 9, 2), "?") << bad;
  EXPECT_EQ(significant_digits("-001.2300"), 3);
  EXPECT_EQ(significant_digits("0.000"), 0);
}

TEST(ArrowTypes, TextsOfEveryLayout) {
  const std::vector<std::string> values{"red", "", "a text of more than twelve bytes", "red"};
  const auto valid = bits_of(kSecondMissing);
  const std::vector<std::string> cells{"red", "-", values[2], "red"};
  for (const Node& n :
       {texts<int32_t>("u", values, valid), texts<int64_t>("U", values, valid), views("vu", values, valid),
        texts<int32_t>("z", values, valid), texts<int64_t>("Z", values, valid), views("vz", values, valid)}) {
    SCOPED_TRACE(n.format);
    const Column c = import(n);
    EXPECT_EQ(c.values, (std::vector<std::string>{"red", values[2]}));
    EXPECT_EQ(c.codes, (std::vector<int32_t>{0, -1, 1, 0}));
    const bool bytes = n.format.back() == 'z' || n.format.back() == 'Z';
    const Out dictionary = out_of(c);
    EXPECT_EQ(dictionary.format, "i");
    EXPECT_EQ(dictionary.values, bytes ? "z" : "u");
    EXPECT_EQ(dictionary.cells, cells);
    const Out plain = out_of(c, true);
    EXPECT_EQ(plain.format, n.format);
    EXPECT_EQ(plain.cells, cells);
  }
}

// Texts that are numbers, dates or booleans are these within, and texts again where the reader wants what was fitted.
TEST(ArrowTypes, NumbersThatCameAsTextsGoOutAsTexts) {
  const auto check = [](std::vector<std::string> cells, ColumnType type, const char* number) {
    SCOPED_TRACE(cells[0]);
    const auto valid = bits_of({1, 1, 0, 1});
    std::vector<Node> nodes{texts<int32_t>("u", cells, valid), texts<int64_t>("U", cells, valid),
                            views("vu", cells, valid), texts<int64_t>("Z", cells, valid)};
    nodes.push_back(dictionary(column<int8_t>("c", {0, 1, 0, 1}, valid), texts<int32_t>("u", {cells[0], cells[1]})));
    cells[2] = "-";
    for (const Node& n : nodes) {
      const Column c = import(n);
      ASSERT_STREQ(name(c.type), name(type)) << c.reason;
      EXPECT_EQ(out_of(c).format, number);
      EXPECT_EQ(out_of(c, true).format, n.dictionary == nullptr ? n.format : "u");
      EXPECT_EQ(out_of(c, true).cells, cells);
      expect_back(c);
    }
  };
  check({"12", "7", "", "7"}, ColumnType::integer, "l");
  check({"12.50", "7.25", "", "7.25"}, ColumnType::decimal, "g");
  check({"$1,200,300", "$7", "", "$7"}, ColumnType::integer, "l");
  check({"31.12.2023", "01.02.2024", "", "01.02.2024"}, ColumnType::date, "tdD");
  check({"2023-12-31 23:59", "2024-02-01 00:00", "", "2024-02-01 00:00"}, ColumnType::datetime, "tss:");
  check({"True", "False", "", "False"}, ColumnType::boolean, "b");
}

TEST(ArrowTypes, DictionariesOfEveryIndexAndOfAnything) {
  const Node values = texts<int32_t>("u", {"a", "b", "c"}, bits_of({1, 1, 0}));
  const auto check = [&](const char* format, auto zero) {
    using V = decltype(zero);
    Node n = dictionary(column<V>(format, {1, 0, 2, 1, 0}, bits_of({1, 1, 1, 1, 0})), values);
    n.flags |= ARROW_FLAG_DICTIONARY_ORDERED;
    const Column c = import(n);
    EXPECT_EQ(c.values, (std::vector<std::string>{"b", "a"})) << format;
    EXPECT_EQ(c.codes, (std::vector<int32_t>{0, 1, -1, 0, -1})) << "missing in the dictionary and among the indices";
    EXPECT_EQ(out_of(c).cells, (std::vector<std::string>{"b", "a", "-", "b", "-"}));
    EXPECT_EQ(out_of(c, true).values, "u") << "a dictionary stays one";
  };
  check("c", int8_t{});
  check("C", uint8_t{});
  check("s", int16_t{});
  check("S", uint16_t{});
  check("i", int32_t{});
  check("I", uint32_t{});
  check("l", int64_t{});
  check("L", uint64_t{});
  for (const char* bytes : {"z", "Z"}) {  // as Parquet's binary columns are read
    const std::vector<std::string> two{"a", "b"};
    const Node of = *bytes == 'z' ? texts<int32_t>("z", two) : texts<int64_t>("Z", two);
    const Column c = import(dictionary(column<int32_t>("i", {1, 0, 1}), of));
    EXPECT_EQ(out_of(c).values, "z");
    EXPECT_EQ(out_of(c, true).format, bytes);
  }
  const Column numbers = import(dictionary(column<int8_t>("c", {1, 0, 1}), column<int32_t>("i", {40, 50})));
  EXPECT_EQ(numbers.type, ColumnType::integer);
  EXPECT_EQ(numbers.numbers, (std::vector<double>{50, 40, 50}));
  EXPECT_EQ(out_of(numbers).format, "i");
  EXPECT_EQ(
      import(dictionary(column<int8_t>("c", {1, 0, 1}), views("vu", {"long enough to be elsewhere", "x"}))).values[1],
      "long enough to be elsewhere");
}

TEST(ArrowTypes, DatesTimesAndDurations) {
  const auto valid = bits_of(kSecondMissing);
  expect_same(column<int32_t>("tdD", {-1, 0, 18262, 2}, valid), ColumnType::date, {"-1", "-", "18262", "2"});
  expect_same(column<int64_t>("tdm", {-86400000, 0, 86400000, 0}, valid), ColumnType::date, {"-1", "-", "1", "0"});
  for (const char* zone : {"", "UTC", "Europe/Berlin", "+02:00"}) {
    const std::string z = zone;
    expect_same(column<int64_t>("tss:" + z, {-1, 0, 1700000001, 2}, valid), ColumnType::datetime,
                {"-1", "-", "1700000001", "2"});
    expect_same(column<int64_t>("tsm:" + z, {-500, 0, 1700000000123, 2000}, valid), ColumnType::datetime,
                {"-0.5", "-", "1700000000.123", "2"});
    expect_same(column<int64_t>("tsu:" + z, {-1, 0, 1700000000123456, 2000000}, valid), ColumnType::datetime,
                {"-1e-06", "-", "1700000000.123456", "2"});
    expect_same(column<int64_t>("tsn:" + z, {-1000, 0, 1700000000123456000, 2000000000}, valid), ColumnType::datetime,
                {"-1e-06", "-", "1700000000.123456", "2"});
  }
  expect_same(column<int32_t>("tts", {0, 0, 86399, 60}, valid), ColumnType::integer, {"0", "-", "86399", "60"});
  expect_same(column<int32_t>("ttm", {1, 0, 86399999, 60}, valid), ColumnType::decimal,
              {"0.001", "-", "86399.999", "0.06"});
  expect_same(column<int64_t>("ttu", {1, 0, 86399999999, 60}, valid), ColumnType::decimal,
              {"1e-06", "-", "86399.999999", "6e-05"});
  expect_same(column<int64_t>("ttn", {1, 0, 86399999999999, 60}, valid), ColumnType::decimal,
              {"1e-09", "-", "86399.999999999", "6e-08"});
  for (const char* format : {"tDs", "tDm", "tDu", "tDn"}) {
    const int64_t unit = format[2] == 's' ? 1 : format[2] == 'm' ? 1000 : format[2] == 'u' ? 1000000 : 1000000000;
    expect_same(column<int64_t>(format, {-90 * unit, 0, 3600 * unit, unit}, valid), ColumnType::integer,
                {"-90", "-", "3600", "1"});
  }
}

TEST(ArrowTypes, ConstantsAndColumnsWithoutAValueKeepTheirType) {
  expect_same(column<int16_t>("s", {5, 5, 5}), ColumnType::constant, {"5", "5", "5"});
  expect_same(column<float>("f", {0.1f, 0.1f}), ColumnType::constant, {"0.10000000149011612", "0.10000000149011612"});
  expect_same(column<int32_t>("tdD", {3, 3}), ColumnType::constant, {"3", "3"});
  expect_same(column<int64_t>("tsu:UTC", {3000001, 3000001}), ColumnType::constant, {"3.000001", "3.000001"});
  expect_same(fixed("b", 3, bits_of({1, 1, 1})), ColumnType::constant, {"true", "true", "true"});
  expect_same(fixed("b", 3, bits_of({1, 0, 1}), bits_of({1, 0, 1})), ColumnType::boolean, {"true", "-", "true"});
  expect_same(column<int64_t>("d:18,2,64", {150, 150}), ColumnType::constant, {"1.50", "1.50"});
  expect_same(column<int32_t>("tts", {150, 150}), ColumnType::constant, {"150", "150"});
  expect_same(column<int8_t>("c", {0, 0}, bits_of({0, 0})), ColumnType::constant, {"-", "-"});
  Node none;
  none.format = "n", none.length = 3, none.nulls = 3;
  expect_same(none, ColumnType::constant, {"-", "-", "-"});
}

TEST(ArrowTypes, IdentifiersThatWereNumbersGoOnAsNumbers) {
  std::vector<int16_t> ids(30);
  for (size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<int16_t>(32700 + i);
  Node n = column<int16_t>("s", ids);
  n.name = "id";
  Column c = import(n);
  EXPECT_EQ(c.type, ColumnType::identifier);
  EXPECT_EQ(c.arrow, "l") << "they will count on beyond an int16";
  c.values[29] = "40000";
  const Out out = out_of(c);
  EXPECT_EQ(out.format, "l");
  EXPECT_EQ(out.cells[0], "32700");
  EXPECT_EQ(out.cells[29], "40000");
  std::vector<int64_t> large(30);
  for (size_t i = 0; i < large.size(); ++i) large[i] = 4000000000000000000 + static_cast<int64_t>(i * i);
  Column wide = import(column<int64_t>("l", large));
  EXPECT_EQ(wide.type, ColumnType::identifier);
  wide.values[1] = "9999999999999999999";  // what a pattern of 19 digits may make; an int64 ends before
  EXPECT_EQ(out_of(wide).cells[1], std::to_string(9999999999999999999u & 0x7FFFFFFFFFFFFFFFu));
}

// What a text of four digits a year cannot say would be learned and come back as another time: years 1 and 9999 are
// read, their neighbours refused with their row.
TEST(ArrowTypes, TimesAreOfTheYears1To9999) {
  const auto refused = [](const Node& n, const char* row) {
    SCOPED_TRACE(n.format);
    expect_error(ErrorCode::data, {row, "column \"c\"", "outside the years 1 to 9999", "Replace it"},
                 [&] { import(n); });
  };
  constexpr int64_t kDay = 86400, kLow = kFirstDay * kDay, kHigh = kLastDay * kDay + kDay - 1;
  for (const auto& [format, per_second] :
       {std::pair{"tss:", int64_t{1}}, {"tsm:UTC", int64_t{1000}}, {"tsu:", int64_t{1000000}}}) {
    expect_same(column<int64_t>(format, {kLow * per_second, 0, kHigh * per_second}), ColumnType::datetime,
                {std::to_string(kLow), "0", std::to_string(kHigh)});
    refused(column<int64_t>(format, {0, (kLow - 1) * per_second}), "row 2");
    refused(column<int64_t>(format, {0, 0, (kHigh + 1) * per_second}), "row 3");
    refused(column<int64_t>(format, {INT64_MAX}), "row 1");
    refused(column<int64_t>(format, {INT64_MIN}), "row 1");
  }
  expect_same(column<int64_t>("tsn:", {INT64_MAX / 1000000000 * 1000000000, 0}), ColumnType::datetime,
              {"9223372036", "0"});
  expect_same(column<int32_t>("tdD", {static_cast<int32_t>(kFirstDay), 0, static_cast<int32_t>(kLastDay)}),
              ColumnType::date, {std::to_string(kFirstDay), "0", std::to_string(kLastDay)});
  refused(column<int32_t>("tdD", {0, static_cast<int32_t>(kFirstDay - 1)}), "row 2");
  refused(column<int32_t>("tdD", {0, static_cast<int32_t>(kLastDay + 1)}), "row 2");
  refused(column<int64_t>("tdm", {INT64_MAX / 86400000 * 86400000}), "row 1");
}

// A column that was made an identifier is regenerated place by place, which makes no days of a calendar: it goes out as
// text.
TEST(ArrowTypes, IdentifiersThatWereTimesGoOutAsTexts) {
  for (const char* format : {"tdD", "tss:", "ttu", "b"}) {
    SCOPED_TRACE(format);
    Column c;
    c.name = "c", c.type = ColumnType::identifier, c.arrow = format;
    c.values = {"2024-99-77"};
    c.codes = {0, 0};
    const Out out = out_of(c);
    EXPECT_EQ(out.cells, (std::vector<std::string>{"2024-99-77", "2024-99-77"}));
  }
}

TEST(ArrowTypes, RunsStandForTheirValues) {
  Node runs;
  runs.format = "+r", runs.length = 5;
  runs.children = {column<int32_t>("i", {2, 3, 7}), texts<int32_t>("u", {"a", "", "b"}, bits_of({1, 0, 1}))};
  runs.children[0].name = "run_ends";
  EXPECT_EQ(import(runs).codes, (std::vector<int32_t>{0, 0, -1, 1, 1}));
  runs.offset = 1;
  EXPECT_EQ(import(runs).codes, (std::vector<int32_t>{0, -1, 1, 1, 1}));
  runs.children[1] = column<int64_t>("l", {10, 20, 30});
  const Column numbers = import(runs);
  EXPECT_EQ(numbers.numbers, (std::vector<double>{10, 20, 30, 30, 30}));
  EXPECT_EQ(out_of(numbers).format, "l");
}

TEST(ArrowTypes, SlicesAndChunksAndEmptyBatches) {
  const auto sliced = [](Node n, int64_t offset, int64_t length) {
    n.name = n.format;
    n.offset = offset, n.length = length;
    return n;
  };
  const Node numbers = column<int32_t>("i", {9, 1, 2, 3, 9}, bits_of({1, 1, 0, 1, 1}));
  const Node words = views("vu", {"?", "a", "b", "a long text, long enough", "?"}, bits_of({1, 1, 1, 1, 0}));
  const Node decimals = column<int64_t>("d:10,1,64", {0, 15, 25, 35, 0});
  const Node flags = fixed("b", 5, bits_of({0, 1, 0, 1, 0}));
  const auto batch = [&](int64_t offset, int64_t length) {
    return table_of({sliced(numbers, offset, length), sliced(words, offset, length), sliced(decimals, offset, length),
                     sliced(flags, offset, length)});
  };
  Table t = import_table({batch(1, 2), batch(0, 0), batch(3, 1), batch(5, 0)});
  EXPECT_EQ(t.rows, 3);
  EXPECT_EQ(t.columns[0].numbers[0], 1);
  EXPECT_TRUE(t.columns[0].is_missing(1));
  EXPECT_EQ(t.columns[1].values, (std::vector<std::string>{"a", "b", "a long text, long enough"}));
  EXPECT_EQ(t.columns[2].numbers, (std::vector<double>{1.5, 2.5, 3.5}));
  EXPECT_EQ(t.columns[3].codes, (std::vector<int32_t>{0, 1, 0}));
  // The batch itself may be a slice, and a row of it missing.
  Node whole = batch(0, 5);
  whole.offset = 1, whole.length = 3, whole.nulls = 1, whole.buffers = {bits_of({1, 1, 0, 1, 1})};
  t = import_table({whole});
  EXPECT_EQ(t.rows, 3);
  EXPECT_EQ(t.columns[2].numbers[2], 3.5);
  for (const Column& c : t.columns) EXPECT_TRUE(c.is_missing(1)) << static_cast<int>(c.type);
  EXPECT_EQ(import_table({batch(0, 0)}).rows, 0);
}

TEST(ArrowTypes, TextsOfSeveralReadingsAreReadByTheFormatThatIsGiven) {
  const auto first = [](const std::string& text, const GivenType& type) {
    return import_table({table_of({texts<int32_t>("u", {text, text, text})})}, {type}).columns[0].numbers[0];
  };
  EXPECT_EQ(first("03/04/2024", {"c", ColumnType::date, "%m/%d/%Y"}), 19786);
  EXPECT_EQ(first("03/04/2024", {"c", ColumnType::date, "%d/%m/%Y"}), 19816);
  EXPECT_EQ(first("1,500", {"c", ColumnType::decimal, "#,##0.0#"}), 1500);
  EXPECT_EQ(first("1,500", {"c", ColumnType::decimal, "0,0##"}), 1.5);
}

TEST(ArrowTypes, TypesThatTheUserGave) {
  const auto given = [](Node n, ColumnType type) {
    return std::move(import_table({table_of({std::move(n)})}, {{"c", type}}).columns[0]);
  };
  const Column zip = given(column<int32_t>("i", {501, 90210, 501}), ColumnType::category);
  EXPECT_EQ(zip.type, ColumnType::category);
  EXPECT_EQ(zip.values, (std::vector<std::string>{"501", "90210"}));
  EXPECT_EQ(out_of(zip).format, "i") << "a category within, an int32 without";
  EXPECT_EQ(out_of(zip).cells, (std::vector<std::string>{"501", "90210", "501"}));
  EXPECT_EQ(given(column<int8_t>("c", {1, 0, 1}), ColumnType::boolean).codes, (std::vector<int32_t>{0, 1, 0}));
  EXPECT_EQ(out_of(given(column<int8_t>("c", {1, 0, 1}), ColumnType::boolean)).cells,
            (std::vector<std::string>{"1", "0", "1"}));
  EXPECT_EQ(given(column<int64_t>("l", {3, 3}), ColumnType::integer).type, ColumnType::integer) << "no constant";
  EXPECT_EQ(given(column<double>("g", {1, 2}), ColumnType::decimal).type, ColumnType::decimal);
  EXPECT_EQ(given(texts<int32_t>("u", {"1", "2"}), ColumnType::category).type, ColumnType::category);
  EXPECT_EQ(given(texts<int32_t>("u", {"2020-01-31"}), ColumnType::date).numbers, (std::vector<double>{18292}));
  EXPECT_EQ(given(column<int64_t>("tss:", {0, 86400}), ColumnType::category).values[1], "1970-01-02T00:00:00");

  Node typed = column<int32_t>("i", {1, 2});
  typed.metadata = encode_metadata({{"tessera.type", "category"}});
  EXPECT_EQ(import(typed).type, ColumnType::category);
  typed.metadata = encode_metadata({{"tessera.type", "number"}});
  const auto error = [&](std::vector<Node> columns, const GivenTypes& types) {
    try {
      import_table({table_of(std::move(columns))}, types);
    } catch (const Error& e) { return e; }
    return Error(ErrorCode::internal, "(no error)");
  };
  expect_parts(error({typed}, {}), ErrorCode::usage, {"\"c\"", "\"number\"", "integer, decimal"});
  expect_parts(error({column<double>("g", {1, 2.5})}, {{"c", ColumnType::integer}}), ErrorCode::data,
               {"row 2", "\"c\"", "2.5"});
  expect_parts(error({column<double>("g", {1, 2.5})}, {{"c", ColumnType::date}}), ErrorCode::data,
               {"row 1", "\"c\"", "not a date"});
  expect_parts(error({column<double>("g", {1, 2.5})}, {{"d", ColumnType::date}}), ErrorCode::usage,
               {"no column \"d\"", "Name a column of the stream"});
}

TEST(ArrowTypes, AMemoryLimitIsAnErrorBeforeItIsExceeded) {
  HandMade made({table_of({column<double>("g", std::vector<double>(10000, 1.5))})});
  ArrowArrayStream stream;
  made.open(&stream);
  auto limit = std::make_shared<MemoryLimit>(20000);
  Team team(1, limit);
  expect_error(ErrorCode::memory, {"memory limit of 20000 bytes", "the table", "memory_limit"},
               [&] { table_import(&stream, team, Monitor{}); });
  EXPECT_EQ(limit->held(), 0) << "given back";
  EXPECT_EQ(made.live, 0);
}

// As in CSV files, and they leave in the type they came in.
TEST(ArrowTypes, DayKeysAreDates) {
  const std::vector<int64_t> keys{20240131, 20240229, 19991231, 20000101, 20230508};
  const std::vector<std::string> written{"20240131", "20240229", "19991231", "20000101", "20230508"};
  const auto first = static_cast<double>(days_from_civil(2024, 1, 31));
  const std::vector<int32_t> small(keys.begin(), keys.end());
  const std::vector<double> real(keys.begin(), keys.end());
  const std::vector<float> coarse(keys.begin(), keys.end());
  for (const auto& node : {column<int64_t>("l", keys), column<int64_t>("L", keys), column<int32_t>("i", small),
                           column<int32_t>("I", small), column<double>("g", real)})
    for (const bool given : {false, true}) {
      GivenTypes types;
      if (given) types.push_back({"c", ColumnType::date, {}});
      Column c = std::move(import_table({table_of({node})}, types).columns.at(0));
      EXPECT_EQ(c.type, ColumnType::date) << node.format;
      EXPECT_EQ(c.numbers[0], first) << node.format;
      const Out out = out_of(std::move(c));
      EXPECT_EQ(out.format, node.format);
      EXPECT_EQ(out.cells, written);
    }
  EXPECT_EQ(import(column<float>("f", coarse)).type, ColumnType::integer);
  EXPECT_EQ(import(column<int64_t>("l", {20240131, 20240132, 19991231, 20000101, 20230508})).type, ColumnType::integer);
  EXPECT_EQ(import(column<int64_t>("l", {20240131, 20240201})).type, ColumnType::integer);
}

}  // namespace
}  // namespace tessera::test
