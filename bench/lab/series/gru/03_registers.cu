// 03 A thread's column of the state's weights in registers.     --blocks 32 --threads 256
// Expected: 24 reads of weights a product vanish, and one read of 16 bytes brings four numbers of the state.
// Arithmetic: 16 bytes a lane take four cycles of shared memory, also where all lanes read the same
//   (bench/predict.py). r and z: 2 warps x 6 reads x 4 + 29 + the last FMAs 24 + 12 = 113 cycles, 80, 45; n: 6 x 4 +
//   29 + 36 = 89, 100, 45: 470 cycles, 72 x 470 = 34,000. The input's part as in 02: 7,500; weights to registers: 3
//   trips of 600. 56,597 instructions of PTX (counted), 02 has 80,625.
// Predicted: 1.5 launch + 24.7 = 26 us on an H100. Measured: never.
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

constexpr int kSteps = 24, kParts = 4, kLayers = 3, kThreadsOfBlock = 256, kUnits = 24;

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

// The sum of w[k] * v[k] with weights in registers, in the order of the original: four parts by k % 4.
__device__ inline float dot_held(const float (&w)[kUnits], const float* v) {
  float part[4] = {};
#pragma unroll
  for (int k = 0; k < kUnits; k += 4) {
    float x[4];
    load_four(v + k, x);
#pragma unroll
    for (int q = 0; q < 4; ++q) part[q] = fmaf(w[k + q], x[q], part[q]);
  }
  return (part[0] + part[1]) + (part[2] + part[3]);
}

extern "C" __global__ void launch_10(const __grid_constant__ Parameters p) {
  __shared__ __align__(16) float parts[kSteps * 3 * kUnits], h[32], gated[32], z[32];
  const int gate = threadIdx.x / 32, u = threadIdx.x % 32, units = p.units, width = 3 * units;
  const bool on = gate < 3 && u < units;
  for (int i = 0; i < kLayers; ++i) {
    const Layer s = p.layer(i);
    const int depth = i == 0 ? p.inputs : units, column = on ? gate * units + u : 0;
    const float* x = p.at<const float>(i == 0 ? p.x : p.layer(i - 1).y) + blockIdx.x * kSteps * depth;
    float w_h[kUnits];
#pragma unroll
    for (int k = 0; k < kUnits; ++k) w_h[k] = p.at<const float>(s.w_h)[k * width + column];
    // The input's part of the gates does not wait for the state: all steps at once.
    for (int e = threadIdx.x; e < kSteps * width; e += kThreadsOfBlock) {
      const int t = e / width, c = e % width;
      parts[e] = p.at<const float>(s.bias)[c] + dot(p.at<const float>(s.w_x) + c, width, x + t * depth, depth);
    }
    if (threadIdx.x < units) h[threadIdx.x] = 0;
    __syncthreads();
    for (int t = 0; t < kSteps; ++t) {
      const float a = on ? parts[t * width + column] : 0;
      float* to = saved_at(p, s, t, u);
      if (on && gate < 2) {
        const float value = gate_of(a + dot_held(w_h, h));
        if (gate == 0) gated[u] = value * h[u];
        else z[u] = value;
        to[16 * gate * units] = value;
      }
      __syncthreads();
      if (on && gate == 2) {
        const float n = tanhf(a + dot_held(w_h, gated)), was = h[u];
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
