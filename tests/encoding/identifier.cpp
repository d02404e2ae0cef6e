// Identifiers: in the pattern of the column, no two alike, none of the training table.
#include "tables/identifiers/identifier.h"

#include <gtest/gtest.h>
#include <regex.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <set>

#include "encoding/columns.h"
#include "tables/identifiers/permutation.h"

namespace tessera {
namespace {
using namespace columns;

std::string hex(uint32_t i, size_t digits) {
  std::string out;
  for (uint32_t block = 0; out.size() < digits; ++block) {
    const Philox p = philox(i, block, 1, 2, 3, 4);
    for (uint32_t w : p.word)
      for (int n = 0; n < 8; ++n) out += "0123456789abcdef"[(w >> (4 * n)) & 15];
  }
  return out.substr(0, digits);
}

std::string uuid(uint32_t i) {
  const std::string h = hex(i, 32);
  return h.substr(0, 8) + "-" + h.substr(8, 4) + "-4" + h.substr(13, 3) + "-" + "89ab"[h[16] & 3] + h.substr(17, 3) +
         "-" + h.substr(20, 12);
}

// POSIX extended expression over the whole text. (std::regex does not compile under the sanitizers with warnings as
// errors.)
class Pattern {
 public:
  explicit Pattern(const std::string& expression) {
    EXPECT_EQ(regcomp(&regex_, ("^(" + expression + ")$").c_str(), REG_EXTENDED | REG_NOSUB), 0) << expression;
  }
  ~Pattern() { regfree(&regex_); }
  Pattern(const Pattern&) = delete;
  Pattern& operator=(const Pattern&) = delete;
  bool matches(const std::string& text) const { return regexec(&regex_, text.c_str(), 0, nullptr, 0) == 0; }

 private:
  regex_t regex_{};
};

struct Kind {
  const char* name;
  std::function<std::string(uint32_t)> make;
  const char* pattern;
};

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> all{
      {"counted", [](uint32_t i) { return std::to_string(i + 1); }, "[0-9]+"},
      {"counted, padded, with prefix",
       [](uint32_t i) { return "INV-2024-" + std::string(6 - std::to_string(i).size(), '0') + std::to_string(i); },
       "INV-2024-[0-9]{6}"},
      {"sparse numbers", [](uint32_t i) { return std::to_string(100000 + Permutation(900000, 5)(i)); },
       "[1-9][0-9]{5}"},
      {"sparse numbers between texts",
       [](uint32_t i) {
         std::string s = "A";
         return s.append(std::to_string(10000000 + Permutation(90000000, 5)(i))).append("/x");
       },
       "A[1-9][0-9]{7}/x"},
      {"uuid", uuid, "[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"},
      {"hash", [](uint32_t i) { return hex(i, 40); }, "[0-9a-f]{40}"},
      {"short hash", [](uint32_t i) { return hex(i, 8); }, "[0-9a-f]{8}"},
      {"plate",
       [](uint32_t i) {
         const uint64_t p = Permutation(26 * 26 * 10000, 9)(i);
         return std::string{static_cast<char>('A' + p % 26), static_cast<char>('A' + p / 26 % 26), '-'} +
                std::to_string(10000 + p / 676).substr(1);
       },
       "[A-Z]{2}-[0-9]{4}"},
      {"mail",
       [](uint32_t i) {
         std::string s;
         for (char c : hex(i, 6 + i % 4)) s += static_cast<char>('a' + c % 26);
         return s + "@example.org";
       },
       "[a-z]{6,9}@example\\.org"},
      {"mail of several houses",
       [](uint32_t i) {
         std::string s;
         for (char c : hex(i, 8)) s += static_cast<char>('a' + c % 26);
         return s + (i % 3 == 0 ? "@gmail.com" : i % 3 == 1 ? "@uni-wien.ac.at" : "@web.de");
       },
       "[a-z]{8}@example\\.com"},
      {"several prefixes",
       [](uint32_t i) { return (i % 2 == 0 ? "INV-" : "CRN-") + std::to_string(100000 + Permutation(900000, 8)(i)); },
       "(INV|CRN)-[0-9]{6}"},
      {"umlauts", [](uint32_t i) { return "Käufer " + std::to_string(1000000 + Permutation(9000000, 3)(i)); },
       "Käufer [1-9][0-9]{6}"},
  };
  return all;
}

TEST(Identifier, KeepsThePatternWithoutRepeatingOrRemembering) {
  for (const Kind& kind : kinds()) {
    SCOPED_TRACE(kind.name);
    std::vector<std::string> training;
    for (uint32_t i = 0; i < 3000; ++i) training.push_back(kind.make(i));
    const std::set<std::string> known(training.begin(), training.end());
    ASSERT_EQ(known.size(), training.size());
    const Identifier id = learn(training);
    const IdentifierKey key = identifier_key(0, 0, 7);
    const Pattern pattern(kind.pattern);
    std::set<std::string> made;
    for (uint64_t row = 0; row < 20000; ++row) {
      const std::string text = id.text(row, key);
      ASSERT_TRUE(pattern.matches(text)) << text << " (" << id.describe() << ")";
      ASSERT_EQ(known.count(text), 0u) << text << " is in the training table";
      ASSERT_TRUE(made.insert(text).second) << text << " was made twice";
    }
  }
}

TEST(Identifier, DependsOnRowSeedConditionAndColumnOnly) {
  std::vector<std::string> training;
  for (uint32_t i = 0; i < 500; ++i) training.push_back(hex(i, 12));
  const Identifier id = learn(training);
  const std::string text = id.text(41, identifier_key(2, 0, 3));
  EXPECT_EQ(id.text(41, identifier_key(2, 0, 3)), text);
  EXPECT_NE(id.text(41, identifier_key(3, 0, 3)), text);
  EXPECT_NE(id.text(41, identifier_key(2, 1, 3)), text);
  EXPECT_NE(id.text(41, identifier_key(2, 0, 4)), text);
}

// The numbers go on above a grid cell, so that the largest of the table is not held; each seed counts in a block of its
// own, with as many digits, while there are any.
TEST(Identifier, ContinuesASequence) {
  const Identifier id = learn({"C0008", "C0007", "C0009", "C0005", "C0006"});
  EXPECT_EQ(id.kind(), Identifier::Kind::sequence);
  const IdentifierKey key = identifier_key(0, 0, 7);
  EXPECT_EQ(id.text(0, key), "C0010");
  EXPECT_EQ(id.text(90, key), "C0100");
  EXPECT_EQ(id.text(20000, key), "C20010");
  EXPECT_EQ(id.text(5, identifier_key(1, 0, 7)), "C0025");
  for (const auto& [highest, held] : {std::pair<uint64_t, uint64_t>{0, 9},
                                      {9, 9},
                                      {10, 19},
                                      {99, 99},
                                      {100, 109},
                                      {1841, 1899},
                                      {999999, 999999},
                                      {1000000, 1099999}})
    EXPECT_EQ(NumberCounter::rounded_up(highest), held);
}

struct Counted {
  std::string prefix;
  uint64_t first, count;
  int width;  // of the padding
};
std::string padded(uint64_t n, int width) {
  const std::string digits = std::to_string(n);
  return std::string(static_cast<size_t>(std::max(width - static_cast<int>(digits.size()), 0)), '0') + digits;
}

// Whatever the seed and the condition, there is no number twice, none of the table, and none with more digits while
// the form has room; beyond it they are longer.
TEST(Identifier, CountersKeepTheirWidth) {
  for (const Counted& c : {Counted{"ORD-", 1, 1500, 5},
                           {"ORD-", 1, 900, 3},
                           {"", 10'000, 2000, 0},
                           {"K", 95'000, 4000, 0},
                           {"", 1, 800, 0},
                           {"P", 1, 9990, 4}}) {
    std::vector<std::string> training;
    for (uint64_t i = 0; i < c.count; ++i) training.push_back(c.prefix + padded(c.first + i, c.width));
    const std::set<std::string> known(training.begin(), training.end());
    const size_t width = training.back().size();
    const Identifier id = learn(training);
    ASSERT_EQ(id.kind(), Identifier::Kind::sequence);
    for (const auto& [seed, condition] : {std::pair<uint64_t, uint64_t>{0, 0}, {1, 0}, {7, 0}, {123'456, 0}, {0, 99}}) {
      const IdentifierKey key = identifier_key(seed, condition, 7);
      std::set<std::string> made;
      for (uint64_t row = 0; row < id.capacity() + 500; ++row) {
        const std::string text = id.text(row, key);
        ASSERT_EQ(known.count(text), 0u) << text;
        ASSERT_TRUE(made.insert(text).second) << text;
        if (row < id.capacity() && training[0].size() == width) { ASSERT_EQ(text.size(), width) << text; }
        ASSERT_LE(text.size(), width + 1 + (training[0].size() != width)) << text;
      }
    }
  }
}

// A number within the range of the column's type, for every seed.
TEST(Identifier, NumbersStayInTheRangeOfTheirType) {
  std::vector<std::string> training;
  for (uint64_t i = 0; i < 100; ++i) training.push_back(std::to_string(2'147'480'000 + i));
  const std::vector<std::string_view> views(training.begin(), training.end());
  const Identifier id = Identifier::learn(views, {}, {kRareRows, INT32_MAX});
  for (uint64_t seed = 0; seed < 2000; seed += 37)
    for (uint64_t row = 0; row < 100; ++row) ASSERT_LE(std::stoll(id.text(row, identifier_key(seed, 0, 7))), INT32_MAX);
}

// Numbers of a width that is almost used up come from above and below, and are longer only if less than a fifth is
// free.
TEST(Identifier, ScatteredNumbersKeepTheirWidth) {
  for (const uint64_t count : {1500u, 4000u}) {
    std::vector<std::string> training;
    for (uint64_t i = 0; i < count; ++i) training.push_back(std::to_string(1000 + Permutation(9000, 5)(i)));
    const std::set<std::string> known(training.begin(), training.end());
    const Identifier id = learn(training);
    EXPECT_EQ(id.widened(), count == 4000);
    std::set<std::string> made;
    for (uint64_t row = 0; row < 3000; ++row) {
      const std::string text = id.text(row, identifier_key(3, 0, 7));
      ASSERT_EQ(known.count(text), 0u) << text;
      ASSERT_TRUE(made.insert(text).second) << text;
      if (count == 1500) { ASSERT_EQ(text.size(), 4u + (row >= id.capacity())) << text; }
    }
  }
}

// Models of one table, whatever the seed, and of almost the same rows exclude the same texts.
TEST(Identifier, SeveralModelsRevealNoMoreThanOne) {
  std::vector<std::string> training;
  for (uint64_t i = 0; i < 1000; ++i) training.push_back("C-" + std::to_string(100'000 + Permutation(900'000, 5)(i)));
  const nlohmann::json all = learn(training).to_json().at("indices");
  training.resize(990);
  const nlohmann::json less = learn(training).to_json().at("indices");
  EXPECT_EQ(less.at("salt"), all.at("salt"));
  EXPECT_EQ(less.at("buckets"), all.at("buckets"));
  int differ = 0;
  const std::string a = all.at("free"), b = less.at("free");
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) differ += a[i] != b[i];
  EXPECT_LE(differ, 10);
}

TEST(Identifier, FewTextsDoNotBecomeThePattern) {
  for (const std::vector<std::string>& training : {std::vector<std::string>{"secret"},
                                                   {"Müller", "Mayer"},
                                                   {"a", "ab", "abc"},
                                                   {"Anna Berger", "Otto Wirt", "Kim Li"},
                                                   {"1001", "1002", "1003", "1004"}}) {
    const Identifier id = learn(training);
    std::set<std::string> made;
    const std::string file = id.to_json().dump();
    for (const std::string& t : training) EXPECT_TRUE(t.size() < 4 || file.find(t) == std::string::npos) << t;
    for (uint64_t row = 0; row < 20; ++row) {
      const std::string text = id.text(row, identifier_key(0, 0, 0));
      EXPECT_EQ(std::count(training.begin(), training.end(), text), 0) << text;
      made.insert(text);
    }
    EXPECT_GE(made.size(), 15u);
  }
}

// Where every text of a pattern is taken, new ones are longer.
TEST(Identifier, ExhaustedPatternsGrow) {
  std::vector<std::string> training;
  for (char a = 'A'; a <= 'Z'; ++a)
    for (char b = 'A'; b <= 'Z'; ++b) training.push_back({a, b});
  const Identifier id = learn(training);
  std::set<std::string> made;
  for (uint64_t row = 0; row < 2000; ++row) {
    made.insert(id.text(row, identifier_key(0, 0, 0)));
    EXPECT_EQ(made.rbegin()->size(), 3u);
  }
  EXPECT_EQ(made.size(), 2000u);
}

TEST(Identifier, NoTrainingTextInTheModel) {
  for (const Kind& kind : kinds()) {
    std::vector<std::string> training;
    for (uint32_t i = 0; i < 1000; ++i) training.push_back(kind.make(10 * i + 3));
    const std::string file = learn(training).to_json().dump();
    size_t found = 0;
    for (const std::string& t : training) found += t.size() >= 6 && file.find(t) != std::string::npos;
    EXPECT_EQ(found, 0u) << kind.name;
    EXPECT_LT(file.size(), 20000u) << kind.name << ": about 1.44 bits a text, and the pattern";
  }
}

TEST(Identifier, KeepsTheShareOfMissingValues) {
  std::vector<std::string> rows;
  for (uint32_t i = 0; i < 5000; ++i) rows.push_back(uniform(i) < 0.3 ? "" : hex(i, 10));
  const Table t = table(
      {texts("id", ColumnType::identifier, rows), numbers("n", ColumnType::integer, std::vector<double>(5000, 1))});
  const Encoder e = fit(t);
  const Table back = decode(e, encode(e, t), 8);
  double missing = 0;
  for (const int32_t c : back.columns[0].codes) missing += c < 0;
  EXPECT_NEAR(missing / 5000, 0.3, 0.03);
}

TEST(Permutation, IsABijectionWithAnInverse) {
  for (uint64_t size : {1ull, 2ull, 3ull, 10ull, 1000ull, 4097ull}) {
    const Permutation p(size, 99);
    std::set<uint64_t> images;
    for (uint64_t x = 0; x < size; ++x) {
      const uint64_t y = p(x);
      ASSERT_LT(y, size);
      ASSERT_EQ(p.inverse(y), x);
      images.insert(y);
    }
    EXPECT_EQ(images.size(), size);
  }
  const Permutation large(uint64_t{1} << 62, 7);
  for (uint64_t x : {uint64_t{0}, uint64_t{1}, (uint64_t{1} << 62) - 1}) EXPECT_EQ(large.inverse(large(x)), x);
}

}  // namespace
}  // namespace tessera
