#include "models/quality/metrics/column_shapes.h"

#include <algorithm>
#include <cmath>

#include "models/quality/common/statistics.h"

namespace tessera::quality {
namespace {

std::vector<double> sorted_values(std::span<const double> column, bool decimals) {
  std::vector<double> values;
  values.reserve(column.size());
  for (const double x : column) {
    if (std::isnan(x)) continue;
    const double scaled = x * 1e14;
    values.push_back(decimals && std::isfinite(scaled) ? std::nearbyint(scaled) / 1e14 : x);
  }
  std::sort(values.begin(), values.end());
  return values;
}

double one_side_empty(bool a, bool b) { return a && b ? kUndefined : 0.0; }

}  // namespace

double ks_complement(std::span<const double> a_column, std::span<const double> b_column, bool decimals) {
  const std::vector<double> a = sorted_values(a_column, decimals), b = sorted_values(b_column, decimals);
  if (a.empty() || b.empty()) return one_side_empty(a.empty(), b.empty());
  double gap = 0;
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const double x = std::min(a[i], b[j]);
    while (i < a.size() && a[i] == x) ++i;
    while (j < b.size() && b[j] == x) ++j;
    gap = std::max(gap, std::abs(static_cast<double>(i) / static_cast<double>(a.size()) -
                                 static_cast<double>(j) / static_cast<double>(b.size())));
  }
  return 1 - gap;
}

double tv_complement(std::span<const int32_t> real, std::span<const int32_t> synthetic, int32_t levels) {
  const auto n = static_cast<size_t>(levels);
  std::vector<double> r(n, 0), s(n, 0);
  for (const int32_t c : real)
    if (c >= 0) r[static_cast<size_t>(c)] += 1;
  for (const int32_t c : synthetic)
    if (c >= 0) s[static_cast<size_t>(c)] += 1;
  double real_total = 0, synthetic_total = 0;
  for (size_t c = 0; c < n; ++c) real_total += r[c], synthetic_total += s[c];
  if (real_total == 0 || synthetic_total == 0) return one_side_empty(real_total == 0, synthetic_total == 0);
  for (size_t c = 0; c < n; ++c)
    if (r[c] == 0 && s[c] > 0) r[c] = 1e-6, real_total += 1e-6;
  double distance = 0;
  for (size_t c = 0; c < n; ++c) distance += std::abs(s[c] / synthetic_total - r[c] / real_total);
  return 1 - std::min(distance / 2, 1.0);
}

std::vector<ColumnShape> column_shapes(const Comparison& c, const Workers& workers) {
  std::vector<ColumnShape> shapes(c.facts.size());
  workers.for_each("column shapes", "columns", static_cast<int64_t>(shapes.size()), 1, [&](int64_t i) {
    const auto k = static_cast<size_t>(i);
    const ComparedColumn &real = c.tables[0].columns[k], &synthetic = c.tables[1].columns[k];
    if (c.facts[k].kind == Kind::categorical)
      shapes[k] = {"TVComplement", tv_complement(real.codes, synthetic.codes, c.facts[k].levels)};
    else
      shapes[k] = {"KSComplement", ks_complement(real.numbers, synthetic.numbers,
                                                 c.facts[k].kind == Kind::numerical && !c.facts[k].integer)};
  });
  return shapes;
}

}  // namespace tessera::quality
