// How often regenerated values repeat: as in the table, for any number of rows, whatever the seed.
#include "tables/identifiers/repeats.h"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "encoding/columns.h"

namespace tessera {
namespace {
using namespace columns;

// 1 to 5 orders of a customer, 3 on average, and five customers with 40.
std::vector<int64_t> orders(uint32_t customers) {
  std::vector<int64_t> rows;
  for (uint32_t c = 0; c < customers; ++c) rows.push_back(c < 5 ? 40 : 1 + static_cast<int64_t>(5 * uniform(c)));
  return rows;
}
int64_t sum(const std::vector<int64_t>& rows) { return std::accumulate(rows.begin(), rows.end(), int64_t{0}); }

// Rows of each group among the first `rows`.
std::map<uint64_t, int64_t> groups_of(const Repeats& r, uint64_t key, int64_t rows) {
  std::map<uint64_t, int64_t> out;
  for (int64_t i = 0; i < rows; ++i)
    if (const auto p = r.at(static_cast<uint64_t>(i), key); !p.missing) ++out[p.group];
  return out;
}

TEST(Repeats, ATableOfAsManyRowsHasTheSameHistogram) {
  for (const uint32_t customers : {30u, 1000u, 20'000u})
    for (const int64_t missing : {0, 77})
      for (const bool sorted : {false, true}) {
        const std::vector<int64_t> rows = orders(customers);
        const auto r = Repeats::learn(rows, missing, sorted, kRareRows);
        ASSERT_TRUE(r);
        EXPECT_EQ(r->rows(), static_cast<uint64_t>(sum(rows) + missing));
        std::map<int64_t, int64_t> wanted, made;
        for (const int64_t n : rows) ++wanted[n];
        const auto groups = groups_of(*r, 9, static_cast<int64_t>(r->rows()));
        for (const auto& [group, n] : groups) ++made[n];
        EXPECT_EQ(made, wanted);
        EXPECT_EQ(groups.size(), customers);
      }
}

// Position and size agree within a group, and every position is there once.
TEST(Repeats, PositionsCountWithinAGroup) {
  const auto r = Repeats::learn(orders(500), 20, false, kRareRows);
  ASSERT_TRUE(r);
  std::map<uint64_t, std::set<uint64_t>> positions;
  std::map<uint64_t, uint64_t> size;
  for (uint64_t i = 0; i < 3 * r->rows(); ++i) {
    const auto p = r->at(i, 4);
    ASSERT_LT(p.position, p.size);
    ASSERT_TRUE(positions[p.group].insert(p.position).second);
    ASSERT_EQ(size.emplace(p.group, p.size).first->second, p.size);
  }
  for (const auto& [group, n] : size) ASSERT_EQ(positions[group].size(), n) << group;
  EXPECT_EQ(positions.size(), 3u * 520);
}

// A sample of any length has about as many rows per value; a row depends on its number and the key alone.
TEST(Repeats, ShortAndLongSamplesRepeatAlike) {
  const std::vector<int64_t> rows = orders(20'000);
  const auto r = Repeats::learn(rows, 0, false, kRareRows);
  ASSERT_TRUE(r);
  const double mean = static_cast<double>(sum(rows)) / static_cast<double>(rows.size());
  EXPECT_DOUBLE_EQ(r->mean(), mean);
  for (const int64_t n : {5000, 30'000, 150'000}) {
    const auto groups = groups_of(*r, 1, n);
    EXPECT_NEAR(static_cast<double>(n) / static_cast<double>(groups.size()) / mean, 1, 0.1) << n;
  }
  EXPECT_NE(groups_of(*r, 1, 5000), groups_of(*r, 2, 5000));
}

TEST(Repeats, EqualValuesStayAdjacentWhereTheTableIsSorted) {
  for (const bool sorted : {true, false}) {
    const auto r = Repeats::learn(orders(2000), 0, sorted, kRareRows);
    ASSERT_TRUE(r);
    int64_t same = 0;
    for (uint64_t i = 1; i < r->rows(); ++i) same += r->at(i, 3).group == r->at(i - 1, 3).group;
    EXPECT_EQ(same, sorted ? static_cast<int64_t>(r->rows()) - 2000 : same);
    if (!sorted) { EXPECT_LT(same, static_cast<int64_t>(r->rows()) / 50); }
  }
}

// Four heavy users cannot be seen, nor values that repeat by chance; five can.
TEST(Repeats, EveryGroupSizeIsSharedByEnoughValues) {
  for (const int64_t heavy : {1, 4}) {
    std::vector<int64_t> rows(1000, 1);
    for (int64_t k = 0; k < heavy; ++k) rows[static_cast<size_t>(k)] = 700 + k;
    EXPECT_FALSE(Repeats::learn(rows, 0, false, kRareRows)) << heavy;
    for (size_t k = 10; k < 500; ++k) rows[k] = 2 + static_cast<int64_t>(k % 2);
    const auto r = Repeats::learn(rows, 0, false, kRareRows);
    ASSERT_TRUE(r);
    EXPECT_LE(r->to_json().at("sizes").back().get<int64_t>(), 3);
  }
  EXPECT_FALSE(Repeats::learn(std::vector<int64_t>{300, 300, 300}, 0, false, kRareRows));
}

TEST(Repeats, RoundTripAndRejectDamagedFiles) {
  const auto r = Repeats::learn(orders(300), 7, true, kRareRows);
  ASSERT_TRUE(r);
  const nlohmann::json json = r->to_json();
  EXPECT_EQ(Repeats::from_json(json).to_json(), json);
  EXPECT_EQ(Repeats::from_json(json).at(123, 5).group, r->at(123, 5).group);
  const auto refused = [&](const char* key, const nlohmann::json& value) {
    nlohmann::json damaged = json;
    damaged[key] = value;
    EXPECT_THROW((void)Repeats::from_json(damaged), Error) << damaged;
  };
  refused("sizes", {3, 2, 1, 4, 5, 40});
  refused("sizes", nlohmann::json::array());
  refused("values", {1, 2, 3, 4, 5, uint64_t{1} << 60});
  refused("missing", uint64_t{1} << 60);
}

TEST(Repeats, IdentifiersRepeatAsInTheTable) {
  std::vector<std::string> rows;
  const std::vector<int64_t> of = orders(400);
  for (size_t c = 0; c < of.size(); ++c)
    for (int64_t k = 0; k < of[c]; ++k) rows.push_back("C-" + std::to_string(10000 + 17 * c));
  const Table t = table({texts("customer", ColumnType::identifier, rows)});
  const Encoder e = fit(t);
  const auto histogram = [](const Table& x) {
    std::map<int32_t, int> rows_of;
    std::map<int, int> out;
    for (const int32_t c : x.columns[0].codes) ++rows_of[c];
    for (const auto& [value, n] : rows_of) ++out[n];
    return out;
  };
  const Table made = decode(e, encode(e, t), 3);
  EXPECT_EQ(histogram(made), histogram(t));
  const Encoder read = Encoder::from_json(e.to_json());
  EXPECT_EQ(decode(read, encode(read, t), 3).columns[0].values, made.columns[0].values);
}

}  // namespace
}  // namespace tessera
