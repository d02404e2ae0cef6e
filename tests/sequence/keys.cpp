// Keys of sampled sequences: none of the table stands in the model or comes out of it, and two samples share none.
#include "models/data/sequence/key_maker.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "sequence/sequences.h"

namespace tessera {
namespace {
using namespace steps;

const std::vector<std::string> kFirst{"Anna",   "Boris", "Carla", "Dmitri", "Elena",
                                      "Fatima", "Goran", "Hilde", "Ivan",   "Julia"},
    kLast{"Smith", "Jones", "Garcia", "Nguyen", "Müller", "Žižek", "Иванова", "Novak", "O'Neil", "Weber"};
std::string name_of(int i) {
  return kFirst[static_cast<size_t>(i % 10)] + " " + kFirst[static_cast<size_t>(i / 10 % 10)] + " " +
         kLast[static_cast<size_t>(i / 100 % 10)];
}

std::vector<std::string> keys_of(const KeyMaker& maker, uint64_t seed, int64_t first, int64_t count) {
  Column out = pick_rows(maker.schema(), {});
  for (int64_t i = first; i < first + count; ++i) maker.append(i, 1, seed, out);
  return cells(out);
}

// Every key is made of words that a hundred keys have.
Table named_visits(int people) {
  std::vector<std::string> who, doctor, note;
  std::vector<double> x;
  for (int p = 0; p < people; ++p)
    for (int t = 0; t < 3; ++t) {
      who.push_back(name_of(p)), doctor.push_back("Dr. " + name_of(p + 1)),
          note.push_back(name_of(p) + ", visit " + std::to_string(t) + " of " + name_of(999 - p));
      x.push_back(uniform(static_cast<uint32_t>(3 * p + t)));
    }
  return table({texts("who", ColumnType::identifier, who), texts("doctor", ColumnType::identifier, doctor),
                texts("note", ColumnType::identifier, note), numbers("x", ColumnType::decimal, x, 3)});
}

TEST(SequenceKeys, NoTextOfAPersonStandsInTheModelOrComesOut) {
  constexpr int kPeople = 600;
  const Table t = named_visits(kPeople);
  const std::set<std::string> known = [&] {
    std::set<std::string> all;
    for (size_t c = 0; c < 3; ++c)
      for (const std::string& v : t.columns[c].values) all.insert(v);
    return all;
  }();
  const Whole w = encode(Table(t), keyed("who", "", {"doctor"}));
  const std::string file = w.encoder.to_json().dump();
  for (const std::string& v : known) ASSERT_EQ(file.find(v), std::string::npos) << v;
  for (int64_t first = 0; first < 20 * kPeople; first += kPeople) {
    const Table made = decode(w, 0.5f, first);
    for (const char* name : {"who", "doctor", "note"})
      for (const std::string& v : made.find(name)->values) ASSERT_EQ(known.count(v), 0u) << v;
  }
  const KeyMaker maker(t.columns[0], 7);
  for (const std::string& key : keys_of(maker, 8, 0, 100'000))
    ASSERT_EQ(known.count(key.substr(1, key.size() - 2)), 0u) << key;
}

TEST(SequenceKeys, SamplesShareKeysByChanceOnly) {
  constexpr int64_t kKeys = 200;
  std::vector<std::string> hashes, counted;
  std::vector<double> serial, day;
  for (uint32_t i = 0; i < 300; ++i) {
    const Philox p = philox(i, 0, 0, 0, 3, 3);
    hashes.push_back("h" + std::to_string(1000000000ull + p.word[0] % 1000000000u) + "x");
    counted.push_back("P" + std::to_string(i + 1));
    serial.push_back(1 + 3 * i), day.push_back(1000 + i);
  }
  for (const Column& keys : {texts("k", ColumnType::category, hashes), texts("k", ColumnType::category, counted),
                             numbers("k", ColumnType::integer, serial)}) {
    for (const uint64_t fit_seed : {uint64_t{0}, uint64_t{5}}) {
      const KeyMaker maker(keys, fit_seed);
      std::set<std::string> all;
      for (const std::string& k : cells(keys)) all.insert(k);
      double made = static_cast<double>(all.size());
      for (uint64_t seed = 0; seed <= 64; ++seed) {
        const std::vector<std::string> sample = keys_of(maker, seed, 0, kKeys);
        ASSERT_EQ(keys_of(maker, seed, 120, 80), std::vector<std::string>(sample.begin() + 120, sample.end()));
        all.insert(sample.begin(), sample.end());
        made += static_cast<double>(kKeys);
      }
      const double chance = is_numeric(keys.type) || keys.values[0] == "P1" ? 0 : made * made / 2 / 9e8;
      EXPECT_LE(made - static_cast<double>(all.size()), chance + 5 * std::sqrt(chance)) << cells(keys)[0];
    }
  }
  const KeyMaker days(dates("k", day), 0);
  EXPECT_EQ(keys_of(days, 1, 0, 50), keys_of(days, 2, 0, 50)) << "there is one calendar";
}

}  // namespace
}  // namespace tessera
