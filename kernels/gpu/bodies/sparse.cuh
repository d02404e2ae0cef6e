// sparse_dense, sparse_pick, sparse_matmul, sparse_wgrad: rows with a few entries, kept as (index, value) instead of
// one-hot blocks.
//   entry j of row p is column (j / per)·width + index[p, j] of the dense row; its weight is value[p, j], or 1 without
//       a value tensor.
//   index, value [rows, entries] · dense [rows, blocks·width] · weight [blocks·width, N]
#pragma once
#include "kernels/gpu/bodies/chain.cuh"

namespace tessera::gpu {

struct Entries {
  Mat<const int32_t> index;
  Mat<const float> value;
  int width, per;
  template <class Op>
  Entries(const Call& call, const Op& op)
      : index(call.in[0]), value(call.in[1]), width(static_cast<int>(op.width)), per(static_cast<int>(op.per)) {}
  // The dense column of entry j of row p, or −1.
  __device__ int column(int p, int j) const {
    const int i = index.row(p)[j];
    return i < 0 ? -1 : j / per * width + i;
  }
  __device__ float weight(int p, int j) const { return value ? value.row(p)[j] : 1.0f; }
};

// sparse_dense: out = the dense rows, entries of one column added in order.   4·rows·(blocks·width + 2·entries) bytes:
// bandwidth-bound
//   one warp per row: its lanes write zeros, then each adds the entries of whole blocks, which no other lane touches ·
//       one warp barrier
__device__ inline void sparse_dense(const Entries& e, const Mat<float>& out, int p) {
  float* to = out.row(p);
  for (int c = lane_id(); c < out.cols; c += 32) to[c] = 0;
  __syncwarp();
  const int blocks = e.index.cols / e.per;
  for (int b = lane_id(); b < blocks; b += 32)
    for (int j = b * e.per; j < (b + 1) * e.per; ++j)
      if (const int c = e.column(p, j); c >= 0) to[c] += e.weight(p, j);
}

// sparse_pick: out[p, j] = the dense row at entry j, 0 for no entry: the transpose of sparse_dense.   12 bytes per
// entry: bandwidth-bound · one thread per entry, exact
struct Pick {
  Mat<const int32_t> index;
  Mat<const float> dense;
  Mat<float> out;
  int width, per;
};
inline Pick pick(const Call& call) {
  const auto& op = *static_cast<const SparsePick*>(call.op);
  return {Mat<const int32_t>(call.in[0]), Mat<const float>(call.in[1]), Mat<float>(call.out[0]),
          static_cast<int>(op.width), static_cast<int>(op.per)};
}
__device__ inline void sparse_pick(const Pick& x, int p, int j) {
  const int i = x.index.row(p)[j];
  x.out.row(p)[j] = i < 0 ? 0.0f : x.dense.row(p)[j / x.per * x.width + i];
}

// sparse_matmul: out = dense·weight (+ addend [rows, N] or [1, N]), four columns of one row.   2·rows·entries·N FLOP
// instead of 2·rows·blocks·width·N
//   reads `entries` weight rows per row, from L2: bandwidth-bound there
//   eight weight rows are on their way at a time
//   a row's sum runs over its entries in order, so it has the same bits in any batch; what is no entry adds 0·0, which
//   changes no bit of a sum that began with 0
__device__ inline void sparse_matmul_chunk(const Entries& e, const Operand& weight, const Operand& addend,
                                           const Target& out, int p, int c) {
  const int n = min(kChunk, out.cols - c);
  float acc[kChunk] = {};
  for (int first = 0; first < e.index.cols; first += kInFlight) {
    float v[kInFlight] = {}, x[kInFlight][kChunk] = {};
#pragma unroll
    for (int k = 0; k < kInFlight; ++k) {
      const int j = first + k, row = j < e.index.cols ? e.column(p, j) : -1;
      if (row < 0) continue;
      v[k] = e.weight(p, j);
      load_chunk(weight, row, c, n, x[k]);
    }
#pragma unroll
    for (int k = 0; k < kInFlight; ++k)
#pragma unroll
      for (int q = 0; q < kChunk; ++q) acc[q] += v[k] * x[k][q];
  }
  if (addend.data != nullptr) {
    float x[kChunk];
    load_chunk(addend, p, c, n, x);
#pragma unroll
    for (int q = 0; q < kChunk; ++q) acc[q] += x[q];
  }
  store_chunk(out, p, c, n, acc);
}

// sparse_wgrad: out = denseᵀ·d (+ addend [blocks·width, N]).   d [rows, N] · out [blocks·width, N]
//   a warp owns a row of out and 128 columns: it scans the entries of its block 64 at a time, puts those that match
//   into a queue in shared memory, and adds their rows of d, six on their way at a time
//   4·(blocks·width·N + matches·N) bytes and rows·per index reads per warp, all from cache: bandwidth-bound
//   many entries (wgrad_warps) are divided among the warps of a block, whose sums are added in order: one barrier
//   no atomics: entries are added in their order, so bits depend on shapes alone
// As many as leave the fused kernel its registers.
constexpr int kScanned = 2, kMatches = 6, kQueue = 32 * kScanned + kMatches;
struct WgradRoom {
  struct Queue {
    int row[kQueue];
    float weight[kQueue];
  } queue[kBlockWarps];
  float sums[kBlockWarps][32 * kChunk];
};
static_assert(sizeof(WgradRoom) <= sizeof(float) * kSharedFloats);

// How many warps share the entries of a row of out: one for each 1024, in powers of two.
__host__ __device__ inline int wgrad_warps(int64_t entries) {
  int warps = 1;
  while (warps < kBlockWarps && entries >= 1024 * warps) warps *= 2;
  return warps;
}

// Adds the rows of d at the first `count` elements of a queue, four columns of each.
__device__ inline void add_matches(const int* row, const float* weight, int count, const Operand& d, int c, int n,
                                   float (&acc)[kChunk]) {
  float x[kMatches][kChunk];
#pragma unroll
  for (int k = 0; k < kMatches; ++k)
    if (k < count) load_chunk(d, row[k], c, n, x[k]);
#pragma unroll
  for (int k = 0; k < kMatches; ++k)
    if (k < count)
#pragma unroll
      for (int q = 0; q < kChunk; ++q) acc[q] += weight[k] * x[k][q];
}

// Adds to acc the rows of d at entries begin … end − 1 of its block that stand for row w of out.
__device__ inline void add_row(const Entries& e, const Operand& d, int w, int begin, int end, int c, int n,
                               WgradRoom::Queue& queue, float (&acc)[kChunk]) {
  const int lane = lane_id(), block = w / e.width * e.per, wanted = w % e.width, rows = 32 / e.per, more = 32 % e.per;
  int p = (begin + lane) / e.per, j = (begin + lane) % e.per, waiting = 0;
  for (int first = begin; first < end; first += 32 * kScanned) {
    int row[kScanned], index[kScanned];
    float weight[kScanned];
#pragma unroll
    for (int k = 0; k < kScanned; ++k) {
      row[k] = p;
      index[k] = first + 32 * k + lane < end ? e.index.row(p)[block + j] : -1;
      weight[k] = index[k] == wanted ? e.weight(p, block + j) : 0.0f;
      p += rows, j += more;
      if (j >= e.per) j -= e.per, ++p;
    }
#pragma unroll
    for (int k = 0; k < kScanned; ++k) {
      const unsigned matches = __ballot_sync(kWholeWarp, index[k] == wanted);
      if (index[k] == wanted) {
        const int at = waiting + __popc(matches & ((1u << lane) - 1));
        queue.row[at] = row[k];
        queue.weight[at] = weight[k];
      }
      waiting += __popc(matches);
    }
    __syncwarp();
    const int least = first + 32 * kScanned < end ? kMatches : 1;  // the last ones go alone
    int done = 0;
    for (; waiting - done >= least; done += kMatches)
      if (n > 0) add_matches(queue.row + done, queue.weight + done, waiting - done, d, c, n, acc);
    waiting -= done;
    const bool stays = done > 0 && lane < waiting;
    const int kept = stays ? queue.row[done + lane] : 0;
    const float kept_weight = stays ? queue.weight[done + lane] : 0.0f;
    __syncwarp();
    if (stays) queue.row[lane] = kept, queue.weight[lane] = kept_weight;
  }
}

// ---- as steps of a fused launch -------------------------------------------------------------------------------------
struct DenseStep {
  Entries entries;
  Mat<float> out;
};
template <>
struct Fused<SparseDense> {
  using Step = DenseStep;
  static Step pack(const Call& call, Packing&) {
    return {Entries(call, *static_cast<const SparseDense*>(call.op)), Mat<float>(call.out[0])};
  }
  __device__ static void rows(const Step& x, const RowsPart& p) {
    p.each_row_by_warp([&](int r) { sparse_dense(x.entries, x.out, r); });
  }
};
template <>
struct Fused<SparsePick> {
  using Step = Pick;
  static Step pack(const Call& call, Packing&) { return pick(call); }
  __device__ static void rows(const Step& x, const RowsPart& p) {
    p.each_element(x.out.cols, [&](int r, int c) { sparse_pick(x, r, c); });
  }
};

struct SparseStep {  // sparse_wgrad: with d in place of the weight
  Entries entries;
  Operand weight, addend;
  Target out;
};
template <class Op>
SparseStep sparse_step(const Call& call) {
  const auto& op = *static_cast<const Op*>(call.op);
  return {Entries(call, op), whole(call.in[2]), op.addend ? whole(call.in[3]) : Operand{}, target(call.out[0])};
}
template <>
struct Fused<SparseMatmul> {
  using Step = SparseStep;
  static Step pack(const Call& call, Packing&) { return sparse_step<SparseMatmul>(call); }
  __device__ static void rows(const Step& x, const RowsPart& p) {
    p.each_chunk(x.out.cols, [&](int r, int c) { sparse_matmul_chunk(x.entries, x.weight, x.addend, x.out, r, c); });
  }
};
// A block's rows of out. noinline: inlined into one kernel this would spill its registers.
__attribute__((noinline)) __device__ inline void sparse_wgrad(const SparseStep& x, int block, float* shared) {
  WgradRoom& room = *reinterpret_cast<WgradRoom*>(shared);
  const int count = x.entries.index.rows * x.entries.per, row_warps = wgrad_warps(count);
  const WarpRows p{block, x.out.rows, x.out.cols, row_warps};
  const int member = p.warp() % row_warps, c = p.column(), n = min(kChunk, x.out.cols - c),
            each = tiles_of(tiles_of(count, 32), row_warps) * 32;  // entries of a warp
  float acc[kChunk] = {};
  if (p.any()) {
    if (member == 0 && n > 0 && x.addend.data != nullptr) load_chunk(x.addend, p.row(), c, n, acc);
    add_row(x.entries, x.weight, p.row(), min(count, member * each), min(count, (member + 1) * each), c, n,
            room.queue[p.warp()], acc);
  }
  if (row_warps > 1) {
#pragma unroll
    for (int q = 0; q < kChunk; ++q) room.sums[p.warp()][q * 32 + lane_id()] = acc[q];
    __syncthreads();
    for (int other = 1; member == 0 && other < row_warps; ++other)
#pragma unroll
      for (int q = 0; q < kChunk; ++q) acc[q] += room.sums[p.warp() + other][q * 32 + lane_id()];
  }
  p.each_chunk([&](int r, int, int) { store_chunk(x.out, r, c, n, acc); });
}
template <>
struct Fused<SparseWgrad> {
  using Step = SparseStep;
  static Step pack(const Call& call, Packing&) { return sparse_step<SparseWgrad>(call); }
  static Tiling tiling(const Call& call) {
    return tiles_by_rows(call.out[0], wgrad_warps(call.in[0].rows * static_cast<const SparseWgrad*>(call.op)->per));
  }
  static Tiling tiling(const FusedStep& s) { return tiling(s.call); }
  __device__ static void tiles(const Step& x, const TilesPart& p) { sparse_wgrad(x, p.block, p.shared); }
};

}  // namespace tessera::gpu
