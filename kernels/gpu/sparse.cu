// sparse_dense, sparse_pick, sparse_slice, sparse_matmul, sparse_wgrad (gpu/bodies/sparse.cuh).
#include "kernels/gpu/bodies/sparse.cuh"

namespace tessera::gpu {
namespace {

constexpr int kWarps = 4;

__global__ void __launch_bounds__(32 * kWarps) sparse_dense_kernel(Entries e, Mat<float> out) {
  const int p = static_cast<int>(blockIdx.x) * kWarps + static_cast<int>(threadIdx.y);
  if (p < out.rows) sparse_dense(e, out, p);
}
void dense_run(const Call& call, int64_t, void* scratch) {
  launch({dim3(grid_of(call.out[0].rows, kWarps)), dim3(32, kWarps), 0, gpu_context(scratch).stream}, "sparse_dense",
         sparse_dense_kernel, Entries(call, *static_cast<const SparseDense*>(call.op)), Mat<float>(call.out[0]));
}

__global__ void __launch_bounds__(kThreads) sparse_pick_kernel(Pick x) {
  const int64_t item = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (item < static_cast<int64_t>(x.out.rows) * x.out.cols)
    sparse_pick(x, static_cast<int>(item / x.out.cols), static_cast<int>(item % x.out.cols));
}
void pick_run(const Call& call, int64_t, void* scratch) {
  launch({dim3(grid_of(call.out[0].rows * call.out[0].cols, kThreads)), dim3(kThreads), 0, gpu_context(scratch).stream},
         "sparse_pick", sparse_pick_kernel, pick(call));
}

__global__ void __launch_bounds__(kThreads)
    sparse_slice_kernel(int start, int width, Mat<const int32_t> index, Mat<int32_t> out) {
  const int64_t item = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (item >= static_cast<int64_t>(out.rows) * out.cols) return;
  const int p = static_cast<int>(item / out.cols), j = static_cast<int>(item % out.cols);
  const int i = index.row(p)[j] - start;
  out.row(p)[j] = i >= 0 && i < width ? i : -1;
}
void slice_run(const Call& call, int64_t, void* scratch) {
  const auto& op = *static_cast<const SparseSlice*>(call.op);
  launch({dim3(grid_of(call.out[0].rows * call.out[0].cols, kThreads)), dim3(kThreads), 0, gpu_context(scratch).stream},
         "sparse_slice", sparse_slice_kernel, static_cast<int>(op.start), static_cast<int>(op.width),
         Mat<const int32_t>(call.in[0]), Mat<int32_t>(call.out[0]));
}

constexpr int kBlockRows = 4;
__global__ void __launch_bounds__(kThreads) sparse_matmul_kernel(SparseStep x) {
  TESS_SHARED(list, float[kSharedFloats]);
  const int first = static_cast<int>(blockIdx.x) * kBlockRows;
  sparse_matmul(x, rows_between(first, min(first + kBlockRows, x.out.rows)), list);
}
void matmul_run(const Call& call, int64_t, void* scratch) {
  launch({dim3(grid_of(call.out[0].rows, kBlockRows)), dim3(kThreads), 0, gpu_context(scratch).stream}, "sparse_matmul",
         sparse_matmul_kernel, sparse_step<SparseMatmul>(call));
}

__global__ void __launch_bounds__(kThreads) sparse_wgrad_kernel(SparseStep x, Tiling tiling) {
  TESS_SHARED(scratch, float[sizeof(WgradScratch) / sizeof(float)]);
  sparse_wgrad(x, {static_cast<int>(blockIdx.x), tiling, FusedStep::all, nullptr, scratch});
}
void wgrad_run(const Call& call, int64_t, void* scratch) {
  const TiledBlocks all = Fused<SparseWgrad>::tiling(call);
  launch({dim3(static_cast<unsigned>(all.blocks)), dim3(kThreads), 0, gpu_context(scratch).stream}, "sparse_wgrad",
         sparse_wgrad_kernel, sparse_step<SparseWgrad>(call), all.tiling);
}

}  // namespace

Kernel sparse_dense_entry() { return {one_if_any, dense_run, nullptr}; }
Kernel sparse_pick_entry() { return {one_if_any, pick_run, nullptr}; }
Kernel sparse_slice_entry() { return {one_if_any, slice_run, nullptr}; }
Kernel sparse_matmul_entry() { return {one_if_any, matmul_run, nullptr}; }
Kernel sparse_wgrad_entry() { return {one_if_any, wgrad_run, nullptr}; }

}  // namespace tessera::gpu
