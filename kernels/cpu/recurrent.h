// Shared by the recurrent kernels: a tile of kSequenceTile sequences, one per SIMD lane, so that a step of a layer is
// [weights]·[values of 16 sequences] and gate arithmetic is vectorized over lanes; and the conversion between rows of
// sequences and lanes. Weights are read in place: [in, gates·H] suits a broadcast of neighboring elements.
#pragma once
#include "kernels/cpu/product.h"

namespace tessera::TESSERA_ISA {

constexpr int64_t kTile = kSequenceTile;

// The number of valid steps of each sequence of a tile; 0 for a lane without a sequence.
struct Lengths {
  int64_t of[kTile];
  int64_t min, max;
};

template <class T>
Lengths lengths_of(const View& length, int64_t tile, int64_t sequences, int64_t steps) {
  Lengths n{{}, steps, 0};
  for (int64_t l = 0; l < kTile; ++l) {
    const int64_t b = tile * kTile + l;
    double own = static_cast<double>(steps);
    if (length.data != nullptr && b < sequences) own = static_cast<double>(Mat<T>(length).row(b)[0]);
    n.of[l] = b >= sequences || !(own > 0) ? 0 : own < static_cast<double>(steps) ? static_cast<int64_t>(own) : steps;
    if (n.of[l] < n.min) n.min = n.of[l];
    if (n.of[l] > n.max) n.max = n.of[l];
  }
  return n;
}

// 1 where the lane's sequence has step t.
template <class T>
struct Active {
  T lane[kTile];
  bool all;
  Active(const Lengths& n, int64_t t) : all(t < n.min) {
    for (int64_t l = 0; l < kTile; ++l) lane[l] = t < n.of[l] ? T(1) : T(0);
  }
};

// ---- rows of sequences ↔ lanes ------------------------------------------------------------------
// to[k·kTile + l] = rows[l][k]
template <class T>
void rows_to_lanes(const T* const* rows, int64_t n, T* to) {
  int64_t k = 0;
#if defined(__AVX512F__)
  for (; sizeof(T) == 4 && k + 4 <= n; k += 4) {
    __m512 r[4];
    for (int i = 0; i < 4; ++i) {
      const auto four = [&](int block) {
        return _mm_loadu_ps(reinterpret_cast<const float*>(rows[4 * block + i] + k));
      };
      const __m512 half = _mm512_insertf32x4(_mm512_castps128_ps512(four(0)), four(1), 1);
      r[i] = _mm512_insertf32x4(_mm512_insertf32x4(half, four(2), 2), four(3), 3);
    }
    exchange(r);
    for (int i = 0; i < 4; ++i) _mm512_storeu_ps(to + (k + i) * kTile, r[i]);
  }
#endif
  for (int64_t l = 0; k < n && l < kTile; l += 4) {
    const T* const four[4] = {rows[l] + k, rows[l + 1] + k, rows[l + 2] + k, rows[l + 3] + k};
    transpose4(four, n - k, to + k * kTile + l, kTile);
  }
}

// rows[l][k] = from[k·kTile + l] for the lanes l < lanes
template <class T>
void lanes_to_rows(const T* from, int64_t n, T* const* rows, int64_t lanes) {
  int64_t k = 0;
#if defined(__AVX512F__)
  for (; sizeof(T) == 4 && lanes == kTile && k + 4 <= n; k += 4) {
    __m512 r[4];
    for (int i = 0; i < 4; ++i) r[i] = _mm512_loadu_ps(from + (k + i) * kTile);
    exchange(r);
    for (int i = 0; i < 4; ++i) {
      const auto at = [&](int block) { return reinterpret_cast<float*>(rows[4 * block + i] + k); };
      _mm_storeu_ps(at(0), _mm512_castps512_ps128(r[i]));
      _mm_storeu_ps(at(1), _mm512_extractf32x4_ps(r[i], 1));
      _mm_storeu_ps(at(2), _mm512_extractf32x4_ps(r[i], 2));
      _mm_storeu_ps(at(3), _mm512_extractf32x4_ps(r[i], 3));
    }
  }
#endif
  int64_t l = 0;
  for (; k < n && l + 4 <= lanes; l += 4) {
    T* const four[4] = {rows[l] + k, rows[l + 1] + k, rows[l + 2] + k, rows[l + 3] + k};
    transpose4_back<4>(from + k * kTile + l, kTile, n - k, four);
  }
  for (; l < lanes; ++l)
    for (int64_t c = k; c < n; ++c) rows[l][c] = from[c * kTile + l];
}

// Step t of the tile's rows, `width` columns per step, as lanes; 0 for lanes without that step. `zeros`: width zeros.
// `ahead`: offset of the next step.
template <class T>
void load_step(const Mat<T>& m, int64_t tile, int64_t t, int64_t width, const Lengths& n, const T* zeros, T* to,
               int64_t ahead = 1) {
  const T* rows[kTile];
  for (int64_t l = 0; l < kTile; ++l) {
    rows[l] = t < n.of[l] ? m.row(tile * kTile + l) + t * width : zeros;
    __builtin_prefetch(reinterpret_cast<const void*>(reinterpret_cast<uintptr_t>(rows[l]) +
                                                     static_cast<uintptr_t>(ahead * width) * sizeof(T)));
  }
  rows_to_lanes(rows, width, to);
}

// The tile's rows of a state [B, width] as lanes; 0 for lanes without a sequence, and if there is no state.
template <class T>
void load_state(const View& view, int64_t tile, int64_t sequences, int64_t width, const T* zeros, T* to) {
  const T* rows[kTile];
  for (int64_t l = 0; l < kTile; ++l)
    rows[l] = view.data != nullptr && tile * kTile + l < sequences ? Mat<T>(view).row(tile * kTile + l) : zeros;
  rows_to_lanes(rows, width, to);
}

// Step t of a tile of a lane-major tensor; nullptr for a row-major one.
template <class T>
T* lanes_at(const View& view, int64_t tile, int64_t t, int64_t width) {
  return view.lanes ? static_cast<T*>(view.data) + (tile * view.cols + t * width) * kTile : nullptr;
}

// Step t of the tile's sequences as lanes: in place if the tensor is lane-major, else converted into `buffer`.
template <class T>
const T* step_in_lanes(const View& view, int64_t tile, int64_t t, int64_t width, const Lengths& n, const T* zeros,
                       T* buffer, int64_t ahead = 1) {
  if (const T* lanes = lanes_at<T>(view, tile, t, width)) return lanes;
  load_step(Mat<T>(view), tile, t, width, n, zeros, buffer, ahead);
  return buffer;
}

// Stores `from`, the lanes of a step, in the layout of the view.
template <class T>
void store_step(const View& view, int64_t tile, int64_t t, int64_t width, const T* from) {
  if (T* to = lanes_at<T>(view, tile, t, width)) {
    for (int64_t k = 0; k < width * kTile; ++k) to[k] = from[k];
    return;
  }
  const Mat<T> m(view);
  T* rows[kTile];
  const int64_t lanes = min_of(kTile, m.rows - tile * kTile);
  for (int64_t l = 0; l < lanes; ++l) rows[l] = m.row(tile * kTile + l) + t * width;
  lanes_to_rows(from, width, rows, lanes);
}

template <class T>
void store_state(const Mat<T>& m, int64_t tile, int64_t width, const T* from) {
  T* rows[kTile];
  const int64_t lanes = min_of(kTile, m.rows - tile * kTile);
  for (int64_t l = 0; l < lanes; ++l) rows[l] = m.row(tile * kTile + l);
  lanes_to_rows(from, width, rows, lanes);
}

// A tile-major matrix (ops.h): at() is part `part` of step t of a tile, `hidden` rows with leading dimension `ld`.
template <class T>
struct TileMajor {
  T* data;
  int64_t ld, steps, parts, hidden;
  TileMajor(const View& v, int64_t steps_, int64_t parts_, int64_t hidden_)
      : data(static_cast<T*>(v.data)), ld(v.ld), steps(steps_), parts(parts_), hidden(hidden_) {}
  T* at(int64_t tile, int64_t t, int64_t part) const {
    return data + ((tile * steps + t) * parts + part) * hidden * ld;
  }
  void clear(int64_t tile, int64_t t) const {
    T* to = at(tile, t, 0);
    for (int64_t r = 0; r < parts * hidden; ++r)
      for (int64_t l = 0; l < kTile; ++l) to[r * ld + l] = T{};
  }
};

// ---- functions of lanes -------------------------------------------------------------------------
// As sigmoid_of and tanh_of (simd.h), but on a vector: the compiler unrolls a loop over so few lanes instead of
// vectorizing it. In float both are quotients of e^z = (1 + g)·s with s = 2^n and g = e^r − 1, |r| ≤ log(2)/2:
// combining g and s last keeps the digits of small values without a branch. Inlined, because a call would spill all
// registers.
// The smaller of x and the bound; NaN stays NaN.
template <class T>
Vec<T> at_most(Vec<T> x, T bound) {
#if defined(__AVX512F__)
  if constexpr (sizeof(T) == 4)
    return reinterpret_cast<Vec<T>>(_mm512_maskz_min_ps(0xFFFF, _mm512_set1_ps(bound), reinterpret_cast<__m512>(x)));
#elif defined(__AVX__)
  if constexpr (sizeof(T) == 4)
    return reinterpret_cast<Vec<T>>(_mm256_min_ps(_mm256_set1_ps(bound), reinterpret_cast<__m256>(x)));
#endif
  return lanes_of(bound) < x ? lanes_of(bound) : x;
}
struct Power {
  Vec<float> g, s;
};
// z in ±87; outside, the result is unspecified, but NaN if z is NaN. The polynomials are minimax for (e^r − 1)/r:
// degree 4 has an error of 4·10⁻⁷, degree 5 of 1·10⁻⁸.
template <int degree>
[[gnu::always_inline]] inline Power power_of(Vec<float> z) {
  typedef uint32_t I __attribute__((vector_size(kVectorBytes)));  // unsigned: z may also be infinite or NaN
  const Vec<float> kMagic = lanes_of(12582912.0f);  // 1.5·2²³: adding it rounds to an integer held in the low bits
  const Vec<float> shifted = mul_add(z, lanes_of(1.44269504f), kMagic), n = shifted - kMagic;
  const Vec<float> r = mul_add(n, lanes_of(2.12194440e-4f), mul_add(n, lanes_of(-0.693359375f), z));
  Vec<float> p;
  if constexpr (degree == 4) {
    p = mul_add(r, lanes_of(8.333322e-3f), lanes_of(4.187532e-2f));
    p = mul_add(p, r, lanes_of(1.6666935e-1f));
    p = mul_add(p, r, lanes_of(4.9999377e-1f));
  } else {
    p = mul_add(r, lanes_of(1.3888873e-3f), lanes_of(8.369104e-3f));
    p = mul_add(p, r, lanes_of(4.1667137e-2f));
    p = mul_add(p, r, lanes_of(1.6666506e-1f));
    p = mul_add(p, r, lanes_of(4.9999997e-1f));
  }
  p = mul_add(p, r, lanes_of(1.0f));
  const I s = (reinterpret_cast<I>(shifted) << 23) + (127u << 23);
  return {p * r, reinterpret_cast<Vec<float>>(s)};
}
template <class T>
[[gnu::always_inline]] inline Vec<T> sigmoid_of_lanes(Vec<T> x) {
  if constexpr (sizeof(T) == 4) {
    const Power e = power_of<4>(-at_most(x, 87.0f));
    const Vec<T> y = 1.0f / mul_add(e.g, e.s, e.s + 1.0f);
    // exactly 0: a product with an infinite value must become NaN
    return x < lanes_of(-87.0f) ? Vec<T>{} : y;
  } else {
    for (int i = 0; i < Simd<T>::kLanes; ++i) x[i] = sigmoid_of(x[i]);
    return x;
  }
}
template <class T>
[[gnu::always_inline]] inline Vec<T> tanh_of_lanes(Vec<T> x) {
  if constexpr (sizeof(T) == 4) {
    const Power e = power_of<5>(2.0f * -at_most(-at_most(x, 10.0f), 10.0f));
    return mul_add(e.g, e.s, e.s - 1.0f) / mul_add(e.g, e.s, e.s + 1.0f);
  } else {
    for (int i = 0; i < Simd<T>::kLanes; ++i) x[i] = tanh_of(x[i]);
    return x;
  }
}
template <class T>
Vec<T> where(Vec<T> on, Vec<T> a, Vec<T> b) {
  return on != 0 ? a : b;
}

// ---- factors ------------------------------------------------------------------------------------
// Line i of items at data + i·ld.
template <class Item>
struct Lines {
  const Item* data;
  int64_t ld;
};

template <class T>
void round_line(Precision to, const T* from, int64_t n, T* out) {
#pragma GCC ivdep
  for (int64_t k = 0; to == Precision::tf32 && k < n; ++k) out[k] = Rounded<T, Precision::tf32>::rounded(from[k]);
#pragma GCC ivdep
  for (int64_t k = 0; to == Precision::bf16 && k < n; ++k) out[k] = Rounded<T, Precision::bf16>::rounded(from[k]);
#pragma GCC ivdep
  for (int64_t k = 0; to == Precision::fp16 && k < n; ++k) out[k] = Rounded<T, Precision::fp16>::rounded(from[k]);
}

template <class Item>
constexpr bool kIsPair = false;
template <>
inline constexpr bool kIsPair<uint32_t> = true;

#if defined(__AVX512BF16__)
// The pairs (low[q], high[q]) of elements stored in bf16; high: nullptr for zeros.
inline void store_pairs(uint32_t* to, const StoredBf16* low, const StoredBf16* high) {
  const auto lanes = [](const StoredBf16* p) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)); };
  const __m256i upper = high != nullptr ? lanes(high) : _mm256_setzero_si256();
  _mm512_storeu_si512(to, interleaved(_mm512_inserti64x4(_mm512_castsi256_si512(lanes(low)), upper, 1)));
}
#endif

// What a layer's products multiply: weights and values where they lie, or rounded copies of them. An item is a factor,
// or with vdpbf16ps a pair of bf16. Where it is one, copies of bf16 lie in the order in which vdpbf16ps adds products.
template <class T, class Item>
struct CellFactors {
  Precision precision;
  bool copied() const { return precision != Precision::fp32; }
  // Items of n factors that are added up.
  static int64_t items(int64_t n) { return kIsPair<Item> ? div_up(n, 2) : n; }
  // Items of a copy of n × m factors.
  int64_t copy_items(int64_t n, int64_t m) const { return copied() ? items(n) * m : 0; }
  // Where factor k of n lies in a copy.
  int64_t place(int64_t k, int64_t n) const { return precision == Precision::bf16 && (k | 1) < n ? k ^ 1 : k; }

  // n lines of m; a sum goes over the lines. `stride`: between the lines of the copy.
  Lines<Item> across(const Lines<T>& from, int64_t n, int64_t m, Item* copy, int64_t stride) const {
    if constexpr (kIsPair<Item>) {
      for (int64_t k = 0; k < n; k += 2) {
        const T* low = from.data + k * from.ld;
        pairs_across(low, k + 1 < n ? low + from.ld : nullptr, m, copy + k / 2 * stride);
      }
    } else {
      if (!copied()) return from;
      for (int64_t k = 0; k < n; ++k) round_line(precision, from.data + k * from.ld, m, copy + place(k, n) * stride);
    }
    return {copy, stride};
  }
  Lines<Item> across(const Lines<T>& from, int64_t n, int64_t m, Item* copy) const {
    return across(from, n, m, copy, m);
  }
  // n lines of kTile as they are stored. `widened`: a buffer for them as T.
  template <class S>
  Lines<Item> across_stored(const Lines<S>& from, int64_t n, T* widened, Item* copy) const {
    if constexpr (kIsPair<Item> && kStoredAs<S> == Precision::bf16) {
      static_assert(Simd<T>::kLanes == kTile);
      for (int64_t k = 0; k < n; k += 2) {
        const S* low = from.data + k * from.ld;
        store_pairs(copy + k / 2 * kTile, low, k + 1 < n ? low + from.ld : nullptr);
      }
      return {copy, kTile};
    } else if constexpr (kStoredAs<S> == Precision::fp32) {
      return across(from, n, kTile, copy);
    } else {
      for (int64_t k = 0; k < n; ++k)
        for (int64_t l = 0; l < kTile; l += Simd<T>::kLanes)
          store(widened + k * kTile + l, load_stored<T>(from.data + k * from.ld + l));
      return across({widened, kTile}, n, kTile, copy);
    }
  }
  // m lines of n; a sum goes along a line.
  Lines<Item> along(const Lines<T>& from, int64_t n, int64_t m, Item* copy) const {
    if constexpr (kIsPair<Item>) {
      for (int64_t j = 0; j < m; ++j) pairs_along(from.data + j * from.ld, n, copy + j * items(n));
    } else {
      if (!copied()) return from;
      for (int64_t j = 0; j < m; ++j) {
        Item* to = copy + j * n;
        round_line(precision, from.data + j * from.ld, n, to);
        for (int64_t k = 0; k + 1 < n && precision == Precision::bf16; k += 2) {
          const Item low = to[k];
          to[k] = to[k + 1], to[k + 1] = low;
        }
      }
    }
    return {copy, items(n)};
  }
};
// f(an item, as its type) for products of such factors.
template <class T, class F>
auto with_items([[maybe_unused]] Precision factors, F&& f) {
#if defined(__AVX512BF16__)
  if (factors == Precision::bf16) return f(uint32_t{});
#endif
  return f(T{});
}

// ---- products -----------------------------------------------------------------------------------
// One summand of a product: Σ_k w(j, k)·v(k, lane), k < depth, in items.
template <class Item>
struct Term {
  Lines<Item> w, v;
  int64_t depth;
};

template <class T>
struct Block {
  static constexpr int kVectors = static_cast<int>(kTile) / Simd<T>::kLanes < 2 ? 1 : 2;  // across, in registers
  // rows of the result in registers
  static constexpr int kRows = kVectors == 1 ? 12 : 6;
};

template <class T>
static constexpr T kNoBias[Block<T>::kRows] = {};

// Cache lines to prefetch one by one during a computation: prefetched all at once they would queue and stall it. They
// go to the second-level cache, because the first is full of operands.
struct Prefetch {
  uintptr_t at;
  int64_t lines;
  void next() {
    if (lines-- > 0) __builtin_prefetch(reinterpret_cast<const void*>(at), 0, 2), at += 64;
  }
};
struct NoPrefetch {
  void next() {}
};

// R rows of out, from row j: out = start + Σ terms, for all lanes. Weights are stored as w[k·ld + j], or transposed as
// w[j·ld + k]. Calls prefetch.next() for every k.
template <class T, class Item, int R, bool kTransposed, class Prefetcher>
void product_rows(const Term<Item>* terms, int count, int64_t j, T* out, int64_t ldo, const T* bias, const T* more_bias,
                  bool add, Prefetcher& prefetch) {
  constexpr int L = Simd<T>::kLanes, V = Block<T>::kVectors;
  const T *start = bias != nullptr ? bias + j : kNoBias<T>, *more = more_bias != nullptr ? more_bias + j : kNoBias<T>;
  for (int64_t lane = 0; lane < kTile; lane += V * L) {
    Vec<T> acc[R][V];
    if (add) {
#pragma GCC unroll 16
      for (int i = 0; i < R; ++i)
        for (int q = 0; q < V; ++q) acc[i][q] = load(out + (j + i) * ldo + lane + q * L);
    } else {
#pragma GCC unroll 16
      for (int i = 0; i < R; ++i)
        for (int q = 0; q < V; ++q) acc[i][q] = lanes_of(start[i] + more[i]);
    }
    for (int n = 0; n < count; ++n) {
      const Term<Item>& term = terms[n];
      const Item* v = term.v.data + lane;
      const Item* w = kTransposed ? term.w.data + j * term.w.ld : term.w.data + j;
      const int64_t depth = term.depth, ldv = term.v.ld, ld = term.w.ld;
      for (int64_t k = 0; k < depth; ++k, v += ldv) {
        Vec<Item> x[V];
        for (int q = 0; q < V; ++q) x[q] = load(v + q * L);
        prefetch.next();
#pragma GCC unroll 16
        for (int i = 0; i < R; ++i) {
          const Vec<Item> wi = lanes_of(kTransposed ? w[i * ld] : w[i]);
          for (int q = 0; q < V; ++q) acc[i][q] = add_products(wi, x[q], acc[i][q]);
        }
        w += kTransposed ? 1 : ld;
      }
    }
#pragma GCC unroll 16
    for (int i = 0; i < R; ++i)
      for (int q = 0; q < V; ++q) store(out + (j + i) * ldo + lane + q * L, acc[i][q]);
  }
}

template <class T, class Item, bool kTransposed, class Prefetcher, int R = Block<T>::kRows>
void product_of(int64_t rows, const Term<Item>* terms, int count, int64_t j, T* out, int64_t ldo, const T* bias,
                const T* more_bias, bool add, Prefetcher& prefetch) {
  if constexpr (R >= 1) {
    if (rows == R)
      return product_rows<T, Item, R, kTransposed>(terms, count, j, out, ldo, bias, more_bias, add, prefetch);
    product_of<T, Item, kTransposed, Prefetcher, R - 1>(rows, terms, count, j, out, ldo, bias, more_bias, add,
                                                        prefetch);
  }
}

// out [rows, kTile] = (add ? out : biases) + Σ terms, in blocks of nearly equal height.
template <class T, bool kTransposed, class Item, class Prefetcher = NoPrefetch>
void product(int64_t rows, const Term<Item>* terms, int count, T* out, int64_t ldo, const T* bias, const T* more_bias,
             bool add, Prefetcher prefetch = {}) {
  const int64_t blocks = div_up(rows, Block<T>::kRows);
  for (int64_t b = 0; b < blocks; ++b) {
    const int64_t from = b * rows / blocks, to = (b + 1) * rows / blocks;
    product_of<T, Item, kTransposed>(to - from, terms, count, from, out, ldo, bias, more_bias, add, prefetch);
  }
}

}  // namespace tessera::TESSERA_ISA
