#include "models/quality/sequences/sequence_metrics.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "models/quality/common/sampling.h"
#include "models/quality/common/statistics.h"

namespace tessera::quality {
namespace {

// body(x, row) for every valid step, sequence after sequence.
template <class F>
void each_step(const StepRows& s, F&& body) {
  for (int64_t i = 0; i < s.size(); ++i) {
    const float* row = s.sequence(i);
    for (int64_t t = 0; t < s.steps(i); ++t, row += s.features) body(row);
  }
}

struct Range {
  double low = INFINITY, high = -INFINITY;
  bool varies() const { return low < high; }
};

Range range_of(const StepRows& s, int64_t k) {
  Range r;
  each_step(s, [&](const float* row) {
    r.low = std::min(r.low, static_cast<double>(row[k])), r.high = std::max(r.high, static_cast<double>(row[k]));
  });
  return r;
}

Moments moments_of(const StepRows& s, int64_t k) {
  double n = 0, sum = 0;
  each_step(s, [&](const float* row) { n += 1, sum += static_cast<double>(row[k]); });
  const double mean = sum / n;
  if (!range_of(s, k).varies()) return {mean, 0, kUndefined, kUndefined};
  double m2 = 0, m3 = 0, m4 = 0;
  each_step(s, [&](const float* row) {
    const double d = static_cast<double>(row[k]) - mean, dd = d * d;
    m2 += dd, m3 += dd * d, m4 += dd * dd;
  });
  m2 /= n, m3 /= n, m4 /= n;
  return {mean, std::sqrt(m2), m3 / (m2 * std::sqrt(m2)), m4 / (m2 * m2) - 3};
}

void autocorrelate(const StepRows& s, int64_t k, const Moments& m, std::span<double> out) {
  const double variance = m.stddev * m.stddev;
  for (size_t at = 0; at < out.size(); ++at) {
    const auto lag = static_cast<int64_t>(at) + 1;
    double sum = 0, pairs = 0;
    for (int64_t i = 0; i < s.size(); ++i) {
      const float* x = s.sequence(i) + k;
      for (int64_t t = 0; t + lag < s.steps(i); ++t)
        sum += (static_cast<double>(x[t * s.features]) - m.mean) *
               (static_cast<double>(x[(t + lag) * s.features]) - m.mean);
      pairs += static_cast<double>(std::max<int64_t>(s.steps(i) - lag, 0));
    }
    out[at] = pairs > 0 && variance > 0 ? sum / pairs / variance : kUndefined;
  }
}

void correlate(const StepRows& s, int64_t a, const std::vector<Moments>& m, std::span<double> out) {
  std::vector<double> sum(static_cast<size_t>(s.features), 0.0);
  const double mean = m[static_cast<size_t>(a)].mean;
  double n = 0;
  each_step(s, [&](const float* row) {
    const double d = static_cast<double>(row[a]) - mean;
    n += 1;
    for (int64_t b = 0; b < s.features; ++b)
      sum[static_cast<size_t>(b)] += d * (static_cast<double>(row[b]) - m[static_cast<size_t>(b)].mean);
  });
  for (size_t b = 0; b < sum.size(); ++b) {
    const double scale = m[static_cast<size_t>(a)].stddev * m[b].stddev;
    out[b] = scale > 0 ? sum[b] / n / scale : kUndefined;
  }
}

StepStatistics statistics_of(const StepRows& s, int lags, const Workers& workers, const char* note) {
  StepStatistics out;
  const auto features = static_cast<size_t>(s.features), width = static_cast<size_t>(lags);
  out.moments.resize(features);
  out.autocorrelation.resize(features * width);
  out.correlation.resize(features * features);
  workers.for_each(note, "columns", s.features, 1, [&](int64_t k) {
    const auto at = static_cast<size_t>(k);
    out.moments[at] = moments_of(s, k);
    autocorrelate(s, k, out.moments[at], std::span(out.autocorrelation).subspan(at * width, width));
  });
  workers.for_each(note, "columns", s.features, 1, [&](int64_t k) {
    correlate(s, k, out.moments, std::span(out.correlation).subspan(static_cast<size_t>(k) * features, features));
  });
  return out;
}

// ½Σ|p − q| of equal bins over the real range. For a feature that is constant in the real rows: the share of synthetic
// values that differ.
double histogram_distance(const StepRows& real, const StepRows& synthetic, int64_t k, int bins) {
  const Range r = range_of(real, k);
  auto shares = [&](const StepRows& s) {
    std::vector<double> counts(static_cast<size_t>(bins), 0.0);
    double n = 0;
    each_step(s, [&](const float* row) {
      const double v = static_cast<double>(row[k]);
      const double place = r.varies() ? std::floor((v - r.low) / (r.high - r.low) * bins) : v == r.low ? 0 : bins - 1;
      ++counts[static_cast<size_t>(std::clamp(place, 0.0, static_cast<double>(bins - 1)))], n += 1;
    });
    for (double& c : counts) c /= n;
    return counts;
  };
  const std::vector<double> p = shares(real), q = shares(synthetic);
  double sum = 0;
  for (size_t b = 0; b < p.size(); ++b) sum += std::abs(p[b] - q[b]);
  return sum / 2;
}

// ‖x − y‖² of flattened sequences, the shorter one padded with 0. Four sums, so that additions overlap.
double square_distance(const float* x, int64_t nx, const float* y, int64_t ny) {
  if (nx < ny) std::swap(x, y), std::swap(nx, ny);
  double sum[4] = {0, 0, 0, 0};
  int64_t i = 0;
  for (; i + 4 <= ny; i += 4)
    for (int l = 0; l < 4; ++l) {
      const double d = static_cast<double>(x[i + l]) - static_cast<double>(y[i + l]);
      sum[l] += d * d;
    }
  for (; i < nx; ++i) {
    const double d = static_cast<double>(x[i]) - (i < ny ? static_cast<double>(y[i]) : 0.0);
    sum[0] += d * d;
  }
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

Discrepancy discrepancy_of(const StepRows& real, const StepRows& synthetic, const SequenceMetricOptions& o,
                           const Workers& workers) {
  struct Sequence {
    const float* values;
    int64_t size;
  };
  std::vector<Sequence> all;
  auto take = [&](const StepRows& s, uint32_t which) {
    std::vector<int64_t> numbers(static_cast<size_t>(s.size()));
    std::iota(numbers.begin(), numbers.end(), 0);
    for (const int64_t i : drawn(std::move(numbers), o.most, o.seed, Draw::kernel_sequences, which))
      all.push_back({s.sequence(i), s.steps(i) * s.features});
  };
  take(real, 0);
  const size_t n = all.size();
  take(synthetic, 1);
  const size_t m = all.size() - n, total = all.size();

  // Pairs (i, j > i), one row of the triangle per piece.
  auto row_start = [&](size_t i) { return i * total - i * (i + 1) / 2; };
  std::vector<double> square(total * (total - 1) / 2);
  workers.for_each("kernel distances", "sequences", static_cast<int64_t>(total), 1, [&](int64_t row) {
    const auto i = static_cast<size_t>(row);
    for (size_t j = i + 1; j < total; ++j)
      square[row_start(i) + j - i - 1] = square_distance(all[i].values, all[i].size, all[j].values, all[j].size);
  });

  Discrepancy out;
  out.real = static_cast<int64_t>(n), out.synthetic = static_cast<int64_t>(m);
  {
    std::vector<double> sorted = square;
    const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
    std::nth_element(sorted.begin(), middle, sorted.end());
    out.bandwidth = *middle;
    if (sorted.size() % 2 == 0) out.bandwidth = (out.bandwidth + *std::max_element(sorted.begin(), middle)) / 2;
  }
  if (out.bandwidth <= 0) {  // more than half of all pairs are equal: no scale
    out.biased = out.unbiased = kUndefined;
    return out;
  }
  std::vector<std::array<double, 3>> sums(total);  // of k over real pairs, pairs of both, synthetic pairs
  workers.for_each("kernel", "sequences", static_cast<int64_t>(total), 1, [&](int64_t row) {
    const auto i = static_cast<size_t>(row);
    std::array<double, 3> s{0, 0, 0};
    for (size_t j = i + 1; j < total; ++j)
      s[(i >= n) + (j >= n)] += std::exp(-square[row_start(i) + j - i - 1] / out.bandwidth);
    sums[i] = s;
  });
  double rr = 0, rs = 0, ss = 0;
  for (const auto& s : sums) rr += s[0], rs += s[1], ss += s[2];
  const auto a = static_cast<double>(n), b = static_cast<double>(m);
  out.biased = (2 * rr + a) / (a * a) + (2 * ss + b) / (b * b) - 2 * rs / (a * b);
  out.unbiased = n < 2 || m < 2 ? kUndefined : 2 * rr / (a * (a - 1)) + 2 * ss / (b * (b - 1)) - 2 * rs / (a * b);
  return out;
}

double mean_difference(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> d(a.size());
  for (size_t i = 0; i < a.size(); ++i) d[i] = std::abs(a[i] - b[i]);
  return mean_defined(d);
}

std::vector<double> each_moment(const StepStatistics& s, double Moments::*which) {
  std::vector<double> out;
  for (const Moments& m : s.moments) out.push_back(m.*which);
  return out;
}

std::vector<double> above_diagonal(const std::vector<double>& square, int64_t features) {
  std::vector<double> out;
  for (int64_t a = 0; a < features; ++a)
    for (int64_t b = a + 1; b < features; ++b) out.push_back(square[static_cast<size_t>(a * features + b)]);
  return out;
}

}  // namespace

SequenceMetrics sequence_metrics(const StepRows& real, const StepRows& synthetic, const SequenceMetricOptions& options,
                                 const Workers& workers) {
  SequenceMetrics out;
  out.real = statistics_of(real, options.lags, workers, "steps of real sequences");
  out.synthetic = statistics_of(synthetic, options.lags, workers, "steps of synthetic sequences");
  out.histogram.resize(static_cast<size_t>(real.features));
  workers.for_each("histograms", "columns", real.features, 1, [&](int64_t k) {
    out.histogram[static_cast<size_t>(k)] = histogram_distance(real, synthetic, k, options.bins);
  });

  auto moment = [&](double Moments::*which) {
    return mean_difference(each_moment(out.real, which), each_moment(out.synthetic, which));
  };
  out.mean_difference = moment(&Moments::mean);
  out.stddev_difference = moment(&Moments::stddev);
  out.skewness_difference = moment(&Moments::skewness);
  out.kurtosis_difference = moment(&Moments::kurtosis);
  out.autocorrelation_difference = mean_difference(out.real.autocorrelation, out.synthetic.autocorrelation);
  out.cross_correlation_difference = mean_difference(above_diagonal(out.real.correlation, real.features),
                                                     above_diagonal(out.synthetic.correlation, real.features));
  out.histogram_distance = mean_defined(out.histogram);
  out.discrepancy = discrepancy_of(real, synthetic, options, workers);
  return out;
}

}  // namespace tessera::quality
