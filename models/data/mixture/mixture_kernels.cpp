#include "models/data/mixture/mixture_kernels.h"

#include <bit>

#include "engine/run/cpu_features.h"

// Vectors are passed between functions that are always inlined, so the calling convention the warning is about is never
// used.
#pragma GCC diagnostic ignored "-Wpsabi"

namespace tessera {
namespace {

// One register of an instruction set: W numbers of a kind, and integers of the same size.
template <class Real, int W>
struct Register;
template <int W>
struct Register<float, W> {
  typedef float Value __attribute__((vector_size(4 * W)));
  typedef uint32_t Bits __attribute__((vector_size(4 * W)));
};
template <int W>
struct Register<double, W> {
  typedef double Value __attribute__((vector_size(8 * W)));
  typedef uint64_t Bits __attribute__((vector_size(8 * W)));
};

template <class Value, class Real>
[[gnu::always_inline]] inline Value load(const Real* from) {
  Value v;
  __builtin_memcpy(&v, from, sizeof v);
  return v;
}
template <class Value, class Real>
[[gnu::always_inline]] inline void store(Real* to, Value v) {
  __builtin_memcpy(to, &v, sizeof v);
}

// e^x for x ≤ 0, below −80 as at −80 (1.8e-35): relative error 2e-7 in float, 2e-16 in double (Taylor to r^12 on |r| ≤
// ln2/2). The sum with 1.5·2^23 (2^52) rounds x/ln2, and leaves the rounded integer in its last bits.
template <int W>
[[gnu::always_inline]] inline typename Register<float, W>::Value exp_negative(typename Register<float, W>::Value x) {
  using V = typename Register<float, W>::Value;
  using B = typename Register<float, W>::Bits;
  const V floor = V{} - 80.0f;
  x = x > floor ? x : floor;
  const V shifted = x * 1.44269504088896341f + 12582912.0f;
  const V n = shifted - 12582912.0f;
  const V r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
  V p = r * 1.9875691500e-4f + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * (r * r) + (r + 1.0f);
  return reinterpret_cast<V>(reinterpret_cast<B>(p) + (reinterpret_cast<B>(shifted) << 23));
}

template <int W>
[[gnu::always_inline]] inline typename Register<double, W>::Value exp_negative(typename Register<double, W>::Value x) {
  using V = typename Register<double, W>::Value;
  using B = typename Register<double, W>::Bits;
  const V floor = V{} - 80.0;
  x = x > floor ? x : floor;
  const V shifted = x * 1.4426950408889634074 + 6755399441055744.0;
  const V n = shifted - 6755399441055744.0;
  const V r = (x - n * 6.93147180369123816490e-01) - n * 1.90821492927058770002e-10;
  V p = r * (1.0 / 479001600) + 1.0 / 39916800;
  p = p * r + 1.0 / 3628800;
  p = p * r + 1.0 / 362880;
  p = p * r + 1.0 / 40320;
  p = p * r + 1.0 / 5040;
  p = p * r + 1.0 / 720;
  p = p * r + 1.0 / 120;
  p = p * r + 1.0 / 24;
  p = p * r + 1.0 / 6;
  p = p * r + 0.5;
  p = p * (r * r) + (r + 1.0);
  return reinterpret_cast<V>(reinterpret_cast<B>(p) + (reinterpret_cast<B>(shifted) << 52));
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

// ratio[k] = ρ_k/max ρ of one register of values; the logarithm of the maximum, and the sum of the ratios.
template <class Real, int W, class V = typename Register<Real, W>::Value>
[[gnu::always_inline]] inline void relative_densities(const LogDensity<Real>& density, V value, V* ratio, V& largest,
                                                      V& total) {
  const int components = density.components;
  largest = V{} - Real(1e30);
  for (int k = 0; k < components; ++k) {
    const V t = (value - density.mean[k]) * density.steepness[k];
    const V log_density = density.offset[k] - t * t;
    ratio[k] = log_density;
    largest = log_density > largest ? log_density : largest;
  }
  total = V{};
  for (int k = 0; k < components; ++k) {
    const V e = exp_negative<W>(ratio[k] - largest);
    ratio[k] = e;
    total += e;
  }
}

template <class V>
struct RegisterSums {
  V weight, first, second, spread;
};

template <class Real, int W>
[[gnu::always_inline]] inline double expect(const LogDensity<Real>& density, const Real* value, const Real* count,
                                            const Real* spread, int64_t padded, ComponentSums* sums) {
  using V = typename Register<Real, W>::Value;
  // Sums are flushed into double after this many groups, so that float rounding does not grow with the table.
  constexpr int64_t kChunk = 64 * kLanes;
  const int components = density.components;
  V ratio[kMaxComponents];
  RegisterSums<V> s[kMaxComponents];
  alignas(64) Real top[kChunk], sum[kChunk];  // of each group: ln of its largest ρ, Σ ρ relative to it
  alignas(64) double log_evidence[kChunk];
  double evidence = 0;
  for (int64_t start = 0; start < padded; start += kChunk) {
    const int64_t end = start + kChunk < padded ? start + kChunk : padded;
    for (int k = 0; k < components; ++k) s[k].weight = s[k].first = s[k].second = s[k].spread = V{};
    for (int64_t i = start; i < end; i += W) {
      const V x = load<V>(value + i), inside = load<V>(spread + i);
      V largest, total;
      relative_densities<Real, W>(density, x, ratio, largest, total);
      const V share = load<V>(count + i) / total;
      for (int k = 0; k < components; ++k) {
        const V w = share * ratio[k], d = x - density.mean[k], wd = w * d;
        s[k].weight += w;
        s[k].first += wd;
        s[k].second += wd * d;
        s[k].spread += w * inside;
      }
      store(top + (i - start), largest);
      store(sum + (i - start), total);
    }
    for (int64_t i = 0; i < end - start; ++i)
      log_evidence[i] = static_cast<double>(count[start + i]) *
                        (static_cast<double>(top[i]) + log_above_one(static_cast<double>(sum[i])));
    for (int64_t i = 0; i < end - start; i += 4)
      evidence += (log_evidence[i] + log_evidence[i + 1]) + (log_evidence[i + 2] + log_evidence[i + 3]);
    for (int k = 0; k < components; ++k)
      for (int l = 0; l < W; ++l) {
        sums[k].weight += static_cast<double>(s[k].weight[l]);
        sums[k].first += static_cast<double>(s[k].first[l]);
        sums[k].second += static_cast<double>(s[k].second[l]);
        sums[k].spread += static_cast<double>(s[k].spread[l]);
      }
  }
  return evidence;
}

template <int W>
[[gnu::always_inline]] inline void draw(const LogDensity<double>& density, double floor, const double* value,
                                        const float* uniform, int64_t n, int32_t* mode) {
  using V = typename Register<double, W>::Value;
  const int components = density.components;
  V ratio[kMaxComponents];
  for (int64_t i = 0; i < n; i += W) {
    const int lanes = static_cast<int>(n - i < W ? n - i : W);
    double x[W] = {}, target[W] = {}, passed[W];
    for (int l = 0; l < lanes; ++l) {
      x[l] = value[i + l];
      target[l] = static_cast<double>(uniform[i + l]) * (1 + components * floor);
    }
    V largest, total;
    relative_densities<double, W>(density, load<V>(x), ratio, largest, total);
    const V goal = load<V>(target), one = V{} + 1.0, scale = one / total;
    V reached{}, count{};
    for (int k = 0; k + 1 < components; ++k) {  // the last component takes what is left
      reached += ratio[k] * scale + floor;
      count += goal >= reached ? one : V{};
    }
    store(passed, count);
    for (int l = 0; l < lanes; ++l) mode[i + l] = static_cast<int32_t>(passed[l]);
  }
}

#if defined(__x86_64__)
[[gnu::target("avx512f,avx512dq,avx512vl,avx512bw,avx2,fma")]] double expect_avx512(const LogDensity<float>& d,
                                                                                    const float* v, const float* c,
                                                                                    const float* s, int64_t n,
                                                                                    ComponentSums* out) {
  return expect<float, 16>(d, v, c, s, n, out);
}
[[gnu::target("avx512f,avx512dq,avx512vl,avx512bw,avx2,fma")]] double expect_avx512(const LogDensity<double>& d,
                                                                                    const double* v, const double* c,
                                                                                    const double* s, int64_t n,
                                                                                    ComponentSums* out) {
  return expect<double, 8>(d, v, c, s, n, out);
}
[[gnu::target("avx512f,avx512dq,avx512vl,avx512bw,avx2,fma")]] void draw_avx512(const LogDensity<double>& d,
                                                                                double floor, const double* v,
                                                                                const float* u, int64_t n,
                                                                                int32_t* mode) {
  draw<8>(d, floor, v, u, n, mode);
}
[[gnu::target("avx2,fma")]] double expect_avx2(const LogDensity<float>& d, const float* v, const float* c,
                                               const float* s, int64_t n, ComponentSums* out) {
  return expect<float, 8>(d, v, c, s, n, out);
}
[[gnu::target("avx2,fma")]] double expect_avx2(const LogDensity<double>& d, const double* v, const double* c,
                                               const double* s, int64_t n, ComponentSums* out) {
  return expect<double, 4>(d, v, c, s, n, out);
}
[[gnu::target("avx2,fma")]] void draw_avx2(const LogDensity<double>& d, double floor, const double* v, const float* u,
                                           int64_t n, int32_t* mode) {
  draw<4>(d, floor, v, u, n, mode);
}

Isa isa() {
  static const Isa found = best_isa();
  return found;
}

template <class Real>
double dispatch(const LogDensity<Real>& d, const Real* v, const Real* c, const Real* s, int64_t n, ComponentSums* out) {
  switch (isa()) {
    case Isa::avx512_bf16:
    case Isa::avx512: return expect_avx512(d, v, c, s, n, out);
    case Isa::avx2: return expect_avx2(d, v, c, s, n, out);
    case Isa::plain: break;
  }
  return expect<Real, 16 / sizeof(Real)>(d, v, c, s, n, out);
}
#else
template <class Real>
double dispatch(const LogDensity<Real>& d, const Real* v, const Real* c, const Real* s, int64_t n, ComponentSums* out) {
  return expect<Real, 16 / sizeof(Real)>(d, v, c, s, n, out);
}
#endif

}  // namespace

double expectation(const LogDensity<float>& density, const float* value, const float* count, const float* spread,
                   int64_t padded, ComponentSums* sums) {
  return dispatch(density, value, count, spread, padded, sums);
}
double expectation(const LogDensity<double>& density, const double* value, const double* count, const double* spread,
                   int64_t padded, ComponentSums* sums) {
  return dispatch(density, value, count, spread, padded, sums);
}

void draw_modes(const LogDensity<double>& density, double floor, const double* value, const float* uniform, int64_t n,
                int32_t* mode) {
#if defined(__x86_64__)
  switch (isa()) {
    case Isa::avx512_bf16:
    case Isa::avx512: return draw_avx512(density, floor, value, uniform, n, mode);
    case Isa::avx2: return draw_avx2(density, floor, value, uniform, n, mode);
    case Isa::plain: break;
  }
#endif
  draw<2>(density, floor, value, uniform, n, mode);
}

}  // namespace tessera
