// Identifiers over many seeds, conditions and alphabets: none twice in a sample, none of the training table, none in
// two samples but by chance, no counters; and what a pattern may hold of rare texts.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "encoding/columns.h"
#include "tables/identifiers/identifier.h"
#include "tables/identifiers/permutation.h"
#include "tables/texts/characters.h"

namespace tessera {
namespace {
using namespace columns;

constexpr uint64_t kColumn = 7;

// `length` characters of an alphabet, a different text for each i.
std::string spelled(uint64_t i, const std::u32string& alphabet, size_t length) {
  uint64_t size = 1;
  for (size_t p = 0; p < length; ++p) size *= alphabet.size();
  uint64_t index = Permutation(size, 3)(i);
  std::u32string text;
  for (size_t p = 0; p < length; ++p, index /= alphabet.size()) text += alphabet[index % alphabet.size()];
  return utf8(text);
}

struct Alphabet {
  const char* name;
  std::u32string characters;
};

const std::vector<Alphabet>& alphabets() {
  static const std::vector<Alphabet> all{
      {"hexadecimal", U"0123456789abcdef"},
      {"capitals", U"ABCDEFGHIJKLMNOPQRSTUVWXYZ"},
      {"Latin-1", U"abcdeéèüößñçåøæ"},
      {"Greek", U"αβγδεζηθικλμνξοπρστυφχψω"},
      {"Cyrillic", U"абвгдежзиклмнопрстуфхцчшщэюя"},
      {"Chinese", U"的一是不了人我在有他这中大来上国"},
      {"Arabic", U"ابتثجحخدذرزسشصضطظعغفقكلمنهوي"},
      {"Hebrew", U"אבגדהוזחטיכלמנסעפצקרשת"},
      {"emoji", U"😀😁😂😃😄😅😆😇😈😉😊😋😌😍😎😏"},
      {"several scripts", U"αβγδεж漢字"},
      {"an unlisted script", U"ႠႡႢႣႤႥႦႧႨႩႪႫႬႭႮႯ"},
  };
  return all;
}

std::vector<std::string> texts_of(const Identifier& id, const IdentifierKey& key, uint64_t first, uint64_t rows) {
  std::vector<std::string> out;
  for (uint64_t row = first; row < first + rows; ++row) out.push_back(id.text(row, key));
  return out;
}

// Of random texts one in two is greater than the one before.
bool counts(const std::vector<std::string>& texts) {
  size_t greater = 0;
  for (size_t i = 1; i < texts.size(); ++i) greater += texts[i] > texts[i - 1];
  const double n = static_cast<double>(texts.size() - 1);
  return std::abs(static_cast<double>(greater) - n / 2) > 6 * std::sqrt(n) / 2;
}

TEST(IdentifierLaws, SeedsAndConditionsGiveDifferentTexts) {
  constexpr uint64_t kRows = 200, kTraining = 400;
  for (const Alphabet& alphabet : alphabets()) {
    SCOPED_TRACE(alphabet.name);
    std::vector<std::string> training;
    for (uint64_t i = 0; i < kTraining; ++i) training.push_back(spelled(i, alphabet.characters, 8));
    const std::set<std::string> known(training.begin(), training.end());
    {
      const Identifier id = learn(training);
      std::vector<IdentifierKey> samples;
      for (uint64_t seed = 0; seed <= 64; ++seed) samples.push_back(identifier_key(seed, 0, kColumn));
      for (uint32_t i = 0; i < 8; ++i)
        samples.push_back(identifier_key(philox(i, 0, 0, 0, 1, 1).word[0] * 0x100000001ull, 0, kColumn));
      for (uint64_t condition = 1; condition <= 8; ++condition)
        samples.push_back(identifier_key(0, condition, kColumn));
      std::set<std::string> all;
      for (const IdentifierKey& key : samples) {
        const std::vector<std::string> texts = texts_of(id, key, 0, kRows);
        const std::set<std::string> distinct(texts.begin(), texts.end());
        ASSERT_EQ(distinct.size(), kRows);
        ASSERT_FALSE(counts(texts)) << texts[0] << ", " << texts[1] << ", " << texts[2];
        for (const std::string& t : texts) {
          ASSERT_EQ(known.count(t), 0u) << t;
          ASSERT_EQ(code_points(t).size(), 8u) << t;
          ASSERT_EQ(code_points(t).find(0xFFFD), std::u32string::npos);
        }
        all.insert(distinct.begin(), distinct.end());
      }
      // Pairs of samples share rows²/room texts by chance.
      const double made = static_cast<double>(samples.size() * kRows),
                   chance = made * made / 2 / static_cast<double>(id.capacity());
      EXPECT_LE(made - static_cast<double>(all.size()), chance + 5 * std::sqrt(chance) + 1)
          << "capacity " << id.capacity();
      // Other orders of use, other parts of the sample.
      const std::vector<std::string> whole = texts_of(id, samples[1], 0, kRows);
      EXPECT_EQ(texts_of(id, samples[1], 150, 50), std::vector<std::string>(whole.begin() + 150, whole.end()));
    }
  }
}

// Whatever the letters, those of the training table come back, each place with its own.
TEST(IdentifierLaws, AlphabetsStay) {
  for (const Alphabet& alphabet : alphabets()) {
    SCOPED_TRACE(alphabet.name);
    std::vector<std::string> training;
    for (uint64_t i = 0; i < 2000; ++i) training.push_back(spelled(i, alphabet.characters, 6));
    const Identifier id = learn(training);
    std::set<char32_t> used;
    for (const std::string& t : texts_of(id, identifier_key(0, 0, kColumn), 0, 1000))
      for (const char32_t c : code_points(t)) used.insert(c);
    EXPECT_EQ(used, std::set<char32_t>(alphabet.characters.begin(), alphabet.characters.end()));
  }
}

TEST(IdentifierLaws, CountersOfTwoSamplesAreDisjoint) {
  std::vector<std::string> training;
  for (int i = 1; i <= 300; ++i) training.push_back("order " + std::to_string(i));
  const Identifier id = learn(training);
  ASSERT_EQ(id.kind(), Identifier::Kind::sequence);
  std::set<std::string> all(training.begin(), training.end());
  size_t made = all.size();
  for (uint64_t seed = 0; seed <= 64; ++seed) {
    const std::vector<std::string> texts = texts_of(id, identifier_key(seed, 0, kColumn), 0, 300);
    all.insert(texts.begin(), texts.end());
    made += texts.size();
  }
  EXPECT_EQ(all.size(), made);
}

// Texts of common words: every word is in hundreds of texts, every whole text in at most four rows.
const std::vector<std::vector<std::string>> kWords{{"acute", "chronic", "mild", "severe", "sudden", "recurrent"},
                                                   {"left", "right", "lower", "upper", "inner", "outer"},
                                                   {"knee", "hip", "arm", "chest", "back", "head", "eye"},
                                                   {"with", "after", "during"},
                                                   {"fever", "rash", "nausea", "bleeding", "swelling", "numbness"}};
std::string complaint(uint32_t i) {
  std::string text;
  for (uint32_t w = 0; w < kWords.size(); ++w)
    text += (w == 0 ? "" : " ") +
            kWords[w][static_cast<size_t>(uniform(i, 20 + w) * static_cast<double>(kWords[w].size()))];
  return text;
}
std::string name_of(uint32_t i) {
  static const std::vector<std::string> first{"Anna",   "Boris", "Carla", "Dmitri", "Elena",
                                              "Fatima", "Goran", "Hilde", "Ivan",   "Julia"},
      last{"Smith", "Jones", "Garcia", "Nguyen", "Müller", "Žižek", "Иванова", "Novak", "O'Neil", "Weber"};
  const auto pick = [&](const std::vector<std::string>& from, uint32_t stream) {
    return from[static_cast<size_t>(uniform(i, stream) * static_cast<double>(from.size()))];
  };
  return pick(first, 30) + " " + pick(first, 31) + " " + pick(last, 32);
}

// What a shape of a model file can spell of the given texts, and how many texts it can spell in all.
struct Spelled {
  size_t known = 0;
  double all = 1;
};
Spelled spelled_by(const nlohmann::json& pattern, const nlohmann::json& shape,
                   const std::map<std::string, int64_t>& texts) {
  Spelled out;
  const std::u32string prefix = code_points(pattern.at("prefix").get<std::string>()),
                       suffix = code_points(pattern.at("suffix").get<std::string>());
  std::vector<std::u32string> places;
  for (const char32_t c : prefix) places.emplace_back(1, c);
  for (const auto& p : shape.at("places"))
    places.push_back(code_points(p.get<std::string>())), out.all *= static_cast<double>(places.back().size());
  for (const char32_t c : suffix) places.emplace_back(1, c);
  for (const auto& [text, rows] : texts) {
    const std::u32string t = code_points(text);
    bool fits = t.size() == places.size();
    for (size_t p = 0; fits && p < t.size(); ++p) fits = places[p].find(t[p]) != std::u32string::npos;
    out.known += fits;
  }
  return out;
}

struct Planted {
  const char* name;
  ColumnType type;
  int64_t least;  // --rare-categories
  std::function<std::string(uint32_t)> text;
};

// Every kind of column that can hold texts of few rows. The tables have 3,000 rows; a text in at least five of them may
// be learned.
const std::vector<Planted>& planted() {
  static const std::vector<Planted> all{
      {"identifiers of common words", ColumnType::identifier, 5,
       [](uint32_t i) { return name_of(i) + " " + std::to_string(i); }},
      {"names", ColumnType::category, 5, name_of},
      {"complaints", ColumnType::category, 5, complaint},
      {"complaints that are identifiers, categories kept", ColumnType::identifier, 1, complaint},
      {"a category with rare values", ColumnType::category, 5,
       [](uint32_t i) { return uniform(i, 40) < 0.9 ? kWords[2][i % 7] : complaint(i); }},
      {"free text", ColumnType::category, 5,
       [](uint32_t i) {
         std::string s;
         for (uint32_t k = 0; k < 2 + i % 5; ++k) s += complaint(7 * i + k) + (k % 2 == 0 ? ", " : "; ");
         return s;
       }},
      {"a place of one character", ColumnType::category, 5,
       [](uint32_t i) {
         return "The patient of ward " + std::string(1, static_cast<char>('A' + i % 26)) + " has " + complaint(i) +
                " since yesterday";
       }},
  };
  return all;
}

TEST(IdentifierLaws, NoRareTextStandsInAModelOrComesOutOfIt) {
  constexpr uint32_t kRows = 3000;
  constexpr int64_t kSampled = 100'000;
  for (const Planted& kind : planted()) {
    SCOPED_TRACE(kind.name);
    std::vector<std::string> rows;
    std::map<std::string, int64_t> count;
    for (uint32_t i = 0; i < kRows; ++i) rows.push_back(kind.text(i)), ++count[rows.back()];
    std::map<std::string, int64_t> rare = count;
    std::erase_if(rare, [&](const auto& c) { return c.second >= kRareRows; });
    ASSERT_GE(rare.size(), 200u);

    Table t = table({texts("c", kind.type, rows)});
    Team team(2);
    protect_rare_categories(t, kind.least, 1, team);
    EncoderOptions options;
    options.least_rows = kind.least;
    const Encoder e = fit(t, options);
    const nlohmann::json json = e.to_json();
    const std::string file = json.dump(), escaped = json.dump(-1, ' ', true);
    for (const auto& [text, _] : rare) {
      ASSERT_EQ(file.find(text), std::string::npos) << text;
      const std::string in_ascii = nlohmann::json(text).dump(-1, ' ', true);
      ASSERT_EQ(escaped.find(in_ascii.substr(1, in_ascii.size() - 2)), std::string::npos) << text;
    }
    if (json["columns"][0].contains("pattern")) {
      const nlohmann::json& pattern = json["columns"][0]["pattern"];
      ASSERT_EQ(pattern.at("kind"), "places");
      for (const auto& shape : pattern.at("shapes")) {
        const Spelled s = spelled_by(pattern, shape, rare);
        EXPECT_GE(s.all, 5.0 * static_cast<double>(s.known)) << shape.at("places");
      }
    }

    const std::vector<float> alphas(static_cast<size_t>(kSampled), 0.0f);
    std::vector<int32_t> codes(static_cast<size_t>(kSampled), 0);
    const int width = e.layout().spans.empty() ? 1 : e.layout().spans[0].width;
    for (int64_t i = 0; i < kSampled; ++i) codes[static_cast<size_t>(i)] = static_cast<int32_t>(i % width);
    const auto ids = row_ids(kSampled);
    const Table out = e.decode(alphas.data(), codes.data(), ids.data(), kSampled, 2);
    for (const std::string& made : out.columns[0].values)
      ASSERT_EQ(rare.count(made), 0u) << made << " of " << rare[made] << " rows comes back";
  }
}

// Three digits have room for a thousand texts: most are somebody's, and a draw meets them as often as any draw would.
TEST(IdentifierLaws, ChanceRepeatsMatchTheTakenShareOfTheCapacity) {
  for (const bool letters : {false, true}) {
    std::map<std::string, int64_t> count;
    for (uint32_t i = 0; i < 2000; ++i) {
      const auto k = static_cast<uint32_t>(uniform(i, 50) * (letters ? 676 : 1000));
      ++count[letters ? std::string{static_cast<char>('A' + k / 26), static_cast<char>('A' + k % 26)}
                      : std::to_string(1000 + k).substr(1)];
    }
    std::vector<std::string> training;
    std::vector<int64_t> rows;
    for (const auto& [text, n] : count) training.push_back(text), rows.push_back(n);
    const Identifier id = learn(training, rows);
    constexpr int kSampled = 100'000;
    int real = 0;
    const IdentifierKey key = identifier_key(0, 0, kColumn);
    for (int row = 0; row < kSampled; ++row) real += count.count(id.text(static_cast<uint64_t>(row), key)) > 0;
    const double room = static_cast<double>(id.capacity());
    EXPECT_GE(room, letters ? 676 : 990);
    EXPECT_NEAR(static_cast<double>(real) / kSampled, static_cast<double>(training.size()) / room, 0.01);
  }
}

// Of a pattern with room for a few times its texts, the buckets tell less than a fifth of any text: five texts share
// one.
TEST(IdentifierLaws, BucketsRevealNoText) {
  for (const uint64_t size : {uint64_t{1000}, uint64_t{4000}, uint64_t{100'000}, uint64_t{10'000'000}})
    for (const uint64_t texts : {size / 5, size / 8, size / 40}) {
      FreshIndices indices(size);
      std::vector<uint64_t> taken;
      for (uint64_t i = 0; i < std::min<uint64_t>(texts, 100'000); ++i) taken.push_back(Permutation(size, 5)(i));
      indices.leave_out(taken);
      EXPECT_LE(indices.to_json().at("buckets").get<uint64_t>(), size / 5);
      const std::set<uint64_t> known(taken.begin(), taken.end());
      for (uint64_t i = 0; i < std::min<uint64_t>(indices.capacity(), 2000); ++i)
        EXPECT_EQ(known.count(indices.at(i, 1)), 0u);
    }
}

// A column that was a category repeats itself: its shapes keep their shares and their characters.
TEST(IdentifierLaws, ShapesOfACategoryKeepTheirShares) {
  std::map<std::string, int64_t> count;
  std::map<size_t, double> share;  // by the length of the shape, which tells the four apart
  for (uint32_t i = 0; i < 4000; ++i) {
    const auto number = static_cast<int>(uniform(i, 60) * 9000) + 1000;
    const std::string text = i % 4 == 0   ? std::to_string(100000 + 37 * number)
                             : i % 4 == 1 ? "PC " + std::to_string(17000 + number % 800)
                             : i % 4 == 2 ? "A/5 2" + std::to_string(number)
                                          : std::string(1, "ABCDEF"[i / 4 % 6]) + std::to_string(number % 900 + 100);
    ++count[text];
    share[text.size()] += 1 / 4000.0;
  }
  std::vector<std::string> training;
  std::vector<int64_t> rows;
  for (const auto& [text, n] : count) training.push_back(text), rows.push_back(n);
  const Identifier id = learn(training, rows);
  std::map<size_t, double> made;
  for (const std::string& t : texts_of(id, identifier_key(0, 0, kColumn), 0, 10000)) {
    made[t.size()] += 1 / 10000.0;
    if (t.size() == 4) { ASSERT_NE(std::string("ABCDEF").find(t[0]), std::string::npos) << t; }
  }
  ASSERT_EQ(made.size(), share.size());
  for (const auto& [length, s] : share) EXPECT_NEAR(made[length], s, 0.03) << length;
}

// Patterns of files before: ASCII by place, buckets of any size.
TEST(IdentifierLaws, PatternsOfOlderFilesOpen) {
  const auto json = nlohmann::json::parse(
      R"({"kind":"places","prefix":"K-","suffix":"",)"
      R"("shapes":[{"weight":3,"places":["AB","-","0123456789","0123456789"],)"
      R"("indices":{"salt":11,"buckets":200,"free":"ffffffffffffffffffffffffffffffffffffffffffffffffff"}}]})");
  const Identifier id = Identifier::from_json(json);
  std::set<std::string> made;
  for (const std::string& t : texts_of(id, identifier_key(1, 0, kColumn), 0, 200)) made.insert(t);
  EXPECT_EQ(made.size(), 200u);
  EXPECT_EQ(id.to_json().dump(), json.dump());
}

}  // namespace
}  // namespace tessera
