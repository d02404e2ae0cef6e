// Sequences on the command line: evaluation of two tables of them, and what cannot be cut.
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

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
      out += std::to_string(x).substr(0, 6) + "," + std::to_string((i * 7919 + static_cast<int>(shift * 100)) % 1000) +
             "\n";
    }
    return out;
  }
  // Its windows as sample writes them.
  static std::string long_format(int sequences, int length) {
    std::string out = "sequence,step,price,volume\n";
    for (int s = 0; s < sequences; ++s)
      for (int t = 0; t < length; ++t)
        out += std::to_string(s + 1) + "," + std::to_string(t + 1) + "," +
               std::to_string(100 + std::sin(0.7 * (s + t))).substr(0, 6) + "," +
               std::to_string((s * 13 + t * 7) % 1000) + "\n";
    return out;
  }
  // Visits of patients: dates, statics, categories, digits, missing values, a constant; from 2 to 6 visits.
  static std::string visits(int patients) {
    std::string out = "date,patient,sex,birth_year,weight,drug,smoker,site\n";
    for (int p = 0; p < patients; ++p) {
      int day = 1 + p % 9;
      for (int t = 0; t < 2 + (p * 7) % 5; ++t, day += 1 + (p + t) % 4) {
        const std::string weight =
            (p + t) % 5 == 0 ? "" : std::to_string(50 + (p * 13 + t * 3) % 40) + "." + std::to_string((p + t) % 10);
        const char* drugs[] = {"none", "aspirin", "\"statin, low\"", ""};
        out += (day < 10 ? "0" : "") + std::to_string(day) + ".03.2021,P-" + std::to_string(1000 + p) + "," +
               (p % 2 ? "F" : "M") + "," + (p % 6 == 0 ? "" : std::to_string(1930 + p % 60)) + "," + weight + "," +
               drugs[(p + t) % 4] + "," + ((p + t) % 3 ? "yes" : "no") + ",north\n";
      }
    }
    return out;
  }
  static std::vector<std::vector<std::string>> rows_of(const std::string& csv) {
    std::vector<std::vector<std::string>> rows(1, std::vector<std::string>(1));
    bool quoted = false;
    for (const char c : csv) {
      if (c == '"') quoted = !quoted;
      else if (c == ',' && !quoted) rows.back().emplace_back();
      else if (c == '\n') rows.emplace_back(1);
      else rows.back().back() += c;
    }
    rows.pop_back();
    return rows;
  }
  void refused(int code, const std::vector<std::string>& parts, const Line& arguments) {
    const Outcome o = run(arguments);
    EXPECT_EQ(o.code, code) << o.err;
    for (const std::string& part : parts) EXPECT_HAS(o.err, part);
    EXPECT_EQ(o.out, "");
  }
};

TEST_F(CliSequences, EvaluatesWindows) {
  write("real.csv", series(60, 0));
  write("synthetic.csv", long_format(30, 8));
  const Outcome page = must("evaluate real.csv synthetic.csv --method sequence --sequence-length 8 --judges 1 --quiet");
  for (const char* part : {"sequences", "53", "30", "autocorrelation", "discriminative", "predictive", "±",
                           "1 judges of each", "features, worst first", "(length)"})
    EXPECT_HAS(page.out, part);
  const auto report = nlohmann::json::parse(
      must("evaluate real.csv synthetic.csv --method sequence --sequence-length 8 --stride 2 --judges 0 --json").out);
  EXPECT_EQ(report["real"]["sequences"], 27);
  EXPECT_FALSE(report.contains("judges"));
  EXPECT_EQ(report["columns"].size(), 2u) << "sequence and step are no columns of the table";
}

TEST_F(CliSequences, ScoresATableAgainstItselfAsEqual) {
  write("real.csv", series(60, 0));
  const auto report = nlohmann::json::parse(
      must("evaluate real.csv real.csv --method sequence --sequence-length 8 --judges 0 --json").out);
  EXPECT_EQ(report["scores"]["autocorrelation_difference"], 0.0);
  EXPECT_EQ(report["scores"]["column_shapes"], 1.0);
}

TEST_F(CliSequences, RejectsTablesThatCannotBeSplit) {
  const auto evaluate = [&](const std::string& bytes, const Line& options, int code,
                            const std::vector<std::string>& parts) {
    write("t.csv", bytes);
    refused(code, parts, "evaluate t.csv t.csv --method sequence --judges 0" + options);
  };
  const Line keyed = "--sequence-key k --sequence-index t";
  evaluate("k,t,x\na,1,5\nb,2,7\n", keyed, 3, {"real table", "\"k\"", "one row", "--method made"});
  evaluate("k,x\na,5\na,6\nb,7\nb,8\na,9\n", "--sequence-key k", 3, {"Row 5", "k \"a\"", "row 1", "--sequence-index"});
  evaluate("k,t,x\na,1,5\nb,1,6\na,1,7\nb,2,8\n", keyed, 3, {"\"t\"", "k \"a\"", "1 twice", "rows 1 and 3"});
  evaluate("k,t,x\na,1,5\n,1,6\na,2,7\n", keyed, 3, {"\"k\"", "row 2"});
  evaluate("k,t,x\na,1,5\na,,6\na,2,7\n", keyed, 3, {"\"t\"", "row 2"});
  evaluate("k,t,s,x\na,1,F,5\na,2,M,6\nb,1,F,7\nb,2,F,9\n", "--sequence-key k --sequence-index t --static s", 3,
           {"\"s\"", "\"F\" in row 1", "\"M\" in row 2", "--static"});
  evaluate("x\n1\n2\n3\n", "--sequence-length 24", 3, {"3 rows", "24"});
  evaluate("x\n1\n2\n3\n", "--sequence-key y", 2, {"no column \"y\"", "Name a column"});
  evaluate("x\n1\n2\n3\n", "--sequence-length 2 --static x", 2, {"--static needs --sequence-key"});
  std::string many = "k,x\n";
  for (int i = 0; i < 5000; ++i) many += "a," + std::to_string(i % 7) + "\n";
  evaluate(many, "--sequence-key k", 3, {"k \"a\"", "5000 rows", "4096", "--sequence-length"});
}

TEST_F(CliSequences, RejectsConflictingOptions) {
  write("t.csv", series(40, 0));
  refused(2, {"--sequence-length", "--sequence-key"}, "evaluate t.csv t.csv --method sequence");
  refused(2, {"--holdout"}, "evaluate t.csv t.csv --method sequence --sequence-length 8 --holdout t.csv");
  refused(2, {"--without-c2st"}, "evaluate t.csv t.csv --method sequence --sequence-length 8 --without-c2st");
  refused(2, {"--method sequence"}, "evaluate t.csv t.csv --sequence-length 8");
  refused(2, {"--method sequence"}, "evaluate t.csv t.csv --judges 3");
}

const Line kSmallTimegan = "--method timegan --iterations 40 --hidden-dim 8 --layers 2 --batch-size 16 --quiet";
TEST_F(CliSequences, WindowsFromTableToReport) {
  write("real.csv", series(80, 0));
  must("fit real.csv --model m.tessera --sequence-length 8 --log log.csv" + kSmallTimegan);
  EXPECT_HAS(read("log.csv"), "step,epoch,discriminator,generator,supervised,moments,reconstruction,seconds");
  must("sample m.tessera --rows 30 --output synthetic.csv --quiet");
  const auto rows = rows_of(read("synthetic.csv"));
  EXPECT_EQ(rows[0], (std::vector<std::string>{"sequence", "step", "price", "volume"}));
  ASSERT_EQ(rows.size(), 1u + 30 * 8);
  for (size_t i = 1; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i][0], std::to_string((i - 1) / 8 + 1));
    EXPECT_EQ(rows[i][1], std::to_string((i - 1) % 8 + 1));
    EXPECT_LE(std::stod(rows[i][3]), 999) << "inside the range that was seen";
    EXPECT_EQ(rows[i][3].find('.'), std::string::npos) << "a whole number stays whole";
  }
  EXPECT_HAS(must("evaluate real.csv synthetic.csv --method sequence --sequence-length 8 --judges 0 --quiet").out,
             "autocorrelation");
  const std::string page = must("inspect m.tessera").out;
  for (const char* part : {"windows of 8 rows", "its position in the range", "weights in generator", "hidden dim"})
    EXPECT_HAS(page, part);
  EXPECT_HAS(must("plan real.csv --sequence-length 8" + kSmallTimegan).out, "joint phase of timegan");
}

TEST_F(CliSequences, RoundTripsUnitsLengthsTypesAndMissingValues) {
  write("visits.csv", visits(60));
  const Line how = "--sequence-key patient --sequence-index date --static sex,birth_year";
  must("fit visits.csv --model m.tessera" + how + kSmallTimegan);
  const Outcome sampled = must("sample m.tessera --rows 200 --output synthetic.csv --json");
  EXPECT_EQ(nlohmann::json::parse(sampled.out)["sequences"], 200);

  must("fit visits.csv --model found.tessera --sequence-key patient --sequence-index date" + kSmallTimegan);
  must("sample found.tessera --rows 200 --output found.csv");
  EXPECT_EQ(read("found.csv"), read("synthetic.csv")) << "static columns are found where none are named";
  must("fit visits.csv --model none.tessera --sequence-key patient --sequence-index date --static none" +
       kSmallTimegan);
  EXPECT_EQ(must("inspect none.tessera").out.find("static:"), std::string::npos);

  const auto real = nlohmann::json::parse(must("inspect visits.csv --json").out),
             synthetic = nlohmann::json::parse(must("inspect synthetic.csv --json").out);
  std::map<std::string, nlohmann::json> columns;
  for (const auto& c : synthetic["columns"]) columns[c["name"]] = c;
  ASSERT_EQ(columns.size(), 8u);
  for (const auto& c : real["columns"]) {
    const std::string column = c["name"];
    // A network of so few steps may say one category everywhere.
    EXPECT_TRUE(columns[column]["type"] == c["type"] ||
                (c["type"] == "category" || c["type"] == "boolean" ? columns[column]["type"] == "constant" : false))
        << column << ": " << columns[column]["type"];
    if (!c.contains("min") || column == "date") continue;
    EXPECT_GE(columns[column]["min"].get<double>(), c["min"].get<double>()) << column;
    EXPECT_LE(columns[column]["max"].get<double>(), c["max"].get<double>()) << column;
  }

  const auto rows = rows_of(read("synthetic.csv"));
  EXPECT_EQ(rows[0],
            (std::vector<std::string>{"patient", "date", "sex", "birth_year", "weight", "drug", "smoker", "site"}));
  std::map<std::string, std::vector<std::vector<std::string>>> patients;
  for (size_t i = 1; i < rows.size(); ++i) patients[rows[i][0]].push_back(rows[i]);
  EXPECT_EQ(patients.size(), 200u) << "every sequence has a key of its own";
  std::set<size_t> lengths;
  for (const auto& [key, steps] : patients) {
    EXPECT_EQ(key.substr(0, 2), "P-");
    EXPECT_TRUE(steps.size() >= 2 && steps.size() <= 6) << steps.size();
    lengths.insert(steps.size());
    for (const auto& row : steps) {
      EXPECT_EQ(row[1].size(), 10u) << row[1];
      EXPECT_EQ(row[1][2], '.') << "the format of the dates stays";
      EXPECT_EQ(row[2], steps[0][2]) << "statics do not vary";
      EXPECT_EQ(row[3], steps[0][3]);
      EXPECT_TRUE(row[4].empty() || (row[4].find('.') == row[4].size() - 2)) << "one digit: " << row[4];
      EXPECT_TRUE(std::set<std::string>({"none", "aspirin", "statin, low", ""}).count(row[5])) << row[5];
      EXPECT_EQ(row[7], "north");
    }
  }
  EXPECT_GT(lengths.size(), 1u) << "lengths are learned";
  EXPECT_HAS(must("evaluate visits.csv synthetic.csv --method sequence --judges 0 --quiet" + how).out,
             "attribute pairs");
  const std::string page = must("inspect m.tessera").out;
  for (const char* part : {"sequences of up to 6 steps, one patient each, ordered by date; static: sex, birth_year",
                           "(length)", "(start)", "(difference)"})
    EXPECT_HAS(page, part);
}

// Events of users on the hour; a third of the users have one.
TEST_F(CliSequences, KeepsKeysOfOneRowAndTheIndexColumn) {
  std::string events = "user,at,event\n";
  for (int user = 0; user < 90; ++user)
    for (int t = 0; t <= user % 3 * 2; ++t)
      events += "u" + std::to_string(1000 + user) + ",2024-05-" + std::to_string(10 + (user * 7 + t) % 20) + " " +
                std::to_string(10 + (user * 3 + t) % 9) + ":00:00," + (t == 0 ? "visit" : "buy") + "\n";
  write("events.csv", events);
  const Outcome fitted = must(
      "fit events.csv --model e.tessera --method timegan --sequence-key user --sequence-index at --iterations 40 "
      "--hidden-dim 8 --batch-size 16");
  EXPECT_HAS(fitted.err, "index \"at\": at 8 times of day");
  must("sample e.tessera --rows 600 --output e.csv --quiet");
  std::map<std::string, int> length;
  const auto rows = rows_of(read("e.csv"));
  for (size_t i = 1; i < rows.size(); ++i) {
    ++length[rows[i][0]];
    EXPECT_EQ(rows[i][1].substr(rows[i][1].find(':')), ":00:00");
  }
  std::map<int, int> users;
  for (const auto& [user, steps] : length) ++users[steps];
  for (const int steps : {1, 3, 5}) EXPECT_NEAR(users[steps] / 600.0, 1 / 3.0, 0.15) << steps;
}

// A date that rises from row to row is the index without being named; a window begins where the series was.
TEST_F(CliSequences, UsesTheDatesOfASeriesAsIndex) {
  std::string series = "date,load\n";
  for (int i = 0; i < 150; ++i)
    series += "2022-0" + std::to_string(1 + i / 28) + "-" + (i % 28 < 9 ? "0" : "") + std::to_string(1 + i % 28) + "," +
              std::to_string(50 + i * 37 % 11) + "\n";
  write("t.csv", series);
  const Line how =
      "fit t.csv --method timegan --sequence-length 8 --iterations 2 --hidden-dim 8 --batch-size 16 --model";
  const Outcome found = must(how + "m.tessera");
  EXPECT_HAS(found.err, "used as --sequence-index date");
  must("sample m.tessera --rows 20 --output s.csv --quiet");
  const auto rows = rows_of(read("s.csv"));
  EXPECT_EQ(rows[0], (std::vector<std::string>{"sequence", "date", "load"}));
  ASSERT_EQ(rows.size(), 1u + 20 * 8);
  for (size_t i = 2; i < rows.size(); ++i)
    if (rows[i][0] == rows[i - 1][0]) { EXPECT_GT(rows[i][1], rows[i - 1][1]); }
  const auto report =
      nlohmann::json::parse(must("evaluate t.csv s.csv --method sequence --sequence-length 8 --judges 0 --json").out);
  EXPECT_EQ(report["index"], "date");
  EXPECT_EQ(report["synthetic"]["sequences"], 20) << "no window reaches over the end of another";
  const Outcome off = must(how + Line{"off.tessera", "--sequence-index", "none"});
  EXPECT_EQ(off.err.find("taken as"), std::string::npos);
  EXPECT_HAS(must("sample off.tessera --rows 2 --output -").out, "sequence,step,date,load");
}

TEST_F(CliSequences, WindowsKeepColumnsUnderRules) {
  std::string table = "high,low\n";
  for (int i = 0; i < 200; ++i)
    table += std::to_string(40 + i * 37 % 23) + "," + std::to_string(40 + i * 37 % 23 - 1 - i * 11 % 7) + "\n";
  write("t.csv", table);
  for (const std::string rules : {"find", "off"}) {
    must({"fit", "t.csv", "--method", "timegan", "--sequence-length", "12", "--iterations", "2", "--rules", rules,
          "--model", rules, "--quiet"});
    must({"sample", rules, "--rows", "2", "--output", "s.csv", "--force", "--quiet"});
    EXPECT_EQ(read("s.csv").substr(0, 23), "sequence,step,high,low\n");
    const auto report = nlohmann::json::parse(
        must("evaluate t.csv s.csv --method sequence --sequence-length 12 --judges 0 --json").out);
    EXPECT_EQ(report["synthetic"]["sequences"], 2);
  }
  const Outcome seams = must("evaluate t.csv t.csv --method sequence --sequence-length 12 --judges 0");
  EXPECT_HAS(seams.err, "no column \"sequence\"");
}

TEST_F(CliSequences, SequencesDoNotDependOnOffsetAndThreads) {
  write("visits.csv", visits(40));
  for (const char* threads : {"1", "3"})
    must(Line{"fit", "visits.csv", "--model", std::string("m") + threads, "--threads", threads, "--sequence-key",
              "patient", "--sequence-index", "date", "--static", "sex,birth_year"} +
         kSmallTimegan);
  EXPECT_EQ(read("m1"), read("m3"));
  must("sample m1 --rows 30 --output all.csv --quiet --threads 1");
  must("sample m1 --rows 30 --output small.csv --quiet --batch-size 7 --threads 3");
  must("sample m1 --rows 10 --offset 20 --output tail.csv --quiet");
  const std::string all = read("all.csv"), tail = read("tail.csv");
  EXPECT_EQ(read("small.csv"), all);
  const std::string last = tail.substr(tail.find('\n') + 1);
  EXPECT_EQ(all.substr(all.size() - last.size()), last);
}

TEST_F(CliSequences, ContinuesGivenStepsByTheDefaultMethod) {
  write("t.csv", series(80, 0));
  must("fit t.csv --model m.tessera --sequence-length 6 --epochs 1 --quiet");
  EXPECT_HAS(must("inspect m.tessera").out, "made");
  const std::string all = series(80, 0), head = all.substr(0, all.find('\n') + 1);
  std::string first = head;  // the first ten rows
  for (size_t i = 0, at = head.size(); i < 10; ++i) {
    const size_t end = all.find('\n', at) + 1;
    first += all.substr(at, end - at), at = end;
  }
  write("first.csv", first);
  must("sample m.tessera --given first.csv --steps 5 --output s.csv --quiet");
  const std::string drawn = read("s.csv");
  EXPECT_EQ(std::count(drawn.begin(), drawn.end(), '\n'), 1 + 15);
  refused(2, {"--given"}, "sample m.tessera --rows 3 --steps 5 --output n.csv");
  refused(2, {"4000 given steps", "4096"}, [&] {
    std::string long_one = head;
    for (int i = 0; i < 400; ++i) long_one += first.substr(head.size());
    write("long.csv", long_one);
    return std::vector<std::string>{"sample", "m.tessera", "--given", "long.csv", "--steps", "97", "--output", "l.csv"};
  }());
  write("other.csv", "who\n1\n");
  refused(2, {"other.csv", "\"who\""}, "sample m.tessera --given other.csv --output o.csv");
}

TEST_F(CliSequences, AcceptsTheOptionsOfTimegan) {
  write("t.csv", series(60, 0));
  const auto fit = [&](const Line& options, const std::vector<std::string>& parts) {
    refused(2, parts, "fit t.csv --model m.tessera" + options);
  };
  fit("--method timegan", {"--sequence-length", "--sequence-key"});
  fit("--method timegan --sequence-length 8 --epochs 3", {"--epochs", "--iterations"});
  fit("--method timegan --sequence-length 8 --pac 3", {"--pac", "ctgan"});
  fit("--method timegan --sequence-length 8 --cell rnn", {"--cell rnn", "gru-reset-before", "lstm"});
  fit("--method timegan --sequence-length 8 --calibrate full", {"--calibrate"});
  fit("--method tvae --hidden-dim 8", {"--hidden-dim", "timegan"});
  fit("--method tvae --sequence-length 8", {"--sequence-length", "timegan"});
  // what only timegan has asks for timegan
  fit("--sequence-length 8 --iterations 3 --epochs 3", {"--epochs", "--iterations"});
  fit("--sequence-length 8 --pac 3", {"--pac", "ctgan"});
  fit("--method timegan --sequence-length 8 --static price", {"--static needs --sequence-key"});
  EXPECT_FALSE(exists("m.tessera"));
  must("fit t.csv --model m.tessera --sequence-length 8" + kSmallTimegan);
  const auto where = [&](const char* condition, const std::vector<std::string>& parts) {
    refused(7, parts, {"sample", "m.tessera", "--rows", "3", "--output", "s.csv", "--where", condition});
  };
  where("price > 3", {"column \"price\" varies within a sequence", "constant per sequence: length"});
  where("weight > 3", {"no column \"weight\". Its 1 column: length.", "constant per sequence: length"});
  must("fit t.csv --model u.tessera --method timegan --sequence-length 8 --iterations 0 --quiet");
  must("sample u.tessera --rows 3 --output u.csv --quiet");
}

}  // namespace
