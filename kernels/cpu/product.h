// The core of every dense product: a register-blocked micro-kernel (14×32 floats with AVX-512, 6×16 with AVX2, 6×8
// plain) over packed columns of B (kDepth deep) and rows of A, copied at a fixed stride or where they lie, both in
// items of one or two factors, which products within recurrent cells read too (recurrent.h):
//   Exact: one factor an item, as it is.
//   Bf16:  rounded to bf16 (the upper half of a float, to nearest even; subnormals become 0). In float an item is a
//          pair (k, k + 1) in an int32, k in its lower half. A step adds the product of k + 1, then that of k; both are
//          exact in float, so it rounds where vdpbf16ps rounds and every instruction set gives the same bits, unless a
//          product or a sum is subnormal, which vdpbf16ps takes as 0. AMX alone sums in an order of its own
//          (product_amx.h). In double, the oracle, an item is one rounded factor.
//   Narrow factors (view.h) have been rounded; in bf16 their rows are pairs.
//   Rounded: one factor an item, rounded where it is packed, in any scalar. Two factors of 11 bits have an exact
//          product, so a fused multiply-add and a product with a sum after it give the same bits, unless a product of
//          tf32 is subnormal.
//   Which rows share a tile does not change a bit: a row's sum is one chain over k, cut every `depth` by K alone.
#pragma once
#include "kernels/cpu/simd.h"
#include "kernels/table.h"

namespace tessera::TESSERA_ISA {
namespace {

static inline uint32_t bf16_pair(float low, float high) { return bf16_bits(high) << 16 | bf16_bits(low); }

static inline float nearest_tf32(float x) {
  const uint32_t b = float_to_bits(x);
  return bits_to_float((b & 0x7f800000u) == 0x7f800000u ? b : (b + 0x1000u) & ~0x1fffu);
}
template <class T>
struct Exact {
  using Item = T;
  static constexpr int kFactors = 1;  // in an item
  static constexpr bool kRounds = false;
  static constexpr bool kAsTheyAre = true;  // an item is an unchanged factor of the input
};
template <class T, Precision to>
struct Rounded {
  using Item = T;
  static constexpr int kFactors = 1;
  static constexpr bool kRounds = true;
  static constexpr bool kAsTheyAre = false;
  static T rounded(T x) {
    const float near = static_cast<float>(x);
    if constexpr (to == Precision::tf32) return static_cast<T>(nearest_tf32(near));
    else if constexpr (to == Precision::bf16) return static_cast<T>(bits_to_float(bf16_bits(near) << 16));
    else return static_cast<T>(nearest_fp16(near));
  }
};
template <class T>
struct Bf16 : Rounded<T, Precision::bf16> {};
template <>
struct Bf16<float> {
  using Item = uint32_t;
  static constexpr int kFactors = 2;
  static constexpr bool kRounds = false;  // packing has already rounded the pairs
  static constexpr bool kAsTheyAre = false;
};

// c + the products of the items a and b.
static inline Vec<float> add_products(Vec<float> a, Vec<float> b, Vec<float> c) { return mul_add(a, b, c); }
#if defined(TESSERA_PLAIN)
static inline Vec<double> add_products(Vec<double> a, Vec<double> b, Vec<double> c) { return mul_add(a, b, c); }
#endif
#if defined(__AVX512BF16__)
static inline Vec<float> add_products(Vec<uint32_t> a, Vec<uint32_t> b, Vec<float> c) {
  return reinterpret_cast<Vec<float>>(
      _mm512_dpbf16_ps(reinterpret_cast<__m512>(c), reinterpret_cast<__m512bh>(a), reinterpret_cast<__m512bh>(b)));
}
#else
static inline Vec<float> add_products(Vec<uint32_t> a, Vec<uint32_t> b, Vec<float> c) {
  const Vec<uint32_t> upper = lanes_of(0xffff0000u);
  const Vec<float> high = mul_add(reinterpret_cast<Vec<float>>(a & upper), reinterpret_cast<Vec<float>>(b & upper), c);
  return mul_add(reinterpret_cast<Vec<float>>(a << 16), reinterpret_cast<Vec<float>>(b << 16), high);
}
#endif

#if defined(__AVX512BF16__)
// The pairs (x[q], x[16 + q]) of bf16.
static inline __m512i interleaved(__m512i x) {
  alignas(64) static constexpr uint16_t kHalves[32] = {0, 16, 1, 17, 2,  18, 3,  19, 4,  20, 5,  21, 6,  22, 7,  23,
                                                       8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
  return _mm512_permutexvar_epi16(_mm512_load_si512(kHalves), x);
}
// The pairs (low[q], high[q]).
static inline __m512i pairs_of_lanes(__m512 low, __m512 high) {
  return interleaved(reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(high, low)));
}
#endif

// A vector of pairs (low[q], high[q]).
static inline void store_pairs(uint32_t* to, const float* low, const float* high) {
#if defined(__AVX512BF16__)
  _mm512_storeu_si512(to, pairs_of_lanes(_mm512_loadu_ps(low), _mm512_loadu_ps(high)));
#else
  for (int q = 0; q < Simd<float>::kLanes; ++q) to[q] = bf16_pair(low[q], high[q]);
#endif
}

// n pairs (low[q], high[q]); high: nullptr for zeros.
static inline void pairs_across(const float* low, const float* high, int64_t n, uint32_t* to) {
  constexpr int64_t L = Simd<float>::kLanes;
  int64_t q = 0;
  for (; high != nullptr && q + L <= n; q += L) store_pairs(to + q, low + q, high + q);
#if defined(__AVX512BF16__)
  for (; q < n; q += L) {
    const __mmask16 lanes = first_lanes(n - q < L ? n - q : L);
    const __m512 upper = high != nullptr ? _mm512_maskz_loadu_ps(lanes, high + q) : _mm512_setzero_ps();
    _mm512_mask_storeu_epi32(to + q, lanes, pairs_of_lanes(_mm512_maskz_loadu_ps(lanes, low + q), upper));
  }
#endif
  for (; q < n; ++q) to[q] = bf16_pair(low[q], high != nullptr ? high[q] : 0);
}

// n factors in a row become div_up(n, 2) pairs; the last one is filled with 0.
static inline void pairs_along(const float* from, int64_t n, uint32_t* to) {
  int64_t i = 0;
#if defined(__AVX512BF16__)
  for (; i + 32 <= n; i += 32) _mm512_storeu_si512(to + i / 2, bf16_of(from + i));
  if (i < n) _mm512_mask_storeu_epi32(to + i / 2, first_lanes((n - i + 1) / 2), bf16_of(from + i, n - i));
#else
  for (; i + 2 <= n; i += 2) to[i / 2] = bf16_pair(from[i], from[i + 1]);
  if (i < n) to[i / 2] = bf16_pair(from[i], 0);
#endif
}

template <class T>
struct Shape {
  static constexpr int kLanes = Simd<T>::kLanes;
  static constexpr int kNr = 2 * kLanes;
  static constexpr int kMr = kVectorBytes == 64 ? static_cast<int>(kRegisterRows) : 6;
  static constexpr int kSpan = (kMr + kLanes - 1) / kLanes * kLanes;  // kMr in whole vectors
  static constexpr int kDepth = 256;                                  // items
  // rows of the copy of A; not a power of two, so that they do not meet in one cache set
  static constexpr int kStride = kDepth + 16;
  static constexpr int kTileRows = 224 / kMr * kMr;
  static constexpr int kTileCols = 256;
};

// A narrow factor.
struct Narrowed {
  const uint16_t* data;
  int64_t rows, cols, ld;
  Precision stored;
  explicit Narrowed(const View& v)
      : data(static_cast<const uint16_t*>(v.data)), rows(v.rows), cols(v.cols), ld(v.ld), stored(v.stored) {}
  const uint16_t* row(int64_t r) const { return data + r * ld; }
};

// Where the micro-kernel reads A: a(i, k) at a[i·row + k·step].
template <class Item>
struct Factors {
  const Item* a;
  int64_t row, step;
};

// An output of the micro-kernel: rows × cols of it (V vectors at most) become acc + addend if `first`, else c + acc.
template <class T>
struct Corner {
  T* c;
  int64_t ld, rows, cols;
  bool first;
  const T* addend;
  int64_t ld_addend;
};

// Row i of the output from its sums.
template <class T, int V>
[[gnu::always_inline]] inline void put_row(const Corner<T>& out, int64_t i, Vec<T>* sums) {
  constexpr int L = Shape<T>::kLanes;
  T* row = out.c + i * out.ld;
  const T* more = out.first ? (out.addend == nullptr ? nullptr : out.addend + i * out.ld_addend) : row;
  for (int v = 0; v < V; ++v) {
    const int64_t left_over = out.cols - v * L;
    if (left_over >= L) {
      if (more != nullptr) sums[v] += load(more + v * L);
      store(row + v * L, sums[v]);
    } else if (left_over > 0) {
      if (more != nullptr) sums[v] += load_part(more + v * L, left_over);
      store_part(row + v * L, sums[v], left_over);
    }
  }
}

// One block of R rows × V vectors of columns. si, sk: the strides of A if they are constants, else 0.
template <class T, class Item, int R, int V, int si, int sk>
void micro(int64_t depth, const Factors<Item>& left, const Item* b, const Corner<T>& out) {
  using S = Shape<T>;
  constexpr int L = S::kLanes;
  const int64_t row_stride = si != 0 ? si : left.row, step = sk != 0 ? sk : left.step;
  const Item* a = left.a;
  Vec<T> acc[R][V];
  for (int i = 0; i < R; ++i)
    for (int v = 0; v < V; ++v) acc[i][v] = Vec<T>{};
  for (int64_t k = 0; k < depth; ++k, b += S::kNr, a += step) {
    Vec<Item> bv[V];
    for (int v = 0; v < V; ++v) bv[v] = load(b + v * L);
#pragma GCC unroll 16
    for (int i = 0; i < R; ++i) {
      const Vec<Item> ai = lanes_of(a[i * row_stride]);
      for (int v = 0; v < V; ++v) acc[i][v] = add_products(ai, bv[v], acc[i][v]);
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < R; ++i) {
    if (i >= out.rows) break;
    put_row<T, V>(out, i, acc[i]);
  }
}

// Two vectors of columns, or one where no more are left, as in the stairs of a weight (engine/plan/blocks.h).
template <class T, class Item, int R, int si, int sk>
void vectors_of(int64_t depth, const Factors<Item>& a, const Item* b, const Corner<T>& out) {
  if (out.cols <= Shape<T>::kLanes) micro<T, Item, R, 1, si, sk>(depth, a, b, out);
  else micro<T, Item, R, 2, si, sk>(depth, a, b, out);
}

template <class T, class Item, int si, int sk>
void rows_of(int64_t depth, const Factors<Item>& a, const Item* b, const Corner<T>& out) {
#define TESSERA_ROWS(R) \
  if (out.rows <= R) return vectors_of<T, Item, R, si, sk>(depth, a, b, out)
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
    constexpr int64_t kAhead = 16;  // rows; wide ones lie on a page each
    for (int64_t k = 0; k < depth; ++k) {
      const T* row = m.row(k0 + k) + col;
      __builtin_prefetch(m.row(k0 + k + kAhead) + col);
      __builtin_prefetch(m.row(k0 + k + kAhead) + col + N / 2);
      T* to = b + k * N;
      for (int64_t j = 0; j < N; j += N / 2) {
        const int64_t n = min_of(cols - j, N / 2);
        store(to + j, n == N / 2 ? load(row + j) : n > 0 ? load_part(row + j, n) : Vec<T>{});
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

// Rows [i, i + r) of op(A), columns [k0, k0 + depth), packed as the micro-kernel reads them.
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
  // copy is long enough for the last one.
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
    for (int64_t q = 0; q < S::kMr; q += S::kLanes) {
      const int64_t n = min_of(r - q, S::kLanes);
      store(to + q, n == S::kLanes ? load(from + q) : n > 0 ? load_part(from + q, n) : Vec<T>{});
    }
  }
}

// The same of pairs of factors: `depth` pairs from factor k0 on, the last one filled with 0 beyond the end of op(B).
inline void pack_b(const Mat<float>& m, bool trans, int64_t k0, int64_t depth, int64_t col, int64_t cols, uint32_t* b) {
  constexpr int N = Shape<float>::kNr, L = Shape<float>::kLanes;
  if (!trans) {
    alignas(kVectorBytes) static constexpr float kZeros[N] = {};
    for (int64_t k = 0; k < depth; ++k) {
      const int64_t low = k0 + 2 * k;
      const bool both = low + 1 < m.rows;
      const float *even = m.row(low) + col, *odd = both ? m.row(low + 1) + col : kZeros;
      uint32_t* to = b + k * N;
      if (cols >= N) {
        store_pairs(to, even, odd);
        store_pairs(to + L, even + L, odd + L);
      } else {
        for (int64_t j = 0; j < N; ++j) to[j] = j < cols ? bf16_pair(even[j], odd[j]) : 0;
      }
    }
    return;
  }
  const int64_t count = min_of(2 * depth, m.cols - k0);
  uint32_t rows[4][Shape<float>::kDepth];
  const uint32_t* const four[4] = {rows[0], rows[1], rows[2], rows[3]};
  for (int64_t j = 0; j < N; j += 4) {
    for (int64_t q = 0; q < 4; ++q) {
      if (j + q < cols) pairs_along(m.row(col + j + q) + k0, count, rows[q]);
      else memset(rows[q], 0, static_cast<size_t>(depth) * sizeof(uint32_t));
    }
    transpose4(four, depth, b + j, N);
  }
}

inline void pack_a(const Mat<float>& a, bool trans, int64_t i, int64_t r, int64_t k0, int64_t depth, uint32_t* packed) {
  using S = Shape<float>;
  if (!trans) {
    const int64_t count = min_of(2 * depth, a.cols - k0);
    for (int64_t q = 0; q < r; ++q) pairs_along(a.row(i + q) + k0, count, packed + q * S::kStride);
    return;
  }
  alignas(kVectorBytes) static constexpr float kZeros[S::kSpan] = {};
  const bool wide = i + S::kSpan <= a.cols;  // as in the copy of single factors
  for (int64_t k = 0; k < depth; ++k) {
    const int64_t low = k0 + 2 * k;
    const bool both = low + 1 < a.rows;
    const float *even = a.row(low) + i, *odd = both ? a.row(low + 1) + i : kZeros;
    uint32_t* to = packed + k * S::kMr;
    if (wide) {
      for (int q = 0; q < S::kSpan; q += S::kLanes) store_pairs(to + q, even + q, odd + q);
    } else {
      for (int64_t q = 0; q < S::kMr; ++q) to[q] = q < r ? bf16_pair(even[q], odd[q]) : 0;
    }
  }
}

// Copies of narrow factors. A row of bf16 is a row of pairs.
inline void pairs_of(const uint16_t* from, int64_t n, uint32_t* to) {
  memcpy(to, from, static_cast<size_t>(n) * sizeof(uint16_t));
  if (n % 2 != 0) to[n / 2] = from[n - 1];
}
// n pairs (low[q], high[q]) where n is a constant of whole vectors, else the first n, then zeros.
template <int64_t width>
void pairs_across(const uint16_t* low, const uint16_t* high, int64_t n, uint32_t* to) {
  if (n >= width) {
#pragma GCC ivdep
    for (int64_t q = 0; q < width; ++q) to[q] = static_cast<uint32_t>(high[q]) << 16 | low[q];
  } else {
    for (int64_t q = 0; q < width; ++q) to[q] = q < n ? static_cast<uint32_t>(high[q]) << 16 | low[q] : 0;
  }
}

inline void pack_b(const Narrowed& m, bool trans, int64_t k0, int64_t depth, int64_t col, int64_t cols, uint32_t* b) {
  constexpr int N = Shape<float>::kNr;
  if (!trans) {
    static constexpr uint16_t kZeros[N] = {};
    for (int64_t k = 0; k < depth; ++k) {
      const int64_t low = k0 + 2 * k;
      pairs_across<N>(m.row(low) + col, low + 1 < m.rows ? m.row(low + 1) + col : kZeros, cols, b + k * N);
    }
    return;
  }
  const int64_t count = min_of(2 * depth, m.cols - k0);
  uint32_t rows[4][Shape<float>::kDepth];
  const uint32_t* const four[4] = {rows[0], rows[1], rows[2], rows[3]};
  for (int64_t j = 0; j < N; j += 4) {
    for (int64_t q = 0; q < 4; ++q) {
      if (j + q < cols) pairs_of(m.row(col + j + q) + k0, count, rows[q]);
      else memset(rows[q], 0, static_cast<size_t>(depth) * sizeof(uint32_t));
    }
    transpose4(four, depth, b + j, N);
  }
}
inline void pack_a(const Narrowed& a, bool trans, int64_t i, int64_t r, int64_t k0, int64_t depth, uint32_t* packed) {
  using S = Shape<float>;
  if (!trans) {
    const int64_t count = min_of(2 * depth, a.cols - k0);
    for (int64_t q = 0; q < r; ++q) pairs_of(a.row(i + q) + k0, count, packed + q * S::kStride);
    return;
  }
  static constexpr uint16_t kZeros[S::kSpan] = {};
  const int64_t n = i + S::kSpan <= a.cols ? S::kSpan : r;  // as in the copy of single factors
  for (int64_t k = 0; k < depth; ++k) {
    const int64_t low = k0 + 2 * k;
    uint32_t* to = packed + k * S::kMr;
    const uint16_t *even = a.row(low) + i, *odd = low + 1 < a.rows ? a.row(low + 1) + i : kZeros;
    if (n == S::kSpan) pairs_across<S::kSpan>(even, odd, n, to);
    else pairs_across<S::kMr>(even, odd, n, to);
  }
}

template <class T>
void pack_b(const Narrowed& m, bool trans, int64_t k0, int64_t depth, int64_t col, int64_t cols, T* b) {
  constexpr int64_t N = Shape<T>::kNr;
  for (int64_t k = 0; !trans && k < depth; ++k, b += N) {
    const int64_t n = min_of(cols, N);
    widen(m.row(k0 + k) + col, n, m.stored, b);
    for (int64_t j = n; j < N; ++j) b[j] = 0;
  }
  T widened[Shape<T>::kDepth];
  for (int64_t j = 0; trans && j < N; ++j) {
    if (j < cols) widen(m.row(col + j) + k0, depth, m.stored, widened);
    for (int64_t k = 0; k < depth; ++k) b[k * N + j] = j < cols ? widened[k] : T(0);
  }
}
template <class T>
void pack_a(const Narrowed& a, bool trans, int64_t i, int64_t r, int64_t k0, int64_t depth, T* packed) {
  using S = Shape<T>;
  for (int64_t q = 0; !trans && q < r; ++q) widen(a.row(i + q) + k0, depth, a.stored, packed + q * S::kStride);
  for (int64_t k = 0; trans && k < depth; ++k) {
    widen(a.row(k0 + k) + i, r, a.stored, packed + k * S::kMr);
    for (int64_t q = r; q < S::kMr; ++q) packed[k * S::kMr + q] = 0;
  }
}

// In place.
template <class F, class T>
void round_items(T* x, int64_t n) {
  for (int64_t k = 0; k < n; ++k) x[k] = F::rounded(x[k]);
}

// f(a factor as its type: narrow, or the scalar).
template <class T, class F>
void with_type(const View& factor, F&& f) {
  if (factor.narrow()) f(Narrowed(factor));
  else f(Mat<T>(factor));
}

// op(A)·op(B) (+ addend, of out's rows or one for all; none: data is null).
template <class T>
struct Product {
  View a, b;
  Mat<T> out;
  bool trans_a, trans_b;
  Mat<T> addend;
  int64_t row = 0, col = 0;  // of the product, where `out` begins
};

// Rows [i, i + r) and columns [j, j + c) of the output.
template <class T>
Corner<T> corner(const Product<T>& p, int64_t i, int64_t r, int64_t j, int64_t c, bool first) {
  const T* more = p.addend ? p.addend.row(p.addend.rows == 1 ? 0 : i) + j : nullptr;
  const int64_t ld_more = p.addend && p.addend.rows != 1 ? p.addend.ld : 0;
  return {p.out.row(i - p.row) + (j - p.col), p.out.ld, r, c, first, more, ld_more};
}

// Factors that are multiplied by AMX tiles.
template <class F>
constexpr bool kByTiles = false;
#if defined(TESSERA_AMX)
template <>
inline constexpr bool kByTiles<Bf16<float>> = true;
constexpr int64_t kTileScratch = 32 * (Shape<float>::kStride + 32);  // items: rows of A, and sums (product_amx.h)
#else
constexpr int64_t kTileScratch = 0;
#endif

// Scratch bytes of multiply().
template <class T>
constexpr int64_t kCopyOfA = Shape<T>::kMr* Shape<T>::kStride + Shape<T>::kSpan;
template <class T>
constexpr int64_t kProductScratch = static_cast<int64_t>(sizeof(T)) *
                                        (Shape<T>::kDepth * Shape<T>::kTileCols +
                                         (kCopyOfA<T> > kTileScratch ? kCopyOfA<T> : kTileScratch)) +
                                    64;

// Whether the stride of A would put the cache lines of a micro-kernel's rows into one set of the first-level cache.
template <class T>
bool rows_collide(const View& a) {
  constexpr int64_t kBytes = 2048;
  return a.ld * static_cast<int64_t>(sizeof(T)) % kBytes == 0;
}

// Whether whole row blocks of A are read where they lie: one panel of columns would read a copy of them once.
template <class T, class F>
bool reads_in_place(const Product<T>& p, const Range& cols) {
  return F::kAsTheyAre && !p.a.narrow() && cols.end - cols.begin <= Shape<T>::kNr &&
         (p.trans_a || !rows_collide<T>(p.a));
}

// kMr rows of A that lie where they are, from (i, k0) on.
template <class T>
void in_place(const Product<T>& p, int64_t i, int64_t k0, int64_t depth, const T* panel, const Corner<T>& out) {
  constexpr int kMr = Shape<T>::kMr;
  const Mat<T> a(p.a);
  if (p.trans_a) vectors_of<T, T, kMr, 1, 0>(depth, {a.row(k0) + i, 1, a.ld}, panel, out);
  else vectors_of<T, T, kMr, 0, 1>(depth, {a.row(i) + k0, a.ld, 1}, panel, out);
}

template <class T, class F>
void multiply_by_vectors(const Product<T>& p, const Range& rows, const Range& cols, bool first, void* scratch) {
  using S = Shape<T>;
  using Item = typename F::Item;
  static_assert(sizeof(Item) <= sizeof(T), "kProductScratch");
  Item* packed_b = static_cast<Item*>(scratch);
  Item* packed_a = packed_b + S::kDepth * S::kTileCols;
  const bool lies = reads_in_place<T, F>(p, cols);
  const int64_t K = div_up(p.trans_a ? p.a.rows : p.a.cols, F::kFactors);  // items
  const int64_t blocks = div_up(K, S::kDepth), step = blocks == 0 ? 0 : div_up(K, blocks);
  for (int64_t k0 = 0; k0 < K || (K == 0 && first && k0 == 0); k0 += step == 0 ? 1 : step) {
    const int64_t depth = K == 0 ? 0 : min_of(step, K - k0);
    with_type<T>(p.b, [&](const auto& b) {
      for (int64_t j = cols.begin; j < cols.end; j += S::kNr)
        pack_b(b, p.trans_b, k0 * F::kFactors, depth, j, cols.end - j, packed_b + (j - cols.begin) * depth);
    });
    if constexpr (F::kRounds) round_items<F>(packed_b, div_up(cols.end - cols.begin, S::kNr) * S::kNr * depth);
    for (int64_t i = rows.begin; i < rows.end; i += S::kMr) {
      const int64_t r = min_of(S::kMr, rows.end - i);
      const bool copied = !lies || r < S::kMr;
      if (copied)
        with_type<T>(p.a, [&](const auto& a) { pack_a(a, p.trans_a, i, r, k0 * F::kFactors, depth, packed_a); });
      if constexpr (F::kRounds) {
        if (p.trans_a) round_items<F>(packed_a, S::kMr * depth);
        else
          for (int64_t q = 0; q < r; ++q) round_items<F>(packed_a + q * S::kStride, depth);
      }
      for (int64_t j = cols.begin; j < cols.end; j += S::kNr) {
        const Item* panel = packed_b + (j - cols.begin) * depth;
        const Corner<T> out = corner(p, i, r, j, cols.end - j, first);
        if constexpr (F::kAsTheyAre) {
          if (!copied) {
            in_place(p, i, k0, depth, panel, out);
            continue;
          }
        }
        if (p.trans_a) rows_of<T, Item, 1, S::kMr>(depth, {packed_a, 1, S::kMr}, panel, out);
        else rows_of<T, Item, S::kStride, 1>(depth, {packed_a, S::kStride, 1}, panel, out);
      }
    }
    first = false;
  }
}

// These rows and columns (kTileCols at most) of `out`, of factors F: written if `first`, else added to.
template <class T, class F>
void multiply(const Product<T>& p, const Range& rows, const Range& cols, bool first, void* scratch) {
  if constexpr (kByTiles<F>) multiply_by_tiles(p, rows, cols, first, scratch);
  else multiply_by_vectors<T, F>(p, rows, cols, first, scratch);
}

}  // namespace
}  // namespace tessera::TESSERA_ISA
