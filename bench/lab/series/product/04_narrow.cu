// 04 Tiles of 8 x 16: four times the blocks of 03.     --blocks 64 --threads 32 --error 1e-6
// Expected: 16 blocks leave 116 of 132 multiprocessors idle; with 64, each does a quarter of the work.
// Arithmetic: 4 x 16 tiles, a block is one warp: a thread has a row and four columns. Reads of shared memory: 256
//   of k x 5 = 1,280 cycles; 8 + 16 rows of 256 floats a block, 24 KB: 980 cycles of the second-level cache. Stages
//   of 32 of k bring (8 x 32 + 32 x 16) x 4 = 3 KB: 24 cycles of copies issued; a warp waits for itself, so a
//   barrier costs nothing. Eight stages at 700 of latency with one ahead: 5,600; with three ahead (four buffers, 12
//   KB): the trip is hidden.
// Predicted: 1.5 launch + .7 (1,280 cycles) + .4 first data = 2.6 us; without the buffers 4.7 us. Measured: never.
#include "kernels/gpu/emitted/launch.cuh"

namespace tessera::gpu::launch_10 {

struct Parameters : LaunchParameters {
  uint32_t product, x, w, bias, y;
  int rows, width;
};

constexpr int kRows = 8, kColumns = 16, kDepth = 32, kEach = 4, kAcross = kColumns / kEach, kBuffers = 4;

extern "C" __global__ void launch_10(const __grid_constant__ Parameters p) {
  __shared__ __align__(16) float a[kBuffers][kRows][kDepth], b[kBuffers][kDepth][kColumns];
  const float* x = p.at<const float>(p.x);
  const float* w = p.at<const float>(p.w);
  const int lane = threadIdx.x, across = p.width / kColumns, stages = p.width / kDepth;
  const int first_row = blockIdx.x / across * kRows, first_column = blockIdx.x % across * kColumns;
  const int i = lane / kAcross, j = lane % kAcross * kEach, row = first_row + i;
  const auto copy = [&](int stage) {
    const int k = stage * kDepth, to = stage % kBuffers;
    for (int e = lane; e < kRows * kDepth / 4 && stage < stages; e += 32) {
      const int r = e / (kDepth / 4), c = e % (kDepth / 4) * 4, from = first_row + r < p.rows ? first_row + r : 0;
      cp_async_16(&a[to][r][c], x + from * p.width + k + c, first_row + r < p.rows);
    }
    for (int e = lane; e < kDepth * kColumns / 4 && stage < stages; e += 32) {
      const int r = e / (kColumns / 4), c = e % (kColumns / 4) * 4;
      cp_async_16(&b[to][r][c], w + (k + r) * p.width + first_column + c);
    }
    cp_async_commit();  // also without copies, so that the groups are counted alike
  };
  float sum[kEach] = {};
  for (int stage = 0; stage < kBuffers - 1; ++stage) copy(stage);
  for (int stage = 0; stage < stages; ++stage) {
    cp_async_wait<kBuffers - 2>();
    __syncwarp();
    copy(stage + kBuffers - 1);
    const int from = stage % kBuffers;
    for (int t = 0; t < kDepth; ++t)
      for (int c = 0; c < kEach; ++c) sum[c] += a[from][i][t] * b[from][t][j + c];
    __syncwarp();
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
