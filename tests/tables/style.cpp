// A table goes out in the style of the file it was read from: delimiter, quotes, line ends, byte-order mark.
#include "tables/csv/style.h"

#include "support.h"
#include "support/thrown.h"
#include "tables/arrow/export.h"
#include "tables/csv/writer.h"
#include "tables/files/table_file.h"
#include "tables/text_endings.h"

namespace tessera::test {
namespace {

// A text through the reader, a stream and the writer.
std::string written(const std::string& text, bool like_input = true, char delimiter = 0) {
  const Folder folder;
  CsvOptions in;
  in.path = folder.write("in.csv", text);
  CsvWriteOptions options;
  options.path = folder.path("out.csv");
  options.fsync = false;
  options.like_input = like_input;
  options.delimiter = delimiter;
  ArrowArrayStream stream;
  table_export(read_file(in), &stream);
  csv_write(&stream, options, Monitor{});
  return read_bytes(options.path);
}

TEST(Style, AFileGoesOutAsItCameIn) {
  for (const char* text : {
           "a;b\n1,5;x\n2,5;y\n",
           "a\tb\r\n1\tx\r\n2\ty\r\n",
           "\xEF\xBB\xBF"
           "a|b\n1|x\n2|y\n",
           "\"a\",\"b\"\n1,\"x\"\n2,\"y\"\n",
           "\"a\",\"b\"\n\"1.0\",\"x\"\n\"2.5\",\"\"\n\"3.0\",\"y\"\n",
           "a,b\r1,x\r2,y\r",
           "sep=;\na;b\n1;x\n2;y\n",
           "\xEF\xBB\xBFsep=;\r\na;b\r\n1;x\r\n2;y\r\n",
           ",b\n0,x\n1,y\n",
           "a,b\n\"1,061.50\",x\n\"12.00\",y\n",
           "|a|b|\n|1|x|\n|2|y|\n",
           "a,b,\n1,x,\n2,y,\n",
           ",a\n,1\n,2\n",
           "a,a,b,a\n1,2,x,3\n2,2.5,y,4\n",
           "a,b,c\n1,\\N,x\n\\N,2020-01-31,\\N\n2,2020-02-28,y\n",
           "a,b\n1,x\nNA,y\n2,NA\n",
           "a,b,c\n.,1,-\n.,2,-\n",
           "\"a\",\"b\"\n1,\"x\"\nNA,NA\n2,\"\"\n3,\"None\"\n",
       })
    EXPECT_EQ(written(text), text);
}

TEST(Style, LineEndsThatWereTranslatedTwice) {
  EXPECT_EQ(written("a,b\r\r\n1,x\r\r\n2,y\r\r\n"), "a,b\r\n1,x\r\n2,y\r\n");
}

TEST(Style, MissingValuesOfSeveralKindsAreEmpty) {
  EXPECT_EQ(written("a,b\n1,2\nNA,3\n,4\n"), "a,b\n1,2\n,3\n,4\n");
  // each column has its own; what says "missing" among numbers is a category among texts
  std::string text = "a,b,c\n1,?,2\nNA,x,\n2,?,3\n";
  EXPECT_EQ(written(text), text);
  for (int i = 0; i < 200; ++i) text += std::to_string(i) + ",y,4\n";
  EXPECT_EQ(written(text + "NA,x,\nNA,?,\n"), text + "NA,x,\nNA,?,\n");
}

TEST(Style, NamesThatRepeatAreNumbered) {
  const Table t = read_text("a,a,a.1,a\n1,2,x,3\n2,3,y,4\n");
  std::vector<std::string> names;
  for (const Column& c : t.columns) names.push_back(c.name);
  EXPECT_EQ(names, (std::vector<std::string>{"a", "a.2", "a.1", "a.3"}));
}

TEST(Style, AFileThatWasWrittenIsLikeTheFirst) {
  const Folder folder;
  const Table first = read_text("|a|a|\n|1|x|\n|2|y|\n");
  CsvOptions again;
  again.path = folder.write("again.csv", written("|a|a|\n|1|x|\n|2|y|\n"));
  again.like = &first;
  EXPECT_EQ(read_file(again).columns.size(), 2u);
  again.path = folder.write("other.csv", ",a,a\n7,1,x\n8,2,y\n");
  EXPECT_THROW(read_file(again), Error);
}

TEST(Style, PlainIsForPrograms) {
  EXPECT_EQ(written("\xEF\xBB\xBF"
                    "a;b;c;d\r\n1.061,50 €;31.12.2020;03:47 PM;08.05.23 10:00\r\n2,00 €;01.01.2021;12:00 "
                    "AM;28.05.23 10:00\r\n",
                    false),
            "a,b,c,d\n1061.5,2020-12-31,15:47:00,2023-05-08T10:00:00\n2.0,2021-01-01,00:00:00,2023-05-28T10:00:00\n");
}

TEST(Style, AGivenDelimiterWins) {
  EXPECT_EQ(written("a;b\n1,5;x\n2,5;y\n", true, ','), "a,b\n\"1,5\",x\n\"2,5\",y\n");
}

TEST(Style, QuotesThatAreNeededAreNoStyle) {
  EXPECT_EQ(written("a,b\n\"x,y\",1\n\"u,v\",2\n"), "a,b\n\"x,y\",1\n\"u,v\",2\n");
  EXPECT_TRUE(CsvStyle::parse(read_text("a,b\n\"x,y\",1\n\"u,v\",2\n").dialect).quoted.empty());
}

TEST(Style, AnIndexWithoutANameIsRead) {
  const Table t = read_text(",x\n0,a\n1,b\n");
  EXPECT_EQ(t.columns[0].name, "Unnamed: 0");
  EXPECT_EQ(t.rows, 2);
}

TEST(Style, ADelimiterAtTheEndOfEveryLineMakesNoColumn) {
  const Table t = read_text("a,b,\n1,x,\n2,y,\n");
  EXPECT_EQ(t.columns.size(), 2u);
  EXPECT_EQ(read_text("a,b,\n1,x,7\n2,y,\n").columns[2].name, "Unnamed: 2");
}

TEST(Style, OddFilesAreReadWithALineOfLog) {
  std::vector<std::string> notices;
  Monitor monitor;
  monitor.on_progress = [&](const Progress& p) {
    if (std::string(p.phase) == "notice") notices.push_back(p.note);
  };
  const Folder folder;
  CsvOptions options;
  Team team(1);
  std::string words = "n,m\n";
  for (int i = 0; i < 60; ++i)
    words += (i % 9 == 4 ? "unknown" : std::to_string(i * i)) + ',' + std::to_string(i) + '\n';
  std::string days = "day,m\n";  // one of 60 is none
  for (int i = 0; i < 60; ++i)
    days += (i == 7 ? "30.02.2021" : std::to_string(13 + i % 15) + ".0" + std::to_string(1 + i % 9) + ".2021") + ",x\n";
  const std::string comments = "# exported\n# by me, twice, at once\na,b\n1,2\n3,4\n";
  for (const std::string& text :
       {std::string(",x\n0,a\n1,b\n"), std::string("a,b,\n1,x,\n2,y,\n"), std::string("sep=;\na;b\n1;2\n3;4\n"), words,
        comments, std::string("1,2\n3,4\n"), days, std::string("a,b,,,\n1,2,,,\n3,4,,,\n"),
        std::string("ra   dec\n 1.5  -2\n11.5  3.25\n"), std::string("name\nAnn Lee\nBo Ray\n"),
        std::string("note\n2 pills\n1 small pill\n")}) {
    options.path = folder.write("t.csv", text);
    csv_read(options, team, monitor);
  }
  ASSERT_EQ(notices.size(), 9u);
  EXPECT_NE(notices[3].find("53 of 60 values are numbers: \"unknown\" is not. `missing=unknown`"), std::string::npos)
      << notices[3];
  EXPECT_NE(notices[4].find("begin with # are left out"), std::string::npos);
  expect_equal(read_text(comments), read_text("a,b\n1,2\n3,4\n"));
  for (const char* text : {"#a,b\n1,2\n3,4\n", "## made by me\n#a,b\r\n1,2\n3,4\n", "# caf\xe9\n#a,b\n1,2\n3,4\n",
                           "#a,b\n1,\"$2,000\"\n3,\"$4,000\"\n"})
    EXPECT_EQ(read_text(text).columns[0].name, "#a") << "a header";
  expect_parts(error_of("# made by\r\n# x\r\na,b\r\n1,2\r\n3\r\n"), ErrorCode::data, {"t.csv:5: this row has 1 field"});
  EXPECT_NE(notices[0].find("Unnamed: 0"), std::string::npos);
  EXPECT_NE(notices[1].find("ends with a delimiter"), std::string::npos);
  EXPECT_NE(notices[2].find("sets the delimiter"), std::string::npos);
  EXPECT_NE(notices[5].find("`header=yes`"), std::string::npos);
  EXPECT_NE(notices[6].find("59 of 60 values are dates: \"30.02.2021\" is not. `missing=30.02.2021`"),
            std::string::npos)
      << notices[6];
  EXPECT_NE(notices[7].find("3 columns behind the last name, without names and values"), std::string::npos);
  EXPECT_NE(notices[8].find("rows all have 2 words"), std::string::npos) << notices[8];
  const Table spreadsheet = read_text("a,b,,,\n1,2,,7,\n3,4,,8,\n");
  ASSERT_EQ(spreadsheet.columns.size(), 3u);  // what has values stays
  EXPECT_EQ(spreadsheet.columns[2].name, "Unnamed: 3");
}

TEST(Style, EndingsThatAreNotWritten) {
  for (const char* path : {"a.xml", "a.parquet.gz", "a.csv.bz2", "a.xlsx", "a.2024", "b/a.tessera"}) {
    expect_error(ErrorCode::usage, {path, ".csv, .tsv, .tab, .txt, .json"}, [&] { kind_of_output(path); });
  }
  EXPECT_EQ(kind_of_output("a.Parquet"), FileKind::parquet);
  for (const char* path : {"json", "a.json", "a.CSV.GZ", "a.jsonl.zst", "a.b/c", "-", ".hidden", "/dev/null", "a.txt"})
    EXPECT_EQ(kind_of_output(path), FileKind::csv) << path;
  EXPECT_EQ(text_ending("a.tsv").delimiter, '\t');
  EXPECT_EQ(text_ending("a.tsv.gz").delimiter, '\t');
  EXPECT_EQ(text_ending("a.csv").delimiter, '\0');
}

TEST(Style, FilesThatAreNoText) {
  const Folder folder;
  for (const auto& [bytes, what] : {std::pair{std::string("BZh9"), "bzip2 -dc"},
                                    {std::string("\xFD"
                                                 "7zXZ"),
                                     "xz -dc"},
                                    {std::string("PK\x03\x04 and more"), "spreadsheet"},
                                    {std::string("\xD0\xCF\x11\xE0 and more"), "spreadsheet"},
                                    {std::string("\x40\0\0\0\0\0\0\0{\"__metadata__\":{}}", 26), "Sample rows"}}) {
    expect_error(ErrorCode::data, {"t.csv", what}, [&] { check_is_text(folder.write("t.csv", bytes)); });
  }
  check_is_text(folder.write("t.csv", "a\n1\n"));
  for (const char* name : {"t.parquet", "t.feather", "t.arrows"}) {
    expect_error(ErrorCode::data, {name, "its ending means"}, [&] { check_is_text(folder.write(name, "a\n1\n")); });
  }
}

TEST(Style, AForeignTextIsAPlainFile) {
  EXPECT_EQ(CsvStyle::parse("no JSON"), CsvStyle{});
  EXPECT_EQ(CsvStyle::parse("{\"delimiter\":7,\"line_end\":\"x\",\"quoted\":\"a\"}"), CsvStyle{});
  CsvStyle style;
  style.delimiter = ';', style.line_end = "\r\n", style.quoted = {"ä"}, style.quoted_header = true;
  EXPECT_EQ(CsvStyle::parse(style.text()), style);
}

}  // namespace
}  // namespace tessera::test
