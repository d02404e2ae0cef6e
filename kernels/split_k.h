// How the depth of a product is cut. A slice's sum is one chain over k and slices are added in order, so this decides a
// product's bits; it depends on shapes alone.
#pragma once
#include <cstdint>

namespace tessera {

struct Slices {
  int count, length;
};

// `cut` > 0: slices of that length, whatever the depth. Otherwise of about 256, of about 128 where a product is so deep
// that its slices are all the parallelism it has.
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

}  // namespace tessera
