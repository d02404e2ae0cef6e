// Columns that combinations of two others decide, value by value.
#include "tables/rules/kinds/lookup.h"

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "rules/orders.h"

namespace tessera::whole {
namespace {

int origin(int64_t i) { return static_cast<int>(12 * uniform(i, 1)); }
int goal(int64_t i) { return static_cast<int>(15 * uniform(i, 2) * uniform(i, 3)); }
double miles(int from, int to) { return 100 + std::floor(4000 * uniform(100 * from + to, 9)); }
std::string airport(const char* of, int64_t at) { return of + std::to_string(at); }

// The distance follows from both ends, and the carrier from origin and year; delays follow from nothing.
Table flights(int64_t rows = 3000) {
  const auto year = [](int64_t i) { return 2015 + whole_between(i, 4, 0, 7); };
  return table({texts_by("origin", rows, [](int64_t i) { return airport("O", origin(i)); }),
                texts_by("goal", rows, [](int64_t i) { return airport("G", goal(i)); }), whole_by("year", rows, year),
                whole_by("miles", rows, [](int64_t i) { return miles(origin(i), goal(i)); }),
                texts_by("carrier", rows,
                         [=](int64_t i) {
                           return airport("C", static_cast<int64_t>(
                                                   5 * uniform(static_cast<int64_t>(year(i)) * 100 + origin(i), 8)));
                         }),
                whole_by("delay", rows, [](int64_t i) { return whole_between(i, 6, 0, 40); })});
}

const Texts kRulesOfFlights{"carrier follows from origin and year", "miles follows from origin and goal"};

TEST(LookupRules, AreFound) { EXPECT_EQ(said(found(flights())), kRulesOfFlights); }

TEST(LookupRules, RoundTripWithMissingCells) {
  Table real = flights();
  for (Column& c : real.columns) {
    if (c.name == "miles") c.numbers[5] = kMissing;
    if (c.name == "origin") c.codes[6] = -1;
  }
  Table t = real;
  const Rules rules = reduced(t);
  ASSERT_EQ(said(rules), kRulesOfFlights);
  const Rules read = Rules::from_json(rules.to_json());
  EXPECT_EQ(read.to_json(), rules.to_json());
  expect_restored(read, std::move(t), real);
  expect_reduces_again(rules, real);
}

TEST(LookupRules, AreDroppedAfterOneViolation) {
  Table t = flights();
  for (Column& c : t.columns) {
    if (c.name == "miles") c.numbers[7] += 1;
    if (c.name == "carrier") c.codes[8] = c.codes[8] == 0 ? 1 : 0;
  }
  for (const std::string& rule : said(found(t))) EXPECT_EQ(std::ranges::count(kRulesOfFlights, rule), 0) << rule;
}

// Where distances name both ends, the column with more values is the one that follows, wherever it stands.
TEST(LookupRules, GiveTheColumnOfMoreValues) {
  Table t = flights();
  std::swap(t.columns[0], t.columns[3]);
  EXPECT_EQ(said(found(t)), (Texts{"carrier follows from year and origin", "miles follows from goal and origin"}));
}

// A value of a combination of four rows is not stored: such rows keep what is drawn for them.
TEST(LookupRules, OmitCombinationsOfFewRows) {
  Table t = flights();
  Column& from = t.columns[0];
  from.values.push_back("O-rare");
  for (const size_t row : {11, 12, 13, 14}) {
    from.codes[row] = static_cast<int32_t>(from.values.size()) - 1;
    t.columns[3].numbers[row] = 7913;
    t.columns[1].codes[row] = t.columns[1].codes[11], t.columns[2].numbers[row] = 2018;
    t.columns[4].codes[row] = t.columns[4].codes[11];
  }
  const Rules rules = reduced(t);
  ASSERT_EQ(said(rules), kRulesOfFlights);
  EXPECT_EQ(rules.to_json().dump().find("O-rare"), std::string::npos);
  EXPECT_EQ(rules.to_json().dump().find("7913"), std::string::npos);
  rules.restore(t);
  EXPECT_EQ(column(t, "miles").numbers[11], 7913) << "as learned";
}

TEST(LookupRules, AreKeptBySampledRows) {
  const Table real = flights();
  const auto by_ends = [](const Table& rows) {
    std::map<std::string, std::set<double>> out;
    for (int64_t i = 0; i < rows.rows; ++i)
      out[cell(column(rows, "origin"), i) + cell(column(rows, "goal"), i)].insert(
          column(rows, "miles").numbers[static_cast<size_t>(i)]);
    return out;
  };
  std::map<std::string, int64_t> often;
  for (int64_t i = 0; i < real.rows; ++i) ++often[airport("O", origin(i)) + airport("G", goal(i))];
  std::map<std::string, std::set<double>> known = by_ends(real);
  int64_t listed = 0;
  for (const auto& [ends, distances] : by_ends(sample(fit(real, quick_made(2)), 1000)))
    if (often[ends] >= 5) {
      EXPECT_EQ(distances, known[ends]) << ends;
      ++listed;
    }
  EXPECT_GT(listed, 60);
}

// A column that one of the others decides alone follows from it, whatever is beside it.
TEST(LookupRules, NeedBothColumns) {
  constexpr int64_t kRows = 3000;
  const auto one = [](int64_t i) { return static_cast<int>(9 * uniform(i, 1)); };
  const Table t = table({texts_by("city", kRows, [=](int64_t i) { return airport("city", one(i)); }),
                         whole_by("floor", kRows, [](int64_t i) { return whole_between(i, 2, 0, 9); }),
                         texts_by("country", kRows, [=](int64_t i) { return airport("land", one(i) % 3); })});
  EXPECT_EQ(said(found(t)), Texts{"city and country occur in fixed combinations"});
}

// The order of a looked-up number with another column is checked; so is that of a number in a fixed combination.
TEST(LookupRules, KeepOrders) {
  constexpr int64_t kRows = 3000;
  const auto level = [](int64_t i) { return static_cast<int>(5 * uniform(i, 1)); };
  const auto region = [](int64_t i) { return static_cast<int>(7 * uniform(i, 2)); };
  const auto limit = [=](int64_t i) { return 20 + 10 * std::floor(6 * uniform(10 * level(i) + region(i), 9)); };
  const Table real = table({texts_by("level", kRows, [=](int64_t i) { return airport("L", level(i)); }),
                            texts_by("region", kRows, [=](int64_t i) { return airport("R", region(i)); }),
                            whole_by("limit", kRows, limit),
                            whole_by("used", kRows, [=](int64_t i) { return std::floor(limit(i) * uniform(i, 3)); })});
  Table t = real;
  const Rules rules = reduced(t);
  EXPECT_EQ(said(rules), (Texts{"limit >= used", "limit follows from level and region"}));
  const Table rows = sample(fit(real, quick_made(2)), 1000);
  EXPECT_EQ(share(rows,
                  [&](int64_t i) {
                    const auto at = static_cast<size_t>(i);
                    return column(rows, "limit").numbers[at] >= column(rows, "used").numbers[at];
                  }),
            1);
}

// More dates than combinations may have of a number: each day has its rate.
TEST(LookupRules, CoverNumbersOfManyValues) {
  constexpr int64_t kMany = 20'000;
  const auto day = [](int64_t i) { return 18000 + whole_between(i, 1, 0, 1799); };
  const Table t = table(
      {dates_by("day", kMany, day),
       decimals_by("rate", kMany, 2, [=](int64_t i) { return cents(1 + uniform(static_cast<int64_t>(day(i)), 7)); }),
       whole_by("amount", kMany, [](int64_t i) { return whole_between(i, 2, 1, 400); })});
  const Texts rules = said(found(t));
  EXPECT_NE(std::ranges::find(rules, "rate follows from day"), rules.end()) << rules.size();
}

}  // namespace
}  // namespace tessera::whole
