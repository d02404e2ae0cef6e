// Columns that never fall within a key: found, learned as differences, kept by every sampled sequence, counted in a
// report.
#include <nlohmann/json.hpp>

#include "models/quality/evaluate_sequences.h"
#include "rules/orders.h"

namespace tessera::whole {
namespace {

constexpr int64_t kMeters = 40, kReadings = 10;

// A meter's readings, some of equal days, and when it was read; a temperature goes up and down.
Table meters() {
  constexpr int64_t kRows = kMeters * kReadings;
  const auto sum = [](int64_t i, uint32_t stream, auto of) {
    double total = 0;
    for (int64_t k = i - i % kReadings; k <= i; ++k) total += of(uniform(k, stream));
    return total;
  };
  const auto first = [](int64_t i) { return std::floor(uniform(i / kReadings, 9) * 5000); };
  std::vector<std::string> names;
  for (int64_t i = 0; i < kRows; ++i) names.push_back("meter " + std::to_string(i / kReadings));
  return table(
      {texts("meter", ColumnType::category, names),
       whole_by("day", kRows, [](int64_t i) { return static_cast<double>(i % kReadings); }),
       decimals_by("reading", kRows, 1,
                   [&](int64_t i) {
                     return first(i) + sum(i, 1, [](double u) { return u < 0.2 ? 0 : std::nearbyint(u * 300) / 10; });
                   }),
       times_by("read at", kRows,
                [&](int64_t i) { return 1.6e9 + first(i) + sum(i, 2, [](double u) { return std::floor(u * 9e4); }); }),
       decimals_by("temperature", kRows, 1, [](int64_t i) { return std::nearbyint(uniform(i, 3) * 300) / 10; })});
}

FitOptions quick_sequences() {
  FitOptions o;
  o.method = "timegan";
  apply_preset(o);
  o.sequences.key = "meter", o.sequences.index = "day";
  for (const char* key : {"embedding_iterations", "supervised_iterations", "joint_iterations"}) set(o, key, "2");
  set(o, "hidden_dim", "8"), set(o, "batch_size", "16");
  return o;
}

RuleOptions of_meters() {
  RuleOptions o;
  o.key = "meter", o.index = "day", o.excluded = {"meter", "day"};
  return o;
}

// Steps in which a column is below the step before it.
int64_t falls(const Table& rows, const std::string& name) {
  const std::vector<double> x(column(rows, name).numbers.begin(), column(rows, name).numbers.end());
  int64_t out = 0;
  const std::vector<int32_t> previous = previous_rows(rows, "meter", "day");
  for (size_t i = 0; i < x.size(); ++i) out += previous[i] >= 0 && x[i] < x[static_cast<size_t>(previous[i])];
  return out;
}

TEST(Rising, IsFoundWithinKeysOnly) {
  const std::vector<std::string> both{"\"read at\" never falls within a meter", "reading never falls within a meter"};
  EXPECT_EQ(said(found(meters(), of_meters())), both);
  EXPECT_EQ(said(found(meters())), std::vector<std::string>{}) << "rows of a table have no step before them";
  Table one = meters();
  for (Column& c : one.columns)
    if (c.name == "reading") c.numbers[5] = c.numbers[4] - 0.1;
  EXPECT_EQ(said(found(one, of_meters())), std::vector<std::string>{both[0]});
  RuleOptions more = of_meters();
  more.least_rows = kMeters + 1;
  EXPECT_EQ(said(found(meters(), more)), std::vector<std::string>{}) << "first values would tell of single meters";
}

// What is left of a budget: never below 0, and written with a unit.
TEST(Rising, FallingColumnsAreTheirNegatives) {
  Table real = meters();
  Column left = column(real, "reading");
  left.name = "left", left.format = "0.0\" kWh\"";
  for (double& x : left.numbers) x = 9000 - x;
  real.columns.push_back(std::move(left));
  Table t = without(real, "reading");
  const Rules rules = reduced(t, of_meters());
  EXPECT_EQ(said(rules),
            (std::vector<std::string>{"\"read at\" never falls within a meter", "left never rises within a meter"}));
  EXPECT_EQ(rules.rising().size(), 2u);
  EXPECT_LT(column(t, "left").numbers[0], 0);
  expect_restored(Rules::from_json(rules.to_json()), std::move(t), without(real, "reading"));

  const Model m = fit(without(real, "reading"), quick_sequences());
  const Table rows = sample(m, 60);
  EXPECT_GT(falls(rows, "left"), 0);
  Table opposite = rows;
  for (Column& c : opposite.columns)
    if (c.name == "left")
      for (double& x : c.numbers) x = -x;
  EXPECT_EQ(falls(opposite, "left"), 0);
  EXPECT_EQ(column(rows, "left").format, "0.0\" kWh\"");
}

TEST(Rising, IsNotFoundInRandomTables) {
  for (uint32_t seed = 0; seed < 20; ++seed) {
    RuleOptions o;
    o.key = "text 3", o.index = "date 1", o.excluded = {o.key, o.index};
    Table t = random_table(seed, 600);
    for (Column& c : t.columns)
      if (c.name == o.key)
        for (int32_t& code : c.codes) code = std::max(code, 0);
    EXPECT_EQ(said(found(std::move(t), o)), std::vector<std::string>{}) << seed;
  }
}

TEST(Rising, SampledSequencesNeverDecrease) {
  FitOptions o = quick_sequences();
  const Model m = fit(meters(), o);
  EXPECT_EQ(m.describe()["rules"].size(), 2u);
  const Table rows = sample(m, 60);
  ASSERT_GT(rows.rows, 300);
  EXPECT_EQ(falls(rows, "reading"), 0);
  EXPECT_EQ(falls(rows, "read at"), 0);
  EXPECT_EQ(column(rows, "read at").type, ColumnType::datetime);
  EXPECT_GT(column(rows, "read at").numbers[0], 1.5e9);
  const Model read = Model::from_bytes(m.bytes(), "meters.tessera");
  EXPECT_EQ(lines(sample(read, 60)), lines(rows));

  Table shuffled = meters();
  for (Column& c : shuffled.columns)
    std::reverse(c.numbers.begin(), c.numbers.end()), std::reverse(c.codes.begin(), c.codes.end());
  EXPECT_EQ(falls(sample(fit(shuffled, o), 60), "reading"), 0) << "the index orders the rows, not the file";

  o.sequences.length = 4;
  EXPECT_EQ(falls(sample(fit(meters(), o), 60), "reading"), 0) << "windows";
  o.sequences.length = 0, o.rules.find = false;
  EXPECT_GT(falls(sample(fit(meters(), o), 60), "reading"), 100);
}

TEST(Rising, RoundTripsSteps) {
  SequenceOptions o;
  o.key = "meter", o.index = "day", o.rising = {"read at", "reading"};
  Team team(1);
  Sequences cut_steps = cut(meters(), o);
  const Column& difference = column(cut_steps.steps, "reading");
  EXPECT_GE(*std::min_element(difference.numbers.begin(), difference.numbers.end()), 0);
  EXPECT_EQ(cut_steps.attributes.columns.back().name, start_of("reading"));
  const SequenceEncoder encoder = SequenceEncoder::fit(cut_steps, 5, 7, team, Monitor{});
  const SequenceEncoder again = SequenceEncoder::from_json(encoder.to_json());
  EXPECT_EQ(again.to_json(), encoder.to_json());
  EXPECT_EQ(again.schema().columns[3].type, ColumnType::datetime);
  auto damaged = encoder.to_json();
  damaged["rising"] = {"reading", "nothing"};
  EXPECT_TRUE(thrown([&] { (void)SequenceEncoder::from_json(damaged); }).says("rising"));
}

TEST(Rising, ReportCountsDecreasingSteps) {
  Table synthetic = meters();
  for (Column& c : synthetic.columns)
    if (c.name == "reading") c.numbers[5] = c.numbers[25] = 0;
  EvaluateSequencesOptions o;
  o.sequences.key = "meter", o.sequences.index = "day";
  o.judges.judges = 0;
  Team team(1);
  const auto report = evaluate_sequences(meters(), std::move(synthetic), o, team, Monitor{});
  for (const auto& rule : report["rules"])
    EXPECT_EQ(rule["broken"], rule["rule"] == "reading never falls within a meter" ? 2 : 0) << rule;
}

}  // namespace
}  // namespace tessera::whole
