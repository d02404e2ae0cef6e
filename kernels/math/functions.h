// Scalar functions, written so that loops over them vectorize; about 1–2 units in the last place. Their bits are the
// same in kernels for a processor with AVX2 or AVX-512 and in a .cu that nvcc compiles with -fmad=false.
// Defined for every float: bits are unsigned, no float is converted to an integer out of range, and NaN gives NaN.
#pragma once
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "kernels/math/host_device.h"

namespace tessera {

// a·b + c, rounded once, unless this is compiled for a processor (TESSERA_ISA) without a fused multiply-add. Fusion is
// explicit: kernels are compiled with -ffp-contract=off, so that a value has the same bits in a loop and its tail, in a
// full tile and a partial one.
#if defined(__FMA__) || !defined(TESSERA_ISA)
TESSERA_HD static inline float mul_add(float a, float b, float c) { return fmaf(a, b, c); }
TESSERA_HD static inline double mul_add(double a, double b, double c) { return fma(a, b, c); }
#else
static inline float mul_add(float a, float b, float c) { return a * b + c; }
static inline double mul_add(double a, double b, double c) { return a * b + c; }
#endif

TESSERA_HD static inline float bits_to_float(uint32_t i) {
  float f;
  memcpy(&f, &i, 4);
  return f;
}
TESSERA_HD static inline uint32_t float_to_bits(float f) {
  uint32_t i;
  memcpy(&i, &f, 4);
  return i;
}

TESSERA_HD static inline float exp_of(float x) {
  const float kMagic = 12582912.0f;  // 1.5·2²³: adding it rounds to an integer held in the low bits
  float z = x < -87.0f ? -87.0f : x;
  z = z > 88.72f ? 88.72f : z;
  const float shifted = mul_add(z, 1.44269504f, kMagic), n = shifted - kMagic;
  const float r = mul_add(n, 2.12194440e-4f, mul_add(n, -0.693359375f, z));
  float p = 1.9841270e-4f;
  p = mul_add(p, r, 1.3888889e-3f);
  p = mul_add(p, r, 8.3333333e-3f);
  p = mul_add(p, r, 4.1666667e-2f);
  p = mul_add(p, r, 1.6666667e-1f);
  p = mul_add(p, r, 0.5f);
  p = mul_add(p * r, r, r) + 1.0f;
  // 2^n in two factors: n may be 128, which one factor cannot represent.
  const int32_t i = static_cast<int32_t>(float_to_bits(shifted) - float_to_bits(kMagic)), half = i >> 1;
  const float y = p * bits_to_float(static_cast<uint32_t>(half + 127) << 23) *
                  bits_to_float(static_cast<uint32_t>(i - half + 127) << 23);
  const float up = x > 88.72f ? INFINITY : y;
  return x < -87.5f ? 0.0f : up;
}

TESSERA_HD static inline float log_of(float x) {
  // x = 2^e·m with m in [√½, √2); log m = 2·atanh(s), s = (m − 1)/(m + 1). Subnormals are scaled up first.
  const float tiny = x < 1.17549435e-38f ? 8388608.0f : 1.0f;
  const uint32_t b = float_to_bits(x * tiny);
  const int32_t e = static_cast<int32_t>(b - 0x3f3504f3u) >> 23;
  const float m = bits_to_float(b - (static_cast<uint32_t>(e) << 23));
  const float s = (m - 1.0f) / (m + 1.0f), s2 = s * s;
  float p = 0.2222222f;
  p = mul_add(p, s2, 0.2857143f);
  p = mul_add(p, s2, 0.4f);
  p = mul_add(p, s2, 0.6666667f);
  const float k = static_cast<float>(e) - (tiny != 1.0f ? 23.0f : 0.0f);
  const float y = mul_add(k, 0.693359375f, mul_add(k, -2.12194440e-4f, mul_add(s * s2, p, 2.0f * s)));
  const float low = x == 0.0f ? -INFINITY : y;
  const float bad = x < 0.0f ? NAN : low;
  return x <= 3.4028235e38f || x < 0.0f ? bad : x;  // +∞ and NaN stay
}

TESSERA_HD static inline float tanh_of(float x) {
  const float a = x < 0 ? -x : x, x2 = x * x;
  float p = -0.00886323553f;  // odd Taylor terms up to x¹¹: below 0.35 the remainder is under half a unit
  p = mul_add(p, x2, 0.0218694885f);
  p = mul_add(p, x2, -0.0539682540f);
  p = mul_add(p, x2, 0.1333333333f);
  p = mul_add(p, x2, -0.3333333333f);
  const float small = mul_add(x * x2, p, x);
  const float e = exp_of(2.0f * (a > 10.0f ? 10.0f : a));
  const float big = 1.0f - 2.0f / (e + 1.0f);
  const float y = a < 0.35f ? small : (x < 0 ? -big : big);
  return x == x ? y : x;
}

TESSERA_HD static inline float softplus_of(float x) {
  const float a = x < 0 ? -x : x, t = exp_of(-a), u = 1.0f + t;
  // log1p(t) = log(u) + (t − (u − 1))/u: the second term restores what rounding u lost
  return (x > 0 ? x : 0.0f) + log_of(u) + (t - (u - 1.0f)) / u;
}

// (cos, sin) of 2πu by quarter: 2πu = (k + ½)·π/2 + f·π/2 with |f| ≤ ½; the half quarter turns are ±√½.
TESSERA_HD static inline void turn(float u, float& cosine, float& sine) {
  const float t = u * 4.0f;
  const int32_t k = static_cast<int32_t>(t);
  const float x = (t - static_cast<float>(k) - 0.5f) * 1.57079633f, x2 = x * x;
  const float s = mul_add(
      x * x2, mul_add(x2, mul_add(x2, mul_add(x2, 2.7557319e-6f, -1.9841270e-4f), 8.3333333e-3f), -0.16666667f), x);
  const float c =
      mul_add(x2, mul_add(x2, mul_add(x2, mul_add(x2, 2.4801587e-5f, -1.3888889e-3f), 4.1666667e-2f), -0.5f), 1.0f);
  const float a = k == 0 || k == 3 ? 0.70710678f : -0.70710678f, b = k < 2 ? 0.70710678f : -0.70710678f;
  cosine = mul_add(a, c, -(b * s));
  sine = mul_add(a, s, b * c);
}

// sin 2πt for |t| ≤ ½: odd Taylor terms up to the eleventh of the nearest half turn.
TESSERA_HD static inline float sine_of_turn(float t) {
  const float far = (t < 0 ? -0.5f : 0.5f) - t, size = t < 0 ? -t : t;
  const float y = 6.28318531f * (size > 0.25f ? far : t), y2 = y * y;
  float p = mul_add(y2, -2.5052108e-8f, 2.7557319e-6f);
  p = mul_add(p, y2, -1.9841270e-4f);
  p = mul_add(p, y2, 8.3333333e-3f);
  p = mul_add(p, y2, -0.16666667f);
  return mul_add(y * y2, p, y);
}
// The part of a number of turns between −½ and ½; NaN for infinity.
TESSERA_HD static inline float part_of_turn(double turns) { return static_cast<float>(turns - rint(turns)); }

constexpr double kTurns = 0.15915494309189533577;  // 1/2π

}  // namespace tessera
