// A secret order of [0, size): a bijection that needs no memory. Feistel network on the next even number of bits,
// iterated until the result is in range (cycle walking).
#pragma once
#include <bit>
#include <cstdint>

#include "base/mixed_bits.h"

namespace tessera {

class Permutation {
 public:
  Permutation(uint64_t size, uint64_t key) : size_(size), key_(key) {  // size in [1, 2^62]
    half_ = static_cast<int>((std::bit_width(size - 1) + 1) / 2);
    if (half_ == 0) half_ = 1;
  }
  uint64_t operator()(uint64_t x) const {  // x < size; fewer than four rounds of the walk on average
    do {
      uint64_t left = x >> half_, right = x & mask();
      for (uint64_t r = 0; r < kRounds; ++r) {
        const uint64_t next = left ^ round(right, r);
        left = right;
        right = next;
      }
      x = (left << half_) | right;
    } while (x >= size_);
    return x;
  }
  uint64_t inverse(uint64_t x) const {
    do {
      uint64_t left = x >> half_, right = x & mask();
      for (uint64_t r = kRounds; r-- > 0;) {
        const uint64_t before = right ^ round(left, r);
        right = left;
        left = before;
      }
      x = (left << half_) | right;
    } while (x >= size_);
    return x;
  }

 private:
  static constexpr uint64_t kRounds = 6;
  uint64_t mask() const { return (uint64_t{1} << half_) - 1; }
  uint64_t round(uint64_t x, uint64_t r) const {
    return mixed_bits((x ^ key_) + (r + 1) * 0x9e3779b97f4a7c15ull) & mask();
  }

  uint64_t size_, key_;
  int half_;
};

}  // namespace tessera
