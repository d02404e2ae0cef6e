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
//   eight weight rows are on their way at a time: one by one, each would wait for the one before
//   a row's sum runs over its entries in order, so it has the same bits in any batch; what is no entry adds 0·0, which
//   changes no bit of a sum that began with 0
constexpr int kInFlight = 8;
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
//   one warp per row of out and 128 columns: it scans the entries of its block 32 at a time, and adds the matching rows
//   of d · 4·(blocks·width·N + matches·N) bytes and rows·per index reads per warp, all from cache: bandwidth-bound · no
//   barrier and no atomics: matches are found by ballot and added in the order of the entries
__device__ inline void sparse_wgrad(const Entries& e, const Operand& d, const Operand& addend, const Target& out, int w,
                                    int part) {
  const int lane = lane_id(), c = (part * 32 + lane) * kChunk, n = min(kChunk, out.cols - c);
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
template <>
struct Fused<SparseWgrad> {
  using Step = SparseStep;
  static Step pack(const Call& call, Packing&) { return sparse_step<SparseWgrad>(call); }
  static Tiling tiling(const FusedStep& s) {
    const View& out = s.call.out[0];
    return {blocks_for(out.rows * blocks_for(out.cols, 32 * kChunk), kBlockWarps), true};
  }
  __device__ static void tiles(const Step& x, const TilesPart& p) {
    if (p.item() < p.rows * p.parts())
      sparse_wgrad(x.entries, x.weight, x.addend, x.out, p.item() / p.parts(), p.item() % p.parts());
  }
};

}  // namespace tessera::gpu
