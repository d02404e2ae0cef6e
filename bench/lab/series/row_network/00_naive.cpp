// 00 Layer after layer, a dot product an element.     --error 1e-6
// Expected: chains of additions, four cycles each, and a column of the weights lies 512 bytes from number to number.
// Arithmetic: 100 rows x 128 x (128 + 128 + 63) = 4.08 M additions x 4 cycles = 16 M; the processor looks far enough
//   ahead to begin the next chain, but not for two whole ones.
// Predicted: 5.4 ms at 3 GHz for one chain at a time, 2.7 for two. Measured: 3.4 to 3.5 ms (machine loaded).
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

  Layer layer(int i) const { return i < 2 ? hidden[i] : Layer{last_w, last_bias, logits, 0}; }
  int columns(int i) const { return i < 2 ? width : last_width; }
};

constexpr int kLayers = 3;

extern "C" void launch_10(const Parameters& p) {
  const float* x = p.at<const float>(p.x);
  for (int i = 0; i < kLayers; ++i) {
    const Layer s = p.layer(i);
    const int n = p.columns(i);
    const float *w = p.at<const float>(s.w), *bias = p.at<const float>(s.bias);
    for (int r = 0; r < p.rows; ++r)
      for (int c = 0; c < n; ++c) {
        float sum = 0;
        for (int k = 0; k < p.width; ++k) sum += x[r * p.width + k] * w[k * n + c];
        p.at<float>(s.product)[r * n + c] = sum + bias[c];
      }
    if (i == kLayers - 1) return;
    for (int e = 0; e < p.rows * n; ++e) {
      const float z = p.at<float>(s.product)[e];
      p.at<float>(s.y)[e] = z > 0 ? z : 0.0f * z;
    }
    x = p.at<const float>(s.y);
  }
}

}  // namespace tessera::gpu::launch_10
