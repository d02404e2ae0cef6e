// Rules on the command line: listed, said by fit, kept by sample, shown of a model, refused with a way out.
#include <fmt/format.h>

#include <random>
#include <sstream>

#include "cli/program.h"

namespace {

class CliRules : public Cli {
 protected:
  // total = items + extras, "end day" >= start.
  void orders() {
    std::mt19937 gen(5);
    const auto draw = [&](int n) { return static_cast<int>(gen() % static_cast<unsigned>(n)); };
    std::string csv = "start,end day,items,extras,total\n";
    for (int i = 0; i < 300; ++i) {
      const int start = draw(500), items = draw(90), extras = draw(40);
      csv += fmt::format("{},{},{},{},{}\n", start, start + draw(30), items, extras, items + extras);
    }
    write("orders.csv", csv);
  }
  Outcome fit(const Line& more) {
    return run("fit orders.csv --model m.tessera --epochs 1 --batch-size 100 --force --calibrate off" + more);
  }
  // Rows of the sample that break a rule, of 400.
  int broken(const Line& more = {}) {
    std::istringstream rows(must("sample m.tessera --rows 400 --output -" + more).out);
    int out = 0, seen = 0;
    std::string line;
    std::getline(rows, line);
    EXPECT_EQ(line, "start,end day,items,extras,total");
    for (; std::getline(rows, line); ++seen) {
      int start = 0, end = 0, items = 0, extras = 0, total = 0;
      EXPECT_EQ(std::sscanf(line.c_str(), "%d,%d,%d,%d,%d", &start, &end, &items, &extras, &total), 5) << line;
      out += end < start || total != items + extras;
    }
    EXPECT_EQ(seen, 400);
    return out;
  }
};

// A rule that the table itself breaks is none of it: fit says how many rows break it, and evaluate that they do.
TEST_F(CliRules, ARuleThatTheTableBreaksIsReported) {
  orders();
  const auto rule = [](const char* text) { return Line(std::vector<std::string>{"--rule", text}); };
  const Outcome fitted = fit(rule("items < 45"));
  EXPECT_EQ(fitted.code, 0) << fitted.err;
  EXPECT_HAS(fitted.err, "Rule \"items < 45\":");
  EXPECT_HAS(fitted.err, "of the table's rows (");
  must("sample m.tessera --rows 300 --output s.csv --force");
  EXPECT_HAS(must("evaluate orders.csv s.csv" + rule("items < 45")).out, "items < 45 is no rule of the real table: ");
  EXPECT_EQ(fit(rule("items < 90")).err.find("of the table's rows ("), std::string::npos);
}

// Each test is written with its own decimals, zeros and all.
TEST_F(CliRules, DecimalsOfATestAreWrittenAsTheyWere) {
  std::mt19937 gen(7);
  std::string csv = "test,result\n";
  for (int i = 0; i < 900; ++i) {
    const double u = std::uniform_real_distribution<>()(gen);
    csv += i % 3 == 0   ? fmt::format("sodium,{:.0f}\n", 130 + 20 * u)
           : i % 3 == 1 ? fmt::format("potassium,{:.1f}\n", 3 + 3 * u)
                        : fmt::format("TSH,{:.3f}\n", 0.3 + 4 * u);
  }
  write("lab.csv", csv);
  const Outcome fitted = must("fit lab.csv --model lab.tessera --epochs 1 --force --calibrate off");
  EXPECT_HAS(fitted.err, "decimals of result follow from test");
  std::istringstream rows(must("sample lab.tessera --rows 300 --output -").out);
  std::string line;
  std::getline(rows, line);
  for (int seen = 0; seen < 300; ++seen) {
    ASSERT_TRUE(std::getline(rows, line));
    const size_t point = line.find('.');
    const size_t digits = point == std::string::npos ? 0 : line.size() - point - 1;
    EXPECT_EQ(digits, line.starts_with("sodium") ? 0U : line.starts_with("TSH") ? 3U : 1U) << line;
  }
}

// What is learned beside a computed column has a name of its own, which no option takes.
TEST_F(CliRules, AProposedKeyIsAColumnOfTheTable) {
  std::mt19937 gen(1);
  std::string csv = "group,part,code,x\n";
  const auto letter = [](auto k) { return static_cast<char>('a' + k); };
  for (int i = 0; i < 700; ++i) {
    const auto group = gen() % 12, part = gen() % 12, code = (12 * group + part) * 7919 % 144;
    csv += fmt::format("g{},p{},w{}{},0.{:03}\n", letter(group), letter(part), letter(code / 12), letter(code % 12),
                       gen() % 1000);
  }
  write("codes.csv", csv);
  const Outcome fitted = must("fit codes.csv --model c.tessera --epochs 1 --force --calibrate off");
  EXPECT_HAS(fitted.err, "code follows from group and part");
  EXPECT_EQ(fitted.err.find("computed code"), std::string::npos) << fitted.err;
}

TEST_F(CliRules, AreListedAndKept) {
  orders();
  const Outcome listed = must("inspect orders.csv --rules");
  EXPECT_HAS(listed.out, "total = items + extras");
  EXPECT_HAS(listed.out, "\"end day\" >= start");
  EXPECT_HAS(listed.out, "by construction");
  const Json report = Json::parse(must("inspect orders.csv --rules --json").out);
  EXPECT_EQ(report["rows"], 300);
  ASSERT_EQ(report["rules"].size(), 2u);
  EXPECT_EQ(report["rules"][0]["rows"], 300);

  const Outcome fitted = fit({});
  ASSERT_EQ(fitted.code, 0) << fitted.err;
  EXPECT_HAS(fitted.err, "total = items + extras");
  EXPECT_EQ(broken(), 0);
  EXPECT_EQ(broken({"--where", "total > 20"}), 0);
  const Outcome model = must("inspect m.tessera");
  EXPECT_HAS(model.out, "rules that sampled rows satisfy");
  EXPECT_HAS(model.out, "\"end day\" >= start");
  EXPECT_HAS(model.out, "5 columns");
}

TEST_F(CliRules, CanBeDisabledOrGiven) {
  orders();
  ASSERT_EQ(fit("--rules off").code, 0);
  EXPECT_GT(broken(), 300);
  const Outcome fitted = fit({"--rules", "off", "--rule", "total = items + extras", "--rule", "items >= 10"});
  ASSERT_EQ(fitted.code, 0) << fitted.err;
  EXPECT_HAS(fitted.err, "by rejection: items >= 10");
  const Outcome sampled = must("sample m.tessera --rows 50 --output -");
  EXPECT_HAS(sampled.err, "yield");
  std::istringstream rows(sampled.out);
  std::string line;
  std::getline(rows, line);
  while (std::getline(rows, line)) {
    int items = 0, extras = 0, total = 0;
    ASSERT_EQ(std::sscanf(line.c_str(), "%*d,%*d,%d,%d,%d", &items, &extras, &total), 3);
    EXPECT_GE(items, 10);
    EXPECT_EQ(total, items + extras);
  }
}

TEST_F(CliRules, AreReadFromASchemaFile) {
  orders();
  write("s.json", R"({"rules": ["total = items + extras", "items >= 10"]})");
  const Outcome fitted = fit({"--rules", "off", "--schema", "s.json", "--rule", "items <= 80"});
  ASSERT_EQ(fitted.code, 0) << fitted.err;
  EXPECT_HAS(fitted.err, "total = items + extras");
  EXPECT_HAS(fitted.err, "by rejection: items >= 10");
  EXPECT_HAS(fitted.err, "by rejection: items <= 80");
  write("s.json", R"({"rules": [5]})");
  EXPECT_EQ(fit("--schema s.json").code, 2);
}

TEST_F(CliRules, RejectsUnknownRules) {
  orders();
  Outcome o = fit("--rules some");
  EXPECT_EQ(o.code, 2);
  EXPECT_HAS(o.err, "known are find and off");
  o = fit({"--rule", "itens > 3"});
  EXPECT_EQ(o.code, 7);
  EXPECT_HAS(o.err, "Nearest: \"items\"");
  o = fit({"--rule", "items >"});
  EXPECT_EQ(o.code, 2);
  EXPECT_HAS(o.err, "position");
  EXPECT_FALSE(exists("m.tessera"));
  ASSERT_EQ(fit({}).code, 0);
  o = run("inspect m.tessera --rules");
  EXPECT_EQ(o.code, 2);
  EXPECT_HAS(o.err, "is a model");
}

}  // namespace
