// 00 A dot product a gate, one sequence after the other.     --error 1e-5
// Expected: a chain of additions, four cycles each; a column of the weights lies 288 bytes from number to number.
// Arithmetic: 32 sequences x 24 steps x 72 gates x (56 + 48 + 48) = 8.4 M additions; one chain at a time: 34 M cycles.
//   The processor looks some 500 instructions ahead: two to three chains at a time.
// Predicted: 11 ms at 3 GHz for one chain at a time, 4 to 6 for more. Measured: 6.0 to 6.4 ms (machine loaded).
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

constexpr int kSteps = 24, kParts = 4, kLayers = 3, kMost = 32;

inline float dot(const float* w, int stride, const float* v, int depth) {
  float sum = 0;
  for (int k = 0; k < depth; ++k) sum += w[k * stride] * v[k];
  return sum;
}

inline void layer(const Parameters& p, int i, int b) {
  const Layer s = p.layer(i);
  const int units = p.units, width = 3 * units, depth = i == 0 ? p.inputs : units;
  const float* x = p.at<const float>(i == 0 ? p.x : p.layer(i - 1).y) + b * kSteps * depth;
  const float *w_x = p.at<const float>(s.w_x), *w_h = p.at<const float>(s.w_h), *bias = p.at<const float>(s.bias);
  float* y = p.at<float>(s.y) + b * kSteps * units;
  float h[kMost] = {}, gated[kMost], z[kMost];
  for (int t = 0; t < kSteps; ++t, x += depth, y += units) {
    float* saved = p.at<float>(s.saved) + (b / 16 * kSteps + t) * kParts * units * 16 + b % 16;
    const auto of_x = [&](int j) { return bias[j] + dot(w_x + j, width, x, depth); };
    for (int u = 0; u < units; ++u) {
      const float r = gate_of(of_x(u) + dot(w_h + u, width, h, units));
      z[u] = gate_of(of_x(units + u) + dot(w_h + units + u, width, h, units));
      gated[u] = r * h[u];
      saved[u * 16] = r, saved[(units + u) * 16] = z[u];
    }
    for (int u = 0; u < units; ++u) {
      const float n = tanhf(of_x(2 * units + u) + dot(w_h + 2 * units + u, width, gated, units));
      saved[(2 * units + u) * 16] = n, saved[(3 * units + u) * 16] = h[u];
      y[u] = h[u] = z[u] * (h[u] - n) + n;
    }
  }
  for (int u = 0; u < units; ++u) p.at<float>(s.h_last)[b * units + u] = h[u];
}

extern "C" void launch_10(const Parameters& p) {
  for (int i = 0; i < kLayers; ++i)
    for (int b = 0; b < p.sequences; ++b) layer(p, i, b);
}

}  // namespace tessera::gpu::launch_10
