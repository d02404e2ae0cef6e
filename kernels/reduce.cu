// sum_rows, sum_cols, row_dot. Sums are kept in double and taken in an order fixed by the shape.
#include "kernels/gpu_columns.cuh"

namespace tessera::gpu {
namespace {

// sum_rows: out[0, c] = scale·Σ_r x[r, c].   x [rows, cols] · out [1, cols]
//   4·rows·cols bytes, 1 FLOP an element: bandwidth-bound · a block of 64 × 8 threads owns 8 columns
//   two block barriers · lanes and warps in a fixed order
__global__ void __launch_bounds__(kAcross* kDown) sum_rows_kernel(Mat<const float> x, float* out, double scale) {
  TESS_SHARED(room, ColumnRoom);
  const int c = static_cast<int>(blockIdx.x) * kAcross + static_cast<int>(threadIdx.x);
  double sum = 0;
  if (c < x.cols)
    for (int r = static_cast<int>(threadIdx.y); r < x.rows; r += kDown) sum += static_cast<double>(x.row(r)[c]);
  sum = column_sum(sum, room);
  if (c < x.cols && threadIdx.y == 0) out[c] = static_cast<float>(sum * scale);
}

void sum_rows_run(const Call& call, int64_t, void* scratch) {
  const double scale = static_cast<const SumRows*>(call.op)->scale;
  launch({dim3(grid_of(call.out[0].cols, kAcross)), dim3(kAcross, kDown), 0, gpu_context(scratch).stream}, "sum_rows", sum_rows_kernel, Mat<const float>(call.in[0]),
         static_cast<float*>(call.out[0].data), scale);
}

// row_dot: out[r, 0] = scale·Σ_c x[r, c]·y[r, c], or of x alone: sum_cols.   x, y [rows, cols] · out [rows, 1]
//   4 or 8 bytes and 2 FLOP an element: bandwidth-bound · one warp a row, its lanes a column in 32 · no barrier
//   the order of a row's sum depends on cols alone, so a row has the same bits in any batch
constexpr int kRowWarps = 4;
template <bool with_y>
__global__ void __launch_bounds__(32 * kRowWarps) row_dot_kernel(Mat<const float> x, Mat<const float> y, Mat<float> out, double scale) {
  const int r = static_cast<int>(blockIdx.x) * kRowWarps + static_cast<int>(threadIdx.y);
  if (r >= x.rows) return;
  const float* p = x.row(r);
  double sum = 0;
  for (int c = static_cast<int>(threadIdx.x); c < x.cols; c += 32) {
    const double a = static_cast<double>(p[c]);
    if constexpr (with_y) sum += a * static_cast<double>(y.row(r)[c]);
    else sum += a;
  }
  sum = warp_sum(sum);
  if (threadIdx.x == 0) out.row(r)[0] = static_cast<float>(sum * scale);
}

template <bool with_y>
void row_run(const Call& call, void* scratch, const char* name, double scale) {
  launch({dim3(grid_of(call.out[0].rows, kRowWarps)), dim3(32, kRowWarps), 0, gpu_context(scratch).stream}, name, row_dot_kernel<with_y>, Mat<const float>(call.in[0]),
         Mat<const float>(call.in[with_y ? 1 : 0]), Mat<float>(call.out[0]), scale);
}
void sum_cols_run(const Call& call, int64_t, void* scratch) { row_run<false>(call, scratch, "sum_cols", static_cast<const SumCols*>(call.op)->scale); }
void row_dot_run(const Call& call, int64_t, void* scratch) { row_run<true>(call, scratch, "row_dot", 1); }

}  // namespace

void add_reduce(KernelTable& t) {
  t.sum_rows = {one_if_any, sum_rows_run, nullptr};
  t.sum_cols = {one_if_any, sum_cols_run, nullptr};
  t.row_dot = {one_if_any, row_dot_run, nullptr};
}

}  // namespace tessera::gpu
