// 01 A block a strip of 8 columns, which is read once, to shared memory.     --blocks 64 --threads 256
// Expected: 64 multiprocessors instead of two; the barriers of the sums bind, not the memory.
// Arithmetic: 2 x 32 strips; 8 floats are a sector of 32 bytes. A block has 100 x 32 bytes, at 25 a cycle: 128. A sum:
//   a thread adds four rows (4 x 30 cycles of shared memory) and stores its part, a barrier (40), a thread of four adds
//   their parts (70), a barrier (40), all add eight of those (100), a barrier (40): 410 cycles, twice. y goes out, and
//   its ReLU reads it back: a barrier and a trip, 700. Issue: 3,115 PTX instructions of a block (counted, the original
//   3,826), 780 cycles within these waits.
// Predicted: 1.5 launch + (128 + 820 + 700) cycles = 2.4 us on an H100. Measured: never.
#include "kernels/gpu/emitted/launch.cuh"

namespace tessera::gpu::launch_10 {

struct Parameters : LaunchParameters {
  uint32_t x, gamma, beta, y, mean, var, running_mean, running_var, other_x, other_y, other_mean, other_var;
  int cols, rows, strips;
};

constexpr int kColumns = 8, kLanes = 32, kMost = 128;  // rows of a thread are 32 apart, the order of the original

using Parts = double[kLanes][kColumns];

// The sum of a column, to all its threads.
__device__ inline double sum_of(double own, Parts& parts, int lane, int j) {
  parts[lane][j] = own;
  __syncthreads();
  if (lane % 4 == 0) parts[lane][j] = (parts[lane][j] + parts[lane + 1][j]) + (parts[lane + 2][j] + parts[lane + 3][j]);
  __syncthreads();
  double sum = 0;
  for (int warp = 0; warp < 8; ++warp) sum += parts[4 * warp][j];
  __syncthreads();
  return sum;
}

extern "C" __global__ void launch_10(const __grid_constant__ Parameters p) {
  __shared__ float strip[kMost][kColumns];
  __shared__ double parts[kLanes][kColumns];
  const int block = blockIdx.x, j = threadIdx.x % kColumns, lane = threadIdx.x / kColumns;
  const bool first = block < p.strips;
  const int c = block % p.strips * kColumns + j;
  const float* x = p.at<const float>(first ? p.x : p.other_x) + c;
  float* y = p.at<float>(first ? p.y : p.other_y) + c;
  for (int r = lane; r < p.rows; r += kLanes) strip[r][j] = x[r * p.cols];
  double own = 0;
  for (int r = lane; r < p.rows; r += kLanes) own += static_cast<double>(strip[r][j]);
  const double mean = sum_of(own, parts, lane, j) / p.rows;
  own = 0;
  for (int r = lane; r < p.rows; r += kLanes) {
    const double d = static_cast<double>(strip[r][j]) - mean;
    own += d * d;
  }
  const double var = sum_of(own, parts, lane, j) / p.rows;
  const float centre = static_cast<float>(mean), shift = p.at<const float>(p.beta)[c];
  const float scale = static_cast<float>(static_cast<double>(p.at<const float>(p.gamma)[c]) / sqrt(var + 1e-5));
  for (int r = lane; r < p.rows; r += kLanes) y[r * p.cols] = (strip[r][j] - centre) * scale + shift;
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
