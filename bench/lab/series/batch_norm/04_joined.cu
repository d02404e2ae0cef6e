// 04 Both sums in one pass, of x less its first row.     --blocks 64 --threads 256 --error 1e-6
// Expected: one barrier instead of two. Bits may differ by an ulp of the variance: it is mean(d^2) - mean(d)^2 with
//   d = x - x[0], in doubles. That loses the part (x[0] - mean)^2 / variance of a double's 1e-16: rows of a batch are
//   some deviations apart, so about 1e-15. On this launch it gives the bits of the original.
// Arithmetic: 03 with a barrier and a wait for eight reads less (140 cycles), and the butterflies of the two sums
//   overlap (100). x[0] is a load beside the others. Issue: 1,894 PTX instructions of a block (counted): 40 fewer.
// Predicted: 1.5 launch + 450 cycles = 1.8 us on an H100: of the launch's 1.5 nothing is left to gain here. Measured:
//   never.
#include "kernels/gpu/emitted/launch.cuh"

namespace tessera::gpu::launch_10 {

struct Parameters : LaunchParameters {
  uint32_t x, gamma, beta, y, mean, var, running_mean, running_var, other_x, other_y, other_mean, other_var;
  int cols, rows, strips;
};

constexpr int kColumns = 8, kLanes = 32, kEach = 4;  // up to 128 rows: a thread has four, 32 apart

extern "C" __global__ void launch_10(const __grid_constant__ Parameters p) {
  __shared__ double sums[8][kColumns], squares[8][kColumns];
  const int block = blockIdx.x, j = threadIdx.x % kColumns, lane = threadIdx.x / kColumns;
  const bool first = block < p.strips;
  const int c = block % p.strips * kColumns + j;
  const float* x = p.at<const float>(first ? p.x : p.other_x) + c;
  float* y = p.at<float>(first ? p.y : p.other_y) + c;
  float own[kEach];
#pragma unroll
  for (int i = 0; i < kEach; ++i) own[i] = lane + i * kLanes < p.rows ? x[(lane + i * kLanes) * p.cols] : 0;
  const double origin = static_cast<double>(x[0]);
  double sum = 0, square = 0;
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    const double d = lane + i * kLanes < p.rows ? static_cast<double>(own[i]) - origin : 0;
    sum += d, square += d * d;
  }
#pragma unroll
  for (int apart = 8; apart < 32; apart *= 2) {
    sum += __shfl_xor_sync(0xffffffff, sum, apart);
    square += __shfl_xor_sync(0xffffffff, square, apart);
  }
  if (threadIdx.x % 32 < kColumns) sums[threadIdx.x / 32][j] = sum, squares[threadIdx.x / 32][j] = square;
  __syncthreads();
  sum = square = 0;
  for (int warp = 0; warp < 8; ++warp) sum += sums[warp][j], square += squares[warp][j];
  const double moved = sum / p.rows, mean = origin + moved, var = square / p.rows - moved * moved;
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
