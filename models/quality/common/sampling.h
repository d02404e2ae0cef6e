// Draws of rows by seed, for metrics that use a part of a table.
#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/math/philox.h"

namespace tessera::quality {

// The user of a draw, so that no two draws share their numbers: the uses of Purpose::evaluate.
#define TESSERA_DRAWS(each) \
  each(baseline, 0x00) each(distance_rows, 0x01) each(tree_held_out, 0x10) each(tree_rows, 0x11) \
      each(tree_columns, 0x12) each(sample_rows, 0x20) each(folds, 0x21) each(halves, 0x22) each(training_rows, 0x23) \
          each(kernel_sequences, 0x24) each(judged_sequences, 0x25) each(judge_batch, 0x26) each(judge_start, 0x27) \
              each(projected_rows, 0x28) each(projection_start, 0x29)
enum class Draw : uint32_t {
#define TESSERA_DRAW(name, number) name = number,
  TESSERA_DRAWS(TESSERA_DRAW)
#undef TESSERA_DRAW
};
constexpr PurposeBlock kDraws[] = {
#define TESSERA_DRAW(name, number) {number, 1},
    TESSERA_DRAWS(TESSERA_DRAW)
#undef TESSERA_DRAW
};
static_assert(disjoint(kDraws), "two draws of the metrics share their numbers");

inline Philox random_words(uint64_t seed, Draw who, uint32_t block, uint64_t index) {
  return random_words(seed, Purpose::evaluate, block, index, static_cast<uint32_t>(who));
}

// 0 … n − 1 in an order drawn by (seed, who, which).
inline std::vector<int64_t> shuffled(int64_t n, uint64_t seed, Draw who, uint32_t which = 0) {
  std::vector<std::pair<uint64_t, int64_t>> keyed(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) {
    const auto item = static_cast<uint64_t>(i);
    const Philox p = random_words(seed, who, static_cast<uint32_t>(item), which | item >> 32 << 32);
    keyed[static_cast<size_t>(i)] = {uint64_t{p.word[0]} << 32 | p.word[1], i};
  }
  std::sort(keyed.begin(), keyed.end());
  std::vector<int64_t> order;
  order.reserve(keyed.size());
  for (const auto& [_, i] : keyed) order.push_back(i);
  return order;
}

// `count` of `rows`, drawn, in their order; all of them if there are no more.
inline std::vector<int64_t> drawn(std::vector<int64_t> rows, int64_t count, uint64_t seed, Draw who,
                                  uint32_t which = 0) {
  const auto n = static_cast<int64_t>(rows.size());
  if (count >= n) return rows;
  std::vector<int64_t> at = shuffled(n, seed, who, which);
  at.resize(static_cast<size_t>(count));
  std::sort(at.begin(), at.end());
  for (int64_t& i : at) i = rows[static_cast<size_t>(i)];
  return at;
}

}  // namespace tessera::quality
