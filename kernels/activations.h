// Activations and random functions of the perceptrons of random tables, for a processor and for a GPU, with the same
// bits (kernels/math/functions.h).
#pragma once
#include "kernels/array_kernels.h"
#include "kernels/math/functions.h"

namespace tessera {

template <Activation f>
struct ActivationOf {
  static constexpr Activation kKind = f;
};
// take(ActivationOf<f>), of every function but Activation::random.
#if defined(__CUDACC__)
#pragma nv_exec_check_disable
#endif
template <class Take>
TESSERA_HD static inline void with_activation(Activation f, Take&& take) {
#define TESSERA_CASE(name) \
  case Activation::name: return take(ActivationOf<Activation::name>{});
  switch (f) {
    TESSERA_CASE(tanh)
    TESSERA_CASE(leaky_relu)
    TESSERA_CASE(elu)
    TESSERA_CASE(identity)
    TESSERA_CASE(selu)
    TESSERA_CASE(silu)
    TESSERA_CASE(relu)
    TESSERA_CASE(softplus)
    TESSERA_CASE(relu6)
    TESSERA_CASE(hardtanh)
    TESSERA_CASE(sign)
    TESSERA_CASE(gauss)
    TESSERA_CASE(exp)
    TESSERA_CASE(root)
    TESSERA_CASE(indicator)
    TESSERA_CASE(sine)
    TESSERA_CASE(square)
    TESSERA_CASE(absolute)
    case Activation::random: return;
  }
#undef TESSERA_CASE
}
template <Activation f>
TESSERA_HD static inline float activated(float z) {
  using A = Activation;
  if constexpr (f == A::tanh) return tanh_of(z);
  else if constexpr (f == A::leaky_relu) return z > 0 ? z : 0.01f * z;
  else if constexpr (f == A::elu) return z > 0 ? z : exp_of(z) - 1.0f;
  else if constexpr (f == A::identity) return z;
  else if constexpr (f == A::selu) return 1.05070099f * (z > 0 ? z : 1.67326324f * (exp_of(z) - 1.0f));
  else if constexpr (f == A::silu) return z / (1.0f + exp_of(-z));
  else if constexpr (f == A::relu) return z > 0 ? z : z * 0.0f;
  else if constexpr (f == A::softplus) return softplus_of(z);
  else if constexpr (f == A::relu6) return z > 6.0f ? 6.0f : z > 0 ? z : z * 0.0f;
  else if constexpr (f == A::hardtanh) return z > 1.0f ? 1.0f : z < -1.0f ? -1.0f : z;
  else if constexpr (f == A::sign) return z >= 0 ? 1.0f : z < 0 ? -1.0f : z;
  else if constexpr (f == A::gauss) return exp_of(-z * z);
  else if constexpr (f == A::exp) return exp_of(z);
  else if constexpr (f == A::root) return sqrtf(z < 0 ? -z : z);
  else if constexpr (f == A::indicator) return z >= -1.0f && z <= 1.0f ? 1.0f : z == z ? 0.0f : z;
  else if constexpr (f == A::sine) return sine_of_turn(part_of_turn(static_cast<double>(z) * kTurns));
  else if constexpr (f == A::square) return z * z;
  else return z < 0 ? -z : z;
}

// The mean and the unbiased deviation of n numbers by their sums about one of them. NaN stays.
struct UnitMoments {
  double mean, deviation;
};
TESSERA_HD static inline UnitMoments unit_moments(double about, double sum, double squares, int64_t n) {
  const double count = static_cast<double>(n), variance = n > 1 ? (squares - sum * sum / count) / (count - 1) : 0;
  return {about + sum / count, variance > 0 ? ::sqrt(variance) : variance == variance ? 0 : variance};
}
// x ← f(scale·(x − mean) + shift) of a unit with these moments: standardized, plus b, times a; `again`: standardized
// once more, as random curves are: mean a·b, deviation scale·deviation.
struct Standardized {
  float mean, scale, shift;
};
TESSERA_HD static inline Standardized standardized(const UnitMoments& m, double a, double b, bool again) {
  double scale = a / (m.deviation + 1e-6);
  if (again) scale /= scale * m.deviation + 1e-6;
  return {static_cast<float>(m.mean), static_cast<float>(scale), again ? 0.0f : static_cast<float>(a * b)};
}

// The place of a number among the knots of a random curve.
struct CurvePlace {
  int32_t knot;
  float along;
};
TESSERA_HD static inline bool on_curve(float x) { return x >= -kCurveEnd && x <= kCurveEnd; }
TESSERA_HD static inline CurvePlace place_on_curve(float x) {
  constexpr int32_t kHalf = kCurveKnots / 2;
  constexpr float kHighest = kHalf - 1;
  const float low = x > -kCurveEnd ? x : -kCurveEnd;  // NaN too
  const float at = (low < kCurveEnd ? low : kCurveEnd) * (kCurveKnots / (2 * kCurveEnd)), below = floorf(at);
  const float k = below < kHighest ? below : kHighest;
  return {static_cast<int32_t>(k) + kHalf, at - k};
}
TESSERA_HD static inline float between_knots(const float* value, const float* rise, int32_t knot, float u) {
  const float y0 = value[knot], y1 = value[knot + 1], r0 = rise[knot], r1 = rise[knot + 1];
  const float step = y1 - y0, bend = 3.0f * step - 2.0f * r0 - r1, twist = r0 + r1 - 2.0f * step;
  return mul_add(u, mul_add(u, mul_add(u, twist, bend), r0), y0);
}

}  // namespace tessera
