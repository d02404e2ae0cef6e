// Philox4x32-10 written from its definition (golden/README, "philox"), independent of the kernels, and the numbers that
// the random ops take from it.
#pragma once
#include <array>
#include <cstdint>

namespace tessera::oracle {

inline std::array<uint32_t, 4> philox_words(std::array<uint32_t, 4> c, std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t{0xD2511F53} * c[0], b = uint64_t{0xCD9E8D57} * c[2];
    c = {static_cast<uint32_t>(b >> 32) ^ c[1] ^ key[0], static_cast<uint32_t>(b),
         static_cast<uint32_t>(a >> 32) ^ c[3] ^ key[1], static_cast<uint32_t>(a)};
    key[0] += 0x9E3779B9u;
    key[1] += 0xBB67AE85u;
  }
  return c;
}

// The key of a draw: the position in the batch and the step, or the identity of the row (id low, id high, try).
struct Drawer {
  uint64_t seed;
  uint32_t first, second, high, purpose;
  std::array<uint32_t, 4> words(uint32_t block) const {
    return philox_words({block, first, second, purpose << 16 | (high & 0xFFFFu)},
                        {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)});
  }
};
inline Drawer by_place(uint64_t seed, int64_t row, int64_t step, int purpose) {
  return {seed, static_cast<uint32_t>(row), static_cast<uint32_t>(step),
          static_cast<uint32_t>(static_cast<uint64_t>(step) >> 32), static_cast<uint32_t>(purpose)};
}
// 23 bits and a half: in (0, 1) in float too.
inline double open_unit(uint32_t word) { return (static_cast<double>(word >> 9) + 0.5) / 8388608.0; }

}  // namespace tessera::oracle
