// The core of every dense product: a register-blocked micro-kernel (14×32 floats with AVX-512, 6×16 with AVX2, 6×8
// plain) over packed columns of B (kDepth deep) and fixed-stride copies of rows of A.
//   Which rows share a tile does not change a bit: a row's sum is one chain over k, cut every `depth` by K alone.
#pragma once
#include "kernels/cpu/simd.h"
#include "kernels/table.h"

namespace tessera::TESSERA_ISA {
namespace {

template <class T>
struct Shape {
  static constexpr int kLanes = Simd<T>::kLanes;
  static constexpr int kNr = 2 * kLanes;
  static constexpr int kMr = kVectorBytes == 64 ? static_cast<int>(kRegisterRows) : 6;
  static constexpr int kSpan = (kMr + kLanes - 1) / kLanes * kLanes;  // kMr in whole vectors
  static constexpr int kDepth = 256;
  // rows of the copy of A; not a power of two, so that they do not meet in one cache set
  static constexpr int kStride = kDepth + 16;
  static constexpr int kTileRows = 224 / kMr * kMr;
  static constexpr int kTileCols = 256;
};

// One block of R rows × kNr columns: c = first ? acc + addend : c + acc. a(i, k) at a[i·si + k·sk].
template <class T, int R, int si, int sk>
void micro(int64_t depth, const T* a, const T* b, T* c, int64_t ldc, int64_t rows, int64_t cols, bool first,
           const T* addend, int64_t ld_addend) {
  using S = Shape<T>;
  constexpr int L = S::kLanes;
  Vec<T> acc[R][2];
  for (int i = 0; i < R; ++i) acc[i][0] = acc[i][1] = Vec<T>{};
  for (int64_t k = 0; k < depth; ++k, b += S::kNr, a += sk) {
    const Vec<T> b0 = load(b), b1 = load(b + L);
#pragma GCC unroll 16
    for (int i = 0; i < R; ++i) {
      const Vec<T> ai = lanes_of(a[i * si]);
      acc[i][0] = mul_add(ai, b0, acc[i][0]);
      acc[i][1] = mul_add(ai, b1, acc[i][1]);
    }
  }
  const bool whole = cols >= S::kNr;
#pragma GCC unroll 16
  for (int i = 0; i < R; ++i) {
    if (i >= rows) break;
    T* row = c + i * ldc;
    const T* more = first ? (addend == nullptr ? nullptr : addend + i * ld_addend) : row;
    if (whole) {
      if (more != nullptr) {
        acc[i][0] += load(more);
        acc[i][1] += load(more + L);
      }
      store(row, acc[i][0]);
      store(row + L, acc[i][1]);
    } else if (cols >= L) {
      if (more != nullptr) {
        acc[i][0] += load(more);
        acc[i][1] += load_part(more + L, cols - L);
      }
      store(row, acc[i][0]);
      store_part(row + L, acc[i][1], cols - L);
    } else {
      if (more != nullptr) acc[i][0] += load_part(more, cols);
      store_part(row, acc[i][0], cols);
    }
  }
}

template <class T, int si, int sk>
void rows_of(int64_t rows, int64_t depth, const T* a, const T* b, T* c, int64_t ldc, int64_t cols, bool first,
             const T* addend, int64_t ld_addend) {
#define TESSERA_ROWS(R) \
  if (rows <= R) return micro<T, R, si, sk>(depth, a, b, c, ldc, rows, cols, first, addend, ld_addend)
  TESSERA_ROWS(1);
  TESSERA_ROWS(2);
  TESSERA_ROWS(4);
  TESSERA_ROWS(6);
  if constexpr (Shape<T>::kMr > 6) {
    TESSERA_ROWS(8);
    TESSERA_ROWS(10);
    TESSERA_ROWS(12);
    TESSERA_ROWS(14);
  }
#undef TESSERA_ROWS
}

// b [depth, kNr] ← columns [col, col + kNr) of op(B), zero beyond the last column.
template <class T>
void pack_b(const Mat<T>& m, bool trans, int64_t k0, int64_t depth, int64_t col, int64_t cols, T* b) {
  constexpr int N = Shape<T>::kNr;
  if (!trans) {
    for (int64_t k = 0; k < depth; ++k) {
      const T* row = m.row(k0 + k) + col;
      T* to = b + k * N;
      if (cols >= N) {
        store(to, load(row));
        store(to + N / 2, load(row + N / 2));
      } else {
        for (int64_t j = 0; j < N; ++j) to[j] = j < cols ? row[j] : T(0);
      }
    }
    return;
  }
  for (int64_t j = 0; j < N; j += 4) {
    if (j + 4 <= cols) {
      const T* rows[4];
      for (int q = 0; q < 4; ++q) rows[q] = m.row(col + j + q) + k0;
      transpose4(rows, depth, b + j, N);
    } else {
      for (int64_t q = j; q < j + 4; ++q)
        for (int64_t k = 0; k < depth; ++k) b[k * N + q] = q < cols ? m.row(col + q)[k0 + k] : T(0);
    }
  }
}

// Rows of A so short that a call of memcpy would cost more than the copy.
template <class T>
constexpr int64_t kShallow = 4 * Simd<T>::kLanes;

// r rows of op(A), depth of them from k0 on, as the micro-kernel reads them.
template <class T>
void pack_a(const Mat<T>& a, bool trans, int64_t i, int64_t r, int64_t k0, int64_t depth, T* packed) {
  using S = Shape<T>;
  constexpr int64_t kAtOnce = 8;  // rows that are copied side by side
  if (!trans) {
    if (depth > kShallow<T>) {
      for (int64_t q = 0; q < r; ++q)
        memcpy(packed + q * S::kStride, a.row(i + q) + k0, static_cast<size_t>(depth) * sizeof(T));
      return;
    }
    for (int64_t q = 0; q < r; ++q) {
      const T* from = a.row(i + q) + k0;
      T* to = packed + q * S::kStride;
      int64_t k = 0;
      for (; k + S::kLanes <= depth; k += S::kLanes) store(to + k, load(from + k));
      if (k < depth) store_part(to + k, load_part(from + k, depth - k), depth - k);
    }
    return;
  }
  // A full row of columns is copied a vector at a time; what goes beyond kMr is overwritten by the next row, and the
  // copy has room for the last one.
  const bool wide = i + S::kSpan <= a.cols;
  int64_t k = 0;
  for (; wide && k + kAtOnce <= depth; k += kAtOnce) {  // loads first: each would wait for the store before it
    for (int64_t q = 0; q < kAtOnce; ++q) __builtin_prefetch(a.row(k0 + k + 2 * kAtOnce + q) + i);
    Vec<T> row[kAtOnce][S::kSpan / S::kLanes];
#pragma GCC unroll 8
    for (int64_t q = 0; q < kAtOnce; ++q)
      for (int p = 0; p < S::kSpan / S::kLanes; ++p) row[q][p] = load(a.row(k0 + k + q) + i + p * S::kLanes);
#pragma GCC unroll 8
    for (int64_t q = 0; q < kAtOnce; ++q)
      for (int p = 0; p < S::kSpan / S::kLanes; ++p) store(packed + (k + q) * S::kMr + p * S::kLanes, row[q][p]);
  }
  for (; k < depth; ++k) {
    const T* from = a.row(k0 + k) + i;
    T* to = packed + k * S::kMr;
    if (wide) {
      for (int q = 0; q < S::kSpan; q += S::kLanes) store(to + q, load(from + q));
    } else {
      for (int64_t q = 0; q < S::kMr; ++q) to[q] = q < r ? from[q] : T(0);
    }
  }
}

// op(A)·op(B) (+ addend, of out's rows or one for all; none: data is null).
template <class T>
struct Product {
  Mat<T> a, b, out;
  bool trans_a, trans_b;
  Mat<T> addend;
};

// Bytes that multiply() works in.
template <class T>
constexpr int64_t kProductScratch = static_cast<int64_t>(sizeof(T)) *
                                        (Shape<T>::kDepth * Shape<T>::kTileCols + Shape<T>::kMr * Shape<T>::kStride +
                                         Shape<T>::kSpan) +
                                    64;

// These rows and columns (kTileCols at most) of `out`: written if `first`, else added to.
template <class T>
void multiply(const Product<T>& p, const Range& rows, const Range& cols, bool first, void* scratch) {
  using S = Shape<T>;
  T* packed_b = static_cast<T*>(scratch);
  T* packed_a = packed_b + S::kDepth * S::kTileCols;
  const int64_t K = p.trans_a ? p.a.rows : p.a.cols;
  const int64_t blocks = div_up(K, S::kDepth), step = blocks == 0 ? 0 : div_up(K, blocks);
  for (int64_t k0 = 0; k0 < K || (K == 0 && first && k0 == 0); k0 += step == 0 ? 1 : step) {
    const int64_t depth = K == 0 ? 0 : least(step, K - k0);
    for (int64_t j = cols.begin; j < cols.end; j += S::kNr)
      pack_b(p.b, p.trans_b, k0, depth, j, cols.end - j, packed_b + (j - cols.begin) * depth);
    for (int64_t i = rows.begin; i < rows.end; i += S::kMr) {
      const int64_t r = least(S::kMr, rows.end - i);
      pack_a(p.a, p.trans_a, i, r, k0, depth, packed_a);
      for (int64_t j = cols.begin; j < cols.end; j += S::kNr) {
        const T* panel = packed_b + (j - cols.begin) * depth;
        T* c = p.out.row(i) + j;
        const T* more = p.addend ? p.addend.row(p.addend.rows == 1 ? 0 : i) + j : nullptr;
        const int64_t ld_more = p.addend && p.addend.rows != 1 ? p.addend.ld : 0;
        if (p.trans_a)
          rows_of<T, 1, S::kMr>(r, depth, packed_a, panel, c, p.out.ld, cols.end - j, first, more, ld_more);
        else rows_of<T, S::kStride, 1>(r, depth, packed_a, panel, c, p.out.ld, cols.end - j, first, more, ld_more);
      }
    }
    first = false;
  }
}

}  // namespace
}  // namespace tessera::TESSERA_ISA
