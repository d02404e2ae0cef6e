// Identifiers are not learnt but regenerated: the pattern of the column (a number after a prefix, a sequence that goes
// on, or characters by place, such as UUIDs, hashes, codes, mail addresses, names), filled by a secret permutation of
// the row's number, so that no two rows share one while the pattern has room.
//
// A pattern holds only what at least `least` different texts share, and what it says of texts beyond the classes of
// their characters only while it has room for five times as many. So no training text stands in it, and none is made
// but by chance: see fresh_indices.h.
#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/data/identifiers/fresh_indices.h"
#include "models/data/protection/rare_categories.h"

namespace tessera {

// Which texts of a pattern a sample takes: drawn from the seed, the condition and the column, apart from everything
// else that is drawn.
struct IdentifierKey {
  uint64_t order = 0;  // of places and numbers
  uint64_t block = 0;  // of a sequence: each has numbers of its own
};
uint64_t fingerprint_of(std::string_view text);  // of a column's name, of a condition
// `condition` 0: none.
IdentifierKey identifier_key(uint64_t seed, uint64_t condition, uint64_t column);

struct IdentifierOptions {
  int64_t least = kRareRows;  // different texts that must share what is kept
  uint64_t seed = 0;          // keys the secret order
  uint64_t column = 0;        // the fingerprint of the column's name
};

class Identifier {
 public:
  // The pattern of different texts; rows[i] hold text i. Empty rows: one each. Where no text repeats, none of the
  // regenerated ones shall either.
  static Identifier learn(std::span<const std::string_view> texts, std::span<const int64_t> rows,
                          const IdentifierOptions& options);
  std::string text(uint64_t row, const IdentifierKey& key) const;
  // of so many rows in succession no two share an identifier, if no two of the training table did
  uint64_t room() const;
  std::string describe() const;  // for a person: "\"INV-\", then a number of 6 digits"

  nlohmann::json to_json() const;
  static Identifier from_json(const nlohmann::json& json);  // throws Error(format)

  enum class Kind { sequence, number, places };
  Kind kind() const { return kind_; }

  // Numbers of a sequence lie in blocks: that of seed s < kSeedBlocks without a condition is number s, those of others
  // are drawn.
  static constexpr uint64_t kBlock = 1'000'000'000, kSeedBlocks = 1000, kBlocks = 1'000'000;
  // The end of the grid cell that `highest` lies in: two significant digits, at least tens. What is held of the largest
  // number of a column.
  static uint64_t rounded_up(uint64_t highest);

 private:
  friend class PatternLearner;
  // Texts of one length; place p takes one of the characters of alphabet[p]. The last places spell the index, which
  // makes the text unique; where they are all spoken for before the first place is reached, the places before
  // `spelled_from` are free and drawn by the row.
  struct Places {
    uint64_t weight = 1;
    std::vector<std::u32string> alphabet;
    size_t spelled_from = 0;
    FreshIndices indices;
    // sets spelled_from, returns the number of indices
    uint64_t plan();
    bool index_of(std::u32string_view text, uint64_t& index) const;  // false: it is none of these texts
  };

  Kind kind_ = Kind::places;
  std::string prefix_, suffix_;
  uint64_t low_ = 0, high_ = 0;  // sequence, number
  int digits_ = 0;               // sequence, number: zero-padded to so many digits; 0: not padded
  FreshIndices numbers_;
  std::vector<Places> places_;
};

}  // namespace tessera
