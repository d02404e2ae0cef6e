// How products read their factors: items of one or two of them.
//   Exact: one factor an item, as it is.
//   Bf16:  rounded to bf16 (the upper half of a float, to nearest even; subnormals become 0). In float an item is a
//          pair (k, k + 1) in an int32, k in its lower half. A step adds the product of k + 1, then that of k; both are
//          exact in float, so it rounds where vdpbf16ps rounds and every instruction set gives the same bits, unless a
//          product or a sum is subnormal, which vdpbf16ps takes as 0. In double, the oracle, an item is one rounded
//          factor.
//   Rounded: one factor an item, rounded where it is packed, in any scalar. Two factors of 11 bits have an exact
//          product, so a fused multiply-add and a product with a sum after it give the same bits, unless a product of
//          tf32 is subnormal.
#pragma once
#include "kernels/cpu/simd.h"

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
  static constexpr bool kAsTheyAre = true;  // an item is a factor of the input
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
  static constexpr bool kRounds = false;  // pairs are rounded where they are made
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
// The pairs (low[q], high[q]).
static inline __m512i pairs_of_lanes(__m512 low, __m512 high) {
  alignas(64) static constexpr uint16_t kInterleaved[32] = {0,  16, 1,  17, 2,  18, 3,  19, 4,  20, 5,
                                                            21, 6,  22, 7,  23, 8,  24, 9,  25, 10, 26,
                                                            11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
  return _mm512_permutexvar_epi16(_mm512_load_si512(kInterleaved),
                                  reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(high, low)));
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

// n factors in a row become div_up(n, 2) pairs; the last one is filled with 0.
static inline void pairs_along(const float* from, int64_t n, uint32_t* to) {
  int64_t i = 0;
#if defined(__AVX512BF16__)
  for (; i + 32 <= n; i += 32)
    _mm512_storeu_si512(to + i / 2, reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(_mm512_loadu_ps(from + i + 16),
                                                                                  _mm512_loadu_ps(from + i))));
#endif
  for (; i + 2 <= n; i += 2) to[i / 2] = bf16_pair(from[i], from[i + 1]);
  if (i < n) to[i / 2] = bf16_pair(from[i], 0);
}

}  // namespace
}  // namespace tessera::TESSERA_ISA
