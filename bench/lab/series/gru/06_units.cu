// 06 Two threads a unit, which hold all its gates: a value read serves three FMAs.     --blocks 32 --threads 192
// Expected: a third of the reads of shared memory; input and state are added apart again, so the bits are the
//   original's.
// Arithmetic: six warps. 14 reads of 8 bytes a thread, two cycles each: 6 x 14 x 2 = 168 cycles, as much as 72 FMAs a
//   warp take on the scheduler that has two of them (144); + 29 + 12, shuffles 28, 12, 80, 45; n: 6 x 6 x 2 + 29 + 48,
//   100, 45: 670 cycles, 26 x 670 = 17,400; before, 1,900. 42,682 instructions of PTX (counted). This is how the
//   original shares out its work; it computes the first layer's input before, in all steps.
// Predicted: 1.5 launch + 11.0 = 12.5 us on an H100. Measured: never.
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

constexpr int kSteps = 24, kParts = 4, kLayers = 3, kThreadsOfLayer = 64, kUnits = 24, kMost = 32;

// What the derivative reads: of a tile of 16 sequences, a row for each (tile, step, part, unit).
__device__ inline float* saved_at(const Parameters& p, const Layer& of, int t, int u) {
  return p.at<float>(of.saved) + (blockIdx.x / 16 * kSteps + t) * kParts * p.units * 16 + u * 16 + blockIdx.x % 16;
}

// A thread's two of every four weights of each gate.
template <int n>
__device__ inline void hold(float (&w)[3][n], const float* from, int half, int width, int units, int depth) {
#pragma unroll
  for (int g = 0; g < 3; ++g)
#pragma unroll
    for (int i = 0; i < n; ++i) {
      const int k = i / 2 * 4 + half * 2 + i % 2;
      w[g][i] = k < depth ? from[k * width + g * units] : 0;
    }
}

// Sums of some gates, in the order of the original: a thread has two of the four parts, its neighbour the others.
template <int first, int gates, int n>
__device__ inline void sums_of(const float (&w)[3][n], const float* v, float (&sum)[gates]) {
  float part[gates][2] = {};
#pragma unroll
  for (int i = 0; i < n; i += 2) {
    const float2 x = *reinterpret_cast<const float2*>(v + 2 * i);
#pragma unroll
    for (int g = 0; g < gates; ++g) {
      part[g][0] = fmaf(w[first + g][i], x.x, part[g][0]);
      part[g][1] = fmaf(w[first + g][i + 1], x.y, part[g][1]);
    }
  }
#pragma unroll
  for (int g = 0; g < gates; ++g) {
    const float own = part[g][0] + part[g][1];
    sum[g] = own + __shfl_xor_sync(0xffffffff, own, 1);
  }
}

extern "C" __global__ void launch_10(const __grid_constant__ Parameters p) {
  __shared__ __align__(16) float x[kSteps * kMost], h[kLayers][kMost], gated[kLayers][kMost];
  const int i = threadIdx.x / kThreadsOfLayer, u = threadIdx.x % kThreadsOfLayer / 2, half = threadIdx.x % 2;
  const int units = p.units, width = 3 * units, column = u < units ? u : 0;
  const Layer s = p.layer(i);
  float w_x[3][kMost / 2], w_h[3][kUnits / 2], bias[3];
  hold(w_x, p.at<const float>(s.w_x) + column, half, width, units, i == 0 ? p.inputs : units);
  hold(w_h, p.at<const float>(s.w_h) + column, half, width, units, units);
  for (int g = 0; g < 3; ++g) bias[g] = p.at<const float>(s.bias)[g * units + column];
  const float* from = p.at<const float>(p.x) + blockIdx.x * kSteps * p.inputs;
  for (int e = threadIdx.x; e < kSteps * kMost; e += kLayers * kThreadsOfLayer)
    x[e] = e % kMost < p.inputs ? from[e / kMost * p.inputs + e % kMost] : 0;
  const bool owner = half == 0 && u < units;
  if (half == 0) h[i][u] = gated[i][u] = 0;
  float state = 0;
  __syncthreads();
  for (int wave = 0; wave < kSteps + kLayers - 1; ++wave) {
    const int t = wave - i;
    const bool runs = t >= 0 && t < kSteps;
    float of_x[3] = {}, of_h[2], r = 0, z = 0;
    if (runs) {
      sums_of<0, 3>(w_x, (i == 0 ? x + t * kMost : h[i - 1]) + 2 * half, of_x);
      sums_of<0, 2>(w_h, h[i] + 2 * half, of_h);
      r = gate_of((bias[0] + of_x[0]) + of_h[0]);
      z = gate_of((bias[1] + of_x[1]) + of_h[1]);
      if (owner) gated[i][u] = r * state;
    }
    __syncthreads();
    if (runs) {
      float of_gated[1];
      sums_of<2, 1>(w_h, gated[i] + 2 * half, of_gated);
      const float n = tanhf((bias[2] + of_x[2]) + of_gated[0]), was = state;
      state = fmaf(z, was - n, n);
      if (owner) {
        float* to = saved_at(p, s, t, u);
        to[0] = r, to[16 * units] = z, to[32 * units] = n, to[48 * units] = was;
        h[i][u] = state;
        p.at<float>(s.y)[(blockIdx.x * kSteps + t) * units + u] = state;
      }
    }
    __syncthreads();
  }
  if (owner) p.at<float>(s.h_last)[blockIdx.x * units + u] = state;
}

}  // namespace tessera::gpu::launch_10
