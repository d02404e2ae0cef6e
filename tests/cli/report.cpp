// evaluate --report: the page, and that nothing is lost or half-written on the way to it.
#include "cli/program.h"

namespace {

TEST_F(Cli, WritesAnHtmlReport) {
  model();
  must("sample m.tessera --rows 200 --output out.csv");
  const Outcome o = must("evaluate people.csv out.csv --report report.html --model m.tessera --json");
  EXPECT_HAS(o.err, "report.html");
  EXPECT_TRUE(Json::parse(o.out)["drawings"].is_object());
  const std::string page = read("report.html");
  EXPECT_EQ(page.rfind("<!DOCTYPE html>", 0), 0u);
  for (const char* part :
       {"200 synthetic against 300 real rows", "id=\"columns\"", "id=\"pairs\"", "id=\"model\"", "made"})
    EXPECT_HAS(page, part);
  EXPECT_FALSE(Json::parse(must("evaluate people.csv out.csv --json").out).contains("drawings"));

  // The same tables, the same page, whatever the number of threads.
  must("evaluate people.csv out.csv --report again.html --model m.tessera --threads 1");
  EXPECT_EQ(read("again.html"), page);
}

TEST_F(Cli, ReportsSeveralTablesTogether) {
  model();
  must("sample m.tessera --rows 200 --output out.csv");
  const Line line = "evaluate people.csv out.csv people.csv";
  const Json found = Json::parse(must(line + "--json --report both.html").out);
  ASSERT_EQ(found["tables"].size(), 2u);
  // Each is what an evaluation of it alone gives.
  for (const Json& table : found["tables"]) {
    Json alone = Json::parse(
        must({"evaluate", "people.csv", table["name"].get<std::string>(), "--json", "--report", "one.html", "--force"})
            .out);
    EXPECT_EQ(table["report"], alone) << table["name"];
  }
  for (const char* part : {"out.csv", "people.csv", "Which synthetic table", "id=\"columns\""})
    EXPECT_HAS(read("both.html"), part);
  const std::string text = must(line).out;
  for (const char* part : {"out.csv", "people.csv", "column shapes", "exact copies"}) EXPECT_HAS(text, part);

  must(line + "--report cards.html --model m.tessera --model m.tessera");
  EXPECT_HAS(read("cards.html"), "fingerprint of the table");
  struct Refused {
    Line arguments;
    int code;
    const char* says;
  };
  for (const Refused& r : {Refused{line + "--report x.html --model m.tessera", 2, "--model is given 1 time"},
                           Refused{line + "out.csv", 2, "out.csv is given twice"},
                           Refused{line + "none.csv --report x.html", 4, "none.csv"}}) {
    const Outcome o = run(r.arguments);
    EXPECT_EQ(o.code, r.code);
    EXPECT_HAS(o.err, r.says);
    EXPECT_FALSE(exists("x.html"));
  }
}

TEST_F(Cli, ReportsBrokenRules) {
  std::string real = "start,end,kind\n", rows = real;
  for (int i = 0; i < 200; ++i) {
    const std::string from = std::to_string(i * 37 % 101), to = std::to_string(i * 37 % 101 + i % 30);
    real += from + "," + to + "," + "abc"[i % 3] + "\n";
    rows += (i % 20 == 4 ? to + "9," + from : from + "," + to) + "," + "abc"[i % 3] + "\n";
  }
  write("real.csv", real), write("rows.csv", rows);
  const Line line = "evaluate real.csv rows.csv --without-c2st" + Line{"--rule", "start <= 99"};
  const std::string text = must(line).out;
  for (const char* part : {"broken 2 of 2 rules", "end >= start", "5.00 %", "row 5: end = "}) EXPECT_HAS(text, part);
  EXPECT_EQ(Json::parse(must(line + "--json").out)["rules"].size(), 2u);
  EXPECT_EQ(Json::parse(must(line + "--json --rules off").out)["rules"].size(), 1u);
  EXPECT_HAS(must("evaluate real.csv real.csv --without-c2st").out, "no synthetic row breaks it");
  EXPECT_EQ(run(line + "--rules some").code, 2);
  EXPECT_EQ(run(line + Line{"--rule", "none > 3"}).code, 7);

  // A rule that a model keeps by rejection is one of its rows.
  must({"fit", "real.csv", "--model", "m.tessera", "--epochs", "1", "--rule", "start >= 3"});
  const Outcome o = must("evaluate real.csv rows.csv --model m.tessera --report r.html --json");
  EXPECT_HAS(o.out, "start >= 3");
}

TEST_F(Cli, ComparesRowsOfAPartWithThatPart) {
  must("example real.csv --rows 900 --seed 1");
  std::string part, real = read("real.csv");
  for (size_t i = 0; i < real.size();) {
    const std::string row = real.substr(i, real.find('\n', i) + 1 - i);
    if (i == 0 || row.find(",bachelor,") != std::string::npos) part += row;
    i += row.size();
  }
  write("part.csv", part);
  const std::string whole = must("evaluate real.csv part.csv --without-distances").out;
  EXPECT_HAS(whole, "These rows cover only a part of the real table");
  EXPECT_HAS(whole, "--where \"education = 'bachelor'\"");
  const Outcome judged = must({"evaluate", "real.csv", "part.csv", "--where", "education = 'bachelor'", "--report",
                               "r.html", "--without-distances"});
  EXPECT_HAS(judged.out, "Only rows that meet education = 'bachelor' are compared");
  EXPECT_HAS(read("r.html"), "<bdi>part.csv</bdi>");
  EXPECT_EQ(run({"evaluate", "real.csv", "part.csv", "--where", "age > 500"}).code, 7);
}

TEST_F(Cli, WritesAPageForAFit) {
  must("example people.csv --rows 300");
  std::string table = read("people.csv");
  const std::string row = table.substr(table.rfind('\n', table.size() - 2) + 1);
  const size_t city = row.find(',', row.find(',', row.find(',') + 1) + 1) + 1;  // the fourth column
  write("people.csv", table + row.substr(0, city) + "Rare Town" + row.substr(row.find(',', city)));
  const Line line = "fit people.csv --model m.tessera --epochs 2 --patience 0 --report f.html";
  EXPECT_HAS(must(line).err, "f.html");
  const std::string page = read("f.html");
  for (const char* part :
       {"How was this model trained?", "id=\"training\"", "surprise", "people.csv", ">epochs<", "city</bdi> (1 row)"})
    EXPECT_HAS(page, part);
  EXPECT_EQ(run(line).code, 4) << "neither model nor page is replaced";
  EXPECT_EQ(read("f.html"), page);
  must(line + "--resume");  // the model is finished: it has a card, and nothing was trained
  EXPECT_HAS(read("f.html"), "id=\"model\"");
  EXPECT_EQ(run("fit people.csv --model n.tessera --report -").code, 2);
  EXPECT_EQ(run("fit people.csv --model n.tessera --report people.csv --force").code, 4);
  EXPECT_FALSE(exists("n.tessera"));
}

TEST_F(Cli, KeepsAnExistingReportWithoutForce) {
  model();
  const std::string table = read("people.csv");
  write("old.html", "mine");
  struct Case {
    Line arguments;
    int code;
  };
  for (const Case& c :
       {Case{"--report old.html", 4}, Case{"--report people.csv", 4}, Case{"--report people.csv --force", 4},
        Case{"--report no/folder.html", 4}, Case{"--report -", 2}, Case{"--force", 2}, Case{"--model m.tessera", 2},
        Case{"--report new.html --model none.tessera", 4}, Case{"--report new.html --holdout none.csv", 4}}) {
    const Outcome o = run("evaluate people.csv people.csv" + c.arguments);
    EXPECT_EQ(o.code, c.code) << o.err;
    EXPECT_EQ(o.out, "");
  }
  EXPECT_EQ(read("old.html"), "mine");
  EXPECT_EQ(read("people.csv"), table);
  EXPECT_FALSE(exists("new.html"));
  must("evaluate people.csv people.csv --report old.html --force");
  EXPECT_HAS(read("old.html"), "</html>");
}

}  // namespace
