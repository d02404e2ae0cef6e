// sparse_dense, sparse_pick, sparse_matmul, sparse_wgrad: rows with a few entries, kept as (index, value) instead of one-hot blocks.
//   entry j of row p is column (j / per)·width + index[p, j] of the dense row; its weight is value[p, j], 1 where there is no value tensor.
//   index, value [rows, entries] · dense [rows, blocks·width] · weight [blocks·width, N]
#include "kernels/gpu_map.cuh"

namespace tessera::gpu {
namespace {

struct Entries {
  Mat<const int32_t> index;
  Mat<const float> value;
  int width, per;
  template <class Op>
  Entries(const Call& call, const Op& op) : index(call.in[0]), value(call.in[1]), width(static_cast<int>(op.width)), per(static_cast<int>(op.per)) {}
  // The dense column of entry j of row p, or −1.
  __device__ int column(int p, int j) const {
    const int i = index.row(p)[j];
    return i < 0 ? -1 : j / per * width + i;
  }
  __device__ float weight(int p, int j) const { return value ? value.row(p)[j] : 1.0f; }
};

constexpr int kWarps = 4;

// sparse_dense: out = the dense rows, entries of one column added in order.   4·rows·(blocks·width + 2·entries) bytes: bandwidth-bound
//   one warp a row: its lanes write zeros, then each adds the entries of whole blocks, which no other lane touches · one warp barrier
__global__ void __launch_bounds__(32 * kWarps) sparse_dense_kernel(Entries e, Mat<float> out) {
  const int p = static_cast<int>(blockIdx.x) * kWarps + static_cast<int>(threadIdx.y), lane = static_cast<int>(threadIdx.x);
  if (p >= out.rows) return;
  float* to = out.row(p);
  for (int c = lane; c < out.cols; c += 32) to[c] = 0;
  __syncwarp();
  const int blocks = e.index.cols / e.per;
  for (int b = lane; b < blocks; b += 32)
    for (int j = b * e.per; j < (b + 1) * e.per; ++j)
      if (const int c = e.column(p, j); c >= 0) to[c] += e.weight(p, j);
}

void dense_run(const Call& call, int64_t, void* scratch) {
  launch({dim3(grid_of(call.out[0].rows, kWarps)), dim3(32, kWarps), 0, gpu_context(scratch).stream}, "sparse_dense", sparse_dense_kernel,
         Entries(call, *static_cast<const SparseDense*>(call.op)), Mat<float>(call.out[0]));
}

// sparse_pick: out[p, j] = the dense row at entry j, 0 for no entry: the transpose of sparse_dense.   12 bytes an entry: bandwidth-bound · a thread an entry, exact
__global__ void __launch_bounds__(256) sparse_pick_kernel(Mat<const int32_t> index, Mat<const float> dense, Mat<float> out, int width, int per) {
  const int64_t item = static_cast<int64_t>(blockIdx.x) * 256 + threadIdx.x;
  if (item >= static_cast<int64_t>(out.rows) * out.cols) return;
  const int p = static_cast<int>(item / out.cols), j = static_cast<int>(item % out.cols), i = index.row(p)[j];
  out.row(p)[j] = i < 0 ? 0.0f : dense.row(p)[j / per * width + i];
}

void pick_run(const Call& call, int64_t, void* scratch) {
  const auto& op = *static_cast<const SparsePick*>(call.op);
  launch({dim3(grid_of(call.out[0].rows * call.out[0].cols, 256)), dim3(256), 0, gpu_context(scratch).stream}, "sparse_pick", sparse_pick_kernel, Mat<const int32_t>(call.in[0]),
         Mat<const float>(call.in[1]), Mat<float>(call.out[0]), static_cast<int>(op.width), static_cast<int>(op.per));
}

// sparse_matmul: out = dense·weight (+ addend [rows, N] or [1, N]).   2·rows·entries·N FLOP instead of 2·rows·blocks·width·N
//   reads entries rows of the weight a row, which stays in L2: bandwidth-bound there
//   a block: 32 chunks of four columns × 4 rows; entries of the block's rows are staged 32 at a time in shared memory
//   two block barriers a stage · a row's sum runs over its entries in order, so it has the same bits in any batch
constexpr int kEntryRows = 4, kStage = 32;
__global__ void __launch_bounds__(32 * kEntryRows) sparse_matmul_kernel(Entries e, Operand weight, Operand addend, Target out) {
  TESS_SHARED(column, int[kEntryRows][kStage]);
  TESS_SHARED(value, float[kEntryRows][kStage]);
  const int lane = static_cast<int>(threadIdx.x), y = static_cast<int>(threadIdx.y), p = static_cast<int>(blockIdx.y) * kEntryRows + y;
  const int c = (static_cast<int>(blockIdx.x) * 32 + lane) * kChunk, n = min(kChunk, out.cols - c);
  const bool row = p < out.rows, in = row && n > 0;
  float acc[kChunk] = {};
  for (int first = 0; first < e.index.cols; first += kStage) {
    const int j = first + lane;
    const bool entry = row && j < e.index.cols;
    column[y][lane] = entry ? e.column(p, j) : -1;
    value[y][lane] = entry ? e.weight(p, j) : 0.0f;
    __syncthreads();
    if (in) {
      const int count = min(kStage, e.index.cols - first);
      for (int k = 0; k < count; ++k) {
        if (column[y][k] < 0) continue;
        float w[kChunk];
        load_chunk(weight, column[y][k], c, n, w);
#pragma unroll
        for (int q = 0; q < kChunk; ++q) acc[q] += value[y][k] * w[q];
      }
    }
    __syncthreads();
  }
  if (!in) return;
  if (addend.data != nullptr) {
    float more[kChunk];
    load_chunk(addend, p, c, n, more);
#pragma unroll
    for (int q = 0; q < kChunk; ++q) acc[q] += more[q];
  }
  store_chunk(out, p, c, n, acc);
}

Operand operand(const View& v) { return {static_cast<const float*>(v.data), v.rows == 1 ? 0 : v.ld, 1, aligned16(v)}; }

void matmul_run(const Call& call, int64_t, void* scratch) {
  const auto& op = *static_cast<const SparseMatmul*>(call.op);
  const View& out = call.out[0];
  launch({dim3(grid_of(out.cols, 32 * kChunk), grid_of(out.rows, kEntryRows)), dim3(32, kEntryRows), 0, gpu_context(scratch).stream}, "sparse_matmul", sparse_matmul_kernel,
         Entries(call, op), operand(call.in[2]), op.addend ? operand(call.in[3]) : Operand{},
         Target{static_cast<float*>(out.data), out.ld, static_cast<int>(out.rows), static_cast<int>(out.cols), aligned16(out)});
}

// sparse_wgrad: out = denseᵀ·d (+ addend [blocks·width, N]).   d [rows, N] · out [blocks·width, N]
//   one warp a row of out and 128 columns: it looks through the entries of its block 32 at a time, and adds the rows of d that belong to its own
//   4·(blocks·width·N + matches·N) bytes and rows·per index reads a warp, all from cache: bandwidth-bound
//   no barrier and no atomics: matches are found by ballot and added in the order of the entries
__global__ void __launch_bounds__(32 * kWarps) sparse_wgrad_kernel(Entries e, Operand d, Operand addend, Target out) {
  const int w = static_cast<int>(blockIdx.x) * kWarps + static_cast<int>(threadIdx.y), lane = static_cast<int>(threadIdx.x);
  if (w >= out.rows) return;
  const int c = (static_cast<int>(blockIdx.y) * 32 + lane) * kChunk, n = min(kChunk, out.cols - c);
  const int block = w / e.width, wanted = w % e.width, count = e.index.rows * e.per;
  float acc[kChunk] = {};
  if (n > 0 && addend.data != nullptr) load_chunk(addend, w, c, n, acc);
  for (int first = 0; first < count; first += 32) {
    const int i = first + lane, p = i / e.per, j = block * e.per + i % e.per;
    unsigned matches = __ballot_sync(kWholeWarp, i < count && e.index.row(p)[j] == wanted);
    while (matches != 0) {
      const int at = first + __ffs(static_cast<int>(matches)) - 1, row = at / e.per;
      matches &= matches - 1;
      if (n <= 0) continue;
      const float v = e.weight(row, block * e.per + at % e.per);
      float x[kChunk];
      load_chunk(d, row, c, n, x);
#pragma unroll
      for (int q = 0; q < kChunk; ++q) acc[q] += v * x[q];
    }
  }
  if (n > 0) store_chunk(out, w, c, n, acc);
}

void wgrad_run(const Call& call, int64_t, void* scratch) {
  const auto& op = *static_cast<const SparseWgrad*>(call.op);
  const View& out = call.out[0];
  launch({dim3(grid_of(out.rows, kWarps), grid_of(out.cols, 32 * kChunk)), dim3(32, kWarps), 0, gpu_context(scratch).stream}, "sparse_wgrad", sparse_wgrad_kernel, Entries(call, op),
         operand(call.in[2]), op.addend ? operand(call.in[3]) : Operand{},
         Target{static_cast<float*>(out.data), out.ld, static_cast<int>(out.rows), static_cast<int>(out.cols), aligned16(out)});
}

}  // namespace

void add_sparse(KernelTable& t) {
  t.sparse_dense = {one_if_any, dense_run, nullptr};
  t.sparse_pick = {one_if_any, pick_run, nullptr};
  t.sparse_matmul = {one_if_any, matmul_run, nullptr};
  t.sparse_wgrad = {one_if_any, wgrad_run, nullptr};
}

}  // namespace tessera::gpu
