// 05 All layers at once, each a step behind the one before.     --blocks 32 --threads 288 --error 1e-5
// Expected: 26 steps instead of 72. Nine warps then wait for shared memory, which three did not.
// Arithmetic: r, z and n's input: 3 layers x (2 x 14 + 8) reads x 4 = 432 cycles, 12, 80, 45; n: 3 x 6 x 4 + 29 + 36 =
//   137, 100, 45: 850 cycles, 26 x 850 = 22,100. Before: weights and x, 1,500. 33,978 instructions of PTX (counted),
//   the original 60,053. Error as in 04.
// Predicted: 1.5 launch + 13.4 = 15 us on an H100. Measured: never.
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

constexpr int kSteps = 24, kParts = 4, kLayers = 3, kThreadsOfLayer = 96, kUnits = 24, kMost = 32;

// What the derivative reads: of a tile of 16 sequences, a row for each (tile, step, part, unit).
__device__ inline float* saved_at(const Parameters& p, const Layer& of, int t, int u) {
  return p.at<float>(of.saved) + (blockIdx.x / 16 * kSteps + t) * kParts * p.units * 16 + u * 16 + blockIdx.x % 16;
}

// Adds w[k] * v[k] to four parts by k % 4.
template <int n>
__device__ inline void add(const float (&w)[n], const float* v, float (&part)[4]) {
#pragma unroll
  for (int k = 0; k < n; k += 4) {
    float x[4];
    load_four(v + k, x);
#pragma unroll
    for (int q = 0; q < 4; ++q) part[q] = fmaf(w[k + q], x[q], part[q]);
  }
}

__device__ inline float sum_of(const float (&part)[4]) { return (part[0] + part[1]) + (part[2] + part[3]); }

extern "C" __global__ void launch_10(const __grid_constant__ Parameters p) {
  __shared__ __align__(16) float x[kSteps * kMost], h[kLayers][kMost], gated[kLayers][kMost], z[kLayers][kMost];
  const int i = threadIdx.x / kThreadsOfLayer, gate = threadIdx.x % kThreadsOfLayer / 32, u = threadIdx.x % 32;
  const int units = p.units, width = 3 * units, depth = i == 0 ? p.inputs : units;
  const bool on = u < units;
  const int column = on ? gate * units + u : 0;
  const Layer s = p.layer(i);
  float w_x[kMost], w_h[kUnits];
#pragma unroll
  for (int k = 0; k < kMost; ++k) w_x[k] = k < depth ? p.at<const float>(s.w_x)[k * width + column] : 0;
#pragma unroll
  for (int k = 0; k < kUnits; ++k) w_h[k] = p.at<const float>(s.w_h)[k * width + column];
  const float bias = p.at<const float>(s.bias)[column];
  const float* from = p.at<const float>(p.x) + blockIdx.x * kSteps * p.inputs;
  for (int e = threadIdx.x; e < kSteps * kMost; e += kLayers * kThreadsOfLayer)
    x[e] = e % kMost < p.inputs ? from[e / kMost * p.inputs + e % kMost] : 0;
  if (gate == 0) h[i][u] = 0;
  __syncthreads();
  for (int wave = 0; wave < kSteps + kLayers - 1; ++wave) {
    const int t = wave - i;
    const bool runs = on && t >= 0 && t < kSteps;
    float part[4] = {bias};
    if (runs) {
      add(w_x, i == 0 ? x + t * kMost : h[i - 1], part);  // that layer writes its next state after the barrier
      if (gate < 2) {
        add(w_h, h[i], part);
        const float value = gate_of(sum_of(part));
        if (gate == 0) gated[i][u] = value * h[i][u];
        else z[i][u] = value;
        saved_at(p, s, t, u)[16 * gate * units] = value;
      }
    }
    __syncthreads();
    if (runs && gate == 2) {
      add(w_h, gated[i], part);
      const float n = tanhf(sum_of(part)), was = h[i][u];
      float* to = saved_at(p, s, t, u);
      to[32 * units] = n, to[48 * units] = was;
      h[i][u] = fmaf(z[i][u], was - n, n);
      p.at<float>(s.y)[(blockIdx.x * kSteps + t) * units + u] = h[i][u];
    }
    __syncthreads();
  }
  if (gate == 0 && on) p.at<float>(s.h_last)[blockIdx.x * units + u] = h[i][u];
}

}  // namespace tessera::gpu::launch_10
