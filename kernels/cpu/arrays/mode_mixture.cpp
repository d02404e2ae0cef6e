// expectation, draw_modes: the loops over (value, component) that preparing a table spends its time in. A register of
// values at a time, all components of it, sums kept by lane.
//   18 FLOP per value and component in float, 30 in double, from the cache: compute-bound
//   a value's bits depend on its lane alone; sums are added in the order of lanes
#include "kernels/cpu/arrays/table.h"

namespace tessera::TESSERA_ISA {
namespace {

template <class Real>
struct BitsOf;
template <>
struct BitsOf<float> {
  typedef uint32_t V __attribute__((vector_size(kVectorBytes)));
};
template <>
struct BitsOf<double> {
  typedef uint64_t V __attribute__((vector_size(kVectorBytes)));
};
template <class Real>
using Bits = typename BitsOf<Real>::V;

// c_0·rⁿ + … + c_n.
template <class V, class Real, int n>
inline V polynomial(V r, const Real (&c)[n]) {
  V p = V{} + c[0];
  for (int i = 1; i < n; ++i) p = mul_add(p, r, V{} + c[i]);
  return p;
}

// e^x for x ≤ 0, below −80 as at −80 (1.8e-35): relative error 2e-7 in float, 2e-16 in double (Taylor to r^12 on |r| ≤
// ln2/2). The sum with 1.5·2^23 (2^52) rounds x/ln2, and leaves the rounded integer in its last bits.
inline Vec<float> exp_negative(Vec<float> x) {
  using V = Vec<float>;
  const V floor = V{} - 80.0f, magic = V{} + 12582912.0f;
  x = x > floor ? x : floor;
  const V shifted = mul_add(x, V{} + 1.44269504088896341f, magic), n = shifted - magic;
  const V r = mul_add(n, V{} + 2.12194440e-4f, mul_add(n, V{} - 0.693359375f, x));
  const V p = polynomial<V, float>(
      r, {1.9875691500e-4f, 1.3981999507e-3f, 8.3334519073e-3f, 4.1665795894e-2f, 1.6666665459e-1f, 5.0000001201e-1f});
  const V e = mul_add(p, r * r, r + 1.0f);
  return reinterpret_cast<V>(reinterpret_cast<Bits<float>>(e) + (reinterpret_cast<Bits<float>>(shifted) << 23));
}
inline Vec<double> exp_negative(Vec<double> x) {
  using V = Vec<double>;
  const V floor = V{} - 80.0, magic = V{} + 6755399441055744.0;
  x = x > floor ? x : floor;
  const V shifted = mul_add(x, V{} + 1.4426950408889634074, magic), n = shifted - magic;
  const V r = mul_add(n, V{} - 1.90821492927058770002e-10, mul_add(n, V{} - 6.93147180369123816490e-01, x));
  const V p = polynomial<V, double>(r, {1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320,
                                        1.0 / 5040, 1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 0.5});
  const V e = mul_add(p, r * r, r + 1.0);
  return reinterpret_cast<V>(reinterpret_cast<Bits<double>>(e) + (reinterpret_cast<Bits<double>>(shifted) << 52));
}

// ln x for x in [1, 2^20]: x = 2^n·m with m in [2/3, 4/3), ln m = 2 artanh((m−1)/(m+1)). Relative error 3e-16.
inline double log_above_one(double x) {
  uint64_t bits, scaled;
  memcpy(&bits, &x, 8);
  const uint64_t n = (bits - 0x3fe5555555555555ull) >> 52;  // 2/3 has the first bits of a new n
  scaled = bits - (n << 52);
  double m, whole;
  memcpy(&m, &scaled, 8);
  const double z = (m - 1) / (m + 1), s = z * z;
  const double p = polynomial<double, double>(
      s, {1.0 / 23, 1.0 / 21, 1.0 / 19, 1.0 / 17, 1.0 / 15, 1.0 / 13, 1.0 / 11, 1.0 / 9, 1.0 / 7, 1.0 / 5, 1.0 / 3});
  const uint64_t counted = n | 0x4330000000000000ull;
  memcpy(&whole, &counted, 8);
  return mul_add(whole - 4503599627370496.0, 0.69314718055994530942, 2 * mul_add(z * s, p, z));
}

// ratio[k] = ρ_k/max ρ of one register of values; the logarithm of the maximum, and the sum of the ratios.
template <class Real>
inline void relative_densities(const LogDensity<Real>& density, Vec<Real> value, Vec<Real>* ratio, Vec<Real>& largest,
                               Vec<Real>& total) {
  using V = Vec<Real>;
  const int components = density.components;
  largest = V{} - Real(1e30);
  for (int k = 0; k < components; ++k) {
    const V t = (value - density.mean[k]) * density.steepness[k];
    const V log_density = mul_add(-t, t, V{} + density.offset[k]);
    ratio[k] = log_density;
    largest = log_density > largest ? log_density : largest;
  }
  total = V{};
  for (int k = 0; k < components; ++k) {
    const V e = exp_negative(ratio[k] - largest);
    ratio[k] = e;
    total += e;
  }
}

template <class Real>
struct LaneSums {
  Vec<Real> weight, first, second, spread;
};

template <class Real>
inline double expectation(const LogDensity<Real>& density, const Real* value, const Real* count, const Real* spread,
                          int64_t padded, ComponentSums* sums) {
  using V = Vec<Real>;
  constexpr int kLanes = Simd<Real>::kLanes;
  static_assert(kMixturePadding % kLanes == 0);
  // Sums are carried into double every kChunk groups, so that float rounding does not grow with the table.
  constexpr int64_t kChunk = 64 * kMixturePadding;
  const int components = density.components;
  V ratio[kMaxComponents];
  LaneSums<Real> s[kMaxComponents];
  alignas(64) Real top[kChunk], sum[kChunk];  // of each group: ln of its largest ρ, Σ ρ relative to it
  alignas(64) double log_evidence[kChunk];
  double evidence = 0;
  for (int64_t start = 0; start < padded; start += kChunk) {
    const int64_t end = min_of(start + kChunk, padded);
    for (int k = 0; k < components; ++k) s[k].weight = s[k].first = s[k].second = s[k].spread = V{};
    for (int64_t i = start; i < end; i += kLanes) {
      const V x = load(value + i), inside = load(spread + i);
      V largest, total;
      relative_densities(density, x, ratio, largest, total);
      const V share = load(count + i) / total;
      for (int k = 0; k < components; ++k) {
        const V w = share * ratio[k], d = x - density.mean[k], wd = w * d;
        s[k].weight += w;
        s[k].first += wd;
        s[k].second = mul_add(wd, d, s[k].second);
        s[k].spread = mul_add(w, inside, s[k].spread);
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
      for (int l = 0; l < kLanes; ++l) {
        sums[k].weight += static_cast<double>(s[k].weight[l]);
        sums[k].first += static_cast<double>(s[k].first[l]);
        sums[k].second += static_cast<double>(s[k].second[l]);
        sums[k].spread += static_cast<double>(s[k].spread[l]);
      }
  }
  return evidence;
}

}  // namespace

double expectation_f32(const LogDensity<float>& density, const float* value, const float* count, const float* spread,
                       int64_t padded, ComponentSums* sums) {
  return expectation(density, value, count, spread, padded, sums);
}
double expectation_f64(const LogDensity<double>& density, const double* value, const double* count,
                       const double* spread, int64_t padded, ComponentSums* sums) {
  return expectation(density, value, count, spread, padded, sums);
}

void draw_modes(const LogDensity<double>& density, double floor, const double* value, const float* uniform, int64_t n,
                int32_t* mode) {
  using V = Vec<double>;
  constexpr int kLanes = Simd<double>::kLanes;
  const int components = density.components;
  V ratio[kMaxComponents];
  for (int64_t i = 0; i < n; i += kLanes) {
    const int lanes = static_cast<int>(min_of(n - i, kLanes));
    double x[kLanes] = {}, target[kLanes] = {}, passed[kLanes];
    for (int l = 0; l < lanes; ++l) {
      x[l] = value[i + l];
      target[l] = static_cast<double>(uniform[i + l]) * (1 + components * floor);
    }
    V largest, total;
    relative_densities<double>(density, load(x), ratio, largest, total);
    const V goal = load(target), one = V{} + 1.0, scale = one / total;
    V reached{}, count{};
    for (int k = 0; k + 1 < components; ++k) {  // the last component takes what is left
      reached += mul_add(ratio[k], scale, V{} + floor);
      count += goal >= reached ? one : V{};
    }
    store(passed, count);
    for (int l = 0; l < lanes; ++l) mode[i + l] = static_cast<int32_t>(passed[l]);
  }
}

}  // namespace tessera::TESSERA_ISA
