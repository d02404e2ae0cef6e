// tessera sweep: every combination is a model that tessera fit would write, a fit that fails is a row, and nothing that
// is done is done twice.
#include <nlohmann/json.hpp>

#include <chrono>
#include <csignal>
#include <thread>

#include "cli/program.h"

namespace {

using Json = nlohmann::json;
using namespace std::chrono_literals;

class CliSweep : public Cli {
 protected:
  void SetUp() override {
    Cli::SetUp();
    example(200);
  }
  // One that takes a moment: no detection, no distances.
  std::vector<std::string> line(std::vector<std::string> more) const {
    std::vector<std::string> all{"sweep", "--folder", "runs", "--without-c2st", "--without-distances"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  Outcome refused(const std::vector<std::string>& more, const std::string& said) {
    const Outcome out = run(line(more));
    EXPECT_EQ(out.code, 2) << out.err;
    EXPECT_HAS(out.err, said);
    EXPECT_FALSE(exists("runs")) << "nothing was begun";
    return out;
  }
};

TEST_F(CliSweep, EveryCombinationIsTheModelOfItsOptions) {
  const Json report = Json::parse(must(line({"people.csv", "--vary", "method=made,tvae", "--vary", "seed=3..4",
                                             "--epochs", "1", "--jobs", "3", "--json"}))
                                      .out);
  ASSERT_EQ(report.at("fits").size(), 4);
  EXPECT_EQ(report.at("failed"), 0);
  int best = 0;
  for (const Json& fit : report["fits"]) {
    best += fit.at("best").get<bool>();
    EXPECT_GT(fit.at("column_shapes").get<double>(), 0.5);
    EXPECT_EQ(fit.at("learned"), 200);
  }
  EXPECT_EQ(best, 1);
  must({"fit", "people.csv", "--model", "alone", "--method", "tvae", "--seed", "4", "--epochs", "1"});
  EXPECT_TRUE(read("alone") == read("runs/people_method-tvae_seed-4.tessera"));
  EXPECT_EQ(lines(read("runs/results.csv")), 5);
}

TEST_F(CliSweep, AFitThatFailsIsOneRow) {
  write("ragged.csv", "a,b\n1\n");
  const Outcome out = run(line({"people.csv", "ragged.csv", "--vary", "seed=0,1", "--epochs", "1", "--json"}));
  EXPECT_EQ(out.code, 3) << "that of the fit that failed";
  EXPECT_HAS(out.err, "2 of 4 fits failed");
  const Json fits = Json::parse(out.out).at("fits");
  for (const Json& fit : fits) {
    const bool good = fit.at("table") == "people.csv";
    EXPECT_EQ(fit.at("status"), good ? 0 : 3);
    EXPECT_EQ(fit.contains("column_shapes"), good);
    EXPECT_EQ(has(fit.value("error", ""), "ragged.csv:2"), !good);
  }
}

TEST_F(CliSweep, ResumeSkipsWhatIsDone) {
  const std::vector<std::string> two = line({"people.csv", "--vary", "seed=0,1", "--epochs", "1"});
  must(two);
  const std::string record = read("runs/people_seed-0.json");
  EXPECT_EQ(run(two).code, 4) << "results are not replaced without --force";
  EXPECT_EQ(read("runs/people_seed-0.json"), record);
  must(line({"people.csv", "--vary", "seed=0..2", "--epochs", "1", "--resume"}));
  EXPECT_EQ(read("runs/people_seed-0.json"), record);
  EXPECT_EQ(lines(read("runs/results.csv")), 4);
  // Another table under the same name: what was done is of no use, and the model says so.
  must({"example", "people.csv", "--rows", "150", "--force"});
  const Outcome out = run(line({"people.csv", "--vary", "seed=0", "--epochs", "1", "--resume"}));
  EXPECT_NE(out.code, 0);
  EXPECT_HAS(out.out, "failed");
  must(line({"people.csv", "--vary", "seed=0", "--epochs", "1", "--force"}));
  EXPECT_EQ(Json::parse(read("runs/people_seed-0.json")).at("learned"), 150);
}

TEST_F(CliSweep, AStoppedSweepGoesOn) {
  const std::vector<std::string> all =
      line({"people.csv", "--vary", "epochs=2500,1", "--method", "tvae", "--calibrate", "off", "--jobs", "1"});
  std::vector<std::string> resume = all;
  resume.emplace_back("--resume");
  {
    Running sweep(folder_, all, "");
    const auto trains = [&] { return has(read("runs/people_epochs-2500.log"), "train "); };
    for (int i = 0; i < 6000 && !trains(); ++i) std::this_thread::sleep_for(10ms);
    sweep.signal(SIGTERM);
    const Outcome out = sweep.wait();
    EXPECT_EQ(out.code, 143);
    EXPECT_HAS(out.err, "Continue with: ");
    EXPECT_EQ(out.out, "");
    EXPECT_TRUE(exists("runs/people_epochs-2500.tessera.checkpoint"));
    EXPECT_FALSE(exists("runs/people_epochs-1.log")) << "no fit begins after the signal";
  }
  must(resume);
  must({"fit", "people.csv", "--model", "alone", "--method", "tvae", "--epochs", "2500", "--calibrate", "off"});
  EXPECT_TRUE(read("alone") == read("runs/people_epochs-2500.tessera"));
  EXPECT_EQ(lines(read("runs/results.csv")), 3);
}

TEST_F(CliSweep, MistakesAreSaidBeforeAnyFit) {
  refused({"people.csv", "--vary", "seed"}, "--vary seed: it must be an option of fits and its values");
  refused({"people.csv", "--vary", "speed=1,2"}, "no option --speed");
  refused({"people.csv", "--vary", "seed=1", "--vary", "seed=2"}, "--seed is varied twice");
  refused({"people.csv", "--vary", "seed=1,2", "--seed", "3"}, "--seed is both given and varied");
  refused({"people.csv", "--vary", "seed=1,1"}, "would write the same files");
  refused({"people.csv", "--vary", "seed=1..99999"}, "1..99999 is not a range");
  refused({"people.csv", "--vary", "method=made,ctgan", "--pac", "10"}, "method=made: --pac belongs to method ctgan");
  refused({"people.csv", "--vary", "patience=1,-1"}, "patience=-1");
  refused({"people.csv", "people.csv", "--vary", "seed=1"}, "would write the same files");
  refused({"-", "--vary", "seed=1"}, "- is not one");
  refused({"people.csv", "other.csv", "--holdout", "people.csv"}, "--holdout and --target are of one table");
  refused({"people.csv", "--vary", "seed=1", "--devices", "cpu,gpu"}, "gpu");
  EXPECT_EQ(run(line({"nowhere.csv", "--vary", "seed=1"})).code, 4);
  EXPECT_FALSE(exists("runs"));
}

}  // namespace
