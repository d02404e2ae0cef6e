// 02 A thread's rows in registers, sums by shuffles.     --blocks 64 --threads 256
// Expected: shared memory is left for what crosses warps: one barrier a sum instead of three.
// Arithmetic: as 01, but a sum is four additions (4 x 8 cycles), two butterflies of a double (2 x 2 shuffles of 25), a
//   barrier (40) and eight reads (100): 270 cycles, twice. Doubles are added at half the rate of floats, of no weight
//   for 14 such instructions a warp and sum. Issue: 2,295 PTX instructions of a block (counted), 570 cycles.
// Predicted: 1.5 launch + (128 + 540 + 700) cycles = 2.3 us on an H100. Measured: never.
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
    if (const int r = lane + i * kLanes; r < p.rows) y[r * p.cols] = (own[i] - centre) * scale + shift;
  __syncthreads();  // the next pass could share y in another way
  for (int r = lane; r < p.rows; r += kLanes) y[r * p.cols] = at_least(y[r * p.cols], 0);
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
