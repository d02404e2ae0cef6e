// Cells that are missing by themselves, one of twenty, in a column that others give or in those that give it: the rule
// is found as without them, missing cells stay missing, and what nothing gives keeps its value.
#include <fmt/format.h>

#include "rules/orders.h"
#include "tables/expression/arithmetic.h"
#include "tables/rules/rule/functions.h"

namespace tessera::whole {
namespace {

constexpr int64_t kGapRows = 3000;

struct GapCase {
  const char* rule;
  std::function<std::vector<Column>()> columns;
};

Column numbers_of_rows(const char* name, double (*of)(int64_t), int decimals = 0) {
  return numbers_by(name, decimals == 0 ? ColumnType::integer : ColumnType::decimal, kGapRows, of, decimals);
}
Column dates_of_rows(const char* name, double (*of)(int64_t)) { return dates_by(name, kGapRows, of); }
Column texts_of_rows(const char* name, std::string (*of)(int64_t)) { return texts_by(name, kGapRows, of); }

double price(int64_t i) { return std::nearbyint(between(i, 1, 1, 100) * 100) / 100; }
double count(int64_t i) { return whole_between(i, 2, 1, 60); }
double discount(int64_t i) { return 5 * whole_between(i, 3, 0, 4); }
double bought(int64_t i) { return 18993 + whole_between(i, 4, 0, 1500); }
int kind(int64_t i) { return static_cast<int>(whole_between(i, 5, 0, 2)); }
std::string given_name(int64_t i) {
  return std::vector{"Ann", "Bob", "Eva", "Tom"}[static_cast<size_t>(4 * uniform(i, 6))];
}
std::string surname(int64_t i) { return std::vector{"Fox", "Lee", "Ray"}[static_cast<size_t>(3 * uniform(i, 7))]; }
std::vector<GapCase> gap_cases() {
  return {
      {"total = price + count",
       [] {
         return std::vector{numbers_of_rows("price", price, 2), numbers_of_rows("count", count),
                            numbers_of_rows(
                                "total", [](int64_t i) { return cents(price(i) + count(i)); }, 2)};
       }},
      {"net = price * count * (1 - discount / 100)",
       [] {
         return std::vector{
             numbers_of_rows("price", price, 2), numbers_of_rows("count", count), numbers_of_rows("discount", discount),
             numbers_of_rows(
                 "net", [](int64_t i) { return cents(price(i) * count(i) * (1 - discount(i) / 100)); }, 2)};
       }},
      {"best = greatest(price, count)",
       [] {
         return std::vector{numbers_of_rows("price", price, 2), numbers_of_rows("count", count),
                            numbers_of_rows(
                                "best", [](int64_t i) { return std::max(price(i), count(i)); }, 2)};
       }},
      {"over = greatest(count - 40, 0)",
       [] {
         return std::vector{numbers_of_rows("count", count),
                            numbers_of_rows("over", [](int64_t i) { return std::max(count(i) - 40, 0.0); })};
       }},
      {"month is the month of day",
       [] {
         return std::vector{dates_of_rows("day", bought), numbers_of_rows("month", [](int64_t i) {
                              const Column days = dates_of_rows("day", bought);
                              return time_function("month")->value(days, bought(i), days, bought(i), 1);
                            })};
       }},
      {"group follows from count, cut at 18, 40",
       [] {
         return std::vector{numbers_of_rows("count", count), texts_of_rows("group", [](int64_t i) {
                              return std::string(count(i) < 18 ? "low" : count(i) < 40 ? "middle" : "high");
                            })};
       }},
      {"amount / count follows from kind",
       [] {
         return std::vector{
             texts_of_rows("kind", [](int64_t i) { return std::string(1, static_cast<char>('a' + kind(i))); }),
             numbers_of_rows("count", count),
             numbers_of_rows(
                 "amount", [](int64_t i) { return cents(count(i) * (1.25 + 2 * kind(i))); }, 2)};
       }},
      {"full = first || ' ' || last",
       [] {
         return std::vector{texts_of_rows("first", given_name), texts_of_rows("last", surname),
                            texts_of_rows("full", [](int64_t i) { return given_name(i) + " " + surname(i); })};
       }},
  };
}

TEST(Gaps, RulesAreFoundAndRowsComeBack) {
  for (const GapCase& c : gap_cases()) {
    const Table whole = table(c.columns());
    for (size_t k = 0; k <= whole.columns.size(); ++k) {  // in each column, and in all of them
      Table real = whole;
      for (size_t j = 0; j < real.columns.size(); ++j)
        for (int64_t i = 0; i < real.rows; ++i)
          if ((j == k || k == real.columns.size()) && whole_between(i, 91 + static_cast<uint32_t>(j), 0, 19) == 0)
            real.columns[j].set_missing(static_cast<size_t>(i));
      Table t = real;
      const Rules rules = reduced(t);
      ASSERT_EQ(said(rules), std::vector<std::string>{c.rule}) << k;
      EXPECT_EQ(rules.found().front().rule->kept(), TableRule::kByConstruction) << c.rule;
      const Rules read = Rules::from_json(rules.to_json());
      EXPECT_EQ(read.to_json(), rules.to_json()) << c.rule;
      expect_restored(read, std::move(t), real);
      expect_reduces_again(rules, real);
    }
  }
}

// Amounts that few rows have, and that no row has as 0: all rows say that a missing one counts as 0. Too few rows in
// which one is missing say nothing.
TEST(Gaps, AmountsCountAs0WhereTheyAreMissing) {
  const auto tip = [](int64_t i) { return cents(between(i, 21, 1, 30)); };
  const auto with = [](double share, auto&& of, uint32_t stream = 22) {  // in this share of the rows
    return [=](int64_t i) { return uniform(i, stream) < share ? of(i) : kMissing; };
  };
  const auto or_0 = [](double x) { return x == x ? x : 0; };
  const auto some = [&](const char* name, double share, auto&& of, int decimals) {
    return numbers_by(name, decimals == 0 ? ColumnType::integer : ColumnType::decimal, kGapRows, with(share, of),
                      decimals);
  };
  const auto result = [&](const char* name, auto&& of) {
    return numbers_by(
        name, ColumnType::decimal, kGapRows, [&](int64_t i) { return cents(of(i)); }, 2);
  };
  for (const double share : {0.03, 0.4, 0.9}) {
    const auto tips = with(share, tip);
    const auto counts = with(share, count, 23), discounts = with(share, discount);
    const std::vector<std::pair<std::string, std::vector<Column>>> cases{
        {"total = price + coalesce(count, 0) + coalesce(tip, 0)",
         {numbers_of_rows("price", price, 2), numbers_by("count", ColumnType::integer, kGapRows, counts),
          some("tip", share, tip, 2),
          result("total", [&](int64_t i) { return price(i) + or_0(counts(i)) + or_0(tips(i)); })}},
        {"net = price * count * (1 - coalesce(discount, 0) / 100)",
         {numbers_of_rows("price", price, 2), numbers_of_rows("count", count), some("discount", share, discount, 0),
          result("net", [&](int64_t i) { return price(i) * count(i) * (1 - or_0(discounts(i)) / 100); })}},
        {"paid = price * count + coalesce(tip, 0)",
         {numbers_of_rows("price", price, 2), numbers_of_rows("count", count), some("tip", share, tip, 2),
          result("paid", [&](int64_t i) { return price(i) * count(i) + or_0(tips(i)); })}}};
    for (const auto& [rule, columns] : cases) {
      const Table real = table(columns);
      Table t = real;
      const Rules rules = reduced(t);
      ASSERT_EQ(said(rules), std::vector<std::string>{rule}) << share;
      EXPECT_EQ(Rules::from_json(rules.to_json()).to_json(), rules.to_json());
      expect_restored(rules, std::move(t), real);
      expect_reduces_again(rules, real);
    }
  }
  Table few = table({numbers_of_rows("price", price, 2),
                     numbers_by(
                         "tip", ColumnType::decimal, kGapRows, [&](int64_t i) { return i < 3 ? kMissing : tip(i); }, 2),
                     result("total", [&](int64_t i) { return price(i) + (i < 3 ? 0 : tip(i)); })});
  EXPECT_EQ(said(reduced(few)), std::vector<std::string>{"total = price + tip"});
}

// A result that some rows lack alone, also where only a search in most rows finds it: no row breaks it.
TEST(Gaps, AResultThatSomeRowsLackHoldsInAllOthers) {
  const auto litres = [](int64_t i) { return cents(between(i, 31, 30, 70)); };
  const auto wash = [](int64_t i) { return uniform(i, 32) < 0.06 ? 14.99 : 0.0; };
  const auto km = [](int64_t i) { return uniform(i, 33) < 0.067 ? kMissing : whole_between(i, 34, 350, 1100); };
  const auto tax = [=](int64_t i) { return cents((litres(i) * between(i, 35, 1.6, 1.9) + wash(i)) * 0.19 / 1.19); };
  const auto use = [=](int64_t i) {
    return uniform(i, 36) < 0.015 ? kMissing : std::nearbyint(1000 * litres(i) / km(i)) / 10;
  };
  const auto column = [](const char* name, int decimals, auto&& of) {
    return numbers_by(name, decimals == 0 ? ColumnType::integer : ColumnType::decimal, 2000, of, decimals);
  };
  Table t = table({column("km", 0, km), column("litres", 2, litres), column("wash", 2, wash), column("tax", 2, tax),
                   column("use", 1, use)});
  expect_among(said(reduced(t)), {"use = 100 * litres / km"});
}

// Orders hold although the lower date is missing where a later one is not.
TEST(Gaps, OrdersAreFoundAndKept) {
  const auto start = [](int64_t i) { return bought(i); };
  const auto middle = [](int64_t i) { return bought(i) + whole_between(i, 11, 0, 40); };
  const auto end = [=](int64_t i) {
    return 86400 * (middle(i) + whole_between(i, 12, 0, 90)) + 3600 * whole_between(i, 13, 0, 23);
  };
  const Table whole = table({dates_of_rows("start", start), dates_of_rows("middle", middle),
                             times_by("end", kGapRows, end), numbers_of_rows("count", count)});
  for (const std::vector<size_t>& with_gaps : {std::vector<size_t>{0}, {1}, {2}, {0, 1}, {0, 1, 2}}) {
    Table real = whole;
    for (const size_t j : with_gaps)
      for (int64_t i = 0; i < real.rows; ++i)
        if (uniform(i, 91 + static_cast<uint32_t>(j)) < 0.1) real.columns[j].set_missing(static_cast<size_t>(i));
    Table t = real;
    const Rules rules = reduced(t);
    const std::vector<std::string> texts = said(rules);
    for (const char* order : {"end >= middle", "middle >= start"})
      EXPECT_NE(std::find(texts.begin(), texts.end(), order), texts.end()) << order;
    const Rules read = Rules::from_json(rules.to_json());
    EXPECT_EQ(read.to_json(), rules.to_json());
    expect_restored(read, std::move(t), real);
    expect_reduces_again(rules, real);
    RuleOptions of_steps;
    of_steps.by_rejection = false;
    const std::vector<std::string> tight = said(found(real, of_steps));
    for (size_t j = 0; j < 2; ++j)
      EXPECT_EQ(std::ranges::count(tight, j == 0 ? "middle >= start" : "end >= middle"),
                std::ranges::count(with_gaps, j) > 0 ? 0 : 1)
          << "steps cannot be drawn again";
    const Table rows = sample(fit(real, quick_made(2)), 1000);
    for (const FoundRule& f : rules.found()) {
      if (f.rule->kept() == "in its share") {
        const Column& c = column(real, f.rule->column());
        EXPECT_EQ(f.rule->text(), fmt::format("{} is missing in {:.1f} % of the rows", c.name,
                                              100 * share(real, [&](int64_t i) { return c.is_missing(i); })));
      }
      const std::vector<char> broken = f.rule->broken(rows, real);
      EXPECT_EQ(std::count(broken.begin(), broken.end(), 1), 0) << f.rule->text();
    }
    for (size_t j = 0; j < 3; ++j) {
      const auto missing = [j](const Table& of) {
        return share(of, [&](int64_t i) { return of.columns[j].is_missing(i); });
      };
      EXPECT_NEAR(missing(rows), missing(real), 0.04) << j;
    }
  }
}

// One row of forty has the target of another one.
TEST(Gaps, ArithmeticIsFoundThoughSomeRowsBreakIt) {
  for (const GapCase& c : gap_cases()) {
    Table real = table(c.columns());
    if (found(real).found().front().rule->expression().empty()) continue;
    Bulk<double>& target = real.columns.back().numbers;
    for (size_t i = 1; i < target.size(); ++i)
      if (whole_between(static_cast<int64_t>(i), 98, 0, 39) == 0) target[i] = target[i - 1];
    Table t = real;
    const Rules rules = reduced(t);
    ASSERT_FALSE(rules.found().empty()) << c.rule;
    EXPECT_TRUE(rules.found().front().rule->text().starts_with(c.rule + std::string(" in 9")));
    const Table rows = sample(fit(real, quick_made(2)), 1000);
    const std::vector<char> broken = rules.found().front().rule->broken(rows, real);
    EXPECT_NEAR(static_cast<double>(std::count(broken.begin(), broken.end(), 1)) / 1000, 0.025, 0.02) << c.rule;
  }
}

TEST(Gaps, AreSampledAsOftenAsTheTableHasThem) {
  for (const GapCase& c : gap_cases()) {
    Table real = table(c.columns());
    Column& target = real.columns.back();
    for (int64_t i = 0; i < real.rows; ++i)
      if (uniform(i, 99) < 0.2) target.set_missing(static_cast<size_t>(i));
    const Table rows = sample(fit(real, quick_made(2)), 1000);
    const double missing = share(rows, [&](int64_t i) { return rows.columns.back().is_missing(i); });
    EXPECT_NEAR(missing, 0.2, 0.06) << c.rule;
    const std::vector<char> broken = reduced(real).found().front().rule->broken(rows, real);
    EXPECT_EQ(std::count(broken.begin(), broken.end(), 1), 0) << c.rule;
  }
}

}  // namespace
}  // namespace tessera::whole
