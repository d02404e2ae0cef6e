// Tables in several files and in files that are not CSV. What needs the plugin is skipped where this build has none.
#include "cli/program.h"

#include <cstdlib>
#include <sstream>

namespace {

bool plugin_is_there(const std::string& info) {
  return has(info.substr(info.find("\"parquet_and_arrow\"")), "\"available\":true");
}

class Files : public Cli {
 protected:
  // What a table holds, column by column, without the reasons for types, which depend on the kind of file.
  std::string page(const std::string& file) {
    std::istringstream json(must({"inspect", file, "--json"}).out);
    std::string out;
    for (std::string line; std::getline(json, line);)
      if (!has(line, "\"reason\"") && !has(line, "\"arrow\"")) out += line + "\n";
    return out;
  }
  bool plugin() {
    std::string info = must("info --json").out;
    info.erase(std::remove_if(info.begin(), info.end(), [](char c) { return c == ' ' || c == '\n'; }), info.end());
    return plugin_is_there(info);
  }
  void untrained(const std::string& data) {
    must({"fit", data, "--model", "m.tessera", "--epochs", "0", "--quiet", "--force"});
  }
};

TEST_F(Files, ReadsSeveralCsvFilesAsOneTable) {
  example(300);
  const std::string all = read("people.csv");
  const std::string header = all.substr(0, all.find('\n') + 1);
  const size_t cut = all.find('\n', all.size() / 2) + 1;
  write("part1.csv", all.substr(0, cut));
  write("part2.csv", header + all.substr(cut));
  write("part3.csv", all.substr(cut));  // values from its first row on
  for (const char* parts : {"part1.csv part2.csv", "part1.csv part3.csv", "part[12].csv"}) {
    must("fit people.csv --model whole.tessera --epochs 0 --quiet --force");
    must(Line("fit") + parts + "--model parts.tessera --epochs 0 --quiet --force");
    must("sample whole.tessera --rows 50 --output a.csv --quiet --force");
    must("sample parts.tessera --rows 50 --output b.csv --quiet --force");
    EXPECT_EQ(read("a.csv"), read("b.csv")) << parts;
  }
}

TEST_F(Files, RejectsAFileThatIsGivenTwice) {
  write("a.csv", "x,y\n1,2\n3,4\n");
  write("b.csv", "x,y\n1,2\n3,4\n");
  std::filesystem::create_symlink("a.csv", folder_ / "link.csv");
  must("fit a.csv b.csv --model m.tessera --epochs 0");
  for (const char* tables : {"a.csv a.csv", "a.csv b.csv link.csv", "*.csv"}) {
    const Outcome o = run(Line("fit --model n.tessera --epochs 0") + tables);
    EXPECT_EQ(o.code, 2) << o.err;
    EXPECT_HAS(o.err, "given twice, as a.csv before");
    EXPECT_FALSE(exists("n.tessera"));
  }
}

TEST_F(Files, RejectsFilesWithDifferentColumns) {
  write("a.csv", "x,y\n1,2\n3,4\n");
  write("b.csv", "x,z\n1,2\n");
  write("c.csv", "x,y,z\n1,2,3\n");
  write("d.csv", "y,x\n1,2\n");
  write("e.csv", "x\n1\n");
  std::string wide = "x,y";
  for (int j = 0; j < 20; ++j) wide += ",z" + std::to_string(j);
  write("f.csv", wide + "\n");
  const std::pair<const char*, const char*> differences[] = {{"b.csv", "only this one has \"z\"; it lacks \"y\"."},
                                                             {"c.csv", "only this one has \"z\"."},
                                                             {"d.csv", "column 1 is \"y\", there \"x\"."},
                                                             {"e.csv", "it lacks \"y\"."},
                                                             {"f.csv", "\"z7\" and 12 more."}};
  for (const auto& [other, difference] : differences) {
    const Outcome o = run({"fit", "a.csv", other, "--model", "m.tessera"});
    EXPECT_EQ(o.code, 3) << o.err;
    EXPECT_HAS(o.err, other);
    EXPECT_HAS(o.err, difference);
  }
  Outcome o = run("fit a.csv c.csv --header no --model m.tessera");
  EXPECT_HAS(o.err, "3 here, 2 there");
  o = run("fit a.csv missing-*.csv --model m.tessera");
  EXPECT_EQ(o.code, 4);
  EXPECT_HAS(o.err, "no file matches");
  write("p.parquet", "PAR1 but not really");
  o = run("fit a.csv p.parquet --model m.tessera");
  EXPECT_EQ(o.code, 2);
  EXPECT_HAS(o.err, "same format");
  EXPECT_EQ(run("fit p.parquet --types x=category --model m.tessera").code, 2);
}

TEST_F(Files, ExplainsHowToGetTheMissingPlugin) {
  example(60);
  untrained("people.csv");
  write("p.parquet", "PAR1 but not really");
  ::setenv("TESSERA_ARROW_PLUGIN", "/nowhere/libtessera_arrow.so", 1);
  for (const char* arguments :
       {"sample m.tessera --rows 5 --output s.parquet", "inspect p.parquet", "example e.arrow"}) {
    const Outcome o = run(arguments);
    EXPECT_EQ(o.code, 9) << o.err;
    EXPECT_HAS(o.err, "/nowhere/libtessera_arrow.so does not exist");
    EXPECT_HAS(o.err, "target tessera_arrow");
  }
  EXPECT_HAS(must("info").out, "/nowhere/");
  ::unsetenv("TESSERA_ARROW_PLUGIN");
  EXPECT_FALSE(exists("s.parquet"));
}

TEST_F(Files, RoundTripsRowsInEveryFormat) {
  if (!plugin()) GTEST_SKIP() << "this build has no libtessera_arrow.so";
  example(400);
  untrained("people.csv");
  must("sample m.tessera --rows 1000 --output s.csv --quiet");
  const std::string rows = page("s.csv");
  for (const char* name : {"s.parquet", "s.arrow", "s.feather", "s.arrows"}) {
    must({"sample", "m.tessera", "--rows", "1000", "--output", name, "--quiet"});
    EXPECT_EQ(page(name), rows) << name;
    must({"fit", name, "--model", "again.tessera", "--epochs", "0", "--quiet", "--force"});
  }
  const Outcome there = run("sample m.tessera --rows 5 --output s.parquet");
  EXPECT_EQ(there.code, 4);
  EXPECT_EQ(run("sample m.tessera --rows 5 --output t.parquet --delimiter ;").code, 2);
  EXPECT_FALSE(exists("t.parquet"));
}

TEST_F(Files, WritesTheFormatOfTheEnding) {
  example(300);
  untrained("people.csv");
  must("sample m.tessera --rows 200 --output s.csv --quiet");
  const std::string rows = page("s.csv");
  for (const char* name : {"s.csv.gz", "s.csv.zst", "s.json", "s.jsonl", "s.ndjson.gz"}) {
    must({"sample", "m.tessera", "--rows", "200", "--output", name, "--quiet"});
    EXPECT_EQ(page(name), rows) << name;
    must({"fit", name, "--model", "again.tessera", "--epochs", "0", "--quiet", "--force"});
  }
  for (const char* name : {"s.xlsx", "s.parquet.gz", "t.2024"}) {
    const Outcome o = run({"sample", "m.tessera", "--rows", "5", "--output", name});
    EXPECT_EQ(o.code, 2) << o.err;
    EXPECT_HAS(o.err, ".jsonl");
    EXPECT_FALSE(exists(name));
  }
  EXPECT_EQ(run("sample m.tessera --rows 5 --output t.json --delimiter ;").code, 2);
  EXPECT_EQ(run("inspect s.json --header no").code, 2);
  write("cut.csv.gz", read("s.csv.gz").substr(0, 500));
  const Outcome cut = run("inspect cut.csv.gz");
  EXPECT_EQ(cut.code, 3);
  EXPECT_HAS(cut.err, "cut.csv.gz: the gzip file is damaged at byte 500");
}

TEST_F(Files, ReadsSeveralParquetFilesAsOneTable) {
  if (!plugin()) GTEST_SKIP() << "this build has no libtessera_arrow.so";
  example(400);
  untrained("people.csv");
  for (const auto& [offset, rows, name] :
       {std::tuple{"0", "700", "p1.parquet"}, {"700", "300", "p2.parquet"}, {"0", "1000", "all.parquet"}})
    must({"sample", "m.tessera", "--rows", rows, "--offset", offset, "--output", name, "--quiet"});
  must("fit p?.parquet --model parts.tessera --epochs 0 --quiet");
  must("fit all.parquet --model all.tessera --epochs 0 --quiet");
  must("sample parts.tessera --rows 50 --output a.csv --quiet");
  must("sample all.tessera --rows 50 --output b.csv --quiet");
  EXPECT_EQ(read("a.csv"), read("b.csv"));
  must("example other.parquet --rows 10 --quiet");
  must("evaluate p1.parquet p2.parquet --without-distances --without-c2st --quiet");
}

TEST_F(Files, SamplesLargeFilesEvenly) {
  if (!plugin()) GTEST_SKIP() << "this build has no libtessera_arrow.so";
  std::string csv = "row,text\n";
  for (int i = 0; i < 3000; ++i) csv += std::to_string(i * 7) + ",t" + std::to_string(i % 3) + "\n";
  write("all.csv", csv);
  must("fit all.csv --model m.tessera --epochs 0 --quiet");
  must("sample m.tessera --rows 3000 --output all.parquet --quiet");
  const auto rows_of = [&](const char* most, const char* seed) {
    must({"fit", "all.parquet", "--model", "k.tessera", "--epochs", "0", "--max-rows", most, "--seed", seed, "--quiet",
          "--force"});
    const std::string json = must("inspect k.tessera --json").out;
    const size_t at = json.find("\"rows\":", json.find("\"provenance\""));
    return std::pair(std::stoi(json.substr(at + 7)), json);
  };
  EXPECT_EQ(rows_of("100", "0").first, 100);
  EXPECT_EQ(rows_of("2999", "0").first, 2999);
  EXPECT_EQ(rows_of("3000", "0").first, 3000);
  EXPECT_EQ(rows_of("999999", "0").first, 3000);
  EXPECT_EQ(rows_of("100", "0").second, rows_of("100", "0").second);
  EXPECT_NE(rows_of("100", "0").second, rows_of("100", "1").second);
  EXPECT_EQ(run("fit all.csv --model k.tessera --max-rows 5 --force").code, 2);
}

TEST_F(Files, ReportsDamagedFilesAsDataErrors) {
  if (!plugin()) GTEST_SKIP() << "this build has no libtessera_arrow.so";
  for (const char* name : {"e.parquet", "e.arrow", "e.arrows"}) {
    must({"example", name, "--rows", "500", "--quiet"});
    const std::string whole = read(name);
    for (const size_t keep : {size_t{8}, whole.size() / 3, whole.size() - 9}) {
      write(name, whole.substr(0, keep));
      const Outcome o = run({"inspect", name});
      EXPECT_TRUE(o.code == 3 || o.code == 4) << name << " cut to " << keep << ": " << o.code << " " << o.err;
      EXPECT_HAS(o.err, name);
    }
    std::string damaged = whole;
    for (size_t i = damaged.size() / 4; i < damaged.size(); i += 97) damaged[i] = static_cast<char>(damaged[i] ^ 0x5A);
    write(name, damaged);
    const Outcome o = run({"inspect", name});
    EXPECT_TRUE(o.code == 0 || o.code == 3 || o.code == 4) << o.code << " " << o.err;
  }
}

}  // namespace
