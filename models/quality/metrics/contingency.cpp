// Joint shares of two columns of levels: a dense count for few levels, sorted keys for many.
#include <algorithm>
#include <cmath>

#include "models/quality/common/chance.h"
#include "models/quality/common/statistics.h"
#include "models/quality/metrics/pair_trends.h"

namespace tessera::quality {
namespace {

constexpr int64_t kDenseCells = 1 << 16;  // counts of this many cells fit in the cache

template <class Body>
void with_levels(const Levels& l, Body&& body) {
  if (!l.wide.empty()) body(l.wide);
  else body(l.narrow);
}

// visit(row, key) for every row, key = (a + 1)·(levels of b + 1) + (b + 1).
template <class Visit>
void for_each_key(const Levels& a, const Levels& b, int64_t stride, Visit&& visit) {
  with_levels(a, [&](auto first) {
    with_levels(b, [&](auto second) {
      for (size_t i = 0; i < first.size(); ++i) visit(i, (first[i] + int64_t{1}) * stride + second[i] + 1);
    });
  });
}

size_t rows(const Levels& l) { return l.wide.size() + l.narrow.size(); }

// The cells that hold rows of either table, in order of their keys.
struct Joint {
  std::vector<int64_t> key, real, synthetic;
};

Joint count_dense(const Levels& ra, const Levels& rb, const Levels& sa, const Levels& sb, int64_t stride,
                  int64_t cells) {
  // Two alternating counters, so that a run of one value does not wait for its own store.
  std::vector<int32_t> count(static_cast<size_t>(cells) * 4, 0);
  int32_t* real = count.data();
  int32_t* synthetic = real + 2 * cells;
  for_each_key(ra, rb, stride, [&](size_t i, int64_t key) { ++real[static_cast<int64_t>(i & 1) * cells + key]; });
  for_each_key(sa, sb, stride, [&](size_t i, int64_t key) { ++synthetic[static_cast<int64_t>(i & 1) * cells + key]; });
  Joint joint;
  for (int64_t k = 0; k < cells; ++k) {
    const int64_t r = int64_t{real[k]} + real[cells + k], s = int64_t{synthetic[k]} + synthetic[cells + k];
    if (r + s == 0) continue;
    joint.key.push_back(k);
    joint.real.push_back(r);
    joint.synthetic.push_back(s);
  }
  return joint;
}

std::vector<int64_t> sorted_keys(const Levels& a, const Levels& b, int64_t stride) {
  std::vector<int64_t> keys(rows(a));
  for_each_key(a, b, stride, [&](size_t i, int64_t key) { keys[i] = key; });
  std::sort(keys.begin(), keys.end());
  return keys;
}

Joint count_sorted(const Levels& ra, const Levels& rb, const Levels& sa, const Levels& sb, int64_t stride) {
  const std::vector<int64_t> real = sorted_keys(ra, rb, stride), synthetic = sorted_keys(sa, sb, stride);
  Joint joint;
  for (size_t i = 0, j = 0; i < real.size() || j < synthetic.size();) {
    const bool from_real = j == synthetic.size() || (i < real.size() && real[i] <= synthetic[j]);
    const int64_t key = from_real ? real[i] : synthetic[j];
    const size_t i0 = i, j0 = j;
    while (i < real.size() && real[i] == key) ++i;
    while (j < synthetic.size() && synthetic[j] == key) ++j;
    joint.key.push_back(key);
    joint.real.push_back(static_cast<int64_t>(i - i0));
    joint.synthetic.push_back(static_cast<int64_t>(j - j0));
  }
  return joint;
}

// V = √(χ² / n / (min(rows, cols) − 1)), only levels that occur. Cells without rows add their expectation: n minus the
// expectation of the others.
double cramers_v(const Joint& joint, const std::vector<int64_t>& count, int64_t stride, size_t levels_a, double n) {
  std::vector<double> in_a(levels_a, 0), in_b(static_cast<size_t>(stride), 0);
  for (size_t k = 0; k < joint.key.size(); ++k) {
    in_a[static_cast<size_t>(joint.key[k] / stride)] += static_cast<double>(count[k]);
    in_b[static_cast<size_t>(joint.key[k] % stride)] += static_cast<double>(count[k]);
  }
  const auto occur = [](const std::vector<double>& v) {
    return std::count_if(v.begin(), v.end(), [](double x) { return x > 0; });
  };
  const int64_t levels = std::min(occur(in_a), occur(in_b));
  if (levels < 2) return kUndefined;
  double chi2 = 0, empty = n;
  int64_t cells = 0;
  for (size_t k = 0; k < joint.key.size(); ++k) {
    if (count[k] == 0) continue;
    const double expected =
        in_a[static_cast<size_t>(joint.key[k] / stride)] * in_b[static_cast<size_t>(joint.key[k] % stride)] / n;
    const double off = static_cast<double>(count[k]) - expected;
    chi2 += off * off / expected;
    empty -= expected;
    ++cells;
  }
  if (cells < occur(in_a) * occur(in_b)) chi2 += std::max(empty, 0.0);
  return std::sqrt(chi2 / n / static_cast<double>(levels - 1));
}

}  // namespace

double contingency_similarity(const Levels& ra, const Levels& rb, const Levels& sa, const Levels& sb,
                              Association* association, double* chance) {
  const int64_t stride = std::max(rb.count, sb.count) + int64_t{1};
  const int64_t levels_a = std::max(ra.count, sa.count) + int64_t{1};
  const bool dense = levels_a <= kDenseCells && stride <= kDenseCells && levels_a * stride <= kDenseCells;
  const Joint joint =
      dense ? count_dense(ra, rb, sa, sb, stride, levels_a * stride) : count_sorted(ra, rb, sa, sb, stride);
  const auto real_rows = static_cast<double>(rows(ra)), synthetic_rows = static_cast<double>(rows(sa));
  double distance = 0;
  for (size_t k = 0; k < joint.key.size(); ++k)
    distance += std::abs(static_cast<double>(joint.real[k]) / real_rows -
                         static_cast<double>(joint.synthetic[k]) / synthetic_rows);
  if (chance != nullptr) {
    *chance = 0;
    for (size_t k = 0; k < joint.key.size(); ++k) {
      const double both = static_cast<double>(joint.real[k] + joint.synthetic[k]) / (real_rows + synthetic_rows);
      *chance += mean_difference(both, real_rows, synthetic_rows) / 2;
    }
  }
  if (association != nullptr)
    *association = {cramers_v(joint, joint.real, stride, static_cast<size_t>(levels_a), real_rows),
                    cramers_v(joint, joint.synthetic, stride, static_cast<size_t>(levels_a), synthetic_rows)};
  return 1 - std::min(distance / 2, 1.0);  // rounding must not make it negative
}

}  // namespace tessera::quality
