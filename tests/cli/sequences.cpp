// Sequences on the command line: evaluation of two tables of them, and what cannot be cut.
#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/program.h"

namespace {

class CliSequences : public Cli {
 protected:
  // A series that remembers, as a long table.
  static std::string series(int rows, double shift) {
    std::string out = "price,volume\n";
    double x = 100;
    for (int i = 0; i < rows; ++i) {
      x += std::sin(0.7 * i + shift);
      out += std::to_string(x).substr(0, 6) + "," + std::to_string((i * 7919 + static_cast<int>(shift * 100)) % 1000) + "\n";
    }
    return out;
  }
  // Its windows as sample writes them.
  static std::string long_format(int sequences, int length) {
    std::string out = "sequence,step,price,volume\n";
    for (int s = 0; s < sequences; ++s)
      for (int t = 0; t < length; ++t) out += std::to_string(s + 1) + "," + std::to_string(t + 1) + "," + std::to_string(100 + std::sin(0.7 * (s + t))).substr(0, 6) + "," + std::to_string((s * 13 + t * 7) % 1000) + "\n";
    return out;
  }
  void refused(int code, const std::vector<std::string>& parts, const std::vector<std::string>& arguments) {
    const Outcome o = run(arguments);
    EXPECT_EQ(o.code, code) << o.err;
    for (const std::string& part : parts) EXPECT_HAS(o.err, part);
    EXPECT_EQ(o.out, "");
  }
};

TEST_F(CliSequences, EvaluationOfWindows) {
  write("real.csv", series(60, 0));
  write("synthetic.csv", long_format(30, 8));
  const Outcome page = must({"evaluate", "real.csv", "synthetic.csv", "--method", "sequence", "--sequence-length", "8", "--judges", "1", "--quiet"});
  for (const char* part : {"how many", "53", "30", "autocorrelation", "discriminative", "predictive", "±", "1 judges of each", "features, worst first", "(length)"}) EXPECT_HAS(page.out, part);
  const auto report = nlohmann::json::parse(must({"evaluate", "real.csv", "synthetic.csv", "--method", "sequence", "--sequence-length", "8", "--stride", "2", "--judges", "0", "--json"}).out);
  EXPECT_EQ(report["real"]["sequences"], 27);
  EXPECT_FALSE(report.contains("judges"));
  EXPECT_EQ(report["columns"].size(), 2u) << "sequence and step are no columns of the table";
}

TEST_F(CliSequences, ATableAgainstItselfDiffersInNothing) {
  write("real.csv", series(60, 0));
  const auto report = nlohmann::json::parse(must({"evaluate", "real.csv", "real.csv", "--method", "sequence", "--sequence-length", "8", "--judges", "0", "--json"}).out);
  EXPECT_EQ(report["scores"]["autocorrelation_difference"], 0.0);
  EXPECT_EQ(report["scores"]["column_shapes"], 1.0);
}

TEST_F(CliSequences, WhatCannotBeCut) {
  const auto evaluate = [&](const std::string& bytes, const std::vector<std::string>& options, int code, const std::vector<std::string>& parts) {
    write("t.csv", bytes);
    std::vector<std::string> arguments{"evaluate", "t.csv", "t.csv", "--method", "sequence", "--judges", "0"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    refused(code, parts, arguments);
  };
  const std::vector<std::string> keyed{"--sequence-key", "k", "--sequence-index", "t"};
  evaluate("k,t,x\na,1,5\na,2,6\nb,1,7\n", keyed, 3, {"real table", "k \"b\"", "row 3", "2 steps"});
  evaluate("k,x\na,5\na,6\nb,7\nb,8\na,9\n", {"--sequence-key", "k"}, 3, {"Row 5", "k \"a\"", "row 1", "--sequence-index"});
  evaluate("k,t,x\na,1,5\nb,1,6\na,1,7\nb,2,8\n", keyed, 3, {"\"t\"", "k \"a\"", "1 twice", "rows 1 and 3"});
  evaluate("k,t,x\na,1,5\n,1,6\na,2,7\n", keyed, 3, {"\"k\"", "row 2"});
  evaluate("k,t,x\na,1,5\na,,6\na,2,7\n", keyed, 3, {"\"t\"", "row 2"});
  evaluate("k,t,s,x\na,1,F,5\na,2,M,6\nb,1,F,7\nb,2,F,9\n", {"--sequence-key", "k", "--sequence-index", "t", "--static", "s"}, 3, {"\"s\"", "\"F\" in row 1", "\"M\" in row 2", "--static"});
  evaluate("x\n1\n2\n3\n", {"--sequence-length", "24"}, 3, {"3 rows", "24"});
  evaluate("x\n1\n2\n3\n", {"--sequence-key", "y"}, 2, {"no column \"y\"", "\"x\""});
  evaluate("x\n1\n2\n3\n", {"--sequence-length", "2", "--static", "x"}, 2, {"--static needs --sequence-key"});
  std::string many = "k,x\n";
  for (int i = 0; i < 5000; ++i) many += "a," + std::to_string(i % 7) + "\n";
  evaluate(many, {"--sequence-key", "k"}, 3, {"k \"a\"", "5000 rows", "4096", "--sequence-length"});
}

TEST_F(CliSequences, OptionsThatDoNotGoTogether) {
  write("t.csv", series(40, 0));
  refused(2, {"--sequence-length", "--sequence-key"}, {"evaluate", "t.csv", "t.csv", "--method", "sequence"});
  refused(2, {"--holdout"}, {"evaluate", "t.csv", "t.csv", "--method", "sequence", "--sequence-length", "8", "--holdout", "t.csv"});
  refused(2, {"--without-c2st"}, {"evaluate", "t.csv", "t.csv", "--method", "sequence", "--sequence-length", "8", "--without-c2st"});
  refused(2, {"--method sequence"}, {"evaluate", "t.csv", "t.csv", "--sequence-length", "8"});
  refused(2, {"--method sequence"}, {"evaluate", "t.csv", "t.csv", "--judges", "3"});
}

}  // namespace
