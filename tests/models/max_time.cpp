// max_time bounds the whole run, including the stages after training. The test has its own clock: every progress event
// takes a second.
#include <nlohmann/json.hpp>

#include "models/tables.h"
#include "tables/csv/example.h"

namespace tessera::whole {
namespace {

struct Outcome {
  double seconds = 0, trained_from = -1;  // when it ended, when training began
  std::vector<std::string> notices;
  std::map<std::string, std::string> notes;  // the last one of each phase that was not its end
  std::string file;
  nlohmann::json description;
};

// `before`: seconds of reading.
Outcome run(FitOptions o, double bound, double before = 0) {
  Outcome out;
  double now = 1000;
  o.now = [&now] { return now; };
  o.begun = now - before;
  o.max_seconds = bound;
  Monitor monitor;
  monitor.on_progress = [&](const Progress& p) {
    if (std::string(p.phase) == "notice") return out.notices.push_back(p.note);
    if (out.trained_from < 0 && std::string(p.phase) == "train") out.trained_from = now - 1000 + before;
    if (!p.finished) out.notes[p.phase] = p.note;
    now += 1;
  };
  Team team(2);
  const Model m = Model::fit(example_people(1200, 3), o, team, monitor);
  out.seconds = now - 1000 + before;
  out.file = m.bytes();
  out.description = m.describe();
  EXPECT_EQ(sample(m, 10).rows, 10);
  return out;
}

bool any(const std::vector<std::string>& lines, const char* part) {
  return std::any_of(lines.begin(), lines.end(),
                     [&](const std::string& line) { return line.find(part) != std::string::npos; });
}

constexpr double kPieces = 6;  // what is done whatever the clock says: of each phase its first piece

class MaxTime : public testing::TestWithParam<const char*> {
 protected:
  FitOptions endless() const {
    FitOptions o = std::string(GetParam()) == "tvae" ? quick_tvae(1000000, 100) : quick(1000000, 100);
    if (o.config->fits_prior()) o.as<TvaeConfig>().prior_components = 5;
    o.calibrate = Tier::full;
    return o;
  }
};

INSTANTIATE_TEST_SUITE_P(Methods, MaxTime, testing::Values("tvae", "ctgan"));

TEST_P(MaxTime, BoundsEveryPhase) {
  for (const double bound : {3.0, 12.0, 60.0}) {
    SCOPED_TRACE(bound);
    const Outcome r = run(endless(), bound);
    EXPECT_LE(r.seconds, std::max(bound, r.trained_from) + kPieces);
    EXPECT_EQ(r.description["provenance"]["stopped"], "max-time");
    EXPECT_GT(r.description["provenance"]["steps"].get<int64_t>(), 0);
  }
}

TEST_P(MaxTime, CountsTheTimeOfReading) {
  const Outcome r = run(endless(), 50, 500);
  EXPECT_LE(r.seconds, r.trained_from + kPieces);
  EXPECT_TRUE(any(r.notices, "no time left within `max_time` to learn a calibration"));
}

TEST_P(MaxTime, ReportsOmittedStages) {
  EXPECT_TRUE(any(run(endless(), 12).notices, "no time left within `max_time`"));
  FitOptions few = endless();
  set(few, "epochs", "2"), few.calibrate = Tier::off;
  const Outcome ample = run(few, 1e6), unbounded = run(few, 0);
  EXPECT_EQ(ample.notices, unbounded.notices);
  EXPECT_TRUE(ample.file == unbounded.file) << "a bound that is not reached changes nothing";
}

TEST_P(MaxTime, ShowsRemainingPhasesInProgress) {
  const Outcome r = run(endless(), 12);
  const std::string& note = r.notes.at("train");
  EXPECT_NE(note.find(std::string(GetParam()) == "tvae" ? "then prior and calibration" : "then calibration"),
            std::string::npos)
      << note;
  EXPECT_NE(note.find(" s of `max_time` left"), std::string::npos) << note;
}

TEST(Deadline, PredictsWhetherAPieceFits) {
  double now = 0;
  Deadline none, until(10, [&now] { return now; });
  EXPECT_TRUE(none.next(1e9));
  EXPECT_TRUE(until.next()) << "the first piece is always done";
  now = 4;
  EXPECT_TRUE(until.next()) << "as long again fits";
  EXPECT_FALSE(until.next(2)) << "twice as long does not";
  now = 7;
  EXPECT_FALSE(until.next());
  EXPECT_EQ(until.left(), 3);
  EXPECT_EQ(until.sooner(0.5).left(), 1.5);
  EXPECT_EQ(until.earlier(2).left(), 1);
}

}  // namespace
}  // namespace tessera::whole
