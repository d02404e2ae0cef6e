// Rows with given cells: these are kept, the others have the law under them, rules hold, bits depend on nothing
// but the row, and errors name the place.
#include "models/sampling/given/given_rows.h"

#include "models/sampling/given/targets.h"
#include "models/tables.h"
#include "tables/formats/calendar.h"
#include "tables/rules/rule/functions.h"

namespace tessera::whole {
namespace {

constexpr int64_t kRows = 4000;

double x_of(int64_t i) { return std::round(100 * normal(i, 1)) / 100; }
double c_of(int64_t i) { return std::floor(std::clamp(x_of(i) + 2 + 0.5 * normal(i, 2), 0.0, 3.0)); }

// x a number in bins; c of four levels near it; y a number near both; few a number of three values; rows from `first`.
Table chain(int64_t first, int64_t rows) {
  return table(
      {decimals_by("x", rows, 2, [=](int64_t i) { return x_of(first + i); }),
       texts_by("c", rows, [=](int64_t i) { return std::string(1, static_cast<char>('a' + c_of(first + i))); }),
       decimals_by("y", rows, 2,
                   [=](int64_t i) {
                     return std::round(100 * (x_of(first + i) + c_of(first + i) + normal(first + i, 4))) / 100;
                   }),
       whole_by("few", rows, [=](int64_t i) { return 1 + std::floor(3 * uniform(first + i, 6)); })});
}

const std::string kAnyOrder = "made --any-order on";
const std::vector<std::string> kMadeMethods{"made", kAnyOrder}, kMethods{"made", kAnyOrder, "tvae", "ctgan"};

const Model& model_by(const std::string& method) {
  static std::map<std::string, Model> models;
  const auto found = models.find(method);
  if (found != models.end()) return found->second;
  const bool any_order = method == kAnyOrder;
  FitOptions o = method == "made" || any_order ? quick_made(15) : method == "tvae" ? quick_tvae(30) : quick(10);
  if (any_order) set(o, "any_order", "on");
  return models.emplace(method, fit(chain(0, kRows), o, 2)).first->second;
}

// The rows of a table, some of them several times, without the columns that are to be drawn.
Table repeated(const Table& t, int64_t rows, int64_t times, const std::vector<std::string>& columns) {
  Table out;
  out.rows = rows * times;
  for (const Column& c : t.columns) {
    if (std::find(columns.begin(), columns.end(), c.name) == columns.end()) continue;
    Column to = c;
    to.numbers.clear(), to.codes.clear();
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t k = 0; k < times; ++k) {
        if (is_numeric(c.type)) to.numbers.push_back(c.numbers[static_cast<size_t>(i)]);
        else to.codes.push_back(c.codes[static_cast<size_t>(i)]);
      }
    out.columns.push_back(std::move(to));
  }
  return out;
}

// The stream as the other tests' tools take one.
class AsRows : public RowStream {
 public:
  explicit AsRows(GivenStream& stream) : stream_(stream) {}
  bool next(Table& batch) override { return stream_.next(batch); }
  SampleReport report() const override { return {}; }

 private:
  GivenStream& stream_;
};

Table complete(const Model& m, Table given, GivenOptions o = {}, int threads = 2, GivenReport* report = nullptr) {
  Team team(threads);
  const Monitor monitor;
  const auto stream = open_given(m.shared_rows(), std::move(given), o, team, monitor);
  AsRows rows(*stream);
  Table all = drain(rows, m.schema());
  if (report != nullptr) *report = stream->report();
  return all;
}

// Rows that training did not see may lie beyond its range.
GivenOptions completes() {
  GivenOptions o;
  o.completes = true;
  return o;
}

TEST(Given, KeepsGivenCellsAndDrawsTheOthers) {
  for (const std::string& method : kMethods) {
    const Table real = chain(kRows, 200);
    Table given = repeated(real, 200, 1, {"c", "y"});
    for (size_t i = 0; i < 200; i += 3) given.columns[1].numbers[i] = kMissing;
    GivenReport report;
    const Table made = complete(model_by(method), given, completes(), 2, &report);
    ASSERT_EQ(made.rows, 200);
    for (int64_t i = 0; i < 200; ++i) {
      EXPECT_EQ(cell(column(made, "c"), i), cell(column(real, "c"), i)) << method;
      EXPECT_TRUE(i % 3 == 0 || number(made, "y", i) == number(real, "y", i)) << method;
      EXPECT_FALSE(column(made, "x").is_missing(i) || column(made, "y").is_missing(i)) << method;
    }
    EXPECT_EQ(report.nearest, method == "ctgan");
    EXPECT_EQ(report.rows, 200);
    EXPECT_TRUE(report.nearest || report.effective >= GivenReport::kFewEffective) << method << report.effective;
  }
}

// χ² of counts that are expected to be equal.
double uneven(const std::vector<double>& counts) {
  double n = 0, statistic = 0;
  for (const double c : counts) n += c;
  const double expected = n / static_cast<double>(counts.size());
  for (const double c : counts) statistic += (c - expected) * (c - expected) / expected;
  return statistic;
}

// Where the true value stands among drawn ones, in tenths: uniform if the draws have its law (rank histograms,
// Talagrand 1997). Of the rows whose `of` is in the upper third of all, so that draws that ignore it show.
std::vector<double> ranks(const Table& real, const Table& drawn, int64_t times, const char* of) {
  std::vector<double> sorted(column(real, of).numbers.begin(), column(real, of).numbers.end());
  std::sort(sorted.begin(), sorted.end());
  const double high = sorted[sorted.size() * 2 / 3];
  std::vector<double> counts(10, 0);
  for (int64_t i = 0; i < real.rows; ++i) {
    if (number(real, of, i) < high) continue;
    double rank = uniform(i, 77);  // among equal ones
    int64_t below = 0, equal = 0;
    for (int64_t k = 0; k < times; ++k) {
      const double x = number(drawn, "x", i * times + k);
      below += x < number(real, "x", i), equal += x == number(real, "x", i);
    }
    rank = (static_cast<double>(below) + rank * static_cast<double>(equal + 1)) / static_cast<double>(times + 1);
    ++counts[std::min<size_t>(static_cast<size_t>(10 * rank), 9)];
  }
  return counts;
}

// The conditionals are calibrated on rows that training did not see: x, drawn before what is given, under c and y.
TEST(Given, TrueNumbersHaveUniformRanksAmongDrawnOnes) {
  constexpr int64_t kHeld = 600, kTimes = 39;
  for (const std::string& method : kMadeMethods) {
    const double bound = 9 + 5 * std::sqrt(2.0 * 9);  // nine degrees of freedom
    const Table real = chain(2 * kRows, kHeld);
    const Table under = complete(model_by(method), repeated(real, kHeld, kTimes, {"c", "y", "few"}), completes());
    EXPECT_LT(uneven(ranks(real, under, kTimes, "y")), bound);
    const Table ignoring = complete(model_by(method), repeated(real, kHeld, kTimes, {"few"}), completes());
    EXPECT_GT(uneven(ranks(real, ignoring, kTimes, "y")), 2 * bound) << "the test can tell draws that ignore y";
  }
}

// Of the cells that a level is drawn in with a probability of about p, a share of about p has it. Every other draw says
// where p lies, the rest what it is: draws that did both would find low ones too low and high ones too high.
TEST(Given, LevelsHaveTheirConditionalProbabilities) {
  constexpr int64_t kHeld = 1200, kTimes = 40;
  for (const std::string& method : kMadeMethods) {
    const Table real = chain(3 * kRows, kHeld);
    const Table drawn = complete(model_by(method), repeated(real, kHeld, kTimes, {"x", "y"}), completes());
    std::vector<double> said(5, 0), seen(5, 0), variance(5, 0);
    for (int64_t i = 0; i < kHeld; ++i)
      for (const char* level : {"a", "b", "c", "d"}) {
        double half[2] = {0, 0};
        for (int64_t k = 0; k < kTimes; ++k)
          half[k % 2] += cell(column(drawn, "c"), i * kTimes + k) == level ? 2.0 / kTimes : 0;
        const auto bin = std::min<size_t>(static_cast<size_t>(5 * half[0]), 4);
        const double p = half[1];
        said[bin] += p, variance[bin] += std::max(p * (1 - p), 0.01) * (1 + 2.0 / kTimes);
        seen[bin] += cell(column(real, "c"), i) == level;
      }
    for (size_t b = 0; b < 5; ++b)
      EXPECT_NEAR(seen[b], said[b], 4 * std::sqrt(variance[b]) + 0.06 * said[b] + 5)
          << "fifth " << b << " of the probabilities";
  }
}

// The same cells given of many rows: the others have the law of free rows that show these cells.
TEST(Given, RowsHaveTheConditionalDistribution) {
  for (const std::string& method : kMadeMethods) {
    const Table free = sample(model_by(method), 60000, {}, {0, 2});
    const Table one = table({texts("c", ColumnType::category, {"c"}), numbers("few", ColumnType::integer, {2})});
    const Table made = complete(model_by(method), repeated(one, 1, 4000, {"c", "few"}));
    std::vector<double> a(64, 0), b(64, 0);
    const auto at = [](const Table& t, int64_t i) {
      const auto part = [](double v, double from) { return static_cast<size_t>(std::clamp(2 * (v - from), 0.0, 7.0)); };
      return part(number(t, "x", i), -1) * 8 + part(number(t, "y", i), 0);
    };
    for (int64_t i = 0; i < made.rows; ++i) ++a[at(made, i)];
    for (int64_t i = 0; i < free.rows; ++i)
      if (cell(column(free, "c"), i) == "c" && number(free, "few", i) == 2) ++b[at(free, i)];
    double na = 0, nb = 0, statistic = 0;
    int cells = 0;
    for (size_t k = 0; k < 64; ++k) na += a[k], nb += b[k];
    for (size_t k = 0; k < 64; ++k) {
      const double both = a[k] + b[k], ea = both * na / (na + nb), eb = both * nb / (na + nb);
      if (std::min(ea, eb) < 5) continue;
      ++cells, statistic += (a[k] - ea) * (a[k] - ea) / ea + (b[k] - eb) * (b[k] - eb) / eb;
    }
    ASSERT_GT(cells, 15);
    EXPECT_LT(statistic, cells + 4 * std::sqrt(2.0 * cells));
  }
}

// The other columns tell what the chain in the table's order learns only of those before: fewer candidates are needed.
TEST(Given, AnyOrderProposalsNeedFewCandidates) {
  const Table given = repeated(chain(kRows, 300), 300, 1, {"c", "y", "few"});
  GivenReport chained, any;
  complete(model_by("made"), given, completes(), 2, &chained);
  complete(model_by(kAnyOrder), given, completes(), 2, &any);
  const auto share = [](const GivenReport& r) {
    return r.effective * static_cast<double>(r.resampled) / static_cast<double>(r.candidates);
  };
  EXPECT_GT(share(any), 1.5 * share(chained)) << share(chained);
  EXPECT_LT(any.candidates, chained.candidates / 2);
}

TEST(Given, LeadingCellsNeedOneCandidatePerRow) {
  GivenReport report;
  complete(model_by("made"), repeated(chain(0, 50), 50, 1, {"x", "c"}), completes(), 1, &report);
  EXPECT_EQ(report.candidates, 50);
  EXPECT_EQ(report.resampled, 0);
}

TEST(Given, RowsAreEqualForAnyBatchAndThreads) {
  for (const std::string& method : kMethods) {
    const Table given = repeated(chain(kRows, 60), 60, 1, {"y"});
    GivenOptions o = completes();
    const std::vector<std::string> all = lines(complete(model_by(method), given, o, 1));
    o.batch = 37;
    EXPECT_EQ(lines(complete(model_by(method), given, o, 3)), all) << method;
    o.seed = 9;
    EXPECT_NE(lines(complete(model_by(method), given, o, 3)), all) << method;
  }
}

TEST(Given, RowsAlsoSatisfyACondition) {
  for (const std::string& method : kMethods) {
    const Model& m = model_by(method);
    const Table given = repeated(chain(kRows, 60), 60, 1, {"y"});
    for (const bool completing : {false, true}) {
      GivenOptions o;
      o.completes = completing;
      o.where = "x < 0.5 and c in ('a', 'b')";
      const Table rows = complete(m, given, o);
      EXPECT_EQ(share(rows,
                      [&](int64_t i) {
                        const std::string c = cell(column(rows, "c"), i);
                        return number(rows, "x", i) < 0.5 && (c == "a" || c == "b") &&
                               number(rows, "y", i) == number(given, "y", i);
                      }),
                1)
          << method;
    }
    GivenOptions o;
    o.where = "c = 'a'";
    const Thrown t = thrown([&] { complete(m, table({texts("c", ColumnType::category, {"b"})}), o); });
    EXPECT_EQ(t.code, ErrorCode::condition) << t.message;
    EXPECT_TRUE(t.says("row 1: the given cells contradict `where`, \"c = 'a'\": \"c\" is \"b\".")) << t.message;
    EXPECT_FALSE(t.says("`max_candidates`")) << t.message;
    o.where = "c = ";
    EXPECT_EQ(thrown([&] { complete(m, table({texts("c", ColumnType::category, {"b"})}), o); }).code, ErrorCode::usage);
  }
}

TEST(Given, RejectsUnknownValuesNamingTheirPlace) {
  const Model& m = model_by("made");
  GivenOptions o;
  o.place = [](int64_t row) { return row < 0 ? std::string("f.csv") : "f.csv:" + std::to_string(row + 2); };
  const auto refused = [&](Column c, ErrorCode code, const std::vector<std::string>& parts) {
    const Thrown t = thrown([&] { complete(m, table({std::move(c)}), o); });
    EXPECT_EQ(t.code, code) << t.message;
    for (const std::string& part : parts) EXPECT_TRUE(t.says(part)) << part << ": " << t.message;
  };
  refused(texts("c", ColumnType::category, {"a", "z"}), ErrorCode::data, {"f.csv:3", "\"c\"", "\"z\"", "4 values"});
  refused(numbers("x", ColumnType::decimal, {0.5, 99}, 2), ErrorCode::data, {"f.csv:3", "\"x\"", "99", " to "});
  refused(numbers("few", ColumnType::integer, {7}), ErrorCode::data, {"f.csv:2", "\"few\"", "7", "1 to 3"});
  refused(numbers("cc", ColumnType::integer, {7}), ErrorCode::usage, {"f.csv", "\"cc\"", "Nearest", "\"c\""});
  refused(texts("x", ColumnType::category, {"much"}), ErrorCode::data, {"f.csv", "\"x\"", "decimal"});
  // rows that are completed keep such values, and what is drawn is never missing
  o.completes = true;
  EXPECT_EQ(number(complete(m, table({numbers("x", ColumnType::decimal, {99}, 2)}), o), "x", 0), 99);
}

// start <= end; total = items + extras; city and state in combinations.
Table orders() {
  const auto start = [](int64_t i) { return std::floor(18000 + 100 * uniform(i, 5)); };
  const auto items = [](int64_t i) { return std::floor(1 + 9 * uniform(i, 1)); };
  const auto extras = [](int64_t i) { return std::floor(5 * uniform(i, 2)); };
  const std::vector<std::string> cities{"Bonn", "Ulm", "Jena", "Gera"};
  const auto city = [=](int64_t i) { return cities[static_cast<size_t>(4 * uniform(i, 8))]; };
  return table({dates_by("start", 1500, start),
                dates_by("end", 1500, [&](int64_t i) { return start(i) + std::floor(9 * uniform(i, 6)); }),
                whole_by("items", 1500, items), whole_by("extras", 1500, extras),
                whole_by("total", 1500, [&](int64_t i) { return items(i) + extras(i); }), texts_by("city", 1500, city),
                texts_by("state", 1500, [&](int64_t i) {
                  return city(i) == "Bonn" ? "NRW" : city(i) == "Ulm" ? "BW" : "Thueringen";
                })});
}

TEST(Given, RowsSatisfyTheRulesOfTheTable) {
  const Model m = fit(orders(), quick_made(5), 2);
  ASSERT_GE(m.shared_rows()->rules.found().size(), 3u);
  const Table made = complete(m, table({numbers("end", ColumnType::date, {18050, 18060, kMissing, kMissing}),
                                        numbers("start", ColumnType::date, {kMissing, 18055, 18020, kMissing}),
                                        numbers("total", ColumnType::integer, {kMissing, 7, 9, 6}),
                                        texts("state", ColumnType::category, {"NRW", "Thueringen", "", "BW"}),
                                        texts("city", ColumnType::category, {"", "Gera", "Ulm", ""})}));
  for (int64_t i = 0; i < 4; ++i) {
    EXPECT_GE(number(made, "end", i), number(made, "start", i));
    EXPECT_EQ(number(made, "total", i), number(made, "items", i) + number(made, "extras", i));
  }
  EXPECT_EQ(number(made, "end", 0), 18050);
  EXPECT_EQ(number(made, "total", 3), 6);
  EXPECT_EQ(cell(column(made, "city"), 0), "Bonn");
  EXPECT_EQ(cell(column(made, "state"), 2), "BW");
  EXPECT_EQ(cell(column(made, "city"), 3), "Ulm");
  const Thrown apart = thrown([&] {
    complete(m, table({texts("state", ColumnType::category, {"BW"}), texts("city", ColumnType::category, {"Bonn"})}));
  });
  EXPECT_TRUE(apart.says("row 1") && apart.says("combinations")) << apart.message;
  const Thrown broken = thrown([&] {
    complete(m, table({numbers("start", ColumnType::date, {18050}), numbers("end", ColumnType::date, {18040})}));
  });
  EXPECT_EQ(broken.code, ErrorCode::condition);
  EXPECT_TRUE(
      broken.says("row 1: none of 1024 candidates with the given cells satisfies the rules of the table (they "
                  "break \"end >= start\""))
      << broken.message;
}

// A real table may hold a total that no items and extras reach: its row keeps the other rules, and is counted.
TEST(Given, AnUnsatisfiableRuleBreaksNoOther) {
  const Model m = fit(orders(), quick_made(5), 2);
  std::vector<double> start, total;
  for (int i = 0; i < 60; ++i) start.push_back(18000 + i), total.push_back(i % 2 == 0 ? 1e6 : 7);
  GivenReport report;
  const Table made =
      complete(m, table({numbers("start", ColumnType::date, start), numbers("total", ColumnType::integer, total)}),
               completes(), 2, &report);
  for (int64_t i = 0; i < made.rows; ++i) {
    EXPECT_GE(number(made, "end", i), number(made, "start", i)) << i;
    EXPECT_EQ(number(made, "total", i) == number(made, "items", i) + number(made, "extras", i), i % 2 == 1) << i;
  }
  EXPECT_EQ(report.broken, 30);
  EXPECT_EQ(report.first_broken, "row 1");
}

// utc = at - 2 / 24; due >= at; cost = 3.99 * weight. What is drawn says a given number to its bin, or not at all.
TEST(Given, ComputesColumnsFromGivenCells) {
  const auto at = [](int64_t i) { return 1.6e9 + std::floor(3e7 * uniform(i, 1)); };
  const auto weight = [](int64_t i) { return std::round(100 * std::exp(3 + normal(i, 2))) / 100; };
  const Table real =
      table({times_by("at", 1500, at), times_by("utc", 1500, [&](int64_t i) { return at(i) - 7200; }),
             times_by("due", 1500, [&](int64_t i) { return at(i) + std::floor(9e4 * uniform(i, 3)); }),
             decimals_by("weight", 1500, 2, weight),
             decimals_by("cost", 1500, 2, [&](int64_t i) { return std::round(399 * weight(i)) / 100; })});
  for (const FitOptions& o : {quick_made(2), quick_tvae(2), quick(2)}) {
    const Model m = fit(real, o, 2);
    ASSERT_GE(m.shared_rows()->rules.found().size(), 3u);
    for (const GivenOptions& options : {GivenOptions{}, completes()}) {
      const Table made = complete(m, repeated(real, 40, 1, {"at", "weight"}), options);
      for (int64_t i = 0; i < 40; ++i) {
        EXPECT_EQ(number(made, "at", i), at(i));
        EXPECT_EQ(number(made, "utc", i), at(i) - 7200);
        EXPECT_GE(number(made, "due", i), at(i));
        EXPECT_NEAR(number(made, "cost", i), 3.99 * weight(i), 0.0051);
      }
    }
  }
}

// utc = at - 2 / 24; total = items + extras; moment = day + clock / 86400; epoch = 86400 * day + clock; city = town;
// tens = 0.1 * score. What they are computed from follows from them, but for the score, of which the tens leave ten.
TEST(Given, SolvesComputedCellsForTheirInputs) {
  constexpr int64_t kSeen = 1500;
  const auto at = [](int64_t i) { return 1.6e9 + std::floor(3e7 * uniform(i, 1)); };
  const auto items = [](int64_t i) { return std::floor(50 * uniform(i, 2)); };
  const auto extras = [](int64_t i) { return std::floor(40 * uniform(i, 3)); };
  const auto day = [](int64_t i) { return 19000 + std::floor(500 * uniform(i, 4)); };
  const auto clock = [](int64_t i) { return 300 * std::floor(288 * uniform(i, 5)); };
  const auto score = [](int64_t i) { return std::floor(100 * uniform(i, 6)); };
  const auto town = [](int64_t i) { return "T" + std::to_string(i * 7 % 40); };
  Column times = whole_by("clock", kSeen, clock);
  times.format = "%H:%M:%S";
  const Table real = table(
      {times_by("at", kSeen, at), times_by("utc", kSeen, [&](int64_t i) { return at(i) - 7200; }),
       whole_by("items", kSeen, items), whole_by("extras", kSeen, extras),
       whole_by("total", kSeen, [&](int64_t i) { return items(i) + extras(i); }), dates_by("day", kSeen, day), times,
       times_by("moment", kSeen, [&](int64_t i) { return day(i) * 86400 + clock(i); }),
       whole_by("epoch", kSeen, [&](int64_t i) { return day(i) * 86400 + clock(i); }), whole_by("score", kSeen, score),
       whole_by("tens", kSeen, [&](int64_t i) { return std::floor(score(i) / 10 + 0.5); }),
       texts_by("town", kSeen, town), texts_by("city", kSeen, town)});
  for (const FitOptions& o : {quick_made(2), quick_tvae(2), quick(2)}) {
    const Model m = fit(real, o, 2);
    for (const char* place : {"town", "city"}) {
      const char* moment = std::string_view(place) == "town" ? "moment" : "epoch";
      const Table made = complete(m, repeated(real, 40, 1, {"utc", "total", "items", moment, place}));
      for (int64_t i = 0; i < 40; ++i) {
        EXPECT_EQ(number(made, "at", i), at(i)) << o.method;
        EXPECT_EQ(number(made, "extras", i), extras(i));
        EXPECT_EQ(number(made, "day", i), day(i));
        EXPECT_EQ(number(made, "clock", i), clock(i));
        for (const char* name : {"town", "city"}) EXPECT_EQ(cell(column(made, name), i), town(i));
      }
    }
  }
  const Model m = fit(real, quick_made(2), 2);
  const Table drawn = complete(m, repeated(real, 40, 1, {"tens"}));
  double spread = 0;
  for (int64_t i = 0; i < 40; ++i) {
    EXPECT_EQ(number(drawn, "tens", i), std::floor(score(i) / 10 + 0.5));
    spread += std::abs(number(drawn, "score", i) - 10 * number(drawn, "tens", i));
  }
  EXPECT_GT(spread, 40);
  const Thrown beyond = thrown([&] { complete(m, table({numbers("utc", ColumnType::datetime, {2e9})})); });
  EXPECT_TRUE(beyond.says("\"at\"") && beyond.says("follows")) << beyond.message;
}

// Times and dates that numbers spell are columns of the model alone.
TEST(Given, KeepsTimesAndDatesThatNumbersSpell) {
  constexpr int64_t kSeen = 1500;
  const auto minute = [](int64_t i) { return std::floor(1440 * uniform(i, 1)); };
  const auto part = [](const char* function) {
    return [=](int64_t i) {
      Column day;
      become_moment(day, true, false);
      return time_function(function)->value(day, 18993 + std::floor(1500 * uniform(i, 2)),
                                            kind_of(ColumnType::integer).unit);
    };
  };
  const Table real = table(
      {texts_by("kind", kSeen, [](int64_t i) { return uniform(i, 3) < 0.4 ? "a" : "b"; }),
       whole_by("left", kSeen, [&](int64_t i) { return 100 * std::floor(minute(i) / 60) + std::fmod(minute(i), 60); }),
       whole_by("year", kSeen, part("year")), whole_by("month", kSeen, part("month")),
       whole_by("day", kSeen, part("day")), whole_by("weekday", kSeen, part("weekday"))});
  const Model m = fit(real, quick_made(2), 2);
  size_t spelled = 0;
  for (const FoundRule& f : m.shared_rows()->rules.found()) spelled += f.rule->kind() == std::string_view("spelled");
  ASSERT_EQ(spelled, 2u);
  for (const std::vector<std::string>& names :
       {std::vector<std::string>{"kind"}, {"kind", "left"}, {"year", "month", "day"}, {"kind", "month"}})
    for (const GivenOptions& options : {GivenOptions{}, completes()}) {
      const Table made = complete(m, repeated(real, 40, 1, names), options);
      for (const std::string& name : names)
        for (int64_t i = 0; i < 40; ++i) EXPECT_EQ(cell(column(made, name), i), cell(column(real, name), i)) << name;
      for (int64_t i = 0; i < 40; ++i) {
        EXPECT_LT(std::fmod(number(made, "left", i), 100), 60);
        EXPECT_TRUE(names.front() != "year" || number(made, "weekday", i) == number(real, "weekday", i));
      }
    }
}

TEST(Given, KeepsTheWholeOfGivenShares) {
  constexpr int64_t kSeen = 1500;
  const auto part = [](int64_t i, int k) {
    double part[3], all = 0;
    for (uint32_t j = 0; j < 3; ++j) all += part[j] = -std::log(1 - uniform(i, 1 + j));
    const double first = std::nearbyint(1000 * part[0] / all), second = std::nearbyint(1000 * part[1] / all);
    return (k == 0 ? first : k == 1 ? second : 1000 - first - second) / 1000;
  };
  std::vector<Column> columns;
  for (int k = 0; k < 3; ++k)
    columns.push_back(
        decimals_by(std::string(1, static_cast<char>('a' + k)), kSeen, 3, [=](int64_t i) { return part(i, k); }));
  const Table real = table(std::move(columns));
  const Model m = fit(real, quick_made(4), 2);
  const Table one = complete(m, repeated(real, 30, 1, {"a"})), two = complete(m, repeated(real, 30, 1, {"b", "c"}));
  for (int64_t i = 0; i < 30; ++i) {
    EXPECT_EQ(number(one, "a", i), part(i, 0));
    EXPECT_NEAR(number(one, "a", i) + number(one, "b", i) + number(one, "c", i), 1, 1e-9);
    EXPECT_NEAR(number(two, "a", i), part(i, 0), 1e-9);
  }
}

// total = price * items, missing in one row of twelve; rate follows from region and year. Whether a total is missing is
// drawn, also where what it is computed from is given.
TEST(Given, ComputesNumbersThatMissCells) {
  constexpr int64_t kSeen = 2000, kGiven = 200;
  const auto items = [](int64_t i) { return 1 + std::floor(30 * uniform(i, 1)); };
  const auto price = [](int64_t i) { return 100 + std::floor(9000 * uniform(i, 2)); };
  const auto region = [](int64_t i) { return std::floor(5 * uniform(i, 3)); };
  const auto year = [](int64_t i) { return 2001 + std::floor(6 * uniform(i, 4)); };
  const auto rate = [=](int64_t i) {
    return std::floor(9 * uniform(static_cast<int64_t>(10 * year(i) + region(i)), 5));
  };
  const Table real =
      table({whole_by("items", kSeen, items), whole_by("price", kSeen, price),
             whole_by("total", kSeen, [=](int64_t i) { return i % 12 == 0 ? kMissing : items(i) * price(i); }),
             texts_by("region", kSeen, [=](int64_t i) { return "R" + std::to_string(static_cast<int>(region(i))); }),
             whole_by("year", kSeen, year), whole_by("rate", kSeen, rate)});
  const Model m = fit(real, quick_made(3), 2);
  const Table made = complete(m, repeated(real, kGiven, 1, {"items", "price", "region", "year"}));
  int64_t missing = 0;
  for (int64_t i = 0; i < kGiven; ++i) {
    const bool without = column(made, "total").is_missing(i);
    missing += without;
    EXPECT_TRUE(without || number(made, "total", i) == items(i) * price(i)) << i;
    EXPECT_EQ(number(made, "rate", i), rate(i));
  }
  EXPECT_GT(missing, 3);
  EXPECT_LT(missing, 40);
}

// euros = price, third = price / 3 and twice = 2 * price; at are whole minutes, on is their day. Of several cells that
// say something of a number the one that says most is solved, and the number is one that rows show.
TEST(Given, SolvesExactCellsBeforeRoundedOnes) {
  constexpr int64_t kSeen = 1500;
  const auto price = [](int64_t i) { return std::floor(500000 * uniform(i, 1)) / 100; };
  const auto at = [](int64_t i) { return 60 * std::floor(2.6e7 + 6e5 * uniform(i, 2)); };
  const Table real =
      table({decimals_by("price", kSeen, 2, price),
             whole_by("third", kSeen, [&](int64_t i) { return std::round(price(i) / 3); }),
             whole_by("euros", kSeen, [&](int64_t i) { return std::round(price(i)); }),
             decimals_by("twice", kSeen, 2, [&](int64_t i) { return std::round(200 * price(i)) / 100; }),
             times_by("at", kSeen, at), dates_by("on", kSeen, [&](int64_t i) { return std::floor(at(i) / 86400); })});
  const Model m = fit(real, quick_made(2), 2);
  const Table exact = complete(m, repeated(real, 40, 1, {"third", "euros", "twice", "on"}));
  const Table rounded = complete(m, repeated(real, 40, 1, {"third", "euros", "on"}));
  for (int64_t i = 0; i < 40; ++i) {
    EXPECT_NEAR(number(exact, "price", i), price(i), 1e-9);
    EXPECT_NEAR(number(rounded, "price", i), price(i), 1);
    for (const Table* made : {&exact, &rounded}) {
      EXPECT_EQ(number(*made, "euros", i), number(real, "euros", i));
      EXPECT_EQ(number(*made, "third", i), number(real, "third", i));
      EXPECT_EQ(number(*made, "on", i), std::floor(at(i) / 86400));
      EXPECT_EQ(std::floor(number(*made, "at", i) / 86400), std::floor(at(i) / 86400));
      EXPECT_EQ(std::fmod(number(*made, "at", i), 60), 0);
    }
  }
}

// Columns that are mostly missing, so that hardly a candidate has all of them; bills of which half are paid exactly.
TEST(Given, FilledCellsAreNotMissing) {
  constexpr int64_t kSparse = 1500;
  const auto mostly = [](int64_t i, uint32_t stream, const char* value) {
    return std::string(uniform(i, stream) < 0.9 ? "" : value);
  };
  const auto bill = [](int64_t i) { return std::round(100 * std::exp(4 + normal(i, 2))) / 100; };
  const Table real =
      table({decimals_by("bill", kSparse, 2, bill),
             decimals_by("paid", kSparse, 2,
                         [&](int64_t i) {
                           return uniform(i, 3) < 0.5 ? bill(i) : std::round(100 * bill(i) * uniform(i, 4)) / 100;
                         }),
             texts_by("flag", ColumnType::boolean, kSparse,
                      [&](int64_t i) { return mostly(i, 5, i % 2 == 0 ? "yes" : "no"); }),
             texts_by("city", kSparse, [&](int64_t i) { return mostly(i, 6, i % 3 == 0 ? "Ulm" : "Jena"); }),
             texts_by("job", kSparse, [&](int64_t i) { return mostly(i, 7, i % 5 == 0 ? "cook" : "smith"); }),
             whole_by("age", kSparse,
                      [](int64_t i) { return uniform(i, 8) < 0.9 ? kMissing : std::floor(80 * uniform(i, 9)); }),
             texts_by("card", ColumnType::identifier, kSparse,
                      [&](int64_t i) { return mostly(i, 10, ("C-" + std::to_string(10000 + 7 * i)).c_str()); })});
  for (const FitOptions& o : {quick(2), quick_tvae(2), quick_made(2)}) {
    const Model m = fit(real, o, 2);
    ASSERT_TRUE(m.shared_rows()->rules.repeats("paid")) << o.method;
    GivenReport report;
    const Table made = complete(m, repeated(real, 200, 1, {"bill"}), completes(), 2, &report);
    for (const Column& c : made.columns)
      EXPECT_EQ(share(made, [&](int64_t i) { return c.is_missing(i); }), 0) << o.method << ' ' << c.name;
    EXPECT_EQ(report.empty, std::vector<int64_t>(7, 0));
    const double exact = share(made, [&](int64_t i) { return number(made, "paid", i) == number(made, "bill", i); });
    EXPECT_TRUE(exact > 0.02 && exact < 0.9) << o.method << ' ' << exact;
    GivenOptions small = completes();
    small.batch = 37;
    EXPECT_EQ(lines(complete(m, repeated(real, 200, 1, {"bill"}), small, 1)), lines(made)) << o.method;
  }
}

// Only small bills are paid exactly, and sampled copies are small: a large one that is given is kept nevertheless.
TEST(Given, KeepsEqualCellsThatNoSampledRowRepeats) {
  const auto bill = [](int64_t i) { return std::round(100 * std::exp(4 + normal(i, 2))) / 100; };
  const Table real = table({decimals_by("bill", 1500, 2, bill), decimals_by("paid", 1500, 2, [&](int64_t i) {
                              const bool exactly = bill(i) < 60 && uniform(i, 3) < 0.8;
                              return exactly ? bill(i) : std::round(100 * bill(i) * uniform(i, 4)) / 100;
                            })});
  for (const FitOptions& o : {quick_made(2), quick_tvae(2)}) {
    const Model m = fit(real, o, 2);
    ASSERT_TRUE(m.shared_rows()->rules.repeats("paid")) << o.method;
    const std::vector<double> paid{20, 300.5};
    const Table made = complete(
        m, table({numbers("bill", ColumnType::decimal, paid, 2), numbers("paid", ColumnType::decimal, paid, 2)}));
    for (int64_t i = 0; i < 2; ++i) EXPECT_EQ(number(made, "paid", i), paid[static_cast<size_t>(i)]) << o.method;
  }
}

bool finds(const Model& m, const std::string& rule) {
  return std::ranges::any_of(m.shared_rows()->rules.found(), [&](const auto& f) { return f.rule->text() == rule; });
}

// user and loan are a key.
TEST(Given, KeepsPairsThatAreAKey) {
  std::vector<std::string> user;
  std::vector<double> loan;
  for (int64_t u = 0; u < 300; ++u)
    for (int n = 1; n <= 1 + static_cast<int>(6 * uniform(u, 1)); ++n)
      user.push_back("U" + std::to_string(10000 + 7 * u)), loan.push_back(n);
  const auto rows = static_cast<int64_t>(user.size());
  const Table real =
      table({texts("user", ColumnType::identifier, user), numbers("loan", ColumnType::integer, loan),
             decimals_by("amount", rows, 2, [](int64_t i) { return std::floor(1e5 * uniform(i, 5)) / 100; }),
             texts_by("status", rows, [](int64_t i) { return uniform(i, 6) < 0.3 ? "open" : "closed"; })});
  const Model m = fit(real, quick_made(2), 2);
  ASSERT_TRUE(finds(m, "user and loan are unique together"));
  for (const GivenOptions& options : {GivenOptions{}, completes()}) {
    GivenReport report;
    const Table made = complete(m, repeated(real, 200, 1, {"user", "loan", "amount"}), options, 2, &report);
    EXPECT_EQ(report.broken, 0);
    for (int64_t i = 0; i < 200; ++i)
      for (const char* name : {"user", "loan", "amount"})
        EXPECT_EQ(cell(column(made, name), i), cell(column(real, name), i)) << name;
    // a user's second and third rows get other loans than the first
    const Table thrice = complete(m, repeated(real, 100, 3, {"user"}), options);
    std::map<std::string, std::vector<double>> loans;
    for (int64_t i = 0; i < thrice.rows; ++i)
      loans[cell(column(thrice, "user"), i)].push_back(number(thrice, "loan", i));
    for (auto& [name, numbers] : loans) {
      std::ranges::sort(numbers);
      for (size_t k = 0; k < numbers.size(); ++k) EXPECT_EQ(numbers[k], static_cast<double>(k) + 1) << name;
    }
  }
}

// change = value - base, but is missing before day 20: there no other cells bring it back.
TEST(Given, CellsThatARuleRequiresToBeMissingAreNotSolved) {
  const auto day = [](int64_t i) { return i % 3 == 0 ? 1 : 20 + std::floor(100 * uniform(i, 1)); };
  const auto base = [](int64_t i) { return 20 + std::floor(60 * uniform(i, 2)); };
  const auto value = [&](int64_t i) { return i % 3 == 0 ? base(i) : base(i) + std::floor(20 * uniform(i, 3)) - 10; };
  const Table real =
      table({whole_by("day", 1500, day), whole_by("value", 1500, value), whole_by("base", 1500, base),
             whole_by("change", 1500, [&](int64_t i) { return i % 3 == 0 ? kMissing : value(i) - base(i); })});
  const Model m = fit(real, quick_made(5), 2);
  ASSERT_TRUE(finds(m, "change is null exactly where day < 20"));
  for (const GivenOptions& options : {GivenOptions{}, completes()}) {
    GivenReport report;
    const Table made = complete(m, repeated(real, 150, 1, {"day", "value", "base"}), options, 2, &report);
    EXPECT_EQ(report.broken, 0);
    for (int64_t i = 0; i < made.rows; ++i)
      EXPECT_EQ(cell(column(made, "change"), i), cell(column(real, "change"), i)) << i;
  }
}

// The first day of a month leaves about thirty days of which only one is the last of a month.
TEST(Given, SolvesForNumbersThatOtherRulesAllow) {
  const auto first = [](int64_t i) { return days_from_civil(2023, 1 + static_cast<int>(12 * uniform(i, 1)), 1); };
  const auto last = [&](int64_t i) {
    const Civil c = civil_from_days(first(i));
    return static_cast<double>(days_from_civil(c.year + c.month / 12, c.month % 12 + 1, 1) - 1);
  };
  const Table real = table({dates_by("from", 1500, [&](int64_t i) { return static_cast<double>(first(i)); }),
                            dates_by("to", 1500, last),
                            texts_by("tariff", 1500, [](int64_t i) { return uniform(i, 2) < 0.5 ? "one" : "two"; })});
  const Model m = fit(real, quick_made(5), 2);
  ASSERT_GE(m.shared_rows()->rules.found().size(), 2u);
  for (const char* given : {"from", "to"}) {
    const Table made = complete(m, repeated(real, 60, 1, {given}));
    for (int64_t i = 0; i < 60; ++i) {
      EXPECT_EQ(number(made, "from", i), static_cast<double>(first(i))) << given;
      EXPECT_EQ(number(made, "to", i), last(i)) << given;
    }
  }
}

// Half cents of a real table are rounded either way: rows that have them break no rule.
TEST(Given, RoundedHalvesBreakNoRule) {
  const auto tenths = [](int64_t i) { return std::floor(2000 * uniform(i, 1)); };
  const Table real =
      table({decimals_by("price", 1500, 1, [&](int64_t i) { return tenths(i) / 10; }),
             decimals_by(
                 "tax", 1500, 2,
                 [&](int64_t i) { return (i % 2 == 0 ? std::floor(tenths(i) / 2) : std::ceil(tenths(i) / 2)) / 100; }),
             texts_by("paid", 1500, [](int64_t i) { return uniform(i, 2) < 0.5 ? "yes" : "no"; })});
  const Model m = fit(real, quick_made(2), 2);
  ASSERT_TRUE(finds(m, "tax = price / 20") || finds(m, "tax = 0.05 * price"));
  GivenReport report;
  const Table made = complete(m, repeated(real, 200, 1, {"price", "tax"}), completes(), 2, &report);
  EXPECT_EQ(report.broken, 0) << report.broken_by;
  for (int64_t i = 0; i < 200; ++i) EXPECT_EQ(number(made, "tax", i), number(real, "tax", i));
}

// A text that a function of a date writes says little of the date: it is matched, not solved.
TEST(Given, DatesMatchTheTextsThatAreGivenOfThem) {
  const auto day = [](int64_t i) { return 18262 + std::floor(1000 * uniform(i, 1)); };
  const auto quarter = [](double at) {
    return "Q" + std::to_string((civil_from_days(static_cast<int64_t>(at)).month + 2) / 3);
  };
  const Table real =
      table({dates_by("day", 600, day), texts_by("quarter", 600, [&](int64_t i) { return quarter(day(i)); }),
             whole_by("x", 600, [](int64_t i) { return std::floor(90 * uniform(i, 2)); })});
  const Model m = fit(Table(real), quick_made(3), 2);
  ASSERT_TRUE(finds(m, "quarter is the quarter of day"));
  for (const GivenOptions& options : {GivenOptions{}, completes()}) {
    const Table made = complete(m, repeated(real, 40, 1, {"quarter"}), options);
    for (int64_t i = 0; i < made.rows; ++i)
      EXPECT_EQ(quarter(number(made, "day", i)), cell(column(real, "quarter"), i)) << i;
  }
}

// A text that cannot be put together is kept with --impute, and solves nothing.
TEST(Given, TextsOfAnotherFormSolveNoNumber) {
  const auto number_of = [](int64_t i) { return std::floor(9000 * uniform(i, 1)); };
  const auto team = [](int64_t i) { return std::string(uniform(i, 2) < 0.5 ? "red" : "blue"); };
  Table real =
      table({texts_by("team", 600, team), whole_by("number", 600, number_of), texts_by("badge", 600, [&](int64_t i) {
               return team(i) + "-" + std::to_string(static_cast<int>(10000 + number_of(i))).substr(1);
             })});
  const Model m = fit(Table(real), quick_made(3), 2);
  ASSERT_TRUE(finds(m, "badge = team || '-' || lpad(number, 4, '0')"));
  real.columns[2].values.front() = "no badge";
  Table given = repeated(real, 40, 1, {"team", "badge"});
  const Table made = complete(m, std::move(given), completes());
  for (int64_t i = 0; i < made.rows; ++i) EXPECT_FALSE(column(made, "number").is_missing(i)) << i;
}

// Of a date that is a sum, the terms are there: a status that would make one missing is excluded.
TEST(Given, WhatMakesAnInputMissingIsExcluded) {
  const auto status = [](int64_t i) { return std::vector{"open", "done", "late"}[static_cast<size_t>(i % 3)]; };
  const auto opened = [](int64_t i) { return 18262 + std::floor(4 * uniform(i, 1)); };
  const auto days = [](int64_t i) { return i % 3 == 0 ? kMissing : std::floor(5 * uniform(i, 2)); };
  const Table real = table({texts_by("status", 900, [&](int64_t i) { return std::string(status(i)); }),
                            dates_by("shipped", 900, [&](int64_t i) { return opened(i) + days(i); }),
                            dates_by("opened", 900, opened), whole_by("days", 900, days)});
  const Model m = fit(Table(real), quick_made(3), 2);
  ASSERT_TRUE(finds(m, "shipped = opened + days"));
  ASSERT_TRUE(finds(m, "days is null exactly where status in ('open')"));
  for (const GivenOptions& options : {GivenOptions{}, completes()}) {
    const Table made = complete(m, repeated(real, 150, 1, {"shipped"}), options);
    for (int64_t i = 0; i < made.rows; ++i) {
      if (column(real, "shipped").is_missing(i)) continue;
      EXPECT_NE(cell(column(made, "status"), i), "open") << i;
      EXPECT_EQ(number(made, "shipped", i), number(real, "shipped", i)) << i;
      EXPECT_EQ(number(made, "shipped", i), number(made, "opened", i) + number(made, "days", i)) << i;
    }
  }
}

// Of two inputs of many digits, drawn ones hardly ever give a total: one of them is solved for.
TEST(Given, TotalsAloneHaveInputsThatGiveThem) {
  const auto part = [](int64_t i, uint32_t stream) { return std::round(100 * 500 * uniform(i, stream)) / 100; };
  const auto sum = [&](int64_t i) { return std::round(100 * (part(i, 1) + part(i, 2))) / 100; };
  const Table real =
      table({decimals_by("a", 1500, 2, [&](int64_t i) { return part(i, 1); }),
             decimals_by("b", 1500, 2, [&](int64_t i) { return part(i, 2); }), decimals_by("c", 1500, 2, sum)});
  const Model m = fit(Table(real), quick_made(5), 2);
  ASSERT_TRUE(finds(m, "c = a + b"));
  const Table made = complete(m, repeated(real, 150, 2, {"c"}));
  double share_of_a = 0;
  for (int64_t i = 0; i < made.rows; ++i) {
    EXPECT_NEAR(number(made, "a", i) + number(made, "b", i), sum(i / 2), 1e-9) << i;
    share_of_a += number(made, "a", i) / sum(i / 2) / static_cast<double>(made.rows);
  }
  EXPECT_NEAR(share_of_a, 0.5, 0.06);
}

// In a column that never holds 0, a blank that counts as 0 stays one.
TEST(Given, BlanksThatCountAsZeroStayBlank) {
  const auto items = [](int64_t i) { return 10 + std::floor(80 * uniform(i, 1)); };
  const auto tip = [](int64_t i) {
    return uniform(i, 2) < 0.3 ? kMissing : std::round(100 * (0.5 + 9 * uniform(i, 3))) / 100;
  };
  const Table real = table(
      {whole_by("items", 900, items), decimals_by("tip", 900, 2, tip), decimals_by("total", 900, 2, [&](int64_t i) {
         return std::round(100 * (items(i) + (tip(i) == tip(i) ? tip(i) : 0))) / 100;
       })});
  const Model m = fit(Table(real), quick_made(3), 2);
  ASSERT_TRUE(finds(m, "total = items + coalesce(tip, 0)"));
  for (const GivenOptions& options : {GivenOptions{}, completes()}) {
    GivenReport report;
    const Table made = complete(m, repeated(real, 150, 1, {"items", "total"}), options, 2, &report);
    EXPECT_EQ(report.broken, 0);
    for (int64_t i = 0; i < made.rows; ++i) EXPECT_EQ(cell(column(made, "tip"), i), cell(column(real, "tip"), i)) << i;
  }
}

// Formats of few rows are not learned; the rows of the table that have them are completed nevertheless.
TEST(Given, RowsOfUnknownFormatsAreCompleted) {
  Table real = table({dates_by("day", 500, [](int64_t i) { return 18000 + std::floor(900 * uniform(i, 1)); }),
                      whole_by("x", 500, [](int64_t i) { return std::floor(90 * uniform(i, 2)); })});
  real.columns[0].values = {"%Y-%m-%d", "%Y/%m/%d", "%d.%m.%Y"};
  for (int64_t i = 0; i < 500; ++i) real.columns[0].codes.push_back(i < 2 ? 2 : static_cast<int32_t>(i % 2));
  const Model m = fit(Table(real), quick_made(2), 2);
  const std::vector<int32_t> first{0, 1, 2, 3, 4, 5};
  EXPECT_TRUE(thrown([&] { complete(m, table({real.columns[0].pick(first)})); }).says("not known to the model"));
  const Table made = complete(m, table({real.columns[0].pick(first)}), completes());
  ASSERT_EQ(made.rows, 6);
  for (int64_t i = 0; i < made.rows; ++i) {
    EXPECT_EQ(number(made, "day", i), number(real, "day", i)) << i;
    EXPECT_FALSE(column(made, "x").is_missing(i)) << i;
  }
}

// A month is written without its day: the end of the range is the month, not a day of it.
TEST(Given, MonthsThatTheModelDrawsAreInItsRange) {
  Table real =
      table({dates_by("month", 40,
                      [](int64_t i) {
                        return static_cast<double>(days_from_civil(2000 + static_cast<int>(20 * uniform(i, 1)),
                                                                   1 + static_cast<int>(12 * uniform(i, 2)), 1));
                      }),
             whole_by("x", 40, [](int64_t i) { return std::floor(90 * uniform(i, 3)); })});
  real.columns[0].format = "%Y-%m";
  const Model m = fit(Table(real), quick_made(2), 2);
  Table drawn = sample(m, 500);
  for (double& x : drawn.columns[0].numbers) {  // as the file holds it
    const Civil c = civil_from_days(static_cast<int64_t>(x));
    x = static_cast<double>(days_from_civil(c.year, c.month, 1));
  }
  EXPECT_EQ(complete(m, repeated(drawn, 500, 1, {"month"})).rows, 500);
}

// Cells of which the model holds no value stay empty, and are counted.
TEST(Given, CellsWithoutAnyValueAreCounted) {
  const Table real =
      table({whole_by("x", 400, [](int64_t i) { return std::floor(90 * uniform(i, 1)); }),
             whole_by("few", 400, [](int64_t i) { return i < 3 ? static_cast<double>(i + 10) : kMissing; })});
  const Model m = fit(Table(real), quick_made(2), 2);
  GivenReport report;
  complete(m, repeated(real, 20, 1, {"x"}), completes(), 2, &report);
  EXPECT_EQ(report.empty, (std::vector<int64_t>{0, 20}));
}

TEST(Given, DrawsBalancedAndCountedRows) {
  const Model& m = model_by("made");
  const Table balanced = complete(m, balanced_rows(*m.shared_rows(), "c", 400));
  for (const char* level : {"a", "b", "c", "d"})
    EXPECT_EQ(share(balanced, [&](int64_t i) { return cell(column(balanced, "c"), i) == level; }), 0.25);
  EXPECT_EQ(balanced_rows(*m.shared_rows(), "few", 30).columns.front().numbers[1], 2);
  EXPECT_TRUE(thrown([&] { balanced_rows(*m.shared_rows(), "x", 3); }).says("no list of values"));
  EXPECT_TRUE(thrown([&] { balanced_rows(*m.shared_rows(), "cs", 3); }).says("Nearest: \"c\""));
  Team team(1);
  const Table conditions =
      table({texts("c", ColumnType::category, {"a", "d"}), numbers("few", ColumnType::integer, {kMissing, 3}),
             numbers("rows", ColumnType::integer, {3, 2})});
  const Table counted = complete(m, repeated_rows(*m.shared_rows(), conditions, "f.csv", team));
  ASSERT_EQ(counted.rows, 5);
  EXPECT_EQ(cell(column(counted, "c"), 2), "a");
  EXPECT_EQ(cell(column(counted, "c"), 3), "d");
  EXPECT_EQ(number(counted, "few", 4), 3);
  EXPECT_TRUE(
      thrown([&] { repeated_rows(*m.shared_rows(), without(conditions, "rows"), "f.csv", team); }).says("f.csv"));
}

}  // namespace
}  // namespace tessera::whole
