// matmul: out [M, N] = Σ_i op(A_i)·op(B_i) (+ addend). NN forward, NT towards the input, TN towards the weights; every
// product accumulates in k order.
//   2·M·N·K FLOP; compute-bound for M ≥ ~30. A tile of the output packs its columns of B (kDepth deep) and runs a
//   register-blocked micro-kernel (14×32 floats with AVX-512, 6×16 with AVX2, 6×8 plain) over fixed-stride copies of
//   rows of A. Which rows share a tile does not change a bit: a row's sum is one chain over k, cut every `depth` by K
//       alone.
#include "kernels/cpu/tables.h"

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

struct Tiling {
  int64_t rows, cols, across;  // of a tile; tiles side by side
  int64_t tiles(int64_t m) const { return div_up(m, rows) * across; }
};

template <class T>
Tiling tiling(const Call& call) {
  using S = Shape<T>;
  const View& out = call.out[0];
  // a block of rows is made by one thread, which copies its rows once for all columns
  const int64_t wanted = call.block ? 1 : 4;
  const int64_t down = div_up(out.rows, S::kTileRows);  // tiles of equal height, in whole blocks of the micro-kernel
  Tiling t{least(out.rows, div_up(div_up(out.rows, down), S::kMr) * S::kMr),
           least(div_up(out.cols, S::kNr) * S::kNr, S::kTileCols), 1};
  auto count = [&] { return div_up(out.rows, t.rows) * div_up(out.cols, t.cols); };
  while (count() < wanted && t.cols > 2 * S::kNr) t.cols = div_up(t.cols / 2, S::kNr) * S::kNr;
  t.across = div_up(out.cols, t.cols);
  return t;
}

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
    } else {
      T edge[S::kNr];
      store(edge, acc[i][0]);
      store(edge + L, acc[i][1]);
      for (int64_t j = 0; j < cols; ++j) row[j] = more != nullptr ? edge[j] + more[j] : edge[j];
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

template <class T>
int64_t scratch_bytes(const Call&) {
  using S = Shape<T>;
  return static_cast<int64_t>(sizeof(T)) * (S::kDepth * S::kTileCols + S::kMr * S::kStride + S::kSpan) + 64;
}

template <class T>
int64_t tiles(const Call& call) {
  return call.out[0].rows == 0 || call.out[0].cols == 0 ? 0 : tiling<T>(call).tiles(call.out[0].rows);
}

constexpr int64_t kAtOnce = 8;  // rows that are copied side by side

template <class T>
void run(const Call& call, int64_t tile, void* scratch) {
  using S = Shape<T>;
  const auto& op = *static_cast<const Matmul*>(call.op);
  const Mat<T> out(call.out[0]);
  const Tiling t = tiling<T>(call);
  const Range rows = piece(tile / t.across, t.rows, out.rows), cols = piece(tile % t.across, t.cols, out.cols);
  T* packed_b = static_cast<T*>(scratch);
  T* packed_a = packed_b + S::kDepth * S::kTileCols;
  const View* extra = op.addend ? &call.in[2 * op.pairs] : nullptr;
  bool first = true;
  for (int pair = 0; pair < op.pairs; ++pair) {
    const Mat<T> a(call.in[2 * pair]), b(call.in[2 * pair + 1]);
    const int64_t K = op.trans_a ? a.rows : a.cols;
    const int64_t blocks = div_up(K, S::kDepth), step = blocks == 0 ? 0 : div_up(K, blocks);
    for (int64_t k0 = 0; k0 < K || (K == 0 && first && k0 == 0); k0 += step == 0 ? 1 : step) {
      const int64_t depth = K == 0 ? 0 : least(step, K - k0);
      for (int64_t j = cols.begin; j < cols.end; j += S::kNr)
        pack_b(b, op.trans_b, k0, depth, j, cols.end - j, packed_b + (j - cols.begin) * depth);
      for (int64_t i = rows.begin; i < rows.end; i += S::kMr) {
        const int64_t r = least(S::kMr, rows.end - i);
        if (op.trans_a) {
          // A full row of columns is copied a vector at a time; what goes beyond kMr is overwritten by the next row,
          // and the copy has room for the last one.
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
              for (int p = 0; p < S::kSpan / S::kLanes; ++p)
                store(packed_a + (k + q) * S::kMr + p * S::kLanes, row[q][p]);
          }
          for (; k < depth; ++k) {
            const T* from = a.row(k0 + k) + i;
            T* to = packed_a + k * S::kMr;
            if (wide) {
              for (int q = 0; q < S::kSpan; q += S::kLanes) store(to + q, load(from + q));
            } else {
              for (int64_t q = 0; q < S::kMr; ++q) to[q] = q < r ? from[q] : T(0);
            }
          }
        } else {
          for (int64_t q = 0; q < r; ++q)
            memcpy(packed_a + q * S::kStride, a.row(i + q) + k0, static_cast<size_t>(depth) * sizeof(T));
        }
        for (int64_t j = cols.begin; j < cols.end; j += S::kNr) {
          const T* panel = packed_b + (j - cols.begin) * depth;
          T* c = out.row(i) + j;
          const T* more = extra == nullptr
                              ? nullptr
                              : static_cast<const T*>(extra->data) + (extra->rows == 1 ? 0 : i * extra->ld) + j;
          const int64_t ld_more = extra == nullptr || extra->rows == 1 ? 0 : extra->ld;
          if (op.trans_a)
            rows_of<T, 1, S::kMr>(r, depth, packed_a, panel, c, out.ld, cols.end - j, first, more, ld_more);
          else rows_of<T, S::kStride, 1>(r, depth, packed_a, panel, c, out.ld, cols.end - j, first, more, ld_more);
        }
      }
      first = false;
    }
  }
}

}  // namespace

TESSERA_KERNEL(matmul, tiles<T>, run<T>, scratch_bytes<T>)

}  // namespace tessera::TESSERA_ISA
