// Orders whose later column has values of its own: they come back exactly as often, and the order holds in every row.
#include <nlohmann/json.hpp>

#include "rules/orders.h"
#include "tables/kinds/kind.h"
#include "tables/rules/kinds/bound.h"

namespace tessera::whole {
namespace {

constexpr double kOpen = 2932896;  // 9999-12-31

double from(int64_t i) { return 16500 + whole_between(i, 1, 0, 2900); }
double until(int64_t i) { return uniform(i, 2) < 0.55 ? kOpen : from(i) + whole_between(i, 3, 30, 900); }
const Column& column_of_days() {
  static const Column days = numbers("", ColumnType::date, {});
  return days;
}
double year_end(double day) {
  return time_function("end of year")->value(column_of_days(), day, kind_of(ColumnType::date).unit);
}

// Tariffs of which most are open; contracts that end on 31 December, or whenever; invoices due at the end of a month.
Table tariffs() {
  constexpr int64_t kRows = 1200;
  Column ends = dates_by("end", kRows, [](int64_t i) {
    const double end = from(i) + whole_between(i, 5, 100, 1500);
    return uniform(i, 6) < 0.05 ? kMissing : uniform(i, 4) < 0.7 ? year_end(end) : end;
  });
  return table(
      {dates_by("from", kRows, from), dates_by("until", kRows, until), ends, dates_by("due", kRows, [](int64_t i) {
         const double due = from(i) + whole_between(i, 7, 10, 80);
         return uniform(i, 8) < 0.6
                    ? time_function("end of month")->value(column_of_days(), due, kind_of(ColumnType::date).unit)
                    : due;
       })});
}

bool in_order(const Table& t, const char* lower, const char* upper) {
  const Column &a = column(t, lower), &b = column(t, upper);
  for (size_t i = 0; i < a.numbers.size(); ++i)
    if (b.numbers[i] < a.numbers[i]) return false;
  return true;
}

double share_of(const Table& t, const char* name, bool (*is)(double)) {
  double rows = 0, present = 0;
  for (const double x : column(t, name).numbers) present += x == x, rows += x == x && is(x);
  return rows / present;
}
bool ends_year(double x) { return year_end(x) == x; }
bool ends_month(double x) {
  return time_function("end of month")->value(column_of_days(), x, kind_of(ColumnType::date).unit) == x;
}

TEST(FixedValues, RoundTripExactly) {
  const Table real = tariffs();
  Table t = real;
  const Rules rules = reduced(t);
  EXPECT_NE(t.find("fixed until"), nullptr);
  EXPECT_NE(t.find("fixed end"), nullptr);
  expect_restored(Rules::from_json(rules.to_json()), t, real);
  expect_reduces_again(rules, real);
  Table filled = t;
  rules.fill(filled, 3);
  expect_restored(rules, filled, real);
}

TEST(FixedValues, AreAsFrequentInSamples) {
  const Table real = tariffs();
  const Model m = fit(real, quick_made(40));
  const Table rows = sample(m, 2000);
  for (const char* upper : {"until", "end", "due"}) EXPECT_TRUE(in_order(rows, "from", upper)) << upper;
  const auto open = [](double x) { return x > 30000; };
  EXPECT_EQ(share_of(rows, "until", open), share_of(rows, "until", [](double x) { return x == kOpen; }));
  EXPECT_NEAR(share_of(rows, "until", open), share_of(real, "until", open), 0.06);
  EXPECT_NEAR(share_of(rows, "end", ends_year), share_of(real, "end", ends_year), 0.06);
  EXPECT_NEAR(share_of(rows, "due", ends_month), share_of(real, "due", ends_month), 0.06);
  const auto missing = [](const Table& t) {
    return share(t, [&](int64_t i) { return column(t, "end").is_missing(i); });
  };
  EXPECT_NEAR(missing(rows), missing(real), 0.03);
  EXPECT_EQ(lines(sample(m, 100, {}, {500, 1})), [&] {
    const std::vector<std::string> all = lines(rows);
    return std::vector<std::string>(all.begin() + 500, all.begin() + 600);
  }());
}

// What distances explain is no fixed value: of few dates, each is frequent.
TEST(FixedValues, AreNotFoundByChance) {
  constexpr int64_t kRows = 1200;
  for (const uint32_t seed : {0u, 1u, 2u}) {
    const Table t =
        table({dates_by("sent", kRows, [&](int64_t i) { return 19000 + whole_between(i + 5000 * seed, 1, 0, 20); }),
               dates_by("got", kRows, [&](int64_t i) {
                 return 19000 + whole_between(i + 5000 * seed, 1, 0, 20) + whole_between(i + 5000 * seed, 2, 0, 9);
               })});
    Table left = t;
    reduced(left);
    EXPECT_EQ(left.find("fixed got"), nullptr) << seed;
  }
}

// A model file has those alone that as many rows hold as may be known.
TEST(FixedValues, AreOfManyRows) {
  Table t = tariffs();
  for (Column& c : t.columns)
    if (c.name == "until")
      for (size_t i = 0; i < 4; ++i) c.numbers[i] = 40000;
  Table left = t;
  EXPECT_EQ(reduced(left).to_json().dump().find("40000"), std::string::npos);
}

TEST(FixedValues, DistancesStayWithinLimits) {
  constexpr int64_t kRows = 1200;
  const auto mean = [](int64_t i) { return whole_between(i, 1, 20, 99); };
  const Table real = table({whole_by("mean", kRows, mean), whole_by("best", kRows, [&](int64_t i) {
                              return std::min(100.0, mean(i) + whole_between(i, 2, 0, 12));
                            })});
  Table t = real;
  const Rules rules = reduced(t);
  expect_restored(rules, t, real);
  for (Column& c : t.columns)
    if (c.name == "best")
      for (double& x : c.numbers) x = 70;
  Table above = t;
  rules.restore(t);
  EXPECT_TRUE(in_order(t, "mean", "best"));
  for (const double x : column(t, "best").numbers) EXPECT_LE(x, 100);
  above.columns[0].numbers[0] = 105;  // the order comes first
  rules.restore(above);
  EXPECT_EQ(column(above, "best").numbers[0], 105);
}

TEST(FixedValues, RejectDamagedFiles) {
  Table t = tariffs();
  const nlohmann::json good = reduced(t).to_json();
  size_t rule = 0;
  while (!good["found"][rule].contains("choice")) ++rule;
  expect_refused(good, rule, "days", nlohmann::json{"month"}, t);
  expect_refused(good, rule, "values", nlohmann::json{2, 1}, t);
  expect_refused(good, rule, "choice", "from", t);
  expect_refused(good, rule, "choice", "nowhere", t);
}

}  // namespace
}  // namespace tessera::whole
