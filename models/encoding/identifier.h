// Identifiers are not learned but made anew: the pattern of the column (a number after a prefix, a sequence that goes on, or characters by place, such
// as UUIDs, hashes, codes, mail addresses), filled by a secret permutation of the row's number, so that no two rows share one while the pattern has room.
//
// No training value is stored. Where the pattern has so little room that one could be met by chance, the model keeps one bit for each of about 1.44·n
// buckets of values, set if any of the n training values lies in it, and draws from the others: a set bit is shared by as many other values, so that
// the bits tell little about any single one, and a training value is never made.
#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

namespace tessera {

// The indices [0, size) without those in a bucket of a training value.
class FreshIndices {
 public:
  FreshIndices() = default;
  FreshIndices(uint64_t size, uint64_t salt) : size_(size), salt_(salt) {}  // nothing left out; size in [1, 2^62]
  void leave_out(const std::vector<uint64_t>& taken);
  // Index of row i: different for different i below room(), in an order that `key` decides.
  uint64_t at(uint64_t i, uint64_t key) const;
  uint64_t room() const;
  uint64_t size() const { return size_; }

  nlohmann::json to_json() const;
  static FreshIndices from_json(const nlohmann::json& json, uint64_t size);

 private:
  uint64_t size_ = 1, salt_ = 0, buckets_ = 1;
  std::vector<uint32_t> free_{0};  // buckets without a training value; all of them if none is
};

class Identifier {
 public:
  // The pattern of distinct texts. `seed` keys the secret order.
  static Identifier learn(std::span<const std::string> values, uint64_t seed);
  // The identifier of a row; the same for the same (row, seed, column).
  std::string text(uint64_t row, uint64_t seed, uint32_t column) const;
  uint64_t room() const;  // of so many rows in succession no two share an identifier
  std::string describe() const;  // for a person: "\"INV-\", then a number of 6 digits"

  nlohmann::json to_json() const;
  static Identifier from_json(const nlohmann::json& json);  // throws Error(format)

  enum class Kind { sequence, number, places };
  Kind kind() const { return kind_; }

 private:
  // Texts of one length; place p takes one of the characters of alphabet[p]. The last places spell the index, which makes the text unique; where they are
  // all spoken for before the first place is reached, the places before `spelled_from` are free and drawn by the row.
  struct Places {
    uint64_t weight = 1;
    std::vector<std::string> alphabet;
    size_t spelled_from = 0;
    FreshIndices indices;
    uint64_t plan();  // sets spelled_from, returns the number of indices
    uint64_t index_of(const std::string& text) const;
  };

  bool learn_number(std::span<const std::string> values, uint64_t seed);
  void learn_places(std::span<const std::string> values, uint64_t seed);

  Kind kind_ = Kind::places;
  std::string prefix_, suffix_;
  uint64_t low_ = 0, high_ = 0;  // sequence, number
  int digits_ = 0;               // sequence, number: zero-padded to so many digits; 0: not padded
  FreshIndices numbers_;
  std::vector<Places> places_;
};

}  // namespace tessera
