// Sampled rows keep the rules of their table: of every method, under conditions and calibration, in any batch.
#include <nlohmann/json.hpp>

#include "rules/orders.h"

namespace tessera::whole {
namespace {

// Share of the rows that break the rules of orders().
double broken(const Table& t) {
  const auto number = [&](const char* name, int64_t i) { return column(t, name).numbers[static_cast<size_t>(i)]; };
  const auto text = [&](const char* name, int64_t i) { return cell(column(t, name), i); };
  const std::map<std::string, std::string> of_city{{"Boston", "USA MA"},     {"Austin", "USA TX"},
                                                   {"Berlin", "Germany BE"}, {"Hamburg", "Germany HH"},
                                                   {"Tokyo", "Japan 13"},    {"Osaka", "Japan 27"}};
  return share(t, [&](int64_t i) {
    const auto place = of_city.find(text("city", i));
    return number("end", i) < number("start", i) || number("total", i) != number("items", i) + number("extras", i) ||
           std::abs(number("price", i) - 3.99 * number("items", i)) > 0.00501 ||
           std::abs(number("amount", i) - cents(number("rate", i) * number("items", i))) > 0.00501 ||
           place == of_city.end() || place->second != text("country", i) + " " + text("state", i) ||
           column(t, "delivered").is_missing(i) != (text("status", i) == "open") ||
           std::fmod(number("fee", i), 25) != 0;
  });
}

TEST(RuleRows, KeepRulesWithEveryMethod) {
  ASSERT_EQ(broken(orders(1000)), 0);
  for (const FitOptions& options : {quick(2), quick_tvae(2), quick_made(2)}) {
    const Model m = fit(orders(800), options);
    const Table rows = sample(m, 3000);
    EXPECT_EQ(broken(rows), 0) << options.method;
    const Table schema = m.schema(), real = orders(1);
    ASSERT_EQ(schema.columns.size(), real.columns.size());
    for (size_t j = 0; j < real.columns.size(); ++j) EXPECT_EQ(schema.columns[j].name, real.columns[j].name);
  }
}

// Matches of two teams, of which none plays itself; of texts, and of numbers. Columns of which some rows agree, and
// those in order, have no such rule.
TEST(RuleRows, KeepColumnsUnequal) {
  const auto team = [](int64_t i, uint32_t side) {
    const auto home = static_cast<int>(whole_between(i, 1, 0, 5));
    return side == 1 ? home : (home + static_cast<int>(whole_between(i, 2, 1, 5))) % 6;
  };
  const auto name = [=](uint32_t side) {
    return [=](int64_t i) { return std::string(1, static_cast<char>('A' + team(i, side))); };
  };
  const auto number = [=](uint32_t side) { return [=](int64_t i) { return 1.0 * team(i + 7000, side); }; };
  constexpr int64_t kRows = 1500;
  Table real = table({texts_by("home", kRows, name(1)), texts_by("away", kRows, name(2)),
                      whole_by("from", kRows, number(1)), whole_by("to", kRows, number(2)),
                      whole_by("seen", kRows, [](int64_t i) { return whole_between(i, 3, 0, 5); })});
  const Rules rules = found(real);
  EXPECT_EQ(said(rules), (Texts{"from != to", "home != away"}));
  EXPECT_EQ(rules.checked().size(), 2U);
  const Table rows = sample(fit(real, quick_made(2)), 3000);
  EXPECT_EQ(share(rows, [&](int64_t i) { return cell(column(rows, "home"), i) == cell(column(rows, "away"), i); }), 0);
  EXPECT_EQ(share(rows, [&](int64_t i) { return cell(column(rows, "from"), i) == cell(column(rows, "to"), i); }), 0);
  // of an order, few shared values, and two texts of which one says the other
  const auto letter = [](int at) { return std::string(1, static_cast<char>('A' + at)); };
  const auto ends = [](int64_t i) {
    const double one = whole_between(i, 6, 0, 29), other = std::fmod(one + whole_between(i, 4, 1, 29), 30);
    return std::pair(std::min(one, other), std::max(one, other));
  };
  const auto any = [=](int64_t i) {
    const int at = static_cast<int>(whole_between(i, 5, 0, 25));
    return letter(at == team(i, 1) ? 25 : at);
  };
  const Table none = table({whole_by("low", kRows, [=](int64_t i) { return ends(i).first; }),
                            whole_by("high", kRows, [=](int64_t i) { return ends(i).second; }),
                            texts_by("of", kRows, name(1)), texts_by("in", kRows, any),
                            texts_by("next", kRows, [=](int64_t i) { return letter((team(i, 1) + 1) % 6); })});
  for (const std::string& rule : said(found(none))) EXPECT_EQ(rule.find("!="), std::string::npos) << rule;
  real.columns[1].codes[3] = real.columns[0].codes[3], real.columns[1].values = real.columns[0].values;
  real.columns[3].numbers[9] = real.columns[2].numbers[9];
  EXPECT_EQ(said(found(real)), Texts{});
}

// Three parts of a whole, one of them mostly large, and a column that follows the last one.
TEST(RuleRows, KeepSharesOfAWhole) {
  constexpr int64_t kRows = 3000;
  const auto part = [](int64_t i, int k) {
    const int large = static_cast<int>(i % 3);
    const double small[2] = {.02 + .04 * uniform(i, 1), .02 + .04 * uniform(i, 2)};
    return k == large ? 1 - std::nearbyint(1000 * small[0]) / 1000 - std::nearbyint(1000 * small[1]) / 1000
                      : std::nearbyint(1000 * small[(k - large + 3) % 3 - 1]) / 1000;
  };
  const auto share_of = [&](const char* name, int k) {
    return decimals_by(name, kRows, 3, [=](int64_t i) { return part(i, k); });
  };
  const Table real = table({share_of("wages", 0), share_of("rent", 1), share_of("other", 2),
                            texts_by("most", kRows, [&](int64_t i) { return part(i, 2) > .5 ? "other" : "known"; })});
  for (FitOptions options : {quick_made(4), quick_tvae(4)}) {
    const Model m = fit(real, options);
    const auto whole = [](const Table& t, int64_t i) {
      double sum = 0;
      for (const char* name : {"wages", "rent", "other"}) sum += column(t, name).numbers[static_cast<size_t>(i)];
      return std::abs(sum - 1) < 1e-9;
    };
    const Table rows = sample(m, 2000);
    EXPECT_EQ(share(rows, [&](int64_t i) { return whole(rows, i); }), 1) << options.method;
    for (const Column& c : rows.columns) EXPECT_EQ(c.name.find("computed"), std::string::npos) << c.name;
    // small shares are not what is left over
    for (const char* name : {"wages", "rent", "other"})
      EXPECT_GT(share(rows, [&](int64_t i) { return column(rows, name).numbers[static_cast<size_t>(i)] >= .019; }), .9)
          << options.method << ' ' << name;
  }
  const Model m = fit(real, quick_made(4));
  EXPECT_NO_THROW(sample(m, 50, where("rent > 0.8")));
}

TEST(RuleRows, BreakThemWithoutRules) {
  FitOptions options = quick_tvae(2);
  options.rules.find = false;
  const Model m = fit(orders(800), options);
  EXPECT_GT(broken(sample(m, 500)), 0.9);
  EXPECT_EQ(m.bytes().find("\\\"rules\\\""), std::string::npos);
}

TEST(RuleRows, RowsDependOnlyOnTheirNumber) {
  FitOptions options = quick_tvae(2);
  options.rules.given = {"items < 80"};
  const Model m = fit(orders(800), options);
  const std::vector<std::string> all = lines(sample(m, 700));
  for (const int threads : {1, 3}) {
    SampleOptions o;
    o.batch = 64 + threads;
    const std::vector<std::string> part = lines(sample(m, 300, o, {250, threads}));
    EXPECT_TRUE(std::equal(part.begin(), part.end(), all.begin() + 250)) << threads;
  }
}

TEST(RuleRows, AcceptConditionsOnPartsAndComputedColumns) {
  for (const FitOptions& options : {quick(3), quick_tvae(3), quick_made(3)}) {
    const Model m = fit(orders(800), options);
    const Table rows = sample(m, 200, where("country = 'Japan' and city != 'Osaka' and total > 40 and end > start"));
    EXPECT_EQ(broken(rows), 0);
    EXPECT_EQ(share(rows, [&](int64_t i) { return cell(column(rows, "city"), i) == "Tokyo"; }), 1) << options.method;
    EXPECT_EQ(share(rows, [&](int64_t i) { return column(rows, "total").numbers[static_cast<size_t>(i)] > 40; }), 1);
    const Table open = sample(m, 100, where("delivered is null"));
    EXPECT_EQ(share(open, [&](int64_t i) { return cell(column(open, "status"), i) == "open"; }), 1);
  }
}

TEST(RuleRows, GivenRulesAreKeptByRejection) {
  FitOptions options = quick_tvae(2);
  options.rules.given = {"items < 60", "not delivered > 70", "status != 'back'"};
  const Model m = fit(orders(800), options);
  SampleReport report;
  const Table rows = sample(m, 1000, {}, {}, &report);
  EXPECT_EQ(broken(rows), 0);
  EXPECT_GT(report.candidates, report.rows);
  const Column &items = column(rows, "items"), &delivered = column(rows, "delivered");
  EXPECT_EQ(share(rows, [&](int64_t i) { return items.numbers[static_cast<size_t>(i)] < 60; }), 1);
  EXPECT_EQ(share(rows, [&](int64_t i) { return delivered.numbers[static_cast<size_t>(i)] > 70; }), 0);
  EXPECT_EQ(share(rows, [&](int64_t i) { return cell(column(rows, "status"), i) == "back"; }), 0);
  // what is missing breaks no rule
  EXPECT_GT(share(rows, [&](int64_t i) { return delivered.is_missing(i); }), 0.05);
}

// total = items + extras and price = 3.99 * items: terms that rows meet one by one, but never together.
TEST(RuleRows, NameTheRulesThatExcludeACondition) {
  FitOptions options = quick_made(2);
  options.rules.given = {"extras < 40 or fee < 1800"};
  const Model m = fit(orders(800), options);
  const auto message = [&](const std::string& condition) {
    return thrown([&] { (void)sample(m, 20, where(condition, 50)); });
  };
  const Thrown apart = message("items > extras and total < 2 * extras");
  EXPECT_EQ(apart.code, ErrorCode::condition);
  EXPECT_TRUE(apart.says("None satisfied all terms together, though none is rare alone: of 1000 candidates, "
                         "\"items > extras\" ") &&
              apart.says(", \"total < 2 * extras\" ") && apart.says("Rules may exclude the combination: \"total = "))
      << apart.message;
  // through a column that the condition does not name
  const Thrown through = message("price > 4 * extras and total < 2 * extras");
  EXPECT_TRUE(through.says("may exclude")) << through.message;
  const Thrown missing = message("status = 'open' and delivered is not null");
  EXPECT_TRUE(missing.says("The rare term is \"") && missing.says("drawn for the other terms") &&
              missing.says("\"delivered is null exactly where status"))
      << missing.message;
  EXPECT_FALSE(missing.says("`given`")) << missing.message;
  const Thrown broken = message("extras > 42 and fee > 1900");
  EXPECT_TRUE(
      broken.says("1000 of 1000 candidates satisfied the condition, but all break a rule, 1000 of them "
                  "\"extras < 40 or fee < 1800\""))
      << broken.message;
}

TEST(RuleRows, ReportUnsatisfiableRules) {
  FitOptions options = quick_tvae(1);
  options.rules.given = {"items * extras > 4300"};
  const Model m = fit(orders(300), options);
  SampleOptions few;
  few.max_tries = 20;
  const Thrown e = thrown([&] { (void)sample(m, 10, few); });
  EXPECT_EQ(static_cast<int>(e.code), static_cast<int>(ErrorCode::condition));
  EXPECT_TRUE(e.says("The rare rule is \"items * extras > 4300\"")) << e.message;
  EXPECT_TRUE(e.says("`max_tries`")) << e.message;
}

TEST(RuleRows, CalibratedRowsKeepThemToo) {
  FitOptions options = quick_tvae(3);
  options.calibrate = Tier::full;
  const Model m = fit(orders(1200), options);
  for (const Tier tier : {Tier::off, Tier::marginals, Tier::full}) {
    SampleOptions o;
    o.calibrate = tier;
    EXPECT_EQ(broken(sample(m, 500, o)), 0) << name(tier);
  }
  Team team(1);
  const Model again = m.calibrated(orders(1200), options, team, Monitor{});
  EXPECT_EQ(broken(sample(again, 500)), 0);
  EXPECT_THROW((void)m.calibrated(random_table(1, 500), options, team, Monitor{}), Error);
}

TEST(RuleRows, AModelFileKeepsThem) {
  const Model m = fit(orders(500), quick_tvae(1));
  const Model read = Model::from_bytes(m.bytes(), "orders.tessera");
  EXPECT_EQ(lines(sample(m, 300)), lines(sample(read, 300)));
  const nlohmann::json described = read.describe();
  EXPECT_EQ(described["rules"], m.describe()["rules"]);
  EXPECT_EQ(described["columns"], orders(1).columns.size());
  EXPECT_EQ(described["rules"].size(), 7u);
}

// A combination of fewer than five rows, and a value that a rule of missing cells would name.
TEST(RuleRows, FileContainsNothingOfFewRows) {
  Table t = orders(1200);
  for (Column& c : t.columns) {
    const bool place = c.name == "country" || c.name == "city" || c.name == "state";
    if (place) c.values.push_back("Secret " + c.name);
    for (size_t i = 100; i < 104 && place; ++i) c.codes[i] = static_cast<int32_t>(c.values.size()) - 1;
    if (c.name != "status") continue;
    c.values.push_back("Secret status");
    for (size_t i = 0, n = 0; n < 3; ++i)
      if (c.values[static_cast<size_t>(c.codes[i])] == "open")
        c.codes[i] = static_cast<int32_t>(c.values.size()) - 1, ++n;
  }
  const Model m = fit(t, quick_tvae(1));
  EXPECT_NE(m.describe()["rules"].dump().find("occur in fixed combinations"), std::string::npos);
  EXPECT_EQ(m.bytes().find("Secret"), std::string::npos);
}

TEST(RuleRows, StepsOfSequencesKeepThem) {
  constexpr int64_t kRows = 300;
  const auto low = [](int64_t i) {
    return 50 + 20 * std::sin(0.1 * static_cast<double>(i)) + std::floor(uniform(i, 1) * 9);
  };
  const auto at = [&](auto of) { return [of](int64_t i) { return std::nearbyint(of(i) * 100) / 100; }; };
  const auto close = [&](int64_t i) { return low(i) + uniform(i, 2) * 3; };
  const auto high = [&](int64_t i) { return close(i) + uniform(i, 3) * 4; };
  Table t = table({decimals_by("low", kRows, 2, at(low)), decimals_by("close", kRows, 2, at(close)),
                   decimals_by("adjusted", kRows, 2, at(close)), decimals_by("high", kRows, 2, at(high))});
  FitOptions o;
  o.method = "timegan";
  apply_preset(o);
  o.sequences.length = 8;
  for (const char* key : {"embedding_iterations", "supervised_iterations", "joint_iterations"}) set(o, key, "2");
  set(o, "hidden_dim", "8"), set(o, "batch_size", "16");
  const Model m = fit(t, o);
  EXPECT_EQ(m.describe()["rules"].size(), 3u);
  const Table rows = sample(m, 50);
  ASSERT_EQ(rows.rows, 400);
  EXPECT_EQ(lines(without(without(without(rows, "low"), "high"), "adjusted")),
            lines(without(without(without(rows, "low"), "high"), "close")));
  const auto value = [&](const char* name, int64_t i) { return column(rows, name).numbers[static_cast<size_t>(i)]; };
  EXPECT_EQ(
      share(rows,
            [&](int64_t i) { return value("low", i) <= value("close", i) && value("close", i) <= value("high", i); }),
      1);
  const Model read = Model::from_bytes(m.bytes(), "steps.tessera");
  EXPECT_EQ(lines(sample(read, 50)), lines(rows));

  o.rules.given = {"low > 3"};
  EXPECT_TRUE(thrown([&] { (void)fit(t, o); }).says("cannot be drawn again"));
}

}  // namespace
}  // namespace tessera::whole
