// 03 The ReLU behind it in the pass that writes y.     --blocks 64 --threads 256
// Expected: half of what a block waits for disappears with the trip that read y back.
// Arithmetic: 02 without that barrier and trip (700 cycles): 128 + 540, and 20 for the four maxima. Issue: 1,942 PTX
//   instructions of a block (counted), 490 cycles within the waits.
// Predicted: 1.5 launch + 690 cycles = 1.9 us on an H100. The original has these passes, but loads x three times, the
//   last two from the first-level cache; the model gives it 1.9 us. Measured: never.
#include "kernels/gpu/emitted/launch.cuh"

namespace tessera::gpu::launch_10 {

struct Parameters : LaunchParameters {
  uint32_t x, gamma, beta, y, mean, var, running_mean, running_var, other_x, other_y, other_mean, other_var;
  int cols, rows, strips;
};

constexpr int kColumns = 8, kLanes = 32, kEach = 4;  // up to 128 rows: a thread has four, 32 apart

// The sum of a column, to all its threads: four lanes of a warp by a butterfly, then the warps in order.
__device__ inline double sum_of(double own, double (&parts)[8][kColumns], int j) {
  own += __shfl_xor_sync(0xffffffff, own, 8);
  own += __shfl_xor_sync(0xffffffff, own, 16);
  if (threadIdx.x % 32 < kColumns) parts[threadIdx.x / 32][j] = own;
  __syncthreads();
  double sum = 0;
  for (int warp = 0; warp < 8; ++warp) sum += parts[warp][j];
  return sum;
}

extern "C" __global__ void launch_10(const __grid_constant__ Parameters p) {
  __shared__ double sums[8][kColumns], squares[8][kColumns];  // of each its own: no barrier between the two
  const int block = blockIdx.x, j = threadIdx.x % kColumns, lane = threadIdx.x / kColumns;
  const bool first = block < p.strips;
  const int c = block % p.strips * kColumns + j;
  const float* x = p.at<const float>(first ? p.x : p.other_x) + c;
  float* y = p.at<float>(first ? p.y : p.other_y) + c;
  float own[kEach];
#pragma unroll
  for (int i = 0; i < kEach; ++i) own[i] = lane + i * kLanes < p.rows ? x[(lane + i * kLanes) * p.cols] : 0;
  double sum = 0, square = 0;
#pragma unroll
  for (int i = 0; i < kEach; ++i) sum += static_cast<double>(own[i]);
  const double mean = sum_of(sum, sums, j) / p.rows;
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    const double d = static_cast<double>(own[i]) - mean;
    square += lane + i * kLanes < p.rows ? d * d : 0;
  }
  const double var = sum_of(square, squares, j) / p.rows;
  const float centre = static_cast<float>(mean), shift = p.at<const float>(p.beta)[c];
  const float scale = static_cast<float>(static_cast<double>(p.at<const float>(p.gamma)[c]) / sqrt(var + 1e-5));
#pragma unroll
  for (int i = 0; i < kEach; ++i)
    if (const int r = lane + i * kLanes; r < p.rows) y[r * p.cols] = at_least((own[i] - centre) * scale + shift, 0);
  if (lane != 0) return;
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
