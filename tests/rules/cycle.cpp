// Weekdays and times of day: found, restored to the digit, and sampled as they come.
#include <nlohmann/json.hpp>

#include "rules/orders.h"
#include "tables/formats/calendar.h"
#include "tables/rules/kinds/cycle.h"
#include "tables/rules/kinds/grid.h"

namespace tessera::whole {
namespace {

constexpr double kDay = 86400;

double weekday(double day) { return std::fmod(day + 3, 7); }
double hour(double time) { return std::floor(std::fmod(time, kDay) / 3600); }

// Orders between 8 and 20 o'clock, on Mondays to Fridays but for a tenth; shipped on a day within a week; a birthday on
// any day.
Table shop(int64_t rows) {
  const auto day = [](int64_t i) {
    const double week = 7 * whole_between(i, 1, 2600, 2700) - 3;
    return week + (uniform(i, 2) < 0.1 ? whole_between(i, 3, 5, 6) : whole_between(i, 3, 0, 4));
  };
  const auto time = [=](int64_t i) { return kDay * day(i) + 60 * whole_between(i, 4, 8 * 60, 20 * 60 - 1); };
  return table({times_by("ordered", rows, time),
                dates_by("shipped", rows, [=](int64_t i) { return day(i) + whole_between(i, 5, 0, 6); }),
                dates_by("born", rows, [](int64_t i) { return whole_between(i, 6, 0, 9000); }),
                texts_by("channel", rows,
                         [=](int64_t i) { return weekday(day(i)) > 4 || uniform(i, 7) < 0.5 ? "web" : "shop"; })});
}

TEST(CycleRules, PhasesCountFromMondayAndMidnight) {
  Column date, time;
  date.type = ColumnType::date, time.type = ColumnType::datetime;
  EXPECT_EQ(phase_of(date, 0), 3);   // 1970-01-01, a Thursday
  EXPECT_EQ(phase_of(date, -4), 6);  // the Sunday before
  EXPECT_EQ(phase_of(date, 4), 0);
  EXPECT_EQ(phase_of(time, -1), kDay - 1);
  EXPECT_EQ(phase_of(time, 3 * kDay + 61), 61);
}

TEST(CycleRules, FindWeekdaysWithTheirOrder) {
  EXPECT_EQ(said(found(shop(2000))),
            (std::vector<std::string>{"\"time of ordered\" is a multiple of 60", "shipped >= ordered",
                                      "time of ordered, and its day", "weekday of ordered, and its week"}));
}

TEST(CycleRules, IgnoreUniformDatesAndFewDays) {
  const auto even = [](int64_t i) { return kDay * 18000 + std::floor(uniform(i, 1) * 400 * kDay); };
  const auto three = [](int64_t i) {
    return kDay * (18000 + whole_between(i, 1, 0, 2)) + 3600 * whole_between(i, 2, 8, 20);
  };
  const auto mondays = [](int64_t i) { return 7 * whole_between(i, 1, 2000, 2200) - 3; };
  for (const Rules& rules : {found(table({times_by("t", 3000, even)})), found(table({times_by("t", 3000, three)})),
                             found(table({dates_by("t", 3000, mondays)}))})
    for (const std::string& rule : said(rules))
      for (const char* words : {"its", "never"}) EXPECT_EQ(rule.find(words), std::string::npos) << rule;
}

// Starts of 24 months are no weekdays, though some weekdays have more of them.
TEST(CycleRules, IgnoreStartsOfMonths) {
  const std::vector<double> firsts = [] {
    std::vector<double> out;
    for (int k = 0; k < 24; ++k) out.push_back(static_cast<double>(days_from_civil(2023 + k / 12, k % 12 + 1, 1)));
    return out;
  }();
  const auto from = [&](int64_t i) {
    return firsts[static_cast<size_t>(whole_between(i, 1, 0, 23))] +
           (uniform(i, 2) < 0.05 ? whole_between(i, 3, 1, 20) : 0);
  };
  for (const std::string& rule : said(found(table({dates_by("from", 3000, from)}))))
    EXPECT_EQ(rule.find("weekday"), std::string::npos) << rule;
}

TEST(CycleRules, RoundTripToTheDigit) {
  Table real = shop(1500);
  remove_column(real, "shipped");  // of an order, a missing date is filled
  for (Column& c : real.columns)
    if (c.name == "ordered")
      for (size_t i = 0; i < 100; ++i) c.numbers[7 * i] = kMissing;
  Table t = real;
  const Rules rules = reduced(t);
  const Column &weekdays = column(t, "weekday of ordered"), &times = column(t, "time of ordered");
  EXPECT_TRUE(weekdays.is_missing(7));
  Table filled = t;
  rules.fill(filled, 3);
  for (int64_t i = 0; i < t.rows; ++i) {
    EXPECT_FALSE(column(filled, "weekday of ordered").is_missing(i));
    EXPECT_FALSE(column(filled, "time of ordered").is_missing(i));
  }
  EXPECT_EQ(column(filled, "ordered").is_missing(7), true);
  EXPECT_LT(*std::max_element(times.numbers.begin() + 1, times.numbers.begin() + 7), 20 * 3600);
  expect_restored(rules, t, real);
  expect_restored(rules, std::move(filled), real);
  expect_reduces_again(rules, real);
}

TEST(CycleRules, SampledDatesFollowTheCycle) {
  const Table real = shop(3000);
  const auto night = [](const Table& t) {
    return share(t, [&](int64_t i) {
      const double h = hour(column(t, "ordered").numbers[static_cast<size_t>(i)]);
      return h < 8 || h >= 20;
    });
  };
  const auto weekend = [](const Table& t) {
    return share(t, [&](int64_t i) {
      return weekday(std::floor(column(t, "ordered").numbers[static_cast<size_t>(i)] / kDay)) > 4;
    });
  };
  for (const FitOptions& options : {quick_made(8), quick_tvae(8)}) {
    const Model m = fit(real, options);
    const Table rows = sample(m, 3000);
    EXPECT_EQ(night(rows), 0) << options.method;
    EXPECT_NEAR(weekend(rows), weekend(real), 0.06) << options.method;
    EXPECT_EQ(share(rows,
                    [&](int64_t i) {
                      const auto at = static_cast<size_t>(i);
                      return column(rows, "shipped").numbers[at] <
                             std::floor(column(rows, "ordered").numbers[at] / kDay);
                    }),
              0);
    EXPECT_EQ(name(column(rows, "ordered").type), name(ColumnType::datetime));
    const Table late = sample(m, 100, where("ordered >= '2021-06-01'"));
    EXPECT_EQ(
        share(late, [&](int64_t i) { return column(late, "ordered").numbers[static_cast<size_t>(i)] >= 18779 * kDay; }),
        1);
  }
}

// Guests come in the afternoon and leave in the morning, which the order of the two and their distances would not keep.
TEST(CycleRules, OpeningHoursBesideAnOrder) {
  constexpr int64_t kRows = 1500;
  const auto booked = [](int64_t i) { return whole_between(i, 1, 19000, 19700); };
  const auto day = [=](int64_t i) { return booked(i) + std::floor(-60 * std::log(1 - 0.99 * uniform(i, 2))); };
  const auto come = [=](int64_t i) { return kDay * day(i) + 60 * whole_between(i, 3, 14 * 60, 23 * 60 - 1); };
  const auto leave = [=](int64_t i) {
    return kDay * (day(i) + whole_between(i, 4, 1, 6)) + 60 * whole_between(i, 5, 6 * 60, 11 * 60 - 1);
  };
  const Table real =
      table({dates_by("booked", kRows, booked), times_by("come", kRows, come), times_by("leave", kRows, leave)});
  Table t = real;
  const Rules rules = reduced(t);
  expect_among(said(rules),
               {"time of come, and its day", "time of leave, and its day", "come >= booked", "leave >= come"});
  expect_restored(Rules::from_json(rules.to_json()), t, real);
  expect_reduces_again(rules, real);
  for (Column& c : t.columns)
    if (c.name == "time of leave") c.numbers[0] = kDay - 1;
  rules.restore(t);
  EXPECT_EQ(hour(column(t, "leave").numbers[0]), 10) << "drawn late, it is in the last hour";
  // a model does not say when the last hour of three guests is
  Table few = real;
  for (const size_t i : {1, 2, 3})
    few.columns[2].numbers[i] = kDay * std::floor(few.columns[2].numbers[i] / kDay) + 12 * 3600;
  const nlohmann::json of_few = reduced(few).to_json();
  for (const nlohmann::json& rule : of_few["found"])
    if (rule["kind"] == "cycle") { EXPECT_EQ(rule["high"] == 0, rule["column"]["name"] == "leave") << rule; }
  const Table rows = sample(fit(real, quick_made(4)), 2000);
  EXPECT_EQ(share(rows,
                  [&](int64_t i) {
                    const auto at = static_cast<size_t>(i);
                    const double from = column(rows, "come").numbers[at], to = column(rows, "leave").numbers[at];
                    return hour(from) < 14 || hour(from) > 22 || hour(to) < 6 || hour(to) > 10 || to < from ||
                           from < kDay * column(rows, "booked").numbers[at];
                  }),
            0);
}

// Parcels are sent on working days, within days of an order; they are back on any day but a Sunday.
TEST(WeekdayRules, KeepClosedDaysBesideAnOrder) {
  constexpr int64_t kRows = 1500;
  const auto ordered = [](int64_t i) { return whole_between(i, 1, 19000, 19700); };
  const auto sent = [=](int64_t i) {
    const double day = ordered(i) + whole_between(i, 2, 0, 3);
    return day + std::max(0.0, 7 - weekday(day)) * (weekday(day) > 4 ? 1 : 0);
  };
  const auto back = [=](int64_t i) {
    const double day = sent(i) + whole_between(i, 3, 1, 20);
    return kDay * (day + (weekday(day) == 6 ? 1 : 0)) + 3600 * whole_between(i, 4, 0, 23);
  };
  Table real =
      table({dates_by("ordered", kRows, ordered), dates_by("sent", kRows, sent), times_by("back", kRows, back)});
  Table t = real;
  const Rules rules = reduced(t);
  expect_among(said(rules), {"sent is never on a Saturday or Sunday", "back is never on a Sunday", "sent >= ordered",
                             "back >= sent"});
  const nlohmann::json stored = rules.to_json();
  expect_restored(Rules::from_json(stored), t, real);
  expect_reduces_again(rules, real);
  for (size_t k = 0; k < stored["found"].size(); ++k)
    if (stored["found"][k]["kind"] == "weekdays")
      for (const nlohmann::json& bad :
           {nlohmann::json{7}, nlohmann::json{3, 2}, nlohmann::json::array(), nlohmann::json()})
        expect_refused(stored, k, "closed", bad, t);
  const Table rows = sample(fit(real, quick_made(4)), 2000);
  EXPECT_EQ(share(rows,
                  [&](int64_t i) {
                    const auto at = static_cast<size_t>(i);
                    const double from = column(rows, "ordered").numbers[at], on = column(rows, "sent").numbers[at],
                                 to = column(rows, "back").numbers[at];
                    return weekday(on) > 4 || weekday(std::floor(to / kDay)) == 6 || on < from || to < kDay * on;
                  }),
            0);
  Table sunday = table({times_by("back", 1, [](int64_t) { return 3 * kDay + 36000; })});
  make_rule(WeekdayData{"back", {6}})->restore(sunday);
  EXPECT_EQ(sunday.columns[0].numbers[0], 4 * kDay + 36000) << "the next day, at the same time";
  real.columns[1].numbers[7] += 5 - weekday(real.columns[1].numbers[7]);
  for (const std::string& rule : said(found(real))) EXPECT_EQ(rule.find("sent is never"), std::string::npos) << rule;
}

// Days of a study since a Thursday, and the weekday, which a clerk got wrong in a few rows; hours that tell a shift in
// three parts; and numbers that tell nothing.
Table study(int64_t rows) {
  const auto day = [](int64_t i) { return whole_between(i, 1, 20, 730); };
  const auto hour = [](int64_t i) { return whole_between(i, 4, 0, 999); };
  return table({whole_by("day", rows, day),
                texts_by("weekday", rows,
                         [=](int64_t i) {
                           const double at = uniform(i, 2) < 0.03 ? whole_between(i, 3, 0, 6) : std::fmod(day(i), 7);
                           return std::string("day ") + static_cast<char>('A' + static_cast<int>(at));
                         }),
                whole_by("hour", rows, hour),
                whole_by("shift", rows, [=](int64_t i) { return std::floor(std::fmod(hour(i), 24) / 8); }),
                whole_by("weight", rows, [](int64_t i) { return whole_between(i, 5, 0, 900); }),
                whole_by("group", rows, [](int64_t i) { return whole_between(i, 6, 0, 6); })});
}

TEST(CycleRules, FindRemaindersThatTellOtherColumns) {
  const Table real = study(3000);
  Table t = real;
  const Rules rules = reduced(t);
  EXPECT_EQ(said(rules), (std::vector<std::string>{"\"remainder of hour\" and shift occur in fixed combinations",
                                                   "remainder of day by 7, and what is before it",
                                                   "remainder of hour by 24, and what is before it"}));
  EXPECT_EQ(column(t, "day").numbers[0], std::floor(column(real, "day").numbers[0] / 7));
  expect_restored(Rules::from_json(rules.to_json()), t, real);
  expect_reduces_again(rules, real);
  // Beyond the ends, another number with the same remainder.
  for (Column& c : t.columns)
    if (c.name == "day") c.numbers[0] = 104;
    else if (c.name == "remainder of day") c.numbers[0] = 6;
  Table rows = t;
  rules.restore(rows);
  EXPECT_EQ(column(rows, "day").numbers[0], 104 * 7 + 6 - 7);
}

TEST(CycleRules, SampledRemaindersGoWithTheirCategory) {
  const Table real = study(4000);
  const auto agrees = [](const Table& t) {
    const Column &day = column(t, "day"), &weekday = column(t, "weekday");
    return share(t, [&](int64_t i) {
      const auto at = static_cast<size_t>(i);
      const std::string& text = weekday.values[static_cast<size_t>(weekday.codes[at])];
      return text.back() - 'A' == static_cast<int>(std::fmod(day.numbers[at], 7));
    });
  };
  const Model m = fit(real, quick_made(15));
  const Table late = sample(m, 200, where("day >= 600 and weekday = 'day B'"));
  EXPECT_GT(agrees(late), 0.8);
  for (const double x : column(late, "day").numbers) EXPECT_GE(x, 600);
  const Table rows = sample(m, 3000);
  EXPECT_GT(agrees(rows), agrees(real) - 0.05);
  for (int64_t i = 0; i < rows.rows; ++i)
    ASSERT_EQ(column(rows, "shift").numbers[static_cast<size_t>(i)],
              std::floor(std::fmod(column(rows, "hour").numbers[static_cast<size_t>(i)], 24) / 8));
  for (const double x : column(rows, "day").numbers) EXPECT_TRUE(x >= 20 && x <= 730) << x;
}

TEST(CycleRules, RejectDamagedFiles) {
  Table t = shop(1500);
  const Rules rules = reduced(t);
  const nlohmann::json good = rules.to_json();
  for (size_t k = 0; k < good["found"].size(); ++k) {
    if (good["found"][k]["kind"] != "cycle") continue;
    const auto refused = [&](const char* damage, const auto& make) {
      nlohmann::json bad = good;
      make(bad["found"][k]);
      const Thrown e = thrown([&] { Rules::from_json(bad).check_fits(t); });
      EXPECT_EQ(static_cast<int>(e.code), static_cast<int>(ErrorCode::format)) << damage << ": " << e.message;
    };
    refused("no column", [](nlohmann::json& rule) { rule.erase("column"); });
    refused("no date", [](nlohmann::json& rule) { rule["column"]["type"] = "integer"; });
    refused("another", [](nlohmann::json& rule) { rule["column"]["name"] = "born"; });
  }
}

// Dates that are all the first day of a month, or all the last, have no weekdays to speak of.
TEST(MonthRules, KeepDatesAtTheEndsOfMonths) {
  constexpr int64_t kRows = 1200;
  const auto month = [](int64_t i, uint32_t stream) { return whole_between(i, stream, 0, 59); };
  const auto first = [](double months) {
    return static_cast<double>(
        days_from_civil(2018 + static_cast<int64_t>(months) / 12, static_cast<int>(months) % 12 + 1, 1));
  };
  const Table real =
      table({dates_by("issued", kRows, [=](int64_t i) { return first(month(i, 1)); }),
             dates_by("paid", kRows, [=](int64_t i) { return first(month(i, 1) + month(i, 2)); }),
             dates_by("closing", kRows, [=](int64_t i) { return first(month(i, 3)) - 1; }),
             dates_by("any", kRows, [=](int64_t i) { return first(0) + std::floor(1826 * uniform(i, 4)); })});
  Table t = real;
  const Rules rules = reduced(t);
  EXPECT_EQ(said(rules),
            (std::vector<std::string>{"closing is the last day of a month", "issued is the first day of a month",
                                      "paid >= issued", "paid is the first day of a month"}));
  EXPECT_EQ(rules.to_json().dump().find("start of month"), std::string::npos) << "the rule of its month says it";
  expect_restored(Rules::from_json(rules.to_json()), std::move(t), real);
  const auto of_few_months = [&](int64_t i) { return first(whole_between(i, 1, 0, 4)); };
  for (const std::string& rule : said(found(table({dates_by("due", kRows, of_few_months)}))))
    EXPECT_EQ(rule.find("of a month"), std::string::npos) << rule;
  for (const FitOptions& options : {quick_made(2), quick_tvae(2)}) {
    const Table rows = sample(fit(real, options), 400);
    EXPECT_EQ(share(rows,
                    [&](int64_t i) {
                      const auto at = static_cast<size_t>(i);
                      const double issued = column(rows, "issued").numbers[at], paid = column(rows, "paid").numbers[at];
                      return on_first_of_month(issued) && on_first_of_month(paid) && paid >= issued &&
                             on_last_of_month(column(rows, "closing").numbers[at]);
                    }),
              1)
        << options.method;
  }
}

}  // namespace
}  // namespace tessera::whole
