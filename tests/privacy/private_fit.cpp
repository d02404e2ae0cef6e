// Differentially private fits: what they spend, that nothing but noisy counts reaches the model, and what an attacker
// who plants a row learns.
#include "models/privacy/private_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "models/fitted/known_values.h"
#include "models/privacy/noise.h"
#include "privacy/tables.h"
#include "support/thrown.h"

namespace tessera::privacy {
namespace {

// Three columns that depend on each other; `order` shuffles the rows and the first appearances of texts.
Table people(int64_t rows, uint64_t order = 0) {
  Table t;
  t.rows = rows;
  Column town, age, owns;
  town.name = "town", town.domain = R"({"values": ["Graz", "Linz", "Wien", "Zirl"]})";
  age.name = "age", age.type = ColumnType::integer, age.domain = R"({"min": 18, "max": 90})";
  owns.name = "owns", owns.domain = "{}";
  const char* const towns[] = {"Wien", "Linz", "Graz"};
  const char* const answers[] = {"no", "yes"};
  const auto put = [](Column& c, const std::string& text) {
    const auto at = std::find(c.values.begin(), c.values.end(), text);
    if (at == c.values.end()) c.values.push_back(text);
    c.codes.push_back(static_cast<int32_t>(std::find(c.values.begin(), c.values.end(), text) - c.values.begin()));
  };
  for (int64_t i = 0; i < rows; ++i) {
    const int64_t k = order == 0 ? i : rows - 1 - i, decade = k * 7 % 60;
    put(town, towns[k % 7 % 3]);
    age.numbers.push_back(static_cast<double>(20 + decade));
    put(owns, answers[decade > 25 || k % 11 == 0 ? 1 : 0]);
  }
  t.columns = {town, age, owns};
  return t;
}

FitOptions private_fit(double epsilon, uint64_t noise) {
  FitOptions o = options("made", 1, Tier::off);
  whole::set(o, "hidden_dim", "16");
  o.privacy.epsilon = epsilon, o.privacy.noise_seed = noise;
  return o;
}

Table drawn(const Table& table, double epsilon, uint64_t seed, nlohmann::json* ledger = nullptr) {
  Team team(1);
  PrivateTable made = private_table(table, {epsilon, 1e-5, seed}, team);
  if (ledger != nullptr) *ledger = std::move(made.ledger);
  return std::move(made.rows);
}

double rows_with(const Table& t, const std::string& town) {
  const Column& c = *t.find("town");
  const auto at = std::find(c.values.begin(), c.values.end(), town) - c.values.begin();
  return static_cast<double>(std::count(c.codes.begin(), c.codes.end(), static_cast<int32_t>(at)));
}

// The largest epsilon that attacks on the number of such rows prove, with two standard errors off each rate.
double proven_epsilon(const std::vector<double>& without, const std::vector<double>& with) {
  double best = 0;
  const auto share = [](const std::vector<double>& v, double from) {
    return static_cast<double>(std::count_if(v.begin(), v.end(), [&](double x) { return x >= from; })) /
           static_cast<double>(v.size());
  };
  for (const double from : with) {
    const double n = static_cast<double>(with.size()), hits = share(with, from), alarms = share(without, from);
    const double low = hits - 2 * std::sqrt(hits * (1 - hits) / n + 1 / (n * n));
    const double high = alarms + 2 * std::sqrt(alarms * (1 - alarms) / n + 1 / (n * n));
    if (low > 0) best = std::max(best, std::log(low / high));
  }
  return best;
}

// People with and without people of a town where nobody else lives.
double epsilon_of_planted_rows(double epsilon, int runs, int planted) {
  const Table without = people(600);
  Table with = people(600);
  with.columns[0].values.push_back("Zirl");
  for (int k = 0; k < planted; ++k, ++with.rows)
    with.columns[0].codes.push_back(3), with.columns[1].numbers.push_back(90), with.columns[2].codes.push_back(0);
  std::vector<double> seen, unseen;
  for (int run = 0; run < runs; ++run) {
    unseen.push_back(rows_with(drawn(without, epsilon, static_cast<uint64_t>(2 * run + 1)), "Zirl"));
    seen.push_back(rows_with(drawn(with, epsilon, static_cast<uint64_t>(2 * run + 2)), "Zirl"));
  }
  return proven_epsilon(unseen, seen);
}

}  // namespace

TEST(PrivateNoise, DiscreteGaussiansHaveTheirMomentsAndProbabilities) {
  SecretNoise noise(5);
  constexpr int kDraws = 40'000;
  double sum = 0, squares = 0, zeros = 0;
  for (int i = 0; i < kDraws; ++i) {
    const auto x = static_cast<double>(noise.discrete_gaussian(30));
    sum += x, squares += x * x, zeros += x == 0 ? 1 : 0;
  }
  EXPECT_NEAR(sum / kDraws, 0, 4 * std::sqrt(30.0 / kDraws));
  EXPECT_NEAR(squares / kDraws, 30, 4 * 30 * std::sqrt(2.0 / kDraws));
  EXPECT_NEAR(zeros / kDraws, 1 / std::sqrt(2 * 3.14159265 * 30), .006);
  EXPECT_NE(SecretNoise({}).word(), SecretNoise({}).word());  // secret seeds differ
}

TEST(PrivateFit, LedgerAddsUpToEpsilon) {
  for (const double epsilon : {1.0, 3.0, 8.0}) {
    nlohmann::json ledger;
    (void)drawn(people(3000), epsilon, 1, &ledger);
    double sum = 0, delta = 0;
    for (const nlohmann::json& m : ledger["mechanisms"])
      sum += m["epsilon"].get<double>(), delta += m["delta"].get<double>();
    EXPECT_NEAR(sum, epsilon, 1e-9);
    EXPECT_LT(delta, 1e-5);
    EXPECT_GT(delta, 0);  // "owns" has no declared values
    EXPECT_LE(ledger["accounted_epsilon"].get<double>(), epsilon * 1.001);
    EXPECT_GE(ledger["accounted_epsilon"].get<double>(), epsilon * .7);
    EXPECT_GE(ledger["rdp_epsilon"].get<double>(), ledger["accounted_epsilon"].get<double>());
  }
}

TEST(PrivateFit, SmallAndLargeEpsilonsAreAccountedWithinThem) {
  Team team(1);
  for (const double epsilon : {.05, 50.0})
    for (const PrivateBy by : {PrivateBy::counts, PrivateBy::both}) {
      const PrivateTable made = private_table(people(8000), {.epsilon = epsilon, .noise_seed = 1, .by = by}, team);
      EXPECT_LE(made.ledger["accounted_epsilon"].get<double>(), epsilon * 1.001);
    }
}

TEST(PrivateFit, StepsOnGradientsSpendWhatCountsLeave) {
  Team team(1);
  double noise = 1e9;
  for (const double epsilon : {1.0, 8.0})
    for (const PrivateBy by : {PrivateBy::both, PrivateBy::gradients}) {
      const PrivateTable made = private_table(people(3000), {.epsilon = epsilon, .noise_seed = 1, .by = by}, team);
      const double accounted = made.ledger["accounted_epsilon"].get<double>();
      EXPECT_LE(accounted, epsilon);
      EXPECT_GE(accounted, .9 * epsilon);
      EXPECT_GE(made.ledger["rdp_epsilon"].get<double>(), accounted);
      const PrivateSteps& s = made.steps;
      EXPECT_EQ(std::fmod(s.rate, PrivateSteps::kRateUnit), 0);
      EXPECT_GT(static_cast<double>(s.capacity), s.expected + 6 * std::sqrt(s.expected));
      if (by == PrivateBy::both) continue;
      EXPECT_LT(s.noise, noise) << "a larger epsilon takes less noise";
      noise = s.noise;
    }
}

// Batches have places for all rows, those of texts that nobody declared, or of texts of one row, too.
TEST(PrivateFit, RowsAreCountedWhateverTheirTexts) {
  Team team(1);
  Table table = people(3000);
  table.columns[0].domain = R"({"values": ["Paris", "Rom"]})";
  Column& owns = table.columns[2];
  owns.values.clear();
  for (int32_t i = 0; i < 3000; ++i) owns.values.push_back("text " + std::to_string(i)), owns.codes[i] = i;
  const PrivateTable made = private_table(table, {.epsilon = 1, .noise_seed = 1, .by = PrivateBy::gradients}, team);
  EXPECT_NEAR(static_cast<double>(made.rows.rows), 3000, 300);
  const double mean = made.steps.rate * 3000;
  EXPECT_GT(static_cast<double>(made.steps.capacity), mean + 6 * std::sqrt(mean));
}

// A row that is added moves the others: draws by place are private only if nobody knows their seed.
TEST(PrivateFit, ModesAreDrawnByTheGivenSeed) {
  Team team(1);
  Table table = people(600);
  Column sum;
  sum.name = "sum", sum.type = ColumnType::decimal, sum.decimals = 2;
  SecretNoise noise(1);
  for (int i = 0; i < 600; ++i) sum.numbers.push_back(noise.uniform() + noise.uniform() + (i % 2 == 0 ? 0 : .8));
  table.columns.push_back(sum);
  const Encoder encoder = Encoder::fit(table, {}, team, {});
  const auto codes = [&](uint64_t seed) {
    const EncodedTable encoded = encode_known(encoder, Table(table), seed, team, {});
    return std::vector<int32_t>(encoded.codes.begin(), encoded.codes.end());
  };
  EXPECT_EQ(codes(1), codes(1));
  EXPECT_NE(codes(1), codes(2));
}

TEST(PrivateFit, RanksAddTheNoiseOnce) {
  Team team(2);
  for (const char* method : {"made", "tvae"}) {
    FitOptions o = options(method, 2, Tier::off);
    o.privacy.epsilon = 8, o.privacy.noise_seed = 4, o.privacy.by = PrivateBy::gradients;
    o.ranks.shards = 2;
    const std::string one = Model::fit(people(800), o, team, {}).bytes();
    o.ranks.threads = 2;
    EXPECT_EQ(Model::fit(people(800), o, team, {}).bytes(), one) << method;
  }
}

// What a limit leaves depends on the number of rows: the model must not.
TEST(PrivateFit, MemoryLimitsChangeNoBit) {
  FitOptions o = options("made", 1, Tier::off);
  o.privacy.epsilon = 8, o.privacy.noise_seed = 4, o.privacy.by = PrivateBy::gradients;
  o.recompute = Recompute::off;
  const auto fit = [&](int64_t limit) {
    Team team(1, limit > 0 ? std::make_shared<MemoryLimit>(limit) : nullptr);
    return Model::fit(people(800), o, team, {}).bytes();
  };
  const std::string whole = fit(0);
  std::string said;
  for (int64_t limit = 64 << 20; said.empty() && limit > 1 << 20; limit = limit * 3 / 4) try {
      EXPECT_EQ(fit(limit), whole) << limit;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::memory);
      said = e.what();
    }
  EXPECT_NE(said.find("`micro_batch="), std::string::npos) << said;
}

TEST(PrivateFit, ModelsAreNotCalibratedByRows) {
  Team team(1);
  FitOptions o = options("tvae", 1, Tier::off);
  o.privacy.epsilon = 8, o.privacy.noise_seed = 4;
  const Model model = Model::fit(people(800), o, team, {});
  o.calibrate = Tier::marginals;
  EXPECT_THROW((void)model.calibrated(people(800), o, team, {}), Error);
}

// Counts of neighboring ranges resemble each other, which takes most of the noise off them.
TEST(PrivateFit, DistributionsOfNumbersAreNearTheTables) {
  Table table;
  table.rows = 10'000;
  SecretNoise noise(3);
  for (const char* name : {"flat", "bell", "heap"}) {
    Column c;
    c.name = name, c.type = ColumnType::decimal, c.domain = R"({"min": 0, "max": 4, "decimals": 3})";
    for (int i = 0; i < 10'000; ++i) {
      double x = noise.uniform() * 4;
      if (c.name != "flat") x = (x + noise.uniform() * 4 + noise.uniform() * 4) / 3;
      if (c.name == "heap" && i % 3 == 0) x = 1.234;
      c.numbers.push_back(std::round(1000 * x) / 1000);
    }
    table.columns.push_back(std::move(c));
  }
  const Table rows = drawn(table, 1, 1);
  for (size_t j = 0; j < 3; ++j) {
    std::vector<double> shares(50), own(50);
    for (const double x : table.columns[j].numbers) shares[std::min<size_t>(49, static_cast<size_t>(x / .08))] += 1e-4;
    for (const double x : rows.columns[j].numbers)
      own[std::min<size_t>(49, static_cast<size_t>(x / .08))] += 1 / static_cast<double>(rows.rows);
    double overlap = 0;
    for (size_t k = 0; k < 50; ++k) overlap += std::min(shares[k], own[k]);
    EXPECT_GT(overlap, .96) << table.columns[j].name;
  }
  const auto& heap = rows.columns[2].numbers;
  EXPECT_NEAR(static_cast<double>(std::count(heap.begin(), heap.end(), 1.234)) / static_cast<double>(rows.rows), .333,
              .03);
}

TEST(PrivateFit, GradientsLearnDependences) {
  Team team(2);
  FitOptions o = private_fit(8, 4);
  o.privacy.by = PrivateBy::gradients;
  whole::set(o, "epochs", "20"), whole::set(o, "batch_size", "64");
  const Model model = Model::fit(people(3000), o, team, {});
  EXPECT_EQ(model.bytes(), Model::fit(people(3000), o, team, {}).bytes()) << "noise is a function of its seed";
  const auto rows = model.sample(0, 3000, {}, team, {});
  Table drawn;
  double old = 0, owners = 0, young = 0, young_owners = 0;
  while (rows->next(drawn))
    for (size_t i = 0; i < drawn.columns[1].numbers.size(); ++i) {
      const Column& owns = drawn.columns[2];
      const bool yes = owns.codes[i] >= 0 && owns.values[static_cast<size_t>(owns.codes[i])] == "yes";
      (drawn.columns[1].numbers[i] > 46 ? old : young) += 1;
      (drawn.columns[1].numbers[i] > 46 ? owners : young_owners) += yes ? 1 : 0;
    }
  EXPECT_GT(owners / old, young_owners / young + .4);
}

TEST(PrivateFit, RowsResembleTheTable) {
  const Table table = people(20'000), rows = drawn(table, 1, 2);
  EXPECT_NEAR(static_cast<double>(rows.rows), 20'000, 300);
  EXPECT_NEAR(rows_with(rows, "Wien"), rows_with(table, "Wien"), 400);
  double old = 0, owners = 0;
  for (size_t i = 0; i < rows.columns[1].numbers.size(); ++i) {
    if (rows.columns[1].numbers[i] < 50) continue;
    ++old;
    const int32_t code = rows.columns[2].codes[i];
    owners += code >= 0 && rows.columns[2].values[static_cast<size_t>(code)] == "yes" ? 1 : 0;
  }
  EXPECT_GT(owners / old, .95);
}

TEST(PrivateFit, ModelIsAFunctionOfNoisyCounts) {
  Team team(2);
  const std::string model = Model::fit(people(800), private_fit(1, 4), team, {}).bytes();
  // other orders of rows and texts have the same counts
  EXPECT_EQ(model, Model::fit(people(800, 1), private_fit(1, 4), team, {}).bytes());
  // and so have values outside of what was declared, wherever they are
  Table outside = people(800), elsewhere = people(800);
  outside.columns[1].numbers[0] = 91, elsewhere.columns[1].numbers[0] = 1e9;
  outside.columns[0].values[0] = "Rom", elsewhere.columns[0].values[0] = "Paris";
  EXPECT_EQ(Model::fit(std::move(outside), private_fit(1, 4), team, {}).bytes(),
            Model::fit(std::move(elsewhere), private_fit(1, 4), team, {}).bytes());
  EXPECT_NE(model, Model::fit(people(800), private_fit(1, 5), team, {}).bytes());
}

TEST(PrivateFit, TextsOfFewRowsAreNotStored) {
  Table table = people(800);
  table.columns[2].values.push_back("a secret of one row");
  table.columns[2].codes[17] = 2;
  Team team(1);
  for (uint64_t seed = 1; seed < 6; ++seed)
    EXPECT_EQ(Model::fit(Table(table), private_fit(1, seed), team, {}).bytes().find("a secret"), std::string::npos);
}

TEST(PrivateFit, PlantedRowsProveNoMoreThanEpsilon) {
  constexpr int kRuns = 40;
  EXPECT_LE(epsilon_of_planted_rows(1, kRuns, 1), 1);
  EXPECT_GT(epsilon_of_planted_rows(8, kRuns, 60), 1);  // the attack finds what is there to find
}

TEST(PrivateFit, UndeclaredColumnsAreRefused) {
  const auto refuses = [&](const std::function<void(Column&)>& change, const std::string& said) {
    Table table = people(800);
    change(table.columns[1]);
    test::expect_error(ErrorCode::usage, {said, "\"age\""}, [&] { (void)drawn(table, 1, 1); });
  };
  refuses([](Column& c) { c.domain.clear(); }, "found in its rows");
  refuses([](Column& c) { c.domain = R"({"values": ["20"]})"; }, "holds numbers");
  refuses([](Column& c) { c.domain = R"({"min": 9, "max": 1})"; }, "above its \"max\"");
  refuses([](Column& c) { c.domain = R"({"min": "a", "max": 1})"; }, "\"min\" of \"a\"");
  refuses([](Column& c) { c.type = ColumnType::identifier; }, "private counts of its texts");
  EXPECT_THROW((void)drawn(people(30), .1, 1), Error);  // all noise
}

TEST(PrivateFit, RangesThatNobodyDeclaresArePaidFor) {
  Table table = people(5000);
  table.columns[1].domain = "{}";
  nlohmann::json ledger;
  const Table rows = drawn(table, 3, 1, &ledger);
  EXPECT_TRUE(std::any_of(ledger["mechanisms"].begin(), ledger["mechanisms"].end(),
                          [](const auto& m) { return m["mechanism"] == "magnitudes"; }));
  for (const double x : rows.columns[1].numbers) EXPECT_FALSE(x < 0 || x > 128) << x;
}

}  // namespace tessera::privacy
