// Encodes a numeric column of sequences as one alpha: its position in the column's range, (x − low)/(high − low) in [0,
// 1]. Neighboring values stay neighbors; with a mixture's modes, a series that drifts from one mode to the next would
// jump. If one value is far more frequent than any other (no rain on most days), or values are missing, a choice
// follows: a position, the atom, missing.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace tessera {

struct RangeCode {
  static constexpr size_t kMaxGrid = 128;

  double low = 0, high = 1;  // range of the column, low < high; decoded values stay inside
  double fill = 0;  // the mean of the others: replaces a missing value and the atom, so that moments are not biased
  double atom = 0;  // decoded exactly
  // ascending: all values of a column with few distinct ones; decoding rounds to the nearest. Empty: any value of the
  // range
  std::vector<double> grid;
  bool missing = false, has_atom = false;
  int decimals = -1;  // as in NumberCode

  int width() const { return missing || has_atom ? 1 + has_atom + missing : 0; }  // of the choice

  // From the values that are not missing, ascending, at least two distinct. The caller sets decimals and missing.
  void fit(std::span<const double> ascending);
  // Sets the atom, if there is one: a value with at least this share that is this many times as frequent as any other.
  static constexpr double kAtomShare = 0.25, kAtomTimes = 5;
  void find_atom(std::span<const double> ascending);

  // As NumberCode's; without a choice no code is written. Values outside the range are encoded outside [0, 1].
  int64_t encode(const double* x, int64_t n, float* alpha, int64_t alpha_stride, int32_t* code,
                 int64_t code_stride) const;
  void decode(const float* alpha, int64_t alpha_stride, const int32_t* code, int64_t code_stride, int64_t n,
              double* x) const;

  double place(double x) const;  // (x − low)/(high − low), of any finite range
  double value(double place) const;
};

}  // namespace tessera
