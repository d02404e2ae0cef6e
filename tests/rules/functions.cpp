// Columns that functions of dates and times give: one table of the functions' values, and the rules that name them.
#include "tables/rules/rule/functions.h"

#include <nlohmann/json.hpp>

#include "rules/orders.h"
#include "tables/expression/arithmetic.h"
#include "tables/formats/moments.h"
#include "tables/kinds/kind.h"

namespace tessera::whole {
namespace {

Column head(ColumnType type, const std::string& format = "") {
  Column c;
  c.type = type, c.format = format;
  return c;
}
const Column kDate = head(ColumnType::date, "%Y-%m-%d"), kTime = head(ColumnType::datetime, "%Y-%m-%d %H:%M:%S");

const Column kClock = head(ColumnType::integer, "%H:%M:%S");

double read(const std::string& text) {
  double x = 0;
  if (!(text.size() > 10 ? read_datetime(text, kTime.format, x) : read_date(text, kDate.format, x)))
    ADD_FAILURE() << text;
  return x;
}

struct FunctionCase {
  const char *function, *of, *is;  // a number, a date or a time
  const char* to = "";             // of functions of two
};
const FunctionCase kFunctionValues[] = {
    {"date", "2024-02-29 17:05:09", "2024-02-29"},
    {"second", "2024-02-29 17:05:09", "2024-02-29 17:05:09"},
    {"minutes", "2024-02-29 17:05:09", "2024-02-29 17:05:00"},
    {"5 minutes", "2024-02-29 17:09:59", "2024-02-29 17:05:00"},
    {"10 minutes", "2024-02-29 17:19:59", "2024-02-29 17:10:00"},
    {"15 minutes", "2024-02-29 17:44:09", "2024-02-29 17:30:00"},
    {"30 minutes", "2024-02-29 17:31:09", "2024-02-29 17:30:00"},
    {"hours", "1969-12-31 23:59:59", "1969-12-31 23:00:00"},
    {"start of week", "2024-03-03", "2024-02-26"},
    {"start of week on Sunday", "2024-03-02", "2024-02-25"},
    {"end of week", "2024-02-26", "2024-03-03"},
    {"end of week on Saturday", "2024-03-03", "2024-03-09"},
    {"end of week on Friday", "2024-02-26", "2024-03-01"},
    {"start of month", "2024-02-29", "2024-02-01"},
    {"end of month", "2024-02-03", "2024-02-29"},
    {"start of next month", "2023-12-31", "2024-01-01"},
    {"start of quarter", "2024-12-31", "2024-10-01"},
    {"end of quarter", "2024-10-01", "2024-12-31"},
    {"start of year", "2024-12-31", "2024-01-01"},
    {"end of year", "2024-01-01", "2024-12-31"},
    {"date and clock to the second", "2024-02-09 17:05:09", "20240209170509"},
    {"date and clock", "2024-02-09 17:05:00", "202402091705"},
    {"seconds since 1970", "2001-09-09 01:46:40", "1000000000"},
    {"milliseconds since 1970", "2001-09-09 01:46:40", "1000000000000"},
    {"year, month and day", "2024-02-09", "20240209"},
    {"year and month", "2024-02-09", "202402"},
    {"year and week", "2024-12-30", "202501"},
    {"year and quarter", "2024-12-30", "20244"},
    {"quarter and year", "2024-12-30", "42024"},
    {"week and year", "2024-12-30", "12025"},
    {"year and day", "2024-12-31", "2024366"},
    {"year", "2024-12-30", "2024"},
    {"year of two digits", "2004-12-30", "4"},
    {"year of week", "2024-12-30", "2025"},
    {"quarter", "2024-07-01", "3"},
    {"month", "2024-07-01", "7"},
    {"day", "2024-07-31", "31"},
    {"weekday", "2024-03-03", "7"},
    {"weekday from 0", "2024-03-03", "6"},
    {"weekday from Sunday", "2024-03-03", "1"},
    {"weekday from Sunday, 0", "2024-03-02", "6"},
    {"week", "2021-01-03", "53"},
    {"week from Sunday", "2024-01-07", "1"},
    {"week from Monday", "2024-01-07", "1"},
    {"week from 1 January", "2024-01-08", "2"},
    {"day of year", "2024-12-31", "366"},
    {"whole time", "2024-02-29 01:00:09", "3609"},
    {"time in minutes", "2024-02-29 01:00:09", "3600"},
    {"clock", "2024-02-29 17:05:09", "1705"},
    {"clock to the second", "2024-02-29 17:05:09", "170509"},
    {"minute of day", "2024-02-29 01:05:09", "65"},
    {"hour", "2024-02-29 17:05:09", "17"},
    {"hour of twelve", "2024-02-29 00:05:09", "12"},
    {"minute", "2024-02-29 17:05:09", "5"},
    {"time", "2024-02-29 01:00:09", "3609"},
    {"month and day", "2024-12-21", "1221"},
    {"second of minute", "2024-02-29 17:05:09", "9"},
    {"years between", "2000-02-29", "20", "2021-02-28"},
    {"years of 365.25 days between", "2000-01-01", "20", "2020-12-31"},
    {"years of 365 days between", "2000-01-01", "21", "2020-12-28"},
    {"calendar years between", "2000-12-31", "1", "2001-01-01"},
    {"months between", "2000-01-31", "0", "2000-02-29"},
    {"calendar months between", "2000-01-31", "1", "2000-02-01"},
    {"weeks between", "2000-01-01", "1", "2000-01-14"},
    {"days between", "2000-01-01 12:00:00", "0", "2000-01-02 11:59:59"},
    {"calendar days between", "2000-01-01 12:00:00", "1", "2000-01-02 11:59:59"},
    {"days of both between", "2000-01-01", "3", "2000-01-03"},
    {"hours between", "2000-01-01 12:00:00", "23", "2000-01-02 11:59:59"},
    {"minutes between", "2000-01-01 12:00:00", "59", "2000-01-01 12:59:59"},
    {"seconds between", "2000-01-01 12:00:00", "61", "2000-01-01 12:01:01"},
    {"minutes over midnight", "2000-01-01 23:50:00", "20", "2000-01-01 00:10:59"},
};

TEST(Functions, HaveTheirValues) {
  std::set<std::string> tried;
  for (const FunctionCase& c : kFunctionValues) {
    const TimeFunction* f = time_function(c.function);
    ASSERT_NE(f, nullptr) << c.function;
    const std::string of = c.of, is = c.is, to = *c.to == 0 ? of : c.to;
    const Column &a = of.size() > 10 ? kTime : kDate, &b = to.size() > 10 ? kTime : kDate;
    const ColumnType type = f->gives == TimeFunction::Gives::number ? ColumnType::integer
                            : f->gives == TimeFunction::Gives::date ? ColumnType::date
                                                                    : ColumnType::datetime;
    const double expected = type == ColumnType::integer ? std::stod(is) : read(is);
    EXPECT_EQ(f->value(a, read(of), b, read(to), kind_of(type).unit), expected) << c.function << " of " << c.of;
    EXPECT_NE(f->value(a, kMissing, b, read(to), kind_of(type).unit), expected);
    EXPECT_EQ(f->two, *c.to != 0) << c.function;
    if (f->inverse != nullptr) {
      const double spelled = f->inverse(expected);
      const Column& spells = f->needs == kHasDay ? kDate : f->needs == kHasTime ? kClock : kTime;
      if (spelled == spelled) {
        EXPECT_EQ(f->value(spells, spelled, kind_of(ColumnType::integer).unit), expected) << c.function;
      }
    }
    tried.insert(c.function);
  }
  EXPECT_EQ(tried.size(), time_functions().size());
}

TEST(Functions, SpellOnlyWhatExists) {
  const auto spells = [](const char* function, double x) {
    const double time = time_function(function)->inverse(x);
    return time == time;
  };
  EXPECT_TRUE(spells("clock", 2359) && spells("clock", 0) && spells("clock", 2400));
  EXPECT_FALSE(spells("clock", 1360) || spells("clock", 2401) || spells("clock", -1) || spells("clock", 12.5));
  EXPECT_TRUE(spells("year, month and day", 20240229));
  EXPECT_FALSE(spells("year, month and day", 20230229) || spells("year, month and day", 20241301));
  EXPECT_TRUE(spells("date and clock to the second", 20240229235959) && spells("date and clock", 202402290000));
  EXPECT_FALSE(spells("date and clock to the second", 20240229236000) || spells("date and clock", 202402292400));
  EXPECT_FALSE(spells("date and clock to the second", 20230229120000) || spells("date and clock", 20240229.5));
  EXPECT_TRUE(spells("year and month", 202412));
  EXPECT_FALSE(spells("year and month", 202413));
  EXPECT_TRUE(spells("year and week", 202053));
  EXPECT_FALSE(spells("year and week", 202153) || spells("year and week", 202100));
}

constexpr int64_t kRows = 900;
double instant(int64_t i) { return 1.6e9 + std::floor(1e8 * uniform(i, 1)); }
double later(int64_t i) { return instant(i) + std::floor(2e8 * uniform(i, 2)); }

// A table with a column that the function gives.
Table given_by(const TimeFunction& f) {
  Column at = times_by("at", kRows, instant), to = times_by("to", kRows, later);
  at.format = to.format = kTime.format;
  const ColumnType type = f.gives == TimeFunction::Gives::number ? ColumnType::integer
                          : f.gives == TimeFunction::Gives::date ? ColumnType::date
                                                                 : ColumnType::datetime;
  Column target = numbers_by("target", type, kRows,
                             [&](int64_t i) { return f.value(at, instant(i), to, later(i), kind_of(type).unit); });
  if (type != ColumnType::integer) target.format = type == ColumnType::date ? kDate.format : kTime.format;
  std::vector<Column> columns{at, target,
                              texts_by("kind", kRows, [](int64_t i) { return uniform(i, 4) < .4 ? "a" : "b"; })};
  if (f.two) columns.insert(columns.begin() + 1, to);
  return table(std::move(columns));
}

TEST(FunctionRules, AreFoundForEachFunction) {
  for (const TimeFunction& f : time_functions()) {
    const Table real = given_by(f);
    Table t = real;
    const Rules rules = reduced(t);
    SCOPED_TRACE(std::string(f.name) + ": " + rules.to_json().dump());
    // Distances may be found as sums, which compute one of the times.
    EXPECT_TRUE(t.find("target") == nullptr || t.find("at") == nullptr || (f.two && t.find("to") == nullptr));
    // A sum that rounds minutes is off by one where they are whole: ties are not seen by its finder.
    if (f.name == std::string_view("minutes between")) continue;
    expect_restored(Rules::from_json(rules.to_json()), t, real);
    expect_reduces_again(rules, real);
    if (f.inverse != nullptr) continue;  // a number that spells another time gives it
    Table broken = real;
    for (Column& c : broken.columns)
      if (c.name == "target") c.numbers[7] += c.type == ColumnType::datetime ? 43 : 1;
    const std::vector<std::string> all = said(rules), left = said(found(broken));
    for (const std::string& rule : all)
      if (rule.starts_with("target is")) { EXPECT_EQ(std::find(left.begin(), left.end(), rule), left.end()) << rule; }
  }
}

TEST(FunctionRules, AreDescribedInWords) {
  const auto first = [](const char* function) { return said(found(given_by(*time_function(function)))); };
  const auto has = [](const std::vector<std::string>& all, const char* rule) {
    return std::find(all.begin(), all.end(), rule) != all.end();
  };
  EXPECT_TRUE(has(first("date"), "target is the date of at"));
  EXPECT_TRUE(has(first("start of month"), "target is the first day of the month of at"));
  EXPECT_TRUE(has(first("years between"), "target is the whole years from at to to"));
  EXPECT_TRUE(has(first("calendar years between"), "target is the year of to minus that of at"));
}

TEST(FunctionRules, DescribeShiftedTimesInHours) {
  const Table t =
      table({times_by("utc", kRows, instant), times_by("local", kRows, [](int64_t i) { return instant(i) + 7200; })});
  EXPECT_EQ(said(found(t)), std::vector<std::string>{"local is 2 hours after utc"});
}

TEST(FunctionRules, GiveTextsTheirDigits) {
  Column at = times_by("at", kRows, instant);
  const auto by = [&](const char* function, int64_t i) {
    return static_cast<int>(time_function(function)->value(at, instant(i), kind_of(ColumnType::integer).unit));
  };
  const auto text = [](const char* format, auto... values) {
    char out[32];
    std::snprintf(out, sizeof out, format, values...);
    return std::string(out);
  };
  const Table real = table(
      {at, texts_by("week", kRows, [&](int64_t i) { return text("%04d-W%02d", by("year of week", i), by("week", i)); }),
       texts_by("quarter", kRows, [&](int64_t i) { return text("%04dQ%d", by("year", i), by("quarter", i)); }),
       texts_by("hour", kRows, [&](int64_t i) { return text("%d h", by("hour", i)); }),
       texts_by("noise", kRows, [&](int64_t i) { return text("%d h", static_cast<int>(24 * uniform(i, 5))); })});
  Table t = real;
  const Rules rules = reduced(t);
  std::vector<std::string> names;
  for (const Column& c : t.columns) names.push_back(c.name);
  EXPECT_EQ(names, (std::vector<std::string>{"at", "noise"}));
  EXPECT_EQ(lines(real), [&] {
    Table again = t;
    Rules::from_json(rules.to_json()).restore(again);
    return lines(again);
  }());
}

TEST(FunctionRules, MissingCellsAgree) {
  Table real = given_by(*time_function("month"));
  for (const size_t row : {3, 90, 500}) real.columns[0].numbers[row] = real.columns[1].numbers[row] = kMissing;
  Table t = real;
  expect_restored(reduced(t), t, real);
}

double term(int64_t i) { return std::vector<double>{1, 6, 12}[static_cast<size_t>(3 * uniform(i, 8))]; }
double contract(int64_t i) { return 18993 + std::floor(1500 * uniform(i, 3)); }

// A year less a day, months in a column, years in a column, and months by a plan.
Table contracts(int64_t rows) {
  const auto years = [](int64_t i) { return 1 + std::floor(3 * uniform(i, 10)); };
  const auto plan = [](int64_t i) { return static_cast<size_t>(3 * uniform(i, 11)); };
  return table({dates_by("start", rows, contract), whole_by("term", rows, term), whole_by("years", rows, years),
                texts_by("plan", rows,
                         [=](int64_t i) {
                           return Texts{"monthly", "half-yearly", "yearly"}[plan(i)];
                         }),
                dates_by("end", rows, [](int64_t i) { return add_months(contract(i), 12) - 1; }),
                dates_by("due", rows, [](int64_t i) { return add_months(contract(i), term(i)); }),
                dates_by("warranty", rows, [=](int64_t i) { return add_months(contract(i), 12 * years(i)); }),
                dates_by("paid", rows, [=](int64_t i) {
                  return add_months(contract(i), std::vector<double>{1, 6, 12}[plan(i)]) - 1;
                })});
}

const Texts kContractRules{"(paid + 1) - start in calendar months follows from plan", "due = add_months(start, term)",
                           "end = add_months(start, 12) - 1", "warranty = add_months(start, 12 * years)"};

TEST(MonthRules, AreFound) {
  EXPECT_EQ(said(found(contracts(2000))), kContractRules);
  Table broken = contracts(2000);
  for (const char* name : {"end", "due", "warranty", "paid"})
    for (Column& c : broken.columns)
      if (c.name == name) c.numbers[7] += 2;
  const Texts left = said(found(broken));
  for (const std::string& rule : kContractRules) EXPECT_EQ(std::ranges::count(left, rule), 0) << rule;
}

// 30 days are no month, nor are months that no column says.
TEST(MonthRules, AreNotFoundElsewhere) {
  const auto rules = said(found(table(
      {dates_by("start", 2000, contract), dates_by("day 30", 2000, [](int64_t i) { return contract(i) + 30; }),
       dates_by("some", 2000, [](int64_t i) { return add_months(contract(i), 1 + std::floor(9 * uniform(i, 5))); })})));
  for (const std::string& rule : rules) EXPECT_EQ(rule.find("month"), std::string::npos) << rule;
  expect_among(rules, {"\"day 30\" = start + 30"});
}

TEST(MonthRules, RoundTrip) {
  Table real = contracts(2000);
  for (const size_t column : {0, 1, 2, 4, 5, 6, 7}) real.columns[column].numbers[5] = kMissing;
  Table t = real;
  const Rules rules = reduced(t);
  ASSERT_EQ(said(rules), kContractRules);
  EXPECT_EQ(t.columns.size(), 4u);
  const Rules read = Rules::from_json(rules.to_json());
  EXPECT_EQ(read.to_json(), rules.to_json());
  expect_restored(read, std::move(t), real);
  expect_reduces_again(rules, real);
}

TEST(MonthRules, AreKeptBySampledRows) {
  const Table rows = sample(fit(contracts(1500), quick_made(2)), 500);
  const auto number = [&](const char* name, int64_t i) { return column(rows, name).numbers[static_cast<size_t>(i)]; };
  EXPECT_EQ(share(rows,
                  [&](int64_t i) {
                    const std::string plan = cell(column(rows, "plan"), i);
                    const double start = number("start", i), months = plan == "monthly" ? 1 : plan == "yearly" ? 12 : 6;
                    return number("end", i) == add_months(start, 12) - 1 &&
                           number("due", i) == add_months(start, number("term", i)) &&
                           number("warranty", i) == add_months(start, 12 * number("years", i)) &&
                           number("paid", i) == add_months(start, months) - 1;
                  }),
            1);
}

// Sheets are handed in on the Monday after the Sunday that ends their week: its number is not that of the Monday.
TEST(FunctionRules, AreOfComputedDates) {
  const auto handed_in = [](int64_t i) { return contract(i) - std::fmod(contract(i) + 3, 7); };
  const auto of = [](const char* function, auto&& date) {
    return [=](int64_t i) { return time_function(function)->value(kDate, date(i), 1); };
  };
  const auto approved = [=](int64_t i) { return handed_in(i) + std::floor(6 * uniform(i, 5)); };
  const auto ended = of("start of week on Sunday", approved);
  const Table real = table({dates_by("approved", kRows, approved), dates_by("ended", kRows, ended),
                            whole_by("week", kRows, of("week", ended))});
  Table t = real;
  const Rules rules = reduced(t);
  expect_among(said(rules), {"ended is the first day, Sunday, of the week of approved", "week is the week of ended"});
  expect_restored(Rules::from_json(rules.to_json()), t, real);
  expect_reduces_again(rules, real);
}

TEST(SpelledRules, LearnClocksAndDatesInParts) {
  constexpr int64_t kMany = 4000;
  const auto minute = [](int64_t i) { return std::floor(1440 * uniform(i, 1)); };
  const auto day = [](int64_t i) { return 18993 + std::floor(1500 * uniform(i, 3)); };
  const auto part = [&](const char* function) {
    return [=](int64_t i) { return time_function(function)->value(kDate, day(i), kind_of(ColumnType::integer).unit); };
  };
  const Table real = table(
      {whole_by("left", kMany, [&](int64_t i) { return 100 * std::floor(minute(i) / 60) + std::fmod(minute(i), 60); }),
       whole_by("year", kMany, part("year")), whole_by("month", kMany, part("month")),
       whole_by("day", kMany, part("day")), whole_by("weekday", kMany, part("weekday")),
       whole_by(
           "period", kMany,
           [](int64_t i) { return 202000 + 100 * std::floor(5 * uniform(i, 6)) + 1 + std::floor(12 * uniform(i, 7)); }),
       whole_by("price", kMany, [](int64_t i) { return 100 * std::floor(20 * uniform(i, 8)); }),
       whole_by("called", kMany, [](int64_t i) {
         return time_function("date and clock to the second")
             ->value(kTime, 1.7e9 + std::floor(9e6 * uniform(i, 11)), kind_of(ColumnType::integer).unit);
       })});
  Table t = real;
  const Rules rules = reduced(t);
  for (const char* name : {"left", "year", "month", "day", "weekday", "period", "called"})
    EXPECT_EQ(t.find(name), nullptr) << name;
  EXPECT_NE(t.find("price"), nullptr);
  const std::vector<std::string> all = said(rules);
  for (const char* rule : {"left spells a time of day", "period spells a date", "year, month and day spell a date",
                           "called spells a date and a time of day"})
    EXPECT_NE(std::find(all.begin(), all.end(), rule), all.end()) << rule;
  expect_restored(Rules::from_json(rules.to_json()), t, real);
}

TEST(SpelledRules, LearnYearMonthAndDayAsTheyAreIfNothingFollows) {
  constexpr int64_t kMany = 4000;
  const auto part = [](const char* function) {
    return [=](int64_t i) {
      return time_function(function)->value(kDate, 18993 + std::floor(1500 * uniform(i, 3)),
                                            kind_of(ColumnType::integer).unit);
    };
  };
  const Table real = table({whole_by("year", kMany, part("year")), whole_by("month", kMany, part("month")),
                            whole_by("day", kMany, part("day"))});
  Table t = real;
  const Rules rules = Rules::from_json(reduced(t).to_json());
  EXPECT_EQ(said(rules), std::vector<std::string>{"year, month and day spell a date"});
  EXPECT_EQ(t.columns.size(), 3u);
  expect_restored(rules, t, real);
  const auto set = [&](size_t row, double year, double month, double day) {
    t.columns[0].numbers[row] = year, t.columns[1].numbers[row] = month, t.columns[2].numbers[row] = day;
  };
  set(0, 2023, 2, 31), set(1, 2024, 2, 30), set(2, 2023, 6, 31), set(3, 2023, 7, 31);
  rules.restore(t);
  for (size_t row = 0; const double day : {28, 29, 30, 31}) EXPECT_EQ(t.find("day")->numbers[row++], day);
}

// Days of delay up to 27 are all minutes of the hour 0, as is what a paid bill leaves open.
TEST(SpelledRules, CountsAreNoTimesOfAConstant) {
  const auto paid = [](int64_t i) { return uniform(i, 1) < .7; };
  const auto rest = [](int64_t i) { return std::floor(1 + 5000 * uniform(i, 2)) / 100; };
  const Table real =
      table({texts_by("status", kRows, [=](int64_t i) { return paid(i) ? "paid" : "open"; }),
             whole_by("late", kRows, [=](int64_t i) { return paid(i) ? std::floor(28 * uniform(i, 3)) : kMissing; }),
             decimals_by("balance", kRows, 2, [=](int64_t i) { return paid(i) ? 0 : rest(i); })});
  for (const std::string& rule : said(found(real))) EXPECT_EQ(rule.find("time"), std::string::npos) << rule;
}

TEST(SpelledRules, SecondsAreATimeIfAnotherColumnIsOne) {
  const auto milliseconds = [](int64_t i) { return 1000 * instant(i) + std::floor(1000 * uniform(i, 9)); };
  const auto of = [](const char* function, ColumnType type) {
    return [=](int64_t i) { return time_function(function)->value(kTime, instant(i), kind_of(type).unit); };
  };
  Column epoch = whole_by("epoch", kRows, milliseconds);
  EXPECT_EQ(
      said(found(table({epoch, texts_by("kind", kRows, [](int64_t i) { return uniform(i, 4) < .4 ? "a" : "b"; })}))),
      std::vector<std::string>{});
  const Table real = table({epoch, dates_by("date", kRows, of("date", ColumnType::date)),
                            whole_by("hour", kRows, of("hour", ColumnType::integer))});
  Table t = real;
  const Rules rules = reduced(t);
  for (const char* name : {"epoch", "date", "hour"}) EXPECT_EQ(t.find(name), nullptr) << name;
  expect_restored(rules, t, real);
}

}  // namespace
}  // namespace tessera::whole
