// What a model says of rows (models/likelihood), against a law that is known.
#include "models/likelihood/score.h"

#include <nlohmann/json.hpp>

#include "base/storage/safetensors.h"
#include "models/known_law.h"
#include "tables/formats/calendar.h"

namespace tessera::whole {
namespace {

constexpr int64_t kFitted = 4000;

// a and b, whose law is known, and x about 3·a, so wide that it does not give a.
Table wide_rows(int64_t n) {
  Table t = known_categories(n);
  t.columns.push_back(decimals_by("x", n, 2, [&](int64_t i) {
    return std::nearbyint(100 * (3 * (cell(t.columns[0], i)[1] - '0') + normal(i, 3))) / 100;
  }));
  return t;
}

const Model& of_wide_rows() {
  static const Model m = fit(wide_rows(kFitted), quick_made(12));
  return m;
}

Table scored(const Model& m, const Table& rows, bool cells = false) {
  Team team(2);
  nlohmann::json report;
  return score_rows(m, rows, cells, report, team, {});
}
Table predicted(const Model& m, const Table& rows, const std::string& column) {
  Team team(2);
  return predict_column(m, rows, column, team, {});
}
double at(const Table& t, const std::string& name, int64_t i) {
  return column(t, name).numbers[static_cast<size_t>(i)];
}

Table row_of(const std::string& a, const std::string& b, double x) {
  return table({texts("a", ColumnType::category, {a}), texts("b", ColumnType::category, {b}),
                numbers("x", ColumnType::decimal, {x}, 2)});
}

TEST(Score, ProbabilitiesOfAllRowsSumToOne) {
  const Model m = fit(known_categories(kFitted), quick_made(8));
  double sum = 0;
  for (const char* a : {"a0", "a1", "a2"})
    for (const char* b : {"b0", "b1", "b2"})
      sum += std::exp(at(scored(m, without(row_of(a, b, 0), "x")), "log_probability", 0));
  EXPECT_NEAR(sum, 1, 1e-5);
}

TEST(Score, RowsAreAsLikelyAsTheirLawSays) {
  const Model m = fit(known_categories(kFitted), quick_made(30));
  const double of_a[] = {0.5, 0.3, 0.2};
  for (int a = 0; a < 3; ++a)
    for (const auto& [step, p] : {std::pair{0, 0.9}, {1, 0.1}}) {
      const Table row = without(row_of("a" + std::to_string(a), "b" + std::to_string((a + step) % 3), 0), "x");
      EXPECT_NEAR(std::exp(at(scored(m, row), "log_probability", 0)), of_a[a] * p, 0.04) << a << " " << step;
    }
}

// A column that depends on no other keeps its frequencies in every row, and is no input of others.
TEST(Score, WhatDependsOnNothingHasOneProbabilityInAllRows) {
  Table rows = wide_rows(1500);
  rows.columns.insert(rows.columns.begin(), texts_by("noise", rows.rows, [](int64_t i) {
                        return std::string(normal(i, 9) > 0.5 ? "up" : "down");
                      }));
  const Model m = fit(rows, quick_made(12));
  Table other = rows;
  for (int32_t& code : other.columns.front().codes) code = 1 - code;
  const Table is = scored(m, rows, true), would_be = scored(m, other, true);
  const double up = share(rows, [&](int64_t i) { return cell(rows.columns.front(), i) == "up"; });
  for (int64_t i = 0; i < rows.rows; ++i) {
    const double p = cell(rows.columns.front(), i) == "up" ? up : 1 - up;
    EXPECT_NEAR(std::exp(at(is, "log_probability of noise", i)), p, 0.01);
    for (const std::string name : {"a", "b", "x"})
      EXPECT_EQ(at(is, "log_probability of " + name, i), at(would_be, "log_probability of " + name, i));
  }
}

// A column of few values takes as many passes over each part of the rows: every one can be seen, and stopped.
TEST(Score, APredictionReportsEveryValueItTries) {
  std::vector<double> done;
  Monitor monitor;
  monitor.on_progress = [&](const Progress& p) {
    if (std::string_view(p.phase) == "predict") done.push_back(p.done);
    if (done.size() == 3) throw Error(ErrorCode::cancelled, "stopped");
  };
  Team team(1);
  EXPECT_THROW((void)predict_column(of_wide_rows(), wide_rows(300), "a", team, monitor), Error);
  EXPECT_EQ(done, (std::vector<double>{0, 100, 200}));
}

TEST(Score, CellsAddUpToTheRowAndNoBatchChangesIt) {
  const Table rows = wide_rows(1500), all = scored(of_wide_rows(), rows, true);
  for (const int64_t i : {0, 1023, 1024, 1499}) {
    const double sum =
        at(all, "log_probability of a", i) + at(all, "log_probability of b", i) + at(all, "log_probability of x", i);
    EXPECT_NEAR(at(all, "log_probability", i), sum, 1e-9);
    const auto at_i = static_cast<size_t>(i);
    const Table one = scored(of_wide_rows(),
                             row_of(cell(rows.columns[0], i), cell(rows.columns[1], i), rows.columns[2].numbers[at_i]));
    EXPECT_EQ(at(one, "log_probability", 0), at(all, "log_probability", i));
  }
}

TEST(Score, WhatTheModelDoesNotKnowIsNamedAndCountsAsOneUnseenRow) {
  const Table s = scored(of_wide_rows(), row_of("a0", "nowhere", 3), true);
  EXPECT_EQ(cell(column(s, "unknown"), 0), "b");
  EXPECT_NEAR(at(s, "log_probability of b", 0), -std::log(kFitted + 1.0), 1e-9);
  EXPECT_EQ(cell(column(s, "least_likely"), 0).substr(0, 1), "b");
  EXPECT_EQ(cell(column(scored(of_wide_rows(), row_of("a0", "b0", 999)), "unknown"), 0), "x");
  EXPECT_EQ(cell(column(scored(of_wide_rows(), row_of("a0", "b0", kMissing)), "unknown"), 0), "x");
}

TEST(Score, ARowThatBreaksARuleIsUnlikelyAndSaysWhere) {
  const Model m = fit(known_rows(kFitted), quick_made(2));  // x gives a
  EXPECT_EQ(cell(column(scored(m, row_of("a2", "b2", 20)), "unknown"), 0), "");
  const Table s = scored(m, row_of("a0", "b2", 20));
  EXPECT_EQ(cell(column(s, "unknown"), 0), "a");
  EXPECT_LT(at(s, "log_probability", 0), at(scored(m, row_of("a2", "b2", 20)), "log_probability", 0) - 8);
  EXPECT_EQ(at(predicted(m, row_of("a0", "b2", 20), "a"), "p(a2)", 0), 1);
}

TEST(Score, TheLeastLikelyRowsLead) {
  Table rows = wide_rows(500);
  rows.columns[2].numbers[321] = cell(rows.columns[0], 321) == "a0" ? 6.5 : -0.5;  // far from its a
  Team team(1);
  nlohmann::json report;
  score_rows(of_wide_rows(), rows, false, report, team, {});
  EXPECT_EQ(report["rows"], 500);
  EXPECT_EQ(report["examples"].size(), 10u);
  EXPECT_EQ(report["examples"][0]["row"], 322);
  EXPECT_EQ(report["examples"][0]["cells"][0]["column"], "x");
  EXPECT_LT(report["quantiles"]["0.01"], report["quantiles"]["0.5"]);
}

// Rules decide some cells whatever is learned: they are known, and no row of the fitted table is unlike its table.
TEST(Score, RowsOfTheFittedTableAreKnown) {
  constexpr int64_t kRows = 600;
  const auto open = [](int64_t i) { return i % 3 == 0; };
  const auto x = [](int64_t i) { return std::floor(900 * uniform(i, 1)); };
  const Column status = texts_by("status", kRows, [&](int64_t i) {
    return std::string(open(i) ? "open" : uniform(i, 2) < 0.5 ? "done" : "late");
  });
  Column formats = dates_by("day", kRows, [&](int64_t i) { return open(i) ? kMissing : 18000 + x(i); });
  formats.values = {"%Y-%m-%d", "%d.%m.%Y"};
  for (int64_t i = 0; i < kRows; ++i) formats.codes.push_back(open(i) ? -1 : static_cast<int32_t>(i % 2));
  Column month = dates_by("month", kRows, [](int64_t i) {
    return static_cast<double>(
        days_from_civil(2000 + static_cast<int>(20 * uniform(i, 4)), 1 + static_cast<int>(i % 12), 1));
  });
  month.format = "%Y-%m";
  const Column other = whole_by("other", kRows, [](int64_t i) { return std::floor(90 * uniform(i, 3)); });
  const Table tables[] = {
      table({status, whole_by("x", kRows, [&](int64_t i) { return open(i) ? kMissing : x(i); }), other}),
      table({formats, other}), table({month, other}),
      table({decimals_by("price", kRows, 4,
                         [&](int64_t i) {
                           const double u = uniform(i, 5), digits = u < 0.2 ? 1 : u < 0.9 ? 100 : 10000;
                           return open(i) ? kMissing : std::round(digits * 300 * uniform(i, 6)) / digits;
                         }),
             other}),
      table({texts_by("user", kRows, [](int64_t i) { return "U" + std::to_string(1000 + i / 4); }),
             whole_by("loan", kRows, [](int64_t i) { return static_cast<double>(1 + i % 4); }), other})};
  for (const Table& t : tables) {
    const Model m = fit(Table(t), quick_made(4));
    for (const Table& rows : {t, sample(m, 300)}) {
      const Table s = scored(m, rows, true);
      // of numbers, the ends may lie beyond the protected range
      const auto strange = [&](int64_t i) { return !column(s, "unknown").is_missing(i); };
      EXPECT_LT(share(s, strange), 0.05) << t.columns[0].name;
    }
  }
  // where the rule is broken, the row is unlike the table
  const Model m = fit(Table(tables[0]), quick_made(4));
  Table broken = tables[0];
  std::swap(broken.columns[1].numbers[0], broken.columns[1].numbers[1]);
  const Table s = scored(m, broken, true);
  for (const int64_t i : {0, 1}) EXPECT_EQ(cell(column(s, "unknown"), i), "x") << i;
  EXPECT_EQ(at(s, "log_probability of x", 3), 0) << "it must be missing";
}

// One flipped bit of a weight in a file without a checksum: it reads, and the terminal's page had no mean.
TEST(Score, DamagedWeightsAreAnErrorNotANumber) {
  SafeTensors file = parse_safetensors(of_wide_rows().bytes(), "m");
  file.metadata.erase("checksum");
  std::vector<std::byte>& bias = file.tensors.at("network.head.bias").bytes;
  const float huge[] = {3e38f, -3e38f};
  for (size_t at = 0; at + sizeof huge <= bias.size(); at += sizeof huge)
    std::memcpy(bias.data() + at, huge, sizeof huge);
  const Model damaged = Model::from_bytes(format_safetensors(file), "m");
  for (const Thrown& t :
       {thrown([&] { scored(damaged, wide_rows(50)); }), thrown([&] { predicted(damaged, wide_rows(50), "a"); })}) {
    EXPECT_EQ(t.code, ErrorCode::format) << t.message;
    EXPECT_TRUE(t.says("damaged")) << t.message;
  }
}

TEST(Predict, IsTheShareOfTheJointProbability) {
  const Table row = row_of("a1", "b1", 3.1);
  const Table p = predicted(of_wide_rows(), without(row, "a"), "a");
  double sum = 0;
  for (const char* a : {"a0", "a1", "a2"})
    sum += std::exp(at(scored(of_wide_rows(), row_of(a, "b1", 3.1)), "log_probability", 0));
  for (const char* a : {"a0", "a1", "a2"}) {
    const double joint = std::exp(at(scored(of_wide_rows(), row_of(a, "b1", 3.1)), "log_probability", 0));
    EXPECT_NEAR(at(p, std::string("p(") + a + ")", 0), joint / sum, 1e-6) << a;
  }
  EXPECT_EQ(cell(column(p, "a"), 0), "a1");
  EXPECT_GT(at(p, "p(a1)", 0), 0.8);
}

TEST(Predict, NumbersHaveAMeanAndARange) {
  const Table p = predicted(of_wide_rows(), row_of("a2", "b2", kMissing), "x");
  EXPECT_NEAR(at(p, "x", 0), 6, 0.5);  // the law: normal about 6 with deviation 1
  EXPECT_NEAR(at(p, "median", 0), 6, 0.5);
  EXPECT_NEAR(at(p, "low", 0), 6 - 1.64, 0.7);
  EXPECT_NEAR(at(p, "high", 0), 6 + 1.64, 0.7);
}

TEST(Predict, ColumnsMayHaveTheNamesOfFigures) {
  Table rows = wide_rows(600);
  rows.columns[0].name = "p(a0)", rows.columns[2].name = "median";
  const Model m = fit(Table(rows), quick_made(2));
  EXPECT_TRUE(predicted(m, rows, "median").find("median_2") != nullptr);
  EXPECT_TRUE(predicted(m, rows, "p(a0)").find("p(a0)_2") != nullptr);
}

TEST(Predict, ACombinationThatNeverOccursIsImpossible) {
  const auto letter = [](int64_t i) { return "a" + std::to_string(i * 7 % 3); };
  const int64_t n = 600;  // b follows from a: rules make one column of both
  const Table t =
      table({texts_by("a", n, letter), texts_by("b", n, [&](int64_t i) { return "of " + letter(i); }), reals("x", n)});
  const Model m = fit(Table(t), quick_made(4));
  const Table row = table({texts("b", ColumnType::category, {"of a2"}), numbers("x", ColumnType::decimal, {0}, 2)});
  const Table p = predicted(m, row, "a");
  EXPECT_EQ(at(p, "p(a2)", 0), 1);
  EXPECT_EQ(at(p, "p(a0)", 0), 0);
}

TEST(Predict, WhatCannotBeAskedIsSaid) {
  const Model& m = of_wide_rows();
  EXPECT_TRUE(thrown([&] { predicted(m, row_of("a0", "b0", 0), "z"); }).says("no column \"z\""));
  EXPECT_TRUE(thrown([&] { predicted(m, without(row_of("a0", "b0", 0), "b"), "a"); }).says("column \"b\""));
  EXPECT_TRUE(thrown([&] { scored(m, without(row_of("a0", "b0", 0), "b")); }).says("column \"b\""));
  Table t = known_rows(400);
  t.columns.push_back(
      decimals_by("twice", t.rows, 2, [&](int64_t i) { return 2 * t.columns[2].numbers[static_cast<size_t>(i)]; }));
  const Model computed = fit(Table(t), quick_made(1));
  EXPECT_TRUE(thrown([&] { predicted(computed, t, "twice"); }).says("rules compute it"));
  const Model other = fit(known_rows(300), quick_tvae(1));
  EXPECT_EQ(thrown([&] { scored(other, known_rows(3)); }).code, ErrorCode::usage);
}

}  // namespace
}  // namespace tessera::whole
