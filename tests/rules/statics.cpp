// Rules of the static columns of sequences, which hold once per key, and rules that compute columns of steps from them.
#include <nlohmann/json.hpp>

#include "rules/orders.h"

namespace tessera::whole {
namespace {

constexpr int64_t kOrders = 120, kSteps = 5;

// Of each order a quantity, a price and their product; of each step how much of it is sent, what that costs, and how
// much of the order is paid.
Table shipments() {
  constexpr int64_t rows = kOrders * kSteps;
  const auto of_order = [](auto value) { return [=](int64_t i) { return value(i / kSteps); }; };
  const auto quantity = [](int64_t k) { return whole_between(k, 41, 1, 9); };
  const auto price = [](int64_t k) { return cents(between(k, 42, 5, 60)); };
  const auto amount = [=](int64_t k) { return cents(quantity(k) * price(k)); };
  const auto sent = [](int64_t i) { return whole_between(i, 43, 0, 40); };
  const auto status = [](int64_t i) { return uniform(i, 44) < 0.4 ? "open" : uniform(i, 44) < 0.7 ? "paid" : "void"; };
  return table({texts_by("order", rows, [](int64_t i) { return "O" + std::to_string(i / kSteps); }),
                whole_by("n", rows, [](int64_t i) { return 1 + i % kSteps; }),
                whole_by("quantity", rows, of_order(quantity)), decimals_by("price", rows, 2, of_order(price)),
                decimals_by("amount", rows, 2, of_order(amount)), whole_by("sent", rows, sent),
                decimals_by("cost", rows, 2, [=](int64_t i) { return cents(sent(i) * price(i / kSteps)); }),
                texts_by("status", rows, status), decimals_by("settled", rows, 2, [=](int64_t i) {
                  return status(i) == std::string("paid") ? amount(i / kSteps) : 0;
                })});
}

const Texts kStatics{"quantity", "price", "amount"},
    kKept{"amount = quantity * price", "cost = price * sent", "settled / amount follows from status"};

RuleOptions of_shipments() {
  RuleOptions o;
  o.steps = true, o.by_rejection = false, o.key = "order", o.index = "n";
  o.excluded = {"order", "n"}, o.statics = kStatics;
  return o;
}

TEST(Statics, AreInRulesOfTheirOwnAndGiveColumnsOfSteps) {
  Table learned = shipments();
  const Rules rules = reduced(learned, of_shipments());
  EXPECT_EQ(said(rules), kKept);
  EXPECT_EQ(rules.statics(kStatics), (Texts{"quantity", "price", "computed amount"}));
  expect_restored(Rules::from_json(rules.to_json()), std::move(learned), shipments());
  expect_reduces_again(rules, shipments());

  Table one = shipments();  // an order that keeps none of them
  for (Column& c : one.columns)
    for (size_t i = 0; c.name == "amount" && i < kSteps; ++i) c.numbers[i] += 0.5;
  const Texts left = said(found(one, of_shipments()));
  for (const std::string& rule : {kKept[0], kKept[2]}) EXPECT_EQ(std::ranges::count(left, rule), 0) << rule;
  expect_among(left, {kKept[1]});
}

TEST(Statics, SampledSequencesKeepTheirRules) {
  FitOptions o;
  o.method = "made";
  apply_preset(o);
  set(o, "epochs", "2"), set(o, "hidden_dim", "32");
  o.sequences.key = "order", o.sequences.index = "n", o.sequences.find_statics = true;
  const Model m = fit(shipments(), o);
  EXPECT_EQ(m.describe()["rules"].size(), kKept.size());
  SampleOptions where;
  where.where = "amount >= 100";
  for (const SampleOptions& options : {SampleOptions{}, where}) {
    const Table rows = sample(m, 40, options);
    ASSERT_GE(rows.rows, 40);
    const auto at = [&](const char* name, int64_t i) { return column(rows, name).numbers[static_cast<size_t>(i)]; };
    for (int64_t i = 0; i < rows.rows; ++i) {
      EXPECT_EQ(at("amount", i), cents(at("quantity", i) * at("price", i)));
      EXPECT_EQ(at("cost", i), cents(at("sent", i) * at("price", i)));
      EXPECT_TRUE(at("settled", i) == 0 || at("settled", i) == at("amount", i));
      if (!options.where.empty()) { EXPECT_GE(at("amount", i), 100); }
    }
    EXPECT_EQ(lines(sample(Model::from_bytes(m.bytes(), "orders.tessera"), 40, options)), lines(rows));
  }
}

TEST(Statics, GivenRulesAreOfThemOrComputeStepsFromThem) {
  RuleOptions o = of_shipments();
  o.given = {"cost = price * sent", "amount = quantity * price", "amount < 1000"};
  Team team(1);
  Table t = shipments();
  const Rules rules = Rules::find(t, o, team, Monitor{});
  EXPECT_EQ(said(rules), (Texts{"amount < 1000", "amount = quantity * price", "cost = price * sent"}));
  EXPECT_EQ(rules.checked(), (Texts{"amount < 1000"})) << "attributes can be drawn again, steps cannot";
  o.given = {"amount >= cost"};
  t = shipments();
  EXPECT_TRUE(thrown([&] { (void)Rules::find(t, o, team, Monitor{}); }).says("is the key, the index or static"));
}

// Parcels are due some days after the day of their first scan, by their service, and were paid before it; steps are not
// in the order of the file.
Table parcels() {
  constexpr int64_t rows = 3 * kOrders * kSteps;
  constexpr double kDays[] = {1, 3, 6};
  const auto service = [](int64_t k) { return static_cast<size_t>(whole_between(k, 51, 0, 2)); };
  const auto first = [](int64_t k) {
    return 86400 * (19000 + whole_between(k, 52, 0, 200)) + 60 * whole_between(k, 53, 540, 1000);
  };
  const auto of = [](int64_t i) { return i / kSteps; };
  Column at = whole_by("at", rows, [=](int64_t i) {
    return first(of(i)) + 3600 * static_cast<double>(kSteps - 1 - i % kSteps) * (1 + whole_between(of(i), 54, 0, 9));
  });
  Column paid =
      whole_by("paid", rows, [=](int64_t i) { return first(of(i)) - 60 * whole_between(of(i), 55, 5, 3000); });
  at.type = paid.type = ColumnType::datetime;
  return table(
      {texts_by("parcel", rows, [=](int64_t i) { return "P" + std::to_string(of(i)); }), at,
       texts_by("service", rows, [=](int64_t i) { return std::to_string(service(of(i))); }),
       dates_by("due", rows, [=](int64_t i) { return std::floor(first(of(i)) / 86400) + kDays[service(of(i))]; }), paid,
       whole_by("weight", rows, [](int64_t i) { return whole_between(i, 56, 1, 500); })});
}

TEST(Statics, AreCountedFromTheFirstIndex) {
  RuleOptions o;
  o.steps = o.whole = true, o.by_rejection = false, o.key = "parcel", o.index = "at";
  o.excluded = {"parcel", "at"}, o.statics = {"service", "due", "paid"};
  Table learned = parcels();
  const Rules rules = Rules::from_json(reduced(learned, o).to_json());
  const Texts wanted{"\"(start)\" - paid is a multiple of 60", "due - \"(start day)\" follows from service",
                     "paid <= \"(start)\""};
  EXPECT_EQ(said(rules), wanted);
  expect_restored(rules, std::move(learned), parcels());
  expect_reduces_again(rules, parcels());
  o.whole = false;  // a window begins anywhere
  for (const std::string& rule : said(found(parcels(), o))) EXPECT_EQ(rule.find("(start"), std::string::npos) << rule;

  FitOptions f;
  f.method = "made";
  apply_preset(f);
  set(f, "epochs", "2"), set(f, "hidden_dim", "32");
  f.sequences.key = "parcel", f.sequences.index = "at", f.sequences.find_statics = true;
  const Model m = fit(parcels(), f);
  EXPECT_EQ(m.describe()["rules"].size(), wanted.size());
  SampleOptions where;
  where.where = "due >= '2022-03-01' and service = '1'";
  for (const SampleOptions& options : {SampleOptions{}, where}) {
    const Table rows = sample(m, 60, options);
    const Column &key = column(rows, "parcel"), &at = column(rows, "at"), &due = column(rows, "due"),
                 &paid = column(rows, "paid"), &service = column(rows, "service");
    constexpr double kDays[] = {1, 3, 6};
    double first = 0;
    for (size_t i = 0; i < static_cast<size_t>(rows.rows); ++i) {
      if (i == 0 || key.key(i) != key.key(i - 1)) first = at.numbers[i];
      const auto days = static_cast<size_t>(std::stoi(cell(service, static_cast<int64_t>(i))));
      EXPECT_EQ(due.numbers[i], std::floor(first / 86400) + kDays[days]) << i;
      EXPECT_LE(paid.numbers[i], first) << i;
      if (!options.where.empty()) { EXPECT_EQ(days, 1u); }
    }
    EXPECT_EQ(lines(sample(Model::from_bytes(m.bytes(), "m"), 60, options)), lines(rows));
  }
}

// Half of the orders have no limit: they break no rule about it.
TEST(Statics, MissingCellsBreakNoRuleThatIsChecked) {
  Table t = without(without(shipments(), "cost"), "settled");
  t.columns.push_back(whole_by("limit", t.rows, [](int64_t i) {
    return uniform(i / kSteps, 45) < 0.5 ? kMissing : whole_between(i / kSteps, 46, 5, 20);
  }));
  FitOptions o;
  o.method = "made";
  apply_preset(o);
  set(o, "epochs", "1"), set(o, "hidden_dim", "32");
  o.sequences.key = "order", o.sequences.index = "n", o.sequences.find_statics = true;
  o.rules.find = false, o.rules.given = {"limit <= 20"};
  const Table rows = sample(fit(t, o), 60);
  int64_t missing = 0;
  for (int64_t i = 0; i < rows.rows; ++i) missing += column(rows, "limit").is_missing(i);
  EXPECT_GT(missing, rows.rows / 5);
  EXPECT_LT(missing, rows.rows * 4 / 5);
}

}  // namespace
}  // namespace tessera::whole
