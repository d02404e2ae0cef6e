// Philox4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel Random Numbers: As Easy as 1, 2, 3; SC 2011): a counter and a key in, 128 random bits out.
// Every random number of Tessera is philox(key = seed, counter = (column block, row, step or row high, purpose)): no state to lose,
// no draw that depends on the number of threads, devices or batches. Used by every backend.
#pragma once
#include <cstdint>

#include "kernels/host_device.h"

namespace tessera {

struct Philox {
  uint32_t word[4];
};

TESSERA_HD static inline Philox philox(uint32_t c0, uint32_t c1, uint32_t c2, uint32_t c3, uint32_t k0, uint32_t k1) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = 0xD2511F53ull * c0, p1 = 0xCD9E8D57ull * c2;
    const uint32_t n0 = static_cast<uint32_t>(p1 >> 32) ^ c1 ^ k0, n2 = static_cast<uint32_t>(p0 >> 32) ^ c3 ^ k1;
    c1 = static_cast<uint32_t>(p1);
    c3 = static_cast<uint32_t>(p0);
    c0 = n0;
    c2 = n2;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return {{c0, c1, c2, c3}};
}

// Purposes: the last counter word's upper half names who draws, so that no two uses share a number.
enum class Purpose : uint32_t {
  step = 0x0000,      // + the random op's number in its plan
  mixture = 0x4000,   // k-means++ starts (models/mixture)
  encode = 0x5000,    // which mode a value takes
  decode = 0x6000,    // rare categories, identifiers
  example = 0x7000,   // the example table
  evaluate = 0x7100,  // subsamples in metrics
  init = 0x7200,      // initial weights
  map = 0x7300,       // ranks inside a repeated value, in calibration
  accept = 0x7400,    // whether a candidate is kept
};

// (0, 1), never 0 and never 1: 23 bits and a half (24 bits and a half would round to 1 in float, and log(−log u) to −∞).
TESSERA_HD static inline float open_uniform(uint32_t word) { return (static_cast<float>(word >> 9) + 0.5f) * (1.0f / 8388608.0f); }
// (0, 1) with 52 bits, from two words.
TESSERA_HD static inline double open_uniform(uint32_t high, uint32_t low) {
  return (static_cast<double>(((static_cast<uint64_t>(high) << 32) | low) >> 12) + 0.5) * (1.0 / 4503599627370496.0);
}

}  // namespace tessera
