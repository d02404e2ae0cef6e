// What comes before the first iteration: rows compressed into groups, and the k-means partition the fit starts from.
#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/error.h"
#include "kernels/philox.h"
#include "models/mixture.h"

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
  Draws(uint64_t seed, uint32_t stream) : seed_(seed), stream_(stream) {}
  double next() {
    const Philox p = philox(stream_, count_++, 0, static_cast<uint32_t>(Purpose::mixture) << 16, static_cast<uint32_t>(seed_), static_cast<uint32_t>(seed_ >> 32));
    return open_uniform(p.word[0], p.word[1]);
  }

 private:
  uint64_t seed_;
  uint32_t stream_, count_ = 0;
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

// k-means++ (Arthur & Vassilvitskii 2007) with the best of 2+⌊ln K⌋ trials a centre. Fewer centres when the values are used up.
std::vector<double> plus_plus_centres(const Groups& g, int components, Draws& draws) {
  double rows = 0;
  for (double c : g.count) rows += c;
  std::vector<double> centres{g.value[pick(g.count, rows, draws.next())]};
  std::vector<double> distance(g.size(), std::numeric_limits<double>::infinity()), potential(g.size()), best(g.size()), trial(g.size());
  auto lower_to = [&](double centre, std::vector<double>& out) {
    double sum = 0;
    for (size_t i = 0; i < g.size(); ++i) {
      const double d = g.value[i] - centre;
      out[i] = std::min(distance[i], d * d);
      sum += g.count[i] * out[i];
    }
    return sum;
  };
  double total = lower_to(centres[0], distance);
  const int trials = 2 + static_cast<int>(std::log(components));
  while (static_cast<int>(centres.size()) < components && total > 0) {
    for (size_t i = 0; i < g.size(); ++i) potential[i] = g.count[i] * distance[i];
    double best_total = std::numeric_limits<double>::infinity(), best_centre = 0;
    for (int t = 0; t < trials; ++t) {
      const double centre = g.value[pick(potential, total, draws.next())];
      const double reached = lower_to(centre, trial);
      if (reached >= best_total) continue;
      best_total = reached, best_centre = centre;
      best.swap(trial);
    }
    if (std::find(centres.begin(), centres.end(), best_centre) != centres.end()) break;
    centres.push_back(best_centre);
    distance.swap(best);
    total = best_total;
  }
  return centres;
}

}  // namespace

Groups group_sorted(std::span<const double> x, int max_groups) {
  Groups g;
  size_t distinct = x.empty() ? 0 : 1;
  for (size_t i = 1; i < x.size(); ++i) distinct += x[i] != x[i - 1];
  const size_t target = distinct <= static_cast<size_t>(max_groups) ? 1 : (x.size() + static_cast<size_t>(max_groups) - 1) / static_cast<size_t>(max_groups);
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

std::vector<int32_t> kmeans_labels(const Groups& g, int components, uint64_t seed, uint32_t stream) {
  if (g.size() == 0) throw Error(ErrorCode::internal, "kmeans_labels: no groups");
  Draws draws(seed, stream);
  const std::vector<double> start = plus_plus_centres(g, components, draws);
  const size_t k = start.size();

  // In one dimension a cluster is an interval, so a Lloyd step is k binary searches over prefix sums.
  std::vector<double> rows(g.size() + 1), sums(g.size() + 1);
  for (size_t i = 0; i < g.size(); ++i) rows[i + 1] = rows[i] + g.count[i], sums[i + 1] = sums[i] + g.count[i] * (g.value[i] - g.value[0]);
  std::vector<double> centre = start;
  std::sort(centre.begin(), centre.end());
  std::vector<size_t> cut(k + 1, 0), before;
  cut[k] = g.size();
  for (int step = 0; step < 300; ++step) {
    before = cut;
    for (size_t j = 1; j < k; ++j) {
      const double middle = centre[j - 1] / 2 + centre[j] / 2;
      cut[j] = static_cast<size_t>(std::upper_bound(g.value.begin(), g.value.end(), middle) - g.value.begin());
    }
    if (step > 0 && cut == before) break;
    for (size_t j = 0; j < k; ++j)
      if (cut[j + 1] > cut[j]) centre[j] = g.value[0] + (sums[cut[j + 1]] - sums[cut[j]]) / (rows[cut[j + 1]] - rows[cut[j]]);
    std::sort(centre.begin(), centre.end());
  }

  // Sticks are broken in the components' order, and the bound prefers large ones first.
  std::vector<int32_t> order(k), rank(k);
  for (size_t j = 0; j < k; ++j) order[j] = static_cast<int32_t>(j);
  std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    auto size = [&](int32_t j) { return rows[cut[static_cast<size_t>(j) + 1]] - rows[cut[static_cast<size_t>(j)]]; };
    return size(a) > size(b);
  });
  for (size_t j = 0; j < k; ++j) rank[static_cast<size_t>(order[j])] = static_cast<int32_t>(j);
  std::vector<int32_t> label(g.size());
  for (size_t j = 0; j < k; ++j)
    for (size_t i = cut[j]; i < cut[j + 1]; ++i) label[i] = rank[j];
  return label;
}

}  // namespace tessera
