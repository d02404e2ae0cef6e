// 01 Row by row: the inner loop is along columns, so it becomes vectors.     --error 1e-6
// Expected: lines are used whole, and vectors of doubles add; the sums of 256 columns travel to the first-level cache
//   and back for each row, as in 01 of the product.
// Arithmetic: 6,400 vectors of 8. A sum: load a sum, x, convert, add, store: two cycles, 13 k; the variance two
//   instructions more: 19 k. y and ReLU read and write 820 KB, at 32 bytes a cycle of the second-level cache: 26 k.
// Predicted: 19 us at 3 GHz. Measured: 23 to 28 us (machine loaded), Tessera's own kernels 27.
#include "kernels/gpu/emitted/launch.cuh"

namespace tessera::gpu::launch_10 {

struct Parameters : LaunchParameters {
  uint32_t x, gamma, beta, y, mean, var, running_mean, running_var, other_x, other_y, other_mean, other_var;
  int cols, rows, strips;
};

// running <- .9 running + .1 of this batch
inline void note(const Parameters& p, int c) {
  float &was_mean = p.at<float>(p.running_mean)[c], &was_var = p.at<float>(p.running_var)[c];
  const double unbiased = static_cast<double>(p.rows) / (p.rows - 1);
  was_mean =
      static_cast<float>((1 - .1) * static_cast<double>(was_mean) + .1 * static_cast<double>(p.at<float>(p.mean)[c]));
  was_var = static_cast<float>((1 - .1) * static_cast<double>(was_var) +
                               .1 * unbiased * static_cast<double>(p.at<float>(p.var)[c]));
}

constexpr int kMost = 256;  // columns

inline void norm(const Parameters& p, uint32_t x_at, uint32_t y_at, uint32_t mean_at, uint32_t var_at) {
  const float *gamma = p.at<const float>(p.gamma), *beta = p.at<const float>(p.beta), *x = p.at<const float>(x_at);
  float* y = p.at<float>(y_at);
  double mean[kMost] = {}, square[kMost] = {};
  float centre[kMost], scale[kMost];
  for (int r = 0; r < p.rows; ++r)
    for (int c = 0; c < p.cols; ++c) mean[c] += static_cast<double>(x[r * p.cols + c]);
  for (int c = 0; c < p.cols; ++c) mean[c] /= p.rows;
  for (int r = 0; r < p.rows; ++r)
    for (int c = 0; c < p.cols; ++c) {
      const double d = static_cast<double>(x[r * p.cols + c]) - mean[c];
      square[c] += d * d;
    }
  for (int c = 0; c < p.cols; ++c) {
    const double var = square[c] / p.rows;
    p.at<float>(mean_at)[c] = centre[c] = static_cast<float>(mean[c]);
    p.at<float>(var_at)[c] = static_cast<float>(var);
    scale[c] = static_cast<float>(static_cast<double>(gamma[c]) / sqrt(var + 1e-5));
  }
  for (int r = 0; r < p.rows; ++r)
#pragma GCC ivdep
    for (int c = 0; c < p.cols; ++c) y[r * p.cols + c] = (x[r * p.cols + c] - centre[c]) * scale[c] + beta[c];
  for (int i = 0; i < p.rows * p.cols; ++i) y[i] = at_least(y[i], 0);
}

extern "C" void launch_10(const Parameters& p) {
  norm(p, p.x, p.y, p.mean, p.var);
  norm(p, p.other_x, p.other_y, p.other_mean, p.other_var);
  for (int c = 0; c < p.cols; ++c) note(p, c);
}

}  // namespace tessera::gpu::launch_10
