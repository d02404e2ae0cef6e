// JSON tables and compressed files: the same table as from CSV, and back; what is no table is an error with its place.

#include "support.h"
#include "tables/arrow/export.h"
#include "tables/csv/writer.h"
#include "tables/files/json_writer.h"
#include "tables/text_endings.h"

namespace tessera::test {
namespace {

Table read_json(const std::string& text, const std::string& file = "t.jsonl", CsvOptions options = {}) {
  const Folder folder;
  options.path = folder.write(file, text);
  return read_file(options);
}

Error json_error(const std::string& text, const std::string& file = "t.jsonl", CsvOptions options = {}) {
  const Folder folder;
  options.path = folder.write(file, text);
  try {
    read_file(options);
  } catch (const Error& e) {
    std::string message = e.what();
    if (const size_t at = message.find(folder.path("")); at != message.npos) message.erase(at, folder.path("").size());
    return Error(e.code(), message);
  }
  return Error(ErrorCode::internal, "(no error)");
}

std::string written(Table table, const std::string& file) {
  const Folder folder;
  CsvWriteOptions options;
  options.path = folder.path(file);
  const TextEnding ending = text_ending(options.path);
  options.compression = ending.compression;
  ArrowArrayStream stream;
  table_export(std::move(table), &stream);
  if (ending.json) json_write(&stream, options, ending.lines, Monitor{});
  else csv_write(&stream, options, Monitor{});
  return read_bytes(options.path);
}

constexpr const char* kLines =
    "{\"id\":1,\"name\":\"A \\\"x\\\", b\",\"score\":1.50,\"zip\":\"01234\",\"ok\":true,\"day\":\"2024-01-05\"}\n"
    "{\"id\":2,\"name\":\"é\\n\",\"score\":null,\"zip\":\"99999\",\"ok\":false,\"day\":\"2024-02-05\"}\n"
    "{\"id\":3,\"name\":\"c\",\"score\":3.25,\"zip\":\"10000\",\"ok\":true,\"day\":null}\n";

TEST(Json, IsTheTableOfItsCsv) {
  const std::string csv =
      "id,name,score,zip,ok,day\n1,\"A \"\"x\"\", b\",1.50,\"01234\",true,\"2024-01-05\"\n2,\"é\n\",,\"99999\",false,"
      "\"2024-02-05\"\n3,\"c\",3.25,\"10000\",true,\n";
  const Table wanted = read_text(csv);
  expect_equal(read_json(kLines), wanted);
  std::string array = std::string("[") + kLines + "]";
  for (size_t at = 0; (at = array.find("}\n{", at)) != array.npos; ++at) array.insert(at + 1, ",");
  expect_equal(read_json(array, "t.json"), wanted);
  expect_equal(read_json(kLines, "t.json"), wanted);  // lines, whatever the ending
}

TEST(Json, ComesBack) {
  EXPECT_EQ(written(read_json(kLines), "s.jsonl"), kLines);
  const Table again = read_json(written(read_json(kLines), "s.json"), "s.json");
  expect_equal(again, read_json(kLines));
}

TEST(Json, NumbersOfCsvArePlain) {
  const std::string out = written(read_text("a,b,c,d\n\"$1,061.69\",x,5,10:30\n\"$2,000.00\",,5,11:45\n"), "s.jsonl");
  EXPECT_EQ(
      out, "{\"a\":1061.69,\"b\":\"x\",\"c\":5,\"d\":\"10:30\"}\n{\"a\":2000.00,\"b\":null,\"c\":5,\"d\":\"11:45\"}\n");
}

TEST(Json, StringsAreNotNumbers) {
  const std::string lines =
      "{\"a\":\"5\",\"b\":5,\"c\":\"true\",\"d\":\"1,234\",\"e\":\"2024-01-05\",\"f\":5}\n"
      "{\"a\":\"7\",\"b\":7,\"c\":\"false\",\"d\":\"5,678\",\"e\":\"2024-02-05\",\"f\":\"6\"}\n"
      "{\"a\":\"6.5\",\"b\":6.5,\"c\":\"true\",\"d\":\"9,012\",\"e\":\"2024-03-05\",\"f\":7}\n";
  const Table t = read_json(lines);
  const auto type = [](const Table& of, const char* column) { return name(of.find(column)->type); };
  for (const auto& [column, wanted] : {std::pair{"a", "category"},
                                       {"b", "decimal"},
                                       {"c", "category"},
                                       {"d", "integer"},
                                       {"e", "date"},
                                       {"f", "category"}})
    EXPECT_STREQ(type(t, column), wanted) << column;
  EXPECT_EQ(written(read_json(lines.substr(0, lines.find(",\"f\"")) + "}\n"), "s.jsonl"),
            lines.substr(0, lines.find(",\"f\"")) + "}\n");
  CsvOptions options;
  options.types = {{"a", "decimal"}, {"c", "boolean"}};
  const Table given = read_json(lines, "t.jsonl", options);
  EXPECT_EQ(given.find("a")->numbers, (std::vector<double>{5, 7, 6.5}));
  EXPECT_EQ(given.find("a")->decimals, 1);
  EXPECT_STREQ(type(given, "c"), "boolean");
}

TEST(Json, ARecordMayLackNames) {
  const Table t = read_json("{\"a\":1}\n\n{\"b\":\"x\",\"a\":2}\n{}\n{\"a\":3,\"b\":\"y\"}\n");
  ASSERT_EQ(t.columns.size(), 2u);
  EXPECT_EQ(t.rows, 4);
  EXPECT_TRUE(t.columns[1].is_missing(0));
  EXPECT_TRUE(t.columns[0].is_missing(2) && t.columns[1].is_missing(2));
}

TEST(Json, NanIsMissing) {
  const Table t = read_json("[{\"a\": NaN, \"b\": \"NaN \\\"NaN\"}, {\"a\":1.5,\"b\":NaN}]", "t.json");
  EXPECT_TRUE(t.columns[0].is_missing(0) && t.columns[1].is_missing(1));
  EXPECT_EQ(t.columns[0].numbers[1], 1.5);
  EXPECT_EQ(t.columns[1].values, std::vector<std::string>{"NaN \"NaN"});
}

TEST(Json, IsReadFromAFileOfAnotherEnding) {
  expect_equal(read_json(kLines, "t.csv"), read_json(kLines));
  expect_equal(read_json("[{\"a\":1},{\"a\":2}]", "t.txt"), read_json("{\"a\":1}\n{\"a\":2}\n"));
}

TEST(Json, OneColumnKeepsItsMissingRows) { EXPECT_EQ(read_json("{\"a\":1}\n{\"a\":null}\n{\"a\":3}\n").rows, 3); }

TEST(Json, WhatIsNoTableIsSaidWithItsPlace) {
  const auto data = ErrorCode::data;
  expect_parts(json_error("{\"a\":1}\n{\"a\":{\"b\":2}}\n"), data, {"t.jsonl:2: ", "\"a\" holds an object", "flat"});
  expect_parts(json_error("[{\"a\":1},{\"b\":[]}]", "t.json"), data, {"t.json: record 2", "\"b\" holds an array"});
  expect_parts(json_error("{\"a\":1}\n[1,2]\n"), data, {"t.jsonl:2: ", "an array"});
  expect_parts(json_error("[1]", "t.json"), data, {"t.json: record 1", "the value 1"});
  expect_parts(json_error("[[{\"a\":1}]]", "t.json"), data, {"record 1", "an array"});
  expect_parts(json_error("{\"a\":1,\"a\":2}\n"), data, {"t.jsonl:1: ", "\"a\" occurs twice"});
  expect_parts(json_error("{\"a\":1}\n{\"a\":nan}\n"), data, {"t.jsonl:2: ", "not valid JSON"});
  expect_parts(json_error("[\n{\"a\":1},\n{\"a\":", "t.json"), data,
               {"t.json:3: ", "not valid JSON: the text ends early"});
  expect_parts(json_error("{\"a\":1e999}\n"), data, {"t.jsonl:1: ", "too large"});
  expect_parts(json_error("{\"a\":\"x\\u0000\"}\n"), data, {"t.jsonl:1: ", "NUL"});
  expect_parts(json_error("{\"a\":\"\xFF\"}\n"), data, {"t.jsonl:1: ", "not valid JSON"});
  expect_parts(json_error("[]", "t.json"), data, {"no records"});
  expect_parts(json_error("{}\n{}\n"), data, {"no values"});
  expect_parts(json_error("a,b\n1,2\n"), data, {"t.jsonl:1: ", "not valid JSON"});
  expect_parts(json_error(std::string(100'000, '[')), data, {"record 1", "an array"});
}

TEST(Json, NamesThatAreValuesAreRefused) {
  std::string lines;
  for (int i = 0; i < 3000; ++i) lines += "{\"key" + std::to_string(i) + "\":1}\n";
  expect_parts(json_error(lines), ErrorCode::data, {"3000 different names", "1.0 per record on average"});
}

TEST(Json, ARefusedValueNamesItsRecord) {
  CsvOptions options;
  options.types = {{"b", "integer"}};
  expect_parts(json_error("{\"a\":\"x\\ny\",\"b\":1}\n{\"a\":\"z\",\"b\":\"three\"}\n", "t.jsonl", options),
               ErrorCode::data, {"t.jsonl: record 2", "\"three\""});
}

TEST(Json, IsTheSameForAnyThreads) {
  std::string lines;
  for (int i = 0; i < 60'000; ++i)
    lines += "{\"n\":" + std::to_string(i * 7 % 1000) + ",\"t\":\"word" + std::to_string(i % 50) + "\"}\n";
  const Folder folder;
  CsvOptions options;
  options.path = folder.write("t.ndjson", lines);
  expect_equal(read_file(options, 1), read_file(options, 3));
}

TEST(CompressedTables, AreTheSameTable) {
  const std::string csv = "a;b\n1,5;x\n2,5;y\n3,0;\n";
  for (const char* ending : {".gz", ".zst"}) {
    const std::string packed = written(read_text(csv), std::string("s.csv") + ending);
    EXPECT_NE(packed, csv);
    expect_equal(read_json(packed, std::string("t.csv") + ending), read_text(csv));
    expect_equal(read_json(packed, "t.csv"), read_text(csv));  // by its first bytes
    const std::string lines = written(read_json(kLines), std::string("s.jsonl") + ending);
    expect_equal(read_json(lines, std::string("t.jsonl") + ending), read_json(kLines));
    expect_parts(json_error(packed.substr(0, packed.size() / 2), std::string("t.csv") + ending), ErrorCode::data,
                 {"t.csv", "damaged at byte", "ends early"});
    expect_parts(json_error(csv, std::string("t.csv") + ending), ErrorCode::data, {"its ending means"});
    expect_parts(json_error(written(read_text(csv), "s.csv").substr(0, 0), "t.csv"), ErrorCode::data, {"empty"});
  }
}

TEST(CompressedTables, GoToScratchBeyondTheLimit) {
  std::string csv = "n,t\n";
  for (int i = 0; i < 200'000; ++i) csv += std::to_string(i * 7919 % 100'003) + ",w" + std::to_string(i % 9) + '\n';
  const Folder folder;
  CsvOptions options;
  options.path = folder.write("t.csv.gz", written(read_text(csv), "s.csv.gz"));
  Team team(2, std::make_shared<MemoryLimit>(int64_t{1} << 20, folder.path("")));
  expect_equal(csv_read(options, team, Monitor{}), read_text(csv));
}

TEST(Endings, SayWhatIsRead) {
  EXPECT_EQ(text_ending("a.CSV.GZ").compression, Compression::gzip);
  EXPECT_EQ(text_ending("a.json.zst").compression, Compression::zstd);
  EXPECT_TRUE(text_ending("a.json.zst").json && !text_ending("a.json.zst").lines);
  EXPECT_TRUE(text_ending("a.ndjson").lines);
  EXPECT_FALSE(text_ending("json").json);
  EXPECT_TRUE(begins_like_json(" [ {") && begins_like_json("{\"a\"") && begins_like_json("[]"));
  EXPECT_FALSE(begins_like_json("a,b") || begins_like_json("[x],y") || begins_like_json("{") || begins_like_json(""));
}

}  // namespace
}  // namespace tessera::test
