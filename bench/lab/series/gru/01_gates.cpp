// 01 A row of the weights after the other, for all gates at once.     --error 1e-5
// Expected: vectors along the gates; then the calls of exp and tanh take most of the time.
// Arithmetic: 768 steps of sequences, each three layers: 80 + 72 + 72 rows of 72, 48 and 24 gates. The sums of a row
//   go to the first-level cache and back before the next: 10 to 14 cycles, 2 M. 166 k functions, 110 k of exp and a
//   quotient (30 cycles), 55 k of tanh (40): 5.5 M.
// Predicted: 2.5 ms at 3 GHz. Measured: 1.6 to 2.3 ms (machine loaded).
#include "kernels/gpu/emitted/launch.cuh"

namespace tessera::gpu::launch_10 {

struct Layer {
  uint32_t w_x, w_h, bias, y, h_last, saved;
};
struct Parameters : LaunchParameters {
  uint32_t x, length, w_x, w_h, bias, y, h_last, saved;  // of the first layer
  Layer further[2];
  int sequences, inputs, units;

  Layer layer(int i) const { return i > 0 ? further[i - 1] : Layer{w_x, w_h, bias, y, h_last, saved}; }
};

constexpr int kSteps = 24, kParts = 4, kLayers = 3, kUnits = 24, kWidth = 3 * kUnits;

// sum += v * w, columns from `first` on
template <int first, int end>
inline void add(float* sum, const float* w, const float* v, int depth) {
  for (int k = 0; k < depth; ++k)
#pragma GCC ivdep
    for (int j = first; j < end; ++j) sum[j] += v[k] * w[k * kWidth + j];
}

inline void layer(const Parameters& p, int i, int b) {
  const Layer s = p.layer(i);
  const int depth = i == 0 ? p.inputs : kUnits;
  const float* x = p.at<const float>(i == 0 ? p.x : p.layer(i - 1).y) + b * kSteps * depth;
  const float *w_x = p.at<const float>(s.w_x), *w_h = p.at<const float>(s.w_h), *bias = p.at<const float>(s.bias);
  float* y = p.at<float>(s.y) + b * kSteps * kUnits;
  float h[kUnits] = {}, gated[kUnits], z[kUnits];
  for (int t = 0; t < kSteps; ++t, x += depth, y += kUnits) {
    float* saved = p.at<float>(s.saved) + (b / 16 * kSteps + t) * kParts * kUnits * 16 + b % 16;
    float sum[kWidth];
    for (int j = 0; j < kWidth; ++j) sum[j] = bias[j];
    add<0, kWidth>(sum, w_x, x, depth);
    add<0, 2 * kUnits>(sum, w_h, h, kUnits);
    for (int u = 0; u < kUnits; ++u) {
      const float r = gate_of(sum[u]);
      z[u] = gate_of(sum[kUnits + u]);
      gated[u] = r * h[u];
      saved[u * 16] = r, saved[(kUnits + u) * 16] = z[u];
    }
    add<2 * kUnits, kWidth>(sum, w_h, gated, kUnits);
    for (int u = 0; u < kUnits; ++u) {
      const float n = tanhf(sum[2 * kUnits + u]);
      saved[(2 * kUnits + u) * 16] = n, saved[(3 * kUnits + u) * 16] = h[u];
      y[u] = h[u] = z[u] * (h[u] - n) + n;
    }
  }
  for (int u = 0; u < kUnits; ++u) p.at<float>(s.h_last)[b * kUnits + u] = h[u];
}

extern "C" void launch_10(const Parameters& p) {
  for (int i = 0; i < kLayers; ++i)
    for (int b = 0; b < p.sequences; ++b) layer(p, i, b);
}

}  // namespace tessera::gpu::launch_10
