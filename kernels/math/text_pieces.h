// The pieces of a text: five bytes at every place of it, as numbers. A shorter text is one piece.
#pragma once
#include <cstdint>

#include "kernels/math/host_device.h"

namespace tessera {

constexpr int64_t kPieceBytes = 5;

TESSERA_HD constexpr int64_t pieces_of(int64_t bytes) { return bytes < kPieceBytes ? 1 : bytes - kPieceBytes + 1; }
// `bytes`: eight of them from the piece's first on, lowest first; those beyond the text are 0.
TESSERA_HD constexpr uint32_t hash_of_piece(uint64_t bytes) {
  constexpr uint64_t kFactor = 0x9e3779b97f4a7c15, kMask = (uint64_t{1} << (8 * kPieceBytes)) - 1;
  return static_cast<uint32_t>(((bytes & kMask) * kFactor) >> 32);
}

}  // namespace tessera
