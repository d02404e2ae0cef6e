// Identifiers are not learned but regenerated: the pattern of the column (a number after a prefix, a continuing
// sequence, or characters by place, such as UUIDs, hashes, codes, e-mail addresses, names) is filled by a secret
// permutation of the row's number, so that no two rows share one up to the capacity of the pattern.
//
// A pattern holds only properties that at least `least` distinct texts share, and more than classes of characters only
// if it has the capacity for more texts: five times as many, or twice if texts repeat. So it contains no training text,
// and generates none except by chance: see fresh_indices.h.
#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tables/identifiers/counter.h"
#include "tables/identifiers/fresh_indices.h"
#include "tables/protection/rare_categories.h"
#include "tables/texts/text_kind.h"

namespace tessera {

// Selects the texts of a pattern for a sample: keyed by the seed, the condition and the column, independent of all
// other draws.
struct IdentifierKey {
  uint64_t order = 0;  // of places and numbers
  uint64_t block = 0;  // of a counter
};
uint64_t fingerprint_of(std::string_view text);  // of a column's name, of a condition
// `condition` 0: none.
IdentifierKey identifier_key(uint64_t seed, uint64_t condition, uint64_t column);

struct IdentifierOptions {
  int64_t least = kRareRows;                 // distinct texts that must share a property for it to be stored
  uint64_t highest = NumberCounter::kLimit;  // the largest number that the column's type has
  std::optional<TextKind> kind = {};         // the kind of the texts, if known
};

class Identifier {
 public:
  // The pattern of distinct texts; rows[i] hold text i. Empty rows: one each. If no text repeats, no regenerated text
  // may either.
  static Identifier learn(std::span<const std::string_view> texts, std::span<const int64_t> rows,
                          const IdentifierOptions& options);
  std::string text(uint64_t row, const IdentifierKey& key) const;
  // This many successive rows have distinct identifiers in the form of the table. Later ones are longer if those of the
  // training table are distinct(), otherwise they repeat.
  uint64_t capacity() const;
  bool distinct() const { return distinct_; }
  bool widened() const { return widened_; }  // by learn(): the form of the texts had too little capacity
  std::string describe() const;              // description: "\"INV-\", then a number of 6 digits"

  nlohmann::json to_json() const;
  static Identifier from_json(const nlohmann::json& json);  // throws Error(format)

  enum class Kind { sequence, number, places };
  Kind kind() const { return kind_; }

 private:
  friend class PatternLearner;
  // Texts of one length; place p takes one of the characters of alphabet[p]. The last places spell the index, which
  // makes the text unique; the places before `spelled_from`, if any, are free and drawn for each row.
  struct Places {
    uint64_t weight = 1;  // its share of the rows
    std::vector<std::u32string> alphabet;
    size_t spelled_from = 0;
    FreshIndices indices;
    // sets spelled_from, returns the number of indices
    uint64_t plan();
    bool index_of(std::u32string_view text, uint64_t& index) const;  // false: not one of these texts
  };

  uint64_t all_weights() const;
  static uint64_t rows_of(const Places& p, uint64_t weights);
  uint64_t beyond() const;

  Kind kind_ = Kind::places;
  TextKind texts_ = TextKind::plain;  // of places: the kind of their symbols
  std::string prefix_, suffix_;
  bool distinct_ = false, widened_ = false;
  NumberCounter counter_;        // sequence
  uint64_t low_ = 0, high_ = 0;  // number
  int digits_ = 0;               // sequence, number: digits of the zero padding; 0: not padded
  FreshIndices numbers_;
  std::vector<Places> places_;
};

}  // namespace tessera
