// 02 The input's part of all steps before the first.     --blocks 32 --threads 256
// Expected: what does not wait for the state leaves the chain of steps, and eight warps share it.
// Arithmetic: a step: 6 x 40 + 80 + 45, then 6 x 40 + 100 + 45: 750 cycles, 72 x 750 = 54,000; at best, with all loads
//   ahead, 414: 30,000. The input's part: 24 x 72 sums by 256 threads are 7 rounds of 8 groups at 45: 2,500 a layer.
//   Weights of the state: 7 KB at 25 bytes a cycle, and a trip: 900 a layer. Instructions: 80,625 (counted), as many
//   as in 01, but on four schedulers.
// Predicted: 1.5 launch + 23 to 37 = 24 to 38 us on an H100. Measured: never.
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

constexpr int kSteps = 24, kParts = 4, kLayers = 3, kThreadsOfBlock = 256, kMostUnits = 32;

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
  __shared__ float w_h[kMostUnits * 3 * kMostUnits], parts[kSteps * 3 * kMostUnits], h[32], gated[32], z[32];
  const int gate = threadIdx.x / 32, u = threadIdx.x % 32, units = p.units, width = 3 * units;
  const bool on = gate < 3 && u < units;
  for (int i = 0; i < kLayers; ++i) {
    const Layer s = p.layer(i);
    const int depth = i == 0 ? p.inputs : units;
    const float* x = p.at<const float>(i == 0 ? p.x : p.layer(i - 1).y) + blockIdx.x * kSteps * depth;
    for (int e = threadIdx.x; e < units * width; e += kThreadsOfBlock) w_h[e] = p.at<const float>(s.w_h)[e];
    // The input's part of the gates does not wait for the state: all steps at once.
    for (int e = threadIdx.x; e < kSteps * width; e += kThreadsOfBlock) {
      const int t = e / width, column = e % width;
      parts[e] =
          p.at<const float>(s.bias)[column] + dot(p.at<const float>(s.w_x) + column, width, x + t * depth, depth);
    }
    if (threadIdx.x < units) h[threadIdx.x] = 0;
    __syncthreads();
    const int column = gate * units + u;
    for (int t = 0; t < kSteps; ++t) {
      const float a = on ? parts[t * width + column] : 0;
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
