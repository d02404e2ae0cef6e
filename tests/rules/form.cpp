// How rows write a column is part of what is learned: digits, wide grids and formats come back in their shares.
#include <nlohmann/json.hpp>
#include <set>

#include "rules/orders.h"

namespace tessera::whole {
namespace {

double cut(double x, int digits) { return std::nearbyint(x * std::pow(10, digits)) / std::pow(10, digits); }

// Prices with 0, 1, 2 and 4 decimals.
double mixed_digits(int64_t i) {
  const double u = uniform(i, 1), x = between(i, 2, 10, 300);
  return cut(x, u < 0.1 ? 0 : u < 0.3 ? 1 : u < 0.98 ? 2 : 4);
}
double five(int64_t i) { return uniform(i, 3) < 0.9 ? 5 * whole_between(i, 4, 0, 400) : whole_between(i, 4, 0, 2000); }
double midnight(int64_t i) {
  const double day = 86400 * whole_between(i, 5, 10000, 18000);
  return uniform(i, 6) < 0.9 ? day : day + cut(between(i, 7, 0, 86399), 6);
}
double ending(int64_t i) {
  const double u = uniform(i, 8);
  return u < 0.7   ? whole_between(i, 9, 1, 900) - 0.01
         : u < 0.9 ? whole_between(i, 9, 1, 900) - 0.05
                   : cut(between(i, 9, 1, 900), 2);
}
// Averages, of which some were cut at six digits and some at nine.
double third(int64_t i) {
  const double u = uniform(i, 20), x = whole_between(i, 21, 1, 900);
  return u < 0.5   ? x
         : u < 0.7 ? cut(x + 0.333333333, 9)
         : u < 0.9 ? cut(x + 0.333333, 6)
                   : cut(between(i, 21, 1, 900), 9);
}
// Asking prices: multiples of 1000, and those that end in 4,900 and 9,900.
double charm(int64_t i) {
  return uniform(i, 22) < 0.3 ? 5000 * whole_between(i, 23, 20, 200) - 100 : 1000 * whole_between(i, 23, 90, 1000);
}
// Measurements, some with the noise of floating point.
double noisy(int64_t i) { return uniform(i, 10) < 0.1 ? between(i, 11, 20, 80) : cut(between(i, 11, 20, 80), 3); }

struct FormCase {
  const char* what;
  ColumnType type;
  double (*value)(int64_t);
  int digits;
  const char* format;
  std::vector<double> steps;  // wider ones first; 0: none. Empty: no rule
};
const std::vector<FormCase> kForms{
    {"price", ColumnType::decimal, mixed_digits, 4, "", {1, 0.1, 0.01, 0.0001}},
    {"five", ColumnType::integer, five, 0, "", {5, 1}},
    {"midnight", ColumnType::datetime, midnight, 6, "%Y-%m-%d %H:%M:%S", {86400, 1e-6}},
    {"ending", ColumnType::decimal, ending, 2, "", {1, 1, 0.01}},
    {"third", ColumnType::decimal, third, 9, "", {1, 1, 1, 1e-9}},
    {"charm", ColumnType::integer, charm, 0, "", {5000, 1000}},
    {"noisy", ColumnType::decimal, noisy, 15, "%g", {0.001, 0}},
    {"uniform", ColumnType::decimal, [](int64_t i) { return cut(between(i, 12, 0, 1000), 2); }, 2, "", {}},
    {"skewed", ColumnType::decimal, [](int64_t i) { return cut(-30 * std::log(uniform(i, 13)), 2); }, 2, "", {}},
    {"count", ColumnType::integer, [](int64_t i) { return std::floor(-200 * std::log(uniform(i, 14))); }, 0, "", {}},
    {"real", ColumnType::decimal, [](int64_t i) { return uniform(i, 15); }, 15, "%g", {}},
    {"zeros",
     ColumnType::integer,
     [](int64_t i) { return uniform(i, 16) < 0.9 ? 0 : std::floor(between(i, 17, 1, 5000)); },
     0,
     "",
     {}},
    {"few",
     ColumnType::integer,
     [](int64_t i) { return 10 * std::floor(4 * uniform(i, 18)) + (uniform(i, 19) < .1); },
     0,
     "",
     {}}};

Table table_of(const FormCase& c, int64_t rows) {
  Table t = table({numbers_by(c.what, c.type, rows, c.value, c.digits),
                   texts_by("kind", rows, [](int64_t i) { return i % 3 == 0 ? "a" : "b"; })});
  t.columns[0].format = c.format;
  return t;
}

nlohmann::json form_in(const Rules& rules) {
  const nlohmann::json all = rules.to_json();
  for (const nlohmann::json& rule : all["found"])
    if (rule["kind"] == "form") return rule;
  return {};
}

double step_of(const nlohmann::json& level) {
  return level.contains("step") ? level["step"].get<double>() / std::pow(10, level["digits"].get<int>()) : 0;
}

TEST(FormRules, LevelsAreThoseOfTheTable) {
  for (const FormCase& c : kForms) {
    const nlohmann::json rule = form_in(found(table_of(c, 2000)));
    ASSERT_EQ(rule.is_null(), c.steps.empty()) << c.what << rule.dump();
    if (rule.is_null()) continue;
    std::vector<double> steps;
    double shares = 0;
    for (const nlohmann::json& level : rule["levels"])
      steps.push_back(step_of(level)), shares += level["share"].get<double>();
    EXPECT_EQ(steps, c.steps) << c.what;
    EXPECT_NEAR(shares, 1, 1e-9);
  }
}

TEST(FormRules, RestoreTheTable) {
  for (const FormCase& c : kForms) {
    const Table real = table_of(c, 500);
    Table learned = real;
    const Rules rules = reduced(learned);
    for (const Column& of_rule : learned.columns) {
      const std::set<std::string> names(of_rule.values.begin(), of_rule.values.end());
      EXPECT_EQ(names.size(), of_rule.values.size()) << c.what << ' ' << of_rule.name;
    }
    expect_restored(rules, learned, real);
    expect_reduces_again(rules, real);
    Table again = learned;
    Rules::from_json(rules.to_json()).restore(again);
    EXPECT_EQ(lines(again), lines(real)) << c.what;
  }
}

TEST(FormRules, NeedManyRowsPerLevel) {
  Table t =
      table({decimals_by("x", 1000, 4, [](int64_t i) { return cut(between(i, 1, 0, 90), i % 250 == 7 ? 4 : 2); })});
  EXPECT_TRUE(form_in(found(std::move(t))).is_null());
}

// Shares of the levels in sampled rows, of every method.
TEST(FormRules, SampledRowsAreWrittenAsOften) {
  std::vector<Column> columns;
  for (size_t k = 0; k < 4; ++k) columns.push_back(table_of(kForms[k], 1500).columns[0]);
  const Table real = table(std::move(columns));
  const auto shares = [](const Table& t) {
    std::vector<double> out;
    for (const int digits : {0, 1, 2})
      out.push_back(share(t, [&](int64_t i) {
        const double x = column(t, "price").numbers[static_cast<size_t>(i)];
        return cut(x, digits) == x;
      }));
    out.push_back(
        share(t, [&](int64_t i) { return std::fmod(column(t, "five").numbers[static_cast<size_t>(i)], 5) == 0; }));
    out.push_back(share(
        t, [&](int64_t i) { return std::fmod(column(t, "midnight").numbers[static_cast<size_t>(i)], 86400) == 0; }));
    return out;
  };
  const std::vector<double> wanted = shares(real);
  for (const FitOptions& options : {quick_made(30), quick(4), quick_tvae(4)}) {
    const std::vector<double> got = shares(sample(fit(Table(real), options), 2000));
    const double tolerance = options.method == "made" ? 0.05 : 0.4;  // of short fits
    for (size_t k = 0; k < wanted.size(); ++k) EXPECT_NEAR(got[k], wanted[k], tolerance) << options.method << ' ' << k;
  }
}

TEST(FormRules, SampledRowsAreOnTheGridsOfTheTable) {
  const auto charm_case = std::ranges::find_if(kForms, [](const FormCase& c) { return c.value == charm; });
  const Table rows = sample(fit(table_of(*charm_case, 1500), quick_made(20)), 1000);
  const auto value = [&](int64_t i) { return column(rows, "charm").numbers[static_cast<size_t>(i)]; };
  EXPECT_EQ(
      share(rows, [&](int64_t i) { return std::fmod(value(i), 1000) == 0 || std::fmod(value(i) + 100, 5000) == 0; }),
      1);
  EXPECT_NEAR(share(rows, [&](int64_t i) { return std::fmod(value(i), 1000) != 0; }), 0.3, 0.08);
}

// Prices of whole thousands, never below what was paid: the distance is not on their grid.
TEST(FormRules, AGridComesBackBesideAnOrder) {
  constexpr int64_t kRows = 1500;
  const auto asked = [](int64_t i) { return 1000 * whole_between(i, 1, 90, 900); };
  const auto paid = [=](int64_t i) {
    return 100 * std::floor(asked(i) * (1 - 0.2 * uniform(i, 2) * uniform(i, 3)) / 100);
  };
  const Table real = table({whole_by("asked", kRows, asked), whole_by("paid", kRows, paid)});
  Table t = real;
  const Rules rules = reduced(t);
  expect_among(said(rules), {"asked is a multiple of 1000", "asked >= paid"});
  EXPECT_EQ(rules.checked(), Texts{"asked >= paid"});
  expect_restored(rules, t, real);
  const Table rows = sample(fit(real, quick_made(10)), 500);
  const auto value = [&](const char* name, int64_t i) { return column(rows, name).numbers[static_cast<size_t>(i)]; };
  EXPECT_EQ(share(rows,
                  [&](int64_t i) {
                    return std::fmod(value("asked", i), 1000) == 0 && value("asked", i) >= value("paid", i);
                  }),
            1);
}

// Regions write times at their own offsets; one offset has too few rows to be told of.
TEST(FormRules, RowsKeepTheOffsetsOfTheirRegion) {
  constexpr int64_t kRows = 1000;
  const std::vector<std::string> regions{"EU", "UK", "IN"}, offsets{"+01:00", "+00:00", "+05:30", "-09:30"};
  const auto region = [](int64_t i) { return static_cast<size_t>(3 * uniform(i, 1)); };
  Table real = table({texts_by("region", kRows, [&](int64_t i) { return regions[region(i)]; }),
                      times_by("at", kRows, [](int64_t i) { return 1.6e9 + std::floor(1e7 * uniform(i, 2)); })});
  for (const std::string& offset : offsets) real.columns[1].values.push_back("%Y-%m-%dT%H:%M:%S" + offset);
  for (int64_t i = 0; i < kRows; ++i) real.columns[1].codes.push_back(i < 3 ? 3 : static_cast<int32_t>(region(i)));
  for (const bool find : {true, false}) {
    FitOptions options = quick_made(find ? 20 : 1);
    options.rules.find = find;
    const Model m = fit(Table(real), options);
    Team team(1);
    const Monitor monitor;
    Table rows;
    ASSERT_TRUE(m.sample(0, 1000, {}, team, monitor)->next(rows));
    const Column& at = column(rows, "at");
    ASSERT_EQ(at.codes.size(), at.numbers.size());
    const double right = share(rows, [&](int64_t i) {
      const std::string& format = at.values[static_cast<size_t>(at.codes[static_cast<size_t>(i)])];
      EXPECT_FALSE(format.ends_with("-09:30"));
      for (size_t r = 0; r < 3; ++r)
        if (cell(column(rows, "region"), i) == regions[r]) return format.ends_with(offsets[r]);
      return false;
    });
    EXPECT_TRUE(!find || right > 0.99) << right;
  }
}

// Results of four tests, each with decimals of its own.
double result(int64_t i) {
  switch (i % 4) {
    case 0: return std::nearbyint(between(i, 30, 130, 150));
    case 1: return cut(between(i, 30, 3, 6), 1);
    case 2: return cut(between(i, 30, 0.3, 5), 3);
    default: return 10 * std::nearbyint(between(i, 30, 10, 45));
  }
}
const std::vector<std::string> kTests{"sodium", "potassium", "TSH", "platelets"};
Table laboratory(int64_t rows) {
  return table({texts_by("test", rows, [](int64_t i) { return kTests[static_cast<size_t>(i % 4)]; }),
                decimals_by("result", rows, 3, result)});
}

TEST(DigitsRules, ATestDecidesTheDecimals) {
  const Table real = laboratory(2000);
  Table t = real;
  const Rules rules = reduced(t);
  ASSERT_EQ(said(rules), Texts{"decimals of result follow from test"});
  const Rules read = Rules::from_json(rules.to_json());
  EXPECT_EQ(read.to_json(), rules.to_json());
  expect_restored(read, t, real);
  expect_reduces_again(read, real);
  Table broken = real;
  broken.columns[1].numbers[4] += 0.5;
  const std::vector<char> found_broken = rules.found().front().rule->broken(broken, broken);
  EXPECT_EQ(std::ranges::count(found_broken, 1), 1);
  EXPECT_EQ(found_broken[4], 1);
  const Table rows = sample(fit(real, quick_made(10)), 1000);
  EXPECT_EQ(share(rows,
                  [&](int64_t i) {
                    const double x = column(rows, "result").numbers[static_cast<size_t>(i)];
                    const std::string test = cell(column(rows, "test"), i);
                    return test == "platelets" ? std::fmod(x, 10) == 0
                                               : cut(x, test == "sodium" ? 0
                                                        : test == "TSH"  ? 3
                                                                         : 1) == x;
                  }),
            1);
}

TEST(DigitsRules, NeedATestThatDecidesThem) {
  Table odd = laboratory(2000);
  for (size_t i = 0; i < 2000; i += 41) odd.columns[1].numbers[i] += 0.123;
  for (const std::string& rule : said(found(std::move(odd)))) EXPECT_EQ(rule.find("decimals of"), std::string::npos);
  // mostly whole, whatever the category is
  const auto mostly = [](int64_t i) { return cut(between(i, 31, 1, 500), uniform(i, 32) < 0.8 ? 0 : 2); };
  for (const std::string& rule :
       said(found(table({texts_by("kind", 2000, [](int64_t i) { return "k" + std::to_string(i % 40); }),
                         decimals_by("price", 2000, 2, mostly)}))))
    EXPECT_EQ(rule.find("decimals of"), std::string::npos) << rule;
}

// Texts with as many zeros as the test has decimals: rows have their own formats.
TEST(DigitsRules, RowsAreWrittenWithTheDecimalsOfTheirTest) {
  const std::vector<std::string> formats{"0", "0.0", "0.000"};
  Table real = laboratory(2000);
  Column& c = real.columns[1];
  c.values = formats;
  for (size_t i = 0; i < 2000; ++i) c.codes.push_back(i % 4 == 3 ? 0 : static_cast<int32_t>(i % 4));
  const auto written = [&](const Table& t, int64_t i) {
    const Column& of = column(t, "result");
    return of.values[static_cast<size_t>(of.codes[static_cast<size_t>(i)])];
  };
  for (const bool find : {true, false}) {
    FitOptions options = quick_made(find ? 10 : 1);
    options.rules.find = find;
    const Model m = fit(Table(real), options);
    Team team(1);
    const Monitor monitor;
    Table rows;
    ASSERT_TRUE(m.sample(0, 500, {}, team, monitor)->next(rows));
    if (!find) {
      EXPECT_TRUE(column(rows, "result").values.empty());
      continue;
    }
    EXPECT_EQ(share(rows,
                    [&](int64_t i) {
                      const std::string test = cell(column(rows, "test"), i);
                      return written(rows, i) == formats[test == "TSH" ? 2 : test == "potassium" ? 1 : 0];
                    }),
              1);
  }
}

TEST(DigitsRules, RejectDamagedFiles) {
  Table learned = laboratory(1000);
  const nlohmann::json good = reduced(learned).to_json();
  expect_refused(good, 0, "column", "test", learned);
  expect_refused(good, 0, "by", "result", learned);
  expect_refused(good, 0, "digits", {0, 1}, learned);
  expect_refused(good, 0, "digits", {0, 1, 99, 3}, learned);
}

TEST(FormRules, RejectDamagedFiles) {
  Table learned = table_of(kForms[0], 500);
  const nlohmann::json good = reduced(learned).to_json();
  expect_refused(good, 0, "column", "kind", learned);
  expect_refused(good, 0, "levels", nullptr, learned);
  expect_refused(good, 0, "low", "x", learned);
  expect_refused(good, 0, "levels", nlohmann::json::array({{{"step", 0}, {"first", 0}, {"digits", 0}, {"share", .5}}}),
                 learned);
}

}  // namespace
}  // namespace tessera::whole
