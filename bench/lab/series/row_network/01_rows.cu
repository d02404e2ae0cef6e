// 01 Four rows a block: a weight serves four sums.     --blocks 25 --threads 128 --error 1e-6
// Expected: a quarter of the traffic; the trips of a thread stay as many.
// Arithmetic: 25 multiprocessors draw 163 KB each, at about 60 bytes a cycle as few do
//   (bench/results/recurrent_2026-11-27.md): 2,700 cycles. Four numbers of four rows are 16 bytes a lane, four cycles:
//   (2 x 4 warps + 2) x 128 x 4 = 5,100 of shared memory. Trips as in 00: 25,900 at worst. Instructions: 14,380
//   (counted).
// Predicted: 1.5 launch + 2.9 to 14.8 = 4.4 to 16 us on an H100: nothing is won while trips bind. Measured: never.
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

constexpr int kLayers = 3, kWidth = 128, kRows = 4;

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
    __syncthreads();
    const int n = p.columns(i);
    if (c >= n) continue;
    const float* w = p.at<const float>(p.layer(i).w) + c;
    float sum[kRows] = {};
    for (int k = 0; k < p.width; ++k) {
      float x[kRows];
      load_four(v[i % 2][k], x);
      const float weight = w[k * n];
      for (int r = 0; r < kRows; ++r) sum[r] += x[r] * weight;
    }
    for (int r = 0; r < kRows; ++r)
      if (first + r < p.rows) v[1 - i % 2][c][r] = put(p, i, first + r, c, sum[r]);
  }
}

}  // namespace tessera::gpu::launch_10
