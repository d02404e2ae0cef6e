// Writing CSV: what comes out, and that nothing half-written ever does.
#include "tables/csv/writer.h"

#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <nlohmann/json.hpp>

#include "kernels/math/philox.h"
#include "support.h"
#include "support/thrown.h"
#include "tables/arrow/export.h"
#include "tables/csv/example.h"
#include "tables/types/inspect.h"

namespace tessera::test {
namespace {

CsvWriteOptions to(const std::string& path) {
  CsvWriteOptions options;
  options.path = path;
  options.fsync = false;
  return options;
}

CsvWritten write(Table table, const CsvWriteOptions& options) {
  ArrowArrayStream stream;
  table_export(std::move(table), &stream);
  const CsvWritten written = csv_write(&stream, options, Monitor{});
  EXPECT_EQ(stream.release, nullptr);
  return written;
}

Error error_of_writing(const CsvWriteOptions& options, int64_t rows = 10) {
  ArrowArrayStream stream;
  example_people(rows, 1, &stream);
  try {
    csv_write(&stream, options, Monitor{});
  } catch (const Error& e) {
    EXPECT_EQ(stream.release, nullptr);
    return e;
  }
  return Error(ErrorCode::internal, "(no error)");
}

TEST(Writer, WritesValuesAsTheyWereRead) {
  const std::string text =
      "n,x,flag,word,day,at,tiny\n"
      "1,2.50,TRUE,\"a, \"\"b\"\"\",31.12.2020,2020-01-01T10:00:00.50,1e-20\n"
      "-7,,false,\"line\nend\",01.01.1969,1969-12-31T23:59:59.25,0.5\n"
      ",-0.25,,,,,\n";
  const Folder folder;
  const CsvWritten written = write(read_text(text), to(folder.path("out.csv")));
  EXPECT_EQ(read_bytes(folder.path("out.csv")), text);
  EXPECT_EQ(written.rows, 3);
  EXPECT_EQ(written.bytes, static_cast<int64_t>(text.size()));
}

TEST(Writer, OneColumnKeepsItsMissingRows) {
  const Folder folder;
  write(read_text("a\n1\n\"\"\n2\n"), to(folder.path("out.csv")));
  EXPECT_EQ(read_bytes(folder.path("out.csv")), "a\n1\n\"\"\n2\n");
}

TEST(Writer, LongTextsAndOtherDelimiters) {
  const std::string text = "a;b\n" + std::string(100000, 'x') + ";\"1;2\"\ny;z\n";
  const Folder folder;
  CsvWriteOptions options = to(folder.path("out.csv"));
  options.delimiter = ';';
  write(read_text(text), options);
  EXPECT_EQ(read_bytes(folder.path("out.csv")), text);
  options.delimiter = '.';
  options.overwrite = true;
  expect_parts(error_of_writing(options), ErrorCode::usage, {"`delimiter`", "'.'"});
}

TEST(Writer, AnExistingFileStaysWithoutOverwrite) {
  const Folder folder;
  CsvWriteOptions options = to(folder.write("out.csv", "old"));
  expect_parts(error_of_writing(options), ErrorCode::io, {"out.csv", "the file exists", "`overwrite=yes`"});
  EXPECT_EQ(read_bytes(options.path), "old");
  options.overwrite = true;
  options.fsync = true;
  EXPECT_EQ(write(example_people(10, 1), options).rows, 10);
  EXPECT_EQ(read_file([&] {
              CsvOptions o;
              o.path = options.path;
              return o;
            }())
                .rows,
            10);
  EXPECT_EQ(folder.files(), 1u);
}

TEST(Writer, PathsThatCannotBe) {
  const Folder folder;
  expect_parts(error_of_writing(to(folder.path("no/out.csv"))), ErrorCode::io, {"there is no directory", "mkdir -p"});
  expect_parts(error_of_writing(to(folder.path(""))), ErrorCode::io, {"this is a directory"});
}

TEST(Writer, FullDiskLeavesNothing) {
  struct stat info {};
  if (::stat("/dev/full", &info) != 0) GTEST_SKIP() << "this system has no /dev/full";
  expect_parts(error_of_writing(to("/dev/full"), 10000), ErrorCode::io, {"/dev/full", "the disk is full"});
  // A limit on file sizes stops a regular file in the middle.
  const Folder folder;
  CsvWriteOptions options = to(folder.write("out.csv", "old"));
  options.overwrite = true;
  rlimit before{}, small{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  small = before;
  small.rlim_cur = 100000;
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ::setrlimit(RLIMIT_FSIZE, &small);
  const Error e = error_of_writing(options, 10000);
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  expect_parts(e, ErrorCode::io, {"out.csv", "allowed size"});
  EXPECT_EQ(read_bytes(options.path), "old");
  EXPECT_EQ(folder.files(), 1u);
}

TEST(Writer, AReaderThatGoesAwayIsAnError) {
  const Folder folder;
  const std::string pipe = folder.path("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::thread reader([&] { std::ifstream(pipe).get(); });
  const Error e = error_of_writing(to(pipe), 200000);
  reader.join();
  expect_parts(e, ErrorCode::io, {"the program that was reading went away"});
}

TEST(Writer, AStreamsErrorTakesTheFileBack) {
  const Folder folder;
  ArrowArrayStream stream;
  int given = 0;
  table_stream(
      example_people(1, 1),
      [&](Table& batch) {
        if (given++ == 3) throw Error(ErrorCode::condition, "no more rows meet it");
        batch = example_people(1000, 1);
        return true;
      },
      &stream);
  expect_error(ErrorCode::condition, {"no more rows meet it"},
               [&] { csv_write(&stream, to(folder.path("out.csv")), Monitor{}); });
  EXPECT_EQ(folder.files(), 0u);
}

// Random tables of every type, written and read again.
TEST(Writer, WhatIsWrittenReadsBackEqual) {
  for (uint32_t seed = 1; seed <= 20; ++seed) {
    const Folder folder;
    Table people = example_people(1 + static_cast<int64_t>(philox(seed, 0, 0, 0, 0, 0).word[0] % 3000), seed);
    write(Table(people), to(folder.path("a.csv")));
    CsvOptions options;
    options.path = folder.path("a.csv");
    const Table once = read_file(options);
    write(Table(once), to(folder.path("b.csv")));
    EXPECT_EQ(read_bytes(folder.path("b.csv")), read_bytes(folder.path("a.csv")));
    options.path = folder.path("b.csv");
    expect_equal(read_file(options), once);
  }
}

TEST(Writer, RandomBytesNeverCrashTheReader) {
  constexpr char kWild[] = ",,;;\t|\"\"\n\n\r 0123456789.-+eE/:TZaNnull?\xC3\xA9\xFF\0";
  // From text that is often a table of one column to bytes that hardly ever are one.
  const std::string alphabets[] = {"0123456789.-+e/: \n\n\n", "abNAn?\n\n 01", "01,\n\"ab;",
                                   std::string(kWild, sizeof kWild - 1)};
  const Folder folder;
  int tables = 0;
  for (uint32_t seed = 0; seed < 3000; ++seed) {
    const Philox size = philox(0, seed, 0, 0, 7, 7);
    std::string text;
    for (uint32_t i = 0; i < size.word[0] % 200; ++i) {
      const Philox p = philox(1 + i, seed, 0, 0, 7, 7);
      const std::string& alphabet = alphabets[size.word[2] % 4];
      text += size.word[1] % 8 == 0 ? static_cast<char>(p.word[0]) : alphabet[p.word[0] % alphabet.size()];
    }
    CsvOptions options;
    options.path = folder.write("t.csv", text);
    options.header = static_cast<CsvOptions::Header>(size.word[3] % 3);
    try {
      const Table t = read_file(options, 1);
      ++tables;
      for (const Column& c : t.columns) ASSERT_EQ(c.size(), t.rows);
      EXPECT_EQ(inspect(t)["columns"].size(), t.columns.size());
      CsvWriteOptions out = to(folder.path("u.csv"));
      out.overwrite = true;
      EXPECT_EQ(write(Table(t), out).rows, t.rows);
      CsvOptions again;
      again.path = out.path;
      again.delimiter = ',';
      again.header = CsvOptions::Header::yes;
      again.like = &t;
      const Table back = read_file(again, 1);
      EXPECT_EQ(back.rows, t.rows);
      for (size_t j = 0; j < t.columns.size(); ++j)
        for (int64_t i = 0; i < t.rows; ++i)
          ASSERT_EQ(back.columns[j].is_missing(i), t.columns[j].is_missing(i)) << seed << " " << text;
    } catch (const Error& e) {
      EXPECT_GT(std::string(e.what()).size(), 20u);
      ASSERT_NE(static_cast<int>(e.code()), static_cast<int>(ErrorCode::internal)) << e.what();
    }
  }
  EXPECT_GT(tables, 100);
}

TEST(Inspect, SaysWhatATableHolds) {
  const nlohmann::json j = inspect(read_text("n,w,d\n1,x,2020-01-01\n2,,2020-01-03\n2,x,\n,y,2020-01-01\n"));
  EXPECT_EQ(j["rows"], 4);
  const auto& n = j["columns"][0];
  EXPECT_EQ(n["type"], "integer");
  EXPECT_EQ(n["missing"], 1);
  EXPECT_EQ(n["distinct"], 2);
  EXPECT_EQ(n["min"], 1);
  EXPECT_EQ(n["max"], 2);
  EXPECT_DOUBLE_EQ(n["mean"].get<double>(), 5.0 / 3);
  EXPECT_EQ(j["columns"][1]["top"][0]["value"], "x");
  EXPECT_EQ(j["columns"][1]["top"][0]["count"], 2);
  EXPECT_EQ(j["columns"][2]["min"], "2020-01-01");
  EXPECT_EQ(j["columns"][2]["format"], "%Y-%m-%d");
}

TEST(Example, HasItsTruth) {
  const Table t = example_people(50000, 5);
  const auto share = [&](const char* column, auto is) {
    const Column& c = *t.find(column);
    int64_t n = 0;
    for (int64_t i = 0; i < t.rows; ++i) n += is(c, i);
    return static_cast<double>(n) / static_cast<double>(t.rows);
  };
  const auto missing = [](const Column& c, int64_t i) { return c.is_missing(i); };
  EXPECT_NEAR(share("income", missing), .08, .006);
  EXPECT_NEAR(share("plan", missing), .12, .007);
  EXPECT_NEAR(share("capital_gain", [](const Column& c, int64_t i) { return c.numbers[static_cast<size_t>(i)] == 0; }),
              .85, .008);
  EXPECT_NEAR(share("city", [](const Column& c, int64_t i) { return c.codes[static_cast<size_t>(i)] == 0; }), .368,
              .01);
  const Table ten = example_people(10, 5);
  EXPECT_EQ(ten.find("income")->numbers[9], t.find("income")->numbers[9]);
  EXPECT_THROW(example_people(0, 1), Error);
}

}  // namespace
}  // namespace tessera::test
