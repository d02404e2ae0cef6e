#include "models/quality/metrics/pair_trends.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "models/quality/common/statistics.h"

namespace tessera::quality {
namespace {

// The 11 edges, each step rounded before it is added: a fused multiply-add would put values on an edge into the other
// bin.
std::array<double, 11> edges(double low, double high) {
  if (low == high) low -= 0.5, high += 0.5;
  const double step = (high - low) / 10;
  std::array<double, 11> edge;
  for (int i = 0; i < 10; ++i) {
    const volatile double offset = i * step;
    edge[static_cast<size_t>(i)] = low + offset;
  }
  edge[10] = high;
  return edge;
}

// Number of edges ≤ x.
int bin(const std::array<double, 11>& edge, double x) {
  int below = 0;
  for (const double e : edge) below += e <= x;
  return below;
}

// Sum of f(i) in eight lanes: a fixed order that vectorizes.
template <class F>
double lane_sum(size_t n, F&& f) {
  double lane[8] = {};
  size_t i = 0;
  for (; i + 8 <= n; i += 8)
    for (size_t l = 0; l < 8; ++l) lane[l] += f(i + l);
  for (; i < n; ++i) lane[i % 8] += f(i);
  return ((lane[0] + lane[1]) + (lane[2] + lane[3])) + ((lane[4] + lane[5]) + (lane[6] + lane[7]));
}

double complete_correlation(std::span<const double> x, std::span<const double> y) {
  const size_t n = x.size();
  if (n < 2) return kUndefined;
  const auto [x_low, x_high] = std::minmax_element(x.begin(), x.end());
  const auto [y_low, y_high] = std::minmax_element(y.begin(), y.end());
  if (*x_low == *x_high || *y_low == *y_high) return kUndefined;
  const double mean_x = lane_sum(n, [&](size_t i) { return x[i]; }) / static_cast<double>(n);
  const double mean_y = lane_sum(n, [&](size_t i) { return y[i]; }) / static_cast<double>(n);
  const double xx = lane_sum(n, [&](size_t i) { return (x[i] - mean_x) * (x[i] - mean_x); });
  const double yy = lane_sum(n, [&](size_t i) { return (y[i] - mean_y) * (y[i] - mean_y); });
  const double xy = lane_sum(n, [&](size_t i) { return (x[i] - mean_x) * (y[i] - mean_y); });
  return std::clamp(xy / (std::sqrt(xx) * std::sqrt(yy)), -1.0, 1.0);
}

// A numeric column's bins in both tables, computed once for all its pairs.
struct Bins {
  std::vector<int8_t> own[2], open[2];
};

Levels levels(const Comparison& c, const std::vector<Bins>& bins, int column, size_t table, bool open) {
  const auto k = static_cast<size_t>(column);
  if (c.facts[k].kind == Kind::categorical) return {c.tables[table].columns[k].codes, {}, c.facts[k].levels};
  return {{}, open ? bins[k].open[table] : bins[k].own[table], 11};
}

PairTrend compare_pair(const Comparison& c, const std::vector<Bins>& bins, int a, int b, const PairOptions& options) {
  const auto ka = static_cast<size_t>(a), kb = static_cast<size_t>(b);
  PairTrend p{a,          b,          "ContingencySimilarity",
              kUndefined, kUndefined, kUndefined,
              kUndefined, kUndefined, kUndefined,
              false,      nullptr,    0};
  const bool number_a = c.facts[ka].kind != Kind::categorical, number_b = c.facts[kb].kind != Kind::categorical;
  if (number_a && number_b) {
    p.metric = "CorrelationSimilarity";
    p.real_correlation = correlation(c.tables[0].columns[ka].numbers, c.tables[0].columns[kb].numbers);
    p.synthetic_correlation = correlation(c.tables[1].columns[ka].numbers, c.tables[1].columns[kb].numbers);
    p.score = p.score_real_edges = 1 - std::abs(p.real_correlation - p.synthetic_correlation) / 2;
    p.counts = std::abs(p.real_correlation) > options.correlation_threshold;
    p.chance = (1 - p.real_correlation * p.real_correlation) *
               std::sqrt(0.6366197723675814 *
                         (1 / static_cast<double>(c.tables[0].rows) + 1 / static_cast<double>(c.tables[1].rows))) /
               2;
    if (std::isnan(p.real_correlation))
      p.error = "no correlation in the real table: a column is constant, or fewer than two rows are complete";
    else if (std::isnan(p.synthetic_correlation))
      p.error = "no correlation in the synthetic table: a column is constant, or fewer than two rows are complete";
    return p;
  }
  const auto similarity = [&](bool open, Association* association, double* chance) {
    return contingency_similarity(levels(c, bins, a, 0, open), levels(c, bins, b, 0, open), levels(c, bins, a, 1, open),
                                  levels(c, bins, b, 1, open), association, chance);
  };
  Association association;
  p.score = similarity(false, &association, &p.chance);
  p.real_association = association.real, p.synthetic_association = association.synthetic;
  p.score_real_edges = number_a || number_b ? similarity(true, nullptr, &p.chance) : p.score;
  p.counts = p.real_association > options.association_threshold;
  return p;
}

}  // namespace

double correlation(std::span<const double> x, std::span<const double> y) {
  bool complete = true;
  for (size_t i = 0; i < x.size(); ++i) complete = complete && x[i] == x[i] && y[i] == y[i];
  if (complete) return complete_correlation(x, y);
  std::vector<double> x_kept, y_kept;
  for (size_t i = 0; i < x.size(); ++i) {
    if (std::isnan(x[i]) || std::isnan(y[i])) continue;
    x_kept.push_back(x[i]);
    y_kept.push_back(y[i]);
  }
  return complete_correlation(x_kept, y_kept);
}

std::vector<int8_t> own_bins(std::span<const double> numbers, double low, double high) {
  const auto edge = edges(low, high);
  std::vector<int8_t> bins(numbers.size());
  for (size_t i = 0; i < bins.size(); ++i)
    bins[i] = std::isnan(numbers[i]) ? int8_t{10} : static_cast<int8_t>(bin(edge, numbers[i]) - 1);
  return bins;
}

std::vector<int8_t> open_bins(std::span<const double> numbers, double low, double high) {
  const auto edge = edges(low, high);
  std::vector<int8_t> bins(numbers.size());
  for (size_t i = 0; i < bins.size(); ++i)
    bins[i] = std::isnan(numbers[i]) ? int8_t{-1} : static_cast<int8_t>(std::clamp(bin(edge, numbers[i]) - 1, 0, 9));
  return bins;
}

std::vector<PairTrend> pair_trends(const Comparison& c, const PairOptions& options, const Workers& workers) {
  const int columns = static_cast<int>(c.facts.size());
  std::vector<Bins> bins(c.facts.size());
  const ComparedTable *real = &c.tables[0], *synthetic = &c.tables[1];
  workers.for_each("bins", "columns", columns, 1, [&](int64_t i) {
    const auto k = static_cast<size_t>(i);
    if (c.facts[k].kind == Kind::categorical) return;
    const ComparedColumn &r = real->columns[k], &s = synthetic->columns[k];
    bins[k].own[0] = own_bins(r.numbers, r.low, r.high);
    bins[k].own[1] = own_bins(s.numbers, s.low, s.high);
    bins[k].open[0] = open_bins(r.numbers, r.low, r.high);
    bins[k].open[1] = open_bins(s.numbers, r.low, r.high);
  });
  std::vector<PairTrend> pairs;
  for (int a = 0; a < columns; ++a)
    for (int b = a + 1; b < columns; ++b) pairs.push_back({a, b});
  workers.for_each("pair trends", "pairs", static_cast<int64_t>(pairs.size()), 1, [&](int64_t i) {
    PairTrend& p = pairs[static_cast<size_t>(i)];
    p = compare_pair(c, bins, p.a, p.b, options);
  });
  return pairs;
}

}  // namespace tessera::quality
