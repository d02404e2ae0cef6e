// Given cells on the command line: files that are completed, equal shares, counts.
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/program.h"

class CliGiven : public Cli {};

TEST_F(CliGiven, KeepsTheCellsOfTheFile) {
  model();
  write("partial.csv", "city,age\nWeston,\n,44\nWeston,30\n");
  must("sample m.tessera --given partial.csv --output o.csv");
  const std::string rows = read("o.csv");
  EXPECT_EQ(std::count(rows.begin(), rows.end(), '\n'), 4);
  EXPECT_TRUE(has(rows, ",44,")) << rows;
  must("sample m.tessera --given partial.csv --output again.csv --batch-size 3");
  EXPECT_EQ(read("again.csv"), rows);
}

TEST_F(CliGiven, ChangesOnlyMissingCells) {
  model();
  const std::string file =
      "\"note\",age,city,income\r\n\"kept, as it is\",,Weston,\r\n  x ,44,\"Weston\",30000\r\n\"\"\"\",51,,41000\r\n";
  write("real.csv", file);
  must("sample m.tessera --impute real.csv --output full.csv");
  const std::string full = read("full.csv");
  EXPECT_EQ(full.rfind("\"note\",age,city,income\r\n\"kept, as it is\",", 0), 0u) << full;
  EXPECT_TRUE(has(full, "\r\n  x ,44,\"Weston\",30000\r\n\"\"\"\",51,")) << full;
  EXPECT_TRUE(full.ends_with(",41000\r\n")) << full;
  EXPECT_FALSE(has(full, ",,")) << full;
  EXPECT_FALSE(has(full, ",\r\n")) << full;
}

TEST_F(CliGiven, FilledNumbersKeepTheModelsDigits) {
  std::string table = "price;kind\n";
  for (int i = 0; i < 400; ++i) {
    char line[40];
    std::snprintf(line, sizeof line, "%d,%02d;%c\n", i * 7919 % 401, i % 89 + 10, "abc"[i % 3]);
    table += line;
  }
  write("t.csv", table);
  must("fit t.csv --model m.tessera --epochs 1");
  write("gaps.csv", "price;kind\n;a\n12;b\n;c\n;a\n;b\n");
  must("sample m.tessera --impute gaps.csv --output full.csv");
  const std::string full = read("full.csv");
  EXPECT_EQ(std::count(full.begin(), full.end(), ','), 4) << full;
  EXPECT_HAS(full, "\n12;b\n");
}

// Spellings of booleans, times that a rule rounds to whole minutes, and the smallest and largest numbers among them.
TEST_F(CliGiven, AcceptsRowsOfASample) {
  std::string table = "at,paid,share,n\n";
  for (int i = 0; i < 700; ++i) {
    char line[80];
    const int minute = i * 7919 % 40009;
    std::snprintf(line, sizeof line, "2024-01-%02d %02d:%02d:00,%s,%d%%,%d\n", minute / 1440 + 1, minute / 60 % 24,
                  minute % 60, i % 3 == 0 ? "TRUE" : "FALSE", i % 97, i * i % 1000);
    table += line;
  }
  write("t.csv", table);
  must("fit t.csv --model m.tessera --epochs 1");
  EXPECT_HAS(must("inspect m.tessera").out, "at is a multiple of");
  must("sample m.tessera --rows 1500 --output own.csv");
  must("sample m.tessera --given own.csv --output again.csv");
  EXPECT_EQ(read("again.csv"), read("own.csv"));
}

// A rule that no value keeps: only a missing cell does.
TEST_F(CliGiven, CountsCellsThatStayEmpty) {
  std::string csv = "x,flag,y\n";
  for (int i = 0; i < 300; ++i)
    csv += std::to_string(i * 7919 % 1009) + (i % 2 == 0 ? ",true," : ",,") +
           (i % 3 == 0 ? "\n" : std::to_string(i) + "\n");
  write("real.csv", csv);
  must({"fit", "real.csv", "--model", "m.tessera", "--method", "ctgan", "--epochs", "1", "--batch-size", "100",
        "--calibrate", "off", "--rule", "y > 298"});
  write("gaps.csv", "x,flag,y\n5,,3\n6,true,\n7,,\n");
  const Outcome o = must("sample m.tessera --impute gaps.csv --output full.csv");
  const std::string full = read("full.csv");
  EXPECT_EQ(full, "x,flag,y\n5,true,3\n6,true,\n7,true,\n");
  EXPECT_HAS(o.err, "2 cells stay empty, because no candidate of their rows fills them: \"y\" 2.");
}

// What the text says is the number, in every output, in conditions, and where a sample's own cells are given.
TEST_F(CliGiven, ReadsNumbersWithAnExponent) {
  std::string table = "dose,kind\n";
  for (int i = 0; i < 400; ++i) {
    char line[40];
    std::snprintf(line, sizeof line, "%.3e,%c\n", std::exp(0.011 * ((i * 7919) % 401)), "abc"[i % 3]);
    table += line;
  }
  write("t.csv", table);
  for (const char* method : {"ctgan", "made"}) {
    must({"fit", "t.csv", "--model", "m.tessera", "--force", "--method", method, "--epochs", "2", "--quiet"});
    const auto sample = [&](const std::string& file, const Line& more) {
      must("sample m.tessera --force --output " + file + more);
      return read(file);
    };
    const std::string text = sample("o.csv", "--rows 200"), json = sample("o.jsonl", "--rows 200");
    std::istringstream csv(text), lines(json), plain(sample("p.csv", "--rows 200 --format plain"));
    std::string cell, number, line;
    std::getline(csv, cell), std::getline(plain, number);
    while (std::getline(csv, cell)) {
      ASSERT_TRUE(std::getline(lines, line) && std::getline(plain, number));
      EXPECT_EQ(nlohmann::json::parse(line).at("dose"), std::stod(cell)) << method;
      EXPECT_EQ(std::stod(number), std::stod(cell)) << method;
    }
    std::istringstream below(sample("b.csv", {"--rows", "200", "--where", "dose < 10.005"}));
    std::getline(below, cell);
    while (std::getline(below, cell)) EXPECT_LT(std::stod(cell), 10.005) << method;
    EXPECT_EQ(sample("again.csv", "--given o.csv"), text) << method;
  }
}

TEST_F(CliGiven, MeetsSharesAndCounts) {
  model();
  must("sample m.tessera --balance gender --rows 40 --output b.csv");
  const std::string rows = read("b.csv");
  const auto count = [&](const std::string& text) {
    size_t n = 0;
    for (size_t at = rows.find(text); at != std::string::npos; at = rows.find(text, at + 1)) ++n;
    return n;
  };
  EXPECT_EQ(count(",female,"), count(",male,"));
  write("counts.csv", "city,wanted\nWeston,3\nMidbury,2\n");
  must("sample m.tessera --counts counts.csv --output c.csv");
  const std::string counted = read("c.csv");
  EXPECT_EQ(std::count(counted.begin(), counted.end(), '\n'), 6);
}

TEST_F(CliGiven, RejectsMistakesAndKeepsFiles) {
  model();
  write("partial.csv", "city,age\nWeston,40\n\"Wes\nton\",40\n");
  write("o.csv", "mine");
  const auto refused = [&](int code, const std::vector<std::string>& parts, const Line& arguments) {
    const Outcome o = run("sample m.tessera --force --output o.csv" + arguments);
    EXPECT_EQ(o.code, code) << o.err;
    for (const std::string& part : parts) EXPECT_TRUE(has(o.err, part)) << part << ": " << o.err;
    EXPECT_EQ(read("o.csv"), "mine");
  };
  refused(3, {"partial.csv:3", "\"city\"", "Nearest"}, "--given partial.csv");
  write("partial.csv", "city,age\nWeston,40\n\nWeston,400\n");
  refused(3, {"partial.csv:4", "\"age\" holds 400"}, "--given partial.csv");
  write("partial.csv", "town\nWeston\n");
  refused(2, {"partial.csv", "\"town\""}, "--given partial.csv");
  write("counts.csv", "city,wanted\nWeston,3\nWestern,2\n");
  refused(3, {"counts.csv:3", "\"city\" holds \"Western\"", "Nearest: \"Weston\""}, "--counts counts.csv");
  write("counts.csv", "city,wanted\nWeston,3\nMidbury,-2\n");
  refused(3, {"counts.csv:3", "\"wanted\" holds -2"}, "--counts counts.csv");
  write("counts.csv", "wanted\n3\n4\n");
  refused(2, {"counts.csv: the file has the count column \"wanted\"", "no condition"}, "--counts counts.csv");
  write("partial.csv", "city,age\nWeston,40\n");
  refused(2, {"--where", "Omit it"}, {"--impute", "partial.csv", "--where", "age > 3"});
  write("partial.csv", "city,age\nWeston,60\n,40\n");
  refused(7, {"partial.csv:3", "contradict --where, \"age > 50\": \"age\" is 40.", "Change"},
          {"--given", "partial.csv", "--where", "city = 'Weston' and age > 50"});
  refused(7, {"partial.csv:2", "contradict --where, \"city is null\": \"city\" is \"Weston\"."},
          {"--given", "partial.csv", "--where", "city is null"});
  refused(7, {"row 2", "contradict --where"}, {"--balance", "gender", "--rows", "4", "--where", "gender = 'female'"});
  refused(2, {"exclude"}, "--given partial.csv --balance city");
  refused(2, {"--rows"}, "--balance city");
  refused(2, {"--rows"}, "--given partial.csv --rows 3");
  refused(2, {"--rows"}, {});
  refused(7, {"\"income\"", "no list of values"}, "--balance income --rows 4");
  refused(4, {"nowhere.csv"}, "--given nowhere.csv");
}
