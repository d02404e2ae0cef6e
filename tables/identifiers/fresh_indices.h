// The texts of a pattern by number, without those of the training table. If a training text could be drawn by chance,
// one bit is stored per bucket of numbers, set if a training text lies in it. New texts are drawn from the other
// buckets. A bucket holds at least five texts and about half of the buckets are set, so a set bit reveals little about
// any text. If a fifth of all texts are taken, nothing is stored and texts are drawn by chance. Buckets are the same
// for every seed, and their number is a power of two: several models of one table, or of almost the same rows, hold the
// same bits (or the same in halves) and together reveal no more than one of them.
#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <vector>

namespace tessera {

class FreshIndices {
 public:
  static constexpr uint64_t kMaxSize = uint64_t{1} << 62;
  // texts that a pattern needs per training text to exclude these
  static constexpr uint64_t kSpare = 5;

  FreshIndices() = default;
  explicit FreshIndices(uint64_t size) : size_(size) {}  // nothing excluded; size in [1, kMaxSize]
  // Whether a training text could be drawn by chance if there were `texts` of them.
  bool could_meet(uint64_t texts) const;
  void leave_out(const std::vector<uint64_t>& taken);
  // Index of row i: unique for i below capacity(), in an order selected by `key`.
  uint64_t at(uint64_t i, uint64_t key) const;
  uint64_t capacity() const;
  uint64_t size() const { return size_; }

  nlohmann::json to_json() const;
  static FreshIndices from_json(const nlohmann::json& json, uint64_t size);

 private:
  uint64_t size_ = 1, salt_ = 0x7465737365726121, buckets_ = 1;  // files may have another salt
  std::vector<uint32_t> free_{0};  // buckets without a training value; all of them if none is
};

}  // namespace tessera
