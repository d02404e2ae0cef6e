// tabulate_curve, shifted_moments, activate: the loops over (unit, row) of random multilayer perceptrons.
//   A curve's knots are x_b + s, a block and a step: sin(f (x_b + s) + φ) = sin(f x_b + φ) cos f s + cos(f x_b + φ) sin
//   f s, so 8,192 values and slopes of 256 terms are four multiply-adds a knot and term, 8.4 million in all, instead of
//   4.2 million sines. Cubic Hermite between knots: within 1.3e-5 of a deviation.
//   activate: 2·4 bytes an element; a value's bits depend on its place in a register alone
#include "kernels/activations.h"
#include "kernels/cpu/arrays/table.h"

namespace tessera::TESSERA_ISA {
namespace {

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
      const CurvePlace place = place_on_curve(given[i]);
      knot[i] = place.knot, along[i] = place.along;
      outside |= !on_curve(given[i]);
    }
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) x[first + i] = between_knots(c.value, c.rise, knot[i], along[i]);
    for (int64_t i = 0; outside && i < count; ++i)
      if (!on_curve(given[i])) x[first + i] = curve_at(c, given[i]);
  }
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
  const UnitMoments found = unit_moments(about, total, squares, n);
  *mean = found.mean, *deviation = found.deviation;
}

void activate(Activation f, float mean, float scale, float shift, const RandomCurve* curve, int64_t n, float* x) {
  if (f == Activation::random) return follow_curve(*curve, mean, scale, shift, n, x);
  with_activation(f, [=](auto kind) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) x[i] = activated<kind.kKind>(mul_add(scale, x[i] - mean, shift));
  });
}

}  // namespace tessera::TESSERA_ISA
