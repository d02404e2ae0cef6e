// CSV as people have it: delimiters, line ends, headers, quotes; and the same table whatever the number of threads.
#include <iconv.h>

#include <algorithm>
#include <sstream>

#include "support.h"
#include "support/thrown.h"

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

// As the system's iconv converts it.
std::string encoded(const std::string& text, const char* encoding) {
  const iconv_t to = ::iconv_open(encoding, "UTF-8");
  if (to == iconv_t(-1)) return {};
  std::string from = text, out(4 * text.size(), '\0');
  char *in = from.data(), *at = out.data();
  size_t left = from.size(), room = out.size();
  const size_t result = ::iconv(to, &in, &left, &at, &room);
  ::iconv_close(to);
  if (result == size_t(-1)) throw std::runtime_error(std::string("not in ") + encoding);
  out.resize(out.size() - room);
  return out;
}

TEST(Dialect, Encodings) {
  const std::string windows =
      "a,b\n1,caf\u00e9 \u20ac5\n2,\u0152uvre \u2013 na\u00efve\n3,\u00df x\u017e x\u017d\n4,y\n5,\u00c5 z \u00fe\n";
  const std::string any = windows + "6,\u6771\u4eac\n7,\U0001F600\n";
  const Table wanted = read_text(any);
  EXPECT_EQ(wanted.columns[1].values[5], "\u6771\u4eac");
  expect_equal(read_text("\xFF\xFE" + encoded(any, "UTF-16LE")), wanted);
  expect_equal(read_text("\xFE\xFF" + encoded(any, "UTF-16BE")), wanted);
  const std::string western = encoded(windows, "WINDOWS-1252");
  if (western.empty()) GTEST_SKIP() << "the system's iconv has no Windows-1252";
  expect_equal(read_text(western), read_text(windows));
  for (const char* encoding : {"WINDOWS-1251", "SHIFT_JIS"})
    if (const std::string text = encoded("a,b\n1,\u041c\u043e\u0441\u043a\u0432\u0430\n", encoding); !text.empty()) {
      expect_parts(error_of(text), ErrorCode::data, {"t.csv:2: column \"b\"", "not Windows-1252", "iconv"});
    }
}

// A byte or two anywhere in a long file: every piece of text is converted, whatever their borders.
TEST(Dialect, LongFilesOfOtherEncodings) {
  std::string latin = "a,b\n", utf8 = latin;
  for (int i = 0; i < 60'000; ++i) {
    const std::string number = std::to_string(i) + ",", word = i % 7 == 0 ? "r" : "abc";
    latin += number + word + (i % 7 == 0 ? "\xF6t\n" : "\n");
    utf8 += number + word + (i % 7 == 0 ? "\u00f6t\n" : "\n");
  }
  expect_equal(read_text(latin), read_text(utf8));
  expect_equal(read_text("\xFF\xFE" + encoded(utf8, "UTF-16LE")), read_text(utf8));
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
  // years, and the numbers that pandas writes, above text and numbers
  for (const char* text : {"country,1990,1991\na,7.5,8\n", "country,1990,2000\na,7,8\n", "\"\",0,1,2\n0,7,5,4\n",
                           ",1,2,3\n0,7,5,4\n", "0,1,2\n7,5,4\n", "\"\",16.5,17.25\na,3,4\n", ",2.5,7\n1,2,3\n"})
    EXPECT_EQ(read_text(text).rows, 1) << text;
  for (const char* rows : {"ann,1990,1991\nbob,1985,1999\n", "1,2,3\n4,5,6\n", "x,0,1\ny,1,1\n", "5,6,7\n8,1,2\n"})
    EXPECT_EQ(read_text(rows).rows, 2) << rows;
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
  expect_error(ErrorCode::cancelled, {}, [&] { csv_read(options, team, monitor); });
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
