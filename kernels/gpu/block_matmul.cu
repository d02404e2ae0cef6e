// block_matmul (gpu/bodies/block_matmul.cuh).
#include "kernels/gpu/bodies/block_matmul.cuh"

namespace tessera::gpu {
namespace {

template <BlockMatmul::Form form>
__global__ void __launch_bounds__(kThreads, 2) block_matmul_kernel(BlockStep x, int across) {
  TESS_SHARED(shared, float[kBlockFloats<form>]);
  const int col = static_cast<int>(blockIdx.y) * across;
  block_tile<form>(x, {static_cast<int>(blockIdx.x) * kBlockSide, col, min(x.out.cols, col + across)}, shared);
}
template <BlockMatmul::Form form>
void launch_form(const Call& call, void* scratch) {
  const View& out = call.out[0];
  const int across = block_tile_cols(form == BlockMatmul::weight, out.rows, out.cols);
  launch(
      {dim3(grid_of(out.rows, kBlockSide), grid_of(out.cols, across)), dim3(kThreads), 0, gpu_context(scratch).stream},
      "block_matmul", block_matmul_kernel<form>, block_step(call), across);
}
void run(const Call& call, int64_t, void* scratch) {
  switch (static_cast<const BlockMatmul*>(call.op)->form) {
    case BlockMatmul::forward: return launch_form<BlockMatmul::forward>(call, scratch);
    case BlockMatmul::input: return launch_form<BlockMatmul::input>(call, scratch);
    case BlockMatmul::weight: return launch_form<BlockMatmul::weight>(call, scratch);
  }
}

}  // namespace

Kernel block_matmul_entry() { return {one_if_any, run, nullptr}; }

}  // namespace tessera::gpu
