// 07 As 06 on tensor cores: factors as sums of two of tf32.     --blocks 64 --threads 128 --error 1e-6
// Expected: nothing at this size; the instructions of a warp fall, the trip for the data stays.
// Arithmetic: a block has 16 x 8 elements, the fragment of mma.m16n8k8; a warp 64 of its depth. tf32 has 10 bits of
//   mantissa, so a factor is the sum of two, and of the four products the three larger ones are added (3xtf32): 8
//   fragments x 3 = 24 mma a warp. A fragment is read as it lies: 4 + 2 reads of 4 bytes, 6 x 8 = 48, and split: 6
//   numbers x 3 operations x 8 = 144. 06 has 64 x 4 FMAs and 80 reads. So 24 x ~18 cycles of mma in one chain = 430,
//   more than 06's 256: the smaller products go to a second sum, which runs beside the first: 290.
//   Pitches of 68 and 24 floats keep the eight lines and four k of a read in different banks.
// Predicted: 1.5 launch + .5 data + .25 = 2.25 us: no gain over 06. With 64 x 64 elements a block it is otherwise:
//   the FMA units then need 4,096 cycles for a depth of 128. Measured: never.
#include "kernels/gpu/emitted/launch.cuh"

namespace tessera::gpu::launch_10 {

struct Parameters : LaunchParameters {
  uint32_t product, x, w, bias, y;
  int rows, width;
};

constexpr int kRows = 16, kColumns = 8, kWarps = 4, kDepth = 64, kPitchA = kDepth + 4, kPitchB = 24;

// x as high + low, each of tf32: the tensor core ignores the lower 13 bits of `low`.
__device__ inline void split(float x, uint32_t& high, uint32_t& low) {
  high = (__float_as_uint(x) + 0x1000u) & ~0x1FFFu;
  low = __float_as_uint(x - __uint_as_float(high));
}

extern "C" __global__ void launch_10(const __grid_constant__ Parameters p) {
  __shared__ __align__(16) float a[kWarps][kRows][kPitchA], b[kWarps][kDepth][kPitchB];
  __shared__ float part[kWarps][kRows][kColumns];
  const float* x = p.at<const float>(p.x);
  const float* w = p.at<const float>(p.w);
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, g = lane / 4, t = lane % 4, across = p.width / kColumns;
  const int first_row = blockIdx.x / across * kRows, first_column = blockIdx.x % across * kColumns;
  float sum[4] = {}, fine[4] = {};
  for (int k = warp * kDepth; k < p.width; k += kWarps * kDepth) {  // once, at a width of 256
    for (int e = lane; e < kRows * kDepth / 4; e += 32) {
      const int r = e / (kDepth / 4), c = e % (kDepth / 4) * 4, from = first_row + r < p.rows ? first_row + r : 0;
      cp_async_16(&a[warp][r][c], x + from * p.width + k + c, first_row + r < p.rows);
    }
    for (int e = lane; e < kDepth * kColumns / 4; e += 32) {
      const int r = e / (kColumns / 4), c = e % (kColumns / 4) * 4;
      cp_async_16(&b[warp][r][c], w + (k + r) * p.width + first_column + c);
    }
    cp_async_commit();
    cp_async_wait<0>();
    __syncwarp();
    for (int d = 0; d < kDepth; d += 8) {
      uint32_t high_a[4], low_a[4], high_b[2], low_b[2];
#pragma unroll
      for (int q = 0; q < 4; ++q) split(a[warp][g + q % 2 * 8][d + t + q / 2 * 4], high_a[q], low_a[q]);
#pragma unroll
      for (int q = 0; q < 2; ++q) split(b[warp][d + t + q * 4][g], high_b[q], low_b[q]);
      mma_tf32(fine, low_a, high_b);
      mma_tf32(fine, high_a, low_b);
      mma_tf32(sum, high_a, high_b);
    }
    __syncwarp();  // before the next copies overwrite what others still read
  }
  for (int q = 0; q < 4; ++q) part[warp][g + q / 2 * 8][2 * t + q % 2] = sum[q] + fine[q];
  __syncthreads();
  const int r = threadIdx.x / kColumns, column = first_column + threadIdx.x % kColumns, row = first_row + r;
  if (row >= p.rows) return;
  float z = 0;
  for (int k = 0; k < kWarps; ++k) z += part[k][r][threadIdx.x % kColumns];
  z += p.at<const float>(p.bias)[column];
  p.at<float>(p.product)[row * p.width + column] = z;
  p.at<float>(p.y)[row * p.width + column] = z > 0 ? z : 0.2f * z;
}

}  // namespace tessera::gpu::launch_10
