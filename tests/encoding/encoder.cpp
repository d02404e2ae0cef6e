// Table → codes → table: what must come back exactly, what within the width of its digits, and that it is the same for
// every team and batch.
#include "tables/encoding/encoder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "encoding/columns.h"
#include "support/thrown.h"

namespace tessera {
namespace {
using namespace columns;

// One column of every kind, n rows, missing values in most.
Table mixed(uint32_t n) {
  std::vector<double> price, age, gain, day, instant, grade;
  std::vector<std::string> city, flag, id, unit;
  for (uint32_t i = 0; i < n; ++i) {
    const double u = uniform(i);
    price.push_back(u < 0.1 ? kMissing : std::round((u < 0.6 ? 20 + normal(i) : 200 + 15 * normal(i)) * 100) / 100);
    age.push_back(std::round(std::clamp(40 + 12 * normal(i, 1), 17.0, 90.0)));
    gain.push_back(uniform(i, 2) < 0.9 ? 0 : std::round(5000 + 2000 * normal(i, 3)));
    day.push_back(uniform(i, 4) < 0.05 ? kMissing : std::floor(18000 + 700 * uniform(i, 5)));
    instant.push_back(std::round(1.6e9 + 86400 * uniform(i, 6)));
    grade.push_back(uniform(i, 7) < 0.2 ? kMissing : std::floor(1 + 5 * uniform(i, 8)));
    city.push_back(uniform(i, 9) < 0.15   ? ""
                   : uniform(i, 10) < 0.7 ? "Linz"
                   : uniform(i, 11) < 0.5 ? "Graz, Süd"
                                          : "Wels \"A\"");
    flag.push_back(uniform(i, 12) < 0.5 ? "yes" : "no");
    id.push_back("C" + std::to_string(100000 + i));
    unit.push_back("EUR");
  }
  Column date = numbers("day", ColumnType::date, day);
  date.format = "%Y-%m-%d";
  return table({numbers("price", ColumnType::decimal, price, 2), numbers("age", ColumnType::integer, age),
                numbers("gain", ColumnType::integer, gain), date, numbers("instant", ColumnType::datetime, instant),
                numbers("grade", ColumnType::integer, grade), texts("city", ColumnType::category, city),
                texts("flag", ColumnType::boolean, flag), texts("id", ColumnType::identifier, id),
                texts("unit", ColumnType::constant, unit)});
}

TEST(Encoder, LayoutTilesTheRow) {
  const Table t = mixed(3000);
  const Encoder e = fit(t);
  int next = 0, cond = 0;
  for (const Span& s : e.layout().spans) {
    EXPECT_EQ(s.start, next);
    next += s.width;
    if (s.part == Span::Part::category) {
      EXPECT_EQ(s.cond_start, cond);
      cond += s.width;
    } else {
      EXPECT_EQ(s.cond_start, -1);
    }
  }
  EXPECT_EQ(e.layout().data_width, next);
  EXPECT_EQ(e.layout().cond_width, cond);
  EXPECT_EQ(e.discrete_columns(), (std::vector<int>{5, 6, 7}));
  EXPECT_EQ(e.layout().alphas(), 5);
  EXPECT_EQ(e.layout().codes(), 8);
  EXPECT_EQ(span_of(e, 8, Span::Part::category), nullptr);
  EXPECT_EQ(span_of(e, 9, Span::Part::category), nullptr);
}

TEST(Encoder, RoundTripsEveryKindOfColumn) {
  const Table t = mixed(20000);
  const Encoder e = fit(t);
  const EncodedTable codes = encode(e, t);
  const Table back = decode(e, codes);
  ASSERT_EQ(back.rows, t.rows);
  for (const float a : codes.alphas) ASSERT_LE(std::abs(a), 0.99f);
  int64_t clipped = 0;
  for (int64_t i = 0; i < t.rows; ++i) {
    const size_t r = static_cast<size_t>(i);
    for (size_t j : {5u}) ASSERT_TRUE(same(t.columns[j].numbers[r], back.columns[j].numbers[r])) << "row " << i;
    for (size_t j : {6u, 7u, 9u})
      ASSERT_EQ(text(t.columns[j], i), text(back.columns[j], i)) << "column " << j << " row " << i;
    for (size_t j : {0u, 1u, 2u, 3u, 4u}) {
      const double x = t.columns[j].numbers[r], y = back.columns[j].numbers[r];
      ASSERT_EQ(x != x, y != y);
      if (!same(x, y)) ++clipped;  // a value that lies more than four deviations from the mode it was drawn into
    }
    if (t.columns[2].numbers[r] == 0) { ASSERT_EQ(back.columns[2].numbers[r], 0) << "a spike"; }
  }
  EXPECT_LT(static_cast<double>(clipped), 0.005 * 5 * static_cast<double>(t.rows));
  for (size_t j = 0; j < t.columns.size(); ++j) {
    EXPECT_EQ(back.columns[j].name, t.columns[j].name);
    EXPECT_EQ(back.columns[j].type, t.columns[j].type);
    EXPECT_EQ(back.columns[j].format, t.columns[j].format);
    EXPECT_EQ(back.columns[j].decimals, t.columns[j].decimals);
  }
}

TEST(Encoder, ASpikeIsALevelOfItsOwnWithAlphaZero) {
  const Table t = mixed(5000);
  const Encoder e = fit(t);
  const EncodedTable codes = encode(e, t);
  std::set<int32_t> of_zero, of_others;
  for (int64_t i = 0; i < t.rows; ++i) {
    const int32_t c = codes.codes[static_cast<size_t>(i * e.layout().codes() + 2)];
    const bool zero = t.columns[2].numbers[static_cast<size_t>(i)] == 0;
    (zero ? of_zero : of_others).insert(c);
    if (zero) { EXPECT_EQ(codes.alphas[static_cast<size_t>(i * e.layout().alphas() + 2)], 0); }
  }
  EXPECT_EQ(of_zero.size(), 1u);
  EXPECT_EQ(of_others.count(*of_zero.begin()), 0u);

  EncoderOptions never;
  never.spike_share = 0;
  const int with = span_of(e, 2, Span::Part::mode)->width;
  EXPECT_GE(with, 2);
  EXPECT_NO_THROW(round_trip(t, never));
}

TEST(Encoder, DecodedNumbersKeepRangeAndDigitsForAnyNetworkOutput) {
  const Table t = mixed(4000);
  const Encoder e = fit(t);
  EncodedTable wild;
  wild.rows = 5000;
  for (uint32_t i = 0; i < 5000; ++i) {
    for (int a = 0; a < e.layout().alphas(); ++a)
      wild.alphas.push_back(static_cast<float>(4 * uniform(i, static_cast<uint32_t>(a)) - 2));
    for (const Span& s : e.layout().spans)
      if (s.part != Span::Part::alpha)
        wild.codes.push_back(static_cast<int32_t>(uniform(i, static_cast<uint32_t>(100 + s.start)) * s.width));
  }
  const Table back = decode(e, wild);
  for (size_t j = 0; j < 5; ++j) {
    double low = INFINITY, high = -INFINITY;
    for (const double x : t.columns[j].numbers)
      if (x == x) low = std::min(low, x), high = std::max(high, x);
    const double unit = j == 0 ? 100 : 1;
    for (const double x : back.columns[j].numbers) {
      if (x != x) continue;
      ASSERT_GE(x, low);
      ASSERT_LE(x, high);
      ASSERT_EQ(std::round(x * unit) / unit, x);
    }
  }
}

TEST(Encoder, SameBitsForEveryTeam) {
  const Table t = mixed(10001);
  const Encoder one = fit(t, {}, 1);
  const EncodedTable first = encode(one, t, 1);
  for (int threads : {2, 3, 5}) {
    const Encoder other = fit(t, {}, threads);
    EXPECT_EQ(one.to_json().dump(), other.to_json().dump());
    const EncodedTable codes = encode(other, t, threads);
    EXPECT_EQ(first.alphas, codes.alphas);
    EXPECT_EQ(first.codes, codes.codes);
  }
}

TEST(Encoder, ARowIsTheSameInEveryBatch) {
  const Table t = mixed(3000);
  EncoderOptions o;
  o.max_categories = 2;
  const Encoder e = fit(t, o);
  const EncodedTable codes = encode(e, t);
  const Table whole = decode(e, codes, 5);
  const auto ids = row_ids(100, 700);
  const Table part = e.decode(codes.alphas.data() + 700 * e.layout().alphas(),
                              codes.codes.data() + 700 * e.layout().codes(), ids.data(), 100, 5);
  for (size_t j = 0; j < t.columns.size(); ++j)
    for (int64_t i = 0; i < 100; ++i) {
      if (is_numeric(t.columns[j].type))
        ASSERT_TRUE(same(whole.columns[j].numbers[static_cast<size_t>(700 + i)],
                         part.columns[j].numbers[static_cast<size_t>(i)]));
      else ASSERT_EQ(text(whole.columns[j], 700 + i), text(part.columns[j], i));
    }
}

TEST(Encoder, ConditionsNameTheirPosition) {
  const Table t = mixed(3000);
  const Encoder e = fit(t);
  const int city = span_of(e, 6, Span::Part::category)->cond_start,
            grade = span_of(e, 5, Span::Part::category)->cond_start;
  for (size_t v = 0; v < t.columns[6].values.size(); ++v)
    EXPECT_EQ(e.condition("city", t.columns[6].values[v]), city + static_cast<int>(v));
  EXPECT_EQ(e.condition("city", ""), city + static_cast<int>(t.columns[6].values.size()));
  EXPECT_EQ(e.condition("grade", "3"), grade + 2);
  EXPECT_EQ(e.condition("grade", "3.0"), grade + 2);
  EXPECT_EQ(e.condition("grade", "7"), -1);
  EXPECT_EQ(e.condition("grade", "3x"), -1);
  EXPECT_EQ(e.condition("price", "20"), -1);
  EXPECT_EQ(e.condition("nowhere", "20"), -1);
}

TEST(Encoder, ModesAreDrawnByResponsibility) {
  // Two normals that overlap: a value half way belongs to either, and over many rows both are drawn.
  std::vector<double> x;
  for (uint32_t i = 0; i < 20000; ++i) x.push_back(normal(i) + (i % 2 == 0 ? 0 : 6));
  const Table t = table({numbers("x", ColumnType::decimal, x, 15)});
  EncoderOptions o;
  o.max_modes = 2;
  const Encoder e = fit(t, o);
  ASSERT_EQ(span_of(e, 0, Span::Part::mode)->width, 2);
  std::vector<double> middle(4000, 3.0);
  const EncodedTable codes = encode(e, table({numbers("x", ColumnType::decimal, middle, 15)}));
  const double share = std::accumulate(codes.codes.begin(), codes.codes.end(), 0.0) / 4000;
  EXPECT_GT(share, 0.2);
  EXPECT_LT(share, 0.8);
}

TEST(Encoder, EncodingReleasesTheTable) {
  Table t = mixed(1000);
  const Encoder e = fit(t);
  Team team(2);
  const EncodedTable codes = e.encode(std::move(t), team, Monitor{});
  for (const Column& c : t.columns) EXPECT_EQ(c.numbers.capacity() + c.codes.capacity() + c.values.capacity(), 0u);
  EXPECT_EQ(codes.rows, 1000);
}

TEST(Encoder, CancellationStopsIt) {
  const std::atomic<bool> stop{true};
  Monitor monitor;
  monitor.cancel = &stop;
  Team team(2);
  const Table t = mixed(500);
  test::expect_error(ErrorCode::cancelled, {}, [&] { Encoder::fit(t, {}, team, monitor); });
}

TEST(Encoder, ProgressReachesTheTotalOnce) {
  std::vector<std::string> finished;
  Monitor monitor;
  monitor.on_progress = [&](const Progress& p) {
    if (p.finished) finished.push_back(p.phase);
  };
  Team team(2);
  Table t = mixed(500);
  const Encoder e = Encoder::fit(t, {}, team, monitor);
  e.encode(std::move(t), team, monitor);
  EXPECT_EQ(finished, (std::vector<std::string>{"mixtures", "encode"}));
}

}  // namespace
}  // namespace tessera
