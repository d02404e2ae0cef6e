// A model file reveals no number of a single row. Tested as an attacker would, from its bytes alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>

#include "base/storage/safetensors.h"
#include "models/tables.h"

namespace tessera::whole {
namespace {

FitOptions quick_fit(const std::string& method) {
  FitOptions o = method == "ctgan" ? quick(1) : method == "made" ? quick_made(1) : quick_tvae(1);
  o.calibrate = method == "made" ? Tier::off : Tier::full;
  if (method != "timegan") return o;
  o.method = method, o.preset = "best";
  apply_preset(o);
  set(o, "iterations", "2");
  set(o, "hidden_dim", "8"), set(o, "layers", "2");
  o.sequences.key = "who", o.sequences.index = "day", o.sequences.statics = {"born"};
  return o;
}

// The file's document and tensors but for the fingerprint of the run, which says whether a table is the one and nothing
// of it.
struct Opened {
  nlohmann::json document;
  SafeTensors file;
  explicit Opened(const std::string& bytes) : file(parse_safetensors(bytes, "m")) {
    document = nlohmann::json::parse(file.metadata.at("tessera"));
    document["provenance"].erase("run");
  }
  // Every number of the document, and of calibration's tensors.
  std::vector<double> numbers() const {
    std::vector<double> out;
    const std::function<void(const nlohmann::json&)> walk = [&](const nlohmann::json& j) {
      if (j.is_number()) out.push_back(j.get<double>());
      else if (j.is_structured())
        for (const auto& child : j) walk(child);
    };
    walk(document);
    for (const auto& [name, tensor] : file.tensors)
      if (name.rfind("calibration.", 0) == 0 && tensor.dtype == "F64")
        for (const double x : tensor.values<double>()) out.push_back(x);
    return out;
  }
};

// Clumps of six rows each, of which two stand apart by `inside` (in sixteenths, so that sums are exact): another
// `inside` moves rows and no mean.
double clumped(int64_t clump, int64_t member, int inside) {
  const int shift = (member == 0   ? -inside
                     : member == 1 ? -8
                     : member == 2 ? -2
                     : member == 3 ? 2
                     : member == 4 ? 8
                                   : inside);
  return 1000.0 * static_cast<double>(clump) + static_cast<double>(shift) / 16;
}

// 1,260 rows in mixed order. For a model of sequences: 252 keys of five days; the rows of a clump are of as many keys.
Table clumps(int inside, bool sequences) {
  constexpr int64_t kRows = 1260;
  const auto place = [](int64_t row) { return row * 11 % kRows; };  // clumps and rows lie across one another
  std::vector<Column> columns;
  columns.push_back(decimals_by("x", kRows, 4, [&](int64_t i) { return clumped(place(i) / 6, place(i) % 6, inside); }));
  columns.push_back(
      whole_by("n", kRows, [&](int64_t i) { return 16 * clumped(kRows / 6 - place(i) / 6, place(i) % 6, inside); }));
  columns.push_back(decimals_by("s", kRows, 4, [&](int64_t i) {
    const int64_t at = place(i);
    return at % 3 == 0 ? 0 : clumped(1 + at / 9, at / 3 * 2 + at % 3 - 1 - at / 9 * 6, inside);
  }));
  columns.push_back(texts_by("c", kRows, [](int64_t i) { return i % 4 == 0 ? "a" : "b"; }));
  if (!sequences) return table(std::move(columns));
  columns.insert(columns.begin(), texts_by("who", kRows, [](int64_t i) { return "k" + std::to_string(1000 + i / 5); }));
  columns.insert(columns.begin() + 1, whole_by("day", kRows, [&](int64_t i) {
                   return 16 * clumped(i / 5 / 6, i / 5 % 6, inside) + static_cast<double>(i % 5);
                 }));
  columns.insert(columns.begin() + 2,
                 decimals_by("born", kRows, 4, [&](int64_t i) { return clumped(i / 5 / 6, i / 5 % 6, inside); }));
  return table(std::move(columns));
}

// Two tables that differ in a third of their numbers, but not in the mean of any
// group, give one file: so each number in it, the weights with the others, is a function of means over whole groups.
TEST(Protected, FileDependsOnGroupMeansOnly) {
  for (const std::string method : {"tvae", "ctgan", "timegan", "made"}) {
    SCOPED_TRACE(method);
    FitOptions o = quick_fit(method);
    o.rules.find = false;  // rules tell what many rows have in common; StoredByRules tests their numbers
    const Opened a(fit(clumps(21, method == "timegan"), o, 2).bytes()),
        b(fit(clumps(37, method == "timegan"), o, 2).bytes());
    EXPECT_EQ(a.document, b.document);
    ASSERT_EQ(a.file.tensors.size(), b.file.tensors.size());
    for (const auto& [name, tensor] : a.file.tensors) EXPECT_EQ(tensor.bytes, b.file.tensors.at(name).bytes) << name;

    FitOptions keep = o;
    keep.rare_rows = 1, keep.calibrate = Tier::off;
    const Opened c(fit(clumps(21, method == "timegan"), keep, 2).bytes()),
        d(fit(clumps(37, method == "timegan"), keep, 2).bytes());
    EXPECT_NE(c.document, d.document) << "the tables are two: without the protection their files are";
  }
}

// Distinct amounts, one per row, with enough digits that none occurs by chance.
Table amounts(int64_t rows, bool sequences) {
  const auto digits = [](double x) { return std::round(1e6 * x) / 1e6; };
  std::vector<Column> columns;
  columns.push_back(decimals_by(
      "income", rows, 6, [&](int64_t i) { return i == 77 ? 9876543.212345 : digits(std::exp(10 + normal(i))); }));
  columns.push_back(whole_by("balance", rows, [](int64_t i) { return std::round(1e12 * normal(i, 1)); }));
  columns.push_back(
      decimals_by("claim", rows, 6, [&](int64_t i) { return i % 3 != 0 ? 0 : digits(std::exp(5 + normal(i, 2))); }));
  columns.push_back(times_by("seen", rows, [](int64_t i) { return std::round(1e9 + 3e8 * uniform(i, 3)); }));
  columns.push_back(texts_by("ward", rows, [](int64_t i) { return i % 2 == 0 ? "A" : "B"; }));
  if (!sequences) return table(std::move(columns));
  columns.insert(columns.begin(), texts_by("who", rows, [](int64_t i) { return "k" + std::to_string(1000 + i / 4); }));
  columns.insert(columns.begin() + 1, decimals_by("day", rows, 6, [&](int64_t i) {
                   return static_cast<double>(i) * 10 + digits(uniform(i, 5));
                 }));
  columns.insert(columns.begin() + 2,
                 decimals_by("born", rows, 6, [&](int64_t i) { return digits(1950 + 50 * uniform(i / 4, 6)); }));
  return table(std::move(columns));
}

std::set<double> single_values(const Table& t) {
  std::map<double, int> rows;
  for (const Column& c : t.columns)
    for (const double x : c.numbers) ++rows[x];
  std::set<double> out;
  for (const auto& [x, n] : rows)
    if (n < 5 && std::abs(x) > 100) out.insert(x);  // below, a number may be a count or a share
  return out;
}

TEST(Protected, FileHoldsNoValueOfARow) {
  for (const std::string method : {"tvae", "ctgan", "timegan", "made"}) {
    const Table real = amounts(1400, method == "timegan");
    const std::set<double> single = single_values(real);
    ASSERT_GT(single.size(), 4000u);
    const Model m = fit(Table(real), quick_fit(method), 2);
    int found = 0;
    for (const double x : Opened(m.bytes()).numbers()) found += static_cast<int>(single.count(x));
    EXPECT_EQ(found, 0) << method;
    for (const Column& c : sample(m, method == "timegan" ? 100 : 2000).columns) {
      // of seconds in ten years chance repeats one in a hundred such tests; hundreds come out where rows are kept
      const int64_t by_chance = c.type == ColumnType::datetime ? 1 : 0;
      EXPECT_LE(std::count_if(c.numbers.begin(), c.numbers.end(), [&](double x) { return single.count(x) > 0; }),
                by_chance)
          << method << ", column " << c.name;
    }
  }
}

// Two quantiles in one gap of the sorted rows are two equations for the two rows at its ends, and a third in the next
// gap gives the next row.
std::vector<double> reconstructed(const std::vector<double>& points, const std::vector<double>& shares, int64_t rows) {
  std::map<int64_t, double> known;
  const auto n = static_cast<double>(rows - 1);
  const auto gap = [&](size_t k) { return static_cast<int64_t>(std::floor(shares[k] * n)); };
  const auto part = [&](size_t k) { return shares[k] * n - std::floor(shares[k] * n); };
  for (size_t k = 0; k + 1 < points.size(); ++k)
    if (gap(k) == gap(k + 1) && part(k + 1) - part(k) > 1e-6) {
      const double slope = (points[k + 1] - points[k]) / (part(k + 1) - part(k));
      known[gap(k)] = points[k] - part(k) * slope, known[gap(k) + 1] = points[k] + (1 - part(k)) * slope;
    }
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t k = 0; k < points.size(); ++k) {
      const int64_t a = gap(k), c = a + 1;
      if (known.count(a) != 0 && known.count(c) == 0 && part(k) > 0.05)
        known[c] = known[a] + (points[k] - known[a]) / part(k), changed = true;
      else if (known.count(c) != 0 && known.count(a) == 0 && part(k) < 0.95)
        known[a] = (points[k] - part(k) * known[c]) / (1 - part(k)), changed = true;
    }
  }
  std::vector<double> out;
  for (const auto& [rank, x] : known) out.push_back(x);
  return out;
}

// How many rows of the first column an attacker can solve for, from the quantiles of the table and of the numbers that
// the map covers.
int solved(const Table& real, const Model& m) {
  const Opened file(m.bytes());
  std::set<int64_t> cents;
  for (const double x : real.columns[0].numbers) cents.insert(std::llround(1e4 * x));
  int right = 0;
  for (const char* set : {"calibration.real.0.", "calibration.free.0."})
    for (const double x : reconstructed(file.file.tensors.at(std::string(set) + "points").values<double>(),
                                        file.file.tensors.at(std::string(set) + "shares").values<double>(), real.rows))
      right += static_cast<int>(cents.count(std::llround(1e4 * x)));
  return right;
}

TEST(Protected, QuantilesRevealNoRow) {
  const Table real = amounts(2000, false);
  FitOptions o = quick_fit("tvae");
  o.calibrate = Tier::marginals;
  EXPECT_EQ(solved(real, fit(Table(real), o, 2)), 0);
  o.rare_rows = 1;
  EXPECT_GT(solved(real, fit(Table(real), o, 2)), 100) << "the attack works on what is not protected";
}

}  // namespace
}  // namespace tessera::whole
