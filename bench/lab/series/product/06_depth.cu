// 06 As 05, and four warps share the depth of a tile.     --blocks 64 --threads 128 --error 1e-6
// Expected: in 05 an element is one chain of 256 FMAs, each of which waits for the one before: 4 cycles. Four chains of
//   64 by four warps run side by side, on the four schedulers of a multiprocessor.
// Arithmetic: a warp has 64 of k, which fit in shared memory at once: (8 x 68 + 64 x 16) x 4 bytes x 4 warps = 25 KB,
//   so there are no stages: 12 copies a lane, one wait. 64 x 4 = 256 cycles of FMAs; then three partial sums a warp
//   are added: 8 x 16 x 3 floats by 128 threads, about 60 cycles, and a barrier.
// Predicted: 1.5 launch + .5 data (12 copies issued, one trip) + .2 = 2.2 us. Measured: never.
#include "kernels/gpu/emitted/launch.cuh"

namespace tessera::gpu::launch_10 {

struct Parameters : LaunchParameters {
  uint32_t product, x, w, bias, y;
  int rows, width;
};

constexpr int kRows = 8, kColumns = 16, kWarps = 4, kDepth = 64, kPitch = kDepth + 4, kAcross = kColumns / 4;

extern "C" __global__ void launch_10(const __grid_constant__ Parameters p) {
  __shared__ __align__(16) float a[kWarps][kRows][kPitch], b[kWarps][kDepth][kColumns];
  __shared__ float part[kWarps][kRows][kColumns];
  const float* x = p.at<const float>(p.x);
  const float* w = p.at<const float>(p.w);
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, across = p.width / kColumns;
  const int first_row = blockIdx.x / across * kRows, first_column = blockIdx.x % across * kColumns;
  const int i = lane / kAcross, j = lane % kAcross * 4;
  float sum[4] = {};
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
    for (int t = 0; t < kDepth; t += 4) {
      const float4 own = *reinterpret_cast<const float4*>(&a[warp][i][t]);
      const float of_k[4] = {own.x, own.y, own.z, own.w};
#pragma unroll
      for (int q = 0; q < 4; ++q) {
        const float4 v = *reinterpret_cast<const float4*>(&b[warp][t + q][j]);
        sum[0] += of_k[q] * v.x, sum[1] += of_k[q] * v.y, sum[2] += of_k[q] * v.z, sum[3] += of_k[q] * v.w;
      }
    }
    __syncwarp();  // before the next copies overwrite what others still read
  }
  for (int c = 0; c < 4; ++c) part[warp][i][j + c] = sum[c];
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
