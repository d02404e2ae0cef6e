// Numbers that another one gives at a rate of each category, and categories that determine others.
#include "tables/rules/kinds/rate.h"

#include <nlohmann/json.hpp>

#include "rules/orders.h"

namespace tessera::whole {
namespace {

int product(int64_t i) { return static_cast<int>(40 * uniform(i, 1)); }
double quantity(int64_t i) { return 1 + std::floor(12 * uniform(i, 2) * uniform(i, 3)); }
double unit_price(int product) { return cents(1 + 60 * uniform(product, 9)); }
double ordered(int64_t i) { return 19000 + std::floor(900 * uniform(i, 4)); }
int terms(int64_t i) { return static_cast<int>(3 * uniform(i, 5)); }

Table sales(int64_t rows) {
  const std::vector<std::string> names{"cash", "net 14", "net 30"};
  return table({texts_by("product", rows, [](int64_t i) { return "p" + std::to_string(product(i)); }),
                whole_by("quantity", rows, quantity),
                decimals_by("amount", rows, 2, [](int64_t i) { return cents(quantity(i) * unit_price(product(i))); }),
                dates_by("ordered", rows, ordered),
                texts_by("terms", rows, [=](int64_t i) { return names[static_cast<size_t>(terms(i))]; }),
                dates_by("due", rows, [](int64_t i) {
                  return ordered(i) + (terms(i) == 0 ? 0 : terms(i) == 1 ? 14 : 30);
                })});
}

const Texts kRulesOfSales{"amount / quantity follows from product", "due - ordered follows from terms"};

TEST(RateRules, AreFound) { EXPECT_EQ(said(found(sales(2500))), kRulesOfSales); }

TEST(RateRules, AreDroppedAfterOneViolation) {
  Table t = sales(2500);
  t.columns[2].numbers[7] += 0.05, t.columns[5].numbers[8] -= 1;
  for (const std::string& rule : said(found(t))) EXPECT_EQ(std::ranges::count(kRulesOfSales, rule), 0) << rule;
  t = sales(2500);
  t.columns[1].numbers[7] = 0;  // at no rate it costs something
  EXPECT_EQ(std::ranges::count(said(found(t)), kRulesOfSales[0]), 0);
}

TEST(RateRules, RoundTrip) {
  Table real = sales(2000);
  for (Column& c : real.columns)
    if (c.name == "amount" || c.name == "quantity") c.numbers[5] = kMissing;
  Table t = real;
  const Rules rules = reduced(t);
  ASSERT_EQ(said(rules), kRulesOfSales);
  EXPECT_EQ(t.columns.size(), 4u);
  const Rules read = Rules::from_json(rules.to_json());
  EXPECT_EQ(read.to_json(), rules.to_json());
  expect_restored(read, std::move(t), real);
  expect_reduces_again(rules, real);
}

// Goods without dates have no shelf life, however many they are.
TEST(RateRules, CategoriesWithoutNumbersDoNotCount) {
  constexpr int64_t kRows = 2500;
  for (const double without : {0.05, 0.4, 0.7}) {
    const auto family = [=](int64_t i) { return uniform(i, 1) < without ? 3 : static_cast<int>(3 * uniform(i, 2)); };
    const auto made = [=](int64_t i) { return family(i) == 3 ? kMissing : ordered(i); };
    const Table real = table({texts_by("family", kRows,
                                       [=](int64_t i) {
                                         return std::vector{"dry", "cold", "frozen", "none"}[family(i)];
                                       }),
                              dates_by("made", kRows, made), dates_by("expiry", kRows, [=](int64_t i) {
                                return made(i) + std::vector{540, 35, 360, 0}[static_cast<size_t>(family(i))];
                              })});
    Table t = real;
    const Rules rules = reduced(t);
    expect_among(said(rules), {"expiry - made follows from family"});
    expect_restored(rules, std::move(t), real);
  }
}

// Products of fewer rows than a category needs are in no rule.
TEST(RateRules, RareCategoriesHaveNoRate) {
  Table t = sales(2500);
  Column& product_of = t.columns[0];
  product_of.values.push_back("prototype");
  for (const size_t row : {11, 12, 13, 14}) {
    product_of.codes[row] = static_cast<int32_t>(product_of.values.size()) - 1;
    t.columns[2].numbers[row] = cents(t.columns[1].numbers[row] * 77.77);
  }
  const Table real = t;
  const Rules rules = reduced(t);
  ASSERT_EQ(said(rules), kRulesOfSales);
  EXPECT_EQ(rules.to_json().dump().find("prototype"), std::string::npos);
  EXPECT_EQ(rules.to_json().dump().find("77.77"), std::string::npos);
  for (const FoundRule& f : rules.found()) EXPECT_EQ(f.rule->broken(real, real)[11], 0) << f.rule->text();
  rules.restore(t);
  EXPECT_FALSE(column(t, "amount").is_missing(11)) << "of a category without a rate, one of the others";
  EXPECT_EQ(lines(sample(fit(real, quick_made(2)), 300)).size(), 300u);
  Table many = sales(2500);  // a fifth of the rows
  for (int64_t i = 0; i < many.rows; i += 5) {
    many.columns[0].codes[static_cast<size_t>(i)] = static_cast<int32_t>(many.columns[0].values.size());
    if (i % 20 == 15) many.columns[0].values.push_back("q" + std::to_string(i));
  }
  many.columns[0].values.push_back("q");
  EXPECT_EQ(std::ranges::count(said(found(many)), kRulesOfSales[0]), 0);
}

TEST(RateRules, AreKeptBySampledRows) {
  for (const FitOptions& options : {quick_made(2), quick_tvae(2)}) {
    const Table rows = sample(fit(sales(1500), options), 500);
    EXPECT_EQ(share(rows,
                    [&](int64_t i) {
                      const auto at = static_cast<size_t>(i);
                      const int p = std::stoi(cell(column(rows, "product"), i).substr(1));
                      const std::string by = cell(column(rows, "terms"), i);
                      return std::abs(column(rows, "amount").numbers[at] -
                                      column(rows, "quantity").numbers[at] * unit_price(p)) < 0.00501 &&
                             column(rows, "due").numbers[at] - column(rows, "ordered").numbers[at] == (by == "cash" ? 0
                                                                                                       : by == "net 14"
                                                                                                           ? 14
                                                                                                           : 30);
                    }),
              1)
        << options.method;
  }
}

TEST(RateRules, RejectDamagedFiles) {
  Table t = sales(1500);
  const nlohmann::json good = reduced(t).to_json();
  const auto refused = [&](const std::string& key, const nlohmann::json& value) {
    expect_refused(good, 0, key, value, t);
  };
  ASSERT_EQ(good["found"][0]["kind"], "rates");
  for (const auto& [key, value] : good["found"][0].items()) refused(key, nullptr);
  refused("rates", {1, 2});
  refused("by", "quantity");
  refused("of", "product");
  refused("of", "nothing");
}

// What is delivered pays for the shipping, members get a discount: a total with a part by category.
Table deliveries(int64_t rows) {
  const auto delivered = [](int64_t i) { return uniform(i, 1) < 0.4; };
  const auto net = [](int64_t i) { return cents(5 + 200 * uniform(i, 2)); };
  const auto shipping = [](int64_t i) { return cents(2 + 13 * uniform(i, 3)); };
  const auto member = [](int64_t i) { return static_cast<size_t>(3 * uniform(i, 4)); };
  const auto total = [=](int64_t i) { return cents(net(i) + (delivered(i) ? shipping(i) : 0)); };
  const auto points = [](int64_t i) { return cents(10 * uniform(i, 5)); };
  return table({decimals_by("net", rows, 2, net), decimals_by("shipping", rows, 2, shipping),
                texts_by("way", rows, [=](int64_t i) { return delivered(i) ? "home" : "shop"; }),
                decimals_by("total", rows, 2, total),
                texts_by("level", rows,
                         [=](int64_t i) {
                           return Texts{"none", "silver", "gold"}[member(i)];
                         }),
                decimals_by("points", rows, 2, points), decimals_by("due", rows, 2, [=](int64_t i) {
                  return cents(total(i) - points(i) * static_cast<double>(member(i)) / 2);
                })});
}

TEST(RateRules, APartThatOnlyACategoryHas) {
  Table real = deliveries(2500);
  for (const size_t k : {0, 3, 6}) real.columns[k].numbers[5] = kMissing;
  Table t = real;
  const Rules rules = reduced(t);
  EXPECT_EQ(said(rules),
            (Texts{"(due - total) / points follows from level", "(total - net) / shipping follows from way"}));
  const nlohmann::json good = rules.to_json();
  for (const char* plus : {"way", "nothing"}) expect_refused(good, 0, "plus", plus, t);
  EXPECT_EQ(Rules::from_json(good).to_json(), good);
  expect_restored(rules, std::move(t), real);
  expect_reduces_again(rules, real);
  Table broken = deliveries(2500);
  broken.columns[3].numbers[7] += 0.05, broken.columns[6].numbers[8] += 0.05;
  for (const std::string& rule : said(found(broken))) EXPECT_EQ(rule.find(") /"), std::string::npos) << rule;
}

// A column that determines others may have more categories than combinations may have by themselves.
TEST(CombinationRules, ManyCategoriesThatDetermineOthers) {
  constexpr int64_t kRows = 12000;
  const auto customer = [](int64_t i) { return static_cast<int64_t>(1500 * uniform(i, 1)); };
  const std::vector<std::string> cities{"Boston", "Austin", "Berlin", "Hamburg", "Tokyo"};
  const Table real = table(
      {texts_by("customer", kRows, [=](int64_t i) { return "c" + std::to_string(customer(i)); }),
       texts_by("city", kRows, [=](int64_t i) { return cities[static_cast<size_t>(5 * uniform(customer(i), 7))]; }),
       texts_by("colour", kRows, [](int64_t i) { return uniform(i, 3) < 0.4 ? "red" : "blue"; })});
  Table t = real;
  const Rules rules = reduced(t);
  EXPECT_EQ(said(rules), Texts{"customer and city occur in fixed combinations"});
  expect_restored(rules, std::move(t), real);
}

// A reason and its text, where there is one: where the status says so, or where nothing does.
TEST(CombinationRules, OfColumnsThatAreMissingTogether) {
  constexpr int64_t kRows = 2500;
  for (const bool told : {false, true}) {
    const auto failed = [](int64_t i) { return uniform(i, 1) < 0.07; };
    const auto reason = [](int64_t i) { return static_cast<int>(8 * uniform(i, 2)); };
    const auto code = [=](int64_t i) { return failed(i) ? "r" + std::to_string(reason(i)) : ""; };
    const auto group = [=](int64_t i) { return failed(i) ? "group " + std::to_string(reason(i) / 2) : ""; };
    Table real = table({texts_by("code", kRows, code), texts_by("group", kRows, group),
                        decimals_by("amount", kRows, 2, [](int64_t i) { return cents(between(i, 3, 1, 90)); })});
    Texts wanted{"code and group occur in fixed combinations"};
    if (told) {
      real.columns.push_back(texts_by("status", kRows, [=](int64_t i) { return failed(i) ? "failed" : "fine"; }));
      wanted.emplace_back("group is null exactly where status in ('fine')");
    }
    Table t = real;
    const Rules rules = reduced(t);
    SCOPED_TRACE(testing::PrintToString(said(rules)));
    expect_among(said(rules), wanted);
    const nlohmann::json stored = rules.to_json();
    EXPECT_EQ(Rules::from_json(stored).to_json(), stored);
    expect_restored(Rules::from_json(stored), std::move(t), real);
    const Table rows = sample(fit(real, quick_made(2)), 2000);
    int64_t present = 0;
    EXPECT_EQ(share(rows,
                    [&](int64_t i) {
                      const std::string is = cell(column(rows, "code"), i), of = cell(column(rows, "group"), i);
                      const bool none = column(rows, "code").is_missing(i);
                      present += none ? 0 : 1;
                      if (told && none != (cell(column(rows, "status"), i) == "fine")) return false;
                      if (none) return column(rows, "group").is_missing(i);
                      return of == "group " + std::to_string((is[1] - '0') / 2);
                    }),
              1);
    EXPECT_TRUE(present > 60 && present < 400) << present;
  }
}

// Products of which a sixth of the sales are rare ones: their numbers are protected anyway, and the others keep family
// and weight. Not where a family would vanish because rare products alone are of it.
TEST(CombinationRules, RareValuesOfTheColumnThatDeterminesOthers) {
  constexpr int64_t kRows = 12000, kProducts = 1500, kMin = 5;
  std::vector<int64_t> sold(kProducts);
  const auto product = [](int64_t i) { return static_cast<int64_t>(kProducts * std::pow(uniform(i, 1), 2)); };
  for (int64_t i = 0; i < kRows; ++i) ++sold[static_cast<size_t>(product(i))];
  const auto is_rare = [&](int64_t i) { return sold[static_cast<size_t>(product(i))] < kMin; };
  int64_t rare = 0;
  for (int64_t i = 0; i < kRows; ++i) rare += is_rare(i);
  ASSERT_GT(rare, kRows / 10);
  ASSERT_LT(rare, kRows / 4);
  const auto sales = [&](bool own_family) {
    return table({texts_by("product", kRows, [=](int64_t i) { return "p" + std::to_string(product(i)); }),
                  texts_by("family", kRows,
                           [&, own_family](int64_t i) {
                             return own_family && is_rare(i) ? "rare" : "f" + std::to_string(product(i) * 7 % 13);
                           }),
                  decimals_by("weight", kRows, 1, [=](int64_t i) { return std::round(900 * uniform(product(i), 7)); }),
                  whole_by("rating", kRows, [](int64_t i) { return std::floor(5 * uniform(i, 3)); })});
  };
  Table t = sales(false);
  EXPECT_EQ(said(reduced(t)), Texts{"product, family and weight occur in fixed combinations"});
  t = sales(true);
  EXPECT_EQ(said(reduced(t)), Texts{"product and weight occur in fixed combinations"});
}

// Numbers that each category has one of are no rate of each other.
TEST(RateRules, IgnoreNumbersDeterminedByACategory) {
  const auto country = [](int64_t i) { return static_cast<int>(8 * uniform(i, 1)); };
  const Table t =
      table({texts_by("country", 2000, [&](int64_t i) { return "c" + std::to_string(country(i)); }),
             whole_by("code", 2000, [&](int64_t i) { return 100 + 37 * country(i); }),
             decimals_by("latitude", 2000, 1, [&](int64_t i) { return 7.5 + 3.1 * (country(i) * 5 % 8); })});
  EXPECT_EQ(said(found(t)), std::vector<std::string>{"country, code and latitude occur in fixed combinations"});
}

// Of 19 and 20 percent, whole numbers that belong to one currency, 19.5 is as near as rounding allows: no rate is both.
// Halves that some programs round to even numbers are one.
TEST(RateRules, IgnoreARateBetweenTwoNumbers) {
  const auto country = [](int64_t i) { return static_cast<size_t>(4 * uniform(i, 1)); };
  const auto rate = [=](int64_t i) { return country(i) < 2 ? 1 : 1 + std::floor(100 * uniform(i, 2)) / 1000; };
  const Table t = table({texts_by("country", 3000,
                                  [=](int64_t i) {
                                    return Texts{"DE", "FR", "GB", "US"}[country(i)];
                                  }),
                         texts_by("money", 3000,
                                  [=](int64_t i) {
                                    return Texts{"EUR", "EUR", "GBP", "USD"}[country(i)];
                                  }),
                         whole_by("tax", 3000,
                                  [=](int64_t i) {
                                    return std::vector<double>{19, 20, 0, 0}[country(i)];
                                  }),
                         decimals_by("exchange", 3000, 3, rate)});
  for (const std::string& rule : said(found(t))) EXPECT_EQ(rule.find("tax /"), std::string::npos) << rule;
  const auto units = [](int64_t i) { return whole_between(i, 3, 1, 1999); };
  const auto kind = [](int64_t i) { return uniform(i, 4) < 0.5; };
  const Table halves = table(
      {texts_by("kind", 3000, [=](int64_t i) { return kind(i) ? "half" : "whole"; }), whole_by("units", 3000, units),
       whole_by("points", 3000, [=](int64_t i) { return std::nearbyint(units(i) / (kind(i) ? 2 : 1)); })});
  expect_among(said(found(halves)), {"points / units follows from kind"});
  const auto weight = [](int64_t i) { return whole_between(i, 5, 10, 9999) / 10; };
  const Table packed =
      table({texts_by("kind", 3000, [=](int64_t i) { return kind(i) ? "box" : "crate"; }),
             decimals_by("net", 3000, 1, weight),
             whole_by("gross", 3000, [=](int64_t i) { return std::floor(weight(i) + (kind(i) ? 3 : 20) + 0.5); })});
  expect_among(said(found(packed)), {"gross - net follows from kind"});
}

// A tax of a sum, which is computed itself.
TEST(RateRules, OfAComputedNumber) {
  constexpr int64_t kRows = 2500;
  const auto part = [](int64_t i, uint32_t k) { return cents(1 + 90 * uniform(i, k)); };
  const auto net = [=](int64_t i) { return cents(part(i, 1) + part(i, 2) + part(i, 3)); };
  const auto home = [](int64_t i) { return uniform(i, 4) < 0.7; };
  const auto tax = [=](int64_t i) { return home(i) ? cents(0.2 * net(i)) : 0; };
  const Table real = table({texts_by("country", kRows, [=](int64_t i) { return home(i) ? "DE" : "US"; }),
                            decimals_by("base", kRows, 2, [=](int64_t i) { return part(i, 1); }),
                            decimals_by("fuel", kRows, 2, [=](int64_t i) { return part(i, 2); }),
                            decimals_by("cover", kRows, 2, [=](int64_t i) { return part(i, 3); }),
                            decimals_by("net", kRows, 2, net), decimals_by("tax", kRows, 2, tax),
                            decimals_by("gross", kRows, 2, [=](int64_t i) { return cents(net(i) + tax(i)); })});
  Table t = real;
  const Rules rules = reduced(t);
  EXPECT_EQ(said(rules), (Texts{"gross = net + tax", "net = base + fuel + cover", "tax / net follows from country"}));
  EXPECT_EQ(t.find("tax"), nullptr);
  expect_restored(Rules::from_json(rules.to_json()), std::move(t), real);
}

}  // namespace
}  // namespace tessera::whole
