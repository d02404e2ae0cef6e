// min_hashes: the minima of kTextHashes random hashes of each text's pieces (kernels/array_kernels.h).
//   A warp has a text, a lane four hashes: their minima stay in registers while all pieces pass, 32 at a time, one
//       loaded by each lane and given to the others by a shuffle
//   a piece: five bytes from L1, and for each lane a shuffle and four times a multiply-add and a minimum · 512 bytes
//       written for a text · integers: the processor's bits
#include "kernels/gpu/dialect/view.cuh"
#include "kernels/math/text_pieces.h"

namespace tessera::gpu {
namespace {

constexpr int kTextWarps = 4, kLaneHashes = kTextHashes / 32;

__device__ inline uint32_t piece_at(const uint8_t* text, int64_t bytes, int64_t place) {
  uint64_t piece = 0;
#pragma unroll
  for (int k = 0; k < kPieceBytes; ++k)
    if (place + k < bytes) piece |= static_cast<uint64_t>(text[place + k]) << (8 * k);
  return hash_of_piece(piece);
}

__global__ void __launch_bounds__(32 * kTextWarps) min_hashes_kernel(TextHashes t) {
  const int64_t text = static_cast<int64_t>(blockIdx.x) * kTextWarps + threadIdx.y;
  if (text >= t.texts) return;
  const int lane = lane_id();
  const int64_t bytes = t.begin[text + 1] - t.begin[text], pieces = pieces_of(bytes);
  const uint8_t* from = t.bytes + t.begin[text];
  uint32_t factor[kLaneHashes], offset[kLaneHashes], lowest[kLaneHashes];
#pragma unroll
  for (int k = 0; k < kLaneHashes; ++k)
    factor[k] = t.factor[k * 32 + lane], offset[k] = t.offset[k * 32 + lane], lowest[k] = ~0u;
  for (int64_t first = 0; first < pieces; first += 32) {
    // Lanes beyond the last piece repeat it: a minimum does not change.
    const uint32_t mine = piece_at(from, bytes, min(first + lane, pieces - 1));
    const int here = static_cast<int>(min(pieces - first, int64_t{32}));
    for (int i = 0; i < here; ++i) {
      const uint32_t piece = __shfl_sync(kWholeWarp, mine, i);
#pragma unroll
      for (int k = 0; k < kLaneHashes; ++k) lowest[k] = min(lowest[k], factor[k] * piece + offset[k]);
    }
  }
#pragma unroll
  for (int k = 0; k < kLaneHashes; ++k) t.lowest[text * kTextHashes + k * 32 + lane] = lowest[k];
}

}  // namespace

void min_hashes(const TextHashes& texts, cudaStream_t stream) {
  launch({dim3(grid_of(texts.texts, kTextWarps)), dim3(32, kTextWarps), 0, stream}, "min_hashes", min_hashes_kernel,
         texts);
}

}  // namespace tessera::gpu
