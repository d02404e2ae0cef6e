// 00 A thread an element, everything from the caches.     --blocks 30 --threads 256 --error 1e-6
// Expected: bound by the second-level cache, as each block reads all weights for one row.
// Arithmetic: a row a block, 256 threads. 256 KB of weights a block at 25 bytes a cycle: 10,490 cycles; issue: 8
//   warps x 256 of k x 4 instructions (two loads, a multiplication, an addition) / 4 schedulers: 2,048. One load in
//   flight a warp would take 256 x 270 cycles, so the compiler has to load ahead.
// Predicted: 1.5 launch + 6.0 = 7.5 us on an H100. Measured: never.
#include "kernels/gpu/emitted/launch.cuh"

namespace tessera::gpu::launch_10 {

struct Parameters : LaunchParameters {
  uint32_t product, x, w, bias, y;
  int rows, width;
};

extern "C" __global__ void launch_10(const __grid_constant__ Parameters p) {
  const float* x = p.at<const float>(p.x) + blockIdx.x * p.width;
  const float* w = p.at<const float>(p.w);
  const int column = threadIdx.x;
  float sum = 0;
  for (int k = 0; k < p.width; ++k) sum += x[k] * w[k * p.width + column];
  const int at = blockIdx.x * p.width + column;
  const float z = sum + p.at<const float>(p.bias)[column];
  p.at<float>(p.product)[at] = z;
  p.at<float>(p.y)[at] = z > 0 ? z : 0.2f * z;
}

}  // namespace tessera::gpu::launch_10
