// Texts that are copies of others (models/dedup/documents.h), against all pairs compared by their definition.
#include "models/dedup/documents.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "base/cpu/cpu_features.h"
#include "base/error.h"
#include "dedup/tables.h"

namespace tessera {
namespace {

using namespace dedup_test;
using namespace columns;

Table table_of(const std::vector<std::string>& lines) { return table({texts("text", ColumnType::category, lines)}); }

std::vector<std::string> pieces(const std::string& s) {
  std::set<std::string> out;
  for (size_t i = 0; i + 5 <= s.size(); ++i) out.insert(s.substr(i, 5));
  if (s.size() < 5) out.insert(s);
  return {out.begin(), out.end()};
}

double jaccard(const std::vector<std::string>& x, const std::vector<std::string>& y) {
  std::vector<std::string> both;
  std::set_intersection(x.begin(), x.end(), y.begin(), y.end(), std::back_inserter(both));
  return static_cast<double>(both.size()) / static_cast<double>(x.size() + y.size() - both.size());
}

// Texts of random words; every third is an earlier one with words replaced.
std::vector<std::string> planted(int count) {
  std::mt19937 gen(7);
  const auto number = [&](int below) { return static_cast<int>(gen() % static_cast<unsigned>(below)); };
  const auto word = [&] {
    std::string out;
    for (int n = 3 + number(5); n > 0; --n) out += static_cast<char>('a' + number(26));
    return out;
  };
  std::vector<std::vector<std::string>> words;
  std::vector<std::string> out;
  for (int i = 0; i < count; ++i) {
    std::vector<std::string> w;
    if (i % 3 == 2) {
      w = words[static_cast<size_t>(number(i))];
      for (int k = number(6); k > 0; --k) w[static_cast<size_t>(number(static_cast<int>(w.size())))] = word();
    } else {
      for (int k = 0; k < 40; ++k) w.push_back(word());
    }
    std::string text;
    for (const std::string& each : w) text += each + " ";
    words.push_back(w), out.push_back(text);
  }
  return out;
}

TEST(Documents, NearCopiesAreThoseOfAllPairs) {
  const std::vector<std::string> texts = planted(300);
  std::vector<std::vector<double>> truth(texts.size());  // of earlier rows
  std::vector<std::vector<std::string>> sets;
  for (size_t i = 0; i < texts.size(); ++i) {
    sets.push_back(pieces(texts[i]));
    for (size_t k = 0; k < i; ++k) truth[i].push_back(jaccard(sets[k], sets[i]));
  }
  for (const double threshold : {0.6, 0.8, 0.9}) {
    // the rule of kept rows: a row is dropped if it is near an earlier one that is kept
    std::vector<size_t> kept;
    size_t expected = 0;
    for (size_t i = 0; i < texts.size(); ++i) {
      if (std::any_of(kept.begin(), kept.end(), [&](size_t k) { return truth[i][k] >= threshold; })) ++expected;
      else kept.push_back(i);
    }
    Table table = table_of(texts);
    const std::vector<RowCopy> copies = find(table, "documents", threshold).copies;
    for (const RowCopy& c : copies) {
      const double is = truth[static_cast<size_t>(c.row)][static_cast<size_t>(c.of)];
      EXPECT_GE(is, threshold);
      EXPECT_NEAR(c.similarity, is, 1e-9);
      EXPECT_EQ(c.exact, texts[static_cast<size_t>(c.row)] == texts[static_cast<size_t>(c.of)]);
    }
    EXPECT_GT(expected, 20u);
    EXPECT_GE(static_cast<double>(copies.size()), 0.99 * static_cast<double>(expected)) << threshold;
  }
}

TEST(Documents, AreTheSameForAnyNumberOfThreads) {
  const std::vector<std::string> texts = planted(400);
  Table table = table_of(texts);
  const std::vector<RowCopy> one = find(table, "documents", 0.7, nullptr, {}, 1).copies,
                             three = find(table, "documents", 0.7, nullptr, {}, 3).copies;
  ASSERT_EQ(one.size(), three.size());
  for (size_t i = 0; i < one.size(); ++i) EXPECT_TRUE(one[i].row == three[i].row && one[i].of == three[i].of) << i;
}

TEST(Documents, AreComparedWithAnotherTable) {
  const std::vector<std::string> texts = planted(90);
  Table train = table_of(texts), rows = table_of({"nothing like it at all", texts[3], texts[4] + "x"});
  const std::vector<RowCopy> copies = find(rows, "documents", 0.8, &train).copies;
  ASSERT_EQ(copies.size(), 2u);
  EXPECT_TRUE(copies[0].row == 1 && copies[0].of == 3 && copies[0].exact);
  EXPECT_TRUE(copies[1].row == 2 && copies[1].of == 4 && !copies[1].exact);
}

TEST(Documents, ShortAndMissingTextsAreTexts) {
  Table table = table_of({"ab", "abc", "ab", "", "", "abcde", "abcdef"});
  const std::vector<RowCopy> copies = find(table, "documents", 0.5).copies;
  ASSERT_EQ(copies.size(), 3u);
  EXPECT_TRUE(copies[0].row == 2 && copies[0].of == 0);
  EXPECT_TRUE(copies[1].row == 4 && copies[1].of == 3);
  EXPECT_TRUE(copies[2].row == 6 && copies[2].of == 5);  // one piece of two
}

TEST(Documents, CrowdedKeysAreSaid) {
  std::vector<std::string> texts(60, "the same beginning of every one of these many texts, and then a number: ");
  for (size_t i = 0; i < texts.size(); ++i) texts[i] += std::to_string(1000 + 37 * i);
  Table table = table_of(texts);
  const Found found = find(table, "documents", 0.8);
  EXPECT_GE(found.copies.size(), 50u);
  EXPECT_GT(found.report["documents"]["crowded_buckets"], 0);
  EXPECT_NE(found.report["notes"].dump().find("crowded"), std::string::npos);
}

TEST(Documents, OnlyTextsAreDocuments) {
  Table table = table_of({"a text", "another text"});
  table.columns.push_back(numbers("x", ColumnType::integer, {1, 2}));
  Team team(1);
  nlohmann::json report;
  EXPECT_EQ(find(table, "documents", 0.9).copies.size(), 0u);  // the column of numbers is not asked for
  EXPECT_THROW(find_copies(table, nullptr, {"documents", 0.9, {"x"}}, team, Monitor{}, report), Error);
  table.columns.erase(table.columns.begin());
  EXPECT_THROW(find(table, "documents", 0.9), Error);
}

TEST(Documents, KeysFindPairsAtTheThreshold) {
  for (const double t : {0.5, 0.7, 0.8, 0.9, 0.95}) {
    const dedup::BandSize b = dedup::band_size(t);
    EXPECT_GE(b.recall, 0.99);
    const double missed =
        std::pow(1 - std::pow(t, static_cast<double>(b.minima + 1)), static_cast<double>(128 / (b.minima + 1)));
    EXPECT_LT(1 - missed, 0.99) << "a longer key would do at " << t;
  }
}

TEST(MinHashes, AreTheMinimaOfTheirFormula) {
  std::mt19937 gen(3);
  std::vector<uint32_t> x(777), factor(128), offset(128);
  for (auto* v : {&x, &factor, &offset})
    for (uint32_t& u : *v) u = static_cast<uint32_t>(gen());
  for (const ArrayKernels* kernels : runnable_array_kernels())
    for (const int64_t n : {1, 16, 777}) {
      std::vector<uint32_t> lowest(128);
      kernels->min_hashes(x.data(), n, factor.data(), offset.data(), 128, lowest.data());
      for (size_t k = 0; k < 128; ++k) {
        uint32_t truth = ~0u;
        for (size_t i = 0; i < static_cast<size_t>(n); ++i) truth = std::min(truth, factor[k] * x[i] + offset[k]);
        ASSERT_EQ(lowest[k], truth) << kernels->name << " " << n << " " << k;
      }
    }
}

}  // namespace
}  // namespace tessera
