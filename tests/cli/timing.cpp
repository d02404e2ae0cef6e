// tessera tune and tessera advise: what they say, and where a profile is taken.
#include "cli/program.h"

namespace {

class CliTiming : public Cli {};

TEST_F(CliTiming, TuneMarksOneSettingAndWritesIt) {
  example(200);
  const Json report = Json::parse(must("tune people.csv --method tvae --batch-sizes 64,512 --rows 300 --seconds 0 "
                                       "--threads 2 --profile fast.json --json --quiet")
                                      .out);
  int fastest = 0;
  double best = 0, marked = 0;
  for (const Json& s : report.at("settings")) {
    EXPECT_GE(s.at("rounds"), 3);
    best = std::max(best, s.at("rows_per_second").get<double>());
    if (s.at("fastest").get<bool>()) ++fastest, marked = s.at("rows_per_second").get<double>();
  }
  EXPECT_EQ(report.at("settings").size(), 4);  // two batches, one thread and two
  EXPECT_EQ(fastest, 1);
  EXPECT_EQ(marked, best);
  EXPECT_EQ(Json::parse(read("fast.json")).at("sample").at("precision"), "fp32");
  EXPECT_EQ(run("tune people.csv --profile fast.json").code, 4) << "it is not replaced without --force";
}

TEST_F(CliTiming, RejectsProfilesOfOtherMachines) {
  model();
  must("tune people.csv --batch-sizes 64 --rows 100 --seconds 0 --threads 1 --profile fast.json --quiet");
  must("sample m.tessera --rows 100 --output a.csv --quiet");
  must("sample m.tessera --rows 100 --output b.csv --profile fast.json --quiet");
  EXPECT_EQ(read("a.csv"), read("b.csv"));
  Json other = Json::parse(read("fast.json"));
  other["machine"]["host"] = "another";
  write("other.json", other.dump());
  write("none.json", "[1, 2]");
  for (const auto& [file, said] : {std::pair{"other.json", "another machine"}, {"none.json", "not a profile"}}) {
    const Outcome o = run({"sample", "m.tessera", "--rows", "9", "--output", "c.csv", "--profile", file});
    EXPECT_EQ(o.code, 2);
    EXPECT_HAS(o.err, said);
    EXPECT_FALSE(exists("c.csv"));
  }
  EXPECT_EQ(run("sample m.tessera --rows 9 --output c.csv --profile gone").code, 4);
}

TEST_F(CliTiming, AdviceAddsUpAndListsWhatWasNotMeasured) {
  example(200);
  const Json a =
      Json::parse(must("advise people.csv --method tvae --epochs 50 --rows 1000 --seconds 1 --json --quiet").out);
  ASSERT_GE(a.at("devices").size(), 1);
  const Json& d = a.at("devices")[0];
  EXPECT_EQ(d.at("device"), "cpu");
  const auto of = [&](const char* what) { return d.at(what).at("seconds").get<double>(); };
  EXPECT_NEAR(of("job"), of("before_training") + 50 * of("epoch") + 1000 * of("row"), 1e-9 * of("job"));
  EXPECT_LE(d.at("job").at("low"), d.at("job").at("seconds"));
  EXPECT_GE(d.at("job").at("high"), d.at("job").at("seconds"));
  EXPECT_HAS(a.at("not_measured").get<std::string>(), "calibration");
  const Outcome sequences = run("advise people.csv --method timegan --sequence-length 5 --epochs 9 --rows 9");
  EXPECT_EQ(sequences.code, 2);
  EXPECT_HAS(sequences.err, "methods of rows");
}

TEST_F(CliTiming, MemoryFractionSetsALimit) {
  example(200);
  const Outcome o = run("fit people.csv --model m.tessera --memory-fraction 2");
  EXPECT_EQ(o.code, 2);
  EXPECT_EQ(run("fit people.csv --model m.tessera --memory-fraction 0.5 --memory-limit 4G").code, 2);
  must("fit people.csv --model m.tessera --memory-fraction 0.5 --epochs 1 --quiet");
}

TEST_F(CliTiming, RankForecastAddsUpAndIsMarkedAsPredicted) {
  example(400);  // of some widths 64 ranks cannot share the weights, and send activations instead
  const Line line =
      "plan people.csv --method tvae --batch-size 8000 --devices 6 --device cuda --link 10,45 --json --quiet";
  const Json forecast = Json::parse(must(line).out).at("forecast");
  EXPECT_EQ(forecast.at("predicted"), true);
  EXPECT_EQ(forecast.at("link").at("latency_us"), 10);
  std::vector<int> ranks;
  double alone = 0, twice = 0;  // all weights, sent twice
  for (const Json& r : forecast.at("ranks")) {
    const double n = r.at("ranks"), sent = r.at("bytes_sent"), compute = r.at("compute_us"),
                 wires = r.at("exchange_us");
    ranks.push_back(r.at("ranks"));
    if (n == 1) {
      alone = compute;
      EXPECT_EQ(sent, 0);
      continue;
    }
    EXPECT_NEAR(r.at("speed_up"), alone / (compute + wires), 1e-9);
    EXPECT_NEAR(r.at("efficiency"), alone / (compute + wires) / n, 1e-9);
    EXPECT_NEAR(wires, 10 * r.at("exchanges").get<double>() + sent / 45e3, 1e-6);
    if (r.at("ranks") == 6) continue;  // whose shards are no branch of the tree: they send whole sums
    if (twice == 0) twice = sent * n / (n - 1);
    EXPECT_NEAR(sent * n / (n - 1), twice, twice / 100)
        << "a rank sends each other one its part of the sums, and then its own part of the weights";
  }
  EXPECT_EQ(ranks, (std::vector{1, 2, 4, 6, 8, 16, 32, 64}));
  EXPECT_EQ(forecast.at("ranks_by_columns").size(), ranks.size());
  EXPECT_HAS(must("plan people.csv --devices 2").out, "PREDICTED");
  EXPECT_HAS(run("plan people.csv --devices 2 --link usb").err, "known links are nvlink, pcie, ib and 100GbE");
  EXPECT_EQ(run("plan people.csv --link ib").code, 2);
}

// The wide ends' state is shared out by columns: each number of ranks holds less a rank, all of them together no less
// than one. With rows shared out every rank holds all weights, and its part of what only updates read. Exchanges by
// columns are of rows: twice the batch, twice the bytes.
TEST_F(CliTiming, ForecastsColumnParallelRanks) {
  example(200);
  const auto forecast = [&](const std::string& method, const std::string& batch) {
    return Json::parse(must({"plan", "people.csv", "--method", method, "--batch-size", batch, "--devices", "2",
                             "--virtual-shards", "4", "--json", "--quiet"})
                           .out)
        .at("forecast");
  };
  for (const char* method : {"tvae", "ctgan"}) {
    const Json some = forecast(method, "400"), twice = forecast(method, "800");
    const Json &rows = some.at("ranks"), &columns = some.at("ranks_by_columns");
    ASSERT_EQ(columns.size(), 3U) << method << ": four parts are shared by 1, 2 and 4 ranks";
    const int64_t whole = columns[0].at("state_bytes");
    EXPECT_EQ(columns[0].at("bytes_sent"), 0);
    for (size_t i = 0; i < columns.size(); ++i) {
      const int64_t n = columns[i].at("ranks");
      for (const int64_t held :
           {columns[i].at("state_bytes").get<int64_t>(), rows[i].at("state_bytes").get<int64_t>()}) {
        EXPECT_GE(n * held, whole) << method;
        EXPECT_EQ(held == whole, n == 1) << method;
        EXPECT_LE(held, whole) << method;
      }
      EXPECT_NEAR(twice.at("ranks_by_columns")[i].at("bytes_sent").get<double>(),
                  2 * columns[i].at("bytes_sent").get<double>(), 0.02 * columns[i].at("bytes_sent").get<double>());
    }
  }
  EXPECT_HAS(must("plan people.csv --method tvae --devices 2").out, "--parallel model");
  EXPECT_FALSE(forecast("made", "128").contains("ranks_by_columns"));
}

// At the smallest batch that is forecast to pay, two ranks and one take as long, as far as the floor is a line.
TEST_F(CliTiming, ReportsTheBatchFromWhichRanksPay) {
  example(200);
  const auto two = [&](const std::string& batch) {
    const Json plan = Json::parse(must({"plan", "people.csv", "--method", "tvae", "--batch-size", batch, "--devices",
                                        "2", "--device", "cuda", "--link", "ib", "--json", "--quiet"})
                                      .out);
    return plan.at("forecast").at("ranks").at(1);
  };
  const int64_t pays = two("8000").at("pays_from_batch");
  EXPECT_LT(two(std::to_string(pays / 2)).at("speed_up"), 1);
  EXPECT_GT(two(std::to_string(pays * 2)).at("speed_up"), 1);
}

}  // namespace
