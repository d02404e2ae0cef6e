// Attack reports (models/audit): of models that learned, of "models" that repeat their rows, which must be found, and
// of rows that no model made, which must not be.
#include "models/audit/likelihood.h"
#include "privacy/people.h"
#include "privacy/planted.h"

namespace tessera::privacy {
namespace {

using nlohmann::json;

constexpr int64_t kSampled = 5000;
// The density ratio's network, which the file of a calibrated model holds, knows more of who was learned, and the more
// the fewer rows there were: docs/quality/privacy.md says how much.
constexpr double kMaxAreaOfRatio = 0.72;

json attacked(Table& training, const Table& unseen, Table* synthetic, const Model* model = nullptr,
              const AuditOptions& options = {}) {
  Team team(2);
  AuditOptions o = options;
  if (o.rows == AuditOptions{}.rows) o.rows = kSampled;
  return attack_report(training, &unseen, model, synthetic, o, team, {});
}

const json& named(const json& report, const std::string& name) {
  for (const json& a : report["attacks"])
    if (a["name"] == name) return a;
  throw std::out_of_range("no attack " + name);
}

// No more than the documented bounds.
void expect_little(const json& report) {
  for (const json& a : report["attacks"]) {
    if (a["name"] == "calibration's classifier") EXPECT_LT(a["low"].get<double>(), kMaxAreaOfRatio) << a["answer"];
    else EXPECT_NE(a["mark"], "poor") << a["name"] << ": " << a["answer"];
  }
}

void expect_found(const json& report, const std::vector<std::string>& attacks) {
  EXPECT_EQ(report["verdict"]["mark"], "poor");
  for (const std::string& name : attacks) EXPECT_EQ(named(report, name)["mark"], "poor") << named(report, name).dump(1);
}

TEST(Attacks, Tvae) { expect_little(attacked(people().members, people().unseen, nullptr, &of_people("tvae"))); }
TEST(Attacks, Ctgan) { expect_little(attacked(people().members, people().unseen, nullptr, &of_people("ctgan"))); }
TEST(Attacks, Sequences) {
  Table synthetic = wide(rows_of(of_patients(), 1000));
  expect_little(attacked(patients_apart().members, patients_apart().unseen, &synthetic));
}

// The default method at its defaults, on small tables, which it could learn by heart: the file gives ln p(row) exactly.
TEST(Attacks, MadeOfFewRows) {
  for (const int64_t count : {300, 1000}) {
    Table members = example_people(count, 11);
    const Model m = whole::fit(example_people(count, 11), options("made", 30, Tier::off));
    EXPECT_TRUE(m.describe()["provenance"].contains("stopped")) << "it would have gone on";
    const json report = attacked(members, people().unseen, nullptr, &m);
    expect_little(report);
    EXPECT_EQ(named(report, "values in the file")["details"]["found"], 0);
  }
}

Model memorizing(int64_t rows) {
  FitOptions o = options("made", 150, Tier::off);
  o.patience = 0;
  return whole::fit(example_people(rows, 11), o);
}

TEST(Attacks, AModelThatKnowsItsRowsIsFound) {
  Table members = example_people(300, 11);
  const Model m = memorizing(300);
  AuditOptions o;
  o.shadows = 2, o.canaries = 60;
  const json report = attacked(members, people().unseen, nullptr, &m, o);
  expect_found(report, {"likelihood", "likelihood ratio of shadow models", "planted rows"});
  EXPECT_GT(named(report, "likelihood")["low"], 0.8);
  const json& planted = named(report, "planted rows")["details"];
  EXPECT_GT(planted["exposure"], 4);
  EXPECT_GT(planted["exposure_of_repeated"], 6);
}

// Planted rows are like others to a model that learned nothing, and nearly so to one that stops in time.
TEST(Attacks, PlantedRowsAreNotKnownToAModelThatDoesNotMemorize) {
  for (const int epochs : {0, 30}) {
    Table members = example_people(1000, 11);
    const Model m = whole::fit(example_people(1000, 11), options("made", epochs, Tier::off));
    AuditOptions o;
    o.canaries = 200;
    const json report = attacked(members, people().unseen, nullptr, &m, o);
    const json& planted = named(report, "planted rows");
    EXPECT_NE(planted["mark"], "poor") << planted.dump(1);
    EXPECT_LT(planted["details"]["exposure"], epochs == 0 ? 1.9 : 2.5) << planted.dump(1);
  }
}

// A holdout that is missing is made: half of the rows are learned again, and half are not.
TEST(Attacks, WithoutAHoldoutAnotherModelIsAttacked) {
  Table members = example_people(400, 11);
  const Model m = memorizing(400);
  Team team(2);
  AuditOptions o;
  o.rows = 1000;
  const json report = attack_report(members, nullptr, &m, nullptr, o, team, {});
  EXPECT_EQ(report["rows"]["training"], 200);
  EXPECT_EQ(report["rows"]["holdout"], 200);
  expect_found(report, {"likelihood"});
}

TEST(Attacks, ADecoderThatKnowsItsRowsIsFound) {
  Table members = example_people(60, 11);
  FitOptions o = options("tvae", 1500, Tier::off);
  o.as<TvaeConfig>().batch = 60;
  o.as<TvaeConfig>().weight_decay = 0;
  const Model m = whole::fit(example_people(60, 11), o);
  const json report = attacked(members, people().unseen, nullptr, &m);
  EXPECT_GT(named(report, "likelihood")["low"], 0.55) << named(report, "likelihood")["answer"];
}

const std::vector<std::string> kOfRows{"nearest synthetic row", "density ratio",     "linkability",
                                       "attribute inference",   "singling out",      "copies",
                                       "near copies",           "rare combinations", "rare values"};

// A "model" that gives the training rows back is found by every attack on rows.
TEST(Attacks, AModelThatRepeatsItsRowsIsFound) {
  Table copy = example_people(kPeople, 11);
  const json report = attacked(people().members, people().unseen, &copy);
  expect_found(report, kOfRows);
  EXPECT_GT(named(report, "nearest synthetic row")["value"], 0.999);
  EXPECT_EQ(named(report, "copies")["value"], 1);
}

TEST(Attacks, ABootstrapOfTheTrainingTableIsACopy) {
  std::vector<int64_t> rows;
  for (int64_t i = 0; i < kPeople; ++i)
    rows.push_back(static_cast<int64_t>(whole::uniform(i, 31) * static_cast<double>(kPeople)));
  Table bootstrap = pick_rows(people().members, rows);
  const json report = attacked(people().members, people().unseen, &bootstrap);
  std::vector<std::string> found = kOfRows;  // rows that come twice single nobody out
  std::erase(found, "singling out");
  expect_found(report, found);
  EXPECT_EQ(named(report, "copies")["details"]["synthetic"], 1);
  EXPECT_EQ(named(report, "copies")["details"]["holdout"], 0);
}

TEST(Attacks, ACopierThatAddsNoiseIsFound) {
  Table noisy = example_people(kPeople, 11);
  for (Column& c : noisy.columns) {
    if (!is_numeric(c.type)) continue;
    double low = INFINITY, high = -INFINITY;
    for (const double x : c.numbers)
      if (x == x) low = std::min(low, x), high = std::max(high, x);
    for (size_t i = 0; i < c.numbers.size(); ++i)
      c.numbers[i] += 0.05 * (high - low) * whole::normal(static_cast<int64_t>(i), 20);
  }
  const json report = attacked(people().members, people().unseen, &noisy);
  expect_found(report, {"density ratio"});
  EXPECT_EQ(named(report, "copies")["value"], 0);
}

// One row repeated says as little as one row does, and rows of the population say nothing: of 20 audits at most one
// raises a false alarm in the long run.
TEST(Attacks, RowsThatNoModelMadeAreNotAccused) {
  int alarms = 0;
  for (uint64_t k = 0; k < 20; ++k) {
    Table training = example_people(300, 100 + k), synthetic = example_people(k == 0 ? 1 : 300, 200 + k);
    const json report = attacked(training, example_people(300, 300 + k), &synthetic);
    alarms += report["verdict"]["mark"] != "good";
    EXPECT_NE(report["verdict"]["mark"], "poor") << report["verdict"]["text"];
  }
  EXPECT_LE(alarms, 2);
}

TEST(Attacks, ValuesThatAreKeptOnPurposeAreFoundInTheFile) {
  const auto towns = [](int64_t first, int64_t rows) {
    Table t = planted(first, rows);
    std::erase_if(t.columns, [](const Column& c) { return c.name != "town" && c.name != "mixed"; });
    return t;
  };
  FitOptions o = options("tvae", 0, Tier::off);
  o.rare_rows = 1;
  Table training = towns(0, 600);
  const Model m = whole::fit(towns(0, 600), o);
  const json report = attacked(training, towns(1'000'000, 600), nullptr, &m);
  const json& found = named(report, "values in the file");
  EXPECT_EQ(found["mark"], "poor") << found.dump(1);
  EXPECT_GT(found["details"]["columns"]["mixed"], 20);
  EXPECT_EQ(report.dump().find(" of Ünterlüß"), std::string::npos);  // names of columns, no values
}

// Those of all rows that there are sum to 1, and the terms of a row's columns to the row's.
TEST(Attacks, LikelihoodsAreProbabilities) {
  const auto table = [](int64_t rows) {
    return whole::table(
        {whole::texts_by(
             "a", rows, [](int64_t i) { return std::string(1, "xyz"[static_cast<size_t>(whole::uniform(i, 1) * 3)]); }),
         whole::texts_by("b", rows, [](int64_t i) { return whole::uniform(i, 2) < 0.3 ? "p" : "q"; })});
  };
  const Model m = whole::fit(table(200), options("made", 3, Tier::off));
  std::vector<std::string> a, b;
  for (const char* x : {"x", "y", "z"})
    for (const char* y : {"p", "q"}) a.push_back(x), b.push_back(y);
  const Table all =
      whole::table({whole::texts("a", ColumnType::category, a), whole::texts("b", ColumnType::category, b)});
  Team team(1);
  const Likelihood found = log_likelihood(m, all, 0, team);
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    sum += std::exp(found.rows[i]);
    double terms = 0;
    for (const std::vector<double>& column : found.of_column) terms += column[i];
    EXPECT_NEAR(found.rows[i], terms, 1e-9);
  }
  EXPECT_NEAR(sum, 1, 1e-4);
}

TEST(Attacks, DoNotDependOnThreads) {
  Table synthetic = example_people(200, 14), training = example_people(200, 11);
  AuditOptions o;
  o.timed = false;
  json reports[2];
  for (const int threads : {1, 3}) {
    Team team(threads);
    reports[threads / 2] = attack_report(training, &people().unseen, nullptr, &synthetic, o, team, {});
  }
  EXPECT_EQ(reports[0], reports[1]);
}

TEST(Attacks, SayWhatTheyNeed) {
  Table training = example_people(200, 11), synthetic = example_people(200, 14);
  Team team(1);
  const auto message = [&](const Table* unseen, const Model* model, Table* rows, const AuditOptions& o) {
    try {
      (void)attack_report(training, unseen, model, rows, o, team, {});
    } catch (const Error& e) { return std::string(e.what()); }
    return std::string();
  };
  AuditOptions shadows;
  shadows.shadows = 2;
  const Table few = example_people(30, 12);
  EXPECT_NE(message(nullptr, nullptr, nullptr, {}).find("nothing to attack"), std::string::npos);
  EXPECT_NE(message(nullptr, nullptr, &synthetic, {}).find("need a holdout"), std::string::npos);
  EXPECT_NE(message(&people().unseen, nullptr, &synthetic, shadows).find("Give the model"), std::string::npos);
  EXPECT_NE(message(&few, nullptr, &synthetic, {}).find("30 rows"), std::string::npos);
}

}  // namespace
}  // namespace tessera::privacy
