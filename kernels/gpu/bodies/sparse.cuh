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

// sparse_dense: out = the dense rows, entries of one column added in order.   4·rows·(blocks·width + 2·entries)
// bytes: bandwidth-bound
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

// sparse_matmul: out = dense·weight (+ addend [rows, N] or [1, N]), four columns of one row.   2·rows·entries·N
// FLOP instead of 2·rows·blocks·width·N
//   reads `entries` weight rows per row, from L2: bandwidth-bound there
//   eight weight rows are in flight at a time; all threads of the block first compute the rows' indices and factors and
//   store them in shared memory: computed one after another by the threads that need them, they took most of the time ·
//   two block barriers per list of at most 5,760
//   a row's sum runs over its entries in order, so it has the same bits in any batch. Of more than 32 entries it is
//   four chains, of four threads: eight entries in turn each, and (c0 + c1) + (c2 + c3). Absent entries add 0·0, which
//   changes no bit of a sum that began with 0
constexpr int kUnchained = 32, kTurn = kChains * kInFlight;
struct ListedEntry {
  int column;  // of the dense row; −1: none
  float weight;
};
// Eight entries from `begin` on, eight from `begin` + `step` on, and so forth.
__device__ inline void add_listed(const ListedEntry* entry, int begin, int step, int count, const Operand& weight,
                                  int c, int n, float (&acc)[kChunk]) {
  for (int first = begin; first < count; first += step) {
    float v[kInFlight] = {}, x[kInFlight][kChunk] = {};
#pragma unroll
    for (int k = 0; k < kInFlight; ++k) {
      if (first + k >= count || entry[first + k].column < 0) continue;
      v[k] = entry[first + k].weight;
      load_chunk(weight, entry[first + k].column, c, n, x[k]);
    }
#pragma unroll
    for (int k = 0; k < kInFlight; ++k)
#pragma unroll
      for (int q = 0; q < kChunk; ++q) acc[q] += v[k] * x[k][q];
  }
}

// sparse_wgrad: out = denseᵀ·d (+ addend [blocks·width, N]).   d [rows, N] · out [blocks·width, N]
//   a block owns 16 rows and 32 columns of out; each of its eight warps processes a run of the rows of d, 32 rows at a
//   time: lane p stores the weights of row p's entries for the 16 rows of out in shared memory and marks them in a
//   mask; then the rows with any entries are multiplied, four in flight at a time (six would spill), 4 × 4 elements per
//       lane
//   4·(blocks·width·N + rows·N·tiles) bytes and rows·per index reads per block, all from cache: latency-bound,
//   by at most rows / 32 loads in series, however often a value occurs
//   absent entries are not multiplied, so a NaN of d reaches only the rows of its entries
//   an element is one chain over the rows of each warp, whose sums are added in order: bits depend on shapes alone ·
//   two warp barriers per 32 rows, one block barrier
constexpr int kWgradRows = 16, kWgradCols = 32, kMatches = 4;
struct WgradScratch {
  float weight[kBlockWarps][32][kWgradRows + 4];
  float sums[kBlockWarps][kWgradRows][kWgradCols];
};
static_assert(sizeof(WgradScratch) <= sizeof(float) * kSharedFloats);

// Stores the weights of row p's entries in columns w0 … w0 + 15 of the dense row to `own`; returns their mask. Entries
// of one column are added in order.
__device__ inline unsigned own_weights(const Entries& e, int p, int w0, int last, float* own) {
  unsigned mask = 0;
#pragma unroll
  for (int r = 0; r < kWgradRows; ++r) own[r] = 0;
  for (int block = w0 / e.width; block <= last / e.width; ++block)
    for (int first = 0; first < e.per; first += kInFlight) {
      int i[kInFlight];
#pragma unroll
      for (int k = 0; k < kInFlight; ++k) i[k] = first + k < e.per ? e.index.row(p)[block * e.per + first + k] : -1;
#pragma unroll
      for (int k = 0; k < kInFlight; ++k)
        if (const int r = block * e.width + i[k] - w0; i[k] >= 0 && r >= 0 && r < kWgradRows) {
          own[r] += e.weight(p, block * e.per + first + k);
          mask |= 1u << r;
        }
    }
  return mask;
}

// Adds rows p0 … p0 + 31 of d to acc; `mask`: the weights of lane p's row.
__device__ inline void add_rows(const Operand& d, int p0, unsigned mask, const float (*weight)[kWgradRows + 4], int row,
                                int c, int n, float (&acc)[4][kChunk]) {
  for (unsigned left = __ballot_sync(kWholeWarp, mask != 0); left != 0;) {
    const int count = __popc(left);
    int k[kMatches];
    float x[kMatches][kChunk];
#pragma unroll
    for (int q = 0; q < kMatches; ++q) {  // beyond the last row it again: what is loaded in a branch is spilled
      k[q] = q < count ? __ffs(static_cast<int>(left)) - 1 : k[q - 1];
      left &= left - 1;
      load_chunk(d, p0 + k[q], c, n, x[q]);
    }
#pragma unroll
    for (int q = 0; q < kMatches; ++q) {
      if (q >= count) break;
      const unsigned own = __shfl_sync(kWholeWarp, mask, k[q]) >> row;
      float of[4];
      load_four(weight[k[q]] + row, of);
#pragma unroll
      for (int r = 0; r < 4; ++r)
        if ((own >> r & 1) != 0)
#pragma unroll
          for (int j = 0; j < kChunk; ++j) acc[r][j] += of[r] * x[q][j];
    }
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
// Rows of a product. noinline: inlined into one kernel this would spill its registers.
__attribute__((noinline)) __device__ inline void sparse_matmul(const SparseStep& x, Rows all_rows, float* shared) {
  assume_shared(shared);
  ListedEntry* const list = reinterpret_cast<ListedEntry*>(shared);
  const Entries entries = x.entries;  // in registers, as below
  const Operand weight = x.weight;
  constexpr int kListed = kSharedFloats / 2;
  static_assert(kListed % kTurn == 0);  // a list begins with the first chain
  const int all = entries.index.cols, chunks = tiles_of(x.out.cols, kChunk);
  const int rows = max(1, min(all_rows.count, kListed / max(all, 1))), part = min(all, kListed / rows);
  const int chains = all > kUnchained ? kChains : 1, chain = static_cast<int>(threadIdx.x) % chains;
  for (int first_row = 0; first_row < all_rows.count; first_row += rows) {  // those whose entries fit in shared memory
    const int count = min(rows, all_rows.count - first_row);
    for (int item0 = 0; item0 < count * chunks; item0 += kThreads / chains) {
      const int item = item0 + static_cast<int>(threadIdx.x) / chains, row = item / chunks, c = item % chunks * kChunk,
                r = all_rows.at(first_row + min(row, count - 1)), n = row < count ? min(kChunk, x.out.cols - c) : 0;
      float acc[kChunk] = {};
      for (int first = 0; first < all; first += part) {
        const int width = min(part, all - first);
        if (item0 == 0 || part < all) {
          __syncthreads();  // the previous list has been read
          each_item(count * width, [&](int i) {
            const int from = all_rows.at(first_row + i / width), j = first + i % width,
                      column = entries.column(from, j);
            list[i] = {column, column < 0 ? 0.0f : entries.weight(from, j)};
          });
          __syncthreads();
        }
        if (n > 0) add_listed(list + row * width, chain * kInFlight, chains * kInFlight, width, weight, c, n, acc);
      }
      if (chains > 1)
#pragma unroll
        for (int q = 0; q < kChunk; ++q) {
          acc[q] += __shfl_xor_sync(kWholeWarp, acc[q], 1);
          acc[q] += __shfl_xor_sync(kWholeWarp, acc[q], 2);
        }
      if (n <= 0 || chain > 0) continue;
      if (x.addend.data != nullptr) {
        float more[kChunk];
        load_chunk(x.addend, r, c, n, more);
#pragma unroll
        for (int q = 0; q < kChunk; ++q) acc[q] += more[q];
      }
      store_chunk(x.out, r, c, n, acc);
    }
  }
}
template <>
struct Fused<SparseMatmul> {
  using Step = SparseStep;
  static Step pack(const Call& call, Packing&) { return sparse_step<SparseMatmul>(call); }
  __device__ static void rows(const Step& x, const RowsPart& p) { sparse_matmul(x, p.rows, p.shared); }
};
// A block's tile of out. noinline: inlined into one kernel this would spill its registers.
__attribute__((noinline)) __device__ inline void sparse_wgrad(const SparseStep& x, TilesPart at) {
  assume_shared(at.shared);
  WgradScratch& scratch = *reinterpret_cast<WgradScratch*>(at.shared);
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = lane_id(), row = lane / 8 * 4, col = lane % 8 * kChunk;
  const int w0 = at.tiling.row_of(at.block), last = min(w0 + kWgradRows, x.out.rows) - 1,
            c0 = at.tiling.column_of(at.block), n = max(0, min(kChunk, x.out.cols - c0 - col));
  const Entries entries = x.entries;  // in registers: stores to shared memory would have the loops load them again
  const Operand d = x.weight;
  const int rows = entries.index.rows, each = tiles_of(rows, kBlockWarps), end = min(rows, (warp + 1) * each);
  float acc[4][kChunk] = {};
  for (int p0 = warp * each; p0 < end; p0 += 32) {
    const unsigned mask = p0 + lane < end ? own_weights(entries, p0 + lane, w0, last, scratch.weight[warp][lane]) : 0;
    __syncwarp();
    add_rows(d, p0, mask, scratch.weight[warp], row, c0 + col, n, acc);
    __syncwarp();
  }
#pragma unroll
  for (int r = 0; r < 4; ++r)
#pragma unroll
    for (int j = 0; j < kChunk; ++j) scratch.sums[warp][row + r][col + j] = acc[r][j];
  __syncthreads();
  at.each_chunk([&](int r, int c, int) {
    const int count = min(kChunk, x.out.cols - c);
    float total[kChunk] = {};
    if (x.addend.data != nullptr) load_chunk(x.addend, r, c, count, total);
#pragma unroll
    for (int w = 0; w < kBlockWarps; ++w)
#pragma unroll
      for (int j = 0; j < kChunk; ++j) total[j] += scratch.sums[w][r - w0][c - c0 + j];
    store_chunk(x.out, r, c, count, total);
  });
}
template <>
struct Fused<SparseWgrad> {
  using Step = SparseStep;
  static Step pack(const Call& call, Packing&) { return sparse_step<SparseWgrad>(call); }
  static TiledBlocks tiling(const Call& call) {
    const View& out = call.out[0];
    return tiled({static_cast<int>(out.rows), static_cast<int>(out.cols), kWgradRows, kWgradCols}, 1);
  }
  static TiledBlocks tiling(const FusedStep& s) { return tiling(s.call); }
  __device__ static void tiles(const Step& x, const TilesPart& p) { sparse_wgrad(x, p); }
};

}  // namespace tessera::gpu
