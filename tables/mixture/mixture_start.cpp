// Before the first iteration: compresses rows into groups, and finds the k-means partition the fit starts from.
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "kernels/math/philox.h"
#include "tables/mixture/mixture.h"

namespace tessera {
namespace {

// Rows [begin, end) as one group: mean and variance about it.
void append_group(Groups& g, std::span<const double> rows) {
  const double first = rows.front(), n = static_cast<double>(rows.size());
  if (rows.back() == first) {
    g.value.push_back(first), g.count.push_back(n), g.spread.push_back(0);
    return;
  }
  double sum = 0, squares = 0;
  for (double x : rows) sum += x - first, squares += (x - first) * (x - first);
  const double mean = sum / n;
  g.value.push_back(first + mean), g.count.push_back(n), g.spread.push_back(std::max(0.0, squares / n - mean * mean));
}

// Uniform numbers in (0, 1) of one stream, in order.
class Draws {
 public:
  Draws(uint64_t seed, uint32_t stream, uint32_t trial) : seed_(seed), stream_(stream), trial_(trial) {}
  double next() {
    const Philox p = random_words(seed_, Purpose::mixture, stream_, count_++ | static_cast<uint64_t>(trial_) << 32);
    return open_uniform(p.word[0], p.word[1]);
  }

 private:
  uint64_t seed_;
  uint32_t stream_, trial_, count_ = 0;
};

// First index whose cumulative weight exceeds the share u of the whole.
size_t pick(const std::vector<double>& weight, double total, double u) {
  double sum = 0;
  size_t last = 0;
  for (size_t i = 0; i < weight.size(); ++i) {
    if (weight[i] <= 0) continue;
    sum += weight[i];
    last = i;
    if (sum > u * total) return i;
  }
  return last;
}

// k-means++ (Arthur & Vassilvitskii 2007) with the best of 2+⌊ln K⌋ trials per center. Fewer centers if there are fewer
// values.
std::vector<double> plus_plus_centers(const Groups& g, int components, Draws& draws) {
  double rows = 0;
  for (double c : g.count) rows += c;
  std::vector<double> centers{g.value[pick(g.count, rows, draws.next())]};
  std::vector<double> distance(g.size(), std::numeric_limits<double>::infinity()), potential(g.size()), best(g.size()),
      trial(g.size());
  auto lower_to = [&](double center, std::vector<double>& out) {
    double sum = 0;
    for (size_t i = 0; i < g.size(); ++i) {
      const double d = g.value[i] - center;
      out[i] = std::min(distance[i], d * d);
      sum += g.count[i] * out[i];
    }
    return sum;
  };
  double total = lower_to(centers[0], distance);
  const int trials = 2 + static_cast<int>(std::log(components));
  while (static_cast<int>(centers.size()) < components && total > 0) {
    for (size_t i = 0; i < g.size(); ++i) potential[i] = g.count[i] * distance[i];
    double best_total = std::numeric_limits<double>::infinity(), best_centre = 0;
    for (int t = 0; t < trials; ++t) {
      const double center = g.value[pick(potential, total, draws.next())];
      const double reached = lower_to(center, trial);
      if (reached >= best_total) continue;
      best_total = reached, best_centre = center;
      best.swap(trial);
    }
    if (std::find(centers.begin(), centers.end(), best_centre) != centers.end()) break;
    centers.push_back(best_centre);
    distance.swap(best);
    total = best_total;
  }
  return centers;
}

// Neighboring groups merged: first[c] is the first group of coarse group c; a final entry ends the last.
Groups coarsen(const Groups& g, size_t target, std::vector<size_t>& first) {
  double rows = 0;
  for (double c : g.count) rows += c;
  Groups out;
  first.clear();
  for (size_t begin = 0; begin < g.size();) {
    double n = 0, sum = 0, squares = 0;
    size_t end = begin;
    for (; end < g.size() &&
           (end == begin || (g.size() > target && n + g.count[end] <= rows / static_cast<double>(target)));
         ++end) {
      const double d = g.value[end] - g.value[begin];
      n += g.count[end], sum += g.count[end] * d, squares += g.count[end] * (d * d + g.spread[end]);
    }
    first.push_back(begin);
    out.value.push_back(g.value[begin] + sum / n), out.count.push_back(n),
        out.spread.push_back(std::max(0.0, squares / n - sum / n * (sum / n)));
    begin = end;
  }
  first.push_back(g.size());
  return out;
}

}  // namespace

Groups group_sorted(std::span<const double> x, int max_groups) {
  Groups g;
  size_t distinct = x.empty() ? 0 : 1;
  for (size_t i = 1; i < x.size(); ++i) distinct += x[i] != x[i - 1];
  const size_t target = distinct <= static_cast<size_t>(max_groups)
                            ? 1
                            : (x.size() + static_cast<size_t>(max_groups) - 1) / static_cast<size_t>(max_groups);
  const size_t expected = std::min(distinct, static_cast<size_t>(max_groups));
  g.value.reserve(expected), g.count.reserve(expected), g.spread.reserve(expected);
  for (size_t begin = 0; begin < x.size();) {
    size_t end = std::min(begin + target, x.size());
    while (end < x.size() && x[end] == x[end - 1]) ++end;
    append_group(g, x.subspan(begin, end - begin));
    begin = end;
  }
  return g;
}

std::vector<int32_t> kmeans_labels(const Groups& g, int components, uint64_t seed, uint32_t stream, uint32_t trial) {
  if (g.size() == 0) throw Error(ErrorCode::internal, "kmeans_labels: no groups");
  Draws draws(seed, stream, trial);
  const std::vector<double> start = plus_plus_centers(g, components, draws);
  const size_t k = start.size();

  // In one dimension a cluster is an interval, so a Lloyd step is k binary searches over prefix sums.
  std::vector<double> rows(g.size() + 1), sums(g.size() + 1);
  for (size_t i = 0; i < g.size(); ++i)
    rows[i + 1] = rows[i] + g.count[i], sums[i + 1] = sums[i] + g.count[i] * (g.value[i] - g.value[0]);
  std::vector<double> sorted = start;
  std::sort(sorted.begin(), sorted.end());
  std::vector<double> center = sorted;
  std::vector<size_t> cut(k + 1, 0), before;
  cut[k] = g.size();
  for (int step = 0; step < 300; ++step) {
    before = cut;
    for (size_t j = 1; j < k; ++j) {
      const double middle = center[j - 1] / 2 + center[j] / 2;
      cut[j] = static_cast<size_t>(std::upper_bound(g.value.begin(), g.value.end(), middle) - g.value.begin());
    }
    if (step > 0 && cut == before) break;
    for (size_t j = 0; j < k; ++j)
      if (cut[j + 1] > cut[j])
        center[j] = g.value[0] + (sums[cut[j + 1]] - sums[cut[j]]) / (rows[cut[j + 1]] - rows[cut[j]]);
    std::sort(center.begin(), center.end());
  }

  // Lloyd keeps the order of the centers, so the cluster of the i-th smallest start belongs to that start: components
  // are numbered as drawn.
  std::vector<int32_t> rank(k);
  for (size_t j = 0; j < k; ++j)
    rank[j] = static_cast<int32_t>(std::find(start.begin(), start.end(), sorted[j]) - start.begin());
  std::vector<int32_t> label(g.size());
  for (size_t j = 0; j < k; ++j)
    for (size_t i = cut[j]; i < cut[j + 1]; ++i) label[i] = rank[j];
  return label;
}

// The result depends mostly on the start, and a start can be evaluated cheaply: several are fitted on a coarse
// grouping, and the one with the highest bound starts the fit of all groups.
Mixture fit_mixture(const Groups& groups, const MixtureOptions& o, uint64_t seed, uint32_t stream,
                    MixturePrecision precision) {
  constexpr size_t kCoarse = 256;
  constexpr uint32_t kTrials = 4;
  std::vector<size_t> first;
  const Groups coarse = coarsen(groups, kCoarse, first);
  Mixture best;
  std::vector<int32_t> start;
  for (uint32_t trial = 0; trial < kTrials; ++trial) {
    const std::vector<int32_t> label = kmeans_labels(coarse, o.components, seed, stream, trial);
    Mixture m = fit_mixture(coarse, label, o, MixturePrecision::fp64);
    if (trial > 0 && !(m.lower_bounds.back() > best.lower_bounds.back())) continue;
    best = std::move(m);
    start = label;
  }
  if (coarse.size() == groups.size()) return best;
  std::vector<int32_t> label(groups.size());
  for (size_t c = 0; c < coarse.size(); ++c)
    std::fill(label.begin() + static_cast<std::ptrdiff_t>(first[c]),
              label.begin() + static_cast<std::ptrdiff_t>(first[c + 1]), start[c]);
  return fit_mixture(groups, label, o, precision);
}

}  // namespace tessera
