// Columns that break encoders: constant, missing, enormous, tiny, heavy-tailed, of very many categories.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <set>

#include "encoding/columns.h"
#include "support/thrown.h"

namespace tessera {
namespace {
using namespace columns;

// Every value comes back, missing ones as missing.
void expect_exact(const std::vector<double>& values, ColumnType type, int decimals = 0, const EncoderOptions& o = {}) {
  const Table back = round_trip(table({numbers("x", type, values, decimals)}), o);
  for (size_t i = 0; i < values.size(); ++i)
    ASSERT_TRUE(same(values[i], back.columns[0].numbers[i]))
        << "row " << i << ": " << values[i] << " came back as " << back.columns[0].numbers[i];
}

TEST(EncoderEdges, ColumnsOfOneOrTwoValues) {
  for (ColumnType type : {ColumnType::integer, ColumnType::decimal, ColumnType::date, ColumnType::datetime}) {
    expect_exact(std::vector<double>(50, 7), type);
    expect_exact(std::vector<double>(50, kMissing), type);
    expect_exact({5}, type);
    expect_exact({5, kMissing}, type);
    std::vector<double> two(100, 3);
    for (size_t i = 0; i < 50; ++i) two[2 * i] = 8;
    expect_exact(two, type);
    std::vector<double> all_but_one(1000, 3);
    all_but_one[500] = 1e9;
    expect_exact(all_but_one, type);
    all_but_one[501] = kMissing;
    expect_exact(all_but_one, type);
  }
}

TEST(EncoderEdges, RoundTripsWithoutSpikesAndLevels) {
  EncoderOptions o;
  o.spike_share = 0, o.integer_levels = 0;
  expect_exact(std::vector<double>(50, 7), ColumnType::integer, 0, o);
  std::vector<double> two(100, 3);
  for (size_t i = 0; i < 50; ++i) two[2 * i] = 8;
  expect_exact(two, ColumnType::integer, 0, o);
  expect_exact({3, 8}, ColumnType::integer, 0, o);
}

TEST(EncoderEdges, TextColumnsOfOneValueOrNone) {
  for (ColumnType type : {ColumnType::boolean, ColumnType::category, ColumnType::constant}) {
    for (const std::vector<std::string>& rows :
         {std::vector<std::string>{"a", "a", "a"}, {"a", "", "a"}, {"", "", ""}, {"a"}}) {
      const Table t = table({texts("x", type, rows)});
      const Table back = round_trip(t);
      for (int64_t i = 0; i < t.rows; ++i) EXPECT_EQ(text(back.columns[0], i), rows[static_cast<size_t>(i)]);
    }
  }
  EXPECT_EQ(fit(table({texts("x", ColumnType::constant, {"a", "", "a"})})).discrete_columns().size(), 1u)
      << "a constant with missing values is a category";
}

// Values of any size come back with an error far below the spread of the column.
void expect_near(const std::vector<double>& values) {
  const Table t = table({numbers("x", ColumnType::decimal, values, 15)});
  const Encoder e = fit(t);
  const EncodedTable codes = encode(e, t);
  for (const float a : codes.alphas) ASSERT_TRUE(std::abs(a) <= 0.99f);
  const Table back = decode(e, codes);
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  size_t near = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const double y = back.columns[0].numbers[i];
    ASSERT_TRUE(std::isfinite(y));
    ASSERT_GE(y, *low);
    ASSERT_LE(y, *high);
    near += std::abs(y / 2 - values[i] / 2) <= 1e-3 * (*high / 2 - *low / 2);
  }
  EXPECT_GE(near, values.size() * 99 / 100);
}

TEST(EncoderEdges, EnormousTinyAndFarFromZero) {
  std::vector<double> unit, enormous, widest, tiny, denormal, shifted;
  for (uint32_t i = 0; i < 3000; ++i) {
    const double z = normal(i) + (i % 3 == 0 ? 10 : 0);
    unit.push_back(z);
    enormous.push_back(1e300 * z);
    widest.push_back((2 * uniform(i) - 1) * 1.79e308);
    tiny.push_back(1e-300 * z);
    denormal.push_back(std::round(uniform(i) * 1000) * 5e-324);
    shifted.push_back(1e9 + z);
  }
  for (const auto* v : {&unit, &enormous, &widest, &tiny, &denormal, &shifted}) {
    SCOPED_TRACE((*v)[0]);
    expect_near(*v);
  }
  expect_near({1e15, 1e15 + 0.125, 1e15, 1e15 + 0.125});
}

TEST(EncoderEdges, HeavyTails) {
  std::vector<double> cauchy, lognormal;
  for (uint32_t i = 0; i < 5000; ++i) {
    cauchy.push_back(std::tan(3.14159265 * (uniform(i) - 0.5)));
    lognormal.push_back(std::exp(4 * normal(i)));
  }
  expect_near(cauchy);
  expect_near(lognormal);
}

// Half of the rows hold one value, the others eleven more.
TEST(EncoderEdges, DecimalsThatRepeatAreLevels) {
  const auto first_span = [](int rows, ColumnType type, double unit) {
    std::vector<double> x;
    for (int i = 0; i < rows; ++i) x.push_back(i % 2 == 0 ? 0 : (i / 2 % 11 + 1) * unit);
    return fit(table({numbers("n", type, x, 1)})).layout().spans.front();
  };
  EXPECT_EQ(first_span(400, ColumnType::decimal, 0.5).part, Span::Part::category);
  EXPECT_EQ(first_span(400, ColumnType::decimal, 0.5).width, 12);
  EXPECT_EQ(first_span(110, ColumnType::decimal, 0.5).part, Span::Part::alpha) << "fewer than ten rows a value";
  EXPECT_EQ(first_span(110, ColumnType::integer, 1).part, Span::Part::category);
}

TEST(EncoderEdges, RejectsInfinityNamingItsPlace) {
  test::expect_error(ErrorCode::data, {"\"height\", row 3"}, [&] {
    fit(table({numbers("height", ColumnType::decimal, {1, 2, INFINITY})}));
  });
}

TEST(EncoderEdges, RejectsUnseenValuesNamingTheirPlace) {
  const Encoder e =
      fit(table({texts("city", ColumnType::category, {"a", "b", "a"}), numbers("n", ColumnType::integer, {1, 2, 3})}));
  auto message = [&](Table t) -> std::string {
    try {
      encode(e, std::move(t));
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::data);
      return error.what();
    }
    return "nothing";
  };
  EXPECT_NE(message(table({texts("city", ColumnType::category, {"a", "Z"}), numbers("n", ColumnType::integer, {1, 1})}))
                .find("\"city\", row 2 holds \"Z\""),
            std::string::npos);
  EXPECT_NE(message(table({texts("city", ColumnType::category, {"a"}), numbers("n", ColumnType::integer, {kMissing})}))
                .find("\"n\", row 1 is missing"),
            std::string::npos);
  EXPECT_NE(message(table({texts("town", ColumnType::category, {"a"}), numbers("n", ColumnType::integer, {1})}))
                .find("\"town\""),
            std::string::npos);
  EXPECT_NE(message(table({texts("city", ColumnType::category, {"a"})})).find("1 columns"), std::string::npos);
}

TEST(EncoderEdges, OptionsOutOfRangeAreErrors) {
  const Table t = table({numbers("n", ColumnType::integer, {1, 2, 3})});
  for (auto change :
       {+[](EncoderOptions& o) { o.max_modes = 0; }, +[](EncoderOptions& o) { o.max_modes = 65; },
        +[](EncoderOptions& o) { o.spike_share = -1; }, +[](EncoderOptions& o) { o.max_categories = 1; }}) {
    EncoderOptions o;
    change(o);
    EXPECT_THROW(fit(t, o), Error);
  }
  EXPECT_THROW(fit(Table{}), Error);
}

TEST(EncoderEdges, RareCategoriesShareALevelAndAreDrawnByFrequency) {
  std::vector<std::string> rows;
  for (uint32_t i = 0; i < 20000; ++i) {
    const double u = uniform(i);
    rows.push_back(u < 0.5 ? "common" : u < 0.7 ? "second" : u < 0.85 ? "rare A" : u < 0.95 ? "rare B" : "rare C");
  }
  const Table t = table({texts("x", ColumnType::category, rows)});
  EncoderOptions o;
  o.max_categories = 3;
  const Encoder e = fit(t, o);
  ASSERT_EQ(e.layout().data_width, 3);
  EXPECT_EQ(e.condition("x", "rare A"), -1);
  EXPECT_GE(e.condition("x", "second"), 0);
  const Table back = decode(e, encode(e, t));
  std::map<std::string, double> share;
  for (int64_t i = 0; i < t.rows; ++i) {
    share[text(back.columns[0], i)] += 1.0 / 20000;
    if (rows[static_cast<size_t>(i)] == "common") { ASSERT_EQ(text(back.columns[0], i), "common"); }
  }
  EXPECT_NEAR(share["rare A"], 0.15, 0.01);
  EXPECT_NEAR(share["rare B"], 0.10, 0.01);
  EXPECT_NEAR(share["rare C"], 0.05, 0.01);
}

int64_t peak_kib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

TEST(EncoderEdges, ThreeHundredThousandCategoriesCostTheirValues) {
  Column c;
  c.name = "sku", c.type = ColumnType::category;
  for (int i = 0; i < 300000; ++i) c.values.push_back("article " + std::to_string(i));
  for (int i = 0; i < 600000; ++i) c.codes.push_back(i % 300000);
  const Table t = table({std::move(c)});
  const int64_t before = peak_kib();
  const Encoder e = fit(t);
  EXPECT_EQ(e.layout().data_width, 1000);
  const EncodedTable codes = encode(e, t);
  const Table back = decode(e, codes);
  EXPECT_LT(peak_kib() - before, 400 * 1024) << "a matrix of rows × categories would take terabytes";
  std::set<int32_t> seen(back.columns[0].codes.begin(), back.columns[0].codes.end());
  EXPECT_GT(seen.size(), 150000u);
}

}  // namespace
}  // namespace tessera
