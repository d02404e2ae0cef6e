// 03 One stream of weights through all layers (cp.async, four buffers).     --blocks 50 --threads 128 --error 1e-6
// Expected: weights wait for nothing, so they stream through layers and barriers; the rate of the second-level cache
//   or of shared memory is left.
// Arithmetic: 24 stages of 16 of k, 8 KB (the last layer 4 KB), three ahead. 50 multiprocessors draw 163 KB each,
//   between 25 and 60 bytes a cycle: 2,700 to 6,530. A stage reads 16 weights and eight times 16 bytes of values a
//   warp, 48 cycles, x 4: 20 x 192 = 3,800 of shared memory. Barriers 24 x 25, the first stage 600. Instructions:
//   14,192 (counted).
// Predicted: 1.5 launch + 2.9 to 4.4 = 4.4 to 5.9 us on an H100. Measured: never.
#include "kernels/gpu/emitted/launch.cuh"

namespace tessera::gpu::launch_10 {

struct Layer {
  uint32_t w, bias, product, y;  // of the last layer y is not there
};
struct Parameters : LaunchParameters {
  uint32_t x;
  Layer hidden[2];
  uint32_t last_w, last_bias, logits;
  int rows, width, last_width;

  __device__ Layer layer(int i) const { return i < 2 ? hidden[i] : Layer{last_w, last_bias, logits, 0}; }
  __device__ int columns(int i) const { return i < 2 ? width : last_width; }
};

constexpr int kLayers = 3, kWidth = 128, kRows = 2, kDeep = 16, kBuffers = 4, kThreadsOfBlock = 128;
constexpr int kStagesOfLayer = kWidth / kDeep, kAllStages = kLayers * kStagesOfLayer;

// A sum with its bias to memory, and what the next layer reads: its ReLU.
__device__ inline float put(const Parameters& p, int i, int row, int c, float sum) {
  const Layer s = p.layer(i);
  const int n = p.columns(i);
  const float z = sum + p.at<const float>(s.bias)[c], y = z > 0 ? z : 0.0f * z;
  p.at<float>(s.product)[row * n + c] = z;
  if (i < 2) p.at<float>(s.y)[row * n + c] = y;
  return y;
}

extern "C" __global__ void launch_10(const __grid_constant__ Parameters p) {
  __shared__ __align__(16) float b[kBuffers][kDeep * kWidth];
  __shared__ __align__(16) float v[2][kWidth][kRows];
  const int first = blockIdx.x * kRows, c = threadIdx.x;
  for (int r = 0; r < kRows; ++r)
    v[0][c][r] = first + r < p.rows ? p.at<const float>(p.x)[(first + r) * p.width + c] : 0;
  // Rows of a weight follow each other without a gap: a stage is 16 n floats, whole times 16 bytes for n = 63 too.
  const auto copy = [&](int stage) {
    const int i = stage / kStagesOfLayer, n = p.columns(i < kLayers ? i : 0);
    const float* from = p.at<const float>(p.layer(i).w) + stage % kStagesOfLayer * kDeep * n;
    for (int e = 4 * c; e < kDeep * n && stage < kAllStages; e += 4 * kThreadsOfBlock)
      cp_async_16(&b[stage % kBuffers][e], from + e);
    cp_async_commit();  // also without copies, so that the groups are counted alike
  };
  for (int stage = 0; stage < kBuffers - 1; ++stage) copy(stage);
  for (int i = 0; i < kLayers; ++i) {
    const int n = p.columns(i);
    float sum[kRows] = {};
    for (int k = 0; k < kWidth; k += kDeep) {
      const int stage = i * kStagesOfLayer + k / kDeep;
      cp_async_wait<kBuffers - 2>();
      __syncthreads();  // this stage is there for all, all have left the one before, and a layer's values are written
      copy(stage + kBuffers - 1);
      if (c >= n) continue;
      const float* w = b[stage % kBuffers] + c;
#pragma unroll
      for (int q = 0; q < kDeep; q += 2) {
        float x[2 * kRows];
        load_four(v[i % 2][k + q], x);
        for (int r = 0; r < kRows; ++r) sum[r] += x[r] * w[q * n];
        for (int r = 0; r < kRows; ++r) sum[r] += x[kRows + r] * w[(q + 1) * n];
      }
    }
    if (c >= n) continue;
    for (int r = 0; r < kRows; ++r)
      if (first + r < p.rows) v[1 - i % 2][c][r] = put(p, i, first + r, c, sum[r]);
  }
}

}  // namespace tessera::gpu::launch_10
