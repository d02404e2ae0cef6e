// evaluate --report: the page, and that nothing is lost or half-written on the way to it.
#include <nlohmann/json.hpp>

#include "cli/program.h"

namespace {

using Json = nlohmann::json;

TEST_F(Cli, AReportToLookAt) {
  model();
  must({"sample", "m.tessera", "--rows", "200", "--output", "out.csv"});
  const Outcome o =
      must({"evaluate", "people.csv", "out.csv", "--report", "report.html", "--model", "m.tessera", "--json"});
  EXPECT_HAS(o.err, "report.html");
  EXPECT_TRUE(Json::parse(o.out)["drawings"].is_object());
  const std::string page = read("report.html");
  EXPECT_EQ(page.rfind("<!DOCTYPE html>", 0), 0u);
  for (const char* part :
       {"200 synthetic against 300 real rows", "id=\"columns\"", "id=\"pairs\"", "id=\"model\"", "made"})
    EXPECT_HAS(page, part);
  EXPECT_FALSE(Json::parse(must({"evaluate", "people.csv", "out.csv", "--json"}).out).contains("drawings"));

  // The same tables, the same page, whatever the number of threads.
  must({"evaluate", "people.csv", "out.csv", "--report", "again.html", "--model", "m.tessera", "--threads", "1"});
  EXPECT_EQ(read("again.html"), page);
}

TEST_F(Cli, AReportReplacesNothingUnasked) {
  model();
  const std::string table = read("people.csv");
  write("old.html", "mine");
  struct Case {
    std::vector<std::string> arguments;
    int code;
  };
  for (const Case& c : {Case{{"--report", "old.html"}, 4}, Case{{"--report", "people.csv"}, 4},
                        Case{{"--report", "people.csv", "--force"}, 4}, Case{{"--report", "no/folder.html"}, 4},
                        Case{{"--report", "-"}, 2}, Case{{"--force"}, 2}, Case{{"--model", "m.tessera"}, 2},
                        Case{{"--report", "new.html", "--model", "none.tessera"}, 4},
                        Case{{"--report", "new.html", "--holdout", "none.csv"}, 4}}) {
    std::vector<std::string> line{"evaluate", "people.csv", "people.csv"};
    line.insert(line.end(), c.arguments.begin(), c.arguments.end());
    const Outcome o = run(line);
    EXPECT_EQ(o.code, c.code) << o.err;
    EXPECT_EQ(o.out, "");
  }
  EXPECT_EQ(read("old.html"), "mine");
  EXPECT_EQ(read("people.csv"), table);
  EXPECT_FALSE(exists("new.html"));
  must({"evaluate", "people.csv", "people.csv", "--report", "old.html", "--force"});
  EXPECT_HAS(read("old.html"), "</html>");
}

}  // namespace
