// 01 A warp a gate; a layer's weights in shared memory.     --blocks 32 --threads 96
// Expected: r and z are computed side by side; reads take 29 cycles instead of 35, so most is gained by the first.
// Arithmetic: a step: input and state for r and z, 14 (12) groups of four at 40 cycles, sigmoid 80, store and barrier
//   45; then the state's part of n, 6 x 40, tanh 100, 45: 1,030 cycles, 72 x 1,030 = 74,000. At best, with all loads
//   ahead, 27,000 instructions of PTX a warp (80,865 of three, counted). Weights: 3 times 16 KB at 25 bytes a cycle
//   and a trip of 600: 3,800.
// Predicted: 1.5 launch + 18 to 44 = 19 to 46 us on an H100. Measured: never.
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

constexpr int kSteps = 24, kParts = 4, kLayers = 3, kThreadsOfBlock = 96, kMostFloats = 32 * 72;

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
  __shared__ float w_x[kMostFloats], w_h[kMostFloats], x[kSteps * 32], h[32], gated[32], z[32];
  const int gate = threadIdx.x / 32, u = threadIdx.x % 32, units = p.units, width = 3 * units;
  const bool on = gate < 3 && u < units;
  for (int i = 0; i < kLayers; ++i) {
    const Layer s = p.layer(i);
    const int depth = i == 0 ? p.inputs : units;
    const float* from = p.at<const float>(i == 0 ? p.x : p.layer(i - 1).y) + blockIdx.x * kSteps * depth;
    for (int e = threadIdx.x; e < depth * width; e += kThreadsOfBlock) w_x[e] = p.at<const float>(s.w_x)[e];
    for (int e = threadIdx.x; e < units * width; e += kThreadsOfBlock) w_h[e] = p.at<const float>(s.w_h)[e];
    for (int e = threadIdx.x; e < kSteps * depth; e += kThreadsOfBlock) x[e] = from[e];
    if (threadIdx.x < units) h[threadIdx.x] = 0;
    const int column = on ? gate * units + u : 0;
    const float bias = p.at<const float>(s.bias)[column];
    __syncthreads();
    for (int t = 0; t < kSteps; ++t) {
      const float a = on ? bias + dot(w_x + column, width, x + t * depth, depth) : 0;
      float* to = saved_at(p, s, t, u);
      if (on && gate < 2) {
        const float value = gate_of(a + dot(w_h + column, width, h, units));
        if (gate == 0) gated[u] = value * h[u];
        else z[u] = value;
        to[16 * gate * units] = value;
      }
      __syncthreads();
      if (on && gate == 2) {
        const float n = tanhf(a + dot(w_h + column, width, gated, units)), was = h[u];
        to[32 * units] = n, to[48 * units] = was;
        h[u] = fmaf(z[u], was - n, n);
        p.at<float>(s.y)[(blockIdx.x * kSteps + t) * units + u] = h[u];
      }
      __syncthreads();
    }
    if (threadIdx.x < units) p.at<float>(s.h_last)[blockIdx.x * units + u] = h[u];
  }
}

}  // namespace tessera::gpu::launch_10
