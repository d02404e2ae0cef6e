// tessera dedup: what it says, what it writes, how it ends.
#include <fmt/format.h>

#include "cli/program.h"

namespace {

class CliDedup : public Cli {
 protected:
  // 40 different rows, then an exact copy of the third row in another spelling, and a near copy of the fifth.
  void orders() {
    std::string csv = "day;city;amount;paid;items;code\n";
    const auto row = [](int i, int amount) {
      return fmt::format("2024-01-{:02};{};{},50;{};{};c{}\n", i % 28 + 1,
                         i % 3 == 0   ? "Ulm"
                         : i % 3 == 1 ? "Bonn"
                                      : "Kiel",
                         amount, i % 2 == 0 ? "yes" : "no", i * 7 % 40, i % 11);
    };
    for (int i = 0; i < 40; ++i) csv += row(i, 1000 + 37 * i);
    unique = csv;
    write("orders.csv", csv + "03.01.2024;Kiel;1074,50;yes;14;c2\n" + row(4, 1149));
  }
  std::string unique;
};

TEST_F(CliDedup, CountsShowsAndDropsCopies) {
  orders();
  const Outcome o = must("dedup orders.csv --output clean.csv --threshold 0.95");
  EXPECT_HAS(o.out, "exact copies     1");
  EXPECT_HAS(o.out, "near copies      1");
  EXPECT_HAS(o.out, "row 41 is an exact copy of row 3");
  EXPECT_HAS(o.out, "row 42 is a near copy of row 5");
  EXPECT_HAS(o.out, "amount");
  EXPECT_HAS(o.err, "40 rows to clean.csv");
  EXPECT_EQ(lines(read("clean.csv")), 41);
  EXPECT_EQ(read("clean.csv"), unique) << "written as the input is";
  const Outcome again = must("dedup clean.csv --threshold 0.95");
  EXPECT_HAS(again.out, "exact copies     0");
}

TEST_F(CliDedup, RetainsNearCopiesWithoutAThreshold) {
  orders();
  const Outcome o = must("dedup orders.csv --output clean.csv");
  EXPECT_HAS(o.out, "near copies, kept");
  EXPECT_HAS(o.out, "by chance: ");
  EXPECT_EQ(lines(read("clean.csv")), 42);
}

TEST_F(CliDedup, TheMemoryLimitChangesNothing) {
  must("example people.csv --rows 4000");
  const Outcome all = must("dedup people.csv --mode fuzzy --output all.csv --quiet"),
                few = must("dedup people.csv --mode fuzzy --output few.csv --quiet --memory-limit 18MB --scratch .");
  EXPECT_EQ(all.out, few.out);
  EXPECT_EQ(read("all.csv"), read("few.csv"));
  EXPECT_EQ(5, run("dedup people.csv --memory-limit 16100000 --scratch off").code);
}

TEST_F(CliDedup, RetainsLinesByteForByte) {
  const std::string head = "a,b,c\n\n1, x ,NA\n", copy = "1.0,\"x\",NA\n", tail = "\"2\",\"y\ny\",\n+3,z,7\r\n";
  write("t.csv", head + copy + copy + tail + "\n1,x,?");
  must("dedup t.csv --mode exact --output kept.csv --header yes --missing NA,?");
  EXPECT_EQ(read("kept.csv"), head + tail + "\n");
  must("dedup t.csv --mode exact --output kept.jsonl --header yes --missing NA,?");
  EXPECT_EQ(lines(read("kept.jsonl")), 3);
}

TEST_F(CliDedup, WritesTheListOfCopiesAsATable) {
  orders();
  const Json report =
      Json::parse(must("dedup orders.csv --threshold 0.95 --action report --output copies.csv --json").out);
  EXPECT_EQ(report["exact"], 1);
  EXPECT_EQ(report["near"], 1);
  EXPECT_EQ(report["mode"], "nearest");
  const std::string list = read("copies.csv");
  EXPECT_EQ(list.substr(0, list.find("42")), "row,of,kind,similarity\n41,3,exact,1.000000\n");
  EXPECT_EQ(must("dedup orders.csv --mode exact --columns city,paid --json --threads 1").out,
            must("dedup orders.csv --mode exact --columns city,paid --json --threads 3").out);
}

TEST_F(CliDedup, FindsRowsOfAnotherFile) {
  orders();
  write("train.csv",
        "city,extra,amount,code,day,paid,items\nKiel,1,1074.50,c2,2024-01-03,yes,14\nUlm,2,5.5,c9,2024-01-09,no,3\n");
  const Json report =
      Json::parse(must("dedup orders.csv --against train.csv --mode exact --output new.csv --json").out);
  EXPECT_EQ(report["exact"], 2) << report.dump(1);
  EXPECT_EQ(report["against"], 2);
  EXPECT_EQ(report["kept"], 40);
  EXPECT_EQ(lines(read("new.csv")), 41);
  write("few.csv", "city,paid\nUlm,yes\nBonn,no\n");
  EXPECT_GT(
      Json::parse(must("dedup orders.csv --against few.csv --columns city,paid --mode exact --json").out)["exact"], 5);
}

TEST_F(CliDedup, ErrorsNameAWayOut) {
  orders();
  const auto expect = [&](int code, const std::string& part, const Line& arguments) {
    const auto before = files();
    const Outcome o = run(arguments);
    EXPECT_EQ(o.code, code) << o.err;
    EXPECT_HAS(o.err, part);
    EXPECT_EQ(o.out, "");
    EXPECT_EQ(files(), before) << "nothing is left behind";
  };
  write("few.csv", "city,paid\nUlm,yes\nBonn,no\n");
  expect(2, "Nearest: \"city\"", "dedup orders.csv --columns cty --output x.csv");
  expect(2, "--mode", "dedup orders.csv --mode minhash");
  expect(2, "--threshold", "dedup orders.csv --threshold 1.5");
  expect(2, "needs --output", "dedup orders.csv --action drop");
  expect(2, "--force", "dedup orders.csv --force");
  expect(2, "standard output", "dedup orders.csv --output - --json");
  expect(2, "standard input", "dedup - --against -");
  expect(4, "orders.csv", "dedup orders.csv --output orders.csv --force");
  expect(4, "none.csv", "dedup none.csv");
  expect(3, "day", "dedup orders.csv --against few.csv");
}

TEST_F(CliDedup, SampledRowsComeOnce) {
  must("example people.csv --rows 200");
  must("fit people.csv --model m.tessera --epochs 0 --quiet");
  must("sample m.tessera --rows 300 --against people.csv --output rows.csv --quiet");
  EXPECT_EQ(lines(read("rows.csv")), 301);
  const Outcome o = run("sample m.tessera --rows 3 --distinct --offset 4 --output x.csv");
  EXPECT_EQ(o.code, 2);
  EXPECT_HAS(o.err, "Omit --offset");
}

}  // namespace
