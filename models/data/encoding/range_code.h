// How a numeric column of sequences becomes one alpha: its place in the column's range, (x − low)/(high − low) in [0,
// 1]. Neighbouring values stay neighbours, which a mixture's modes would not grant: a series that drifts from one mode
// to the next would jump. If values are missing, a choice follows: there, missing.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace tessera {

struct RangeCode {
  static constexpr size_t kMostGrid = 128;

  double low = 0, high = 1;  // range of the column, low < high; decoded values stay inside
  double fill = 0;           // the column's mean: where a missing value stands, so that it pulls moments nowhere
  // ascending: all values of a column that has few; decoded values are the nearest of them. Empty: any value of the
  // range
  std::vector<double> grid;
  bool missing = false;
  int decimals = -1;  // as NumberCode's

  int width() const { return missing ? 2 : 0; }  // of the choice

  // Of the values that are not missing, ascending, at least two distinct. decimals and missing are the caller's.
  void fit(std::span<const double> ascending);

  // As NumberCode's; without missing values there is no code to write. Values outside the range come out outside [0,
  // 1].
  int64_t encode(const double* x, int64_t n, float* alpha, int64_t alpha_stride, int32_t* code,
                 int64_t code_stride) const;
  void decode(const float* alpha, int64_t alpha_stride, const int32_t* code, int64_t code_stride, int64_t n,
              double* x) const;

  double place(double x) const;  // (x − low)/(high − low), of any finite range
  double value(double place) const;
};

}  // namespace tessera
