// Every kind of column, from one case each: read, written as CSV, as JSON and as Arrow, named in a condition, shown in
// a message.
#include "tables/kinds/kind.h"

#include <functional>

#include "support.h"
#include "tables/arrow/export.h"
#include "tables/arrow/import.h"
#include "tables/csv/writer.h"
#include "tables/files/json_writer.h"
#include "where/where_rows.h"

namespace tessera::test {
namespace {

constexpr int kRows = 40, kMissingRow = 7;

struct KindCase {
  const char* name;
  ColumnType type;
  std::function<std::string(int)> text;  // of a row, as the file writes it
  const char* format;                    // of the column
  const char* arrow;                     // the format of its stream
  const char* literal;                   // of row 3 in a condition
  const char* message;                   // row 3 in a message
  const char* wrong;                     // a literal that it cannot be compared with by <; "": texts have no order
  bool missing = true;                   // whether row 7 is missing
};

std::string padded(int i, const char* format) {
  char out[64];
  std::snprintf(out, sizeof out, format, i);
  return out;
}

std::vector<KindCase> kind_cases() {
  const auto day = [](int i) { return padded(1 + i % 28, "2024-02-%02d"); };
  return {
      {"integer", ColumnType::integer, [](int i) { return std::to_string(100 + i * 37); }, "", "l", "211", "211", "x"},
      {"integer_with_groups", ColumnType::integer, [](int i) { return "\"" + padded(i, "1,%03d") + "\""; }, "#,##0",
       "l", "1003", "1003", "x"},
      {"time_of_day", ColumnType::integer, [](int i) { return padded(i, "10:%02d"); }, "%H:%M", "l", "'10:03'", "36180",
       "x"},
      {"duration_above_a_day", ColumnType::integer, [](int i) { return std::to_string(30 + i) + ":15:00"; }, "%H:%M:%S",
       "l", "'33:15:00'", "119700", "x"},
      {"decimal", ColumnType::decimal, [](int i) { return padded(i % 90 + 10, "%d") + ".25"; }, "", "g", "13.25",
       "13.25", "x"},
      {"decimal_with_unit", ColumnType::decimal, [](int i) { return "$" + padded(i, "%d") + ".50"; }, "\"$\"0.00", "g",
       "'$3.50'", "3.5", "x"},
      {"boolean", ColumnType::boolean, [](int i) { return i % 3 == 0 ? "true" : "false"; }, "", "b", "true", "\"true\"",
       ""},
      {"category", ColumnType::category, [](int i) { return i % 5 == 3   ? "red"
                                                            : i % 2 == 0 ? "green"
                                                                         : "blue"; }, "",
       "", "'red'", "\"red\"", ""},
      {"date", ColumnType::date, day, "%Y-%m-%d", "tdD", "'2024-02-04'", "2024-02-04", "x"},
      {"date_of_another_format", ColumnType::date, [](int i) { return padded(1 + i % 28, "%02d.12.2023"); }, "%d.%m.%Y",
       "tdD", "'04.12.2023'", "04.12.2023", "x"},
      {"datetime", ColumnType::datetime, [=](int i) { return day(i) + padded(i, " 08:%02d:00"); }, "%Y-%m-%d %H:%M:%S",
       "tss:", "'2024-02-04T08:03:00'", "2024-02-04 08:03:00", "x"},
      {"identifier", ColumnType::identifier, [](int i) { return padded(i * 7919 % 10000, "ID-%04d-x"); }, "", "",
       "'ID-3757-x'", "\"ID-3757-x\"", ""},
      {"uuid", ColumnType::uuid, [](int i) { return padded(i * 7919, "%08x-9b3f-4a11-8c11-3d2a5b6c7d8e"); }, "", "",
       "'00005ccd-9b3f-4a11-8c11-3d2a5b6c7d8e'", "\"00005ccd-9b3f-4a11-8c11-3d2a5b6c7d8e\"", ""},
      {"constant", ColumnType::constant, [](int) { return "same"; }, "", "", "'same'", "\"same\"", "", false},
  };
}

class Kinds : public testing::TestWithParam<KindCase> {
 protected:
  static std::string csv() {
    const KindCase& c = GetParam();
    std::string out = "at,c\n";
    for (int i = 0; i < kRows; ++i)
      out += std::to_string(std::min(i, 20)) + "," + (c.missing && i == kMissingRow ? "" : c.text(i)) + "\n";
    return out;
  }
  static ArrowArrayStream stream_of(Table table) {
    ArrowArrayStream stream;
    table_export(std::move(table), &stream);
    return stream;
  }
};

TEST_P(Kinds, AreFoundInTexts) {
  const Table table = read_text(csv());
  const Column& c = table.columns[1];
  EXPECT_STREQ(name(c.type), name(GetParam().type)) << c.reason;
  EXPECT_EQ(c.format, GetParam().format);
  EXPECT_EQ(c.is_missing(kMissingRow), GetParam().missing);
  EXPECT_FALSE(c.is_missing(3));
  EXPECT_EQ(is_ordered(c), !c.numbers.empty());
}

TEST_P(Kinds, AreWrittenAsTheyWereRead) {
  const Folder folder;
  CsvWriteOptions options;
  options.path = folder.path("out.csv"), options.like_input = true;
  ArrowArrayStream stream = stream_of(read_text(csv()));
  csv_write(&stream, options, Monitor{});
  EXPECT_EQ(read_bytes(options.path), csv());
}

TEST_P(Kinds, ComeBackFromJson) {
  const Folder folder;
  CsvWriteOptions options;
  options.path = folder.path("t.jsonl"), options.like_input = true;
  ArrowArrayStream stream = stream_of(read_text(csv()));
  json_write(&stream, options, true, Monitor{});
  CsvOptions read;
  read.path = options.path;
  const Table before = read_text(csv()), after = read_file(read);
  EXPECT_STREQ(name(after.columns[1].type), name(before.columns[1].type)) << read_bytes(options.path);
  for (int64_t i = 0; i < before.rows; ++i)
    EXPECT_EQ(cell_text(after.columns[1], i), cell_text(before.columns[1], i)) << i;
}

TEST_P(Kinds, ComeBackFromArrow) {
  const Table before = read_text(csv());
  EXPECT_EQ(default_arrow(before.columns[1]), GetParam().arrow);
  const std::string format = GetParam().arrow;
  EXPECT_TRUE(format.empty() || fits_arrow(GetParam().type, *ArrowType::parse(format)));
  Team team(2);
  for (const bool on : {false, true}) {
    ArrowArrayStream stream = stream_of(read_text(csv()));
    if (on) stream = handed_on(stream);
    expect_equal(table_import(&stream, team, Monitor{}).columns[1], before.columns[1]);
  }
}

TEST_P(Kinds, AreNamedInConditions) {
  const Table table = read_text(csv());
  if (kind_of(GetParam().type).regenerated)
    return expect_where_error(table, "c is null", "--where", ErrorCode::condition, {"is an identifier"});
  EXPECT_EQ(rows_kept(table, "c is null and at < 9"), GetParam().missing ? "7" : "");
  const std::string kept = rows_kept(table, std::string("c = ") + GetParam().literal + " and at < 9");
  EXPECT_NE(kept.find('3'), std::string::npos) << GetParam().literal << " keeps " << kept;
}

TEST_P(Kinds, RefuseWhatTheyCannotBeComparedWith) {
  const Table table = read_text(csv());
  const std::string wrong = GetParam().wrong;
  const std::string expression = "c < " + (wrong.empty() ? GetParam().literal : "'" + wrong + "'");
  const ColumnKind& kind = kind_of(GetParam().type);
  const char* said = kind.regenerated ? "is an identifier" : kind.ordered ? kind.holds : "have no order";
  expect_where_error(table, expression, "--where", ErrorCode::condition, {"\"c\"", said});
}

TEST_P(Kinds, AreShownInMessages) { EXPECT_EQ(cell_text(read_text(csv()).columns[1], 3), GetParam().message); }

INSTANTIATE_TEST_SUITE_P(Each, Kinds, testing::ValuesIn(kind_cases()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(KindCases, EveryKindHasOne) {
  const std::vector<KindCase> cases = kind_cases();
  for (const ColumnKind* kind : all_kinds()) {
    EXPECT_EQ(&kind_of(kind->type), kind);
    EXPECT_EQ(kind->ordered, is_numeric(kind->type)) << kind->name;
    EXPECT_TRUE(std::any_of(cases.begin(), cases.end(), [&](const KindCase& c) { return c.type == kind->type; }))
        << kind->name;
  }
}

}  // namespace
}  // namespace tessera::test
