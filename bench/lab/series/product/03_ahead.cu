// 03 A stage is copied while another is multiplied (cp.async, two buffers).     --blocks 16 --threads 128 --error 1e-6
// Expected: the trip to the second-level cache disappears behind the FMAs.
// Arithmetic: as 02, 5,120 cycles of shared memory; a stage takes the longer of 640 (its reads) and 700 (the trip
//   of the next): 8 x 700 + 600 for the first = 6,200 cycles at worst, 8 x 640 + 600 = 5,700 at best. One barrier
//   less a stage.
// Predicted: 1.5 launch + 3.2 to 3.5 = 4.9 us on an H100. Measured: never.
#include "kernels/gpu/emitted/launch.cuh"

namespace tessera::gpu::launch_10 {

struct Parameters : LaunchParameters {
  uint32_t product, x, w, bias, y;
  int rows, width;
};

constexpr int kRows = 16, kColumns = 32, kDepth = 32, kEach = 4, kAcross = kColumns / kEach, kBlockThreads = 128;
constexpr int kFours = kDepth / 4;  // copies of 16 bytes in a row of either tile

extern "C" __global__ void launch_10(const __grid_constant__ Parameters p) {
  __shared__ __align__(16) float a[2][kRows][kDepth], b[2][kDepth][kColumns];
  const float* x = p.at<const float>(p.x);
  const float* w = p.at<const float>(p.w);
  const int thread = threadIdx.x, across = p.width / kColumns;
  const int first_row = blockIdx.x / across * kRows, first_column = blockIdx.x % across * kColumns;
  const int i = thread / kAcross, j = thread % kAcross * kEach, row = first_row + i;
  const auto copy = [&](int stage) {
    const int k = stage * kDepth, to = stage % 2;
    for (int e = thread; e < kRows * kFours; e += kBlockThreads) {
      const int r = e / kFours, c = e % kFours * 4, from = first_row + r < p.rows ? first_row + r : 0;
      cp_async_16(&a[to][r][c], x + from * p.width + k + c, first_row + r < p.rows);
    }
    for (int e = thread; e < kDepth * kFours; e += kBlockThreads) {
      const int r = e / kFours, c = e % kFours * 4;
      cp_async_16(&b[to][r][c], w + (k + r) * p.width + first_column + c);
    }
    cp_async_commit();
  };
  float sum[kEach] = {};
  const int stages = p.width / kDepth;
  copy(0);
  for (int stage = 0; stage < stages; ++stage) {
    cp_async_wait<0>();
    __syncthreads();  // this stage is there for all, and all have left the one before
    if (stage + 1 < stages) copy(stage + 1);
    const int from = stage % 2;
    for (int t = 0; t < kDepth; ++t)
      for (int c = 0; c < kEach; ++c) sum[c] += a[from][i][t] * b[from][t][j + c];
  }
  if (row >= p.rows) return;
  for (int c = 0; c < kEach; ++c) {
    const int column = first_column + j + c;
    const float z = sum[c] + p.at<const float>(p.bias)[column];
    p.at<float>(p.product)[row * p.width + column] = z;
    p.at<float>(p.y)[row * p.width + column] = z > 0 ? z : 0.2f * z;
  }
}

}  // namespace tessera::gpu::launch_10
