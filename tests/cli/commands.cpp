// The command line, end to end, as a user types it.
#include "cli/program.h"

namespace {

TEST_F(Cli, HelpNamesEveryCommandAndExitCode) {
  const Outcome o = must("--help");
  for (const char* command : {"fit", "sample", "evaluate", "audit", "dedup", "inspect", "info", "plan", "example"}) {
    EXPECT_HAS(o.out, command);
    const Outcome help = must({command, "--help"});
    EXPECT_HAS(help.out, "--json");
    EXPECT_HAS(help.out, "Exit codes");
  }
  EXPECT_HAS(must("--version").out, "tessera 0.");
}

TEST_F(Cli, NamesTheModelAfterItsTable) {
  must("example people.csv --rows 40");
  must("fit people.csv --model m.tessera --epochs 1");
  std::filesystem::create_directory(folder_ / "sub");
  must("sample m.tessera --rows 60 --output sub/few.people.csv.gz");
  must("fit sub/few.people.csv.gz --epochs 1");
  EXPECT_HAS(must("inspect few.people.tessera").out, "60 rows");
  const Outcome again = run("fit sub/few.people.csv.gz --epochs 1");
  EXPECT_EQ(again.code, 4) << "a model is not replaced unasked";
  EXPECT_HAS(again.err, "few.people.tessera");
  for (const char* data : {"people.csv people.csv", "people*.csv", "-"}) {
    const Outcome o = run(Line("fit") + data);
    EXPECT_EQ(o.code, 2) << data;
    EXPECT_HAS(o.err, "--model");
  }
}

TEST_F(Cli, FitsSamplesAndEvaluates) {
  must("example people.csv --rows 400 --seed 1");
  EXPECT_EQ(lines(read("people.csv")), 401);

  const Outcome inspected = must("inspect people.csv");
  EXPECT_HAS(inspected.out, "400 rows");
  EXPECT_HAS(inspected.out, "because");

  const Outcome fitted = must("fit people.csv --model m.tessera --epochs 2 --batch-size 100 --log losses.csv");
  EXPECT_EQ(fitted.out, "") << "standard output is for reports";
  EXPECT_HAS(fitted.err, "train");
  EXPECT_HAS(fitted.err, "m.tessera");
  const std::string losses = read("losses.csv");
  EXPECT_EQ(losses.rfind("step,epoch,surprise,seconds\n", 0), 0u);
  EXPECT_GE(lines(losses), 2) << "a line an epoch that was trained at least";

  const Outcome sampled = must("sample m.tessera --rows 250 --output out.csv");
  EXPECT_EQ(sampled.out, "");
  EXPECT_HAS(sampled.err, "250 rows to out.csv");
  const std::string rows = read("out.csv");
  EXPECT_EQ(lines(rows), 251);
  EXPECT_EQ(rows.substr(0, rows.find('\n')), read("people.csv").substr(0, read("people.csv").find('\n')))
      << "the columns of the table, in its order";

  const Outcome judged = must("evaluate people.csv out.csv");
  for (const char* part : {"column shapes", "column pair trends", "exact copies", "columns, ", "pairs, "})
    EXPECT_HAS(judged.out, part);

  EXPECT_HAS(must("inspect m.tessera").out, "columns");
  EXPECT_EQ(files(), (std::vector<std::string>{"losses.csv", "m.tessera", "out.csv", "people.csv"}))
      << "and nothing else is left";
}

TEST_F(Cli, PrintsJsonReports) {
  model();
  const Json inspected = Json::parse(must("inspect people.csv --json --quiet").out);
  ASSERT_TRUE(inspected.contains("columns"));
  for (const Json& column : inspected["columns"]) EXPECT_FALSE(column["reason"].get<std::string>().empty()) << column;
  EXPECT_TRUE(Json::parse(must("inspect m.tessera --json").out).is_object());

  const Json sampled = Json::parse(must("sample m.tessera --rows 60 --output out.csv --json").out);
  EXPECT_EQ(sampled["rows"], 60);
  const Json judged = Json::parse(must("evaluate people.csv out.csv --json").out);
  EXPECT_EQ(judged["rows"]["synthetic"], 60);
  EXPECT_TRUE(judged["scores"]["column_shapes"].is_number());
  EXPECT_FALSE(Json::parse(must("evaluate people.csv out.csv --json --without-distances").out).contains("dcr"));

  const Json plan = Json::parse(must("plan people.csv --json").out);
  double floor = 0;
  for (const Json& op : plan["ops"]) {
    EXPECT_GE(op["floor_us"].get<double>(),
              1e6 * op["bytes"].get<double>() / plan["ceilings"]["bytes_per_second"].get<double>() * (1 - 1e-9))
        << op;
    EXPECT_GE(op["floor_us"].get<double>(),
              1e6 * op["flops"].get<double>() / plan["ceilings"]["flops_per_second"].get<double>() * (1 - 1e-9))
        << op;
    floor += op["floor_us"].get<double>();
  }
  EXPECT_GT(floor, 0);
  EXPECT_NEAR(plan["floor_us"].get<double>(), floor, 1e-6 * floor);
  for (const char* part : {"pass", "interpolate", "matmul", "total", "launches", "GFLOP/s"})
    EXPECT_HAS(must("plan people.csv").out, part);
  // The launches of a GPU that need not be there.
  const Line plan_of_tvae = "plan people.csv --method tvae --device cuda --json",
             by_hand = plan_of_tvae + "--use fusion.json";
  const Json fused = Json::parse(must(plan_of_tvae).out);
  Json fusion = fused["fusion"];
  write("fusion.json", fusion.dump());
  EXPECT_EQ(Json::parse(must(by_hand).out)["groups"], fused["groups"]);
  fusion["launches"][0]["chains"][0]["ops"].erase(0);
  write("fusion.json", fusion.dump());
  const Outcome refused = run(by_hand);
  EXPECT_EQ(refused.code, 2);
  EXPECT_HAS(refused.err, "it is in no launch");
  const Json composed = Json::parse(must(plan_of_tvae + "--passes-off fuse").out);
  EXPECT_LT(4 * fused["launches"].get<int>(), composed["launches"].get<int>());
  EXPECT_GT(fused["groups"][0]["floor_us"].get<double>(), 0);
  EXPECT_HAS(must("plan people.csv --device cuda").out, "rows");
  EXPECT_GE(Json::parse(must("info --json").out)["cpu"]["threads"].get<int>(), 1);
  const Json fitted = Json::parse(must("fit people.csv --model n.tessera --epochs 0 --json").out);
  EXPECT_EQ(fitted["model"], "n.tessera");
  EXPECT_EQ(fitted["bytes"], std::filesystem::file_size(folder_ / "n.tessera"));
}

TEST_F(Cli, ScoresATableAgainstItselfAsPerfect) {
  example();
  const Json r = Json::parse(must("evaluate people.csv people.csv --json").out);
  EXPECT_DOUBLE_EQ(r["scores"]["column_shapes"].get<double>(), 1);
  EXPECT_NEAR(r["scores"]["pair_trends"].get<double>(), 1, 1e-12);
  EXPECT_EQ(r["exact_copies"]["rows"], 300);
}

TEST_F(Cli, HoldoutGivesTheReferenceOfRealRows) {
  must("example real.csv --rows 300 --seed 1");
  must("example synthetic.csv --rows 300 --seed 2");
  must("example holdout.csv --rows 200 --seed 3");
  const Line command = "evaluate real.csv synthetic.csv --holdout holdout.csv --target gender";
  const std::string text = must(command).out;
  for (const char* part : {"boosted trees", "logistic", "the real table against the holdout", "AUC", "target: gender",
                           "nearer to training", "exact copies", "ratio, 5 %", "holdout"})
    EXPECT_HAS(text, part);
  const Json r = Json::parse(must(command + "--json").out);
  for (const char* classifier : {"trees", "logistic"})
    for (const char* key : {"auc", "score", "floor_auc", "floor_score"})
      EXPECT_TRUE(r["c2st"][classifier][key].is_number()) << classifier << " " << key;
  EXPECT_EQ(r["utility"]["target"], "gender");
  for (const char* side : {"synthetic", "real"}) EXPECT_TRUE(r["utility"][side].is_object());
  for (const char* key : {"dcr", "nndr", "holdout_dcr", "holdout_nndr", "share_closer_to_real_equal_rows"})
    EXPECT_TRUE(r["l1"].contains(key)) << key;
  EXPECT_TRUE(r["exact_copies"].contains("holdout_share"));
  const Json less = Json::parse(
      must("evaluate real.csv synthetic.csv --holdout holdout.csv --without-c2st --without-utility --json").out);
  EXPECT_FALSE(less.contains("c2st"));
  EXPECT_FALSE(less.contains("utility"));
  EXPECT_FALSE(Json::parse(must("evaluate real.csv synthetic.csv --json").out).contains("utility"));
}

TEST_F(Cli, ComparesIntegersWithDecimals) {
  write("real.csv", "x,y\n1.5,a\n2.5,b\n3.5,a\n4.5,b\n");
  write("synthetic.csv", "x,y\n1,a\n2,b\n3,a\n4,b\n");
  EXPECT_EQ(Json::parse(must("evaluate real.csv synthetic.csv --json").out)["columns"][0]["kind"], "numerical");
}

TEST_F(Cli, QuietPrintsNothing) {
  example();
  EXPECT_EQ(must("fit people.csv --model m.tessera --epochs 1 --quiet").err, "");
  EXPECT_EQ(must("sample m.tessera --rows 5 --output o.csv --quiet").err, "");
}

TEST_F(Cli, LogsHaveWholeLinesWithoutCursorMoves) {
  example();
  const std::string err = must("fit people.csv --model m.tessera --epochs 2").err;
  EXPECT_EQ(err.find('\r'), std::string::npos);
  EXPECT_EQ(err.find('\x1b'), std::string::npos);
  EXPECT_EQ(err.back(), '\n');
  EXPECT_LE(lines(err), 20);
}

TEST_F(Cli, ReadsAndWritesPipes) {
  const std::string table = must("example - --rows 200 --seed 3 --quiet").out;
  EXPECT_EQ(lines(table), 201);
  must("fit - --model m.tessera --epochs 1 --batch-size 50", table);
  const Outcome rows = must("sample m.tessera --rows 40 --output -");
  EXPECT_EQ(lines(rows.out), 41) << "rows and nothing else";
  EXPECT_EQ(rows.out.substr(0, rows.out.find('\n')), table.substr(0, table.find('\n')));
}

TEST_F(Cli, RowsDoNotDependOnOffsetAndBatch) {
  model();
  const std::string whole = must("sample m.tessera --rows 90 --output - --quiet").out;
  EXPECT_EQ(must("sample m.tessera --rows 90 --output - --quiet --batch-size 7 --threads 1").out, whole);
  EXPECT_EQ(must("sample m.tessera --rows 90 --output - --quiet --threads 3").out, whole);
  const auto after = [](const std::string& text, int64_t skip) {
    size_t at = 0;
    for (; skip > 0; --skip) at = text.find('\n', at) + 1;
    return text.substr(at);
  };
  EXPECT_EQ(after(must("sample m.tessera --rows 10 --offset 80 --output - --quiet").out, 1), after(whole, 81));
  EXPECT_TRUE(must("sample m.tessera --rows 90 --seed 5 --output - --quiet").out != whole)
      << "another seed, another table";
}

// Weights that were hardly trained: the default minimum accepts candidates that the calibration would not.
TEST_F(Cli, MinYieldZeroDiffersFromTheDefault) {
  must("example t.csv --rows 1500 --quiet");
  must("fit t.csv --model m --method ctgan --epochs 1 --learning-rate 1e-9");
  const auto candidates = [&](const Line& more) {
    return nlohmann::json::parse(
               must("sample m --rows 60 --calibrate full --output o.csv --force --quiet --json" + more).out)
        .at("candidates")
        .get<int64_t>();
  };
  const int64_t usual = candidates({}), least = candidates("--min-yield 0.1"), none = candidates("--min-yield 0");
  EXPECT_EQ(least, usual);
  EXPECT_GT(none, usual);
}

TEST_F(Cli, ModelDoesNotDependOnThreads) {
  example();
  for (const char* threads : {"1", "2", "3"})
    must({"fit", "people.csv", "--model", std::string("m") + threads + ".tessera", "--epochs", "2", "--batch-size",
          "50", "--seed", "9", "--threads", threads});
  EXPECT_EQ(read("m1.tessera"), read("m2.tessera"));
  EXPECT_EQ(read("m1.tessera"), read("m3.tessera"));
}

}  // namespace
