// Errors in CSV files and their messages: one test per line of the table in docs/data/tables.md.
#include <sys/stat.h>

#include "support.h"
#include "support/thrown.h"
#include "tables/csv/scan.h"

namespace tessera::test {
namespace {

TEST(Malformed, RaggedRow) {
  expect_parts(error_of("a,b\n1,2\n3\n"), ErrorCode::data,
               {"t.csv:3: this row has 1 field, the first row has 2", "double quotes", "`delimiter`"});
  expect_parts(error_of("a,b\n1,2\n\n3,4,5\n"), ErrorCode::data, {"t.csv:4: this row has 3 fields"});
}

// Every way of reading a row ends at the bound, whatever it keeps of the fields: the first row, a header, a later row.
TEST(Malformed, TooManyFields) {
  const size_t most = CsvScanner::kMaxFields;
  for (const size_t kept : {size_t{1}, most, size_t{SIZE_MAX}})
    for (const size_t fields : {most - 1, most, most + 1}) {
      const std::string row(fields - 1, ',');
      CsvScanner scanner(row.data(), row.data() + row.size(), ',');
      scanner.keep_fields(kept);
      if (fields <= most) {
        ASSERT_TRUE(scanner.next());
        EXPECT_EQ(scanner.count(), fields);
        EXPECT_EQ(scanner.fields()[std::min(kept, fields) - 1].size, 0u);
      } else {
        EXPECT_THROW(scanner.next(), CsvFault);
      }
    }
  expect_parts(error_of(std::string(most, ',')), ErrorCode::data,
               {"t.csv:1: this row has more than 1,048,576 fields", "one record per line"});
  expect_parts(error_of("a,b\n1,2\n" + std::string(most, ',')), ErrorCode::data,
               {"t.csv:3: this row has more than 1,048,576 fields"});
}

TEST(Malformed, LinesAreCountedAcrossQuotedLineEnds) {
  expect_parts(error_of("a,b\n\"x\r\ny\n\",2\n3\n"), ErrorCode::data, {"t.csv:5: this row has 1 field"});
}

TEST(Malformed, QuoteNeverClosed) {
  expect_parts(error_of("a,b\n1,2\n3,\"open\n4,5\n"), ErrorCode::data,
               {"t.csv:3: column \"b\"", "never closed", "\"open"});
}

TEST(Malformed, TextAfterClosingQuote) {
  expect_parts(error_of("a,b\n1,\"x\" y\n"), ErrorCode::data,
               {"t.csv:2: column \"b\"", "after its closing quote", "Double the quotes"});
}

TEST(Malformed, BadUtf8) {
  expect_parts(error_of("a,b\n1,caf\xE9\n2,caf\xC3\xA9\n"), ErrorCode::data,
               {"t.csv:2: column \"b\"", "0xE9", "iconv"});
  for (const char* bad : {"\xC0\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xE2\x82", "\x81"})
    expect_parts(error_of(std::string("a,b\n1,") + bad + "\n"), ErrorCode::data, {"t.csv:2:", "not UTF-8"});
}

TEST(Malformed, NulByte) {
  expect_parts(error_of(std::string("a,b\n1,x\0y\n", 10)), ErrorCode::data, {"t.csv:2: column \"b\"", "NUL byte"});
}

TEST(Malformed, LongTexts) {
  constexpr size_t kMax = 1'048'576;  // as docs/data/tables.md says
  for (const size_t size : {kMax - 1, kMax, kMax + 1}) {
    const std::string text = "a,b\n1,x\n2," + std::string(size, 'y') + "\n3,x\n";
    if (size <= kMax) EXPECT_EQ(read_text(text).columns[1].values.back().size(), size);
    else
      expect_parts(error_of(text), ErrorCode::data,
                   {"t.csv:3: column \"b\" holds a text of 1048577 bytes; the limit is 1048576", "omit the column"});
  }
}

TEST(Malformed, Utf16) {
  const auto text = [](const char* units, size_t bytes) { return std::string("\xFF\xFE") + std::string(units, bytes); };
  expect_parts(error_of(text("a\0,", 3)), ErrorCode::data, {"t.csv:", "UTF-16", "damaged at byte 4"});
  expect_parts(error_of(text("a\0\0\xDC", 4)), ErrorCode::data, {"damaged at byte 4"});
  expect_parts(error_of(text("a\0\0\xD8,\0", 6)), ErrorCode::data, {"damaged at byte 4"});
  expect_parts(error_of(text("", 0)), ErrorCode::data, {"t.csv: the file is empty"});
  expect_parts(error_of(std::string("a\0,\0b\0\n\0", 8)), ErrorCode::data, {"NUL byte", "UTF-16 without"});
}

TEST(Malformed, EmptyFile) {
  expect_parts(error_of(""), ErrorCode::data, {"t.csv: the file is empty", "header"});
  expect_parts(error_of("\n \r\n\n"), ErrorCode::data, {"t.csv: the file has only blank lines"});
  expect_parts(error_of("\xEF\xBB\xBF"), ErrorCode::data, {"t.csv: the file has only blank lines"});
}

TEST(Malformed, HeaderOnly) {
  expect_parts(error_of("a,b\n"), ErrorCode::data, {"t.csv: there is a header (2 columns)", "no row", "`header=no`"});
}

TEST(Malformed, Names) {
  expect_parts(error_of("a,,c\n1,2,3\n"), ErrorCode::data, {"t.csv:1: column 2 of the header has no name"});
}

TEST(Malformed, Infinities) {
  expect_parts(error_of("a,b\n1,2\n1.5,-inf\n"), ErrorCode::data,
               {"t.csv:3: column \"b\" holds \"-inf\"", "infinite", "`missing"});
  expect_parts(error_of("a\n1.5\nInfinity\n"), ErrorCode::data, {"t.csv:3: column \"a\" holds \"Infinity\""});
}

TEST(Malformed, NumbersTooLarge) {
  expect_parts(error_of("a\n1.5\n1e999\n"), ErrorCode::data,
               {"t.csv:3: column \"a\" holds \"1e999\"", "too large", "`types=a=category`"});
}

TEST(Malformed, NoFile) {
  CsvOptions options;
  options.path = "no_such_folder/no_such.csv";
  expect_error(ErrorCode::io, {"no_such_folder/no_such.csv", "no such file"}, [&] { read_file(options); });
}

TEST(Malformed, Directory) {
  const Folder folder;
  CsvOptions options;
  options.path = folder.path("");
  expect_error(ErrorCode::io, {"is a directory"}, [&] { read_file(options); });
}

TEST(Malformed, NoPermission) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may read everything";
  const Folder folder;
  CsvOptions options;
  options.path = folder.write("secret.csv", "a\n1\n");
  ::chmod(options.path.c_str(), 0);
  expect_error(ErrorCode::io, {"secret.csv", "no permission", "chmod"}, [&] { read_file(options); });
}

TEST(Malformed, UnknownColumnOrTypeInTypes) {
  CsvOptions options;
  options.types = {{"agee", "integer"}};
  expect_parts(error_of("age,name\n1,x\n", options), ErrorCode::usage,
               {"`types`: there is no column \"agee\"", "Nearest: \"age\""});
  options.types = {{"age", "float"}};
  expect_parts(error_of("age,name\n1,x\n", options), ErrorCode::usage,
               {"there is no type \"float\"", "integer, decimal, boolean"});
}

TEST(Malformed, OverrideThatAValueViolates) {
  CsvOptions options;
  options.types = {{"age", "integer"}};
  expect_parts(
      error_of("age\n31\n3O\n", options), ErrorCode::data,
      {"t.csv:3: column \"age\" holds \"3O\", which is not an integer", "`types=age=category`", "`missing=3O`"});
  expect_parts(error_of("age\n31\n3.5\n", options), ErrorCode::data, {"t.csv:3:", "\"3.5\"", "not an integer"});
  options.types = {{"age", "date"}};
  expect_parts(error_of("age\n2020-01-31\n2020-02-30\n", options), ErrorCode::data,
               {"t.csv:3:", "\"2020-02-30\"", "not a date"});
  options.types = {{"age", "boolean"}};
  expect_parts(error_of("age\nyes\nmaybe\n", options), ErrorCode::data, {"t.csv:3:", "\"maybe\"", "not true or false"});
  options.types = {{"age", "constant"}};
  expect_parts(error_of("age\nx\ny\n", options), ErrorCode::data,
               {"column \"age\" should be constant", "\"x\" and \"y\""});
}

TEST(Malformed, WrongSchema) {
  const Table like = read_text("age,name\n1,x\n2,y\n");
  CsvOptions options;
  options.like = &like;
  expect_parts(error_of("age,nam\n1,x\n", options), ErrorCode::data, {"t.csv: column \"name\" is missing", "\"nam\""});
  expect_parts(error_of("age,name,more\n1,x,2\n", options), ErrorCode::data,
               {"column \"more\" is not in the other table"});
  expect_parts(error_of("age,name\nold,x\n", options), ErrorCode::data,
               {"t.csv:2: column \"age\" holds \"old\", which is not an integer"});
}

TEST(Malformed, FirstErrorOfTheFileIsTheOneSaid) {
  std::string text = "a,b\n";
  for (int i = 0; i < 400000; ++i) text += i == 399990 || i == 200000 ? "1\n" : "1234,5678\n";
  expect_parts(error_of(text), ErrorCode::data, {"t.csv:200002: this row has 1 field"});
}

}  // namespace
}  // namespace tessera::test
