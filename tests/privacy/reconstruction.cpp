// The attacker computes numbers of single rows from numbers of the file (reconstruct.h): order statistics
// out of interpolated quantiles, single values out of means and sums that differ in one row. Values have all the digits
// of a double, so that a guess that is right is no chance; the same guesses are held against values that the table does
// not have.
#include "privacy/reconstruct.h"
#include "privacy/tables.h"

namespace tessera::privacy {
namespace {

// Heavy tails, two modes, a spike, a column of few values one of which one row has, dates; missing values.
Table amounts(int64_t first, int64_t rows) {
  const auto by = [&](const char* name, auto value) {
    return whole::decimals_by(name, rows, 15, [&](int64_t i) { return value(first + i); });
  };
  return whole::table(
      {by("income", [](int64_t i) { return std::exp(10 + whole::normal(i, 1)); }),
       by("score", [](int64_t i) { return (whole::uniform(i, 2) < 0.4 ? -3 : 2) + whole::normal(i, 3); }),
       by("gain", [](int64_t i) { return whole::uniform(i, 4) < 0.7 ? 0 : 1000 * whole::uniform(i, 5); }),
       by("grade",
          [](int64_t i) { return i % 97 == 5 ? 100 * whole::uniform(i, 6) : std::floor(5 * whole::uniform(i, 7)); }),
       by("lab",
          [](int64_t i) { return whole::uniform(i, 8) < 0.1 ? kMissing : 7 * std::exp(0.1 * whole::normal(i, 9)); }),
       whole::texts_by("ward", rows, [&](int64_t i) { return whole::uniform(first + i, 10) < 0.5 ? "A" : "B"; })});
}

std::vector<double> single(const Table& t, const std::string& column) {
  std::map<double, int> rows;
  for (const double x : whole::column(t, column).numbers)
    if (x == x) ++rows[x];
  std::vector<double> out;
  for (const auto& [x, n] : rows)
    if (n < 5) out.push_back(x);
  return out;
}

struct Outcome {
  Rate own, control;
  std::string how;
};
std::vector<Outcome> attack(const Table& table, const Table& other, const ModelFile& file) {
  std::vector<Outcome> out;
  for (const Guesses& g : guess_numbers(file, table.rows)) {
    Outcome o{{}, {}, g.how};
    for (const Column& c : table.columns) {
      if (!is_numeric(c.type)) continue;
      const std::vector<double> own = single(table, c.name), control = single(other, c.name);
      o.own.hits += right(g, own), o.own.trials += static_cast<int64_t>(own.size());
      o.control.hits += right(g, control), o.control.trials += static_cast<int64_t>(control.size());
    }
    out.push_back(o);
  }
  return out;
}

void expect_nothing(const Table& table, const Table& other, const Model& model) {
  for (const Outcome& o : attack(table, other, file_of(model)))
    EXPECT_GT(by_chance(o.own, o.control), 1e-3)
        << o.how << ": " << o.own.hits << " of " << o.own.trials << " single rows' values are right, and "
        << o.control.hits << " of " << o.control.trials << " of rows that the table does not have";
}

void attack_rows(const std::string& method, int epochs, int64_t rows, Tier tier) {
  expect_nothing(amounts(0, rows), amounts(1'000'000, rows),
                 whole::fit(amounts(0, rows), options(method, epochs, tier)));
}

TEST(Reconstruction, Tvae) { attack_rows("tvae", 2, 1200, Tier::off); }
TEST(Reconstruction, TvaeCalibrated) {
  for (const int64_t rows : {60, 700, 1200, 5000}) {
    SCOPED_TRACE(rows);
    attack_rows("tvae", 1, rows, Tier::marginals);
  }
}
TEST(Reconstruction, CtganCalibrated) { attack_rows("ctgan", 1, 1500, Tier::full); }

// Patients of five steps.
TEST(Reconstruction, Sequences) {
  const auto visits = [](int64_t first) {
    Table t = amounts(first, 1500);
    t.columns.insert(t.columns.begin(),
                     whole::texts_by("patient", t.rows, [](int64_t i) { return "P" + std::to_string(i / 5); }));
    t.columns.push_back(whole::decimals_by("birth", t.rows, 15,
                                           [&](int64_t i) { return 1900 + 100 * whole::uniform(first + i / 5, 11); }));
    return t;
  };
  FitOptions o = options("timegan", 10);
  o.sequences.key = "patient", o.sequences.statics = {"birth"};
  expect_nothing(visits(0), visits(1'000'000), whole::fit(visits(0), o));
}

// The attack has power: of quantiles as numpy interpolates them it solves most single rows; of means of five rows none.
TEST(Reconstruction, SolvesInterpolatedQuantiles) {
  const Table table = amounts(0, 1000), other = amounts(1'000'000, 1000);
  std::vector<double> income(whole::column(table, "income").numbers.begin(),
                             whole::column(table, "income").numbers.end());
  std::sort(income.begin(), income.end());
  const auto file = [&](auto points, auto shares) {
    std::string bytes(8, '\0');
    const nlohmann::json document{{"real.points", points}, {"real.shares", shares}};
    const std::string header = nlohmann::json{{"__metadata__", {{"tessera", document.dump()}}}}.dump();
    const uint64_t length = header.size();
    std::copy_n(reinterpret_cast<const char*>(&length), 8, bytes.begin());
    return ModelFile(bytes + header);
  };
  std::vector<double> points, shares;
  for (int k = 0; k < 900; ++k) {
    const double at = static_cast<double>(k) / 899 * 0.45 * 999;
    const auto i = static_cast<size_t>(at);
    shares.push_back(at / 999), points.push_back(income[i] + (at - std::floor(at)) * (income[i + 1] - income[i]));
  }
  EXPECT_GT(right(solve_interpolated_quantiles(file(points, shares), 1000), income), 400);

  points.clear(), shares.clear();
  for (size_t k = 0; k < 200; ++k)
    points.push_back(std::accumulate(income.begin() + static_cast<ptrdiff_t>(5 * k),
                                     income.begin() + static_cast<ptrdiff_t>(5 * k + 5), 0.0) /
                     5),
        shares.push_back(static_cast<double>(k + 1) / 200);
  for (const Guesses& g : guess_numbers(file(points, shares), 1000)) EXPECT_EQ(right(g, income), 0) << g.how;
  // One mean of six rows beside one of five of them gives the sixth.
  const double five = points[20], six = (5 * five + income[105]) / 6;
  int64_t hits = 0;
  for (const Guesses& g : guess_numbers(file(std::vector<double>{five, six}, std::vector<double>{0.5, 1.0}), 1000))
    hits += right(g, income);
  EXPECT_EQ(hits, 1);
}

}  // namespace
}  // namespace tessera::privacy
