// The search for nearest rows on a device finds what the processor's index finds, bit for bit.
#include <gtest/gtest.h>

#include <mutex>
#include <random>
#include <set>

#include "emulated_device.h"
#include "models/quality/learners/nearest_on_device.h"
#include "tables/table/table.h"

namespace tessera {
namespace {

using quality::DistanceTable;
using quality::NearestIndex;
using quality::NearestOnDevice;

struct Rows {
  // Numbers with missing ones, some beyond the range of other rows; levels, beyond 16 bits too. `values`: how many
  // different numbers; few of them make rows that are equally near.
  Rows(int64_t rows, int numbers, int levels, int values, unsigned seed) : table{rows, {}} {
    std::mt19937 gen(seed);
    for (int c = 0; c < numbers; ++c) {
      auto& x = this->numbers.emplace_back();
      for (int64_t i = 0; i < rows; ++i)
        x.push_back(gen() % 10 == 0 ? kMissing : static_cast<double>(gen() % static_cast<unsigned>(values)));
    }
    for (int c = 0; c < levels; ++c) {
      auto& x = codes.emplace_back();
      for (int64_t i = 0; i < rows; ++i)
        x.push_back(static_cast<int32_t>(gen() % 3) * 65536 + static_cast<int32_t>(gen() % 5) - 1);
    }
    for (const auto& x : this->numbers) table.columns.push_back({x, {}, 1000});
    for (const auto& x : codes) table.columns.push_back({{}, x, 1});
  }
  Rows(const Rows&) = delete;

  DistanceTable table;
  std::vector<std::vector<double>> numbers;
  std::vector<std::vector<int32_t>> codes;
};

struct Case {
  const char* name;
  int64_t queries, reference;
  int numbers, levels, values;
};
class NearestRowsOnDevice : public testing::TestWithParam<Case> {
 protected:
  Team team{2};
  Monitor monitor;
  const quality::Workers workers{team, monitor};
};
// Leaves that are full, padded or alone; more columns than are summed in 16 bits; so many rows at one distance that a
// warp finds more than it may store; more leaves than lanes.
INSTANTIATE_TEST_SUITE_P(Of, NearestRowsOnDevice,
                         testing::Values(Case{"OneRow", 1, 1, 2, 2, 1000}, Case{"TwoLeaves", 65, 129, 3, 4, 4000},
                                         Case{"WideTables", 70, 200, 37, 20, 4000},
                                         Case{"NumbersAlone", 100, 2300, 6, 0, 4000},
                                         Case{"LevelsAlone", 64, 700, 0, 9, 1}, Case{"Ties", 80, 900, 1, 1, 3}),
                         [](const auto& test) { return test.param.name; });

TEST_P(NearestRowsOnDevice, HaveTheIndexsDistances) {
  const Case& c = GetParam();
  const Rows reference(c.reference, c.numbers, c.levels, c.values, 1), query(c.queries, c.numbers, c.levels, 5000, 2);
  for (const quality::DistanceForm form : {quality::DistanceForm{1, 1}, quality::DistanceForm{INFINITY, 2}}) {
    const NearestIndex index(reference.table, form);
    const NearestOnDevice device(index, emulated_device());
    NearestIndex::Scratch scratch;
    for (const bool second : {false, true}) {
      const std::vector<quality::Neighbors> found = device.search(query.table, second, "distances", workers);
      ASSERT_EQ(static_cast<int64_t>(found.size()), c.queries);
      for (int64_t i = 0; i < c.queries; ++i) {
        const quality::Neighbors expected = index.search(query.table, i, second, scratch);
        ASSERT_EQ(found[static_cast<size_t>(i)].first, expected.first) << i << ", second " << second;
        ASSERT_EQ(found[static_cast<size_t>(i)].second, expected.second) << i << ", second " << second;
      }
    }
  }
}

TEST_P(NearestRowsOnDevice, AreAllThatAreNear) {
  const Case& c = GetParam();
  const Rows reference(c.reference, c.numbers, c.levels, c.values, 1), query(c.queries, c.numbers, c.levels, 5000, 2);
  const NearestIndex index(reference.table, {1, 1});
  const NearestOnDevice device(index, emulated_device());
  const double columns = c.numbers + c.levels;
  for (const double radius : {0.0, columns / 3, columns})
    for (const DistanceTable* table : {&query.table, static_cast<const DistanceTable*>(nullptr)}) {
      const DistanceTable& rows = table == nullptr ? reference.table : *table;
      std::set<std::pair<int64_t, int64_t>> found;
      std::mutex lock;
      device.within(table, radius, "near copies", workers, [&](int64_t row, int64_t other) {
        const std::lock_guard one(lock);
        found.insert({row, other});
      });
      int64_t near = 0;
      for (int64_t i = 0; i < rows.rows; ++i)
        for (int64_t j = 0; j < c.reference; ++j) {
          if (table == nullptr && j <= i) continue;
          if (index.distance(rows, i, j, INFINITY) > radius) continue;
          ++near;
          ASSERT_TRUE(found.contains({i, j}) || (table == nullptr && found.contains({j, i}))) << i << ", " << j;
        }
      for (const auto& [i, j] : found) ASSERT_FALSE(table == nullptr && i == j) << "a row is near itself";
      EXPECT_TRUE(near > 0 || radius < columns || c.reference == 1);
    }
}

}  // namespace
}  // namespace tessera
