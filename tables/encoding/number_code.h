// Encodes a numeric column as one alpha and one choice: mode-specific normalization (Xu et al. 2019, §4.2) with exact
// levels for spikes.
// Choices in order: mixture modes, spikes, missing. A value under mode k has α = (x − μ_k)/(4σ_k); spikes and missing
// have α = 0.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/array_kernels.h"
#include "kernels/math/mode_decode.h"

namespace tessera {

struct NumberCodeOptions {
  int max_modes = 10;
  uint64_t seed = 0;
  uint32_t stream = 0;  // the column's number, so that columns start differently
};

struct NumberCode {
  // Modes, of values scaled by 2^−exponent. `offset` is the part of ln ρ_k that does not depend on x, up to a constant
  // common to the modes.
  std::vector<double> mean, stddev, offset;
  std::vector<double> spikes;  // ascending; decoded exactly
  bool missing = false;        // the column has missing values; the last choice is missing
  double low = 0, high = 0;    // range of the column; decoded values stay inside
  int decimals = -1;           // digits after the point that decoded values are rounded to; −1: not rounded
  int exponent = 0;            // 0 for ordinary numbers; else it scales 1e300 or 5e−324 to about 1

  int modes() const { return static_cast<int>(mean.size()); }
  int width() const { return modes() + static_cast<int>(spikes.size()) + (missing ? 1 : 0); }

  // Fits the modes to the values that are not spikes (ascending, at least two distinct). The caller sets low, high,
  // decimals, spikes and missing.
  void fit_modes(std::span<const double> ascending, const NumberCodeOptions& options);

  // n values (NaN: missing) → alpha[i·alpha_stride] in [−0.99, 0.99], code[i·code_stride]. `uniform` draws the mode by
  // responsibility.
  // Returns the first missing row if the column had no missing value, or −1.
  int64_t encode(const double* x, const float* uniform, int64_t n, float* alpha, int64_t alpha_stride, int32_t* code,
                 int64_t code_stride) const;

  // Decodes, NaN for missing; row i of alpha and code at i·stride.
  void decode(const float* alpha, int64_t alpha_stride, const int32_t* code, int64_t code_stride, int64_t n,
              double* x) const;

  NumberRange range() const;
  LogDensity<double> density() const;
};

}  // namespace tessera
