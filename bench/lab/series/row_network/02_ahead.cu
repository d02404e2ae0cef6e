// 02 Sixteen weights are on their way while sixteen are multiplied.     --blocks 25 --threads 128 --error 1e-6
// Expected: sixteen loads in flight instead of four; the first ones of a layer start before its barrier.
// Arithmetic: 16 of k take a trip of 600 cycles (few_cycles of bench/lab/cards/h100.json, 310 to 800), more than the
//   256 that four warps read shared memory: 3 x 8 x 600 = 14,400. The trip between layers (900 in the model) is behind
//   the last products. Instructions: 15,378 (counted).
// Predicted: 1.5 launch + 8.2 (4.2 to 10.9) = 9.7 us on an H100 (5.7 to 12.4). Measured: never.
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

constexpr int kLayers = 3, kWidth = 128, kRows = 4, kAhead = 16;

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
  __shared__ __align__(16) float v[2][kWidth][kRows];
  const int first = blockIdx.x * kRows, c = threadIdx.x;
  for (int r = 0; r < kRows; ++r)
    v[0][c][r] = first + r < p.rows ? p.at<const float>(p.x)[(first + r) * p.width + c] : 0;
  for (int i = 0; i < kLayers; ++i) {
    const int n = p.columns(i);
    const float* w = p.at<const float>(p.layer(i).w) + (c < n ? c : 0);
    float sum[kRows] = {}, next[kAhead];
    const auto load = [&](int k) {
#pragma unroll
      for (int q = 0; q < kAhead; ++q) next[q] = w[(k + q) * n];
    };
    load(0);  // before the barrier: weights do not wait for the layer before
    __syncthreads();
    for (int k = 0; k < kWidth; k += kAhead) {
      float now[kAhead];
#pragma unroll
      for (int q = 0; q < kAhead; ++q) now[q] = next[q];
      if (k + kAhead < kWidth) load(k + kAhead);
#pragma unroll
      for (int q = 0; q < kAhead; ++q) {
        float x[kRows];
        load_four(v[i % 2][k + q], x);
        for (int r = 0; r < kRows; ++r) sum[r] += x[r] * now[q];
      }
    }
    if (c >= n) continue;
    for (int r = 0; r < kRows; ++r)
      if (first + r < p.rows) v[1 - i % 2][c][r] = put(p, i, first + r, c, sum[r]);
  }
}

}  // namespace tessera::gpu::launch_10
