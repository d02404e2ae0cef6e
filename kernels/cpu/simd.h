// Vector types of the instruction set this file is compiled for, and small functions that vectorize. Everything is in
// namespace TESSERA_ISA, so that the linker cannot merge code of different instruction sets; for the same reason no
// standard C++ header is included.
#pragma once
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "kernels/math/functions.h"
#include "kernels/math/philox.h"
#include "kernels/ops.h"
#include "kernels/view.h"

namespace tessera::TESSERA_ISA {

#define TESSERA_TEXT_(x) #x
#define TESSERA_TEXT(x) TESSERA_TEXT_(x)
constexpr const char* kIsaName = &TESSERA_TEXT(TESSERA_ISA)[4];  // after "isa_"

#if defined(__AVX512F__)
constexpr int kVectorBytes = 64;
#elif defined(__AVX__)
constexpr int kVectorBytes = 32;
#else
constexpr int kVectorBytes = 16;
#endif

template <class T>
struct Simd {
  static constexpr int kLanes = kVectorBytes / static_cast<int>(sizeof(T));
  typedef T V __attribute__((vector_size(kVectorBytes)));
  typedef T U __attribute__((vector_size(kVectorBytes), aligned(sizeof(T)), may_alias));
};
template <class T>
using Vec = typename Simd<T>::V;

template <class T>
static inline Vec<T> load(const T* p) {
  return *reinterpret_cast<const typename Simd<T>::U*>(p);
}
template <class T>
static inline void store(T* p, Vec<T> v) {
  *reinterpret_cast<typename Simd<T>::U*>(p) = v;
}

// The first n lanes of a vector, n at most its width: memory beyond them is not touched, lanes beyond them are 0.
#if defined(__AVX512F__)
static inline __mmask16 first_lanes(int64_t n) { return static_cast<__mmask16>((1u << n) - 1); }
static inline Vec<float> load_part(const float* p, int64_t n) {
  return reinterpret_cast<Vec<float>>(_mm512_maskz_loadu_ps(first_lanes(n), p));
}
static inline void store_part(float* p, Vec<float> v, int64_t n) {
  _mm512_mask_storeu_ps(p, first_lanes(n), reinterpret_cast<__m512>(v));
}
#elif defined(__AVX2__)
static inline __m256i first_lanes(int64_t n) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(n)), _mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0));
}
static inline Vec<float> load_part(const float* p, int64_t n) {
  return reinterpret_cast<Vec<float>>(_mm256_maskload_ps(p, first_lanes(n)));
}
static inline void store_part(float* p, Vec<float> v, int64_t n) {
  _mm256_maskstore_ps(p, first_lanes(n), reinterpret_cast<__m256>(v));
}
#else
template <class T>
static inline Vec<T> load_part(const T* p, int64_t n) {
  Vec<T> v{};
  memcpy(&v, p, static_cast<size_t>(n) * sizeof(T));
  return v;
}
template <class T>
static inline void store_part(T* p, Vec<T> v, int64_t n) {
  memcpy(p, &v, static_cast<size_t>(n) * sizeof(T));
}
#endif

template <class T>
static inline Vec<T> lanes_of(T x) {
  return x - Vec<T>{};
}

using tessera::mul_add;
static inline long double mul_add(long double a, long double b, long double c) { return a * b + c; }
static inline Vec<float> mul_add(Vec<float> a, Vec<float> b, Vec<float> c) {
#if defined(__AVX512F__)
  return reinterpret_cast<Vec<float>>(
      _mm512_fmadd_ps(reinterpret_cast<__m512>(a), reinterpret_cast<__m512>(b), reinterpret_cast<__m512>(c)));
#elif defined(__FMA__)
  return reinterpret_cast<Vec<float>>(
      _mm256_fmadd_ps(reinterpret_cast<__m256>(a), reinterpret_cast<__m256>(b), reinterpret_cast<__m256>(c)));
#else
  return a * b + c;
#endif
}
static inline Vec<double> mul_add(Vec<double> a, Vec<double> b, Vec<double> c) {
#if defined(__AVX512F__)
  return reinterpret_cast<Vec<double>>(
      _mm512_fmadd_pd(reinterpret_cast<__m512d>(a), reinterpret_cast<__m512d>(b), reinterpret_cast<__m512d>(c)));
#elif defined(__FMA__)
  return reinterpret_cast<Vec<double>>(
      _mm256_fmadd_pd(reinterpret_cast<__m256d>(a), reinterpret_cast<__m256d>(b), reinterpret_cast<__m256d>(c)));
#else
  return a * b + c;
#endif
}

// A non-temporal store, for data that is read much later: the line is not fetched first and evicts nothing. p is
// aligned to a vector; call flush_stores() before another thread reads the memory.
template <class T>
static inline void store_non_temporal(T* p, Vec<T> v) {
#if defined(__AVX512F__)
  _mm512_stream_si512(reinterpret_cast<__m512i*>(p), reinterpret_cast<__m512i>(v));
#elif defined(__AVX__)
  _mm256_stream_si256(reinterpret_cast<__m256i*>(p), reinterpret_cast<__m256i>(v));
#elif defined(__x86_64__)
  _mm_stream_si128(reinterpret_cast<__m128i*>(p), reinterpret_cast<__m128i>(v));
#else
  store(p, v);
#endif
}
static inline void flush_stores() {
#if defined(__x86_64__)
  _mm_sfence();
#endif
}

static inline int64_t div_up(int64_t a, int64_t b) { return (a + b - 1) / b; }
static inline int64_t min_of(int64_t a, int64_t b) { return a < b ? a : b; }

// Rows [begin, end) of a view that belong to tile `tile`, in tiles of `size` rows.
struct Range {
  int64_t begin, end;
};
static inline Range piece(int64_t tile, int64_t size, int64_t total) {
  return {tile * size, min_of((tile + 1) * size, total)};
}

// Typed access to a view.
template <class T>
struct Mat {
  T* data;
  int64_t rows, cols, ld;
  explicit Mat(const View& v) : data(static_cast<T*>(v.data)), rows(v.rows), cols(v.cols), ld(v.ld) {}
  T* row(int64_t r) const { return data + r * ld; }
  explicit operator bool() const { return data != nullptr; }
};

// Whether x and out have rows of one width, stored without gaps.
static inline bool contiguous(const View& x, const View& out) {
  return x.ld == x.cols && out.ld == out.cols && x.cols == out.cols;
}

// The identity of a row for the random number generator: its index in the batch, of which the op's first row is row
// `first`, and the step; or its own identity if `rows` is given.
using RowKey = Counter;

static inline RowKey row_key(const Call& call, const View& rows, int64_t row, int purpose, int64_t first) {
  const auto p = static_cast<uint32_t>(purpose);
  if (rows.data == nullptr) {
    const auto step = static_cast<uint64_t>(call.state->step);
    return counter(p, static_cast<uint32_t>(first + call.first_row + row) | step << 32,
                   static_cast<uint32_t>(step >> 32));
  }
  const int32_t* id = Mat<int32_t>(rows).row(row);
  return counter(p, static_cast<uint32_t>(id[0]) | static_cast<uint64_t>(static_cast<uint32_t>(id[1])) << 32,
                 static_cast<uint32_t>(id[2]));
}

// ---- transposition ------------------------------------------------------------------------------
typedef float Four __attribute__((vector_size(16)));
static inline Four load4(const void* p) {
  Four v;
  memcpy(&v, p, sizeof v);
  return v;
}
static inline void store4(void* p, Four v) { memcpy(p, &v, sizeof v); }
static inline void exchange(Four* r) {
  const Four a = __builtin_shufflevector(r[0], r[1], 0, 4, 1, 5), b = __builtin_shufflevector(r[0], r[1], 2, 6, 3, 7);
  const Four c = __builtin_shufflevector(r[2], r[3], 0, 4, 1, 5), d = __builtin_shufflevector(r[2], r[3], 2, 6, 3, 7);
  r[0] = __builtin_shufflevector(a, c, 0, 1, 4, 5);
  r[1] = __builtin_shufflevector(a, c, 2, 3, 6, 7);
  r[2] = __builtin_shufflevector(b, d, 0, 1, 4, 5);
  r[3] = __builtin_shufflevector(b, d, 2, 3, 6, 7);
}

#if defined(__AVX512F__)
// The same of each block of four lanes.
static inline void exchange(__m512* r) {
  const __m512 a = _mm512_unpacklo_ps(r[0], r[1]), b = _mm512_unpackhi_ps(r[0], r[1]),
               c = _mm512_unpacklo_ps(r[2], r[3]), d = _mm512_unpackhi_ps(r[2], r[3]);
  const auto low = [](__m512 x, __m512 y) {
    return _mm512_castpd_ps(_mm512_unpacklo_pd(_mm512_castps_pd(x), _mm512_castps_pd(y)));
  };
  const auto high = [](__m512 x, __m512 y) {
    return _mm512_castpd_ps(_mm512_unpackhi_pd(_mm512_castps_pd(x), _mm512_castps_pd(y)));
  };
  r[0] = low(a, c), r[1] = high(a, c), r[2] = low(b, d), r[3] = high(b, d);
}
#endif

// Transposes four rows of n elements into n rows of four with that stride.
template <class T>
static inline void transpose4(const T* const* rows, int64_t n, T* to, int64_t stride) {
  int64_t k = 0;
  if constexpr (sizeof(T) == 4) {
    Four r[4];
    for (; k + 4 <= n; k += 4) {
      for (int q = 0; q < 4; ++q) r[q] = load4(rows[q] + k);
      exchange(r);
      for (int q = 0; q < 4; ++q) store4(to + (k + q) * stride, r[q]);
    }
  }
  for (; k < n; ++k)
    for (int q = 0; q < 4; ++q) to[k * stride + q] = rows[q][k];
}

// Transposes n rows of four, with that stride, into the first `count` of four rows of n.
template <int count, class T>
static inline void transpose4_back(const T* from, int64_t stride, int64_t n, T* const* rows) {
  int64_t k = 0;
  if constexpr (sizeof(T) == 4) {
    Four r[4];
    for (; k + 4 <= n; k += 4) {
      for (int q = 0; q < 4; ++q) r[q] = load4(from + (k + q) * stride);
      exchange(r);
      for (int q = 0; q < count; ++q) store4(rows[q] + k, r[q]);
    }
  }
  for (; k < n; ++k)
    for (int q = 0; q < count; ++q) rows[q][k] = from[k * stride + q];
}

// ---- formats of 16 bits -------------------------------------------------------------------------
// The bits b of floats, a number or a vector, as bf16. NaN stays NaN.
template <class Bits>
[[gnu::always_inline]] inline Bits to_bf16(Bits b) {
  const Bits near = (b + 0x7fffu + (b >> 16 & 1u)) >> 16;
  const Bits normal = (b & 0x7f800000u) == 0 ? b >> 16 & 0x8000u : near;
  return (b & 0x7fffffffu) > 0x7f800000u ? b >> 16 | 0x40u : normal;
}
static inline uint32_t bf16_bits(float x) { return to_bf16(float_to_bits(x)); }
static inline float nearest_fp16(float x) {
  const uint32_t sign = float_to_bits(x) & 0x80000000u, size = float_to_bits(x) & 0x7fffffffu,
                 near = (size + 0xfffu + (size >> 13 & 1u)) & ~0x1fffu,
                 normal = near < 0x47800000u ? near : 0x7f800000u,  // 65536 and more: infinity
      // below 2⁻¹⁴ the unit is 2⁻²⁴, that of floats between 1/2 and 1
      small = float_to_bits(bits_to_float(size) + 0.5f - 0.5f), number = size < 0x38800000u ? small : normal;
  return bits_to_float(sign | (size > 0x7f800000u ? size : number));
}
// The bits of x as fp16.
static inline uint16_t fp16_bits(float x) {
  const float near = nearest_fp16(x);
  const uint32_t sign = float_to_bits(near) >> 16 & 0x8000u, size = float_to_bits(near) & 0x7fffffffu;
  const uint32_t small = static_cast<uint32_t>(bits_to_float(size < 0x38800000u ? size : 0) * 0x1p24f);
  const uint32_t number = size < 0x38800000u ? small : (size - 0x38000000u) >> 13;
  const uint32_t large = size > 0x7f800000u ? 0x7e00u : 0x7c00u;  // NaN, infinity
  return static_cast<uint16_t>(sign | (size >= 0x7f800000u ? large : number));
}
static inline float number_of_fp16(uint16_t h) {
  const uint32_t size = (h & 0x7fffu) << 13;
  const float small = bits_to_float(size + 0x38800000u) - bits_to_float(0x38800000u);
  const float number =
      size < 0x800000u ? small : bits_to_float(size + (size >= 0xf800000u ? 0x70000000u : 0x38000000u));
  return bits_to_float(float_to_bits(number) | (h & 0x8000u) << 16);
}

// n elements of a narrow row.
template <class T>
static inline void widen(const uint16_t* from, int64_t n, Precision stored, T* to) {
  if (stored == Precision::bf16) {
#pragma GCC ivdep
    for (int64_t k = 0; k < n; ++k) to[k] = static_cast<T>(bits_to_float(static_cast<uint32_t>(from[k]) << 16));
  } else {
#pragma GCC ivdep
    for (int64_t k = 0; k < n; ++k) to[k] = static_cast<T>(number_of_fp16(from[k]));
  }
}
#if defined(__AVX512BF16__)
// The first n floats at p, 0 ≤ n ≤ 32, as bf16, and zeros after them.
static inline __m512i bf16_of(const float* p, int64_t n) {
  const int64_t low = n < 16 ? n : 16;
  return reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(_mm512_maskz_loadu_ps(first_lanes(n - low), p + low),
                                                       _mm512_maskz_loadu_ps(first_lanes(low), p)));
}
static inline __m512i bf16_of(const float* p) {
  return reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(_mm512_loadu_ps(p + 16), _mm512_loadu_ps(p)));
}
#endif
// n elements into a narrow row.
template <class T>
static inline void narrow_to(const T* from, int64_t n, Precision stored, uint16_t* to) {
  if (stored == Precision::bf16) {
    int64_t k = 0;
#if defined(__AVX512BF16__)
    if constexpr (sizeof(T) == 4) {
      for (; k + 32 <= n; k += 32) _mm512_storeu_si512(to + k, bf16_of(from + k));
      if (k < n) _mm512_mask_storeu_epi16(to + k, (1u << (n - k)) - 1, bf16_of(from + k, n - k));
      return;
    }
#endif
#pragma GCC ivdep
    for (; k < n; ++k) to[k] = static_cast<uint16_t>(bf16_bits(static_cast<float>(from[k])));
  } else {
#pragma GCC ivdep
    for (int64_t k = 0; k < n; ++k) to[k] = fp16_bits(static_cast<float>(from[k]));
  }
}
// n elements of a row: in place, or widened into `buffer` if the view is narrow.
template <class T>
static inline const T* read_row(const View& v, int64_t row, int64_t first, int64_t n, T* buffer) {
  if (!v.narrow()) return static_cast<const T*>(v.data) + row * v.ld + first;
  widen(static_cast<const uint16_t*>(v.data) + row * v.ld + first, n, v.stored, buffer);
  return buffer;
}

// An element of a narrow view, as a type of its own: kernels over vectors take what they read and write as a template.
struct StoredBf16 {
  uint16_t bits;
};
struct StoredFp16 {
  uint16_t bits;
};
template <class S>
constexpr Precision kStoredAs = Precision::fp32;
template <>
inline constexpr Precision kStoredAs<StoredBf16> = Precision::bf16;
template <>
inline constexpr Precision kStoredAs<StoredFp16> = Precision::fp16;

// A vector of T from elements stored as S, and back.
template <class T, class S>
[[gnu::always_inline]] inline Vec<T> load_stored(const S* p) {
  if constexpr (kStoredAs<S> == Precision::fp32) {
    return load(p);
  } else if constexpr (sizeof(T) == 4 && kStoredAs<S> == Precision::bf16) {
#if defined(__AVX512F__)  // written out: __builtin_convertvector splits the halves
    const __m512i wide = _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
    return reinterpret_cast<Vec<T>>(_mm512_slli_epi32(wide, 16));
#else
    typedef uint16_t Half __attribute__((vector_size(kVectorBytes / 2), aligned(2), may_alias));
    typedef uint32_t Whole __attribute__((vector_size(kVectorBytes)));
    return reinterpret_cast<Vec<T>>(__builtin_convertvector(*reinterpret_cast<const Half*>(p), Whole) << 16);
#endif
  } else {
    T widened[Simd<T>::kLanes];
    widen(&p->bits, Simd<T>::kLanes, kStoredAs<S>, widened);
    return load(widened);
  }
}
template <class T, class S>
[[gnu::always_inline]] inline void store_stored(S* p, Vec<T> v) {
  if constexpr (kStoredAs<S> == Precision::fp32) {
    store(p, v);
  } else if constexpr (sizeof(T) == 4 && kStoredAs<S> == Precision::bf16) {
#if defined(__AVX512BF16__)
    const __m256bh half = _mm512_cvtneps_pbh(reinterpret_cast<__m512>(v));
    memcpy(p, &half, sizeof half);
#else
    typedef uint16_t Half __attribute__((vector_size(kVectorBytes / 2), aligned(2), may_alias));
    typedef uint32_t Whole __attribute__((vector_size(kVectorBytes)));
    *reinterpret_cast<Half*>(p) = __builtin_convertvector(to_bf16(reinterpret_cast<Whole>(v)), Half);
#endif
  } else {
    T wide[Simd<T>::kLanes];
    store(wide, v);
    narrow_to(wide, Simd<T>::kLanes, kStoredAs<S>, &p->bits);
  }
}
// f(the type in which a view of T is stored).
template <class T, class F>
static inline void as_stored(const View& v, F&& f) {
  if (v.stored == Precision::bf16) f(StoredBf16{});
  else if (v.stored == Precision::fp16) f(StoredFp16{});
  else f(T{});
}

// ---- scalar functions: those of kernels/math/functions.h, and the standard library's in double
using tessera::exp_of;
static inline double exp_of(double x) { return exp(x); }
using tessera::log_of;
static inline double log_of(double x) { return log(x); }
using tessera::tanh_of;
static inline double tanh_of(double x) { return tanh(x); }

static inline float sqrt_of(float x) { return __builtin_sqrtf(x); }
static inline double sqrt_of(double x) { return __builtin_sqrt(x); }

template <class T>
static inline T sigmoid_of(T x) {
  return T(1) / (T(1) + exp_of(-x));
}
template <class T>
static inline T silu_of(T x) {
  return x / (T(1) + exp_of(-x));
}
// silu′(x) = σ(x)·(1 + x·(1 − σ(x)))
template <class T>
static inline T silu_slope_of(T x) {
  const T share = sigmoid_of(x);
  return mul_add(share * x, T(1) - share, share);
}
using tessera::softplus_of;
static inline double softplus_of(double x) { return (x > 0 ? x : 0) + log1p(exp(x > 0 ? -x : x)); }

}  // namespace tessera::TESSERA_ISA
