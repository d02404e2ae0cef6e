// The arithmetic of references: a double that carries how much rounding the formula may have gathered, in units of the
// tested scalar's epsilon.
// A reference is written once, as the formula on paper, and its tolerance follows from it: |error| ≤ c·eps·e, where e
// of a sum of products is Σ|a||b|.
#pragma once
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <vector>

#include "kernels/view.h"

namespace tessera::oracle {

struct Number {
  double v = 0, e = 0;
  Number() = default;
  Number(double value) : v(value) {}  // an input, exact in the tested scalar
  Number(double value, double error) : v(value), e(error) {}
};

inline Number rounded(double v, double e) { return {v, e + std::fabs(v)}; }
inline Number operator+(Number a, Number b) { return rounded(a.v + b.v, a.e + b.e); }
inline Number operator-(Number a, Number b) { return rounded(a.v - b.v, a.e + b.e); }
inline Number operator-(Number a) { return {-a.v, a.e}; }
inline Number operator*(Number a, Number b) { return rounded(a.v * b.v, std::fabs(a.v) * b.e + std::fabs(b.v) * a.e); }
inline Number operator/(Number a, Number b) {
  return rounded(a.v / b.v, a.e / std::fabs(b.v) + std::fabs(a.v) * b.e / (b.v * b.v));
}
// One term of a long sum: the rounding errors of the partial sums stay within a few Σ|term|.
inline Number& operator+=(Number& a, Number b) { return a = {a.v + b.v, a.e + b.e + std::fabs(b.v)}; }
inline bool operator<(Number a, Number b) { return a.v < b.v; }
inline bool operator>(Number a, Number b) { return a.v > b.v; }

inline Number apply(double value, double slope, Number x) { return rounded(value, std::fabs(slope) * x.e); }
inline Number exp(Number x) { return apply(std::exp(x.v), std::exp(x.v), x); }
inline Number log(Number x) { return apply(std::log(x.v), 1 / x.v, x); }
inline Number tanh(Number x) { return apply(std::tanh(x.v), 1 - std::tanh(x.v) * std::tanh(x.v), x); }
inline Number sqrt(Number x) { return apply(std::sqrt(x.v), x.v == 0 ? 0 : 0.5 / std::sqrt(x.v), x); }

// The nearest number of the format. Of two it is the even one, in tf32 the one away from 0 (cvt.rna).
inline double rounded(double x, Precision precision) {
  if (x == 0 || !std::isfinite(x) || precision == Precision::fp32) return x;
  const int lowest = precision == Precision::fp16 ? -14 : -126, bits = precision == Precision::bf16 ? 7 : 10;
  const double unit = std::ldexp(1, std::max(std::ilogb(x), lowest) - bits);
  return (precision == Precision::tf32 ? std::round(x / unit) : std::nearbyint(x / unit)) * unit;
}
// A factor that was computed in float before it is rounded: one near the middle of two numbers may become either.
inline Number rounded(Number x, Precision precision) {
  const double near = rounded(x.v, precision), slack = 16 * FLT_EPSILON * x.e;
  if (precision == Precision::fp32) return x;
  const double away = std::fmax(rounded(x.v + slack, precision) - near, near - rounded(x.v - slack, precision));
  return {near, away / FLT_EPSILON};
}

// A matrix of them.
struct Grid {
  int64_t rows = 0, cols = 0;
  std::vector<Number> cells;
  Grid() = default;
  Grid(int64_t r, int64_t c, Number fill = {}) : rows(r), cols(c), cells(static_cast<size_t>(r * c), fill) {}
  Number& operator()(int64_t r, int64_t c) { return cells[static_cast<size_t>(r * cols + c)]; }
  const Number& operator()(int64_t r, int64_t c) const { return cells[static_cast<size_t>(r * cols + c)]; }
  // Broadcasting: the element of a [1, c], [r, 1] or [1, 1] beside (r, c).
  const Number& wide(int64_t r, int64_t c) const { return (*this)(rows == 1 ? 0 : r, cols == 1 ? 0 : c); }
};

template <class F>
Grid grid(int64_t rows, int64_t cols, F&& cell) {
  Grid g(rows, cols);
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < cols; ++c) g(r, c) = cell(r, c);
  return g;
}

}  // namespace tessera::oracle
