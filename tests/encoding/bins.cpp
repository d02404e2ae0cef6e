// Numbers as quantile bins: what comes back, what is kept of the rows, what a damaged file may hold.
#include <gtest/gtest.h>

#include <climits>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <random>

#include "encoding/columns.h"
#include "tables/encoding/bin_code.h"
#include "tables/protection/protected_numbers.h"

namespace tessera {
namespace {

using namespace columns;

EncoderOptions bins() {
  EncoderOptions o;
  o.numbers = EncoderOptions::Numbers::bins;
  return o;
}

// Prices on a grid of 100 with a heavy tail, a count with a spike at 0 and missing cells, a share of few values.
Table shop(int64_t rows) {
  std::mt19937_64 random(11);
  std::lognormal_distribution<double> price(8, 1);
  std::exponential_distribution<double> visits(0.001);
  std::vector<double> a, b, c;
  for (int64_t i = 0; i < rows; ++i) {
    a.push_back(100 * std::round(price(random) / 100 + 1));
    b.push_back(i % 4 == 0 ? 0 : i % 17 == 0 ? std::nan("") : std::round(visits(random)));
    c.push_back(static_cast<double>(i % 40) / 8);
  }
  return table({numbers("price", ColumnType::integer, a), numbers("visits", ColumnType::integer, b),
                numbers("share", ColumnType::decimal, c, 3)});
}

TEST(Bins, EveryColumnIsOneChoice) {
  const Encoder e = fit(shop(5000), bins());
  EXPECT_EQ(e.layout().alphas(), 0);
  ASSERT_EQ(e.layout().codes(), 3);
  const auto& spans = e.layout().spans;
  EXPECT_EQ(spans[0].part, Span::Part::bin);
  EXPECT_EQ(spans[0].ascending, spans[0].width);
  EXPECT_EQ(spans[1].ascending, spans[1].width - 1) << "the last level of visits is missing";
  EXPECT_EQ(spans[2].part, Span::Part::category) << "40 values of a decimal column are levels";
  EXPECT_EQ(spans[2].ascending, 40);
}

TEST(Bins, LevelsAscendAndValuesRoundTripWithinTheirBin) {
  const Table t = shop(5000);
  const Encoder e = fit(t, bins());
  const EncodedTable rows = encode(e, t);
  const Table again = decode(e, rows, 3);
  std::map<int32_t, std::pair<double, double>> range;  // of the values of each level of the price
  for (int64_t i = 0; i < t.rows; ++i) {
    const double x = t.columns[0].numbers[static_cast<size_t>(i)];
    auto [at, fresh] = range.try_emplace(rows.codes[static_cast<size_t>(3 * i)], x, x);
    at->second = {std::min(at->second.first, x), std::max(at->second.second, x)};
  }
  double below = -1;
  for (const auto& [level, r] : range) {
    EXPECT_GT(r.first, below) << "level " << level;
    below = r.second;
  }
  for (int64_t i = 0; i < t.rows; ++i) {
    const auto row = static_cast<size_t>(i);
    const auto [low, high] = range.at(rows.codes[3 * row]);
    const double x = again.columns[0].numbers[row];
    EXPECT_GE(x, low - 100) << "row " << i;
    EXPECT_LE(x, high);
    EXPECT_EQ(std::fmod(x, 100), 0) << "off the grid of the column";
    const double visits = t.columns[1].numbers[row];
    EXPECT_EQ(std::isnan(again.columns[1].numbers[row]), std::isnan(visits));
    EXPECT_EQ(again.columns[1].numbers[row] == 0, visits == 0) << "a spike comes back exactly";
    EXPECT_EQ(again.columns[2].numbers[row], t.columns[2].numbers[row]) << "levels come back exactly";
  }
}

// A frequent number within the first or the last bin stands before or behind it, and is not the end of the range.
TEST(Bins, EveryNumberIsWithinTheReach) {
  for (const double sign : {1.0, -1.0}) {
    std::vector<double> values;
    std::mt19937_64 random(5);
    std::exponential_distribution<double> spent(0.01);
    for (int i = 0; i < 4000; ++i)
      values.push_back(sign * (i % 300 == 0 ? -1 : i % 2 == 0 ? 0 : std::round(1e6 * spent(random)) / 1e6));
    Table t = table({numbers("spent", ColumnType::decimal, values, 6)});
    const Encoder e = fit(t, bins());
    const Encoder::Reach reach = e.reach(0);
    const Table again = decode(e, encode(e, t), 3);
    for (const double x : again.columns[0].numbers) ASSERT_TRUE(x >= reach.low && x <= reach.high) << x;
    EXPECT_EQ(sign > 0 ? reach.low : reach.high, -sign);
  }
}

TEST(Bins, RoundTripTheDistribution) {
  const Table t = shop(20000);
  const Encoder e = fit(t, bins());
  const Table again = decode(e, encode(e, t), 5);
  for (const size_t column : {0u, 1u}) {
    std::vector<double> a, b;
    for (size_t i = 0; i < 20000; ++i) {
      if (const double x = t.columns[column].numbers[i]; !std::isnan(x)) a.push_back(x);
      if (const double x = again.columns[column].numbers[i]; !std::isnan(x)) b.push_back(x);
    }
    std::sort(a.begin(), a.end()), std::sort(b.begin(), b.end());
    double most = 0;  // of the distance between the distribution functions
    for (size_t i = 0; i < a.size(); i += 50) {
      const auto upto = [&](const std::vector<double>& v) {
        return static_cast<double>(std::upper_bound(v.begin(), v.end(), a[i]) - v.begin()) /
               static_cast<double>(v.size());
      };
      most = std::max(most, std::fabs(upto(a) - upto(b)));
    }
    EXPECT_LT(most, 1.0 / 128) << "a bin's share; column " << column;
  }
}

TEST(Bins, ARowIsTheSameInEveryBatch) {
  const Table t = shop(2000);
  const Encoder e = fit(t, bins());
  const EncodedTable rows = encode(e, t);
  const Table all = decode(e, rows, 3);
  const int64_t ids[] = {1500, 7};
  const std::vector<int32_t> codes{rows.codes[4500], rows.codes[4501], rows.codes[4502],
                                   rows.codes[21],   rows.codes[22],   rows.codes[23]};
  const Table two = e.decode(nullptr, codes.data(), ids, 2, 3);
  EXPECT_EQ(two.columns[0].numbers[0], all.columns[0].numbers[1500]);
  EXPECT_EQ(two.columns[0].numbers[1], all.columns[0].numbers[7]);
}

TEST(Bins, FewRowsGiveFewBins) {
  std::vector<double> x;
  for (int i = 0; i < 300; ++i) x.push_back(std::sqrt(i));
  Table t = table({numbers("x", ColumnType::decimal, x, 9)});
  const Encoder e = fit(t, bins());
  EXPECT_LE(e.layout().data_width, 300 / BinCode::kMinBinRows);
  EXPECT_GE(e.layout().data_width, 300 / BinCode::kMinBinRows / 2);
}

// Rows of a short table are points of a law that has the numbers between them as well; what many rows share stays.
TEST(Bins, ShortTablesFillTheGaps) {
  constexpr int64_t kRows = 120, kDrawn = 4000;
  Team team(1);
  std::mt19937_64 random(5);
  std::normal_distribution<double> weight(200'000, 60'000), days(80, 10);
  std::vector<double> a, b;
  for (int64_t i = 0; i < kRows; ++i) {
    a.push_back(std::round(weight(random)));
    b.push_back(i % 3 == 0 ? 40 : std::round(days(random)));
  }
  Table t = table({numbers("weight", ColumnType::integer, a), numbers("days", ColumnType::integer, b)});
  protect_numbers(t, 5, 1, team);
  EncoderOptions o = bins();
  o.integer_levels = 256;  // as made has it
  const Encoder e = fit(t, o);
  const EncodedTable coded = encode(e, t);
  std::map<double, int> weights, day;
  for (int64_t seed = 0; seed < kDrawn / kRows; ++seed) {
    const Table drawn = decode(e, coded, static_cast<uint64_t>(seed));
    for (const double x : drawn.columns[0].numbers) ++weights[x];
    for (const double x : drawn.columns[1].numbers) ++day[x];
  }
  EXPECT_GT(weights.size(), static_cast<size_t>(10 * kRows));
  EXPECT_NEAR(day[40], kDrawn / 3, kDrawn / 30);
  for (int x = 72; x < 88; ++x) EXPECT_GT(day[x], 0) << x;
}

TEST(Bins, ShortTablesKeepPricesThatRepeat) {
  std::vector<double> price;
  for (int i = 0; i < 400; ++i) price.push_back(4.99 + 5 * (i % 20) + (i % 20) * (i % 20));
  Table t = table({numbers("price", ColumnType::decimal, price, 2)});
  EncoderOptions o = bins();
  o.integer_levels = 256;
  const Encoder e = fit(t, o);
  EXPECT_EQ(e.layout().data_width, 20);
}

TEST(Bins, StoredNumbersLieBetweenProtectedExtremes) {
  Team team(1);
  std::mt19937_64 random(3);
  std::normal_distribution<double> normal;
  std::vector<double> x;
  for (int i = 0; i < 4000; ++i) x.push_back(normal(random));
  x[17] = 1000;  // who that is must not be told
  Table t = table({numbers("x", ColumnType::decimal, x, 12)});
  protect_numbers(t, 5, 1, team);
  const nlohmann::json json = fit(t, bins()).to_json();
  for (const auto& point : json["columns"][0]["points"]) EXPECT_LT(point.get<double>(), 300);
}

TEST(Bins, RoundTripThroughAFile) {
  const Table t = shop(3000);
  const Encoder e = fit(t, bins());
  const Encoder read = Encoder::from_json(nlohmann::json::parse(e.to_json().dump()));
  const EncodedTable a = encode(e, t), b = encode(read, t);
  EXPECT_TRUE(std::equal(a.codes.begin(), a.codes.end(), b.codes.begin()));
  const Table x = decode(e, a, 9), y = decode(read, b, 9);
  for (size_t i = 0; i < 3000; ++i) EXPECT_EQ(x.columns[0].numbers[i], y.columns[0].numbers[i]);
}

TEST(Bins, RejectDamagedFiles) {
  const nlohmann::json whole = fit(shop(3000), bins()).to_json();
  const auto refused = [&](const char* key, const nlohmann::json& value) {
    nlohmann::json json = nlohmann::json::parse(whole.dump());
    json["columns"][0][key] = value;
    EXPECT_THROW(Encoder::from_json(json), Error) << key;
  };
  refused("ends", nlohmann::json::array());
  refused("ends", {1000000});
  refused("ends", {5, 3});
  // The last end is right, and one before it is no point.
  for (const int beyond : {INT_MAX, 1 << 20, -1}) {
    nlohmann::json ends = whole["columns"][0]["ends"];
    ASSERT_GT(ends.size(), 2u);
    ends[1] = beyond;
    refused("ends", ends);
  }
  refused("step", 0);
  refused("shares", {1});
  refused("spikes", {2, 1});
}

}  // namespace
}  // namespace tessera
