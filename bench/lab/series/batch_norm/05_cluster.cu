// 05 As 04, and four blocks of a cluster share the rows.     --blocks 64 --threads 256 --cluster 4 --error 1e-6
// Expected: no gain here. A row's 32 columns are one line of 128 bytes, where 04 reads sectors of 32; but 100 rows are
//   in flight at once either way, and two barriers of the cluster with a read of other blocks' memory come on top, 0.7
//   us, an estimate. It pays where the rows are in several blocks already: behind the tiles of a product.
// Arithmetic: 04's 450 cycles less the butterflies (100), plus 1,200.
// Predicted: 1.5 launch + 1,550 cycles = 2.4 us on an H100, where 04 has 1.8. Measured: never.
#include "kernels/gpu/emitted/launch.cuh"

namespace tessera::gpu::launch_10 {

struct Parameters : LaunchParameters {
  uint32_t x, gamma, beta, y, mean, var, running_mean, running_var, other_x, other_y, other_mean, other_var;
  int cols, rows, strips;
};

constexpr int kColumns = 32, kLanes = 8, kBlocks = 4, kEach = 4;  // up to 32 rows a block, 128 of a cluster

extern "C" __global__ void launch_10(const __grid_constant__ Parameters p) {
  __shared__ double sums[kLanes][kColumns], squares[kLanes][kColumns];
  __shared__ double block_sum[kColumns], block_square[kColumns];
  const int strip = blockIdx.x / kBlocks, across = p.cols / kColumns, j = threadIdx.x % kColumns;
  const int lane = threadIdx.x / kColumns, share = (p.rows + kBlocks - 1) / kBlocks;
  const int begin = cluster_rank() * share, end = begin + share < p.rows ? begin + share : p.rows;
  const bool first = strip < across;
  const int c = strip % across * kColumns + j;
  const float* x = p.at<const float>(first ? p.x : p.other_x) + c;
  float* y = p.at<float>(first ? p.y : p.other_y) + c;
  float own[kEach];
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    const int r = begin + lane + i * kLanes;
    own[i] = r < end ? x[r * p.cols] : 0;
  }
  const double origin = static_cast<double>(x[0]);
  double sum = 0, square = 0;
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    const double d = begin + lane + i * kLanes < end ? static_cast<double>(own[i]) - origin : 0;
    sum += d, square += d * d;
  }
  sums[lane][j] = sum, squares[lane][j] = square;
  __syncthreads();
  if (lane < 2) {  // of the block: one warp adds the sums, one the squares
    double of_block = 0;
    for (int k = 0; k < kLanes; ++k) of_block += lane == 0 ? sums[k][j] : squares[k][j];
    (lane == 0 ? block_sum : block_square)[j] = of_block;
  }
  cluster_sync();
  sum = square = 0;
  for (int k = 0; k < kBlocks; ++k) sum += from_block(&block_sum[j], k), square += from_block(&block_square[j], k);
  cluster_sync();  // no block ends while another one reads its sums
  const double moved = sum / p.rows, mean = origin + moved, var = square / p.rows - moved * moved;
  const float centre = static_cast<float>(mean), shift = p.at<const float>(p.beta)[c];
  const float scale = static_cast<float>(static_cast<double>(p.at<const float>(p.gamma)[c]) / sqrt(var + 1e-5));
#pragma unroll
  for (int i = 0; i < kEach; ++i)
    if (const int r = begin + lane + i * kLanes; r < end)
      y[r * p.cols] = at_least((own[i] - centre) * scale + shift, 0);
  if (lane != 0 || cluster_rank() != 0) return;
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
