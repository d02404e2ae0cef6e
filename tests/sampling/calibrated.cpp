// Calibrated sampling through the whole model: bits, bounds, files, conditions.
#include <nlohmann/json.hpp>
#include <numeric>

#include "models/tables.h"
#include "tables/csv/example.h"

namespace tessera::whole {
namespace {

FitOptions calibrated(int epochs = 6, Tier tier = Tier::full) {
  FitOptions o = quick(epochs, 200);
  o.calibrate = tier;
  return o;
}
SampleOptions under(Tier tier, const std::string& condition = "") {
  SampleOptions o = where(condition);
  o.calibrate = tier;
  return o;
}

const Model& people() {
  static const Model m = fit(example_people(2500, 3), calibrated(), 2);
  return m;
}

TEST(Calibrated, RowsAreTheSameForAnyBatchThreadsAndOffset) {
  for (const Tier tier : {Tier::marginals, Tier::full}) {
    SampleReport report;
    const std::vector<std::string> whole = lines(sample(people(), 700, under(tier), {0, 1}, &report));
    ASSERT_EQ(whole.size(), 700u);
    EXPECT_GT(report.candidates, report.rows) << "no candidate was rejected: the test would prove nothing";
    EXPECT_EQ(report.tier, tier);
    for (const int batch : {1, 333, 5000}) {
      SampleOptions o = under(tier);
      o.batch = batch;
      const int64_t n = batch == 1 ? 5 : 700;
      EXPECT_EQ(lines(sample(people(), n, o, {0, 3})), std::vector<std::string>(whole.begin(), whole.begin() + n))
          << "batch " << batch;
    }
    EXPECT_EQ(lines(sample(people(), 40, under(tier), {600, 2})),
              std::vector<std::string>(whole.begin() + 600, whole.begin() + 640));
  }
}

TEST(Calibrated, ModelsAreTheSameForAnyNumberOfThreads) {
  auto file = [](int threads) {
    const Folder folder;
    fit(example_people(1500, 4), calibrated(2), threads).save(folder / "model", false);
    return read_bytes(folder / "model");
  };
  const std::string once = file(1);
  EXPECT_EQ(file(3), once);
}

TEST(Calibrated, EveryRowAlsoSatisfiesTheCondition) {
  const Table t = sample(people(), 150, under(Tier::full, "age >= 40 and gender = 'female'"), {0, 2});
  ASSERT_EQ(t.rows, 150);
  for (int64_t i = 0; i < t.rows; ++i) {
    EXPECT_GE(column(t, "age").numbers[static_cast<size_t>(i)], 40);
    EXPECT_EQ(cell(column(t, "gender"), i), "female");
  }
}

TEST(Calibrated, RoundTripsThroughAFile) {
  const Folder folder;
  people().save(folder / "model", false);
  const Model again = Model::load(folder / "model");
  for (const Tier tier : {Tier::off, Tier::marginals, Tier::full})
    EXPECT_EQ(lines(sample(again, 200, under(tier))), lines(sample(people(), 200, under(tier)))) << name(tier);
  EXPECT_EQ(again.describe()["calibration"], people().describe()["calibration"]);
  EXPECT_GE(people().describe()["calibration"]["trials"].size(), 4u);
}

TEST(Calibrated, OffGivesTheUncalibratedRows) {
  FitOptions off = calibrated(6, Tier::off);
  const Model plain = fit(example_people(2500, 3), off, 2);
  EXPECT_EQ(lines(sample(plain, 300)), lines(sample(people(), 300, under(Tier::off))));
  EXPECT_FALSE(plain.describe().contains("calibration"));
  const Thrown t = thrown([&] { sample(plain, 10, under(Tier::full)); });
  EXPECT_EQ(t.code, ErrorCode::usage);
  EXPECT_TRUE(t.says("`calibrate=full`")) << t.message;
}

// The range that is held: its ends are means over the five outermost rows (docs/quality/privacy.md), which samples
// reach and do not leave.
TEST(Calibrated, NumbersReachTheRangeOfTheTable) {
  const Table real = example_people(2500, 3), made = sample(people(), 10000, under(Tier::marginals), {0, 2});
  for (const char* name : {"height", "income"}) {
    const auto ascending = [&](const Table& t) {
      std::vector<double> out;
      std::copy_if(column(t, name).numbers.begin(), column(t, name).numbers.end(), std::back_inserter(out),
                   [](double x) { return x == x; });
      std::sort(out.begin(), out.end());
      return out;
    };
    const std::vector<double> was = ascending(real), now = ascending(made);
    const double low = std::accumulate(was.begin(), was.begin() + 5, 0.0) / 5,
                 high = std::accumulate(was.end() - 5, was.end(), 0.0) / 5;
    EXPECT_GE(now.front(), was.front());
    EXPECT_LE(now.back(), was.back());
    EXPECT_GT((now.back() - now.front()) / (high - low), 0.9) << name;
  }
}

// Quantile mapping moves numbers between the table's; what is returned lies on the column's grid all the same.
TEST(Calibrated, NumbersStayOnTheirGrid) {
  const int64_t rows = 2000;
  const auto of = [](double step, double spread) {
    return [=](int64_t i) { return step * std::round(std::exp(5 + spread * normal(i))); };
  };
  Table t = table({whole_by("price", rows, of(100, 1)), decimals_by("share", rows, 2, of(0.25, 0.8))});
  const Model m = fit(std::move(t), calibrated(3), 2);
  for (const Tier tier : {Tier::off, Tier::marginals, Tier::full}) {
    const Table made = sample(m, 500, under(tier), {0, 2});
    for (const double x : column(made, "price").numbers) ASSERT_EQ(std::fmod(x, 100), 0) << name(tier) << ": " << x;
    for (const double x : column(made, "share").numbers) ASSERT_EQ(std::fmod(x, 0.25), 0) << name(tier) << ": " << x;
  }
}

// A table that the model cannot come near: untrained weights, next to nothing kept. The bound ends the search for every
// row, and says so.
TEST(Calibrated, CountsRowsAtTheBoundOfCandidates) {
  FitOptions o = calibrated(1);
  o.as<CtganConfig>().learning_rate = 1e-9;
  const Model m = fit(example_people(1500, 9), o, 2);
  SampleOptions s = under(Tier::full);
  s.min_yield = 1e-6;
  SampleReport report;
  const Table t = sample(m, 60, s, {0, 2}, &report);
  EXPECT_EQ(t.rows, 60);
  EXPECT_LE(report.candidates, 60 * (kMaxTries + 1));
  EXPECT_EQ(report.rows, 60);
  SampleOptions other = s;
  other.batch = 77;
  EXPECT_EQ(lines(sample(m, 60, other, {0, 1})), lines(t))
      << "rows that took the likeliest candidate depend on the batch";
}

TEST(Calibrated, HandlesEdgeTables) {
  auto column_of = [](const std::string& name, int64_t rows, int values) {
    return texts_by(name, rows,
                    [=](int64_t i) { return "v" + std::to_string(static_cast<int>(uniform(i, 3) * values)); });
  };
  std::vector<Table> tables;
  // no numbers
  tables.push_back(table({column_of("a", 1200, 2), column_of("b", 1200, 5)}));
  // one column
  tables.push_back(table({decimals_by("x", 1200, 2, [](int64_t i) { return std::round(100 * normal(i)) / 100; })}));
  // 50 rows
  tables.push_back(
      table({column_of("a", 50, 3), whole_by("x", 50, [](int64_t i) { return std::floor(100 * uniform(i)); })}));
  // nearly all values rare
  tables.push_back(table({column_of("a", 3000, 2500), column_of("b", 3000, 2)}));
  Table constant =
      table({column_of("a", 1100, 2), whole_by("x", 1100, [](int64_t i) { return std::floor(100 * uniform(i)); })});
  constant.columns.push_back(texts_by("same", ColumnType::constant, 1100, [](int64_t) { return "here"; }));
  tables.push_back(constant);
  tables.push_back(table(
      {decimals_by("x", 1500, 2, [](int64_t i) { return i % 5 == 0 ? kMissing : std::round(100 * normal(i)) / 100; }),
       column_of("a", 1500, 2)}));
  for (size_t k = 0; k < tables.size(); ++k) {
    const int64_t rows = tables[k].rows;
    const Model m = fit(std::move(tables[k]), calibrated(2), 2);
    const Table t = sample(m, 100, {}, {0, 2});
    EXPECT_EQ(t.rows, 100) << "table " << k << " of " << rows << " rows";
    EXPECT_EQ(m.describe()["calibration"].contains("note"), rows < 1000) << "table " << k;
  }
}

TEST(Calibrated, PaperIsCalibratedOnlyOnRequest) {
  FitOptions paper;
  paper.method = "tvae", paper.preset = "paper";
  apply_preset(paper);
  EXPECT_EQ(paper.calibrate, Tier::off);
  FitOptions best;
  best.method = "tvae";
  apply_preset(best);
  EXPECT_EQ(best.calibrate, Tier::full);
}

}  // namespace
}  // namespace tessera::whole
