// How the depth of a product is split. A slice's sum is one chain over k and slices are added in order, so the split
// determines a product's bits; it depends only on shapes.
#pragma once
#include <cstdint>

namespace tessera {

struct Slices {
  int count, length;
};

// `cut` > 0: slices of that length, whatever the depth. Otherwise about 256, or about 128 if a product is so deep that
// its slices are its only parallelism.
inline Slices slices_of(int64_t depth, int64_t cut) {
  constexpr int64_t kStage = 32;
  if (depth == 0) return {0, 0};
  if (cut <= 0) {
    const int64_t about = depth < 2048 ? 256 : 128,
                  wanted = depth < 2 * about ? (depth < about + about / 2 ? 1 : 2) : (depth + about / 2) / about,
                  each = (depth + wanted - 1) / wanted;
    cut = (each + kStage - 1) / kStage * kStage;
  }
  return {static_cast<int>((depth + cut - 1) / cut), static_cast<int>(cut)};
}

// Whether a GPU gives each slice of a product [rows, cols] blocks of its own: its tiles of 64 × 64 are fewer than the
// multiprocessors of a large device. Either way gives the same bits.
inline bool worth_cutting(int64_t slices, int64_t rows, int64_t cols) {
  constexpr int64_t kTile = 64, kFullGrid = 128;
  return slices > 1 && (rows + kTile - 1) / kTile * ((cols + kTile - 1) / kTile) < kFullGrid;
}

}  // namespace tessera
