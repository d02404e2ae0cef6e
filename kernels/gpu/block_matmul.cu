// block_matmul (gpu/bodies/block_matmul.cuh).
#include "kernels/gpu/bodies/block_matmul.cuh"

namespace tessera::gpu {
namespace {

template <BlockMatmul::Form form>
__global__ void __launch_bounds__(kThreads) block_matmul_kernel(BlockStep x) {
  TESS_SHARED(room, float[sizeof(BlockRoom) / sizeof(float)]);
  block_tile<form>(x, static_cast<int>(blockIdx.x) * kBlockSide, static_cast<int>(blockIdx.y) * kBlockSide, room);
}
template <BlockMatmul::Form form>
void launch_form(const Call& call, void* scratch) {
  const View& out = call.out[0];
  launch({dim3(grid_of(out.rows, kBlockSide), grid_of(out.cols, kBlockSide)), dim3(kThreads), 0,
          gpu_context(scratch).stream},
         "block_matmul", block_matmul_kernel<form>, block_step(call));
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
