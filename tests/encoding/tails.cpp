// Ends of a column beyond protected means: where the outermost row of a table lies, what stays as it is.
#include "tables/encoding/tails.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

#include "tables/protection/protected_numbers.h"

namespace tessera {
namespace {

using Draw = std::function<double(std::mt19937_64&)>;

std::vector<double> drawn(const Draw& draw, int rows, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<double> x(static_cast<size_t>(rows));
  for (double& v : x) v = draw(random);
  std::sort(x.begin(), x.end());
  return x;
}
std::vector<double> protect(std::vector<double> ascending) {
  const ProtectedNumbers numbers(ascending, 5, 12);
  numbers.replace(ascending.data(), ascending.size());
  return ascending;
}
Quantiles plain(const std::vector<double>& ascending) { return Quantiles::of(ascending); }
Quantiles tailed(const std::vector<double>& ascending) { return with_tails(plain(ascending), ascending); }
double median(std::vector<double> x) {
  std::nth_element(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(x.size() / 2), x.end());
  return x[x.size() / 2];
}

// Over many tables, the tables drawn from the quantiles end nearer to where the real ones do than with the means.
TEST(Tails, EndWhereTablesEnd) {
  constexpr int kRows = 4000, kTables = 101;
  std::uniform_real_distribution<double> even(-3, 2);
  std::normal_distribution<double> bell;
  std::lognormal_distribution<double> heavy(0, 1);
  for (const Draw& draw : {Draw(even), Draw(bell), Draw(heavy)}) {
    std::vector<double> real, with, without;
    for (uint64_t t = 0; t < kTables; ++t) {
      real.push_back(drawn(draw, kRows, t).back());
      const std::vector<double> table = protect(drawn(draw, kRows, 1000 + t));
      const auto end_of = [&](const Quantiles& q) {
        std::uniform_real_distribution<double> rank;
        return drawn([&](std::mt19937_64& random) { return q.at(rank(random)); }, kRows, 2000 + t).back();
      };
      with.push_back(end_of(tailed(table)));
      without.push_back(end_of(plain(table)));
    }
    EXPECT_LT(std::abs(median(with) - median(real)), std::abs(median(without) - median(real)));
  }
}

TEST(Tails, BothEndsMirrorEachOther) {
  std::vector<double> x = protect(drawn(std::normal_distribution<double>(), 3000, 5)), mirrored;
  for (size_t i = x.size(); i-- > 0;) mirrored.push_back(-x[i]);
  const Quantiles a = tailed(x), b = tailed(mirrored);
  EXPECT_LT(a.at(0), plain(x).at(0));
  EXPECT_GT(a.at(1), plain(x).at(1));
  EXPECT_DOUBLE_EQ(a.at(0), -b.at(1));
  EXPECT_DOUBLE_EQ(a.at(1), -b.at(0));
}

TEST(Tails, StopAtZeroAndAtSharedValues) {
  const std::vector<double> x = protect(drawn(std::exponential_distribution<double>(), 3000, 6));
  EXPECT_GE(tailed(x).at(0), 0);
  std::vector<double> capped = x;
  for (double& v : capped) v = std::min(v, capped[capped.size() - 10]);
  EXPECT_EQ(tailed(capped).at(1), plain(capped).at(1));
  const std::vector<double> few = protect(drawn(std::normal_distribution<double>(), 70, 7));
  EXPECT_EQ(tailed(few).points(), plain(few).points());
}

// No end is a function of fewer than 25 rows: one row more or less far away moves it as the mean of its group does.
TEST(Tails, AreFunctionsOfProtectedNumbers) {
  std::vector<double> one = drawn(std::normal_distribution<double>(), 3000, 8), other = one;
  one[2999] += 1, other[2998] += 1;  // the same mean
  std::sort(other.begin(), other.end());
  EXPECT_EQ(tailed(protect(one)).points(), tailed(protect(other)).points());
}

TEST(Tails, RanksOfTheirPointsAscend) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const Quantiles q = tailed(protect(drawn(std::cauchy_distribution<double>(), 2500, seed)));
    EXPECT_TRUE(std::is_sorted(q.points().begin(), q.points().end()));
    EXPECT_EQ(q.shares().front(), 0);
    EXPECT_EQ(q.shares().back(), 1);
    EXPECT_TRUE(std::isfinite(q.at(0)) && std::isfinite(q.at(1)));
  }
}

}  // namespace
}  // namespace tessera
