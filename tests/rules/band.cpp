// Columns that a number decides by the band it lies in.
#include "tables/rules/kinds/band.h"

#include <chrono>
#include <nlohmann/json.hpp>

#include "rules/orders.h"

namespace tessera::whole {
namespace {

double age(int64_t i) { return 18 + std::floor(70 * uniform(i, 1)); }
std::string group(int64_t i) { return age(i) < 30 ? "young" : age(i) < 65 ? "middle" : "old"; }
double score(int64_t i) { return std::floor(1000 * uniform(i, 2)) / 10; }
double day(int64_t i) { return 18993 + std::floor(1500 * uniform(i, 3)); }  // from 2022-01-01 on
double year(int64_t i) {
  return day(i) < 19358 ? 2022 : day(i) < 19723 ? 2023 : day(i) < 20089 ? 2024 : 2025 + (day(i) >= 20454);
}

Table people(int64_t rows) {
  return table({whole_by("age", rows, age), texts_by("group", rows, group), decimals_by("score", rows, 1, score),
                texts_by("passed", ColumnType::boolean, rows, [](int64_t i) { return score(i) > 40 ? "yes" : "no"; }),
                dates_by("day", rows, day), whole_by("year", rows, year),
                texts_by("colour", rows, [](int64_t i) { return uniform(i, 4) < 0.4 ? "red" : "blue"; })});
}

const Texts kRulesOfPeople{"group follows from age, cut at 30, 65", "passed follows from score, cut after 40",
                           "year is the year of day"};

TEST(BandRules, AreFound) { EXPECT_EQ(said(found(people(3000))), kRulesOfPeople); }

TEST(BandRules, CoverPartsOfDates) {
  constexpr int64_t kRows = 4000;
  const auto second = [](int64_t i) { return 86400 * day(i) + std::floor(86400 * uniform(i, 5)); };
  const auto month = [](int64_t i) {
    using namespace std::chrono;
    return static_cast<double>(static_cast<unsigned>(year_month_day{sys_days{days{static_cast<int>(day(i))}}}.month()));
  };
  const auto weekday = [](int64_t i) { return std::fmod(day(i) + 3, 7); };  // 1970-01-01 was a Thursday
  const auto hour = [=](int64_t i) { return std::floor(std::fmod(second(i), 86400) / 3600); };
  const std::vector<std::string> names{"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"};
  const Table real = table(
      {times_by("at", kRows, second), whole_by("month", kRows, month),
       texts_by("season", kRows,
                [=](int64_t i) { return std::fmod(month(i), 12) < 3 ? "winter"
                                        : month(i) < 9              ? "warm"
                                                                    : "autumn"; }),
       texts_by("weekday", kRows, [=](int64_t i) { return names[static_cast<size_t>(weekday(i))]; }),
       texts_by("weekend", ColumnType::boolean, kRows, [=](int64_t i) { return weekday(i) > 4 ? "yes" : "no"; }),
       decimals_by("fee", kRows, 2, [=](int64_t i) { return hour(i) >= 20 || hour(i) < 6 ? 2.5 : 0; })});
  Table t = real;
  const Rules rules = reduced(t);
  EXPECT_EQ(said(rules), (Texts{"fee follows from the hour of at, cut at 6, 20", "month is the month of at",
                                "season follows from month, cut at 3, 9, 12",
                                "weekday follows from the weekday of at, cut at 2, 3, 4, 5, 6, 7",
                                "weekend follows from the weekday of at, cut at 6"}));
  expect_restored(Rules::from_json(rules.to_json()), std::move(t), real);
}

// A mark by points that are a sum in all rows but those at their limit.
TEST(BandRules, OfANumberThatIsUsuallyASum) {
  constexpr int64_t kRows = 1800;
  const auto test = [](int64_t i) { return std::floor(1000 * uniform(i, 1)) / 10; };
  const auto extra = [](int64_t i) { return uniform(i, 2) < 0.8 ? 0.0 : 2; };
  const auto points = [=](int64_t i) { return std::min(100.0, std::nearbyint(10 * (test(i) + extra(i))) / 10); };
  const Table real = table({decimals_by("test", kRows, 1, test), whole_by("extra", kRows, extra),
                            decimals_by("points", kRows, 1, points), texts_by("mark", kRows, [=](int64_t i) {
                              return points(i) >= 80 ? "A" : points(i) >= 50 ? "B" : "F";
                            })});
  Table t = real;
  const Rules rules = reduced(t);
  expect_among(said(rules), {"mark follows from points, cut at 50, 80"});
  expect_restored(Rules::from_json(rules.to_json()), std::move(t), real);
}

// Within hours of a promise that is a column, on a day that is one, above a limit.
TEST(BandRules, CompareTwoColumns) {
  constexpr int64_t kRows = 2500;
  const auto minutes = [](int64_t i) { return 1 + std::floor(3000 * std::pow(uniform(i, 1), 2)); };
  const auto hours = [](int64_t i) { return std::vector<double>{1, 4, 8, 24}[static_cast<size_t>(4 * uniform(i, 2))]; };
  const auto come = [](int64_t i) {
    return uniform(i, 8) < 0.1 ? kMissing : 86400 * day(i) + std::floor(86400 * uniform(i, 4));
  };
  const auto promised = [](int64_t i) { return day(i) + std::floor(5 * uniform(i, 5)) - 2; };
  const auto measured = [](int64_t i) { return std::floor(1000 * uniform(i, 6)) / 10; };
  const auto limit = [](int64_t i) { return 20 + 10 * std::floor(5 * uniform(i, 7)); };
  const auto flag = [=](const char* name, auto&& is) {
    return texts_by(name, ColumnType::boolean, kRows, [=](int64_t i) { return is(i) ? "yes" : "no"; });
  };
  const Table real =
      table({whole_by("minutes", kRows, minutes), whole_by("hours", kRows, hours),
             texts_by("reply", kRows, [=](int64_t i) { return minutes(i) < 60 * hours(i) ? "met" : "late"; }),
             times_by("come", kRows, come), dates_by("promised", kRows, promised),
             texts_by("kept", ColumnType::boolean, kRows,
                      [=](int64_t i) {
                        return come(i) != come(i) ? "" : std::floor(come(i) / 86400) <= promised(i) ? "yes" : "no";
                      }),
             decimals_by("measured", kRows, 1, measured), whole_by("limit", kRows, limit),
             flag("above", [=](int64_t i) { return measured(i) > limit(i); })});
  Table t = real;
  const Rules rules = reduced(t);
  expect_among(said(rules),
               {"reply follows from minutes / hours, cut at 60", "kept follows from come - promised, cut at 1",
                "above follows from measured - limit, cut after 0"});
  for (const char* name : {"reply", "kept", "above"}) EXPECT_EQ(t.find(name), nullptr) << name;
  const nlohmann::json stored = rules.to_json();
  expect_restored(Rules::from_json(stored), t, real);
  expect_reduces_again(rules, real);
  for (size_t k = 0; k < stored["found"].size(); ++k)
    if (stored["found"][k].contains("beside")) {
      expect_refused(stored, k, "beside", "nothing", t);
      expect_refused(stored, k, "beside", "reply", t);
    }
  Table broken = real;
  for (const size_t c : {2, 5, 8}) broken.columns[c].codes[7] = 1 - broken.columns[c].codes[7];
  for (const std::string& rule : said(found(broken))) EXPECT_EQ(rule.find("cut"), std::string::npos) << rule;
}

// A check passes within a tolerance in both directions.
TEST(BandRules, CompareTheSizeOfANumber) {
  constexpr int64_t kRows = 2500;
  const auto error = [](int64_t i) { return std::nearbyint(1000 * (uniform(i, 1) + uniform(i, 2) - 1)) / 1000; };
  const auto tolerance = [](int64_t i) {
    return std::vector<double>{0.2, 0.5, 0.7}[static_cast<size_t>(3 * uniform(i, 3))];
  };
  const Table real = table(
      {decimals_by("error", kRows, 3, error), decimals_by("tolerance", kRows, 1, tolerance),
       texts_by("result", kRows, [=](int64_t i) { return std::abs(error(i)) <= tolerance(i) ? "PASS" : "FAIL"; })});
  Table t = real;
  const Rules rules = reduced(t);
  EXPECT_EQ(said(rules), Texts{"result follows from |error| - tolerance, cut after 0"});
  const nlohmann::json stored = rules.to_json();
  expect_restored(Rules::from_json(stored), t, real);
  expect_reduces_again(rules, real);
  expect_refused(stored, 0, "beside", nullptr, t);
  Table broken = real;
  broken.columns[2].codes[7] = 1 - broken.columns[2].codes[7];
  EXPECT_EQ(said(found(broken)), Texts{});
}

// A country has one currency, and so have ranges of the rate of exchange: the country says more.
TEST(BandRules, LeaveCombinationsAlone) {
  constexpr int64_t kRows = 2500;
  const auto country = [](int64_t i) { return static_cast<size_t>(5 * uniform(i, 1)); };
  const auto money = [=](int64_t i) { return std::vector<size_t>{0, 0, 0, 1, 2}[country(i)]; };
  const auto rate = [=](int64_t i) {
    return money(i) == 0 ? 1 : 0.8 + 0.3 * static_cast<double>(money(i) - 1) + std::floor(40 * uniform(i, 2)) / 1000;
  };
  EXPECT_EQ(said(found(table({texts_by("country", kRows, [=](int64_t i) { return "c" + std::to_string(country(i)); }),
                              texts_by("money", kRows,
                                       [=](int64_t i) {
                                         return Texts{"EUR", "GBP", "USD"}[money(i)];
                                       }),
                              decimals_by("rate", kRows, 3, rate)}))),
            Texts{"country and money occur in fixed combinations"});
}

TEST(BandRules, AreDroppedAfterOneViolation) {
  Table t = people(3000);
  for (Column& c : t.columns) {
    if (c.name == "age") c.numbers[11] = group(11) == "young" ? 40 : 20;
    if (c.name == "score") c.numbers[12] = score(12) > 40 ? 39 : 41;
    if (c.name == "year") c.numbers[13] += 1;
  }
  EXPECT_EQ(said(found(t)), Texts{});
}

// A cut stays where it is without the rows next to it, and no band has a value of fewer rows than may be known.
TEST(BandRules, CutsNeedManyRows) {
  const Table all = people(3000);
  Table t = all;
  const auto without_rows = [&](double low, double high) {
    std::vector<int64_t> kept;
    for (int64_t i = 0; i < all.rows; ++i)
      if (score(i) < low || score(i) > high) kept.push_back(i);
    return table({decimals_by("score", static_cast<int64_t>(kept.size()), 1,
                              [&](int64_t i) { return score(kept[static_cast<size_t>(i)]); }),
                  texts_by("passed", ColumnType::boolean, static_cast<int64_t>(kept.size()),
                           [&](int64_t i) { return score(kept[static_cast<size_t>(i)]) > 40 ? "yes" : "no"; })});
  };
  EXPECT_EQ(said(found(without_rows(39.8, 40.2))), Texts{"passed follows from score, cut at 40"});
  // a lone row between 45.3 and 40 would move the cut to where it is
  Table lone = without_rows(35, 45);
  lone.columns[0].numbers[0] = 41.3, lone.columns[1].codes[0] = lone.columns[1].codes[1];
  for (size_t i = 0; i < lone.columns[1].values.size(); ++i)
    if (lone.columns[1].values[i] == "no") lone.columns[1].codes[0] = static_cast<int32_t>(i);
  EXPECT_EQ(said(found(lone)), Texts{});
  // four rows of a band of their own
  int changed = 0;
  for (Column& c : t.columns)
    if (c.name == "passed")
      for (size_t i = 0; i < static_cast<size_t>(t.rows); ++i)
        if (score(static_cast<int64_t>(i)) > 99.8 && changed++ < 4) c.codes[i] = 1 - c.codes[i];
  for (const std::string& rule : said(found(t))) EXPECT_NE(rule.substr(0, 6), "passed") << rule;
}

TEST(BandRules, RoundTrip) {
  Table real = people(1500);
  for (const int64_t row : {3, 700})
    for (Column& c : real.columns) {
      if (c.name == "age") c.numbers[static_cast<size_t>(row)] = kMissing;
      if (c.name == "group") c.codes[static_cast<size_t>(row)] = -1;
    }
  Table t = real;
  const Rules rules = reduced(t);
  ASSERT_EQ(said(rules), kRulesOfPeople);
  EXPECT_EQ(t.columns.size(), real.columns.size() - 3);
  const Rules read = Rules::from_json(rules.to_json());
  EXPECT_EQ(read.to_json(), rules.to_json());
  expect_restored(read, std::move(t), real);
  expect_reduces_again(rules, real);
}

TEST(BandRules, AreKeptBySampledRows) {
  for (const FitOptions& options : {quick_made(2), quick_tvae(2)}) {
    const Model m = fit(people(1200), options);
    for (const char* where : {"", "group = 'old' and year = 2023"}) {
      SampleOptions o;
      o.where = where;
      const Table rows = sample(m, 500, o);
      const auto number = [&](const char* name, int64_t i) {
        return column(rows, name).numbers[static_cast<size_t>(i)];
      };
      EXPECT_EQ(share(rows,
                      [&](int64_t i) {
                        const double a = number("age", i);
                        return cell(column(rows, "group"), i) == (a < 30   ? "young"
                                                                  : a < 65 ? "middle"
                                                                           : "old") &&
                               cell(column(rows, "passed"), i) == (number("score", i) > 40 ? "yes" : "no");
                      }),
                1)
          << options.method << where;
      if (*where == 0) continue;
      EXPECT_EQ(share(rows,
                      [&](int64_t i) {
                        return number("age", i) >= 65 && number("day", i) >= 19358 && number("day", i) < 19723;
                      }),
                1)
          << options.method;
    }
  }
}

TEST(BandRules, RejectDamagedFiles) {
  Table t = people(1500);
  const nlohmann::json good = reduced(t).to_json();
  for (size_t k = 0; k < good["found"].size(); ++k) {
    if (good["found"][k]["kind"] != "bands") continue;
    const auto refused = [&](const std::string& key, const nlohmann::json& value) {
      expect_refused(good, k, key, value, t);
    };
    refused("cuts", {3, 2, 1});
    refused("cuts", nlohmann::json::array());
    refused("values", {"one"});
    refused("part", "fortnight");
    if (good["found"][k]["column"]["name"] != "year") refused("part", "month");
    refused("of", {{"name", "colour"}, {"type", "category"}, {"format", ""}, {"decimals", 0}});
    refused("of", {{"name", "elsewhere"}, {"type", "integer"}, {"format", ""}, {"decimals", 0}});
    if (good["found"][k]["column"]["name"] == "year") refused("values", {"2022", "2023", "2024", "2025", "soon"});
  }
}

}  // namespace
}  // namespace tessera::whole
