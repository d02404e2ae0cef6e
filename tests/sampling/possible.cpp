// Conditions that no row can meet are refused before sampling, with the term to blame; all others are let pass.

#include "models/tables.h"

namespace tessera::whole {
namespace {

// n: 10 … 69, in a fifth of the rows missing · few: 1, 2, 5 · price: cents from 1.00 · day · start <= end, a rule ·
// colour · city and state, a rule of combinations · none: never filled.
Table things() {
  constexpr int64_t kRows = 600;
  const auto at = [](const std::vector<std::string>& v, int64_t i, uint32_t stream) {
    return v[static_cast<size_t>(uniform(i, stream) * static_cast<double>(v.size()))];
  };
  const std::vector<std::string> cities{"Bonn", "Köln", "Jena", "Gera"};
  const auto start = [](int64_t i) { return std::floor(18000 + 100 * uniform(i, 5)); };
  return table(
      {whole_by("n", kRows,
                [](int64_t i) { return uniform(i, 9) < 0.2 ? kMissing : std::floor(10 + 60 * uniform(i, 1)); }),
       whole_by("few", kRows,
                [](int64_t i) {
                  return std::vector{1.0, 2.0, 5.0}[static_cast<size_t>(3 * uniform(i, 2))];
                }),
       decimals_by("price", kRows, 2, [](int64_t i) { return std::floor(100 + 900 * uniform(i, 3)) / 100; }),
       dates_by("day", kRows, [](int64_t i) { return std::floor(18262 + 300 * uniform(i, 4)); }),
       dates_by("start", kRows, start),
       dates_by("end", kRows, [&](int64_t i) { return start(i) + std::floor(9 * uniform(i, 6)); }),
       texts_by("colour", kRows,
                [&](int64_t i) {
                  return at({"red", "green", "blue"}, i, 7);
                }),
       texts_by("city", kRows, [&](int64_t i) { return at(cities, i, 8); }), texts_by("state", kRows, [&](int64_t i) {
         const std::string city = at(cities, i, 8);
         return city == "Bonn" || city == "Köln" ? "NRW" : "Thüringen";
       })});
}

const Model& model_by(const char* method) {
  static std::map<std::string, Model> models;
  const auto found = models.find(method);
  if (found != models.end()) return found->second;
  return models.emplace(method, fit(things(), std::string(method) == "made" ? quick_made(3) : quick(2))).first->second;
}

struct Refused {
  const char* where;
  std::vector<std::string> says;
};

const Refused kRefused[] = {
    {"n > 99", {"\"n > 99\"", "column \"n\" holds"}},
    {"few = 5 and n < 0", {"\"n < 0\""}},
    {"n = 500", {"\"n = 500\""}},
    {"n in (500, -3)", {"\"n in (500, -3)\""}},
    {"n between 30 and 40 and n > 50", {"both \"n between 30 and 40\" and \"n > 50\""}},
    {"n > 40 and n < 41", {"both \"n > 40\" and \"n < 41\""}},
    {"n > 40 and n < 42 and n != 41", {"\"n > 40\", \"n < 42\", \"n != 41\" together"}},
    {"n is null and n > 20", {"both \"n is null\" and \"n > 20\""}},
    {"n is null and n is not null", {"both"}},
    {"few = 3", {"\"few = 3\"", "1, 2, 5", "never missing"}},
    {"few not in (1, 2, 5)", {"\"few not in (1, 2, 5)\""}},
    {"few is null", {"\"few is null\"", "never missing"}},
    {"price < 0.5", {"\"price < 0.5\"", "column \"price\" holds 1."}},
    {"price > 5.01 and price < 5.02", {"both"}},
    {"day < '2019-01-01'", {"\"day < '2019-01-01'\"", "2020-"}},
    {"not day > '1999-01-01'", {"\"not day > '1999-01-01'\""}},
    {"colour = 'red' and colour = 'blue'", {"both \"colour = 'red'\" and \"colour = 'blue'\""}},
    {"colour != 'red' and colour != 'blue' and colour != 'green'", {"together", "'red'"}},
    {"colour is null", {"never missing"}},
    {"state = 'NRW' and state != 'NRW'", {"both"}},
    {"city is null", {"never missing"}},
    {"price > n + 100", {"\"price > n + 100\"", "the right side 1"}},
    {"n = price - 500", {"the left side"}},
    {"not price < day - start + 1000", {"the right side"}},
    {"colour = city", {"no value in common"}},
    {"not city != state", {"no value in common"}},
    {"n > 99 or n < -20", {"\"n > 99 or n < -20\"", "column \"n\" holds"}},
    {"(n > 60 or colour = 'red') and colour = 'blue' and n < 20", {"\"n > 60 or colour = 'red'\"", "alternatives"}},
    {"city like 'B%' and city like 'K%'", {"both \"city like 'B%'\" and \"city like 'K%'\""}},
};

TEST(Possible, RejectsImpossibleConditionsNamingTheTerm) {
  for (const char* method : {"made", "ctgan"})
    for (const Refused& r : kRefused) {
      const Thrown t = thrown([&] { sample(model_by(method), 5, where(r.where)); });
      EXPECT_EQ(t.code, ErrorCode::condition) << r.where;
      EXPECT_TRUE(t.says("Nothing was sampled")) << r.where << ": " << t.message;
      for (const std::string& part : r.says) EXPECT_TRUE(t.says(part)) << r.where << ": " << t.message;
    }
}

TEST(Possible, PartsOfFixedCombinationsExcludeEachOther) {
  FitOptions options = quick_made(3);
  options.rules.find = true;
  const Model m = fit(things(), options);
  const Thrown t = thrown([&] { sample(m, 5, where("n > 20 and city = 'Jena' and state = 'NRW'")); });
  EXPECT_EQ(t.code, ErrorCode::condition);
  EXPECT_TRUE(t.says("\"city = 'Jena'\" and \"state = 'NRW'\" together") && t.says("fixed combinations")) << t.message;
  EXPECT_EQ(sample(m, 5, where("city != 'Jena' and state = 'NRW'")).rows, 5);
}

TEST(Possible, ComputedColumnsAreBoundedByTheirRule) {
  constexpr int64_t kRows = 600;
  const auto of = [](int64_t i) { return std::floor(1 + 9 * uniform(i, 1)); };
  const auto gap = [](int64_t i) { return uniform(i, 2) < 0.2 ? kMissing : std::floor(10 * uniform(i, 3)); };
  FitOptions options = quick_made(2);
  options.rules.given = {"price = 3.99 * items", "twice = 2 * price", "sum = items + gap", "log = ln(items)"};
  const Model m =
      fit(table({whole_by("items", kRows, of), whole_by("gap", kRows, gap),
                 decimals_by("price", kRows, 2, [&](int64_t i) { return std::round(399 * of(i)) / 100; }),
                 decimals_by("twice", kRows, 2, [&](int64_t i) { return std::round(798 * of(i)) / 100; }),
                 whole_by("sum", kRows, [&](int64_t i) { return of(i) + gap(i); }),
                 decimals_by("log", kRows, 4, [&](int64_t i) { return std::round(1e4 * std::log(of(i))) / 1e4; })}),
          options);
  for (const char* condition : {"price > 1e9", "price is null", "twice < 7.98", "price = 36", "sum > 40", "log > 2.3",
                                "log is null", "ln(items) < -0.1", "sqrt(items) > 3.1"}) {
    const Thrown t = thrown([&] { sample(m, 5, where(condition)); });
    EXPECT_TRUE(t.code == ErrorCode::condition && t.says("Nothing was sampled")) << condition << t.message;
  }
  for (const char* condition : {"price > 30", "price <= 3.99", "twice = 71.82", "sum is null", "sum >= 15", "log >= 2",
                                "ln(items) <= 0", "exp(log) > 8.9"})
    EXPECT_EQ(sample(m, 5, where(condition)).rows, 5) << condition;
}

TEST(Possible, MessagesNameEachValueOnce) {
  FitOptions options = quick_made(2);
  options.rules.find = true;
  const Model m = fit(things(), options);
  const Thrown t = thrown([&] { sample(m, 5, where("state = 'NRW' and state = 'Thüringen'")); });
  EXPECT_EQ(t.message.find("'NRW', ", t.message.find("holds")), t.message.rfind("'NRW', ")) << t.message;
  EXPECT_TRUE(t.says("holds '") && t.says("'NRW'") && t.says("'Thüringen'")) << t.message;
}

TEST(Possible, SamplesEverySatisfiableCondition) {
  for (const char* condition : {"n > 60",
                                "n >= 30 and n <= 30",
                                "n in (500, 30)",
                                "n != 500",
                                "n is null",
                                "n > 40 and n < 42",
                                "n > 20 and n != 21 and n != 22",
                                "few = 5",
                                "few between 2 and 4",
                                "price >= 9 and price < 9.5",
                                "price between 5.01 and 5.03",
                                "not price > 2",
                                "day >= '2020-02-01' and day < '2020-03-01'",
                                "end >= start",
                                "end - start <= 3",
                                "end < '2019-06-01'",
                                "colour not in ('red')",
                                "state = 'NRW'",
                                "city = 'Jena' and state = 'Thüringen'",
                                "few < n",
                                "n - 10 * few > 20",
                                "city != state",
                                "n > 69 or n < 20",
                                "n > 69 or colour = 'red'",
                                "(n > 69 or colour = 'red') and (day < '1999-01-01' or few = 5)",
                                "city like '_ena'"})
    EXPECT_EQ(sample(model_by("made"), 20, where(condition, 20000)).rows, 20) << condition;
}

// Numbers of any size: their format has significant digits, not digits after the point.
TEST(Possible, SamplesConditionsOnSmallNumbers) {
  for (const double size : {1e-4, 1e-9, 1e-18}) {
    Table t =
        table({decimals_by("x", 300, 15, [&](int64_t i) { return size * std::round(1000 * uniform(i, 1)) / 1000; }),
               whole_by("y", 300, [](int64_t i) { return std::floor(9 * uniform(i, 2)); })});
    t.columns[0].format = "0.000e+00";
    const Model m = fit(Table(t), quick_made(2));
    const std::string half = std::to_string(0.51).substr(0, 4) + "e" + std::to_string(std::lround(std::log10(size)));
    for (const std::string& condition : {"x >= " + half, "x < " + half})
      EXPECT_EQ(sample(m, 20, where(condition, 20000)).rows, 20) << condition;
  }
}

}  // namespace
}  // namespace tessera::whole
