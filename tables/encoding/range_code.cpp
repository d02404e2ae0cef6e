#include "tables/encoding/range_code.h"

#include <algorithm>
#include <limits>

#include "tables/encoding/number_code.h"
#include "tables/table/decimals.h"

namespace tessera {

void RangeCode::fit(std::span<const double> ascending) {
  low = ascending.front(), high = ascending.back();
  find_atom(ascending);
  double sum = 0, count = 0;
  for (const double x : ascending)
    if (!has_atom || x != atom) sum += place(x), count += 1;
  fill = value(sum / count);
  for (const double x : ascending) {
    if (!grid.empty() && grid.back() == x) continue;
    if (grid.size() == kMaxGrid) {
      grid.clear();
      return;
    }
    grid.push_back(x);
  }
}

void RangeCode::find_atom(std::span<const double> ascending) {
  size_t most = 0, next = 0;
  for (size_t i = 0, end = 0; i < ascending.size(); i = end) {
    while (end < ascending.size() && ascending[end] == ascending[i]) ++end;
    if (end - i > most) next = most, most = end - i, atom = ascending[i];
    else next = std::max(next, end - i);
  }
  has_atom = static_cast<double>(most) >= kAtomShare * static_cast<double>(ascending.size()) &&
             static_cast<double>(most) >= kAtomTimes * static_cast<double>(next);
  if (!has_atom) atom = 0;
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
    const bool at_atom = has_atom && x[i] == atom;
    if (width() > 0) code[i * code_stride] = gone ? width() - 1 : at_atom ? 1 : 0;
    alpha[i * alpha_stride] = static_cast<float>(place(gone || at_atom ? fill : x[i]));
  }
  return -1;
}

void RangeCode::decode(const float* alpha, int64_t alpha_stride, const int32_t* code, int64_t code_stride, int64_t n,
                       double* x) const {
  for (int64_t i = 0; i < n; ++i) {
    if (width() > 0 && code[i * code_stride] > 0) {
      const bool gone = missing && code[i * code_stride] == width() - 1;
      x[i] = gone ? std::numeric_limits<double>::quiet_NaN() : atom;
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
