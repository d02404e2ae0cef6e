// The first n lanes of a vector, n below its width: loads and stores that touch no memory beyond them.
#pragma once
#include "kernels/cpu/simd.h"

namespace tessera::TESSERA_ISA {

#if defined(__AVX512F__)
static inline Vec<float> load_part(const float* p, int64_t n) {
  return reinterpret_cast<Vec<float>>(_mm512_maskz_loadu_ps(static_cast<__mmask16>((1u << n) - 1), p));
}
static inline void store_part(float* p, Vec<float> v, int64_t n) {
  _mm512_mask_storeu_ps(p, static_cast<__mmask16>((1u << n) - 1), reinterpret_cast<__m512>(v));
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

}  // namespace tessera::TESSERA_ISA
