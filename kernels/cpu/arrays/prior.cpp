// tabulate_curve, shifted_moments, activate: the loops over (unit, row) of random multilayer perceptrons.
//   A curve's knots are x_b + s, a block and a step: sin(f (x_b + s) + φ) = sin(f x_b + φ) cos f s + cos(f x_b + φ) sin
//   f s, so 8,192 values and slopes of 256 terms are four multiply-adds a knot and term, 8.4 million in all, instead of
//   4.2 million sines. Cubic Hermite between knots: within 1.3e-5 of a deviation.
//   activate: 2·4 bytes an element; a value's bits depend on its place in a register alone
#include "kernels/cpu/arrays/table.h"

namespace tessera::TESSERA_ISA {
namespace {

// sin 2πt for |t| ≤ ½: odd Taylor terms up to the eleventh of the nearest half turn.
inline float sine_of_turn(float t) {
  const float far = (t < 0 ? -0.5f : 0.5f) - t, size = t < 0 ? -t : t;
  const float y = 6.28318531f * (size > 0.25f ? far : t), y2 = y * y;
  float p = mul_add(y2, -2.5052108e-8f, 2.7557319e-6f);
  p = mul_add(p, y2, -1.9841270e-4f);
  p = mul_add(p, y2, 8.3333333e-3f);
  p = mul_add(p, y2, -0.16666667f);
  return mul_add(y * y2, p, y);
}
// The part of a number of turns between −½ and ½; NaN for infinity.
inline float part_of_turn(double turns) { return static_cast<float>(turns - __builtin_rint(turns)); }

constexpr double kTurns = 0.15915494309189533577;  // 1/2π

float curve_at(const RandomCurve& c, float x) {
  constexpr int kSums = 16;
  float sum[kSums] = {};
  for (int k = 0; k < kCurveTerms; k += kSums)
    for (int l = 0; l < kSums; ++l) {
      const double turns = static_cast<double>(c.frequency[k + l]) * kTurns * static_cast<double>(x);
      sum[l] = mul_add(c.weight[k + l], sine_of_turn(part_of_turn(turns + static_cast<double>(c.turn[k + l]))), sum[l]);
    }
  float total = 0;
  for (const float s : sum) total += s;
  return total;
}

constexpr float kKnotsPerUnit = kCurveKnots / (2 * kCurveEnd);

void follow_curve(const RandomCurve& c, float mean, float scale, float shift, int64_t n, float* x) {
  constexpr int64_t kBlock = 256;
  for (int64_t first = 0; first < n; first += kBlock) {
    const int64_t count = min_of(kBlock, n - first);
    float given[kBlock], along[kBlock];
    int32_t knot[kBlock];
    bool outside = false;
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) {
      given[i] = mul_add(scale, x[first + i] - mean, shift);
      const float low = given[i] > -kCurveEnd ? given[i] : -kCurveEnd;  // NaN too
      const float at = (low < kCurveEnd ? low : kCurveEnd) * kKnotsPerUnit, below = __builtin_floorf(at);
      const float k = below < kCurveKnots / 2 - 1 ? below : kCurveKnots / 2 - 1;
      knot[i] = static_cast<int32_t>(k) + kCurveKnots / 2;
      along[i] = at - k;
      outside |= !(given[i] >= -kCurveEnd && given[i] <= kCurveEnd);
    }
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) {
      const float y0 = c.value[knot[i]], y1 = c.value[knot[i] + 1], r0 = c.rise[knot[i]], r1 = c.rise[knot[i] + 1];
      const float u = along[i], step = y1 - y0, bend = 3.0f * step - 2.0f * r0 - r1, twist = r0 + r1 - 2.0f * step;
      x[first + i] = mul_add(u, mul_add(u, mul_add(u, twist, bend), r0), y0);
    }
    for (int64_t i = 0; outside && i < count; ++i)
      if (!(given[i] >= -kCurveEnd && given[i] <= kCurveEnd)) x[first + i] = curve_at(c, given[i]);
  }
}

template <class F>
inline void map(float mean, float scale, float shift, int64_t n, float* x, F f) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) x[i] = f(mul_add(scale, x[i] - mean, shift));
}

}  // namespace

void tabulate_curve(RandomCurve& c) {
  constexpr float kStep = 2 * kCurveEnd / kCurveKnots;
  for (int k = 0; k < kCurveTerms; ++k) {
    const double f = static_cast<double>(c.frequency[k]) * kTurns;
    for (int j = 0; j < kCurveSteps; ++j) {
      const double turns = f * (static_cast<double>(j) * static_cast<double>(kStep));
      c.sine[k][j] = sine_of_turn(part_of_turn(turns));
      c.cosine[k][j] = sine_of_turn(part_of_turn(turns + 0.25));
    }
  }
  using V = Vec<float>;
  constexpr int kLanes = Simd<float>::kLanes, kAtOnce = 4;
  for (int b = 0; b < kCurveBlocks; ++b) {
    float p[kCurveTerms], q[kCurveTerms], dp[kCurveTerms], dq[kCurveTerms];
    const double x = static_cast<double>(b * kCurveSteps) * static_cast<double>(kStep) - static_cast<double>(kCurveEnd);
    for (int k = 0; k < kCurveTerms; ++k) {
      const double turns = static_cast<double>(c.frequency[k]) * kTurns * x + static_cast<double>(c.turn[k]);
      const float w = c.weight[k], rise = w * c.frequency[k] * kStep;
      const float s = sine_of_turn(part_of_turn(turns)), o = sine_of_turn(part_of_turn(turns + 0.25));
      p[k] = w * s, q[k] = w * o, dp[k] = rise * o, dq[k] = -rise * s;
    }
    for (int j = 0; j < kCurveSteps; j += kAtOnce * kLanes) {
      V value[kAtOnce] = {}, rise[kAtOnce] = {};
      for (int k = 0; k < kCurveTerms; ++k)
        for (int v = 0; v < kAtOnce; ++v) {
          const V co = load(&c.cosine[k][j + v * kLanes]), si = load(&c.sine[k][j + v * kLanes]);
          value[v] = mul_add(V{} + q[k], si, mul_add(V{} + p[k], co, value[v]));
          rise[v] = mul_add(V{} + dq[k], si, mul_add(V{} + dp[k], co, rise[v]));
        }
      for (int v = 0; v < kAtOnce; ++v) {
        store(c.value + b * kCurveSteps + j + v * kLanes, value[v]);
        store(c.rise + b * kCurveSteps + j + v * kLanes, rise[v]);
      }
    }
  }
  c.value[kCurveKnots] = curve_at(c, kCurveEnd);
  float slope = 0;
  for (int k = 0; k < kCurveTerms; ++k) {
    const double turns = static_cast<double>(c.frequency[k]) * kTurns * static_cast<double>(kCurveEnd) +
                         static_cast<double>(c.turn[k]) + 0.25;
    slope = mul_add(c.weight[k] * c.frequency[k] * kStep, sine_of_turn(part_of_turn(turns)), slope);
  }
  c.rise[kCurveKnots] = slope;
}

void shifted_moments(float* x, const float* noise, float scale, float shift, int64_t n, double* mean,
                     double* deviation) {
  constexpr int64_t kSums = 16;
  double sum[kSums] = {}, square[kSums] = {};
  const auto shifted = [=](int64_t i) {
    return noise == nullptr ? x[i] + shift : mul_add(scale, noise[i], x[i] + shift);
  };
  const double about = n > 0 ? static_cast<double>(shifted(0)) : 0;
  const auto add = [&](int64_t i, int64_t l) {
    x[i] = shifted(i);
    const double d = static_cast<double>(x[i]) - about;
    sum[l] += d;
    square[l] = mul_add(d, d, square[l]);
  };
  const int64_t whole = n / kSums * kSums;
  for (int64_t i = 0; i < whole; i += kSums)
#pragma GCC ivdep
    for (int64_t l = 0; l < kSums; ++l) add(i + l, l);
  for (int64_t i = whole; i < n; ++i) add(i, i - whole);
  double total = 0, squares = 0;
  for (int64_t l = 0; l < kSums; ++l) total += sum[l], squares += square[l];
  const double count = static_cast<double>(n), variance = n > 1 ? (squares - total * total / count) / (count - 1) : 0;
  *mean = about + total / count;
  *deviation = variance > 0 ? __builtin_sqrt(variance) : variance == variance ? 0 : variance;  // NaN stays
}

void activate(Activation f, float mean, float scale, float shift, const RandomCurve* curve, int64_t n, float* x) {
  switch (f) {
    case Activation::tanh: return map(mean, scale, shift, n, x, [](float z) { return tanh_of(z); });
    case Activation::leaky_relu: return map(mean, scale, shift, n, x, [](float z) { return z > 0 ? z : 0.01f * z; });
    case Activation::elu: return map(mean, scale, shift, n, x, [](float z) { return z > 0 ? z : exp_of(z) - 1.0f; });
    case Activation::identity: return map(mean, scale, shift, n, x, [](float z) { return z; });
    case Activation::selu:
      return map(mean, scale, shift, n, x,
                 [](float z) { return 1.05070099f * (z > 0 ? z : 1.67326324f * (exp_of(z) - 1.0f)); });
    case Activation::silu: return map(mean, scale, shift, n, x, [](float z) { return silu_of(z); });
    case Activation::relu: return map(mean, scale, shift, n, x, [](float z) { return z > 0 ? z : z * 0.0f; });
    case Activation::softplus: return map(mean, scale, shift, n, x, [](float z) { return softplus_of(z); });
    case Activation::relu6:
      return map(mean, scale, shift, n, x, [](float z) { return z > 6.0f ? 6.0f : z > 0 ? z : z * 0.0f; });
    case Activation::hardtanh:
      return map(mean, scale, shift, n, x, [](float z) { return z > 1.0f ? 1.0f : z < -1.0f ? -1.0f : z; });
    case Activation::sign:
      return map(mean, scale, shift, n, x, [](float z) { return z >= 0 ? 1.0f : z < 0 ? -1.0f : z; });
    case Activation::gauss: return map(mean, scale, shift, n, x, [](float z) { return exp_of(-z * z); });
    case Activation::exp: return map(mean, scale, shift, n, x, [](float z) { return exp_of(z); });
    case Activation::root: return map(mean, scale, shift, n, x, [](float z) { return sqrt_of(z < 0 ? -z : z); });
    case Activation::indicator:
      return map(mean, scale, shift, n, x, [](float z) { return z >= -1.0f && z <= 1.0f ? 1.0f : z == z ? 0.0f : z; });
    case Activation::sine:
      return map(mean, scale, shift, n, x,
                 [](float z) { return sine_of_turn(part_of_turn(static_cast<double>(z) * kTurns)); });
    case Activation::square: return map(mean, scale, shift, n, x, [](float z) { return z * z; });
    case Activation::absolute: return map(mean, scale, shift, n, x, [](float z) { return z < 0 ? -z : z; });
    case Activation::random: return follow_curve(*curve, mean, scale, shift, n, x);
  }
}

}  // namespace tessera::TESSERA_ISA
