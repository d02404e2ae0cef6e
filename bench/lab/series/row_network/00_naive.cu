// 00 A block a row, a thread a column; values in shared memory.     --blocks 100 --threads 128 --error 1e-6
// Expected: 100 blocks read the same weights, and each thread waits for its own.
// Arithmetic: a block reads all weights, (128 + 128 + 63) x 512 bytes = 163 KB, while 99 others do: at 25 bytes a
//   cycle 6,530 cycles. With four loads in flight 3 x 32 trips of 270: 25,900. 7,574 instructions of PTX (counted, the
//   original 21,991) are 1,900 cycles on four schedulers.
// Predicted: 1.5 launch + 3.7 (traffic) to 14.8 (trips) = 5.2 to 16 us on an H100. The model gives the original 12.8
//   (7.1 to 19.4). Measured: never.
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

constexpr int kLayers = 3, kWidth = 128;

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
  __shared__ float v[2][kWidth];
  const int row = blockIdx.x, c = threadIdx.x;
  v[0][c] = p.at<const float>(p.x)[row * p.width + c];
  for (int i = 0; i < kLayers; ++i) {
    __syncthreads();
    const int n = p.columns(i);
    if (c >= n) continue;
    const float* w = p.at<const float>(p.layer(i).w) + c;
    float sum = 0;
    for (int k = 0; k < p.width; ++k) sum += v[i % 2][k] * w[k * n];
    v[1 - i % 2][c] = put(p, i, row, c, sum);
  }
}

}  // namespace tessera::gpu::launch_10
