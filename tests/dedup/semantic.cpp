// Rows that are alike by the encoder of a TVAE (models/dedup/semantic.h), against all pairs compared by its distances.
#include "models/dedup/semantic.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <random>

#include "dedup/tables.h"
#include "models/dedup/search.h"

namespace tessera {
namespace {

using namespace dedup_test;
using namespace columns;

const char* const kJobs[][2] = {{"nurse", "sister"}, {"pilot", "aviator"}, {"cook", "chef"}, {"clerk", "scribe"}};
const char* const kPlaces[][2] = {{"ward", "clinic"}, {"airport", "hangar"}, {"kitchen", "inn"}, {"office", "bank"}};

// A job has two names; all else depends on the job, not on the name.
Table people(int64_t rows, unsigned seed) {
  std::mt19937 gen(seed);
  std::vector<std::string> job, place;
  std::vector<double> pay;
  for (int64_t i = 0; i < rows; ++i) {
    const size_t j = gen() % 4;
    job.emplace_back(kJobs[j][gen() % 2]), place.emplace_back(kPlaces[j][gen() % 2]);
    pay.push_back(static_cast<double>(1000 * j + gen() % 400));
  }
  return table({texts("job", ColumnType::category, job), texts("place", ColumnType::category, place),
                numbers("pay", ColumnType::integer, pay)});
}

// The latents of a table, compared pair by pair.
struct Latent {
  explicit Latent(const Table& t)
      : comparison(quality::compare_tables({{"first", &t}})), cells(comparison), rows(cells, t, nullptr, workers) {}
  Team team{1};
  Monitor monitor;
  quality::Workers workers{team, monitor, "dedup"};
  quality::Comparison comparison;
  dedup::ComparedRows cells;
  dedup::LatentRows rows;
};

TEST(Semantic, OtherNamesOfOneThingAreNearOtherThingsAreNot) {
  const Table t = people(2000, 1);
  const Latent latent(t);
  ASSERT_GT(latent.rows.dimensions(), 0);
  double same = 0, other = 0, pairs_same = 0, pairs_other = 0;
  for (int32_t a = 0; a < 300; ++a)
    for (int32_t b = 0; b < a; ++b) {
      const auto job = [&](int32_t row) {
        return t.columns[0].values[static_cast<size_t>(t.columns[0].codes[static_cast<size_t>(row)])];
      };
      const auto kind = [&](int32_t row) {
        return static_cast<int>(t.columns[2].numbers[static_cast<size_t>(row)] / 1000);
      };
      if (job(a) == job(b)) continue;
      const double s = latent.rows.similarity(a, b);
      if (kind(a) == kind(b)) same += s, ++pairs_same;
      else other += s, ++pairs_other;
    }
  EXPECT_GT(same / pairs_same, other / pairs_other + 0.2);
}

TEST(Semantic, NearCopiesAreThoseOfAllPairs) {
  Table t = people(700, 2);
  const Latent latent(t);
  for (const double threshold : {0.99, 0.95, 0.8}) {
    // a row is dropped if it is near an earlier one that is kept
    std::vector<int32_t> kept;
    std::vector<std::pair<int32_t, int32_t>> expected, dropped;
    for (int32_t i = 0; i < t.rows; ++i) {
      const auto near = std::find_if(kept.begin(), kept.end(), [&](int32_t k) {
        return latent.rows.equal(k, i) || latent.rows.similarity(k, i) >= threshold;
      });
      if (near != kept.end()) expected.emplace_back(i, *near);
      else kept.push_back(i);
    }
    const Found found = find(t, "semantic", threshold);
    for (const RowCopy& c : found.copies) {
      dropped.emplace_back(c.row, c.of);
      EXPECT_GE(c.similarity, threshold);
    }
    EXPECT_EQ(dropped, expected) << threshold;
    EXPECT_FALSE(dropped.empty());
    EXPECT_LT(dropped.size(), 700u);
    EXPECT_EQ(found.report["semantic"]["dimensions"], latent.rows.dimensions());
  }
}

TEST(Semantic, IsTheSameForAnyNumberOfThreads) {
  Table t = people(600, 3);
  const std::vector<RowCopy> one = find(t, "semantic", 0.95, nullptr, {}, 1).copies,
                             three = find(t, "semantic", 0.95, nullptr, {}, 3).copies;
  ASSERT_EQ(one.size(), three.size());
  for (size_t i = 0; i < one.size(); ++i)
    EXPECT_TRUE(one[i].row == three[i].row && one[i].of == three[i].of && one[i].similarity == three[i].similarity);
}

TEST(Semantic, ComparesWithAnotherTableWhoseCodesDiffer) {
  Table train = people(600, 4), rows = people(40, 5);
  for (size_t k = 0; k < 2; ++k) rows.columns[k].codes[7] = rows.columns[k].codes[8];
  rows.columns[0].codes[8] = rows.columns[0].codes[7];
  const auto text = [&](size_t k) { return rows.columns[k].values[static_cast<size_t>(rows.columns[k].codes[7])]; };
  train.columns[0] = texts("job", ColumnType::category, std::vector<std::string>(600, text(0)));
  train.columns[1] = texts("place", ColumnType::category, std::vector<std::string>(600, text(1)));
  train.columns[2].numbers[599] = rows.columns[2].numbers[7];
  const std::vector<RowCopy> copies = find(rows, "semantic", 1, &train).copies;
  ASSERT_TRUE(std::any_of(copies.begin(), copies.end(), [](const RowCopy& c) { return c.row == 7 && c.exact; }));
  for (const RowCopy& c : copies) EXPECT_TRUE(c.exact || c.similarity == 1);
}

TEST(Semantic, TheDefaultThresholdReportsOneRowInAHundredAndKeepsIt) {
  Table t = people(2000, 6);
  std::mt19937 gen(7);
  for (const char* name : {"height", "weight", "age"}) {
    std::vector<double> x;
    for (int64_t i = 0; i < t.rows; ++i) x.push_back(static_cast<double>(gen() % 100'000));
    t.columns.push_back(numbers(name, ColumnType::integer, x));
  }
  const Found found = find(t, "semantic", 0);
  EXPECT_FALSE(found.report["drops_near"]);
  EXPECT_GT(found.report["threshold"], 0.5);
  EXPECT_LE(found.report["near"], 2000 / 20);
  EXPECT_FALSE(found.copies.empty());
}

}  // namespace
}  // namespace tessera
