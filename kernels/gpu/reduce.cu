// sum_rows, sum_cols, row_dot (gpu/bodies/columns.cuh, gpu/bodies/rows.cuh). Sums are accumulated in double, in an
// order fixed by the shape.
#include "kernels/gpu/bodies/columns.cuh"
#include "kernels/gpu/bodies/rows.cuh"

namespace tessera::gpu {
namespace {

__global__ void __launch_bounds__(kThreads) sum_rows_kernel(Mat<const float> x, float* out, double scale) {
  TESS_SHARED(scratch, ColumnScratch);
  sum_rows(x, out, scale, static_cast<int>(blockIdx.x) * kAcross, scratch);
}

void sum_rows_run(const Call& call, int64_t, void* scratch) {
  const double scale = static_cast<const SumRows*>(call.op)->scale;
  launch({dim3(grid_of(call.out[0].cols, kAcross)), dim3(kThreads), 0, gpu_context(scratch).stream}, "sum_rows",
         sum_rows_kernel, Mat<const float>(call.in[0]), static_cast<float*>(call.out[0].data), scale);
}

constexpr int kRowWarps = 4;
template <bool with_y>
__global__ void __launch_bounds__(32 * kRowWarps)
    row_dot_kernel(Mat<const float> x, Mat<const float> y, Mat<float> out, double scale) {
  const int r = static_cast<int>(blockIdx.x) * kRowWarps + static_cast<int>(threadIdx.y);
  if (r < x.rows) row_dot<with_y>(x, y, out, scale, r);
}

template <bool with_y>
void row_run(const Call& call, void* scratch, const char* name, double scale) {
  launch({dim3(grid_of(call.out[0].rows, kRowWarps)), dim3(32, kRowWarps), 0, gpu_context(scratch).stream}, name,
         row_dot_kernel<with_y>, Mat<const float>(call.in[0]), Mat<const float>(call.in[with_y ? 1 : 0]),
         Mat<float>(call.out[0]), scale);
}
void sum_cols_run(const Call& call, int64_t, void* scratch) {
  row_run<false>(call, scratch, "sum_cols", static_cast<const SumCols*>(call.op)->scale);
}
void row_dot_run(const Call& call, int64_t, void* scratch) { row_run<true>(call, scratch, "row_dot", 1); }

}  // namespace

Kernel sum_rows_entry() { return {one_if_any, sum_rows_run, nullptr}; }
Kernel sum_cols_entry() { return {one_if_any, sum_cols_run, nullptr}; }
Kernel row_dot_entry() { return {one_if_any, row_dot_run, nullptr}; }

}  // namespace tessera::gpu
