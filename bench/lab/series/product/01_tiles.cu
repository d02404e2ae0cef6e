// 01 Squares of 16 x 16 in shared memory.     --blocks 32 --threads 256 --error 1e-6
// Expected: eight times less from the second-level cache than 00; then shared memory binds.
// Arithmetic: 2 x 16 tiles of 16 x 16. A block reads 2 x 16 x 256 x 4 = 32 KB: 1,310 cycles. An FMA reads two
//   floats: a warp (two rows of 16) takes one access for A and one for B, 256 of k x 8 warps x 2 = 4,096 cycles at
//   one access a cycle. 16 stages with two barriers and a trip to the second-level cache, about 700 cycles each
//   where nothing is copied ahead: 11,200. Latency binds, not what was expected: 03 and 04 are about that.
// Predicted: 1.5 launch + 6.4 = 7.9 us on an H100. Measured: never.
#include "kernels/gpu/emitted/launch.cuh"

namespace tessera::gpu::launch_10 {

struct Parameters : LaunchParameters {
  uint32_t product, x, w, bias, y;
  int rows, width;
};

constexpr int kSide = 16;

extern "C" __global__ void launch_10(const __grid_constant__ Parameters p) {
  __shared__ float a[kSide][kSide], b[kSide][kSide];
  const float* x = p.at<const float>(p.x);
  const float* w = p.at<const float>(p.w);
  const int across = p.width / kSide, i = threadIdx.x / kSide, j = threadIdx.x % kSide;
  const int row = blockIdx.x / across * kSide + i, column = blockIdx.x % across * kSide + j;
  float sum = 0;
  for (int k = 0; k < p.width; k += kSide) {
    a[i][j] = row < p.rows ? x[row * p.width + k + j] : 0;
    b[i][j] = w[(k + i) * p.width + column];
    __syncthreads();
    for (int t = 0; t < kSide; ++t) sum += a[i][t] * b[t][j];
    __syncthreads();
  }
  if (row >= p.rows) return;
  const float z = sum + p.at<const float>(p.bias)[column];
  p.at<float>(p.product)[row * p.width + column] = z;
  p.at<float>(p.y)[row * p.width + column] = z > 0 ? z : 0.2f * z;
}

}  // namespace tessera::gpu::launch_10
