#include "tables/csv/example.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "base/error.h"
#include "kernels/math/philox.h"
#include "tables/arrow/export.h"
#include "tables/formats/calendar.h"
#include "tables/kinds/cells.h"

namespace tessera {
namespace {

constexpr int64_t kBatch = 65536;
constexpr int64_t kMaxExampleRows = 10'000'000'000;

enum ColumnIndex : uint32_t {
  person_id,
  gender,
  age,
  city,
  education,
  income,
  employed,
  children,
  height,
  capital_gain,
  plan,
  joined,
  last_seen,
  country
};

// The draws of one cell: four words per block, keyed by (column, row).
class Draws {
 public:
  Draws(uint64_t seed, int64_t row) : seed_(seed), row_(static_cast<uint64_t>(row)) {}

  double uniform(uint32_t column, uint32_t which = 0) const {
    const Philox p = random_words(seed_, Purpose::example, column | which << 16, row_);
    return open_uniform(p.word[0], p.word[1]);
  }
  double normal(uint32_t column, uint32_t which = 0) const {  // Box and Muller 1958
    constexpr double kTwoPi = 6.283185307179586;
    return std::sqrt(-2 * std::log(uniform(column, 2 * which + 8))) * std::cos(kTwoPi * uniform(column, 2 * which + 9));
  }
  int choice(uint32_t column, std::initializer_list<double> weights) const {
    double total = 0, u = uniform(column);
    for (const double w : weights) total += w;
    int k = 0;
    for (const double w : weights) {
      if ((u -= w / total) < 0) return k;
      ++k;
    }
    return k - 1;
  }
  bool missing(uint32_t column, double share) const { return uniform(column, 7) < share; }

 private:
  uint64_t seed_, row_;
};

Column numeric(const char* column, ColumnType type, int decimals = 0, const char* format = "") {
  Column c;
  c.name = column, c.type = type, c.decimals = decimals, c.format = format, c.reason = "made so";
  return c;
}

Column coded(const char* column, ColumnType type, std::vector<std::string> values) {
  Column c;
  c.name = column, c.type = type, c.values = std::move(values), c.reason = "made so";
  return c;
}

Table bare_people() {
  Table t;
  t.columns = {
      coded("person_id", ColumnType::identifier, {}),
      coded("gender", ColumnType::category, {"female", "male"}),
      numeric("age", ColumnType::integer),
      coded("city", ColumnType::category,
            {"Northport", "Eastville", "Southam", "Weston", "Midbury", "Lakeside", "Hillcrest", "Old Harbour"}),
      coded("education", ColumnType::category, {"primary", "secondary", "bachelor", "master"}),
      numeric("income", ColumnType::decimal, 2),
      coded("employed", ColumnType::boolean, {"false", "true"}),
      numeric("children", ColumnType::integer),
      numeric("height", ColumnType::decimal, 1),
      numeric("capital_gain", ColumnType::integer),
      coded("plan", ColumnType::category, {"basic", "plus", "premium"}),
      numeric("joined", ColumnType::date, 0, "%Y-%m-%d"),
      numeric("last_seen", ColumnType::datetime, 0, "%Y-%m-%d %H:%M:%S"),
      coded("country", ColumnType::constant, {"Freedonia"})};
  return t;
}

double rounded(double v, double unit) { return std::nearbyint(v * unit) / unit; }

// Distinct for different rows: a multiplication by a number coprime to the modulus permutes the residues.
std::string identifier_of(int64_t row, uint64_t seed) {
  const auto n = static_cast<uint64_t>((static_cast<__uint128_t>(row) * 7'368'787'459ull + seed % kMaxExampleRows) %
                                       kMaxExampleRows);
  std::string digits = std::to_string(n);
  return std::string("P-").append(10 - digits.size(), '0').append(digits);
}

int draw_children(const Draws& d, double years) {
  if (years < 25 && d.uniform(children) < 0.9) return 0;
  int n = 0;
  for (uint32_t k = 0; k < 4; ++k) n += d.uniform(children, k + 1) < 0.4;
  return n;
}

void make_person(int64_t row, uint64_t seed, Table& t) {
  const Draws d(seed, row);
  const auto number = [&](ColumnIndex c, double v) { t.columns[c].numbers.push_back(v); };
  const auto code = [&](ColumnIndex c, int v) { t.columns[c].codes.push_back(v); };

  code(person_id, static_cast<int>(t.columns[person_id].values.size()));
  t.columns[person_id].values.push_back(identifier_of(row, seed));

  const int is_male = d.uniform(gender) < 0.48;
  code(gender, is_male);
  const double years =
      std::clamp(std::nearbyint(d.uniform(age) < 0.6 ? 34 + 8 * d.normal(age) : 61 + 9 * d.normal(age)), 18.0, 95.0);
  number(age, years);
  const int town = d.choice(city, {1.0, 1.0 / 2, 1.0 / 3, 1.0 / 4, 1.0 / 5, 1.0 / 6, 1.0 / 7, 1.0 / 8});
  code(city, town);
  const int level = town < 2 ? d.choice(education, {.10, .35, .35, .20}) : d.choice(education, {.25, .50, .18, .07});
  code(education, level);
  const double earned = rounded(std::exp(10 + 0.25 * level + 0.008 * (years - 40) + 0.3 * d.normal(income)), 100);
  number(income, d.missing(income, .08) ? kMissing : earned);
  code(employed, d.missing(employed, .02) ? -1 : d.uniform(employed) < (years < 65 ? .90 : .15));
  number(children, draw_children(d, years));
  number(height, rounded(is_male ? 180 + 7 * d.normal(height) : 167 + 6.5 * d.normal(height), 10));
  number(capital_gain, d.uniform(capital_gain) < .85 ? 0 : std::nearbyint(std::exp(8 + 0.8 * d.normal(capital_gain))));
  code(plan, d.missing(plan, .12) ? -1 : earned > 60000 ? d.choice(plan, {.2, .4, .4}) : d.choice(plan, {.6, .3, .1}));
  constexpr double kFirstDay = 16436;  // 2015-01-01
  const double day = kFirstDay + std::floor(d.uniform(joined) * 3287);
  number(joined, day);
  number(last_seen, day * kSecondsPerDay + std::floor(-std::log(d.uniform(last_seen)) * 200 * kSecondsPerDay));
  code(country, 0);
}

Table make_people(int64_t first, int64_t count, uint64_t seed) {
  Table t = bare_people();
  t.rows = count;
  for (Column& c : t.columns) {
    if (has_numbers(c)) c.numbers.reserve(static_cast<size_t>(count));
    else c.codes.reserve(static_cast<size_t>(count));
  }
  for (int64_t i = 0; i < count; ++i) make_person(first + i, seed, t);
  return t;
}

void check_rows(int64_t rows) {
  if (rows < 1 || rows > kMaxExampleRows)
    throw Error(ErrorCode::usage,
                "`rows=" + std::to_string(rows) +
                    "`: an example table has between 1 and 10,000,000,000 rows.\n  Choose, for example, `rows=10000`.");
}

}  // namespace

Table example_people(int64_t rows, uint64_t seed) {
  check_rows(rows);
  return make_people(0, rows, seed);
}

void example_people(int64_t rows, uint64_t seed, ArrowArrayStream* out) {
  check_rows(rows);
  table_stream(
      bare_people(),
      [rows, seed, at = int64_t{0}](Table& batch) mutable {
        if (at == rows) return false;
        const int64_t count = std::min(kBatch, rows - at);
        batch = make_people(at, count, seed);
        at += count;
        return true;
      },
      out);
}

}  // namespace tessera
