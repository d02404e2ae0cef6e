// Draws of rows by seed, for metrics that look at a part of a table.
#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/philox.h"

namespace tessera::quality {

// Who draws, so that no two draws share their numbers.
enum class Draw : uint32_t { sample_rows = 0x20, folds = 0x21, halves = 0x22, training_rows = 0x23, kernel_sequences = 0x24, judged_sequences = 0x25, judge_batch = 0x26, judge_start = 0x27 };

// 0 … n − 1 in an order drawn by (seed, who, which).
inline std::vector<int64_t> shuffled(int64_t n, uint64_t seed, Draw who, uint32_t which = 0) {
  std::vector<std::pair<uint64_t, int64_t>> keyed(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) {
    const Philox p = philox(static_cast<uint32_t>(i), which, static_cast<uint32_t>(static_cast<uint64_t>(i) >> 32),
                            static_cast<uint32_t>(Purpose::evaluate) << 16 | static_cast<uint32_t>(who), static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32));
    keyed[static_cast<size_t>(i)] = {uint64_t{p.word[0]} << 32 | p.word[1], i};
  }
  std::sort(keyed.begin(), keyed.end());
  std::vector<int64_t> order;
  order.reserve(keyed.size());
  for (const auto& [_, i] : keyed) order.push_back(i);
  return order;
}

// `count` of `rows`, drawn, in the order they had; all of them where there are no more.
inline std::vector<int64_t> drawn(std::vector<int64_t> rows, int64_t count, uint64_t seed, Draw who, uint32_t which = 0) {
  const auto n = static_cast<int64_t>(rows.size());
  if (count >= n) return rows;
  std::vector<int64_t> at = shuffled(n, seed, who, which);
  at.resize(static_cast<size_t>(count));
  std::sort(at.begin(), at.end());
  for (int64_t& i : at) i = rows[static_cast<size_t>(i)];
  return at;
}

}  // namespace tessera::quality
