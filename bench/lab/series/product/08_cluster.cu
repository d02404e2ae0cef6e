// 08 As 06, and blocks of a cluster share the depth.     --blocks 128 --threads 128 --cluster 4 --error 1e-6
// Expected: twice the blocks of 06 with half of its traffic each, but two barriers of the cluster and a read of other
//   blocks' shared memory: 0.7 us together, an estimate. A depth of 256 does not pay for that.
// Arithmetic: 8 x 32 elements, a block 64 of k, a warp 16: it copies (8 x 20 + 16 x 32) x 4 = 2.7 KB, five copies a
//   lane, and multiplies 8 elements a lane, 16 x 8 = 128 cycles. The sums of four warps are added in shared memory,
//   those of four blocks by the block that has the row: two of eight each.
// Predicted: 1.5 launch + .4 data + .1 + .7 = 2.7 us, where 06 has 2.2; at a depth of 1,560 06 has six rounds of its
//   copies, 1.5 + 6 x .5, and this kernel 1.5 + 1.5 x .5 + .7. Measured: never.
#include "kernels/gpu/emitted/launch.cuh"

namespace tessera::gpu::launch_10 {

struct Parameters : LaunchParameters {
  uint32_t product, x, w, bias, y;
  int rows, width;
};

constexpr int kRows = 8, kColumns = 32, kWarps = 4, kBlocks = 4, kDepth = 16, kPitch = kDepth + 4;

extern "C" __global__ void launch_10(const __grid_constant__ Parameters p) {
  __shared__ __align__(16) float a[kWarps][kRows][kPitch], b[kWarps][kDepth][kColumns];
  __shared__ float part[kWarps][kRows][kColumns], block_part[kRows][kColumns];
  const float* x = p.at<const float>(p.x);
  const float* w = p.at<const float>(p.w);
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, across = p.width / kColumns;
  const int tile = blockIdx.x / kBlocks, first_row = tile / across * kRows, first_column = tile % across * kColumns;
  const int rank = cluster_rank();
  float sum[kRows] = {};                                                                        // of column `lane`
  for (int k = (rank * kWarps + warp) * kDepth; k < p.width; k += kBlocks * kWarps * kDepth) {  // once, at 256
    if (lane < kRows * kDepth / 4) {
      const int r = lane / (kDepth / 4), c = lane % (kDepth / 4) * 4, from = first_row + r < p.rows ? first_row + r : 0;
      cp_async_16(&a[warp][r][c], x + from * p.width + k + c, first_row + r < p.rows);
    }
    for (int e = lane; e < kDepth * kColumns / 4; e += 32) {
      const int r = e / (kColumns / 4), c = e % (kColumns / 4) * 4;
      cp_async_16(&b[warp][r][c], w + (k + r) * p.width + first_column + c);
    }
    cp_async_commit();
    cp_async_wait<0>();
    __syncwarp();
    for (int t = 0; t < kDepth; t += 4) {
      float v[4];
#pragma unroll
      for (int q = 0; q < 4; ++q) v[q] = b[warp][t + q][lane];
#pragma unroll
      for (int i = 0; i < kRows; ++i) {
        const float4 own = *reinterpret_cast<const float4*>(&a[warp][i][t]);
        sum[i] += own.x * v[0], sum[i] += own.y * v[1], sum[i] += own.z * v[2], sum[i] += own.w * v[3];
      }
    }
    __syncwarp();  // before the next copies overwrite what others still read
  }
  for (int i = 0; i < kRows; ++i) part[warp][i][lane] = sum[i];
  __syncthreads();
  for (int r = warp; r < kRows; r += kWarps)
    block_part[r][lane] = part[0][r][lane] + part[1][r][lane] + part[2][r][lane] + part[3][r][lane];
  cluster_sync();
  const int r = rank * kRows / kBlocks + warp, row = first_row + r, column = first_column + lane;
  float z = 0;
  if (warp < kRows / kBlocks)
    for (int of = 0; of < kBlocks; ++of) z += from_block(&block_part[r][lane], of);
  cluster_sync();  // no block ends while another one reads its sums
  if (warp >= kRows / kBlocks || row >= p.rows) return;
  z += p.at<const float>(p.bias)[column];
  p.at<float>(p.product)[row * p.width + column] = z;
  p.at<float>(p.y)[row * p.width + column] = z > 0 ? z : 0.2f * z;
}

}  // namespace tessera::gpu::launch_10
