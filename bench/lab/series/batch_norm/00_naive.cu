// 00 A thread a column, an op a pass.     --blocks 2 --threads 256
// Expected: two of 132 multiprocessors work, and every pass waits for the second-level cache.
// Arithmetic: two matrices of 100 x 256, a block each. Four passes (mean, variance, y, ReLU) of 102 KB: 410 KB at 25
//   bytes a cycle, 16,400 cycles. No load waits for a sum, but few are in flight: four at a time are 4 x 25 trips of
//   270 cycles, 27,000. Sums are double, in the order of the original, whose bits they give. Issue: 37,080 PTX
//   instructions of a block's 8 warps (counted) on 4 schedulers, 9,270 cycles.
// Predicted: 1.5 launch + 9.3 (traffic) to 15.4 (trips) = 10.8 to 16.9 us on an H100. Measured: never.
#include "kernels/gpu/emitted/launch.cuh"

namespace tessera::gpu::launch_10 {

struct Parameters : LaunchParameters {
  uint32_t x, gamma, beta, y, mean, var, running_mean, running_var, other_x, other_y, other_mean, other_var;
  int cols, rows, strips;
};

// The sum of of(row) over a column. The order of the original: 32 threads share the rows, a warp has four of them.
template <class Of>
__device__ inline double sum_of(int rows, Of&& of) {
  double sum = 0;
  for (int warp = 0; warp < 8; ++warp) {
    double part[4] = {};
    for (int q = 0; q < 4; ++q)
      for (int r = 4 * warp + q; r < rows; r += 32) part[q] += of(r);
    sum += (part[0] + part[1]) + (part[2] + part[3]);
  }
  return sum;
}

extern "C" __global__ void launch_10(const __grid_constant__ Parameters p) {
  const bool first = blockIdx.x == 0;
  const int c = threadIdx.x;
  const float* x = p.at<const float>(first ? p.x : p.other_x) + c;
  float* y = p.at<float>(first ? p.y : p.other_y) + c;
  const double mean = sum_of(p.rows, [&](int r) { return static_cast<double>(x[r * p.cols]); }) / p.rows;
  const auto square = [&](int r) {
    const double d = static_cast<double>(x[r * p.cols]) - mean;
    return d * d;
  };
  const double var = sum_of(p.rows, square) / p.rows;
  const float centre = static_cast<float>(mean), shift = p.at<const float>(p.beta)[c];
  const float scale = static_cast<float>(static_cast<double>(p.at<const float>(p.gamma)[c]) / sqrt(var + 1e-5));
  for (int r = 0; r < p.rows; ++r) y[r * p.cols] = (x[r * p.cols] - centre) * scale + shift;
  for (int r = 0; r < p.rows; ++r) y[r * p.cols] = at_least(y[r * p.cols], 0);
  p.at<float>(first ? p.mean : p.other_mean)[c] = centre;
  p.at<float>(first ? p.var : p.other_var)[c] = static_cast<float>(var);
  if (!first) return;
  float &was_mean = p.at<float>(p.running_mean)[c], &was_var = p.at<float>(p.running_var)[c];
  const double unbiased = static_cast<double>(p.rows) / (p.rows - 1);
  const double now_var = static_cast<double>(static_cast<float>(var));
  was_mean = static_cast<float>((1 - .1) * static_cast<double>(was_mean) + .1 * static_cast<double>(centre));
  was_var = static_cast<float>((1 - .1) * static_cast<double>(was_var) + .1 * unbiased * now_var);
}

}  // namespace tessera::gpu::launch_10
