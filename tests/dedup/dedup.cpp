// Copies of rows: found in other spellings, near ones against an oracle that compares all pairs, the same for any team.
#include "models/dedup/dedup.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>
#include <set>

#include "base/error.h"
#include "dedup/tables.h"
#include "models/dedup/keys.h"
#include "models/dedup/search.h"
#include "quality/tables.h"
#include "tables/csv/reader.h"
#include "tables/kinds/row_formats.h"

namespace tessera {
namespace {

using namespace dedup_test;
using namespace columns;

std::vector<std::pair<int32_t, int32_t>> pairs(const Found& f) {
  std::vector<std::pair<int32_t, int32_t>> out;
  for (const RowCopy& c : f.copies) out.emplace_back(c.row, c.of);
  return out;
}

Table read(const std::string& text) {
  const auto path =
      std::filesystem::temp_directory_path() / ("dedup_" + std::to_string(std::hash<std::string>()(text)) + ".csv");
  std::ofstream(path) << text;
  Team team(1);
  CsvOptions options;
  options.path = path.string();
  Table table = csv_read(options, team, Monitor{});
  std::filesystem::remove(path);
  return table;
}

double gower(const Table& t, size_t a, size_t b, const std::vector<double>& ranges) {
  double sum = 0;
  for (size_t k = 0; k < t.columns.size(); ++k) {
    const Column& c = t.columns[k];
    if (!is_numeric(c.type)) sum += c.codes[a] != c.codes[b];
    else if (std::isnan(c.numbers[a]) || std::isnan(c.numbers[b]))
      sum += std::isnan(c.numbers[a]) != std::isnan(c.numbers[b]);
    else sum += std::min(1.0, std::abs(c.numbers[a] - c.numbers[b]) / ranges[k]);
  }
  return sum / static_cast<double>(t.columns.size());
}

// Every row compared with the rows kept before it.
std::vector<std::pair<int32_t, int32_t>> oracle(const Table& t, double threshold) {
  std::vector<double> ranges;
  for (const Column& c : t.columns) ranges.push_back(range(c));
  std::vector<size_t> kept;
  std::vector<std::pair<int32_t, int32_t>> out;
  for (size_t i = 0; i < static_cast<size_t>(t.rows); ++i) {
    const auto near = std::find_if(kept.begin(), kept.end(),
                                   [&](size_t k) { return gower(t, k, i, ranges) <= 1 - threshold + 1e-12; });
    if (near == kept.end()) kept.push_back(i);
    else out.emplace_back(static_cast<int32_t>(i), static_cast<int32_t>(*near));
  }
  return out;
}

TEST(Dedup, TreatsSpellingsOfAValueAsEqual) {
  Table t = read(
      "who,day,amount,ok,note\n"
      "Ann,2024-01-25,1200,yes,\n"
      "Bob,2024-01-26,0,no,x\n"
      "Ann,25.01.2024,1200.00,yes,NA\n"
      "Bob,26.01.2024,-0,no,x\n"
      "Bob,2024-01-26,0.01,no,x\n");
  ASSERT_EQ(t.columns[1].type, ColumnType::date) << t.columns[1].reason;
  const Found f = find(t, "exact", 0.9, nullptr, {"who", "day", "amount", "ok"});
  EXPECT_EQ(pairs(f), (std::vector<std::pair<int32_t, int32_t>>{{2, 0}, {3, 1}}));
  EXPECT_EQ(f.report["exact"], 2);
  EXPECT_EQ(f.report["kept"], 3);
}

TEST(Dedup, KeptRowsKeepTheirFormats) {
  Table t = read("day,n\n2024-01-25,1\n25.01.2024,1\n26.01.2024,2\n2024-01-27,3\n");
  ASSERT_TRUE(by_row(t.columns[0]));
  const Table kept = without_copies(std::move(t), {{1, 0, true, 1}});
  ASSERT_EQ(kept.rows, 3);
  std::string text;
  for (size_t i = 0; i < 3; ++i) writer_of(kept.columns[0], i).write(kept.columns[0].numbers[i], text), text += ' ';
  EXPECT_EQ(text, "2024-01-25 26.01.2024 2024-01-27 ");
}

TEST(Dedup, MissingCellsEqualOnlyEachOther) {
  Table t = table({numbers("x", ColumnType::decimal, {1, kMissing, kMissing, -0.0}),
                   texts("c", ColumnType::category, {"a", "", "", "a"})});
  EXPECT_EQ(pairs(find(t, "exact")), (std::vector<std::pair<int32_t, int32_t>>{{2, 1}}));
  t.columns[0].numbers[0] = 0;
  EXPECT_EQ(pairs(find(t, "exact")), (std::vector<std::pair<int32_t, int32_t>>{{2, 1}, {3, 0}})) << "0 is -0";
}

TEST(Dedup, AThresholdIncludesItsValue) {
  for (const char* mode : {"nearest", "fuzzy"}) {
    Table t;
    t.rows = 3;
    for (int k = 0; k < 10; ++k)
      t.columns.push_back(
          texts("c" + std::to_string(k), ColumnType::category, {"a", k == 3 ? "b" : "a", k < 5 ? "d" : "a"}));
    const Found f = find(t, mode, 0.9);  // 1 − 0.9 is less than 0.1
    ASSERT_EQ(pairs(f), (std::vector<std::pair<int32_t, int32_t>>{{1, 0}})) << mode;
    EXPECT_NEAR(f.copies[0].similarity, 0.9, 1e-12);
    ASSERT_EQ(f.report["examples"][0]["differences"].size(), 1u);
    EXPECT_EQ(f.report["examples"][0]["differences"][0]["column"], "c3");
    EXPECT_EQ(find(t, mode, 0.91).copies.size(), 0u);
  }
}

TEST(Dedup, IndexFindsTheSamePairsAsBruteForce) {
  for (uint32_t seed = 0; seed < 3; ++seed) {
    Table t = mixed(500, seed);
    plant(t, 80, 0.03, seed);
    for (const double threshold : {0.75, 0.9, 0.95}) {
      const auto expected = oracle(t, threshold);
      EXPECT_EQ(pairs(find(t, "nearest", threshold)), expected) << seed << ' ' << threshold;
      for (const RowCopy& c : find(t, "fuzzy", threshold).copies) EXPECT_GE(c.similarity, threshold - 1e-12);
    }
  }
}

TEST(Dedup, FindsExactlyThePlantedCopies) {
  for (const char* mode : {"nearest", "fuzzy"}) {
    int planted = 0, found = 0, others = 0;
    for (uint32_t seed = 0; seed < 4; ++seed) {
      Table t = mixed(3000, seed + 10);
      const int32_t rows = 3000;
      ASSERT_EQ(find(t, "nearest").copies.size(), 0u) << "the table has near copies of its own";
      const auto of = plant(t, 500, 0.01, seed);
      std::set<int32_t> copies;
      for (const RowCopy& c : find(t, mode).copies) {
        copies.insert(c.row);
        others += c.row < rows || (of[static_cast<size_t>(c.row - rows)] != c.of && c.of < rows);
      }
      for (int32_t i = 0; i < 500; ++i) ++planted, found += static_cast<int>(copies.count(rows + i));
    }
    EXPECT_GE(found, std::string(mode) == "nearest" ? planted : planted * 99 / 100) << mode;
    EXPECT_EQ(others, 0) << mode;
  }
}

// Rows that are alike without being copies: four columns of three levels, three numbers.
Table alike(int64_t rows) {
  std::mt19937 gen(8);
  std::vector<Column> all;
  for (int k = 0; k < 4; ++k)
    all.push_back(texts_by("c" + std::to_string(k), rows, [&](int64_t) { return "v" + std::to_string(gen() % 3); }));
  for (int k = 0; k < 3; ++k)
    all.push_back(decimals_by("x" + std::to_string(k), rows, 0,
                              [&](int64_t) { return std::uniform_real_distribution<>()(gen); }));
  return table(std::move(all));
}

TEST(Dedup, TheDefaultThresholdIsRarelyReachedByChance) {
  for (const char* mode : {"nearest", "fuzzy"}) {
    Table t = alike(4000);
    EXPECT_GT(find(t, mode).report["by_chance"], .9) << "at 0.9 nearly every row has a near copy";
    const auto of = plant(t, 500, 0.01, 3, false);
    const Found f = find(t, mode, 0);
    int planted = 0, others = 0;
    for (const RowCopy& c : f.copies) (c.row < 4000 ? others : planted) += 1;
    EXPECT_GE(planted, 495) << mode << f.report["threshold"];
    EXPECT_LE(others, 80) << mode << f.report["threshold"];
    EXPECT_LE(f.report["by_chance"], .012);
    EXPECT_EQ(f.report["kept"], 4500) << "near copies are reported only";
    EXPECT_LT(find(t, mode, f.report["threshold"]).report["kept"], 4050);
  }
  Table t = mixed(3000, 41);
  EXPECT_EQ(find(t, "nearest", 0).report["threshold"], .9) << "chance does not reach it";
}

TEST(Dedup, EqualRowsAreNamedWhereNearOnesAreKept) {
  Table t = alike(300);
  for (Column& c : t.columns)
    for (size_t i = 250; i < 300; ++i)
      if (is_numeric(c.type)) c.numbers[i] = c.numbers[i - 200] + (i < 275 ? 0 : 1e-9);
      else c.codes[i] = c.codes[i - 200];
  const Found f = find(t, "nearest", 0);
  EXPECT_EQ(f.report["exact"], 25);
  EXPECT_EQ(f.report["kept"], 275);
}

TEST(Dedup, DoesNotDependOnThreads) {
  Table t = mixed(1500, 5), other = mixed(900, 6);
  plant(t, 300, 0.02, 5);
  for (size_t k = 0; k < t.columns.size(); ++k) other.columns[k].values = t.columns[k].values;
  plant(other, 200, 0.02, 6);
  for (const char* mode : {"exact", "nearest", "fuzzy"})
    for (Table* against : {static_cast<Table*>(nullptr), &other}) {
      const Found one = find(t, mode, 0.8, against, {}, 1);
      for (const int threads : {2, 7}) {
        const Found more = find(t, mode, 0.8, against, {}, threads);
        EXPECT_EQ(pairs(one), pairs(more)) << mode << threads;
        EXPECT_EQ(one.report, more.report) << mode << threads;
      }
    }
}

// Arrays of one megabyte may stay in memory: the others are in scratch files.
TEST(Dedup, DoesNotDependOnTheMemoryLimit) {
  Table t = mixed(9000, 31), other = mixed(9000, 32);
  plant(t, 1000, 0.01, 31);
  for (size_t k = 0; k < t.columns.size(); ++k) other.columns[k].values = t.columns[k].values;
  for (size_t k = 0; k < t.columns.size(); ++k)
    for (size_t i = 0; i < 100; ++i)
      if (is_numeric(t.columns[k].type)) t.columns[k].numbers[i] = other.columns[k].numbers[i + 500];
      else t.columns[k].codes[i] = other.columns[k].codes[i + 500];
  for (const char* mode : {"exact", "fuzzy", "nearest"})
    for (Table* against : {static_cast<Table*>(nullptr), &other}) {
      const auto limit =
          std::make_shared<MemoryLimit>(int64_t{3} << 20, std::filesystem::temp_directory_path().string());
      const Found free = find(t, mode, 0.9, against), limited = find(t, mode, 0.9, against, {}, 2, limit);
      EXPECT_GE(free.copies.size(), against == nullptr && std::string(mode) == "exact" ? 0u : 100u) << mode;
      EXPECT_EQ(pairs(free), pairs(limited)) << mode;
      EXPECT_EQ(free.report, limited.report) << mode;
      EXPECT_EQ(limit->held(), 0);
    }
}

TEST(Dedup, KeysAreSortedInMemoryAndInScratch) {
  const auto limit = std::make_shared<MemoryLimit>(1, std::filesystem::temp_directory_path().string());
  std::mt19937_64 gen(5);
  dedup::RowKeys memory, scratch(limit, "keys"), spare, spare_in_scratch(limit, "keys");
  for (int32_t i = 0; i < 20000; ++i) memory.push_back({gen() % 3 == 0 ? 17 : gen(), 19999 - i});
  scratch.assign(memory.begin(), memory.end());
  ASSERT_TRUE(scratch.in_scratch());
  sort_keys(memory, spare), sort_keys(scratch, spare_in_scratch);
  for (size_t i = 0; i < memory.size(); ++i) {
    EXPECT_TRUE(memory[i].key == scratch[i].key && memory[i].row == scratch[i].row) << i;
    if (i > 0) { EXPECT_TRUE(memory[i - 1].key < memory[i].key || memory[i - 1].row < memory[i].row) << i; }
  }
}

TEST(Dedup, AFilterHasTheKeysThatWereAddedAndFewOthers) {
  std::mt19937_64 gen(9);
  for (const int64_t count : {0, 1, 1000, 50000}) {
    dedup::KeyFilter filter(count, nullptr);
    std::vector<uint64_t> keys;
    for (int64_t i = 0; i < count; ++i) filter.add(keys.emplace_back(gen()));
    for (const uint64_t key : keys) ASSERT_TRUE(filter.may_have(key));
    int others = 0;
    for (int i = 0; i < 20000; ++i) others += filter.may_have(gen()) ? 1 : 0;
    EXPECT_LE(others, 200) << count;
  }
}

TEST(Dedup, FindsRowsOfAnotherTableInThisOneOnly) {
  for (const char* mode : {"exact", "nearest", "fuzzy"}) {
    Table t = mixed(400, 21), train = mixed(300, 22);
    // Rows 0 to 9 become rows of the other table, 10 to 19 twins of each other; 5 to 9 have one cell changed.
    for (size_t k = 0; k < t.columns.size(); ++k) {
      Column &own = t.columns[k], &theirs = train.columns[k];
      for (size_t i = 0; i < 10; ++i) {
        if (is_numeric(own.type)) own.numbers[i] = theirs.numbers[i + 50];
        else {
          const std::string text =
              theirs.codes[i + 50] < 0 ? "" : theirs.values[static_cast<size_t>(theirs.codes[i + 50])];
          const auto known = std::find(own.values.begin(), own.values.end(), text);
          own.codes[i] = text.empty() ? -1 : static_cast<int32_t>(known - own.values.begin());
          if (!text.empty() && known == own.values.end()) own.values.push_back(text);
        }
        if (is_numeric(own.type)) own.numbers[i + 10] = own.numbers[19];
        else own.codes[i + 10] = own.codes[19];
      }
      if (k == 14)
        for (size_t i = 5; i < 10; ++i) own.codes[i] = -1;
    }
    const Found f = find(t, mode, 0.9, &train);
    const size_t expected = std::string(mode) == "exact" ? 5 : 10;
    ASSERT_EQ(f.copies.size(), expected) << mode;
    for (size_t i = 0; i < expected; ++i) {
      EXPECT_EQ(f.copies[i].row, static_cast<int32_t>(i));
      EXPECT_EQ(f.copies[i].of, static_cast<int32_t>(i + 50));
      EXPECT_EQ(f.copies[i].exact, i < 5);
    }
    EXPECT_EQ(f.report["against"], 300);
  }
}

TEST(Dedup, CrowdedBucketsAreReported) {
  Table t;
  t.rows = 4000;
  std::mt19937 gen(3);
  for (int k = 0; k < 8; ++k) {
    std::vector<std::string> x(4000);
    for (std::string& v : x) v = gen() % 4 == 0 ? "a" : "b";
    t.columns.push_back(texts("c" + std::to_string(k), ColumnType::category, x));
  }
  std::vector<double> x(4000);
  std::iota(x.begin(), x.end(), 0);
  t.columns.push_back(numbers("x", ColumnType::integer, x));
  const Found f = find(t, "fuzzy", 0.95);
  EXPECT_GT(f.report["fuzzy"]["crowded_buckets"], 0);
  EXPECT_GT(f.report["fuzzy"]["crowded_rows"], 0);
  ASSERT_EQ(f.report["notes"].size(), 1u);
  EXPECT_NE(f.report["notes"][0].get<std::string>().find("crowded"), std::string::npos);
  // Rows that agree in all levels are near copies if their numbers are within .45 of the range, which keys do not know.
  const Found all = find(t, "nearest", 0.95);
  EXPECT_TRUE(all.report["notes"].empty());
  EXPECT_GE(f.copies.size() * 100, all.copies.size() * 95) << f.copies.size() << " of " << all.copies.size();
}

TEST(Dedup, KeysHaveTheColumnsAllowedByTheRecall) {
  for (size_t columns = 1; columns <= 60; ++columns)
    for (size_t numbers = 0; numbers <= columns; numbers += 3)
      for (size_t rewritten = 0; rewritten < columns / 3; ++rewritten) {
        const dedup::KeyColumns k = dedup::key_columns(columns, numbers, rewritten);
        EXPECT_GE(k.columns, 1u);
        EXPECT_LE(k.columns + rewritten, columns);
        EXPECT_TRUE(k.recall >= 0.99 || k.columns == 1) << columns << ' ' << numbers << ' ' << rewritten;
      }
}

TEST(Dedup, IgnoresColumnsThatAreNotNamed) {
  Table t =
      table({texts("id", ColumnType::identifier, {"1", "2", "3"}), texts("c", ColumnType::category, {"a", "b", "a"})});
  const Found all = find(t, "exact");
  EXPECT_EQ(all.copies.size(), 0u);
  ASSERT_EQ(all.report["notes"].size(), 1u);
  EXPECT_NE(all.report["notes"][0].get<std::string>().find("\"id\""), std::string::npos);
  EXPECT_EQ(pairs(find(t, "exact", 0.9, nullptr, {"c"})), (std::vector<std::pair<int32_t, int32_t>>{{2, 0}}));
  EXPECT_EQ(t.columns[0].type, ColumnType::identifier) << "the table is as before";
  EXPECT_EQ(t.columns[0].codes.size(), 3u);
}

TEST(Dedup, RejectsInvalidOptions) {
  const auto message = [](const std::string& mode, double threshold, const std::vector<std::string>& columns,
                          Table* against = nullptr) {
    Table t = mixed(10, 1);
    try {
      find(t, mode, threshold, against, columns);
    } catch (const Error& e) { return std::string(e.what()); }
    return std::string();
  };
  EXPECT_NE(message("near", 0.9, {}).find("exact, fuzzy, nearest, documents or semantic"), std::string::npos);
  EXPECT_NE(message("exact", 1.5, {}).find("threshold 1.5"), std::string::npos);
  EXPECT_NE(message("exact", 0.9, {"x9"}).find("Nearest: \"x0\""), std::string::npos);
  Table other = mixed(10, 2);
  other.columns.pop_back();
  EXPECT_NE(message("exact", 0.9, {}, &other).find("\"c6\" of the first table is missing in the other table"),
            std::string::npos);
  EXPECT_EQ(message("exact", 0.9, {"x0", "c1"}, &other), "") << "only compared columns are needed";
}

}  // namespace
}  // namespace tessera
