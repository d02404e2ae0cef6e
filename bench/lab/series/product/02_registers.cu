// 02 Four columns a thread: one float of A serves four FMAs.     --blocks 16 --threads 128 --error 1e-6
// Expected: five eighths of the reads of shared memory that 01 needs for an FMA; latency binds still.
// Arithmetic: 2 x 8 tiles of 16 x 32, a thread has a row and four columns. A stage of 32 of k: 128 threads x 32 x 4
//   FMAs. A warp reads A (four rows: one access) and 16 bytes a lane of B (four accesses): 5 for 4 FMAs a lane, in
//   01 it was 8. 256 of k x 4 warps x 5 = 5,120 cycles for twice the columns of 01. Stages are twice as deep: 8 x
//   700 = 5,600 cycles.
// Predicted: 1.5 launch + 3.2 to 6.1 (latency and shared memory overlap in part) = 4.7 to 7.6 us. Measured: never.
#include "kernels/gpu/emitted/launch.cuh"

namespace tessera::gpu::launch_10 {

struct Parameters : LaunchParameters {
  uint32_t product, x, w, bias, y;
  int rows, width;
};

constexpr int kRows = 16, kColumns = 32, kDepth = 32, kEach = 4, kAcross = kColumns / kEach;

extern "C" __global__ void launch_10(const __grid_constant__ Parameters p) {
  __shared__ float a[kRows][kDepth], b[kDepth][kColumns];
  const float* x = p.at<const float>(p.x);
  const float* w = p.at<const float>(p.w);
  const int thread = threadIdx.x, across = p.width / kColumns;
  const int first_row = blockIdx.x / across * kRows, first_column = blockIdx.x % across * kColumns;
  const int i = thread / kAcross, j = thread % kAcross * kEach, row = first_row + i;
  float sum[kEach] = {};
  for (int k = 0; k < p.width; k += kDepth) {
    for (int e = thread; e < kRows * kDepth; e += 128) {
      const int r = first_row + e / kDepth;
      a[e / kDepth][e % kDepth] = r < p.rows ? x[r * p.width + k + e % kDepth] : 0;
    }
    for (int e = thread; e < kDepth * kColumns; e += 128)
      b[e / kColumns][e % kColumns] = w[(k + e / kColumns) * p.width + first_column + e % kColumns];
    __syncthreads();
    for (int t = 0; t < kDepth; ++t)
      for (int c = 0; c < kEach; ++c) sum[c] += a[i][t] * b[t][j + c];
    __syncthreads();
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
