// Nothing lost: kills, signals, full disks and short memory on the real program; whatever happened, the same line with
// --resume ends in the file of the run that was never stopped.
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>
#include <tuple>

#include "cli/program.h"

namespace {

class CliResume : public Cli {
 protected:
  void SetUp() override {
    Cli::SetUp();
    example(400);
    std::string visits = "patient,kind,level\n";
    for (int i = 0; i < 240; ++i)
      visits += std::to_string(i / 6) + (i / 6 % 3 == 0 ? ",long," : ",short,") +
                std::to_string((i * 37 + i / 6 * 11) % 100) + "." + std::to_string(i % 10) + "\n";
    write("visits.csv", visits);
  }
  // A fit of a second on a small table, kept as often as can be.
  static Line fit(const std::string& method, const std::string& model, const Line& more = {}) {
    // timegan: a static column, so that the attributes' network is trained too; a third of the steps in each phase.
    if (method == "timegan")
      return Line{"fit", "visits.csv", "--model", model, "--method", method, "--iterations", "120"} +
             "--batch-size 16 --hidden-dim 6 --layers 1 --sequence-key patient --static kind --checkpoint-every "
             "1epochs" +
             more;
    return Line{"fit", "people.csv", "--model", model, "--method", method, "--epochs", "12"} +
           "--batch-size 50 --calibrate off --embedding-dim 16 --checkpoint-every 1epochs" +
           (method == "tvae" ? "--encoder-dim 32 --decoder-dim 32" : "--generator-dim 32 --discriminator-dim 32") +
           more;
  }
  static Line endless(const std::string& model, const Line& more = {}) {
    Line line = fit("tvae", model, more);
    line[7] = "100000000";
    return line;
  }
  std::string whole(const std::string& method) {
    must(fit(method, "whole.tessera"));
    const std::string bytes = read("whole.tessera");
    std::filesystem::remove(folder_ / "whole.tessera");
    return bytes;
  }
  void drop(const std::string& name) const { std::filesystem::remove(folder_ / name); }
  int shell(const std::string& before, const Line& line) const {
    std::string command = "cd " + folder_.string() + " && " + before + " " + TESSERA_PROGRAM;
    for (const std::string& word : line) command += " '" + word + "'";
    const int status = std::system((command + " > out 2> err").c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  void storm(const std::string& method, uint32_t seed, int kills);
};

// Every run is killed after a time that the seed gives, and goes on from what the one before left, until one comes to
// its end first.
void CliResume::storm(const std::string& method, uint32_t seed, int kills) {
  const std::string bytes = whole(method);
  const auto started = std::chrono::steady_clock::now();
  must(fit(method, "m.tessera"));
  const auto takes = std::chrono::steady_clock::now() - started;
  drop("m.tessera");
  std::mt19937 random(seed);
  int killed = 0, finished = 0, torn = 0;
  while (killed < kills) {
    const std::string threads = std::to_string(1 + random() % 3);
    Running run(folder_, fit(method, "m.tessera") + Line{"--resume", "--quiet", "--threads", threads}, "");
    std::this_thread::sleep_for(takes * (static_cast<double>(random() % 1000) / 1000));
    run.signal(SIGKILL);
    const Outcome o = run.wait();
    if (o.code == 128 + SIGKILL) {
      ++killed;
      torn += !exists("m.tessera.checkpoint") && exists("m.tessera.checkpoint.previous");
      if (!exists("m.tessera")) continue;
    } else {
      ASSERT_EQ(o.code, 0) << o.err;
    }
    ++finished;
    ASSERT_TRUE(read("m.tessera") == bytes) << "after " << killed << " kills of seed " << seed;
    drop("m.tessera");
  }
  must(fit(method, "m.tessera") + "--resume");
  EXPECT_TRUE(read("m.tessera") == bytes);
  EXPECT_EQ(files(), (Line("m.tessera people.csv visits.csv"))) << "nothing is left beside the model";
  RecordProperty("finished", finished);
  RecordProperty("caught_between_generations", torn);
}

// 300 kills in all. Of timegan they fall into all three phases and into the training of the attributes.
class CliStorm : public CliResume, public testing::WithParamInterface<std::tuple<const char*, uint32_t>> {};
TEST_P(CliStorm, SurvivesTwentyFiveKills) { storm(std::get<0>(GetParam()), std::get<1>(GetParam()), 25); }
INSTANTIATE_TEST_SUITE_P(Methods, CliStorm,
                         testing::Combine(testing::Values("ctgan", "tvae", "timegan"), testing::Values(1u, 2u, 3u, 4u)),
                         [](const auto& c) {
                           return std::string(std::get<0>(c.param)) + "_" + std::to_string(std::get<1>(c.param));
                         });

// An empty lock would be taken for a foreign file, and stay, if the process that makes it is killed.
TEST_F(CliResume, LockFileIsNeverEmpty) {
  const std::filesystem::path lock = folder_ / "m.tessera.lock";
  for (int k = 0; k < 20; ++k) {
    Running run(folder_, endless("m.tessera"), "");
    std::error_code none;
    const auto last = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!std::filesystem::exists(lock, none) && std::chrono::steady_clock::now() < last) {}
    EXPECT_GT(std::filesystem::file_size(lock), 0u);
    run.signal(SIGKILL);
    EXPECT_EQ(run.wait().code, 128 + SIGKILL);
    drop("m.tessera.lock");
  }
}

TEST_F(CliResume, SignalsReportHowToContinue) {
  for (const int number : {SIGINT, SIGTERM}) {
    const Line line = endless("my model.tessera");
    Running run(folder_, line + "--log losses.csv", "");
    ASSERT_TRUE(run.wait_for_error_text("train"));
    run.signal(number);
    const Outcome o = run.wait();
    EXPECT_EQ(o.code, 128 + number) << o.err;
    EXPECT_HAS(o.err, "stopped by");
    EXPECT_HAS(o.err, "are saved in my model.tessera.checkpoint");
    EXPECT_HAS(o.err, "Continue with: " + std::string(TESSERA_PROGRAM) +
                          " fit people.csv --model 'my model.tessera' --method tvae");
    EXPECT_HAS(o.err, "--log losses.csv --resume\n");
    // The line it says, but for a bound on the time, as this one has no end.
    const Outcome again = must(line + "--log losses.csv --resume --max-time 0.01s");
    EXPECT_HAS(again.err, "Continuing from");
    for (const char* name : {"my model.tessera", "losses.csv"}) drop(name);
    EXPECT_EQ(files(), (Line("people.csv visits.csv")));
  }
}

TEST_F(CliResume, SignalDuringCalibrationKeepsTheTraining) {
  Line line = fit("tvae", "m.tessera");
  line[11] = "full";
  must(line);
  const std::string bytes = read("m.tessera");
  drop("m.tessera");
  Running run(folder_, line, "");
  ASSERT_TRUE(run.wait_for_error_text("train"));
  ASSERT_TRUE(run.wait_for_error_text("   12 epochs"));  // not "3/12 epochs": the line of training's end
  run.signal(SIGTERM);
  const Outcome o = run.wait();
  if (o.code == 0) GTEST_SKIP() << "it was faster than the signal";
  EXPECT_EQ(o.code, 143) << o.err;
  EXPECT_HAS(o.err, "12 of 12 epochs are saved");
  const Outcome again = must(line + "--resume");
  EXPECT_HAS(again.err, "Continuing from 12 of 12 epochs");
  EXPECT_EQ(again.err.find("train "), std::string::npos) << "nothing is trained again";
  EXPECT_TRUE(read("m.tessera") == bytes);
}

TEST_F(CliResume, SecondSignalExitsAtOnce) {
  Running run(folder_, endless("m.tessera"), "");
  ASSERT_TRUE(run.wait_for_error_text("train"));
  for (int i = 0; i < 2; ++i) run.signal(SIGINT);
  EXPECT_EQ(run.wait().code, 130);
  EXPECT_FALSE(exists("m.tessera"));
  must(endless("m.tessera") + "--resume --max-time 0.01s");
}

TEST_F(CliResume, DoesNothingIfTheModelIsFinished) {
  const Line line = fit("tvae", "m.tessera") + "--resume";
  must(line);
  const std::string bytes = read("m.tessera");
  for (const Line& l : {line, line + "--force", line + "--threads 2"}) {
    const Outcome o = must(l);
    EXPECT_HAS(o.err, "nothing to do");
    EXPECT_TRUE(read("m.tessera") == bytes);
  }
  const Outcome o = run(line + "--seed 5");
  EXPECT_EQ(o.code, 2);
  EXPECT_HAS(o.err, "m.tessera: this was trained with other options: --seed was 0, now 5");
  EXPECT_HAS(o.err, "--force");
}

// A named index, one that is looked for and none are three options.
TEST_F(CliResume, TellsIndexesOfSequencesApart) {
  std::string rows = "t,x\n";
  for (int i = 0; i < 200; ++i) rows += std::to_string(i) + "," + std::to_string(i * 7 % 13) + "\n";
  write("s.csv", rows);
  const Line line = "fit s.csv --model s.tessera --sequence-length 8 --epochs 1 --hidden-dim 8";
  must(line + "--sequence-index t");
  for (const auto& [option, now] :
       {std::pair("--sequence-index none", "now none"), std::pair("--quiet", "now not given")}) {
    const Outcome o = run(line + option + "--resume");
    EXPECT_EQ(o.code, 2) << o.err;
    EXPECT_HAS(o.err, std::string("--sequence-index was t, ") + now);
  }
}

TEST_F(CliResume, RejectsAnotherTable) {
  must(fit("tvae", "m.tessera"));
  drop("people.csv");
  example(401);
  const Outcome o = run(fit("tvae", "m.tessera") + "--resume");
  EXPECT_EQ(o.code, 3);
  EXPECT_HAS(o.err, "it had 400 rows, now there are 401");
  must(fit("tvae", "m.tessera") + "--resume --force");
}

TEST_F(CliResume, KeepsAnUnfinishedRunWithoutForce) {
  Running begun(folder_, endless("m.tessera"), "");
  ASSERT_TRUE(begun.wait_for_error_text("train"));
  begun.signal(SIGINT);
  ASSERT_EQ(begun.wait().code, 130);
  Outcome o = run(fit("tvae", "m.tessera"));
  EXPECT_EQ(o.code, 4);
  EXPECT_HAS(o.err, "--resume");
  EXPECT_HAS(o.err, "--force");
  o = run(fit("tvae", "m.tessera") + "--resume");
  EXPECT_EQ(o.code, 2);
  EXPECT_HAS(o.err, "--epochs was 100000000, now 12");
  EXPECT_TRUE(exists("m.tessera.checkpoint"));
  must(fit("tvae", "m.tessera") + "--force");
  EXPECT_EQ(files(), (Line("m.tessera people.csv visits.csv")));
}

TEST_F(CliResume, LogIsCompleteAfterAStop) {
  const Line line = fit("ctgan", "m.tessera", "--log losses.csv");
  must(line);
  const auto without_seconds = [&] {
    std::string out, text = read("losses.csv");
    for (size_t at = 0; at < text.size();) {
      const size_t end = text.find('\n', at);
      out += text.substr(at, text.rfind(',', end) - at) + "\n";
      at = end + 1;
    }
    return out;
  };
  const std::string whole = without_seconds();
  EXPECT_EQ(lines(whole), 13);
  drop("m.tessera"), drop("losses.csv");
  for (int i = 0; i < 5; ++i) {
    Running run(folder_, line + "--resume --quiet", "");
    std::this_thread::sleep_for(std::chrono::milliseconds(60 * (i + 1)));
    run.signal(SIGKILL);
    run.wait();
  }
  must(line + "--resume");
  EXPECT_EQ(without_seconds(), whole);
}

TEST_F(CliResume, FullDiskLosesOnlyCheckpoints) {
  // A limit between what a model takes and what a checkpoint takes.
  must(fit("tvae", "m.tessera"));
  const std::string bytes = read("m.tessera");
  drop("m.tessera");
  Running begun(folder_, endless("m.tessera"), "");
  ASSERT_TRUE(begun.wait_for_error_text("train"));
  begun.signal(SIGINT);
  ASSERT_EQ(begun.wait().code, 130);
  const size_t kept = read("m.tessera.checkpoint").size();
  ASSERT_GT(kept, bytes.size() + 4096);
  drop("m.tessera.checkpoint"), drop("m.tessera.checkpoint.previous");
  const std::string limit = "prlimit --fsize=" + std::to_string((bytes.size() + kept) / 2);
  EXPECT_EQ(shell(limit, fit("tvae", "m.tessera")), 0) << read("err");
  EXPECT_HAS(read("err"), "Training continues");
  EXPECT_TRUE(read("m.tessera") == bytes);
}

TEST_F(CliResume, KeepsTheTrainingIfTheModelCannotBeWritten) {
  // The model's place turns into a folder while it is trained: neither --force nor a rename gets past that.
  const Line line = fit("tvae", "m.tessera", "--force");
  must(line);
  const std::string bytes = read("m.tessera");
  drop("m.tessera");
  Running run(folder_, line, "");
  ASSERT_TRUE(run.wait_for_error_text("read"));
  std::filesystem::create_directory(folder_ / "m.tessera");
  const Outcome o = run.wait();
  ASSERT_EQ(o.code, 4) << o.err;
  EXPECT_HAS(o.err, "Continue with:");
  const size_t at = o.err.find("saved in ") + 9;
  const std::filesystem::path elsewhere = o.err.substr(at, o.err.find(" instead") - at);
  EXPECT_TRUE(std::filesystem::exists(elsewhere)) << o.err;
  std::filesystem::remove(elsewhere);
  std::filesystem::remove(folder_ / "m.tessera");
  must(line + "--resume");
  EXPECT_TRUE(read("m.tessera") == bytes);
}

TEST_F(CliResume, ReportsAVanishedInputAndKeepsTheTraining) {
  Running begun(folder_, endless("m.tessera"), "");
  ASSERT_TRUE(begun.wait_for_error_text("train"));
  begun.signal(SIGTERM);
  ASSERT_EQ(begun.wait().code, 143);
  const std::string kept = read("m.tessera.checkpoint");
  drop("people.csv");
  const Outcome o = run(endless("m.tessera") + "--resume");
  EXPECT_EQ(o.code, 4);
  EXPECT_HAS(o.err, "people.csv");
  EXPECT_TRUE(read("m.tessera.checkpoint") == kept);
}

TEST_F(CliResume, ReportsLowMemoryAsAnError) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers take their own";
#endif
  int refused = 0;
  Line line = fit("ctgan", "m.tessera", "--threads 1 --force");
  line[7] = "1", line[17] = line[19] = "1500,1500";  // networks that take a few hundred MiB
  for (int megabytes = 40; megabytes <= 640; megabytes += 60) {
    const int code = shell("prlimit --as=" + std::to_string(megabytes << 20), line);
    const std::string err = read("err");
    if (err.find("error while loading shared libraries") != std::string::npos) continue;
    EXPECT_TRUE(code == 0 || code == 5) << megabytes << " MiB: " << code << " " << err;
    refused += code == 5;
    EXPECT_EQ(exists("m.tessera"), code == 0);
    for (const char* name : {"m.tessera", "m.tessera.checkpoint", "m.tessera.checkpoint.previous"}) drop(name);
  }
  EXPECT_GT(refused, 0);
}

TEST_F(CliResume, ChecksOptionsFirst) {
  const auto refused = [&](const std::string& option, const std::string& value) {
    const Outcome o = run({"fit", "nowhere.csv", "--model", "m.tessera", option, value});
    EXPECT_EQ(o.code, 2) << o.err;
    EXPECT_HAS(o.err, option);
  };
  for (const char* value : {"soon", "0s", "-5m", "10", "0epochs", "1.5epochs", "1e300h"})
    refused("--checkpoint-every", value);
  for (const char* value : {"2", "two hours", "0h"}) refused("--max-time", value);
  refused("--keep", "worst");
  refused("--patience", "-1");
}

// Made has patience unless it is told to have none.
TEST_F(CliResume, TrainsToTheEndWithoutPatience) {
  const auto steps = [&](const Line& more) {
    must("fit people.csv --model m.tessera --force --method made --epochs 60" + more);
    return nlohmann::json::parse(must("inspect m.tessera --json").out).at("provenance");
  };
  const auto patient = steps({}), none = steps("--patience 0");
  EXPECT_NE(patient.value("stopped", ""), "") << "by patience, or by what a small table may tell";
  EXPECT_FALSE(none.contains("stopped") || none.contains("held_out"));
  EXPECT_GT(none.at("steps"), patient.at("steps"));
}

// A patience that is given keeps the best weights; but for that, giving the default changes nothing.
TEST_F(CliResume, KeepsTheBestWeightsWithDefaultPatience) {
  must("example t.csv --rows 300 --quiet");
  const auto model = [&](const Line& more) {
    must("fit t.csv --model m --force --method made --epochs 4 --quiet" + more);
    return read("m");
  };
  const std::string usual = model({}), given = model("--patience 1");
  EXPECT_EQ(model("--patience 1 --keep last"), usual);
  EXPECT_EQ(model("--keep best"), given);
}

}  // namespace
