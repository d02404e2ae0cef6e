// 00 A thread a unit; weights come from the caches in every step.     --blocks 32 --threads 32
// Expected: a lone warp waits for the first-level cache at every fourth product.
// Arithmetic: a block a sequence, 24 of 32 threads; layers one after the other, 72 steps. A step multiplies (32 + 24)
//   x 3 numbers in the first layer, 48 x 3 in the others, 152 on average. Latencies, here and below, as
//   bench/results/recurrent_2026-11-27.md has them: a load from the first-level cache 35 cycles, from shared memory
//   29, an FMA 4, a sigmoid 80, a tanh 100, a store until it is seen 20, a barrier 25. Four loads in flight: 38 x 40 +
//   80 + 100 + 2 x 45 = 1,790 cycles a step, 129,000 in all. At best, with all loads ahead, the warp's instructions,
//   one a cycle: 75,930 of PTX (counted).
// Predicted: 1.5 launch + 43 to 74 = 45 to 75 us on an H100. Measured: never.
#include "kernels/gpu/emitted/launch.cuh"

namespace tessera::gpu::launch_10 {

struct Layer {
  uint32_t w_x, w_h, bias, y, h_last, saved;
};
struct Parameters : LaunchParameters {
  uint32_t x, length, w_x, w_h, bias, y, h_last, saved;  // of the first layer
  Layer further[2];
  int sequences, inputs, units;

  __device__ Layer layer(int i) const { return i > 0 ? further[i - 1] : Layer{w_x, w_h, bias, y, h_last, saved}; }
};

constexpr int kSteps = 24, kParts = 4, kLayers = 3;

// What the derivative reads: of a tile of 16 sequences, a row for each (tile, step, part, unit).
__device__ inline float* saved_at(const Parameters& p, const Layer& of, int t, int u) {
  return p.at<float>(of.saved) + (blockIdx.x / 16 * kSteps + t) * kParts * p.units * 16 + u * 16 + blockIdx.x % 16;
}

// The sum of w[k * stride] * v[k], in the order of the original: four parts by k % 4.
__device__ inline float dot(const float* w, int stride, const float* v, int depth) {
  float part[4] = {};
  for (int k = 0; k < depth; k += 4)
    for (int q = 0; q < 4; ++q) part[q] = fmaf(w[(k + q) * stride], v[k + q], part[q]);
  return (part[0] + part[1]) + (part[2] + part[3]);
}

extern "C" __global__ void launch_10(const __grid_constant__ Parameters p) {
  __shared__ float h[32], gated[32];
  const int u = threadIdx.x, units = p.units, width = 3 * units;
  const bool on = u < units;
  for (int i = 0; i < kLayers; ++i) {
    const Layer s = p.layer(i);
    const int depth = i == 0 ? p.inputs : units;
    const float* x = p.at<const float>(i == 0 ? p.x : p.layer(i - 1).y) + blockIdx.x * kSteps * depth;
    const float *w_x = p.at<const float>(s.w_x) + u, *w_h = p.at<const float>(s.w_h) + u;
    const float* bias = p.at<const float>(s.bias) + u;
    h[u] = 0;
    __syncthreads();
    for (int t = 0; t < kSteps; ++t, x += depth) {
      float r = 0, z = 0;
      if (on) {
        r = gate_of((bias[0] + dot(w_x, width, x, depth)) + dot(w_h, width, h, units));
        z = gate_of((bias[units] + dot(w_x + units, width, x, depth)) + dot(w_h + units, width, h, units));
        gated[u] = r * h[u];
      }
      __syncthreads();
      if (on) {
        const float a = bias[2 * units] + dot(w_x + 2 * units, width, x, depth);
        const float n = tanhf(a + dot(w_h + 2 * units, width, gated, units)), was = h[u];
        float* to = saved_at(p, s, t, u);
        to[0] = r, to[16 * units] = z, to[32 * units] = n, to[48 * units] = was;
        h[u] = fmaf(z, was - n, n);
        p.at<float>(s.y)[(blockIdx.x * kSteps + t) * units + u] = h[u];
      }
      __syncthreads();
    }
    if (on) p.at<float>(s.h_last)[blockIdx.x * units + u] = h[u];
  }
}

}  // namespace tessera::gpu::launch_10
