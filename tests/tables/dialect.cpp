// CSV as people have it: delimiters, line ends, headers, quotes; and the same table whatever the number of threads.
#include <algorithm>
#include <sstream>

#include "support.h"

namespace tessera::test {
namespace {

TEST(Dialect, Delimiters) {
  for (const char d : {',', ';', '\t', '|'}) {
    std::string text = "a,b,c\n1,x,2.5\n3,y,4.5\n";
    std::replace(text.begin(), text.end(), ',', d);
    const Table t = read_text(text);
    ASSERT_EQ(t.columns.size(), 3u) << d;
    EXPECT_EQ(t.columns[2].numbers, (std::vector<double>{2.5, 4.5}));
  }
  EXPECT_EQ(read_text("text\n\"a, b\"\nc; d\n").columns.size(), 1u);
  EXPECT_EQ(read_text("a;b\n1,5;2,5\n2,5;3,5\n").columns[1].numbers, (std::vector<double>{2.5, 3.5}));
}

TEST(Dialect, LineEnds) {
  const Table lf = read_text("a,b\n1,x\n2,y\n");
  for (const char* text : {"a,b\r\n1,x\r\n2,y\r\n", "a,b\r1,x\r2,y\r", "a,b\n1,x\n2,y",
                           "\xEF\xBB\xBF"
                           "a,b\r\n1,x\r\n2,y",
                           "\n a , b \n\n 1,\tx\n  \n2, y\n\n"})
    expect_equal(read_text(text), lf);
}

TEST(Dialect, Quotes) {
  const Table t = read_text("\"a\",\"b, c\"\n \"x\"\"y\" ,\"line\nend\"\n5\" pipe,\" kept \"\n");
  EXPECT_EQ(t.columns[1].name, "b, c");
  EXPECT_EQ(t.columns[0].values, (std::vector<std::string>{"x\"y", "5\" pipe"}));
  EXPECT_EQ(t.columns[1].values, (std::vector<std::string>{"line\nend", " kept "}));
}

TEST(Dialect, Headers) {
  EXPECT_EQ(read_text("id,2019,2020\n7,8,9\n8,9,9\n").columns[1].name, "2019");
  const Table bare = read_text("1,2.5,x\n2,3.5,y\n");
  EXPECT_EQ(bare.rows, 2);
  EXPECT_EQ(bare.columns[0].name, "column_1");
  EXPECT_EQ(read_text("red,5\nblue,6\n").rows, 2);
  EXPECT_EQ(read_text("name,colour\nann,red\n").rows, 1);
  CsvOptions options;
  options.header = CsvOptions::Header::no;
  EXPECT_EQ(read_text("name,colour\nann,red\n", options).rows, 2);
  options.header = CsvOptions::Header::yes;
  EXPECT_EQ(read_text("1,2\n3,4\n", options).columns[1].name, "2");
}

TEST(Dialect, OneRowOneColumn) {
  EXPECT_EQ(read_text("a\n5\n").columns[0].values, (std::vector<std::string>{"5"}));
  EXPECT_EQ(read_text("5").rows, 1);
  EXPECT_EQ(read_text("a\nx\n\"\"\n\ny\n").rows, 3);
}

TEST(Dialect, ThousandsOfColumns) {
  std::ostringstream text;
  for (int j = 0; j < 5000; ++j) text << (j ? ",c" : "c") << j;
  for (int i = 0; i < 200; ++i)
    for (int j = 0; j < 5000; ++j) text << (j ? ',' : '\n') << (j % 3 == 2 ? "v" : "") << (j % 3 == 2 ? i % 7 : i * j);
  const Table t = read_text(text.str());
  ASSERT_EQ(t.columns.size(), 5000u);
  EXPECT_EQ(t.columns[4999].numbers[199], 199 * 4999);
  EXPECT_EQ(t.columns[4997].values.size(), 7u);
}

// Several chunks; quoted fields with line ends that look like rows, so that the guesses where chunks start are often
// wrong.
std::string large_text() {
  std::ostringstream text;
  text << "n,word,note,key\n";
  for (int i = 0; i < 150000; ++i)
    text << i * 37 % 1000 << ",w" << static_cast<int64_t>(i) * i % 91
         << (i % 3 == 0   ? ",\"1,2,3,4\n5,6,\"\"7\"\",8\n\""
             : i % 3 == 1 ? ",plain"
                          : ",")
         << ",k" << i << (i % 2 ? "\r\n" : "\n");
  return text.str();
}

TEST(Dialect, AnyNumberOfThreadsReadsTheSameTable) {
  const std::string text = large_text();
  const Table one = read_text(text, {}, 1);
  EXPECT_EQ(one.rows, 150000);
  EXPECT_EQ(one.columns[1].values[1], "w1");
  EXPECT_EQ(one.columns[2].values, (std::vector<std::string>{"1,2,3,4\n5,6,\"7\",8\n", "plain"}));
  EXPECT_EQ(one.columns[3].type, ColumnType::identifier);
  EXPECT_EQ(one.columns[3].values[149999], "k149999");
  expect_equal(read_text(text, {}, 2), one);
  expect_equal(read_text(text, {}, 3), one);
}

TEST(Dialect, CancelStopsReading) {
  const Folder folder;
  CsvOptions options;
  options.path = folder.write("t.csv", large_text());
  std::atomic<bool> cancel{true};
  Monitor monitor;
  monitor.cancel = &cancel;
  Team team(2);
  try {
    csv_read(options, team, monitor);
    FAIL();
  } catch (const Error& e) { EXPECT_EQ(static_cast<int>(e.code()), static_cast<int>(ErrorCode::cancelled)); }
}

TEST(Dialect, NamedPipe) {
  const Folder folder;
  CsvOptions options;
  options.path = folder.path("pipe");
  ASSERT_EQ(::system(("mkfifo '" + options.path + "'").c_str()), 0);
  std::thread writer([&] { std::ofstream(options.path) << "a,b\n1,x\n2,y\n"; });
  const Table t = read_file(options);
  writer.join();
  EXPECT_EQ(t.rows, 2);
}

}  // namespace
}  // namespace tessera::test
