// What `estimate` says before a fit is what the kernel counts after it: of child processes, for all methods.
#include <nlohmann/json.hpp>

#include "cli/program.h"

namespace {

// Above the peak an estimate may be a twentieth, and this much, below which shares mean nothing.
constexpr int64_t kSmall = 1 << 20;

class CliEstimate : public Cli {
 protected:
  void table(const std::string& name, int rows) { must({"example", name, "--rows", std::to_string(rows)}); }

  void expect_bounded(const std::string& table, const Line& options) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "another allocator, with memory of its own beside each block";
#endif
    std::string line = table;
    for (const std::string& word : options) line += " " + word;
    const Outcome said = must(Line{"estimate", table, "--json", "--quiet"} + options),
                  done = must(Line{"fit", table, "--json", "--quiet", "--model", "m.bin", "--force"} + options);
    const auto bytes = [](const Outcome& o) { return nlohmann::json::parse(o.out).at("peak_bytes").get<int64_t>(); };
    EXPECT_GE(bytes(said), bytes(done)) << line;
    EXPECT_LE(bytes(said), bytes(done) + bytes(done) / 20 + kSmall) << line;
  }
};

TEST_F(CliEstimate, BoundsThePeakOfMade) {
  table("small.csv", 300);
  table("large.csv", 20000);
  for (const char* t : {"small.csv", "large.csv"})
    for (const Line& more : {Line{}, {"--batch-size", "2000"}, {"--preset", "paper"}, {"--hidden-dim", "64"}}) {
      expect_bounded(t, "--method made --epochs 1 --threads 2" + more);
    }
}

TEST_F(CliEstimate, BoundsThePeakOfTvaeAndCtgan) {
  table("small.csv", 300);
  table("large.csv", 20000);
  for (const char* t : {"small.csv", "large.csv"})
    for (const char* method : {"tvae", "ctgan"})
      for (const Line& more : {Line{}, {"--threads", "1", "--batch-size", "1000"}, {"--recompute", "all"}}) {
        expect_bounded(t, Line{"--method", method, "--epochs", "1", "--preset", "paper"} + more);
      }
}

TEST_F(CliEstimate, BoundsThePeakWithPopulationStatistics) {
  table("large.csv", 20000);
  for (const char* batch : {"500", "2000"})
    expect_bounded("large.csv", {"--method", "ctgan", "--epochs", "1", "--calibrate", "off", "--batch-size", batch});
}

TEST_F(CliEstimate, BoundsThePeakWithHeldOutRows) {
  table("large.csv", 20000);
  for (const Line& more :
       {Line("--method ctgan --calibrate off --keep best"), {"--method", "made", "--patience", "3"}}) {
    expect_bounded("large.csv", "--epochs 2 --threads 2" + more);
  }
}

// Without a training the encoder's latent dimensions carry nothing, and no prior would be fitted; after few epochs many
// still do not, and the prior is smaller than estimated.
TEST_F(CliEstimate, BoundsThePeakWithAPrior) {
  table("large.csv", 20000);
  expect_bounded("large.csv", "--method tvae --epochs 20 --calibrate off --threads 2");
}

TEST_F(CliEstimate, BoundsThePeakWithCalibration) {
  table("small.csv", 1500);
  expect_bounded("small.csv", "--method tvae --epochs 1 --threads 2");
}

TEST_F(CliEstimate, BoundsThePeakOfSequences) {
  table("t.csv", 600);
  for (const Line& more : {Line("--sequence-length 12"),
                           {"--sequence-length", "80", "--batch-size", "64"},
                           {"--sequence-length", "160", "--batch-size", "32", "--recompute", "all"}}) {
    expect_bounded("t.csv", "--method timegan --iterations 1 --hidden-dim 24 --threads 2" + more);
  }
}

// What a limit counts is what a step and the trainer take; the rest of the process is in kProgramBytes of it.
TEST_F(CliEstimate, FitStaysWithinTheMemoryLimit) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "another allocator, with memory of its own beside each block";
#endif
  table("t.csv", 600);
  const Line line{
      "t.csv",   "--json", "--quiet", "--method",     "timegan", "--iterations",      "1",   "--threads",    "2",
      "--model", "m.bin",  "--force", "--hidden-dim", "24",      "--sequence-length", "160", "--batch-size", "32"};
  const auto peak = [&](const Line& more) {
    return nlohmann::json::parse(must("fit" + line + more).out).at("peak_bytes").get<int64_t>();
  };
  const int64_t free = peak({}), limit = free / 10 * 8;
  EXPECT_LE(peak({"--memory-limit", std::to_string(limit)}), limit) << free << " bytes without a limit";
}

// A calibration's candidates and the points of a prior count before the first step, not when they are there.
TEST_F(CliEstimate, LimitHoldsAfterTraining) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "another allocator, with memory of its own beside each block";
#endif
  table("t.csv", 6000);
  const char *calibration = "A calibration takes up to ", *kept = "The method's final stage takes up to ";
  for (const auto& [more, refusal] :
       {std::pair{Line("--method tvae"), calibration},
        {{"--method", "tvae", "--calibrate", "marginals"}, calibration},
        {{"--method", "ctgan", "--calibrate", "off"}, kept},
        {{"--method", "tvae", "--calibrate", "off", "--encoder-dim", "8", "--decoder-dim", "8"}, kept}}) {
    const Line line = "t.csv --json --quiet --epochs 1 --threads 2" + more;
    const auto limit = nlohmann::json::parse(must("estimate" + line).out).at("limit_bytes").get<int64_t>();
    const auto within = [&](int64_t bytes) {
      return run(Line{"fit", "--model", "m.bin", "--force", "--memory-limit", std::to_string(bytes)} + line);
    };
    const Outcome enough = within(limit);
    ASSERT_EQ(enough.code, 0) << enough.err;
    EXPECT_LE(nlohmann::json::parse(enough.out).at("peak_bytes").get<int64_t>(), limit) << more[1];
    const Outcome less = within(limit - 100'000);
    EXPECT_EQ(less.code, 5) << more[1];
    EXPECT_HAS(less.err, refusal);
    EXPECT_HAS(less.err, "--memory-limit ");
    EXPECT_EQ(less.err.find("--calibrate off") != std::string::npos, refusal == calibration) << less.err;
  }
}

// CTGAN measures held-out rows with programs of their own beside the step's: they count before the first step.
TEST_F(CliEstimate, LimitHoldsForHeldOutMeasures) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "another allocator, with memory of its own beside each block";
#endif
  table("t.csv", 2000);
  for (const Line& ending : {Line("--keep best"), {"--patience", "3"}, {"--keep", "best", "--preset", "paper"}}) {
    const Line line =
        "t.csv --json --quiet --method ctgan --calibrate off --epochs 2 --threads 2 --recompute off" + ending;
    const auto limit = nlohmann::json::parse(must("estimate" + line).out).at("limit_bytes").get<int64_t>();
    const auto within = [&](int64_t bytes) {
      return run(Line{"fit", "--model", "m.bin", "--force", "--memory-limit", std::to_string(bytes)} + line);
    };
    const Outcome enough = within(limit);
    ASSERT_EQ(enough.code, 0) << enough.err;
    EXPECT_LE(nlohmann::json::parse(enough.out).at("peak_bytes").get<int64_t>(), limit) << ending[1];
    for (const int64_t less : {int64_t{100'000}, limit / 6, limit / 3}) {
      const Outcome refused = within(limit - less);
      EXPECT_EQ(refused.code, 5) << ending[1];
      EXPECT_EQ(refused.err.find("epochs are saved"), std::string::npos) << refused.err;
    }
  }
}

TEST_F(CliEstimate, WorksWithoutATable) {
  const auto of = [&](int64_t rows, const char* columns) {
    return nlohmann::json::parse(
        must({"estimate", "--rows", std::to_string(rows), "--columns", columns, "--json", "--quiet"}).out);
  };
  const char* columns = "2 decimal, integer, 2 category:5, boolean, date";
  const auto short_table = of(1000, columns);
  EXPECT_EQ(short_table.at("rows"), 1000);
  EXPECT_GT(short_table.at("peak_bytes"), short_table.at("training_bytes"));
  const auto made = of(400'000, "decimal, category:5"), extrapolated = of(4'000'000, "decimal, category:5");
  EXPECT_EQ(extrapolated.at("rows"), 4'000'000);
  EXPECT_NEAR(extrapolated.at("encoded_bytes").get<double>(), 10 * made.at("encoded_bytes").get<double>(),
              0.02 * extrapolated.at("encoded_bytes").get<double>());
  EXPECT_GT(extrapolated.at("peak_bytes"), made.at("peak_bytes"));
}

TEST_F(CliEstimate, RejectsInvalidColumnDescriptions) {
  for (const auto& [columns, part] : {std::pair{"2 words", "\"2 words\" names no kind"},
                                      {"0 decimal", "\"0 decimal\" does not begin"},
                                      {"category:none", "\"category:none\" has no number of values"},
                                      {"integer,,date", "\"\" names no kind"}}) {
    const Outcome o = run({"estimate", "--rows", "100", "--columns", columns});
    EXPECT_EQ(o.code, 2);
    EXPECT_HAS(o.err, part);
    EXPECT_HAS(o.err, "known are integer, decimal");
  }
  EXPECT_EQ(run("estimate --rows 100").code, 2);
  EXPECT_EQ(run("estimate").code, 2);
}

}  // namespace
