// What a model tells of its rows: rare categories and numbers of few rows do not reach it, and it says what it holds.
#include "cli/program.h"

#include <nlohmann/json.hpp>

class Privacy : public Cli {
 protected:
  // 60 rows: two towns by turns, three with a town of their own; "3Ozone" makes a reason that quotes a value.
  void SetUp() override {
    Cli::SetUp();
    std::string csv = "town,size\n";
    for (int i = 0; i < 60; ++i) csv += (i == 10 ? "Zwolle" : i == 20 ? "Quito" : i == 30 ? "3Ozone" : i % 2 == 0 ? "Wien" : "Linz") + std::string(",") + std::to_string(i * 7 % 31) + ".5\n";
    write("towns.csv", csv);
  }
  std::string fit(const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments{"fit", "towns.csv", "--model", "m.tessera", "--force", "--epochs", "1", "--batch-size", "20"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return must(arguments).err;
  }
};

TEST_F(Privacy, ARareCategoryIsNowhereInTheModel) {
  const std::string said = fit();
  EXPECT_HAS(said, "3 categories of fewer than 5 rows");
  const std::string bytes = read("m.tessera");
  for (const char* town : {"Zwolle", "Quito", "3Ozone"}) EXPECT_FALSE(has(bytes, town)) << town;
  EXPECT_HAS(bytes, "Wien");
  must({"sample", "m.tessera", "--rows", "300", "--output", "s.csv", "--quiet"});
  EXPECT_FALSE(has(read("s.csv"), "Quito"));
  const std::string page = must({"inspect", "m.tessera"}).out;
  EXPECT_HAS(page, "no category of fewer than 5 rows is kept; left out: town: 3 in 3 rows");
  EXPECT_HAS(page, "2 values");
  EXPECT_HAS(page, "no number is a function of fewer than 5 rows");
}

TEST_F(Privacy, KeepAndPaperKeepThem) {
  for (const std::vector<std::string>& how : {std::vector<std::string>{"--rare-categories", "keep"}, {"--rare-categories", "1"}, {"--preset", "paper"}}) {
    fit(how);
    EXPECT_HAS(read("m.tessera"), "Quito");
    const std::string page = must({"inspect", "m.tessera"}).out;
    EXPECT_HAS(page, "every category is kept");
    EXPECT_HAS(page, "numbers are those of single rows");
  }
  fit({"--rare-categories", "29"});
  EXPECT_FALSE(has(read("m.tessera"), "Linz") && has(read("m.tessera"), "Wien"));
}

TEST_F(Privacy, AColumnOfFewValuesIsLearntAsEmptyAndNamed) {
  std::string csv = "size,once\n";
  for (int i = 0; i < 60; ++i) csv += std::to_string(i * 7 % 31) + ".5," + (i == 20 ? "417.25" : i == 30 ? "12.5" : "") + "\n";
  write("towns.csv", csv);
  EXPECT_HAS(fit(), "\"once\" is learnt as empty: 2 rows");
  EXPECT_FALSE(has(read("m.tessera"), "417.25"));
  EXPECT_HAS(must({"inspect", "m.tessera"}).out, "learnt as empty, having fewer values: once: 2 in all");
  must({"sample", "m.tessera", "--rows", "50", "--output", "s.csv", "--quiet"});
  EXPECT_FALSE(has(read("s.csv"), "417"));
}

TEST_F(Privacy, WhatIsAskedForIsChecked) {
  for (const char* wrong : {"0", "-1", "some", "5x", "99999999999"}) {
    const Outcome o = run({"fit", "towns.csv", "--model", "m.tessera", "--rare-categories", wrong});
    EXPECT_EQ(o.code, 2) << wrong;
    EXPECT_HAS(o.err, "--rare-categories");
    EXPECT_HAS(o.err, "keep");
  }
}
