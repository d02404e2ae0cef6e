// A resumed run ends with the bits of an uninterrupted one, for any cause, point and number of threads; damaged files
// and files of other runs never reach a model.
#include <atomic>
#include <functional>

#include "models/model/registry.h"
#include "models/tables.h"
#include "models/training/checkpoint.h"
#include "models/training/clock.h"
#include "support/thrown.h"
#include "tables/csv/example.h"

namespace tessera::whole {
namespace {

namespace fs = std::filesystem;

struct Case {
  const char* method;
  Tier calibrate = Tier::off;
};

FitOptions options_of(const Case& c) {
  const std::string method = c.method;
  FitOptions o = method == "tvae" ? quick_tvae(6, 100) : method == "made" ? quick_made(6) : quick(6, 100);
  o.calibrate = c.calibrate;
  o.seed = 7;
  return o;
}
Table rows() { return example_people(500, 3); }

// Events of a run, in order, at which a test can stop it.
std::vector<std::string> phases_of(const FitOptions& o) {
  std::vector<std::string> seen;
  Team team(1);
  Monitor monitor;
  monitor.on_progress = [&](const Progress& p) {
    if (std::string(p.phase) != "notice") seen.push_back(p.phase);
  };
  Model::fit(rows(), o, team, monitor);
  return seen;
}

// Runs until the event of that number, then cancels. Returns the message of the error, or "" if the run finished.
std::string stopped_at(size_t event, const FitOptions& o, int threads = 1) {
  Team team(threads);
  std::atomic<bool> cancel{false};
  size_t count = 0;
  Monitor monitor;
  monitor.cancel = &cancel;
  monitor.on_progress = [&](const Progress& p) {
    if (std::string(p.phase) != "notice" && count++ == event) cancel = true;
  };
  try {
    Model::fit(rows(), o, team, monitor);
    return "";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::cancelled) << e.what();
    return e.what();
  }
}

std::vector<std::string> notices;
Model resumed(FitOptions o, int threads = 1) {
  o.checkpoint.resume = true;
  notices.clear();
  Team team(threads);
  Monitor monitor;
  monitor.on_progress = [](const Progress& p) {
    if (std::string(p.phase) == "notice") notices.push_back(p.note);
  };
  return Model::fit(rows(), o, team, monitor);
}
bool noticed(const std::string& part) {
  return std::any_of(notices.begin(), notices.end(),
                     [&](const std::string& n) { return n.find(part) != std::string::npos; });
}

class Resume : public testing::TestWithParam<Case> {
 protected:
  Folder folder_;
  FitOptions options_ = [] {
    FitOptions o = options_of(GetParam());
    o.checkpoint.every_seconds = 0;
    o.checkpoint.every_epochs = 1;
    return o;
  }();
  std::string path_ = folder_ / "m.checkpoint";
  void SetUp() override { options_.checkpoint.path = path_; }
  static bool calibrates() { return !method_named(GetParam().method).bins; }
};

INSTANTIATE_TEST_SUITE_P(Methods, Resume, testing::Values(Case{"ctgan"}, Case{"tvae"}, Case{"made"}),
                         [](const auto& c) { return std::string(c.param.method); });

// Every event of preparing and training; with calibration, the first and the last of each phase that follows.
TEST_P(Resume, ContinuesAfterCancelAtEveryEvent) {
  const auto check = [&](Tier tier) {
    options_.calibrate = tier;
    const std::string whole = file_of(fit(rows(), options_of({GetParam().method, tier})));
    const std::vector<std::string> phases = phases_of(options_);
    const size_t trained_at =
        phases.size() - static_cast<size_t>(std::find(phases.rbegin(), phases.rend(), "train") - phases.rbegin());
    for (size_t event = tier == Tier::off ? 0 : trained_at; event < phases.size(); ++event) {
      const bool within = event > 0 && event + 1 < phases.size() && phases[event - 1] == phases[event] &&
                          phases[event + 1] == phases[event];
      if (event >= trained_at && within) continue;
      Checkpoints::remove(path_);
      options_.checkpoint.resume = false;
      const std::string message = stopped_at(event, options_, 2);
      if (message.empty()) continue;  // cancelled with its last event
      const bool trained = phases[event] == "train" || fs::exists(path_);
      EXPECT_EQ(message.find("are saved in " + path_) != std::string::npos, trained)
          << phases[event] << ": " << message;
      EXPECT_TRUE(file_of(resumed(options_, event % 2 == 0 ? 1 : 3)) == whole)
          << "cancelled at event " << event << ", " << phases[event];
      EXPECT_EQ(noticed("Continuing from"), trained);
    }
  };
  check(Tier::off);
  if (calibrates()) check(Tier::marginals);
}

TEST_P(Resume, RepeatsOnlyTheStagesAfterTraining) {
  if (!calibrates()) GTEST_SKIP() << "nothing follows";
  options_.calibrate = Tier::marginals;
  const std::vector<std::string> phases = phases_of(options_);
  const size_t calibrating =
      static_cast<size_t>(std::find(phases.begin(), phases.end(), "candidates") - phases.begin());
  ASSERT_LT(calibrating, phases.size());
  ASSERT_NE(stopped_at(calibrating, options_), "");
  FitOptions o = options_;
  o.checkpoint.resume = true;
  const std::vector<std::string> again = phases_of(o);
  EXPECT_EQ(std::count(again.begin(), again.end(), "train"), 0);
}

TEST_P(Resume, SurvivesRepeatedStops) {
  const std::string whole = file_of(fit(rows(), options_of(GetParam())));
  FitOptions o = options_;
  o.checkpoint.resume = true;
  int stops = 0;
  const std::vector<std::string> phases = phases_of(options_of({GetParam().method, Tier::off}));
  // Each run is stopped one training event later than the previous one.
  while (stops < 100) {
    const auto first = static_cast<size_t>(std::find(phases.begin(), phases.end(), "train") - phases.begin());
    if (stopped_at(first, o).empty()) break;
    ++stops;
    if (Team team(1); Checkpoints(o.checkpoint, identify(rows(), o, team), Monitor{}).newest()->step == 30) break;
  }
  EXPECT_GT(stops, 1);
  EXPECT_TRUE(file_of(resumed(options_)) == whole);
}

TEST_P(Resume, FallsBackToTheOlderGeneration) {
  const std::string whole = file_of(fit(rows(), options_of(GetParam())));
  fit(rows(), options_);  // leaves both checkpoints, because the model is not reported as saved
  const std::string newest = read_bytes(path_), older = read_bytes(Checkpoints::older(path_));
  ASSERT_TRUE(newest != older);
  ASSERT_FALSE(older.empty());
  const auto damage = [&](const std::string& bytes, const std::string& what) {
    write_bytes(path_, bytes);
    write_bytes(Checkpoints::older(path_), older);
    EXPECT_TRUE(file_of(resumed(options_)) == whole) << what;
    EXPECT_TRUE(noticed("is damaged")) << what;
    EXPECT_TRUE(noticed("the previous generation")) << what;
  };
  for (const size_t bytes : {size_t{0}, size_t{5}, size_t{100}, newest.size() / 2, newest.size() - 1})
    damage(newest.substr(0, bytes), "torn after " + std::to_string(bytes));
  for (const size_t at : {size_t{20}, newest.size() / 3, newest.size() - 40, newest.size() - 1}) {
    std::string flipped = newest;
    flipped[at] = static_cast<char>(flipped[at] ^ 4);
    damage(flipped, "a bit flipped in byte " + std::to_string(at));
  }
  damage(newest + "x", "a byte too long");
}

TEST_P(Resume, KeepsFilesThatAreNotCheckpoints) {
  fit(rows(), options_);
  const std::string newest = read_bytes(path_), model = file_of(fit(rows(), options_of(GetParam())));
  const std::string foreign[] = {
      "a", "half", "a,b\n1,2\n", model, newest.substr(1), std::string(newest.size(), '\0'), std::string(40, '\n')};
  for (const std::string& name : {path_, Checkpoints::older(path_)})
    for (const std::string& bytes : foreign) {
      SCOPED_TRACE(name + ": " + bytes.substr(0, 20));
      write_bytes(path_, newest), write_bytes(Checkpoints::older(path_), newest);
      write_bytes(name, bytes);
      for (const bool resume : {false, true}) {
        FitOptions o = options_;
        o.checkpoint.resume = resume;
        test::expect_error(ErrorCode::io, {name + ": a checkpoint would replace this"}, [&] { fit(rows(), o); });
      }
      EXPECT_THROW(Checkpoints::remove(path_), Error);
      EXPECT_TRUE(read_bytes(name) == bytes);
      EXPECT_TRUE(read_bytes(name == path_ ? Checkpoints::older(path_) : path_) == newest);
    }
  fs::remove(path_), fs::remove(Checkpoints::older(path_));
  write_bytes(path_, "");  // as left by a creator of temporary file names
  fit(rows(), options_);
  EXPECT_FALSE(read_bytes(path_).empty());
}

TEST_P(Resume, StartsOverWithoutIntactCheckpoint) {
  const std::string whole = file_of(fit(rows(), options_of(GetParam())));
  EXPECT_TRUE(file_of(resumed(options_)) == whole);
  EXPECT_FALSE(noticed("starts from the beginning"));
  const std::string newest = read_bytes(path_);
  for (const std::string& path : {path_, Checkpoints::older(path_)})
    write_bytes(path, newest.substr(0, newest.size() / 2));
  EXPECT_TRUE(file_of(resumed(options_)) == whole);
  EXPECT_TRUE(noticed("training starts from the beginning"));
}

TEST_P(Resume, IgnoresCheckpointsWithoutResume) {
  const std::string whole = file_of(fit(rows(), options_of(GetParam())));
  fit(rows(), options_);
  const std::string half = read_bytes(path_).substr(0, 100);
  for (const std::string& path : {path_, Checkpoints::older(path_)}) write_bytes(path, half);
  EXPECT_TRUE(file_of(fit(rows(), options_)) == whole);
}

TEST_P(Resume, RejectsOtherOptionsAndTables) {
  ASSERT_NE(stopped_at(phases_of(options_).size() / 2, options_), "");
  const std::string kept = read_bytes(path_);
  const auto refused = [&](ErrorCode code, const std::string& what,
                           const std::function<void(FitOptions&, Table&)>& change) {
    FitOptions o = options_;
    o.checkpoint.resume = true;
    Table t = rows();
    change(o, t);
    const Thrown error = thrown([&] { fit(std::move(t), o); });
    EXPECT_EQ(static_cast<int>(error.code), static_cast<int>(code)) << error.message;
    EXPECT_TRUE(error.says(what)) << error.message;
    EXPECT_TRUE(error.says(path_)) << error.message;
    EXPECT_TRUE(read_bytes(path_) == kept) << "a refusal leaves it as it is";
  };
  refused(ErrorCode::usage, "`seed` was 7, now 8", [](FitOptions& o, Table&) { o.seed = 8; });
  refused(ErrorCode::usage, "`epochs` was 6, now 9", [](FitOptions& o, Table&) { set(o, "epochs", "9"); });
  refused(ErrorCode::usage, "`batch_size` was 100, now 50", [](FitOptions& o, Table&) { set(o, "batch_size", "50"); });
  if (calibrates())
    refused(ErrorCode::usage, "`calibrate` was off, now full", [](FitOptions& o, Table&) { o.calibrate = Tier::full; });
  refused(ErrorCode::usage, "`passes_off` was none, now stack",
          [](FitOptions& o, Table&) { o.passes_off = {"stack"}; });
  refused(ErrorCode::usage, "`precision` was not there, now bf16", [](FitOptions& o, Table&) { o.precision = "bf16"; });
  refused(ErrorCode::usage, "`patience` was 0, now 2", [](FitOptions& o, Table&) { o.patience = 2; });
  refused(ErrorCode::data, "it had 500 rows, now there are 499",
          [](FitOptions&, Table& t) { t = example_people(499, 3); });
  refused(ErrorCode::data, "\" has other values", [](FitOptions&, Table& t) { t = example_people(500, 4); });
  refused(ErrorCode::data, "column \"extra\" is new", [](FitOptions&, Table& t) {
    t.columns.push_back(whole_by("extra", t.rows, [](int64_t i) { return double(i); }));
  });
  refused(ErrorCode::data, "is missing now", [](FitOptions&, Table& t) { t.columns.pop_back(); });
  refused(ErrorCode::data, "are in another order",
          [](FitOptions&, Table& t) { std::swap(t.columns.front(), t.columns.back()); });
}

TEST_P(Resume, RejectsCheckpointsOfLaterReleases) {
  fit(rows(), options_);
  std::string bytes = read_bytes(path_);
  const std::string format = "\\\"format\\\":2";
  const size_t at = bytes.find(format);
  ASSERT_NE(at, std::string::npos);
  bytes[at + format.size() - 1] = '3';
  write_bytes(path_, bytes);
  const Thrown error = thrown([&] { resumed(options_); });
  EXPECT_EQ(static_cast<int>(error.code), static_cast<int>(ErrorCode::unsupported));
  EXPECT_TRUE(error.says("format 3")) << error.message;
  EXPECT_TRUE(read_bytes(path_) == bytes);
}

TEST_P(Resume, RecognizesTheFinishedModel) {
  const std::string model = folder_ / "m.tessera";
  Team team(1);
  const Monitor monitor;
  EXPECT_FALSE(Model::finished(model, rows(), options_, false, team, monitor).has_value());
  fit(rows(), options_).save(model, false);
  ASSERT_TRUE(fs::exists(path_));
  const std::optional<Model> there = Model::finished(model, rows(), options_, false, team, monitor);
  ASSERT_TRUE(there.has_value());
  EXPECT_TRUE(file_of(*there) == read_bytes(model));
  EXPECT_FALSE(fs::exists(path_)) << "what a kill between the model and the end had left";
  FitOptions other = options_;
  other.seed = 1;
  EXPECT_TRUE(thrown([&] { Model::finished(model, rows(), other, false, team, monitor); }).says("`seed` was 7, now 1"));
  EXPECT_TRUE(
      thrown([&] { Model::finished(model, example_people(400, 3), options_, false, team, monitor); }).says("500 rows"));
  EXPECT_FALSE(Model::finished(model, rows(), other, true, team, monitor).has_value()) << "overwrite";
}

TEST_P(Resume, RepeatsReportedLosses) {
  std::vector<std::pair<int64_t, double>> whole, parts;
  const auto into = [](auto& list) {
    return [&list](const LossRow& l) { list.emplace_back(l.step, l["critic"] + l["reconstruction"]); };
  };
  FitOptions o = options_;
  o.on_losses = into(whole);
  fit(rows(), o);
  Checkpoints::remove(path_);
  const std::vector<std::string> phases = phases_of(options_of({GetParam().method, Tier::off}));
  const auto first = static_cast<size_t>(std::find(phases.begin(), phases.end(), "train") - phases.begin());
  ASSERT_NE(stopped_at(first + 2, options_), "");
  o.on_losses = into(parts);
  resumed(o);
  EXPECT_EQ(parts, whole);
}

TEST_P(Resume, TrainsOnWhenACheckpointCannotBeWritten) {
  const std::string whole = file_of(fit(rows(), options_of(GetParam())));
  options_.checkpoint.path = folder_ / "no such folder/m.checkpoint";
  EXPECT_TRUE(file_of(resumed(options_)) == whole);
  EXPECT_TRUE(noticed("Training continues"));
}

// Early stopping is part of the run: interrupted anywhere, it gives the same bits.
TEST_P(Resume, KeepsPatienceAndBestWeightsAcrossStops) {
  FitOptions o = options_;
  set(o, "epochs", "40");
  set(o, "learning_rate", "1e-9");  // no visible change of the held-out loss
  o.calibrate = Tier::off;
  o.patience = 3;
  o.keep_best = true;
  FitOptions never = o;
  never.checkpoint.path.clear();
  const Model m = fit(rows(), never);
  const std::string whole = file_of(m);
  const nlohmann::json provenance = m.describe()["provenance"];
  EXPECT_EQ(provenance["stopped"], "patience");
  EXPECT_LT(provenance["steps"].get<int64_t>(), 40 * 4);
  EXPECT_LE(provenance["held_out"]["best"].get<double>(), provenance["held_out"]["last"].get<double>());
  const std::vector<std::string> phases = phases_of(never);
  for (size_t event = 0; event < phases.size(); event += 3) {
    Checkpoints::remove(path_);
    o.checkpoint.resume = false;
    if (stopped_at(event, o).empty()) continue;
    EXPECT_TRUE(file_of(resumed(o, 2)) == whole) << "cancelled at event " << event << ", " << phases[event];
  }
}

TEST_P(Resume, EndsTrainingWhenTimeIsUp) {
  FitOptions o = options_;
  set(o, "epochs", "1000000");
  o.calibrate = Tier::off;
  o.max_seconds = 0.2;
  const nlohmann::json provenance = fit(rows(), o).describe()["provenance"];
  EXPECT_EQ(provenance["stopped"], "max-time");
  EXPECT_GT(provenance["steps"].get<int64_t>(), 0);
}

TEST(TrainingClock, CountsAllRunsAndPredictsSteps) {
  double now = 100;
  const Clock clock_of_the_test = [&now] { return now; };
  TrainingClock endless(0, clock_of_the_test), clock(20, clock_of_the_test);
  endless.start(1000);
  EXPECT_FALSE(endless.up());
  EXPECT_EQ(endless.expected(3, 10), 10);
  clock.start(10);  // seconds of the runs before
  EXPECT_EQ(clock.used(), 10);
  EXPECT_TRUE(clock.up(0.5));
  EXPECT_FALSE(clock.up());
  clock.mark(4);
  EXPECT_EQ(clock.expected(4, 1e9), 1e9) << "no rate yet";
  now += 2;
  EXPECT_EQ(clock.expected(5, 1e9), 5 + 8 / 2.0) << "a step in 2 s, and 8 s to go";
  EXPECT_EQ(clock.expected(5, 6), 6);
  EXPECT_EQ(clock.expected(5, 1e9, 0.5), 5) << "that share of the time is over";
  clock.keep_back(3);
  EXPECT_EQ(clock.expected(5, 1e9), 5 + 5 / 2.0) << "3 s are for what follows";
  clock.keep_back(1e9);
  EXPECT_TRUE(clock.up()) << "which gets 0.4 of the time at most";
  EXPECT_EQ(clock.deadline().left(), 8);
}

TEST(TrainingClock, DividesTheTimeLeftAfterReading) {
  double now = 0;
  TrainingClock clock(100, [&now] { return now; });
  clock.start(0);
  now = 60;
  clock.begin_training();
  EXPECT_FALSE(clock.up(0.5));
  now = 80;
  EXPECT_TRUE(clock.up(0.5));
  EXPECT_FALSE(clock.up());
}

TEST_P(Resume, RejectsTablesTooShortToHoldRowsOut) {
  FitOptions o = options_;
  o.patience = 1;
  const Thrown error = thrown([&] { fit(example_people(60, 1), o); });
  EXPECT_EQ(static_cast<int>(error.code), static_cast<int>(ErrorCode::usage));
  EXPECT_TRUE(error.says("60 rows")) << error.message;
}

}  // namespace
}  // namespace tessera::whole
