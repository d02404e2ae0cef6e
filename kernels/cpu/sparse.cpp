// sparse_dense, sparse_pick, sparse_slice, sparse_matmul, sparse_wgrad: rows with a few entries, kept as (index, value)
// instead of one-hot blocks.
//   entry j of row p is column (j / per)·width + index[p, j] of the dense row; its weight is value[p, j], or 1 without
//       a value tensor.
//   sparse_matmul reads `entries` weight rows per row: 2·entries·N FLOP instead of 2·width·N. sparse_wgrad assigns
//   every block of `width` weight rows to one tile, so its sums have one order and need no atomics.
#include "kernels/cpu/tables.h"

namespace tessera::TESSERA_ISA {
namespace {

constexpr int64_t kRowsPerTile = 16;

template <class T>
struct Entries {
  Mat<int32_t> index;
  Mat<T> value;
  int64_t width, per;
  template <class Op>
  Entries(const Call& call, const Op& op) : index(call.in[0]), value(call.in[1]), width(op.width), per(op.per) {}
  int64_t count() const { return index.cols; }
  // The dense column of entry j of row p, or −1.
  int64_t column(int64_t p, int64_t j) const {
    const int64_t i = index.row(p)[j];
    // a division costs more than the work on an entry
    return i < 0 ? -1 : per == index.cols ? i : j / per * width + i;
  }
  T weight(int64_t p, int64_t j) const { return value ? value.row(p)[j] : T(1); }
};

int64_t row_tiles(const Call& call) { return div_up(call.out[0].rows, kRowsPerTile); }

template <class T>
void dense_run(const Call& call, int64_t tile, void*) {
  const Entries<T> e(call, *static_cast<const SparseDense*>(call.op));
  const Mat<T> out(call.out[0]);
  const Range r = piece(tile, kRowsPerTile, out.rows);
  for (int64_t p = r.begin; p < r.end; ++p) {
    memset(out.row(p), 0, static_cast<size_t>(out.cols) * sizeof(T));
    for (int64_t j = 0; j < e.count(); ++j)
      if (const int64_t c = e.column(p, j); c >= 0) out.row(p)[c] += e.weight(p, j);
  }
}

template <class T>
void pick_run(const Call& call, int64_t tile, void*) {
  const auto& op = *static_cast<const SparsePick*>(call.op);
  const Mat<int32_t> index(call.in[0]);
  const Mat<T> dense(call.in[1]), out(call.out[0]);
  const Range r = piece(tile, kRowsPerTile, out.rows);
  for (int64_t p = r.begin; p < r.end; ++p)
    for (int64_t j = 0; j < out.cols; ++j) {
      const int64_t i = index.row(p)[j];
      out.row(p)[j] = i < 0 ? T(0) : dense.row(p)[j / op.per * op.width + i];
    }
}

void slice_run(const Call& call, int64_t tile, void*) {
  const auto& op = *static_cast<const SparseSlice*>(call.op);
  const Mat<int32_t> index(call.in[0]), out(call.out[0]);
  const Range r = piece(tile, kRowsPerTile, out.rows);
  for (int64_t p = r.begin; p < r.end; ++p)
    for (int64_t j = 0; j < out.cols; ++j) {
      const int64_t i = index.row(p)[j] - op.start;
      out.row(p)[j] = i >= 0 && i < op.width ? static_cast<int32_t>(i) : -1;
    }
}

template <class T>
void matmul_run(const Call& call, int64_t tile, void*) {
  const auto& op = *static_cast<const SparseMatmul*>(call.op);
  const Entries<T> e(call, op);
  const Mat<T> weight(call.in[2]), addend(op.addend ? call.in[3] : View{}), out(call.out[0]);
  const Range r = piece(tile, kRowsPerTile, out.rows);
  constexpr int L = Simd<T>::kLanes, kBlock = 4 * L;
  for (int64_t p = r.begin; p < r.end; ++p) {
    T* to = out.row(p);
    const T* more = addend ? addend.row(addend.rows == 1 ? 0 : p) : nullptr;
    int64_t c = 0;
    for (; c + kBlock <= out.cols; c += kBlock) {
      Vec<T> acc[4] = {};
      if (more != nullptr)
        for (int q = 0; q < 4; ++q) acc[q] = load(more + c + q * L);
      for (int64_t j = 0; j < e.count(); ++j) {
        const int64_t row = e.column(p, j);
        if (row < 0) continue;
        const T* w = weight.row(row) + c;
        const Vec<T> v = lanes_of(e.weight(p, j));
        for (int q = 0; q < 4; ++q) acc[q] = mul_add(v, load(w + q * L), acc[q]);
      }
      for (int q = 0; q < 4; ++q) store(to + c + q * L, acc[q]);
    }
    for (; c < out.cols; c += L) {
      const bool whole = c + L <= out.cols;
      const auto part = [&](const T* from) { return whole ? load(from) : load_part(from, out.cols - c); };
      Vec<T> acc = more != nullptr ? part(more + c) : Vec<T>{};
      for (int64_t j = 0; j < e.count(); ++j) {
        const int64_t row = e.column(p, j);
        if (row >= 0) acc = mul_add(lanes_of(e.weight(p, j)), part(weight.row(row) + c), acc);
      }
      if (whole) store(to + c, acc);
      else store_part(to + c, acc, out.cols - c);
    }
  }
}

constexpr int64_t kMaxColumns = 256;  // of a tile

// Tiles: blocks of `width` weight rows × chunks of columns.
struct WgradTiling {
  int64_t blocks, chunk, chunks;
};
WgradTiling wgrad_tiling(const Call& call) {
  const auto& op = *static_cast<const SparseWgrad*>(call.op);
  const int64_t blocks = call.out[0].rows / op.width, chunk = blocks < 4 ? 64 : kMaxColumns;
  return {blocks, chunk, div_up(call.out[0].cols, chunk)};
}
int64_t wgrad_tiles(const Call& call) {
  const WgradTiling t = wgrad_tiling(call);
  return t.blocks * t.chunks;
}

template <class T>
void wgrad_run(const Call& call, int64_t tile, void*) {
  const auto& op = *static_cast<const SparseWgrad*>(call.op);
  const Entries<T> e(call, op);
  const View& d = call.in[2];
  const Mat<T> addend(op.addend ? call.in[3] : View{}), out(call.out[0]);
  const WgradTiling t = wgrad_tiling(call);
  const int64_t block = tile / t.chunks;
  const Range c = piece(tile % t.chunks, t.chunk, out.cols);
  const size_t bytes = static_cast<size_t>(c.end - c.begin) * sizeof(T);
  for (int64_t i = block * op.width; i < (block + 1) * op.width; ++i) {
    if (addend && addend.row(i) == out.row(i)) continue;  // written over its addend
    if (addend) memcpy(out.row(i) + c.begin, addend.row(i) + c.begin, bytes);
    else memset(out.row(i) + c.begin, 0, bytes);
  }
  constexpr int L = Simd<T>::kLanes, kPiece = 4 * L, kAhead = 8;
  const int64_t first = block * op.per, last = first + op.per;
  T* const base = out.row(block * op.width);
  T buffer[kMaxColumns];
  for (int64_t p = 0; p < d.rows; ++p) {
    const int32_t* index = e.index.row(p);
    const T* from = read_row(d, p, c.begin, c.end - c.begin, buffer);
    const char* ahead = static_cast<const char*>(d.data) + ((p + kAhead) * d.ld + c.begin) * d.item_bytes;
    int64_t k = c.begin;
    for (; k + kPiece <= c.end; k += kPiece) {
      Vec<T> g[4];
      for (int q = 0; q < 4; ++q) {
        g[q] = load(from + (k - c.begin) + q * L);
        __builtin_prefetch(ahead + (k - c.begin + q * L) * d.item_bytes);
      }
      for (int64_t j = first; j < last; ++j) {
        if (index[j] < 0) continue;
        T* to = base + index[j] * out.ld + k;
        const Vec<T> v = lanes_of(e.weight(p, j));
        for (int q = 0; q < 4; ++q) store(to + q * L, mul_add(v, g[q], load(to + q * L)));
      }
    }
    for (int64_t j = first; j < last && k < c.end; ++j) {
      if (index[j] < 0) continue;
      const T v = e.weight(p, j);
      T* const to = base + index[j] * out.ld;
      for (int64_t n = k; n < c.end; ++n) to[n] = mul_add(v, from[n - c.begin], to[n]);
    }
  }
}

}  // namespace

TESSERA_KERNEL(sparse_dense, row_tiles, dense_run<T>, nullptr)
TESSERA_KERNEL(sparse_pick, row_tiles, pick_run<T>, nullptr)
TESSERA_KERNEL(sparse_slice, row_tiles, slice_run, nullptr)
TESSERA_KERNEL(sparse_matmul, row_tiles, matmul_run<T>, nullptr)
TESSERA_KERNEL(sparse_wgrad, wgrad_tiles, wgrad_run<T>, nullptr)

}  // namespace tessera::TESSERA_ISA
