#include "models/data/encoding/range_code.h"

#include <algorithm>
#include <limits>

#include "models/data/encoding/number_code.h"
#include "models/data/table/decimals.h"

namespace tessera {

void RangeCode::fit(std::span<const double> ascending) {
  low = ascending.front(), high = ascending.back();
  double sum = 0;
  for (const double x : ascending) sum += place(x);
  fill = value(sum / static_cast<double>(ascending.size()));
  for (const double x : ascending) {
    if (!grid.empty() && grid.back() == x) continue;
    if (grid.size() == kMostGrid) {
      grid.clear();
      return;
    }
    grid.push_back(x);
  }
}

double RangeCode::place(double x) const {
  const double width = high - low;
  // the range of ±1e308 exceeds a double
  return width - width == 0 ? (x - low) / width : (x / 2 - low / 2) / (high / 2 - low / 2);
}

double RangeCode::value(double place) const { return (1 - place) * low + place * high; }

int64_t RangeCode::encode(const double* x, int64_t n, float* alpha, int64_t alpha_stride, int32_t* code,
                          int64_t code_stride) const {
  for (int64_t i = 0; i < n; ++i) {
    const bool gone = x[i] != x[i];
    if (gone && !missing) return i;
    if (missing) code[i * code_stride] = gone ? 1 : 0;
    alpha[i * alpha_stride] = static_cast<float>(place(gone ? fill : x[i]));
  }
  return -1;
}

void RangeCode::decode(const float* alpha, int64_t alpha_stride, const int32_t* code, int64_t code_stride, int64_t n,
                       double* x) const {
  for (int64_t i = 0; i < n; ++i) {
    if (missing && code[i * code_stride] == 1) {
      x[i] = std::numeric_limits<double>::quiet_NaN();
      continue;
    }
    const double v = value(static_cast<double>(alpha[i * alpha_stride]));
    if (grid.empty()) {
      // in this order NaN becomes low, not a missing value
      x[i] = std::min(std::max(low, round_decimals(v, decimals)), high);
      continue;
    }
    const auto above = std::lower_bound(grid.begin(), grid.end(), v);
    if (above == grid.begin() || v != v) x[i] = grid.front();
    else if (above == grid.end()) x[i] = grid.back();
    else x[i] = v - above[-1] <= *above - v ? above[-1] : *above;
  }
}

}  // namespace tessera
