// Philox4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel Random Numbers: As Easy as 1, 2, 3; SC 2011): a counter and a key
// in, 128 random bits out.
// Every random number of Tessera is random_words(seed, purpose, block, index, use): there is no generator state, and no
// draw depends on the number of threads, devices or batches. Used by every backend.
#pragma once
#include <cstdint>

#include "kernels/math/host_device.h"

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

// Every purpose of random numbers: its name, its first number and how many it owns. The numbers fill the upper half of
// the last counter word. The random ops of a plan use consecutive numbers (Recorder::start_purposes); a purpose of a
// single number is used on the host or by one kernel.
#define TESSERA_PURPOSES(each) \
  each(step, 0x0000, 0x1000)            /* a training step */ \
      each(second_plan, 0x1000, 0x100)  /* CTGAN's population statistics; TimeGAN's embedding phase */ \
      each(third_plan, 0x1100, 0x100)   /* TimeGAN's supervised phase */ \
      each(fourth_plan, 0x1200, 0x100)  /* TimeGAN's joint phase */ \
      each(posterior, 0x1400, 0x400)    /* TVAE: latent points for fitting the prior */ \
      each(ratio, 0x1800, 0x400)        /* training the density ratio of calibration */ \
      each(held_out, 0x1C00, 0x400)     /* measures on held-out rows and sequences */ \
      each(sample, 0x2000, 0x400)       /* sampled rows; the attributes of sampled sequences */ \
      each(sample_steps, 0x2400, 0x400) /* the steps of sampled sequences */ \
      each(pilot, 0x2800, 0x800)        /* TVAE and Made under a condition: the pilot's draws; Made's marginals */ \
      each(propose, 0x3000, 1)          /* CTGAN under a condition: proposed values; use 1: given rows */ \
      each(accept_latent, 0x3800, 1)    /* TVAE and Made under a condition: whether a candidate is kept */ \
      each(mixture, 0x4000, 1)          /* k-means++ starts; use 0: columns, 1: latents */ \
      each(encode, 0x5000, 1)           /* the mode of a value */ \
      each(decode, 0x6000, 1)           /* rare categories, missing identifiers */ \
      each(example, 0x7000, 1)          /* the example table */ \
      each(evaluate, 0x7100, 1)         /* metrics; the uses are listed in models/quality/common/sampling.h */ \
      each(init, 0x7200, 1)             /* initial weights */ \
      each(map, 0x7300, 1)              /* ranks inside a repeated value, in calibration */ \
      each(accept, 0x7400, 1)           /* whether a candidate is kept */ \
      each(rare, 0x7500, 1)             /* replacements of rare categories before training */ \
      each(identifier, 0x7600, 1) /* regenerated texts; the uses are listed in tables/identifiers/identifier.cpp */ \
      each(sorted, 0x7700, 1)     /* the values of a long column that are sorted */

enum class Purpose : uint32_t {
#define TESSERA_PURPOSE(name, first, count) name = first,
  TESSERA_PURPOSES(TESSERA_PURPOSE)
#undef TESSERA_PURPOSE
};

struct PurposeBlock {
  uint32_t first, count;
};
constexpr PurposeBlock kPurposeBlocks[] = {
#define TESSERA_PURPOSE(name, first, count) {first, count},
    TESSERA_PURPOSES(TESSERA_PURPOSE)
#undef TESSERA_PURPOSE
};

// Whether the blocks ascend without overlap and fit into 16 bits.
template <int n>
static constexpr bool disjoint(const PurposeBlock (&blocks)[n]) {
  uint32_t end = 0;
  for (const PurposeBlock& b : blocks) {
    if (b.first < end || b.count == 0) return false;
    end = b.first + b.count;
  }
  return end <= 0x10000;
}
static_assert(disjoint(kPurposeBlocks),
              "two purposes share a random number: give the new one a block of its own, in ascending order");

// One past the last number that a purpose owns.
static constexpr uint32_t end_of(Purpose purpose) {
  for (const PurposeBlock& b : kPurposeBlocks)
    if (b.first == static_cast<uint32_t>(purpose)) return b.first + b.count;
  return 0;
}

// A counter without its block: the item drawn for (a row, a cell, a step) and the purpose.
struct Counter {
  uint32_t c1, c2, c3;
};
TESSERA_HD static inline Counter counter(uint32_t purpose, uint64_t index, uint32_t use = 0) {
  return {static_cast<uint32_t>(index), static_cast<uint32_t>(index >> 32), purpose << 16 | (use & 0xFFFF)};
}
TESSERA_HD static inline Philox random_words(uint64_t seed, const Counter& c, uint32_t block) {
  return philox(block, c.c1, c.c2, c.c3, static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32));
}
// `use` (16 bits: the try of a row, or one of several draws of a purpose) separates draws with the same block and
// index.
TESSERA_HD static inline Philox random_words(uint64_t seed, Purpose purpose, uint32_t block, uint64_t index,
                                             uint32_t use = 0) {
  return random_words(seed, counter(static_cast<uint32_t>(purpose), index, use), block);
}

// (0, 1), never 0 and never 1: 23 bits and a half (24 bits and a half would round to 1 in float, and log(−log u) to
// −∞).
TESSERA_HD static inline float open_uniform(uint32_t word) {
  return (static_cast<float>(word >> 9) + 0.5f) * (1.0f / 8388608.0f);
}
// (0, 1) with 52 bits, from two words.
TESSERA_HD static inline double open_uniform(uint32_t high, uint32_t low) {
  return (static_cast<double>(((static_cast<uint64_t>(high) << 32) | low) >> 12) + 0.5) * (1.0 / 4503599627370496.0);
}

}  // namespace tessera
