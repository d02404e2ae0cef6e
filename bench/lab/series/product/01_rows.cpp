// 01 Row by row of the weights: the inner loop is along columns, so it becomes vectors.     --error 1e-6
// Expected: bound by loads and stores of the sums, which go to the first-level cache and back for each k.
// Arithmetic: 1.97 M multiply-adds / 16 lanes = 123 k vectors (246 k of 8 lanes, if the compiler takes those); each
//   two loads, a store, a multiplication, an addition: one to two cycles. 123 k to 490 k cycles.
// Predicted: 40 to 160 us. Measured: 91 to 138 us (machine loaded).
#include "kernels/gpu/emitted/launch.cuh"

namespace tessera::gpu::launch_10 {

struct Parameters : LaunchParameters {
  uint32_t product, x, w, bias, y;
  int rows, width;
};

extern "C" void launch_10(const Parameters& p) {
  const float *x = p.at<const float>(p.x), *w = p.at<const float>(p.w), *bias = p.at<const float>(p.bias);
  for (int i = 0; i < p.rows; ++i) {
    float* sum = p.at<float>(p.product) + i * p.width;
    float* y = p.at<float>(p.y) + i * p.width;
    for (int j = 0; j < p.width; ++j) sum[j] = 0;
    for (int k = 0; k < p.width; ++k) {
      const float factor = x[i * p.width + k];
#pragma GCC ivdep
      for (int j = 0; j < p.width; ++j) sum[j] += factor * w[k * p.width + j];
    }
    for (int j = 0; j < p.width; ++j) {
      sum[j] += bias[j];
      y[j] = sum[j] > 0 ? sum[j] : 0.2f * sum[j];
    }
  }
}

}  // namespace tessera::gpu::launch_10
