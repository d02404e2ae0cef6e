// 05 As 04, and a thread reads shared memory 16 bytes at a time.     --blocks 64 --threads 32 --error 1e-6
// Expected: 04 issues five reads for four FMAs, so it waits for shared memory, not for the FMA units.
// Arithmetic: of four k a thread reads its row once (four adjacent k) and four rows of weights (four adjacent columns):
//   5 reads of 16 bytes for 16 FMAs, where 04 has 20. A read of 16 bytes takes a warp 4 turns if all lanes differ; here
//   8 rows or 4 columns differ, 128 and 64 bytes: one turn, if no two rows lie in the same banks. A row of 32 floats
//   does: its pitch becomes 36. 64 x 5 = 320 turns, 64 x 16 = 1,024 FMAs of a warp on a unit of 32 lanes.
// Predicted: 1.5 launch + .6 (1,024 cycles) + .4 first data = 2.5 us; of 04's .7 the reads are gone and the chain of
//   FMAs is left: 256 of k at 4 cycles. Measured: never.
#include "kernels/gpu/emitted/launch.cuh"

namespace tessera::gpu::launch_10 {

struct Parameters : LaunchParameters {
  uint32_t product, x, w, bias, y;
  int rows, width;
};

constexpr int kRows = 8, kColumns = 16, kDepth = 32, kPitch = kDepth + 4, kAcross = kColumns / 4, kBuffers = 4;

extern "C" __global__ void launch_10(const __grid_constant__ Parameters p) {
  __shared__ __align__(16) float a[kBuffers][kRows][kPitch], b[kBuffers][kDepth][kColumns];
  const float* x = p.at<const float>(p.x);
  const float* w = p.at<const float>(p.w);
  const int lane = threadIdx.x, across = p.width / kColumns, stages = p.width / kDepth;
  const int first_row = blockIdx.x / across * kRows, first_column = blockIdx.x % across * kColumns;
  const int i = lane / kAcross, j = lane % kAcross * 4, row = first_row + i;
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
  float sum[4] = {};
  for (int stage = 0; stage < kBuffers - 1; ++stage) copy(stage);
  for (int stage = 0; stage < stages; ++stage) {
    cp_async_wait<kBuffers - 2>();
    __syncwarp();
    copy(stage + kBuffers - 1);
    const int from = stage % kBuffers;
    for (int t = 0; t < kDepth; t += 4) {
      const float4 own = *reinterpret_cast<const float4*>(&a[from][i][t]);
      const float of_k[4] = {own.x, own.y, own.z, own.w};
#pragma unroll
      for (int q = 0; q < 4; ++q) {
        const float4 v = *reinterpret_cast<const float4*>(&b[from][t + q][j]);
        sum[0] += of_k[q] * v.x, sum[1] += of_k[q] * v.y, sum[2] += of_k[q] * v.z, sum[3] += of_k[q] * v.w;
      }
    }
    __syncwarp();
  }
  if (row >= p.rows) return;
  for (int c = 0; c < 4; ++c) {
    const int column = first_column + j + c;
    const float z = sum[c] + p.at<const float>(p.bias)[column];
    p.at<float>(p.product)[row * p.width + column] = z;
    p.at<float>(p.y)[row * p.width + column] = z > 0 ? z : 0.2f * z;
  }
}

}  // namespace tessera::gpu::launch_10
