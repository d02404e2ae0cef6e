#include "models/mixture_kernels.h"

#include <bit>

namespace tessera {
namespace {

// e^x for x ≤ 0, 0 below −80 taken as −80 (1.8e-35): relative error 2e-7. Plain arithmetic, so that a loop over it becomes vector code.
[[gnu::always_inline]] inline float exp_negative(float x) {
  x = x > -80.0f ? x : -80.0f;
  const float shifted = x * 1.44269504088896341f + 12582912.0f;  // 1.5·2^23: the sum's last bits are the rounded exponent
  const float n = shifted - 12582912.0f;
  const float r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * r * r + r + 1.0f;
  const uint32_t exponent = std::bit_cast<uint32_t>(shifted) << 23;
  return std::bit_cast<float>(std::bit_cast<uint32_t>(p) + exponent);
}

// The same in double: Taylor to r^12 on |r| ≤ ln2/2, relative error 2e-16.
[[gnu::always_inline]] inline double exp_negative(double x) {
  x = x > -80.0 ? x : -80.0;
  const double shifted = x * 1.4426950408889634074 + 6755399441055744.0;  // 1.5·2^52
  const double n = shifted - 6755399441055744.0;
  const double r = (x - n * 6.93147180369123816490e-01) - n * 1.90821492927058770002e-10;
  double p = 1.0 / 479001600;
  p = p * r + 1.0 / 39916800;
  p = p * r + 1.0 / 3628800;
  p = p * r + 1.0 / 362880;
  p = p * r + 1.0 / 40320;
  p = p * r + 1.0 / 5040;
  p = p * r + 1.0 / 720;
  p = p * r + 1.0 / 120;
  p = p * r + 1.0 / 24;
  p = p * r + 1.0 / 6;
  p = p * r + 0.5;
  p = p * r * r + r + 1.0;
  const uint64_t exponent = std::bit_cast<uint64_t>(shifted) << 52;
  return std::bit_cast<double>(std::bit_cast<uint64_t>(p) + exponent);
}

// ln x for x in [1, 2^20]: x = 2^n·m with m in [2/3, 4/3), ln m = 2 artanh((m−1)/(m+1)). Relative error 3e-16.
[[gnu::always_inline]] inline double log_above_one(double x) {
  const uint64_t bits = std::bit_cast<uint64_t>(x);
  const uint64_t n = (bits - 0x3fe5555555555555ull) >> 52;  // 2/3 has the first bits of a new n
  const double m = std::bit_cast<double>(bits - (n << 52));
  const double z = (m - 1) / (m + 1), s = z * z;
  double p = 1.0 / 23;
  p = p * s + 1.0 / 21;
  p = p * s + 1.0 / 19;
  p = p * s + 1.0 / 17;
  p = p * s + 1.0 / 15;
  p = p * s + 1.0 / 13;
  p = p * s + 1.0 / 11;
  p = p * s + 1.0 / 9;
  p = p * s + 1.0 / 7;
  p = p * s + 1.0 / 5;
  p = p * s + 1.0 / 3;
  const double whole = std::bit_cast<double>(n | 0x4330000000000000ull) - 4503599627370496.0;
  return whole * 0.69314718055994530942 + 2 * (z + z * s * p);
}

// ρ of one block relative to its largest component: fills density[k][lane] = ρ_k/max ρ, the maxima's logarithms, and the sums over k.
template <class Real>
struct Block {
  alignas(64) Real ratio[kMaxComponents][kLanes];
  alignas(64) Real largest[kLanes];
  alignas(64) Real total[kLanes];
};

template <class Real>
[[gnu::always_inline]] inline void relative_densities(const LogDensity<Real>& density, const Real* value, Block<Real>& b) {
  const int components = density.components;
  for (int l = 0; l < kLanes; ++l) b.largest[l] = Real(-1e30);
  for (int k = 0; k < components; ++k) {
    const Real offset = density.offset[k], mean = density.mean[k], steepness = density.steepness[k];
    for (int l = 0; l < kLanes; ++l) {
      const Real t = (value[l] - mean) * steepness;
      const Real log_density = offset - t * t;
      b.ratio[k][l] = log_density;
      b.largest[l] = log_density > b.largest[l] ? log_density : b.largest[l];
    }
  }
  for (int l = 0; l < kLanes; ++l) b.total[l] = 0;
  for (int k = 0; k < components; ++k)
    for (int l = 0; l < kLanes; ++l) {
      const Real e = exp_negative(b.ratio[k][l] - b.largest[l]);
      b.ratio[k][l] = e;
      b.total[l] += e;
    }
}

template <class Real>
struct LaneSums {
  alignas(64) Real weight[kMaxComponents][kLanes], first[kMaxComponents][kLanes], second[kMaxComponents][kLanes], spread[kMaxComponents][kLanes];
};

template <class Real>
[[gnu::always_inline]] inline double expect(const LogDensity<Real>& density, const Real* value, const Real* count, const Real* spread, int64_t padded, ComponentSums* sums) {
  const int components = density.components;
  Block<Real> b;  // left uninitialised: only the first `components` rows are used
  LaneSums<Real> s;
  alignas(64) double evidence[kLanes];
  for (int l = 0; l < kLanes; ++l) evidence[l] = 0;
  // Lane sums are carried into double every so many blocks, so that float rounding does not grow with the table.
  constexpr int64_t kChunk = 64 * kLanes;
  for (int64_t start = 0; start < padded; start += kChunk) {
    const int64_t end = start + kChunk < padded ? start + kChunk : padded;
    for (int k = 0; k < components; ++k)
      for (int l = 0; l < kLanes; ++l) s.weight[k][l] = s.first[k][l] = s.second[k][l] = s.spread[k][l] = 0;
    for (int64_t i = start; i < end; i += kLanes) {
      relative_densities(density, value + i, b);
      alignas(64) Real share[kLanes];
      for (int l = 0; l < kLanes; ++l) share[l] = count[i + l] / b.total[l];
      for (int k = 0; k < components; ++k) {
        const Real mean = density.mean[k];
        for (int l = 0; l < kLanes; ++l) {
          const Real w = share[l] * b.ratio[k][l], d = value[i + l] - mean, wd = w * d;
          s.weight[k][l] += w;
          s.first[k][l] += wd;
          s.second[k][l] += wd * d;
          s.spread[k][l] += w * spread[i + l];
        }
      }
      for (int l = 0; l < kLanes; ++l)
        evidence[l] += static_cast<double>(count[i + l]) * (static_cast<double>(b.largest[l]) + log_above_one(static_cast<double>(b.total[l])));
    }
    for (int k = 0; k < components; ++k)
      for (int l = 0; l < kLanes; ++l) {
        sums[k].weight += static_cast<double>(s.weight[k][l]);
        sums[k].first += static_cast<double>(s.first[k][l]);
        sums[k].second += static_cast<double>(s.second[k][l]);
        sums[k].spread += static_cast<double>(s.spread[k][l]);
      }
  }
  double log_evidence = 0;
  for (int l = 0; l < kLanes; ++l) log_evidence += evidence[l];
  return log_evidence;
}

[[gnu::always_inline]] inline void draw(const LogDensity<double>& density, double floor, const double* value, const float* uniform, int64_t n, int32_t* mode) {
  const int components = density.components;
  Block<double> b;
  for (int64_t i = 0; i < n; i += kLanes) {
    const int lanes = static_cast<int>(n - i < kLanes ? n - i : kLanes);
    alignas(64) double x[kLanes] = {};
    alignas(64) double target[kLanes] = {};
    for (int l = 0; l < lanes; ++l) {
      x[l] = value[i + l];
      target[l] = static_cast<double>(uniform[i + l]) * (1 + components * floor);
    }
    relative_densities(density, x, b);
    alignas(64) double reached[kLanes], passed[kLanes];
    for (int l = 0; l < kLanes; ++l) reached[l] = passed[l] = 0;
    for (int k = 0; k + 1 < components; ++k)  // the last component takes what is left
      for (int l = 0; l < kLanes; ++l) {
        reached[l] += b.ratio[k][l] / b.total[l] + floor;
        passed[l] += target[l] >= reached[l] ? 1.0 : 0.0;
      }
    for (int l = 0; l < lanes; ++l) mode[i + l] = static_cast<int32_t>(passed[l]);
  }
}

#if defined(__x86_64__)
[[gnu::target("avx512f,avx512dq,avx512vl,avx512bw,avx2,fma")]] double expect_avx512(const LogDensity<float>& d, const float* v, const float* c, const float* s, int64_t n, ComponentSums* out) { return expect(d, v, c, s, n, out); }
[[gnu::target("avx512f,avx512dq,avx512vl,avx512bw,avx2,fma")]] double expect_avx512(const LogDensity<double>& d, const double* v, const double* c, const double* s, int64_t n, ComponentSums* out) { return expect(d, v, c, s, n, out); }
[[gnu::target("avx512f,avx512dq,avx512vl,avx512bw,avx2,fma")]] void draw_avx512(const LogDensity<double>& d, double floor, const double* v, const float* u, int64_t n, int32_t* mode) { draw(d, floor, v, u, n, mode); }
[[gnu::target("avx2,fma")]] double expect_avx2(const LogDensity<float>& d, const float* v, const float* c, const float* s, int64_t n, ComponentSums* out) { return expect(d, v, c, s, n, out); }
[[gnu::target("avx2,fma")]] double expect_avx2(const LogDensity<double>& d, const double* v, const double* c, const double* s, int64_t n, ComponentSums* out) { return expect(d, v, c, s, n, out); }
[[gnu::target("avx2,fma")]] void draw_avx2(const LogDensity<double>& d, double floor, const double* v, const float* u, int64_t n, int32_t* mode) { draw(d, floor, v, u, n, mode); }

enum class Isa { plain, avx2, avx512 };
Isa isa() {
  static const Isa found = [] {
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw")) return Isa::avx512;
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? Isa::avx2 : Isa::plain;
  }();
  return found;
}

template <class Real>
double dispatch(const LogDensity<Real>& d, const Real* v, const Real* c, const Real* s, int64_t n, ComponentSums* out) {
  switch (isa()) {
    case Isa::avx512: return expect_avx512(d, v, c, s, n, out);
    case Isa::avx2: return expect_avx2(d, v, c, s, n, out);
    case Isa::plain: break;
  }
  return expect(d, v, c, s, n, out);
}
#else
template <class Real>
double dispatch(const LogDensity<Real>& d, const Real* v, const Real* c, const Real* s, int64_t n, ComponentSums* out) {
  return expect(d, v, c, s, n, out);
}
#endif

}  // namespace

double expectation(const LogDensity<float>& density, const float* value, const float* count, const float* spread, int64_t padded, ComponentSums* sums) {
  return dispatch(density, value, count, spread, padded, sums);
}
double expectation(const LogDensity<double>& density, const double* value, const double* count, const double* spread, int64_t padded, ComponentSums* sums) {
  return dispatch(density, value, count, spread, padded, sums);
}

void draw_modes(const LogDensity<double>& density, double floor, const double* value, const float* uniform, int64_t n, int32_t* mode) {
#if defined(__x86_64__)
  switch (isa()) {
    case Isa::avx512: return draw_avx512(density, floor, value, uniform, n, mode);
    case Isa::avx2: return draw_avx2(density, floor, value, uniform, n, mode);
    case Isa::plain: break;
  }
#endif
  draw(density, floor, value, uniform, n, mode);
}

}  // namespace tessera
