// IEEE 754 half precision, as Arrow's float16 holds it.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace tessera {

inline double from_half(uint16_t h) {
  const int exponent = h >> 10 & 31, fraction = h & 1023;
  const double size = exponent == 31  ? (fraction == 0 ? HUGE_VAL : std::nan(""))
                      : exponent == 0 ? std::ldexp(fraction, -24)
                                      : std::ldexp(1024 + fraction, exponent - 25);
  return (h & 0x8000) != 0 ? -size : size;
}

// The nearest half, ties to even; larger values become the largest half.
inline uint16_t to_half(double v) {
  const auto sign = static_cast<uint16_t>(std::signbit(v) ? 0x8000 : 0);
  const double size = std::fabs(v);
  if (!(size < 65504)) return static_cast<uint16_t>(sign | 0x7BFF);
  int exponent = 0;
  std::frexp(size, &exponent);
  // Halves of [2^(e−1), 2^e) lie 2^(e−11) apart, those below 2^−14 as far as its.
  const int step = std::max(exponent - 11, -24);
  const auto units = static_cast<unsigned>(std::nearbyint(std::ldexp(size, -step)));  // ≤ 2048
  const unsigned bits = units == 0 ? 0 : units < 1024 ? units : (static_cast<unsigned>(step + 24) << 10) + units;
  return static_cast<uint16_t>(sign | bits);
}

// The shortest decimal that is nearest to this half: 0.1 for the bits of 0.0999755859375.
inline double widened_half(double v) {
  char text[32];
  for (int digits = 1; digits < 6; ++digits) {
    std::snprintf(text, sizeof text, "%.*g", digits, v);
    const double shorter = std::strtod(text, nullptr);
    if (to_half(shorter) == to_half(v)) return shorter;
  }
  return v;
}

}  // namespace tessera
