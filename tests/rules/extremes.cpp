// Columns that are the largest or smallest of others, and rules whose columns could be said the other way round.
#include <fmt/format.h>

#include <array>
#include <chrono>
#include <nlohmann/json.hpp>

#include "rules/orders.h"

namespace tessera::whole {
namespace {

double points(int64_t i, uint32_t subject) { return whole_between(i, subject, 0, 100); }
Table exams(int64_t rows) {
  const auto best = [](int64_t i) { return std::max({points(i, 1), points(i, 2), points(i, 3)}); };
  const auto mean = [](int64_t i) { return std::nearbyint((points(i, 1) + points(i, 2) + points(i, 3)) / 0.3) / 10; };
  return table({whole_by("art", rows, [](int64_t i) { return points(i, 1); }),
                whole_by("biology", rows, [](int64_t i) { return points(i, 2); }),
                whole_by("music", rows, [](int64_t i) { return points(i, 3); }), whole_by("best", rows, best),
                whole_by("worse", rows, [](int64_t i) { return std::min(points(i, 1), points(i, 2)); }),
                decimals_by("mean", rows, 1, mean), texts_by("grade", rows, [=](int64_t i) {
                  return mean(i) >= 70 ? "A" : mean(i) >= 50 ? "B" : "C";
                })});
}

TEST(ExtremeRules, AreFound) {
  expect_among(said(found(exams(2000))), {"best = greatest(art, biology, music)", "worse = least(art, biology)",
                                          "grade follows from mean, cut at 50, 70"});
}

TEST(ExtremeRules, AreDroppedAfterManyViolations) {
  Table t = exams(2000);
  for (size_t i = 0; i < 300; ++i) t.columns[3].numbers[i] += 1, t.columns[4].numbers[i] -= 1;
  for (const std::string& rule : said(found(t))) {
    EXPECT_EQ(rule.find("greatest"), std::string::npos) << rule;
    EXPECT_EQ(rule.find("least"), std::string::npos) << rule;
  }
}

TEST(ExtremeRules, RoundTrip) {
  Table real = exams(2000);
  for (Column& c : real.columns)  // nothing is known of the row
    if (is_numeric(c.type)) c.numbers[5] = kMissing;
    else c.codes[5] = -1;
  Table t = real;
  const Rules rules = reduced(t);
  const Rules read = Rules::from_json(rules.to_json());
  EXPECT_EQ(read.to_json(), rules.to_json());
  expect_restored(read, std::move(t), real);
  expect_reduces_again(rules, real);
}

// Of a tax that has fewer values than the amount; the rate of a currency is one over a short number.
TEST(DirectionOfRules, ARoundedNumberFollowsFromAFinerOne) {
  constexpr int64_t kRows = 2500;
  const auto kind = [](int64_t i) { return static_cast<size_t>(3 * uniform(i, 1)); };
  const auto amount = [](int64_t i) { return cents(std::exp(5 + 2 * uniform(i, 2))); };
  const Table t = table({texts_by("kind", kRows,
                                  [=](int64_t i) {
                                    return Texts{"food", "toys", "wine"}[kind(i)];
                                  }),
                         decimals_by("amount", kRows, 2, amount),
                         decimals_by("tax", kRows, 2,
                                     [=](int64_t i) {
                                       return cents(amount(i) * std::array{0.05, 0.19, 0.25}[kind(i)]);
                                     }),
                         decimals_by("paid", kRows, 2, [=](int64_t i) {
                           return cents(amount(i) / std::array{1.08, 0.85, 163.2}[kind(i)]);
                         })});
  EXPECT_EQ(said(found(t)), (Texts{"paid / amount follows from kind", "tax / amount follows from kind"}));
  const nlohmann::json stored = found(t).to_json();
  EXPECT_NE(stored.dump().find(fmt::format("{}", 1 / 1.08)), std::string::npos) << stored.dump();
}

// The income is computed, its bracket follows from it, and the tax from both.
TEST(DirectionOfRules, ARateIsOfACategoryThatAComputedNumberDecides) {
  constexpr int64_t kRows = 2500;
  const auto hours = [](int64_t i) { return whole_between(i, 1, 20, 60); };
  const auto wage = [](int64_t i) { return cents(8 + 52 * uniform(i, 2)); };
  const auto income = [=](int64_t i) { return cents(hours(i) * wage(i)); };
  const auto bracket = [=](int64_t i) { return size_t{income(i) >= 800} + size_t{income(i) >= 2000}; };
  const Table t = table({whole_by("hours", kRows, hours), decimals_by("wage", kRows, 2, wage),
                         decimals_by("income", kRows, 2, income),
                         texts_by("bracket", kRows,
                                  [=](int64_t i) {
                                    return Texts{"low", "middle", "high"}[bracket(i)];
                                  }),
                         decimals_by("tax", kRows, 2, [=](int64_t i) {
                           return cents(income(i) * std::array{0.1, 0.22, 0.35}[bracket(i)]);
                         })});
  EXPECT_EQ(said(found(t)), (Texts{"bracket follows from income, cut at 800, 2000", "income = hours * wage",
                                   "tax / income follows from bracket"}));
}

// Of orders without a column for the price times the quantity, and of pay by hours.
Table orders_and_pay(int64_t rows) {
  const auto price = [](int64_t i) { return cents(5 + 200 * uniform(i, 1)); };
  const auto quantity = [](int64_t i) { return whole_between(i, 2, 1, 9); };
  const auto shipping = [](int64_t i) { return cents(2 + 13 * uniform(i, 3)); };
  const auto hours = [](int64_t i) { return whole_between(i, 4, 80, 170); };
  const auto overtime = [](int64_t i) { return uniform(i, 5) < 0.5 ? 0 : whole_between(i, 6, 1, 30); };
  const auto wage = [](int64_t i) { return std::nearbyint(120 + 500 * uniform(i, 7)) / 10; };
  return table(
      {decimals_by("price", rows, 2, price), whole_by("quantity", rows, quantity),
       decimals_by("shipping", rows, 2, shipping),
       decimals_by("total", rows, 2, [=](int64_t i) { return cents(price(i) * quantity(i) + shipping(i)); }),
       whole_by("hours", rows, hours), whole_by("overtime", rows, overtime), decimals_by("wage", rows, 1, wage),
       decimals_by("pay", rows, 2, [=](int64_t i) { return cents(wage(i) * (hours(i) + 1.5 * overtime(i))); })});
}

TEST(ProductSums, AreFound) {
  Table real = orders_and_pay(2500);
  for (const size_t k : {2, 3, 4, 7}) real.columns[k].numbers[5] = kMissing;
  Table t = real;
  const Rules rules = reduced(t);
  EXPECT_EQ(said(rules), (Texts{"pay = hours * wage + 1.5 * overtime * wage", "total = price * quantity + shipping"}));
  expect_restored(rules, std::move(t), real);
  expect_reduces_again(rules, real);
}

TEST(ProductSums, AreDroppedAfterManyViolations) {
  Table t = orders_and_pay(2500);
  for (size_t i = 0; i < 400; ++i) t.columns[3].numbers[i] += 0.05, t.columns[7].numbers[i] -= 0.05;
  for (const std::string& rule : said(found(t))) EXPECT_EQ(rule.find(" = "), std::string::npos) << rule;
}

// An overtime of which three rows say the rate is not in a rule, and so the pay is in none.
TEST(ProductSums, SayNoFactorOfFewRows) {
  Table t = orders_and_pay(2500);
  t.columns.erase(t.columns.begin(), t.columns.begin() + 4);
  auto &hours = t.columns[0].numbers, &overtime = t.columns[1].numbers, &wage = t.columns[2].numbers;
  for (size_t i = 0; i < overtime.size(); ++i) {
    overtime[i] = i < 3 ? 20 : 0;
    t.columns[3].numbers[i] = cents(wage[i] * (hours[i] + 1.5 * overtime[i]));
  }
  for (const std::string& rule : said(found(t))) EXPECT_EQ(rule.find("overtime *"), std::string::npos) << rule;
}

// Six kinds of rows say nothing about five numbers.
TEST(ProductSums, SayNoNumbersOfFewCombinations) {
  constexpr int64_t kRows = 2500;
  static constexpr double kRange[] = {100, 150, 300, 400, 650, 900}, kPart[] = {0.5, 0.2, 1, 0.7, 0.4, 0.9},
                          kMonths[] = {6, 24, 12, 6, 36, 24};
  const auto kind = [](int64_t i) { return static_cast<size_t>(6 * uniform(i, 1)); };
  const Table t = table({whole_by("range", kRows, [&](int64_t i) { return kRange[kind(i)]; }),
                         decimals_by("part", kRows, 1, [&](int64_t i) { return kPart[kind(i)]; }),
                         whole_by("base", kRows, [&](int64_t i) { return kRange[(kind(i) * 5 + 1) % 6]; }),
                         whole_by("months", kRows, [&](int64_t i) { return kMonths[kind(i)]; })});
  for (const std::string& one : said(found(t))) EXPECT_EQ(one.find(" = "), std::string::npos) << one;
}

// Dates of tests are few: a date computed from a day and a count would be any. Of budgets of three values and what is
// left of them likewise.
TEST(DirectionOfRules, ColumnsOfFewValuesAreNotComputed) {
  constexpr int64_t kRows = 2500;
  const auto test = [](int64_t i) { return 19420 + 30 * whole_between(i, 2, 0, 9); };
  const auto calved = [=](int64_t i) { return test(i) - whole_between(i, 1, 1, 400); };
  const auto budget = [](int64_t i) { return 500 * whole_between(i, 3, 1, 3); };
  const auto spent = [](int64_t i) { return cents(between(i, 4, 1, 499)); };
  for (const bool last : {false, true}) {
    std::vector<Column> columns{dates_by("calved", kRows, calved),
                                whole_by("dim", kRows, [&](int64_t i) { return test(i) - calved(i); })};
    columns.insert(last ? columns.end() : columns.begin(), dates_by("tested", kRows, test));
    const Table real = table(std::move(columns));
    Table t = real;
    const Rules rules = reduced(t);
    expect_among(said(rules), {"dim = tested - calved", "tested >= calved"});
    expect_restored(rules, std::move(t), real);
    columns = {decimals_by("spent", kRows, 2, spent),
               decimals_by("left", kRows, 2, [&](int64_t i) { return cents(budget(i) - spent(i)); })};
    columns.insert(last ? columns.end() : columns.begin(), whole_by("budget", kRows, budget));
    expect_among(said(found(table(std::move(columns)))), {"left = budget - spent"});
  }
}

// Factors that rounded numbers say to too few digits one by one are taken as one, of an amount that few rows have too.
TEST(DirectionOfRules, FactorsOfAlikeOrRareColumns) {
  constexpr int64_t kRows = 2000;
  const auto cost = [](int64_t i) { return cents(between(i, 1, 8, 160)); };
  const auto off = [=](int64_t i) { return uniform(i, 2) < 0.1 ? cents(cost(i) * uniform(i, 3) / 2) : 0; };
  expect_among(said(found(table(
                   {decimals_by("cost", kRows, 2, cost), decimals_by("off", kRows, 2, off),
                    decimals_by("tax", kRows, 2, [=](int64_t i) { return cents(0.08875 * (cost(i) - off(i))); })}))),
               {"tax = 0.08875 * (cost - off)"});
}

// A share of whole numbers is computed of them: of a drawn share, most are no share of whole numbers.
TEST(DirectionOfRules, ASharePointsToWholeNumbers) {
  constexpr int64_t kRows = 2500;
  const auto asked = [](int64_t i) { return whole_between(i, 1, 20, 400); };
  const auto yes = [=](int64_t i) { return std::floor(asked(i) * (0.2 + 0.3 * uniform(i, 2))); };
  const Table t = table(
      {whole_by("asked", kRows, asked), whole_by("yes", kRows, yes),
       decimals_by("percent", kRows, 1, [=](int64_t i) { return std::nearbyint(1000 * yes(i) / asked(i)) / 10; })});
  expect_among(said(found(t)), {"percent = 100 * yes / asked"});
}

// A number that the year of a date gives, though the year itself is computed of the date.
TEST(DirectionOfRules, AnAgeFollowsFromTheYearOfADate) {
  constexpr int64_t kRows = 2500;
  const auto day = [](int64_t i) { return whole_between(i, 1, 0, 14000); };
  const auto year = [=](int64_t i) {
    using namespace std::chrono;
    return static_cast<double>(static_cast<int>(year_month_day{sys_days{days{static_cast<int>(day(i))}}}.year()));
  };
  const Table t = table({dates_by("date", kRows, day), whole_by("born", kRows, year),
                         whole_by("age", kRows, [=](int64_t i) { return 2024 - year(i); })});
  expect_among(said(found(t)), {"age = 2024 - born", "born is the year of date"});
}

// A share is drawn again where its parts make it more than a whole.
TEST(DirectionOfRules, AShareStaysBelowAWhole) {
  constexpr int64_t kRows = 2500;
  const auto of = [](int64_t i) { return whole_between(i, 1, 20, 400); };
  const auto part = [=](int64_t i) { return std::floor(of(i) * uniform(i, 2)); };
  const Table t =
      table({whole_by("part", kRows, part), whole_by("of", kRows, of),
             decimals_by("share", kRows, 3, [=](int64_t i) { return std::nearbyint(1000 * part(i) / of(i)) / 1000; })});
  expect_among(said(found(t)), {"share = part / of", "share <= 1"});
}

// Interest is what is left of a sum that is a product too.
TEST(DirectionOfRules, APartOfASumThatIsAProduct) {
  constexpr int64_t kRows = 2500;
  const auto payment = [](int64_t i) { return cents(between(i, 1, 50, 900)); };
  const auto months = [](int64_t i) { return 12 * whole_between(i, 2, 1, 5); };
  const auto amount = [=](int64_t i) { return std::floor(payment(i) * months(i) * between(i, 3, 0.7, 0.9) / 10) * 10; };
  const Table t = table(
      {whole_by("amount", kRows, amount), whole_by("months", kRows, months), decimals_by("payment", kRows, 2, payment),
       decimals_by("paid", kRows, 2, [=](int64_t i) { return cents(payment(i) * months(i)); }),
       decimals_by("interest", kRows, 2, [=](int64_t i) { return cents(cents(payment(i) * months(i)) - amount(i)); })});
  expect_among(said(found(t)), {"interest = paid - amount", "paid = months * payment"});
}

// A discount that most rows do not have is learned, and what it is part of computed: of drawn amounts it would be
// positive in half of the rows, and never 0.
TEST(DirectionOfRules, ADiscountIsNotComputedOfAnInvoice) {
  constexpr int64_t kRows = 2500;
  const auto charge = [](int64_t i) { return cents(between(i, 1, 20, 300)); };
  const auto standing = [](int64_t i) { return cents(0.2 * whole_between(i, 2, 20, 31)); };
  const auto off = [=](int64_t i) { return uniform(i, 3) < 0.3 ? -cents(0.05 * (charge(i) + standing(i))) : 0; };
  const auto net = [=](int64_t i) { return cents(charge(i) + standing(i) + off(i)); };
  const auto rate = [](int64_t i) { return uniform(i, 4) < 0.8 ? 5.0 : 20.0; };
  const auto vat = [=](int64_t i) { return cents(net(i) * rate(i) / 100); };
  expect_among(said(found(table({decimals_by("standing", kRows, 2, standing), decimals_by("charge", kRows, 2, charge),
                                 decimals_by("discount", kRows, 2, off), decimals_by("net", kRows, 2, net),
                                 whole_by("vat_rate", kRows, rate), decimals_by("vat", kRows, 2, vat),
                                 decimals_by("total", kRows, 2, [=](int64_t i) { return cents(net(i) + vat(i)); })}))),
               {"net = standing + charge + discount", "vat = net * vat_rate / 100", "total = net + vat"});
}

// Of the parts of a sum that is a product too, one that varies is computed, not a fee that most rows lack.
TEST(DirectionOfRules, APartWithAPeakIsLearned) {
  constexpr int64_t kRows = 2500;
  const auto payment = [](int64_t i) { return cents(between(i, 1, 50, 900)); };
  const auto months = [](int64_t i) { return 12 * whole_between(i, 2, 1, 5); };
  const auto amount = [=](int64_t i) { return std::floor(payment(i) * months(i) * between(i, 3, 0.7, 0.9) / 10) * 10; };
  const auto fee = [](int64_t i) { return uniform(i, 4) < 0.7 ? 0 : cents(between(i, 5, 5, 40)); };
  const auto paid = [=](int64_t i) { return cents(payment(i) * months(i)); };
  const Table t =
      table({whole_by("amount", kRows, amount), whole_by("months", kRows, months),
             decimals_by("payment", kRows, 2, payment), decimals_by("paid", kRows, 2, paid),
             decimals_by("interest", kRows, 2, [=](int64_t i) { return cents(paid(i) - amount(i) - fee(i)); }),
             decimals_by("fee", kRows, 2, fee)});
  expect_among(said(found(t)), {"interest = paid - amount - fee", "paid = months * payment"});
}

// A tax of all rows, though the few that have a meter have a sum for it.
TEST(DirectionOfRules, ARateOfAllRowsComesBeforeASumOfFew) {
  constexpr int64_t kRows = 2500;
  const auto metered = [](int64_t i) { return uniform(i, 1) < 0.2; };
  const auto day = [](int64_t i) { return whole_between(i, 2, 10, 900); };
  const auto night = [=](int64_t i) { return metered(i) ? whole_between(i, 3, 10, 500) : kMissing; };
  const auto charge = [=](int64_t i) {
    return metered(i) ? cents(0.3 * day(i) + 0.2 * night(i)) : cents(between(i, 4, 10, 300));
  };
  const auto rate = [=](int64_t i) { return metered(i) || uniform(i, 5) < 0.7 ? 10.0 : 20.0; };
  const Texts rules =
      said(found(table({whole_by("day", kRows, day), whole_by("night", kRows, night),
                        decimals_by("charge", kRows, 2, charge), whole_by("rate", kRows, rate),
                        decimals_by("tax", kRows, 2, [=](int64_t i) { return cents(charge(i) * rate(i) / 100); })})));
  expect_among(rules, {"tax = charge * rate / 100"});
}

// How much more or less than another number one is, as a share or in percent.
TEST(DirectionOfRules, AChangeIsOfTwoAmounts) {
  constexpr int64_t kRows = 2500;
  const auto asked = [](int64_t i) { return 1000 * whole_between(i, 1, 90, 900); };
  const auto sold = [=](int64_t i) { return 100 * std::floor(asked(i) * between(i, 2, 0.8, 1) / 100); };
  const auto value = [=](int64_t i) { return 100 * std::floor(asked(i) * between(i, 3, 0.6, 1.7) / 100); };
  const auto add = [&](const char* name, auto of, int digits) {
    return said(found(table({whole_by("asked", kRows, asked), whole_by("sold", kRows, sold),
                             whole_by("value", kRows, value), decimals_by(name, kRows, digits, [&](int64_t i) {
                               const double unit = std::pow(10, digits);
                               return std::nearbyint(of(i) * unit) / unit;
                             })})));
  };
  expect_among(add(
                   "discount", [&](int64_t i) { return 100 * (asked(i) - sold(i)) / asked(i); }, 1),
               {"discount = 100 * (asked - sold) / asked", "discount >= 0"});
  expect_among(add(
                   "change", [&](int64_t i) { return 100 * (value(i) - asked(i)) / asked(i); }, 1),
               {"change = 100 * (value - asked) / asked"});
  expect_among(add(
                   "growth", [&](int64_t i) { return (value(i) - asked(i)) / asked(i); }, 4),
               {"growth = (value - asked) / asked"});
  for (const std::string& rule : add(
           "noise", [&](int64_t i) { return 100 * (value(i) - asked(i)) / asked(i) + 0.1 * (i % 10 == 0); }, 1))
    EXPECT_EQ(rule.find("noise = 100"), std::string::npos) << rule;
}

// Questions that a number of another one decides.
TEST(MissingByANumber, IsFoundAndComesBack) {
  constexpr int64_t kRows = 2500;
  const auto hour = [](int64_t i) { return whole_between(i, 1, 0, 23); };
  const auto smokes = [](int64_t i) { return whole_between(i, 2, 0, 1); };
  const Table real = table(
      {whole_by("hour", kRows, hour), whole_by("smokes", kRows, smokes),
       texts_by("shift", kRows, [=](int64_t i) { return hour(i) < 6           ? ""
                                                        : uniform(i, 3) < 0.5 ? "early"
                                                                              : "late"; }),
       whole_by("per_day", kRows, [=](int64_t i) { return smokes(i) == 1 ? whole_between(i, 4, 1, 30) : kMissing; })});
  Table t = real;
  const Rules rules = reduced(t);
  EXPECT_EQ(said(rules), (Texts{"per_day is null exactly where smokes < 1", "shift is null exactly where hour < 6"}));
  const Rules read = Rules::from_json(rules.to_json());
  EXPECT_EQ(read.to_json(), rules.to_json());
  Team team(1);
  rules.fill(t, 1);
  expect_restored(read, std::move(t), real);
  Table broken = real;
  broken.columns[3].numbers[7] = smokes(7) == 1 ? kMissing : 4;
  for (const std::string& rule : said(found(broken)))
    EXPECT_EQ(rule.find("per_day is null"), std::string::npos) << rule;
  Table few = real;  // rows without the hour: a model does not say what three of them have
  for (const size_t i : {1, 2, 3}) few.columns[0].set_missing(i), few.columns[2].set_missing(i);
  for (const std::string& rule : said(found(few))) EXPECT_NE(rule.substr(0, 5), "shift") << rule;
}

// Of a fifth of the rows the text is a rare one, which a model does not hold.
TEST(MissingByAText, OfFewRareValues) {
  constexpr int64_t kRows = 1200;
  for (const int64_t rare : {50, 5}) {
    const auto town = [=](int64_t i) {
      return i % rare == 0 ? "t" + std::to_string(i / rare % 60) : std::string(1, static_cast<char>('A' + i % 3));
    };
    const Texts rules = said(found(table({texts_by("town", kRows, town), whole_by("fee", kRows, [=](int64_t i) {
                                            return town(i) == "A" ? kMissing : whole_between(i, 1, 0, 90);
                                          })})));
    EXPECT_EQ(rules, rare == 50 ? Texts{"fee is null exactly where town in ('A')"} : Texts{}) << rare;
  }
}

// A score that some rows lack decides, and a category that is itself computed; cells that are missing by those of
// another column come after it.
TEST(MissingByANumber, AlsoWhereItIsMissingOrComputed) {
  constexpr int64_t kRows = 2500;
  const auto goals = [](int64_t i, uint32_t side) { return whole_between(i, side, 0, 4); };
  const auto owner = [](int64_t i) { return uniform(i, 3) < 0.7; };
  const auto score = [=](int64_t i) { return owner(i) ? whole_between(i, 4, 0, 10) : kMissing; };
  const auto why = [=](int64_t i) { return !(score(i) <= 6) ? "" : uniform(i, 5) < 0.3 ? "other" : "price"; };
  const Table real = table(
      {whole_by("home", kRows, [=](int64_t i) { return goals(i, 1); }),
       whole_by("away", kRows, [=](int64_t i) { return goals(i, 2); }),
       whole_by("ahead", kRows, [=](int64_t i) { return goals(i, 1) - goals(i, 2); }),
       texts_by("result", kRows,
                [=](int64_t i) { return goals(i, 1) > goals(i, 2)   ? "H"
                                        : goals(i, 1) < goals(i, 2) ? "A"
                                                                    : "D"; }),
       texts_by("winner", kRows,
                [=](int64_t i) { return goals(i, 1) == goals(i, 2) ? ""
                                        : uniform(i, 6) < 0.5      ? "Reds"
                                                                   : "Blues"; }),
       texts_by("owner", kRows, [=](int64_t i) { return owner(i) ? "yes" : "no"; }), whole_by("score", kRows, score),
       texts_by("why", kRows, why), texts_by("more", kRows, [=](int64_t i) {
         return why(i) != std::string("other") ? "" : uniform(i, 7) < 0.5 ? "loud" : "slow";
       })});
  Table t = real;
  const Rules rules = reduced(t);
  expect_among(said(rules),
               {"winner is null exactly where result in ('D')", "score is null exactly where owner in ('no')",
                "why is null exactly where score >= 7 or score is null",
                "more is null exactly where why in ('price') or why is null"});
  const Rules read = Rules::from_json(rules.to_json());
  EXPECT_EQ(read.to_json(), rules.to_json());
  Team team(1);
  rules.fill(t, 1);
  for (const Column& c : t.columns) EXPECT_EQ(share(t, [&](int64_t i) { return c.is_missing(i); }), 0) << c.name;
  expect_restored(read, std::move(t), real);
}

// What a column has beyond a number, and a fare of which every other one ends in half a cent.
TEST(ExtremeRules, BeyondANumber) {
  constexpr int64_t kRows = 2500;
  const auto hours = [](int64_t i) { return whole_between(i, 1, 40, 120) / 2; };
  const auto km = [](int64_t i) { return cents(between(i, 2, 0.5, 20)); };
  const auto minutes = [](int64_t i) { return whole_between(i, 3, 5, 60); };
  const auto fare = [=](int64_t i) { return cents(2.5 + 1.5 * km(i) + 0.3 * minutes(i)); };
  const Table t = table({decimals_by("hours", kRows, 1, hours),
                         decimals_by("overtime", kRows, 1, [=](int64_t i) { return std::max(hours(i) - 40, 0.0); }),
                         decimals_by("km", kRows, 2, km), whole_by("minutes", kRows, minutes),
                         decimals_by("fare", kRows, 2, fare)});
  expect_among(said(found(t)), {"overtime = greatest(hours - 40, 0)", "fare = 1.5 * km + 0.3 * minutes + 2.5"});
}

// Lines with ends at a number, in tiers; and columns computed from computed ones.
Table pay_and_energy(int64_t rows) {
  const auto gross = [](int64_t i) { return cents(between(i, 1, 1800, 9000)); };
  const auto pension = [=](int64_t i) { return cents(0.093 * std::min(gross(i), 5000.0)); };
  const auto fee = [](int64_t i) { return cents(between(i, 2, 5, 60)); };
  const auto kwh = [](int64_t i) { return whole_between(i, 3, 20, 1200); };
  const auto tier = [=](double from, double width) {
    return [=](int64_t i) { return std::clamp(kwh(i) - from, 0.0, width); };
  };
  return table(
      {decimals_by("gross", rows, 2, gross), decimals_by("pension", rows, 2, pension),
       decimals_by("taxable", rows, 2, [=](int64_t i) { return cents(gross(i) - pension(i)); }),
       decimals_by("fee", rows, 2, fee),
       decimals_by("paid", rows, 2, [=](int64_t i) { return cents(gross(i) - pension(i) - fee(i)); }),
       whole_by("kwh", rows, kwh), whole_by("tier1", rows, tier(0, 200)), whole_by("tier2", rows, tier(200, 400)),
       whole_by("tier3", rows, tier(600, 1e6)),
       decimals_by("charge2", rows, 2, [=](int64_t i) { return cents(0.31 * std::clamp(kwh(i) - 200, 0.0, 400.0)); })});
}

TEST(ExtremeRules, LinesWithEndsAndWhatFollowsFromThem) {
  const Table real = pay_and_energy(2500);
  Table t = real;
  const Rules rules = reduced(t);
  expect_among(said(rules), {"pension = least(0.093 * gross, 465)", "taxable = gross - pension", "paid = taxable - fee",
                             "tier1 = least(kwh, 200)", "tier2 = least(greatest(kwh - 200, 0), 400)",
                             "tier3 = greatest(kwh - 600, 0)"});
  expect_restored(rules, std::move(t), real);
  expect_reduces_again(rules, real);
}

// What one column exceeds another one by, between a number and a third column; and days between dates.
TEST(ExtremeRules, DifferencesWithEnds) {
  constexpr int64_t kRows = 2500;
  const auto loss = [](int64_t i) { return cents(std::exp(8 + 1.5 * uniform(i, 1) - 1.5 * uniform(i, 2))); };
  const auto deductible = [](int64_t i) {
    return std::array{0, 500, 1000, 2000}[static_cast<size_t>(4 * uniform(i, 3))];
  };
  const auto limit = [](int64_t i) {
    return std::array{2500, 5000, 9000, 11000}[static_cast<size_t>(4 * uniform(i, 4))];
  };
  const auto insured = [=](int64_t i) {
    return cents(std::min(std::max(loss(i) - deductible(i), 0.0), 1.0 * limit(i)));
  };
  const auto paid = [=](int64_t i) { return cents(insured(i) * uniform(i, 5)); };
  const auto due = [](int64_t i) { return 19000 + whole_between(i, 6, 0, 700); };
  const auto closed = [=](int64_t i) { return due(i) + whole_between(i, 7, -30, 30); };
  const Table real = table({decimals_by("loss", kRows, 2, loss), whole_by("deductible", kRows, deductible),
                            whole_by("limit", kRows, limit), decimals_by("insured", kRows, 2, insured),
                            decimals_by("paid", kRows, 2, paid),
                            decimals_by("left", kRows, 2, [=](int64_t i) { return cents(insured(i) - paid(i)); }),
                            dates_by("due", kRows, due), dates_by("closed", kRows, closed),
                            whole_by("late", kRows, [=](int64_t i) { return std::max(closed(i) - due(i), 0.0); })});
  Table t = real;
  const Rules rules = reduced(t);
  expect_among(said(rules), {"insured = least(greatest(loss - deductible, 0), limit)", "left = insured - paid",
                             "late = greatest(closed - due, 0)"});
  expect_restored(rules, std::move(t), real);
  expect_reduces_again(rules, real);
  Table broken = real;
  broken.columns[3].numbers[11] += 1, broken.columns[8].numbers[11] += 1;
  for (const std::string& rule : said(found(broken)))
    EXPECT_TRUE(!rule.starts_with("insured = least") && !rule.starts_with("late = greatest")) << rule;
}

// Whichever rule computes a column, given or found: those that read it are found too.
TEST(ExtremeRules, AGivenRuleHidesNoOther) {
  Table t = pay_and_energy(2500);
  t.columns.resize(3);
  RuleOptions options;
  options.given = {"pension = 0.093 * least(gross, 5000)"};
  EXPECT_EQ(said(found(t, options)),
            (Texts{"pension = 0.093 * least(gross, 5000)", "taxable = gross - pension", "taxable >= 0"}));
}

// An order with a computed column that does not follow from its rule.
TEST(ExtremeRules, OrdersWithComputedColumnsAreChecked) {
  constexpr int64_t kRows = 2500;
  const auto net = [](int64_t i) { return cents(between(i, 1, 5, 900)); };
  const auto tax = [=](int64_t i) { return cents(0.2 * net(i)); };
  const auto refund = [=](int64_t i) { return uniform(i, 2) < 0.5 ? 0 : cents((net(i) + tax(i)) * uniform(i, 3)); };
  const Table t = table({decimals_by("net", kRows, 2, net), decimals_by("shipping", kRows, 2, tax),
                         decimals_by("total", kRows, 2, [=](int64_t i) { return cents(net(i) + tax(i)); }),
                         decimals_by("refund", kRows, 2, refund)});
  expect_among(said(found(t)), {"total >= refund"});
}

// Numbers that nearly sum to one another: of a birth year and an age at the end of a year, half of the rows.
TEST(ExtremeRules, NearSumsOfWholeNumbersAreNoRules) {
  constexpr int64_t kRows = 1500;
  const auto born = [](int64_t i) { return whole_between(i, 1, 1940, 2003); };
  for (const double same : {0.5, 0.7})
    for (const std::string& rule :
         said(found(table({whole_by("born", kRows, born), whole_by("age", kRows, [=](int64_t i) {
                             const double v = uniform(i, 2);
                             return 2022 - born(i) + (v < same ? 0 : v < (1 + same) / 2 ? -1 : 1);
                           })}))))
      EXPECT_EQ(rule.find("age ="), std::string::npos) << rule;
}

// The rule that holds wherever the column is present, though another one comes before it in the list of kinds.
TEST(DirectionOfRules, ARuleOfEachRowComesFirst) {
  constexpr int64_t kRows = 1500;
  const auto arrival = [](int64_t i) { return whole_between(i, 1, 19000, 19700); };
  const auto nights = [](int64_t i) { return whole_between(i, 2, 1, 14); };
  const auto departure = [=](int64_t i) { return arrival(i) + nights(i); };
  const Table t =
      table({dates_by("arrival", kRows, arrival), whole_by("nights", kRows, nights),
             dates_by("departure", kRows, departure), times_by("check_out", kRows, [=](int64_t i) {
               return uniform(i, 3) < 0.2 ? kMissing : (departure(i) + whole_between(i, 4, 420, 720) / 1440) * 86400;
             })});
  expect_among(said(found(t)), {"departure = arrival + nights"});
}

}  // namespace
}  // namespace tessera::whole
