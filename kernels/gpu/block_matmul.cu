// block_matmul: products with a weight that is nonzero in blocks only (ops.h).
//   2·M FLOP per element of the blocks, in every form; each block of the weight is read once for every 32 rows
//   A thread block computes a 32 × 32 tile of the result, a thread four elements of a column; it loops over the
//   weight's blocks that overlap the tile, with 32 of their depth at a time in shared memory (8.25 KiB)
//   Factors are rounded on their way into shared memory, and multiplied by the FMA units.
//   two block barriers per stage · an element is one chain over its blocks in order and their depth: the same bits in
//   any batch, no atomics
#include "kernels/gpu/dialect/view.cuh"

namespace tessera::gpu {
namespace {

using Item = BlockTable::Item;
constexpr int kSide = 32, kLines = kThreads / kSide;

struct Operands {
  BlockTable blocks;
  Mat<const float> left, right, addend;
  Mat<float> out;
  Precision factors;
};

// One block in the given form: the rows and columns of the result to which it contributes, and its depth.
struct Meeting {
  int row, rows, col, cols, depth;
  __device__ bool holds(int i, int j) const { return i >= row && i < row + rows && j >= col && j < col + cols; }
  __device__ bool meets(int i, int j) const {
    return i + kSide > row && i < row + rows && j + kSide > col && j < col + cols;
  }
};
template <BlockMatmul::Form form>
__device__ Meeting meeting(const Operands& x, const Item& b) {
  if (form == BlockMatmul::forward) return {0, x.out.rows, b.col, b.cols, b.rows};
  if (form == BlockMatmul::input) return {0, x.out.rows, b.from, b.rows, b.cols};
  return {b.row, b.rows, b.col, b.cols, x.left.rows};
}
template <BlockMatmul::Form form>
__device__ float left_of(const Operands& x, const Item& b, int i, int q) {
  if (form == BlockMatmul::forward) return x.left.row(i)[b.from + q];
  if (form == BlockMatmul::input) return x.left.row(i)[b.col + q];
  return x.left.row(q)[b.from + i - b.row];
}
template <BlockMatmul::Form form>
__device__ float right_of(const Operands& x, const Item& b, int q, int j) {
  if (form == BlockMatmul::forward) return x.right.row(b.row + q)[j];
  if (form == BlockMatmul::input) return x.right.row(b.row + j - b.from)[b.col + q];
  return x.right.row(q)[j];
}

template <BlockMatmul::Form form>
__global__ void __launch_bounds__(kThreads) block_matmul_kernel(Operands x) {
  TESS_SHARED(left, float[kSide][kSide + 1]);
  TESS_SHARED(right, float[kSide][kSide + 1]);
  const int lane = static_cast<int>(threadIdx.x), line = static_cast<int>(threadIdx.y);
  const int row0 = static_cast<int>(blockIdx.x) * kSide, col0 = static_cast<int>(blockIdx.y) * kSide, j = col0 + lane;
  float sum[kSide / kLines] = {};
  for (int k = 0; k < x.blocks.count; ++k) {
    const Item b = x.blocks.items[k];
    const Meeting m = meeting<form>(x, b);
    if (!m.meets(row0, col0)) continue;
    for (int first = 0; first < m.depth; first += kSide) {
      const int count = min(kSide, m.depth - first);
#pragma unroll
      for (int i = line; i < kSide; i += kLines) {
        const float l = lane < count && m.holds(row0 + i, m.col) ? left_of<form>(x, b, row0 + i, first + lane) : 0.0f;
        const float r = i < count && m.holds(m.row, j) ? right_of<form>(x, b, first + i, j) : 0.0f;
        left[i][lane] = rounded(l, x.factors);
        right[i][lane] = rounded(r, x.factors);
      }
      __syncthreads();
#pragma unroll
      for (int n = 0; n < kSide / kLines; ++n) {
        const int i = line + n * kLines;
        if (!m.holds(row0 + i, j)) continue;
        for (int q = 0; q < count; ++q) sum[n] += left[i][q] * right[q][lane];
      }
      __syncthreads();  // the stage may be filled again
    }
  }
#pragma unroll
  for (int n = 0; n < kSide / kLines; ++n) {
    const int i = row0 + line + n * kLines;
    if (i < x.out.rows && j < x.out.cols)
      x.out.row(i)[j] = x.addend ? sum[n] + x.addend.row(x.addend.rows == 1 ? 0 : i)[j] : sum[n];
  }
}

template <BlockMatmul::Form form>
void launch_form(const Call& call, const BlockMatmul& op, void* scratch) {
  const View& out = call.out[0];
  launch(
      {dim3(grid_of(out.rows, kSide), grid_of(out.cols, kSide)), dim3(kSide, kLines), 0, gpu_context(scratch).stream},
      "block_matmul", block_matmul_kernel<form>,
      Operands{*op.blocks, Mat<const float>(call.in[0]), Mat<const float>(call.in[1]),
               Mat<const float>(op.addend ? call.in[2] : View{}), Mat<float>(out), op.factors});
}

void run(const Call& call, int64_t, void* scratch) {
  const auto& op = *static_cast<const BlockMatmul*>(call.op);
  if (op.form == BlockMatmul::forward) launch_form<BlockMatmul::forward>(call, op, scratch);
  else if (op.form == BlockMatmul::input) launch_form<BlockMatmul::input>(call, op, scratch);
  else launch_form<BlockMatmul::weight>(call, op, scratch);
}

}  // namespace

Kernel block_matmul_entry() { return {one_if_any, run, nullptr}; }

}  // namespace tessera::gpu
