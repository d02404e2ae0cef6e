// Which rules a table shows, and that tables without rules show none.
#include <nlohmann/json.hpp>

#include "models/fitted/row_model.h"
#include "rules/orders.h"
#include "tables/rules/rule/columns.h"

namespace tessera::whole {
namespace {

using NamedFormulas = std::vector<std::pair<std::string, std::function<double(int64_t)>>>;

Column scaled(const std::string& name, int64_t rows, uint32_t stream, double range, int decimals = 0) {
  const double unit = std::pow(10.0, decimals);
  return numbers_by(
      name, decimals == 0 ? ColumnType::integer : ColumnType::decimal, rows,
      [=](int64_t i) { return std::floor(uniform(i, stream) * range * unit) / unit; }, decimals);
}

TEST(FindRules, ListsWhatAnOrdersTableKeeps) {
  EXPECT_EQ(said(found(orders(1500))),
            (Texts{"amount = items * rate", "country, city and state occur in fixed combinations",
                   "delivered is null exactly where status in ('open')", "end >= start", "fee is a multiple of 25",
                   "price = 3.99 * items", "total = items + extras"}));
}

TEST(FindRules, ReportsTheEvidenceOfEach) {
  const nlohmann::json all = found(orders(1500)).describe();
  for (const nlohmann::json& rule : all) {
    EXPECT_GT(rule["rows"], 1000) << rule;
    EXPECT_GT(rule["held_out"], 400) << rule;
    EXPECT_LT(rule["chance"], 0.9) << rule;
    EXPECT_EQ(rule["kept"], "by construction");
  }
}

TEST(FindRules, FindsNoneInRandomTables) {
  for (uint32_t seed = 0; seed < 20; ++seed)
    EXPECT_EQ(said(found(random_table(seed, 300 + 97 * seed))), Texts{}) << seed;
}

// The rows that propose are the same for every seed: inspect, fit and evaluate find the same rules.
TEST(FindRules, DoNotDependOnTheSeed) {
  const auto six = [](int64_t i, uint32_t stream) { return static_cast<int>(6 * uniform(i, stream)); };
  const std::vector<std::string> cities{"Ulm", "Bonn", "Jena", "Gera", "Köln", "Trier"};
  const auto city = [&](int k) { return cities[static_cast<size_t>(k % 6)]; };
  Table t = table({texts_by("from", 120, [&](int64_t i) { return city(six(i, 1)); }),
                   texts_by("to", 120, [&](int64_t i) { return city(six(i, 1) + 1 + six(i, 2) % 5); }),
                   scaled("items", 120, 4, 50), scaled("extras", 120, 5, 900)});
  t.columns.push_back(whole_by("total", 120, [&](int64_t i) {
    return t.columns[2].numbers[static_cast<size_t>(i)] + t.columns[3].numbers[static_cast<size_t>(i)];
  }));
  for (const uint64_t seed : {0u, 1u, 2u}) {
    FitOptions o = quick_made(1);
    o.seed = seed, o.rules.find = true;
    EXPECT_EQ(said(fit(Table(t), o).shared_rows()->rules), (Texts{"from != to", "total = items + extras"})) << seed;
  }
}

// Their squares are infinite, or zero.
TEST(FindRules, HandlesNumbersOfAnySize) {
  constexpr int64_t kRows = 600;
  const auto of = [](uint32_t stream, double low, double high) {
    return [=](int64_t i) {
      const double u = uniform(i, stream);
      return u < 0.3 ? low : u < 0.6 ? high : 5.5;
    };
  };
  Table t = table({numbers_by("huge", ColumnType::decimal, kRows, of(1, 1e-300, 1e300)),
                   numbers_by("both", ColumnType::decimal, kRows, of(2, -1.7e308, 1.7e308)),
                   numbers_by("tiny", ColumnType::decimal, kRows, of(3, 1e-300, 1e-290)), scaled("items", kRows, 4, 50),
                   scaled("extras", kRows, 5, 900)});
  t.columns.push_back(whole_by("total", kRows, [&](int64_t i) {
    return t.columns[3].numbers[static_cast<size_t>(i)] + t.columns[4].numbers[static_cast<size_t>(i)];
  }));
  for (Column& c : t.columns)
    if (c.type == ColumnType::decimal) c.format = "%g", c.decimals = 15;
  const Texts rules = said(found(t));
  EXPECT_EQ(std::ranges::count(rules, "total = items + extras"), 1);
}

// A sum that one row violates is still kept.
TEST(FindRules, DropsARuleAfterOneViolation) {
  Table t = orders(1500);
  for (Column& c : t.columns) {
    if (c.name == "end") c.numbers[700] -= 2000;
    if (c.name == "total") c.numbers[701] += 1;
    if (c.name == "delivered") c.numbers[702] = c.is_missing(702) ? 1.5 : kMissing;
    if (c.name == "fee") c.numbers[703] += 1;
  }
  EXPECT_EQ(said(found(t)), (Texts{"amount = items * rate", "country, city and state occur in fixed combinations",
                                   "price = 3.99 * items", "total = items + extras"}));
}

TEST(FindRules, SumsOfManyKinds) {
  constexpr int64_t kRows = 800;
  Table t = table({scaled("a", kRows, 1, 500), scaled("b", kRows, 2, 900, 1), scaled("c", kRows, 3, 70, 2)});
  const auto value = [&](const char* name, int64_t i) { return column(t, name).numbers[static_cast<size_t>(i)]; };
  const auto add = [&](const std::string& name, auto of, int decimals) {
    t.columns.push_back(decimals_by(name, kRows, decimals, of));
    const Texts rules = said(found(t));
    t.columns.pop_back();
    return rules;
  };
  EXPECT_EQ(add(
                "sum", [&](int64_t i) { return value("a", i) + value("b", i) + value("c", i); }, 2),
            Texts{"sum = a + b + c"});
  EXPECT_EQ(add(
                "copy", [&](int64_t i) { return value("b", i); }, 1),
            Texts{"copy = b"});
  EXPECT_EQ(add(
                "shifted", [&](int64_t i) { return 1.19 * value("b", i) + 4.5; }, 4),
            Texts{"shifted = 1.19 * b + 4.5"});
  EXPECT_EQ(add(
                "third", [&](int64_t i) { return std::nearbyint(value("b", i) / 3 * 100) / 100; }, 2),
            Texts{"third = b / 3"});
  EXPECT_EQ(add(
                "rest", [&](int64_t i) { return value("b", i) - value("a", i); }, 1),
            (Texts{"b = a + rest", "b >= 0"}));
  // shares that sum to a constant stay above zero
  EXPECT_EQ(add(
                "share", [&](int64_t i) { return 2000 - value("a", i) - value("b", i); }, 1),
            (Texts{"share = 2000 - a - b", "share >= 0"}));
  EXPECT_EQ(add(
                "ratio", [&](int64_t i) { return std::nearbyint(value("b", i) / (value("a", i) + 1) * 1e4) / 1e4; }, 4),
            Texts{});
}

// Sampled terms do not know each other's signs.
TEST(FindRules, SumsWithNegativeTermsStayAboveZero) {
  const auto change = [](int64_t i) { return whole_between(i, 1, -100, 500); };
  const auto base = [&](int64_t i) { return std::max(0.0, -change(i)) + whole_between(i, 2, 0, 800); };
  const Texts rules = said(found(table({whole_by("change", 800, change), whole_by("base", 800, base),
                                        whole_by("sum", 800, [&](int64_t i) { return change(i) + base(i); })})));
  EXPECT_TRUE(std::ranges::count(rules, "sum >= 0") == 1) << nlohmann::json(rules).dump();
}

// Ranks sum to a constant as shares do, but none of them takes up what the others leave: it would not be a rank.
TEST(FindRules, RanksStayWithinTheirLimits) {
  const auto rank = [](int64_t i, int k) {
    int order[] = {1, 2, 3, 4};
    for (int last = 3; last > 0; --last) std::swap(order[last], order[static_cast<int>((last + 1) * uniform(i, last))]);
    return 1.0 * order[k];
  };
  std::vector<Column> columns;
  for (int k = 0; k < 4; ++k)
    columns.push_back(whole_by("rank" + std::to_string(k + 1), 900, [=](int64_t i) { return rank(i, k); }));
  const Table real = table(std::move(columns));
  Table t = real;
  const Rules rules = reduced(t);
  EXPECT_EQ(said(rules), (Texts{"rank1 != rank2", "rank1 != rank3", "rank2 != rank3",
                                "rank4 = 10 - rank1 - rank2 - rank3", "rank4 between 1 and 4"}));
  t.columns[0].numbers[0] = t.columns[1].numbers[0] = t.columns[2].numbers[0] = 4;  // drawn by a model
  rules.restore(t);
  for (int k = 0; k < 3; ++k) EXPECT_EQ(t.columns[static_cast<size_t>(k)].numbers[0], 4) << k;
}

// Three columns of 0 and 1 that sum to 1: one of them is not a rounded part of the age that decides it.
TEST(FindRules, DummiesFollowFromACut) {
  constexpr int64_t kRows = 900;
  const auto age = [](int64_t i) { return std::floor(30 + 30 * uniform(i, 1)); };
  const auto dummy = [&](const char* name, double from, double to) {
    return whole_by(name, kRows, [=](int64_t i) { return age(i) >= from && age(i) < to ? 1.0 : 0.0; });
  };
  const Texts rules = said(found(
      table({whole_by("age", kRows, age), dummy("young", 0, 40), dummy("middle", 40, 50), dummy("old", 50, 99)})));
  EXPECT_EQ(std::ranges::count_if(rules, [](const std::string& r) { return r.find("* age") != std::string::npos; }), 0)
      << testing::PrintToString(rules);
  EXPECT_GE(std::ranges::count_if(rules,
                                  [](const std::string& r) { return r.find("follows from age") != std::string::npos; }),
            1)
      << testing::PrintToString(rules);
}

// Two parts of the rows, each with a sum of columns that the other part misses, and a column that few rows have.
TEST(FindRules, SumsWhereNoRowHasAllColumns) {
  constexpr int64_t kRows = 800;
  const auto only = [](auto of, auto here) { return [=](int64_t i) { return here(i) ? of(i) : kMissing; }; };
  const auto first = [](int64_t i) { return i % 2 == 0; };
  const auto second = [](int64_t i) { return i % 2 == 1; };
  const auto count = [](uint32_t stream) { return [=](int64_t i) { return std::floor(uniform(i, stream) * 400); }; };
  const auto a = count(1), b = count(2), x = count(3), y = count(4);
  Table t;
  t.rows = kRows;
  const auto add = [&](const char* name, auto of) { t.columns.push_back(whole_by(name, kRows, of)); };
  add("rare", only(count(5), [](int64_t i) { return i % 40 < 2; }));
  add("a", only(a, first)), add("b", only(b, first)), add("x", only(x, second)), add("y", only(y, second));
  add("ab", only([=](int64_t i) { return a(i) + b(i); }, first));
  add("xy", only([=](int64_t i) { return x(i) + y(i); }, second));
  const Texts rules = said(found(t));
  EXPECT_EQ(std::ranges::count(rules, "ab = a + b"), 1);
  EXPECT_EQ(std::ranges::count(rules, "xy = x + y"), 1);
}

TEST(FindRules, ProductsOfManyKinds) {
  constexpr int64_t kRows = 900;
  const auto level = [](int64_t i, uint32_t stream, std::vector<double> of) {
    return of[static_cast<size_t>(static_cast<double>(of.size()) * uniform(i, stream))];
  };
  Table t = table({whole_by("count", kRows,
                            [=](int64_t i) {
                              return level(i, 1, {1, 2, 3, 5, 12});
                            }),
                   decimals_by("price", kRows, 2, [=](int64_t i) { return 3 + std::floor(9e3 * uniform(i, 2)) / 100; }),
                   whole_by("off", kRows,
                            [=](int64_t i) {
                              return level(i, 3, {0, 0, 5, 10, 15});
                            }),
                   whole_by("tax", kRows,
                            [=](int64_t i) {
                              return level(i, 4, {7, 19});
                            }),
                   decimals_by("part", kRows, 2,
                               [=](int64_t i) {
                                 return level(i, 5, {0.25, 0.5, 0.75});
                               }),
                   whole_by("height", kRows, [](int64_t i) { return 120 + std::floor(80 * uniform(i, 6)); }),
                   scaled("noise", kRows, 7, 900)});
  const auto value = [&](const char* name, int64_t i) { return column(t, name).numbers[static_cast<size_t>(i)]; };
  const auto add = [&](auto of, int decimals) {
    const double unit = std::pow(10.0, decimals);
    t.columns.push_back(
        decimals_by("it", kRows, decimals, [&](int64_t i) { return std::nearbyint(of(i) * unit) / unit; }));
    const Texts rules = said(found(t));
    t.columns.pop_back();
    return rules;
  };
  EXPECT_EQ(add([&](int64_t i) { return value("count", i) * value("price", i); }, 2), Texts{"it = count * price"});
  EXPECT_EQ(add([&](int64_t i) { return value("price", i) * value("tax", i) / 100; }, 2),
            Texts{"it = price * tax / 100"});
  EXPECT_EQ(add([&](int64_t i) { return value("price", i) * (1 + value("tax", i) / 100); }, 2),
            Texts{"it = price * (1 + tax / 100)"});
  EXPECT_EQ(add([&](int64_t i) { return value("count", i) * value("price", i) * (1 - value("off", i) / 100); }, 2),
            Texts{"it = count * price * (1 - off / 100)"});
  EXPECT_EQ(add([&](int64_t i) { return value("price", i) * (1 - value("part", i)); }, 4),
            Texts{"it = price * (1 - part)"});
  EXPECT_EQ(add([&](int64_t i) { return 1e4 * value("price", i) / value("height", i) / value("height", i); }, 1),
            Texts{"it = 10000 * price / height / height"});
  EXPECT_EQ(add([&](int64_t i) { return value("price", i) / value("count", i); }, 3), Texts{"it = price / count"});
  EXPECT_EQ(add([&](int64_t i) { return 1 / value("price", i); }, 6), Texts{"it = 1 / price"});
  EXPECT_EQ(add([&](int64_t i) { return -2.5 * value("price", i) * value("count", i); }, 3),
            Texts{"it = -2.5 * count * price"});
  // in all rows but one in a hundred, and a power that is no whole number
  EXPECT_EQ(add([&](int64_t i) { return value("noise", i) * value("price", i) + (i % 97 == 0 ? 50 : 0); }, 2),
            Texts{"it = price * noise in 98.9 % of the rows"});
  EXPECT_EQ(add([&](int64_t i) { return value("price", i) * std::pow(value("height", i), 0.37); }, 2),
            Texts{"it >= price"});
}

// The tax is of the rounded net amount, so that the net amount may follow from others, and not before the tax does.
TEST(FindRules, ProductsOfProducts) {
  constexpr int64_t kRows = 900;
  const auto count = [](int64_t i) { return 1 + std::floor(9 * uniform(i, 1)); };
  const auto price = [=](int64_t i) { return cents(2 + 90 * uniform(i, 2)); };
  const auto off = [](int64_t i) { return 5 * std::floor(4 * uniform(i, 3)); };
  const auto net = [=](int64_t i) { return cents(count(i) * price(i) * (1 - off(i) / 100)); };
  const auto tax = [](int64_t i) { return uniform(i, 4) < 0.7 ? 19.0 : 7.0; };
  const auto due = [=](int64_t i) { return cents(net(i) * tax(i) / 100); };
  EXPECT_EQ(said(found(table({whole_by("count", kRows, count), decimals_by("price", kRows, 2, price),
                              whole_by("off", kRows, off), decimals_by("net", kRows, 2, net),
                              whole_by("tax", kRows, tax), decimals_by("due", kRows, 2, due),
                              decimals_by("gross", kRows, 2, [=](int64_t i) { return net(i) + due(i); })}))),
            (Texts{"due = net * tax / 100", "gross = net + due", "net = count * price * (1 - off / 100)"}));
}

// Each is rounded, so that the price is what is paid over the rest, but not the other way round: computed so, whole
// amounts would be cents off.
TEST(FindRules, ProductsBeforeTheirQuotients) {
  constexpr int64_t kRows = 900;
  const auto count = [](int64_t i) { return 1 + std::floor(9 * uniform(i, 1)); };
  const auto price = [=](int64_t i) { return cents(2 + 90 * uniform(i, 2)); };
  const auto off = [](int64_t i) { return 5 * std::floor(3 * uniform(i, 3)); };
  const auto tax = [](int64_t i) { return uniform(i, 4) < 0.7 ? 19.0 : 7.0; };
  const auto net = [=](int64_t i) { return cents(count(i) * price(i)); };
  const auto gross = [=](int64_t i) { return cents(net(i) * (1 + tax(i) / 100)); };
  const auto paid = [=](int64_t i) { return cents(gross(i) * (1 - off(i) / 100)); };
  EXPECT_EQ(said(found(table({decimals_by("price", kRows, 2, price), whole_by("count", kRows, count),
                              decimals_by("net", kRows, 2, net), whole_by("tax", kRows, tax),
                              decimals_by("gross", kRows, 2, gross), whole_by("off", kRows, off),
                              decimals_by("paid", kRows, 2, paid)}))),
            (Texts{"gross = net * (1 + tax / 100)", "net = price * count", "paid = gross * (1 - off / 100)"}));
}

// Tax and total follow from the amount alone, but for rounding, and from each other to the cent: where a half cent is
// rounded, only the sum says it.
TEST(FindRules, SumsOfColumnsThatAreRounded) {
  constexpr int64_t kRows = 900;
  const auto amount = [=](int64_t i) { return cents(std::floor(9e4 * uniform(i, 1)) / 100 + 0.5); };
  const auto part = [=](int64_t i) { return cents(0.19 * amount(i) - 1e-9); };  // rounds half cents down
  const auto fee = [=](int64_t i) { return cents(30 * uniform(i, 2)); };
  // Of a table of these columns: its rules, and what restored rows keep.
  const auto expect = [&](const NamedFormulas& columns, const Texts& rules, auto kept) {
    Table t;
    t.rows = kRows;
    for (const auto& [name, of] : columns) t.columns.push_back(decimals_by(name, kRows, 2, of));
    const Rules all = reduced(t);
    EXPECT_EQ(said(all), rules);
    all.restore(t);
    for (int64_t i = 0; i < kRows; ++i)
      EXPECT_NEAR(kept([&](const char* name) { return column(t, name).numbers[static_cast<size_t>(i)]; }), 0, 1e-9);
  };
  const auto total = [=](int64_t i) { return amount(i) + part(i); };
  const auto taxed = [](auto value) { return value("total") - value("amount") - value("tax"); };
  expect({{"amount", amount}, {"tax", part}, {"total", total}}, {"tax = 0.19 * amount", "total = amount + tax"}, taxed);
  expect({{"total", total}, {"tax", part}, {"amount", amount}}, {"tax = 0.19 * amount", "total = tax + amount"}, taxed);
  expect({{"fee", fee}, {"amount", amount}, {"total", [=](int64_t i) { return total(i) + fee(i); }}, {"tax", part}},
         {"tax = 0.19 * amount", "total = fee + amount + tax"},
         [](auto value) { return value("total") - value("amount") - value("tax") - value("fee"); });
  // what a discount leaves, the amount being the sum of both
  expect({{"amount", amount}, {"off", part}, {"left", [=](int64_t i) { return amount(i) - part(i); }}},
         {"left = amount - off", "left >= 0", "off = 0.19 * amount"},
         [](auto value) { return value("amount") - value("off") - value("left"); });
}

TEST(FindRules, CurvesOfOneNumber) {
  constexpr int64_t kRows = 700;
  const auto whole = [](int64_t i) { return 1 + std::floor(900 * uniform(i, 1) * uniform(i, 2)); };
  const auto places = [](double x, int decimals) {
    const double unit = std::pow(10.0, decimals);
    return std::nearbyint(x * unit) / unit;
  };
  const auto rules = [&](auto of, int decimals) {
    return said(found(
        table({whole_by("wage", kRows, whole),
               whole_by("other", kRows, [](int64_t i) { return std::floor(900 * uniform(i, 3)); }),
               decimals_by("curve", kRows, decimals, [&](int64_t i) { return places(of(whole(i)), decimals); })})));
  };
  EXPECT_EQ(rules([](double x) { return std::log(x); }, 6), Texts{"curve = ln(wage)"});
  EXPECT_EQ(rules([](double x) { return std::log(x); }, 2), Texts{"curve = ln(wage)"});
  // calculated in single precision
  EXPECT_EQ(rules([](double x) { return static_cast<double>(std::log(static_cast<float>(x + 1))); }, 6),
            Texts{"curve = ln(wage + 1)"});
  EXPECT_EQ(rules([](double x) { return 7 - std::log10(x); }, 4), (Texts{"curve = 7 - log10(wage)", "curve >= 0"}));
  // of half of the rows
  EXPECT_EQ(rules([](double x) { return static_cast<int64_t>(x) % 2 == 0 ? std::log(x) : 3 + std::sin(x); }, 5),
            Texts{});
  EXPECT_EQ(rules([](double x) { return std::pow(x, 0.7); }, 3), Texts{"wage >= curve"});
  // a number from its logarithm, which has more digits than the number says
  const auto log_price = [&](int64_t i) { return places(3 + 2 * uniform(i, 4) + uniform(i, 5), 6); };
  EXPECT_EQ(
      said(found(table({decimals_by("log_price", kRows, 6, log_price),
                        whole_by("price", kRows, [&](int64_t i) { return std::nearbyint(std::exp(log_price(i))); })}))),
      Texts{"price = exp(log_price)"});
}

TEST(FindRules, DatesAndTheDaysBetween) {
  constexpr int64_t kRows = 600;
  const auto day = [](int64_t i) { return 18000 + std::floor(uniform(i, 1) * 900); };
  const auto days = [](int64_t i) { return std::floor(uniform(i, 2) * 60); };
  EXPECT_EQ(said(found(
                table({dates_by("from", kRows, day), dates_by("to", kRows, [&](int64_t i) { return day(i) + days(i); }),
                       whole_by("days", kRows, days)}))),
            Texts{"to = from + days"});
  const auto time = [&](int64_t i) { return 86400 * day(i) + std::floor(uniform(i, 3) * 86400); };
  EXPECT_EQ(said(found(table({times_by("begun", kRows, time),
                              times_by("ended", kRows, [&](int64_t i) { return time(i) + 60 * days(i); }),
                              whole_by("minutes", kRows, days)}))),
            Texts{"ended = begun + minutes / 1440"});
}

TEST(FindRules, FindsNumbersThatCountFromADate) {
  constexpr int64_t kRows = 600;
  const auto at = [](int64_t i) { return 1.6e9 + std::floor(5e7 * uniform(i, 1)); };
  const auto day = [](int64_t i) { return 18000 + std::floor(uniform(i, 2) * 900); };
  const Column times = times_by("at", kRows, at), seconds = whole_by("seconds", kRows, at),
               millis = whole_by("millis", kRows, [&](int64_t i) { return 1000 * at(i); });
  EXPECT_EQ(said(found(table({times, seconds}))), Texts{"seconds = 86400 * (at - '1970-01-01')"});
  EXPECT_EQ(said(found(table({seconds, times}))), Texts{"seconds = 86400 * (at - '1970-01-01')"});
  EXPECT_EQ(said(found(table({millis, times}))), Texts{"millis = 86400000 * (at - '1970-01-01')"});
  const Column days = dates_by("on", kRows, day),
               serial = whole_by("serial", kRows, [&](int64_t i) { return day(i) + 25569; });
  EXPECT_EQ(said(found(table({days, serial}))), Texts{"serial = (on - '1970-01-01') + 25569"});
  EXPECT_EQ(said(found(table({serial, days}))), Texts{"serial = (on - '1970-01-01') + 25569"});
  // two numbers beside two dates go together by some factor, and count nothing
  const auto two = [&](const char* name, ColumnType type, double low, double high) {
    return numbers_by(name, type, kRows, [=](int64_t i) { return uniform(i, 3) < 0.5 ? low : high; });
  };
  const Column plan = two("plan", ColumnType::integer, 7, 12), from = two("from", ColumnType::date, 19722, 19754);
  for (const Table& t : {table({plan, from, times}), table({from, plan, times})})
    for (const std::string& rule : said(found(t))) EXPECT_EQ(rule.find("1970"), std::string::npos) << rule;
}

TEST(FindRules, ListsEachBoundOfAChainOnce) {
  constexpr int64_t kRows = 700;
  const auto low = [](int64_t i) { return std::floor(uniform(i, 1) * 100); };
  const auto open = [&](int64_t i) { return low(i) + std::floor(uniform(i, 2) * 30); };
  const auto close = [&](int64_t i) { return low(i) + std::floor(uniform(i, 3) * 30); };
  const auto high = [&](int64_t i) { return std::max(open(i), close(i)) + std::floor(uniform(i, 4) * 9); };
  EXPECT_EQ(said(found(table({whole_by("open", kRows, open), whole_by("high", kRows, high), whole_by("low", kRows, low),
                              whole_by("close", kRows, close)}))),
            (Texts{"close >= low", "high >= open and high >= close", "open >= low"}));
  const auto chance = [&](std::vector<Column> lower) {  // of several, that of the weakest
    lower.push_back(whole_by("high", kRows, high));
    for (const nlohmann::json& rule : found(table(std::move(lower))).describe())
      if (rule["rule"].get<std::string>().starts_with("high")) return rule["chance"].get<double>();
    return kMissing;
  };
  const Column a = whole_by("open", kRows, open), b = whole_by("close", kRows, close);
  EXPECT_NE(chance({a}), chance({b}));
  EXPECT_EQ(chance({a, b}), std::max(chance({a}), chance({b})));
}

// Few policies are cancelled: their end is learned by its distance to the start. That they are not cancelled before
// their inception has no evidence of its own.
TEST(FindRules, KeepsAnOrderBesideAnOptionalColumn) {
  constexpr int64_t kRows = 2500;
  const auto start = [](int64_t i) { return 18000 + whole_between(i, 1, 0, 999); };
  const auto days = [](int64_t i) { return uniform(i, 2) < 0.5 ? 182 : 364 + whole_between(i, 5, 0, 9); };
  const auto cancelled = [=](int64_t i) {
    return uniform(i, 3) < 0.9 ? kMissing : start(i) + std::floor(days(i) * uniform(i, 4));
  };
  const Table real =
      table({dates_by("inception", kRows, [=](int64_t i) { return start(i) - std::floor(1900 * uniform(i, 6)); }),
             dates_by("start", kRows, start), dates_by("end", kRows, [=](int64_t i) { return start(i) + days(i); }),
             dates_by("cancelled", kRows, cancelled)});
  EXPECT_EQ(said(found(real)), (Texts{"cancelled >= start", "end >= cancelled", "end >= start", "start >= inception"}));
  Table t = real;
  const Rules rules = reduced(t);
  for (const double x : column(t, "cancelled").numbers) EXPECT_TRUE(x != x || (x >= 0 && x < 373)) << x;
  const Table rows = sample(fit(real, quick_made(2)), 1000);
  const auto number = [&](const char* name, int64_t i) { return column(rows, name).numbers[static_cast<size_t>(i)]; };
  EXPECT_EQ(share(rows,
                  [&](int64_t i) {
                    const double from = number("start", i), to = number("end", i), between = number("cancelled", i);
                    return to - from >= 182 && to - from <= 373 && !(between < from) && !(between > to);
                  }),
            1);
}

TEST(FindRules, OrdersDatesAndTimesWithEachOther) {
  constexpr int64_t kRows = 700;
  constexpr double kDay = 86400;
  const auto joined = [](int64_t i) { return 19000 + std::floor(uniform(i, 1) * 900); };
  const auto seen = [&](int64_t i) { return joined(i) * kDay + std::floor(uniform(i, 2) * 90 * kDay); };
  const auto closed = [&](int64_t i) { return std::ceil(seen(i) / kDay) + std::floor(uniform(i, 3) * 40); };
  const Table real =
      table({dates_by("closed", kRows, closed), times_by("seen", kRows, seen), dates_by("joined", kRows, joined)});
  Table t = real;
  const Rules rules = reduced(t);
  EXPECT_EQ(said(rules), (Texts{"closed >= seen", "seen >= joined"}));
  const Rules read = Rules::from_json(rules.to_json());
  expect_restored(read, std::move(t), real);
}

// A date that is never before the day of a time, on which it may be.
TEST(FindRules, OrdersDatesWithTheDaysOfTimes) {
  constexpr int64_t kRows = 700;
  constexpr double kDay = 86400;
  const auto tested = [](int64_t i) { return 1.6e9 + std::floor(5e7 * uniform(i, 1)); };
  const auto told = [&](int64_t i) { return std::floor(tested(i) / kDay) + std::floor(4 * uniform(i, 2)); };
  const Table real = table({times_by("tested", kRows, tested), dates_by("told", kRows, told)});
  Table t = real;
  const Rules rules = reduced(t);
  EXPECT_EQ(said(rules), Texts{"told > tested - 1"});
  const Rules read = Rules::from_json(rules.to_json());
  expect_restored(read, std::move(t), real);
  expect_reduces_again(read, real);
  const Table rows = sample(fit(real, quick_made(3)), 1000);
  EXPECT_EQ(share(rows,
                  [&](int64_t i) {
                    const auto at = static_cast<size_t>(i);
                    return column(rows, "told").numbers[at] < std::floor(column(rows, "tested").numbers[at] / kDay);
                  }),
            0);
  Table broken = real;
  broken.columns[1].numbers[5] = std::floor(broken.columns[0].numbers[5] / kDay) - 1;
  EXPECT_EQ(read.found().front().rule->broken(broken, broken)[5], 1);
  EXPECT_EQ(said(found(broken)), Texts{});
}

// Hours between two of three times that go together, rounded.
TEST(FindRules, HoursBetweenTimesInOrder) {
  constexpr int64_t kRows = 1500;
  const auto taken = [](int64_t i) { return 1.6e9 + 900 * std::floor(3e4 * uniform(i, 1)); };
  const auto come = [&](int64_t i) { return taken(i) + 60 * whole_between(i, 2, 30, 2000); };
  const auto tested = [&](int64_t i) { return come(i) + 60 * whole_between(i, 3, 60, 9000); };
  const Texts rules =
      said(found(table({times_by("taken", kRows, taken), times_by("come", kRows, come),
                        times_by("tested", kRows, tested), decimals_by("hours", kRows, 1, [&](int64_t i) {
                          return std::floor((tested(i) - taken(i)) / 360 + 0.5) / 10;
                        })})));
  expect_among(rules, {"hours = 24 * (tested - taken)"});
}

// A date whose distance to an earlier one says less than the date itself is learned as it is, and the few rows that
// break the order are drawn again.
TEST(FindRules, DatesOfAShortTimeAreNoDistances) {
  constexpr int64_t kRows = 2000;
  const auto picked = [](int64_t i) { return 20000 + whole_between(i, 1, 0, 13); };
  const auto made = [&](int64_t i) { return picked(i) - std::floor(400 * uniform(i, 2) * uniform(i, 3)); };
  const Table real = table({dates_by("made", kRows, made), dates_by("picked", kRows, picked)});
  Table t = real;
  const Rules rules = reduced(t);
  ASSERT_EQ(said(rules), Texts{"picked >= made"});
  EXPECT_EQ(rules.describe()[0]["kept"], "by rejection");
  EXPECT_GT(rules.describe()[0]["chance"], 0.6);
  EXPECT_EQ(rules.checked(), Texts{"picked >= made"});
  EXPECT_EQ(lines(t), lines(real));
  const Table rows = sample(fit(real, quick_made(3)), 500);
  const auto number = [&](const char* name, int64_t i) { return column(rows, name).numbers[static_cast<size_t>(i)]; };
  EXPECT_EQ(share(rows,
                  [&](int64_t i) {
                    return number("picked", i) >= 20000 && number("picked", i) <= 20013 &&
                           number("picked", i) >= number("made", i);
                  }),
            1);
}

// Two columns of which chance breaks the order seldom are learned as they are; steps of sequences cannot be drawn
// again.
TEST(FindRules, IgnoresOrdersThatHoldByChance) {
  constexpr int64_t kRows = 2000;
  const auto inside = [](int64_t i) { return std::floor(uniform(i, 1) * 100); };
  const auto outside = [&](int64_t i) { return std::max(inside(i), 60 + std::floor(uniform(i, 2) * 300)); };
  const Table real = table({whole_by("inside", kRows, inside), whole_by("outside", kRows, outside)});
  for (const bool by_rejection : {true, false}) {
    RuleOptions options;
    options.by_rejection = by_rejection;
    Table t = real;
    const Rules rules = reduced(t, options);
    EXPECT_EQ(said(rules), Texts{"outside >= inside"});
    EXPECT_EQ(rules.describe()[0]["kept"], by_rejection ? "by rejection" : "by construction");
    EXPECT_GT(rules.describe()[0]["chance"], 0.6);
    EXPECT_EQ(rules.checked(), by_rejection ? Texts{"outside >= inside"} : Texts{});
    EXPECT_EQ(lines(t) == lines(real), by_rejection);
    const Rules read = Rules::from_json(rules.to_json());
    EXPECT_EQ(read.describe(), rules.describe());
    expect_restored(read, std::move(t), real);
  }
  RuleOptions given;
  given.given = {"outside >= inside"};
  EXPECT_EQ(found(real, given).describe()[0]["kept"], "by construction");
}

TEST(FindRules, ColumnsOfOtherUnitsHaveNoOrder) {
  constexpr int64_t kRows = 700;
  Table t = table({scaled("bonus", kRows, 1, 80), whole_by("salary", kRows, [](int64_t i) {
                     return std::floor(80 * uniform(i, 1)) + std::floor(60 * uniform(i, 2));
                   })});
  EXPECT_EQ(said(found(t)), Texts{"salary >= bonus"});
  t.columns[0].format = "0 \"%\"", t.columns[1].format = "\"$\"0";
  EXPECT_EQ(said(found(t)), Texts{});
}

// The factors of two times that go together are uncertain by more than the day that one of them gives alone.
TEST(FindRules, TheDayOfOneOfTwoTimes) {
  constexpr int64_t kRows = 600;
  const auto day = [](int64_t i) { return 18000 + std::floor(uniform(i, 1) * 900); };
  const auto time = [&](int64_t i) { return 86400 * day(i) + std::floor(uniform(i, 2) * 86400); };
  const auto later = [&](int64_t i) { return time(i) + std::floor(uniform(i, 3) * 9e4); };
  EXPECT_EQ(
      said(found(table({times_by("begun", kRows, time), times_by("ended", kRows, later), dates_by("day", kRows, day),
                        times_by("zone", kRows, [&](int64_t i) { return time(i) - 2 * 3600; })}))),
      (Texts{"day is the date of begun", "ended >= begun", "zone is 2 hours before begun"}));
}

// Half of the rows would keep it by chance; a text that has one value of another column is a rule all the same. A
// number is not made a list of levels for so little: here one row's age is of no band.
TEST(FindRules, ATextThatDeterminesAnotherColumn) {
  constexpr int64_t kRows = 600;
  const auto city = [](int64_t i) {
    return std::vector<std::string>{"Bonn", "Essen", "Jena", "Gera"}[static_cast<size_t>(4 * uniform(i, 1))];
  };
  const auto age = [](int64_t i) { return std::floor(60 * uniform(i, 2)); };
  EXPECT_EQ(said(found(table(
                {texts_by("city", kRows, city),
                 texts_by("state", kRows, [&](int64_t i) { return city(i).ends_with("a") ? "Thüringen" : "NRW"; }),
                 whole_by("age", kRows, age),
                 texts_by("adult", ColumnType::boolean, kRows,
                          [&](int64_t i) { return age(i) < 25 || i == 9 ? "no" : "yes"; })}))),
            (Texts{"city and state occur in fixed combinations"}));
}

// Within a rounding of the exact weight on average, and not in every row.
TEST(FindRules, FindsCopiesOfAnAlmostDeterminedColumn) {
  constexpr int64_t kRows = 600;
  const auto kilograms = [](int64_t i) { return std::floor(uniform(i, 1) * 900); };
  const auto exact = [&](int64_t i) { return kilograms(i) + (uniform(i, 2) - 0.5) * 1.1; };
  EXPECT_EQ(said(found(table({decimals_by("exact", kRows, 3, exact), whole_by("kilograms", kRows, kilograms),
                              whole_by("again", kRows, kilograms)}))),
            (Texts{"again = kilograms"}));
}

// Columns that are never below each other are equal; where sums are not looked for, the first is the lower one.
TEST(FindRules, EqualColumnsHaveAnOrder) {
  constexpr int64_t kRows = 300;
  const auto value = [](int64_t i) { return std::floor(uniform(i, 1) * 1000); };
  Table rows = table({whole_by("a", kRows, value), whole_by("b", kRows, value), whole_by("c", kRows, value)});
  RuleOptions options;
  options.find = false;
  options.given = {"a <= b", "b <= a", "b <= c", "c <= a"};
  Team team(1);
  const Table before = rows;
  const Rules rules = Rules::find(rows, options, team, Monitor{});
  EXPECT_EQ(said(rules), (Texts{"b >= a", "c >= b"}));
  options.given = {"b <= a"};
  Table one = before;
  EXPECT_EQ(said(Rules::find(one, options, team, Monitor{})), Texts{"b >= a"});
  rules.restore(rows);
  for (size_t j = 0; j < before.columns.size(); ++j)
    for (size_t i = 0; i < kRows; ++i) EXPECT_EQ(rows.columns[j].numbers[i], before.columns[j].numbers[i]) << j << i;
}

TEST(FindRules, ColumnsOfDifferentSizesAreNoRule) {
  EXPECT_EQ(said(found(table({scaled("age", 900, 1, 80), scaled("salary", 900, 2, 90'000)}))), Texts{});
  // nor is a number that is one and the same wherever the other one is
  const auto graded = [](int64_t i) { return uniform(i, 3) < 0.5; };
  EXPECT_EQ(said(found(table(
                {whole_by("mark", 900, [=](int64_t i) { return graded(i) ? whole_between(i, 4, 0, 99) : kMissing; }),
                 whole_by("most", 900, [=](int64_t i) { return graded(i) ? 100 : whole_between(i, 5, 0, 99); })}))),
            Texts{"mark is null exactly where most < 100"});
}

TEST(FindRules, LeavesAlonePartsOfSequences) {
  RuleOptions options;
  options.excluded = {"start", "items", "city"};
  const Texts rules = said(found(orders(1500), options));
  for (const std::string& rule : rules)
    for (const std::string& name : options.excluded) EXPECT_EQ(rule.find(name), std::string::npos) << rule;
}

TEST(FindRules, FindsNothingInFewRows) { EXPECT_EQ(said(found(orders(40))), Texts{}); }

TEST(FindRules, ConstructsGivenRulesIfPossible) {
  RuleOptions options;
  options.given = {"total = items + extras", "end >= start", "items < 60", "price >= items"};
  Table t = orders(300);
  Team team(1);
  const Rules rules = Rules::find(t, options, team, Monitor{});
  EXPECT_EQ(said(rules), (Texts{"end >= start", "items < 60", "price >= items", "total = items + extras"}));
  EXPECT_EQ(rules.checked(), Texts{"items < 60"});
}

TEST(FindRules, KeepsGivenCombinationsRegardlessOfChance) {
  RuleOptions options;
  options.given = {"status and \"country\" occur in fixed combinations"};
  Table t = orders(300);
  Team team(1);
  const Rules rules = Rules::find(t, options, team, Monitor{});
  EXPECT_EQ(said(rules), Texts{"country and status occur in fixed combinations"});
  rules.restore(t);
  EXPECT_EQ(lines(t), lines(orders(300)));
  // Its text gives the same rule again. A column that does not vary is in none.
  options.given = said(rules);
  Table again = orders(300);
  EXPECT_EQ(said(Rules::find(again, options, team, Monitor{})), options.given);
  options.given = {"status and planet occur in fixed combinations"};
  again = orders(300);
  again.columns.push_back(texts_by("planet", ColumnType::constant, again.rows, [](int64_t) { return "Earth"; }));
  EXPECT_EQ(said(Rules::find(again, options, team, Monitor{})), Texts{});
}

TEST(FindRules, GivenRulesNeedEachOther) {
  RuleOptions options;
  options.given = {"price = 3.99 * items", "items = total - extras"};
  for (int turn = 0; turn < 2; ++turn) {
    Table t = orders(300);
    Team team(1);
    const Rules rules = Rules::find(t, options, team, Monitor{});
    t.columns.resize(t.columns.size());
    rules.restore(t);
    const Table real = orders(300);
    EXPECT_EQ(lines(t), lines(real));
    EXPECT_EQ(rules.checked(), Texts{"items >= 0"});
    std::reverse(options.given.begin(), options.given.end());
  }
  options.given = {"items = total - extras", "total = items + extras"};  // one of them computes its column
  Table t = orders(300);
  Team team(1);
  EXPECT_EQ(Rules::find(t, options, team, Monitor{}).checked(), (Texts{"items >= 0", "total = items + extras"}));
}

// A wide table is searched for long.
TEST(FindRules, ReportsEachSearch) {
  std::vector<Progress> told;
  Monitor monitor;
  monitor.on_progress = [&](const Progress& p) { told.push_back(p); };
  const auto search = [&](bool find) {
    RuleOptions options;
    options.find = find;
    Table t = orders(300);
    Team team(1);
    return static_cast<double>(Rules::find(t, options, team, monitor).found().size());
  };
  search(false);
  EXPECT_TRUE(told.empty());
  const double found = search(true);
  ASSERT_GT(told.size(), 20u);
  for (const Progress& p : told) EXPECT_STREQ(p.phase, "rules");
  EXPECT_TRUE(told.back().finished);
  EXPECT_EQ(told.back().done, found);
  EXPECT_GT(found, 0);
}

TEST(FindRules, RejectsInvalidGivenRulesWithAReason) {
  const auto give = [](const std::string& rule, bool rejection = true) {
    return thrown([&] {
      RuleOptions options;
      options.given = {rule}, options.by_rejection = rejection, options.excluded = {"city"};
      Table t = orders(300);
      Team team(1);
      (void)Rules::find(t, options, team, Monitor{});
    });
  };
  EXPECT_TRUE(give("").says("A rule is empty"));
  EXPECT_TRUE(give("  ").says("end >= start"));
  EXPECT_TRUE(give("items > 3 and extras > 4").says("is 2 rules"));
  EXPECT_TRUE(give("itens > 3").says("Nearest: \"items\""));
  EXPECT_TRUE(give("items > 3", false).says("cannot be drawn again"));
  EXPECT_TRUE(give("items > 1e6").says("Rule \"items > 1e6\" holds in no row of the table"));
  EXPECT_TRUE(give("items > itens").says("there is no column itens"));
  EXPECT_TRUE(give("city = 'Berlin'").says("\"city\" is the key"));
  EXPECT_TRUE(give("rate and amount occur in fixed combinations").says("more than 1,000 combinations"));
  EXPECT_TRUE(give("city and state occur in fixed combinations").says("\"city\" is the key"));
  EXPECT_TRUE(give("country occur in fixed combinations").says("two columns or more"));
  EXPECT_TRUE(give("country and country occur in fixed combinations").says("two columns or more"));
  EXPECT_TRUE(give("country state occur in fixed combinations").says("expected \",\" or \"and\""));
  EXPECT_EQ(give("country and stat occur in fixed combinations").code, ErrorCode::condition);
  // numbers of all digits, of which none is the next one above
  RuleOptions options;
  options.given = {"high > low"}, options.by_rejection = false;
  const auto low = [](int64_t i) { return cents(between(i, 1, 0, 9)); };
  Table t =
      table({decimals_by("low", 300, 2, low), decimals_by("high", 300, 2, [&](int64_t i) { return low(i) + 1; })});
  for (Column& c : t.columns) c.format = "%g";
  Team team(1);
  EXPECT_TRUE(thrown([&] { (void)Rules::find(t, options, team, Monitor{}); }).says("cannot be drawn again"));
  EXPECT_EQ(give("items >").code, ErrorCode::usage);
  EXPECT_EQ(give("itens > 3").code, ErrorCode::condition);
}

}  // namespace
}  // namespace tessera::whole
