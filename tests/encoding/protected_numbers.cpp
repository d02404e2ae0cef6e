// Numbers that few rows share are not learned: laws of their replacements.
#include "tables/protection/protected_numbers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "encoding/columns.h"
#include "tables/encoding/number_code.h"
#include "tables/table/decimals.h"

namespace tessera {
namespace {

using namespace columns;

constexpr int kNotRounded = 15;

// Ascending values of many kinds: alone, shared, in clumps, with tails.
std::vector<double> column_of(int rows, uint32_t kind) {
  std::vector<double> x;
  for (int i = 0; i < rows; ++i) {
    const double u = uniform(static_cast<uint32_t>(i), kind), v = uniform(static_cast<uint32_t>(i), kind + 100);
    switch (kind % 6) {
      case 0: x.push_back(u); break;
      case 1: x.push_back(std::exp(5 * u)); break;
      case 2: x.push_back(v < 0.6 ? 0 : 1000 + std::exp(6 * u)); break;
      case 3: x.push_back(std::floor(12 * u)); break;
      case 4: x.push_back((v < 0.5 ? 10 : 5000) + u); break;
      default: x.push_back(std::floor(30 * u * u) / 10); break;
    }
  }
  std::sort(x.begin(), x.end());
  return x;
}

std::vector<double> protect(const std::vector<double>& x, int64_t least, int decimals = kNotRounded,
                            const std::vector<int32_t>& holder = {}) {
  const ProtectedNumbers p(x, least, decimals, holder);
  std::vector<double> out;
  for (const double v : x) out.push_back(p.of(v));
  return out;
}

TEST(ProtectedNumbers, KeepSharedValuesAndTheOrder) {
  for (uint32_t kind = 0; kind < 12; ++kind)
    for (const int rows : {5, 9, 10, 31, 200, 3000})
      for (const int64_t least : {2, 5, 20}) {
        const std::vector<double> x = column_of(rows, kind);
        if (rows < least) continue;
        std::map<double, int64_t> count;
        for (const double v : x) ++count[v];
        const std::vector<double> y = protect(x, least);
        SCOPED_TRACE(testing::Message() << "kind " << kind << ", rows " << rows << ", least " << least);
        EXPECT_TRUE(std::is_sorted(y.begin(), y.end()));
        EXPECT_GE(y.front(), x.front());
        EXPECT_LE(y.back(), x.back());
        for (size_t i = 0; i < x.size(); ++i) {
          ASSERT_TRUE(std::isfinite(y[i]));
          if (count[x[i]] >= least) { EXPECT_EQ(y[i], x[i]); }
        }
      }
}

// Some hold many rows that lie together, most hold few.
std::vector<int32_t> holders_of(size_t rows, uint32_t kind) {
  std::vector<int32_t> out;
  for (uint32_t i = 0; i < rows; ++i) {
    const bool again = i > 0 && uniform(i, kind + 200) < 0.6;
    out.push_back(again ? out.back() : static_cast<int32_t>(25 * uniform(i, kind + 300)));
  }
  return out;
}

// Of rows held by `holder`, or each by its own.
void expect_functions_of_many(uint32_t kind, int64_t least, const std::vector<int32_t>& holder) {
  SCOPED_TRACE(testing::Message() << "kind " << kind << ", least " << least);
  const std::vector<double> x = column_of(83, kind), y = protect(x, least, kNotRounded, holder);
  std::vector<std::vector<double>> jacobian;  // by row that is moved: what comes out
  for (size_t i = 0; i < x.size(); ++i) {
    const double room = std::min(i > 0 ? x[i] - x[i - 1] : 1, i + 1 < x.size() ? x[i + 1] - x[i] : 1),
                 step = 1e-3 * room;
    std::vector<double> moved = x, column;
    moved[i] += step;
    const std::vector<double> z = protect(moved, least, kNotRounded, holder);
    for (size_t k = 0; k < y.size(); ++k) column.push_back(room > 0 ? (z[k] - y[k]) / step : 0);
    jacobian.push_back(std::move(column));
  }
  for (size_t i = 0; i < x.size(); ++i) {
    if (std::all_of(jacobian[i].begin(), jacobian[i].end(), [](double d) { return d == 0; })) continue;
    std::set<int64_t> alike;  // whose rows everything answers to as to this one: no combination tells them apart
    for (size_t r = 0; r < x.size(); ++r) {
      double apart = 0, size = 0;
      for (size_t k = 0; k < y.size(); ++k)
        apart = std::max(apart, std::abs(jacobian[r][k] - jacobian[i][k])),
        size = std::max(size, std::abs(jacobian[i][k]));
      if (apart < 1e-4 * size) alike.insert(holder.empty() ? static_cast<int64_t>(r) : holder[r]);
    }
    EXPECT_GE(static_cast<int64_t>(alike.size()), least) << "row " << i;
  }
}

// The law that needs no cleverness: what single rows do to what comes out. Rows are moved one by one; whatever moves
// with a row moves with at least `least` rows in the same proportion, so that no combination of what comes out is a
// function of one row.
TEST(ProtectedNumbers, EveryNumberDependsOnEnoughRows) {
  for (const uint32_t kind : {0u, 1u, 2u, 4u})
    for (const int64_t least : {2, 5, 7}) expect_functions_of_many(kind, least, {});
}

TEST(ProtectedNumbers, EveryNumberDependsOnEnoughHolders) {
  for (const uint32_t kind : {0u, 1u, 2u, 4u, 6u, 7u, 8u, 10u})
    for (const int64_t least : {2, 5, 7}) expect_functions_of_many(kind, least, holders_of(83, kind));
}

TEST(ProtectedNumbers, ReplaceValuesOfASingleHolder) {
  std::vector<double> x;
  std::vector<int32_t> holder;
  for (int32_t i = 0; i < 200; ++i) x.push_back(i / 4), holder.push_back(i % 40);
  for (int i = 0; i < 30; ++i) x.push_back(777), holder.push_back(40);
  EXPECT_EQ(protect(x, 5, 0).back(), 777) << "rows count";
  const std::vector<double> y = protect(x, 5, 0, holder);
  EXPECT_EQ(std::count(y.begin(), y.end(), 777), 0);
  EXPECT_TRUE(std::is_sorted(y.begin(), y.end()));
  EXPECT_TRUE(ProtectedNumbers(std::vector<double>(30, 1.0), 5, 0, std::vector<int32_t>(30, 3)).none());
  // a digit that only one of them needs
  std::vector<double> tens;
  for (const double v : x) tens.push_back(10 * v);
  for (size_t i = 100; i < 120; ++i) tens[i] = tens[100] + 1, holder[i] = 41;
  EXPECT_EQ(ProtectedNumbers(tens, 5, 0, holder).decimals(), -1);
  EXPECT_EQ(ProtectedNumbers(tens, 5, 0).decimals(), 0);
}

// One row anywhere, however far: the ends of what comes out follow whole groups.
TEST(ProtectedNumbers, HideAnExtremeRow) {
  std::vector<double> x = column_of(400, 0);
  const double before = protect(x, 5).back();
  x.back() = 1000;
  EXPECT_LT(protect(x, 5).back(), before + 201);
  std::vector<double> ages;
  for (int age = 20; age < 60; ++age) ages.insert(ages.end(), 8, age);
  ages.push_back(117);
  EXPECT_EQ(protect(ages, 5, 0).back(), 59) << "fewer rows than a group take the nearest value that stands";
}

// Nothing comes out between two clumps, nor between a repeated value and a tail.
TEST(ProtectedNumbers, GapsStayGaps) {
  for (const uint32_t kind : {2u, 4u}) {
    const std::vector<double> x = column_of(2000, kind), y = protect(x, 5);
    const double from = kind == 2 ? 0 : 11, to = kind == 2 ? 1000 : 5000;
    EXPECT_EQ(std::count_if(y.begin(), y.end(), [&](double v) { return v > from + 1 && v < to - 1; }), 0);
  }
}

TEST(ProtectedNumbers, TheDistributionStays) {
  const std::vector<double> x = column_of(5000, 1), y = protect(x, 5);
  double most = 0;  // distance of the two distribution functions
  for (size_t i = 0; i < x.size(); ++i) {
    const auto at = static_cast<double>(std::upper_bound(y.begin(), y.end(), x[i]) - y.begin());
    most = std::max(most, std::abs(at - static_cast<double>(i + 1)) / 5000);
  }
  EXPECT_LT(most, 10.0 / 5000);
  EXPECT_GT(std::set<double>(y.begin(), y.end()).size(), 4900u)
      << "values that were different stay so, but at the ends";
}

TEST(ProtectedNumbers, HaveTheDigitsThatEnoughRowsNeed) {
  std::vector<double> x;
  for (int i = 0; i < 200; ++i) x.push_back(100 * std::floor(300 * uniform(static_cast<uint32_t>(i), 3)));
  x.push_back(12345), x.push_back(0.25);
  std::sort(x.begin(), x.end());
  const ProtectedNumbers p(x, 5, 2);
  EXPECT_EQ(p.decimals(), -2);
  for (const double v : x) EXPECT_EQ(std::fmod(p.of(v), 100), 0) << v;

  Table t = table({numbers("x", ColumnType::decimal, x, 2)});
  Team team(1);
  EXPECT_TRUE(protect_numbers(t, 5, 1, team).empty());
  EXPECT_EQ(t.columns[0].decimals, 1) << "two digits are those of one row";
}

TEST(ProtectedNumbers, EnormousAndTinyNumbersAreNumbers) {
  for (const double scale : {1.7e308, 1e-320, 1.0}) {
    std::vector<double> x;
    for (int i = 0; i < 60; ++i) x.push_back(scale * (2 * uniform(static_cast<uint32_t>(i), 4) - 1));
    std::sort(x.begin(), x.end());
    for (const double v : protect(x, 5)) {
      EXPECT_GE(v, x.front());
      EXPECT_LE(v, x.back());
    }
  }
}

TEST(ProtectedNumbers, EmptyColumnsOfTooFewValues) {
  Table t;
  t.rows = 100;
  std::vector<double> few(100, kMissing), all;
  few[3] = 1, few[50] = 2, few[60] = 3, few[61] = 4;
  for (int i = 0; i < 100; ++i) all.push_back(i + 0.5);
  t.columns = {numbers("few", ColumnType::decimal, few, 1), numbers("all", ColumnType::decimal, all, 1)};
  const Table before = t;
  Team team(2);
  EXPECT_TRUE(protect_numbers(t, 1, 1, team).empty());
  EXPECT_TRUE(t.columns[1].numbers == before.columns[1].numbers) << "--rare-categories keep changes nothing";
  const auto emptied = protect_numbers(t, 5, 1, team);
  ASSERT_EQ(emptied.size(), 1u);
  EXPECT_EQ(emptied[0].name, "few");
  EXPECT_EQ(emptied[0].rows, 4);
  for (const double v : t.columns[0].numbers) EXPECT_TRUE(std::isnan(v));
  for (const double v : t.columns[1].numbers) EXPECT_EQ(round_decimals(v, 1), v);
}

}  // namespace
}  // namespace tessera
