// How the depth of a product is split. Slices are added in order, so the split determines a product's bits; it depends
// only on shapes.
#pragma once
#include <cstdint>

namespace tessera {

struct Slices {
  int count, length;
};

// `cut` > 0: slices of that length for any depth. Otherwise about 256, or about 128 if a product is so deep that its
// slices are its only parallelism.
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

// The blocks of a GPU that compute a product [rows, cols] with `parts` slices in separate blocks, by tiles of `down` ×
// 32, and as many as fill a large device. Any tile gives the same bits.
constexpr int64_t kFullGrid = 128;
inline int64_t product_blocks(int64_t parts, int64_t rows, int64_t cols, int64_t down) {
  return parts * ((rows + down - 1) / down) * ((cols + 31) / 32);
}

// Whether a GPU gives each slice of a product [rows, cols] its own blocks: if that takes less time, counted in slices
// that a multiprocessor computes in series; the launch that adds them takes about as long as one slice. Both ways give
// the same bits.
inline bool worth_cutting(int64_t slices, int64_t rows, int64_t cols) {
  const auto in_series = [&](int64_t parts) {
    return (product_blocks(parts, rows, cols, 64) + kFullGrid - 1) / kFullGrid;
  };
  return slices > 1 && in_series(1) == 1 && in_series(slices) + 1 < slices;
}

// The columns of a tile of 32 rows of a block_matmul. The gradient of a weight of few rows has few tiles, and each
// computes the blocks that it meets one after another: narrower ones meet fewer. Its bits do not depend on them.
inline int block_tile_cols(bool gradient_of_weight, int64_t rows, int64_t cols) {
  int across = 32;
  while (gradient_of_weight && rows <= 32 && across > 4 && (cols + across - 1) / across < kFullGrid) across /= 2;
  return across;
}

}  // namespace tessera
