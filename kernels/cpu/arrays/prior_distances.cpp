// power_distances, nearest_center: Σ_d |x_d − c_d|^p of n rows to one center, as 2^(p·log₂|·|) by two polynomials, so
// that the loop over rows vectorizes for any p. 4·dims bytes read a row, 20 operations a number; relative error of a
// term below 2·10⁻⁵. A row's bits depend on its place in a register alone.
#include "kernels/cpu/arrays/table.h"

namespace tessera::TESSERA_ISA {
namespace {

// x^p for 10⁻³⁰ ≤ x; infinity from 2¹²⁷ on, 0 below 2⁻¹²⁶.
inline float power_of(float x, float p) {
  const uint32_t bits = float_to_bits(x), above = bits - 0x3f3504f3u;  // √½: the mantissa is taken from [√½, √2)
  const float u = bits_to_float(bits - (above & 0xff800000u)) - 1.0f;
  float log = -0.20685812f;
  log = mul_add(log, u, 0.31840711f);
  log = mul_add(log, u, -0.36641326f);
  log = mul_add(log, u, 0.47979388f);
  log = mul_add(log, u, -0.72120847f);
  log = mul_add(log, u, 1.4427018f);
  const float z = p * mul_add(log, u, static_cast<float>(static_cast<int32_t>(above) >> 23));
  const float bounded = z > -126.0f ? (z < 127.0f ? z : 127.0f) : -126.0f;
  const float kMagic = 12582912.0f;  // 1.5·2²³: adding it rounds to an integer held in the low bits
  const float shifted = bounded + kMagic, f = bounded - (shifted - kMagic);
  float power = 0.009676037f;
  power = mul_add(power, f, 0.055922036f);
  power = mul_add(power, f, 0.24022107f);
  power = mul_add(power, f, 0.69312103f);
  power = mul_add(power, f, 1.0f);
  const float y = power * bits_to_float((float_to_bits(shifted) << 23) + 0x3f800000u);
  const float low = z > -126.0f ? y : 0.0f;
  return z < 127.0f ? low : __builtin_inff();
}

inline float term(float difference, float p) {
  const float size = difference < 0 ? -difference : difference;
  return size <= 3.4028235e38f ? power_of(size > 1e-30f ? size : 1e-30f, p) : size;  // NaN and infinity stay
}

}  // namespace

void power_distances(const float* x, int64_t stride, int64_t dims, int64_t n, const float* center, float p,
                     float* out) {
  constexpr int64_t kBlock = 256;  // rows whose sums stay in the first-level cache
  for (int64_t first = 0; first < n; first += kBlock) {
    const int64_t count = min_of(kBlock, n - first);
    float sum[kBlock] = {};
    for (int64_t d = 0; d < dims; ++d) {
      const float *from = x + d * stride + first, c = center[d];
#pragma GCC ivdep
      for (int64_t i = 0; i < count; ++i) sum[i] += term(from[i] - c, p);
    }
    for (int64_t i = 0; i < count; ++i) out[first + i] = sum[i];
  }
}

// x^p as above for 10⁻³⁰ ≤ x ≤ 2¹²⁷, relative error below 4·10⁻⁴: enough to tell which of random centers is nearer.
inline float rough_power(float x, float p) {
  const uint32_t bits = float_to_bits(x), above = bits - 0x3f3504f3u;
  const float u = bits_to_float(bits - (above & 0xff800000u)) - 1.0f;
  float log = -0.32963701f;
  log = mul_add(log, u, 0.51749147f);
  log = mul_add(log, u, -0.72490102f);
  log = mul_add(log, u, 1.4417624f);
  const float z = p * mul_add(log, u, static_cast<float>(static_cast<int32_t>(above) >> 23));
  const float bounded = z > -100.0f ? (z < 126.0f ? z : 126.0f) : -100.0f;  // no subnormal number, which is slow
  const float kMagic = 12582912.0f, shifted = bounded + kMagic, f = bounded - (shifted - kMagic);
  float power = 0.055171546f;
  power = mul_add(power, f, 0.24261111f);
  power = mul_add(power, f, 0.69326101f);
  power = mul_add(power, f, 0.99992807f);
  return power * bits_to_float((float_to_bits(shifted) << 23) + 0x3f800000u);
}

// The sums of a block are left as soon as none of them can be the least of its row.
void nearest_center(const float* x, int64_t stride, int64_t dims, const float* center, float p, int32_t index,
                    float* best, int32_t* nearest) {
  constexpr int64_t kBlock = 32, kDims = 4;
  for (int64_t first = 0; first < stride; first += kBlock) {
    const int64_t count = min_of(kBlock, stride - first);
    float sum[kBlock] = {};
    int any = 1;
    for (int64_t d = 0; d < dims && any != 0; d += kDims) {
      for (int64_t e = d; e < min_of(d + kDims, dims); ++e) {
        const float *from = x + e * stride + first, c = center[e];
#pragma GCC ivdep
        for (int64_t i = 0; i < count; ++i) {
          const float difference = from[i] - c, size = difference < 0 ? -difference : difference;
          sum[i] += rough_power(size > 1e-30f ? size : 1e-30f, p);
        }
      }
      any = 0;
      for (int64_t i = 0; i < count; ++i) any |= sum[i] < best[first + i] ? 1 : 0;
    }
    if (any == 0) continue;
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) {
      const bool nearer = sum[i] < best[first + i];
      best[first + i] = nearer ? sum[i] : best[first + i];
      nearest[first + i] = nearer ? index : nearest[first + i];
    }
  }
}

}  // namespace tessera::TESSERA_ISA
