#include "models/quality/learners/feature_bins.h"

#include <algorithm>
#include <cmath>

namespace tessera::quality {
namespace {

constexpr int kNumberBins = FeatureBins::kMaxBins - 1;  // without "missing"

double between(double a, double b) {
  const double middle = a + (b - a) / 2;
  return std::isfinite(middle) && middle < b ? middle : a;
}

// Upper ends of the bins, except the last. A frequent value gets its own bin: a spike among smooth values stays a
// spike.
std::vector<double> cut(std::span<const double> numbers) {
  std::vector<double> sorted;
  sorted.reserve(numbers.size());
  std::copy_if(numbers.begin(), numbers.end(), std::back_inserter(sorted), [](double v) { return !std::isnan(v); });
  std::sort(sorted.begin(), sorted.end());
  std::vector<double> value;
  std::vector<int64_t> count;
  for (const double v : sorted) {
    if (value.empty() || v != value.back()) value.push_back(v), count.push_back(0);
    ++count.back();
  }
  std::vector<double> upper;
  const size_t n = value.size();
  if (n <= kNumberBins) {
    for (size_t i = 0; i + 1 < n; ++i) upper.push_back(between(value[i], value[i + 1]));
    return upper;
  }
  auto rest = static_cast<double>(sorted.size());  // rows of values that are not frequent
  const double even = rest / kNumberBins;
  int rest_bins = kNumberBins;
  const auto frequent = [&](size_t i) { return static_cast<double>(count[i]) >= even; };
  for (size_t i = 0; i < n; ++i)
    if (frequent(i)) rest -= static_cast<double>(count[i]), --rest_bins;
  double mean = rest / std::max(rest_bins, 1), held = 0;
  for (size_t i = 0; i + 1 < n && upper.size() + 1 < kNumberBins; ++i) {
    if (!frequent(i)) rest -= static_cast<double>(count[i]);
    held += static_cast<double>(count[i]);
    if (!frequent(i) && held < mean && !(frequent(i + 1) && held >= mean / 2)) continue;
    upper.push_back(between(value[i], value[i + 1]));
    held = 0;
    if (!frequent(i) && rest_bins > 1) mean = rest / --rest_bins;
  }
  return upper;
}

// Levels that occur get bins from 1 on, frequent ones first; `bins` − 1 is the bin of all others.
void rank(std::span<const int32_t> codes, int32_t levels, FeatureBins::Column& out) {
  std::vector<int64_t> count(static_cast<size_t>(levels), 0);
  for (const int32_t c : codes)
    if (c >= 0) ++count[static_cast<size_t>(c)];
  std::vector<size_t> order;
  for (size_t v = 0; v < count.size(); ++v)
    if (count[v] > 0) order.push_back(v);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return count[a] > count[b]; });
  order.resize(std::min<size_t>(order.size(), FeatureBins::kMaxBins - 2));
  out.bins = static_cast<int>(order.size()) + 2;
  out.bin.assign(count.size(), static_cast<uint8_t>(out.bins - 1));
  for (size_t i = 0; i < order.size(); ++i) out.bin[order[i]] = static_cast<uint8_t>(i + 1);
}

}  // namespace

FeatureBins::FeatureBins(const Features& x) {
  for (const FeatureColumn& c : x.columns) {
    Column column;
    column.category = !c.codes.empty() || c.levels > 0;
    if (column.category) {
      rank(c.codes, c.levels, column);
    } else {
      column.upper = cut(c.numbers);
      column.bins = static_cast<int>(column.upper.size()) + 2;
    }
    columns_.push_back(std::move(column));
  }
}

BinnedRows::BinnedRows(const FeatureBins& bins, const Features& x) : rows_(x.rows) {
  const size_t width = bins.columns().size();
  bytes_.resize(static_cast<size_t>(rows_) * width);
  for (size_t k = 0; k < width; ++k) {
    const FeatureBins::Column& c = bins.columns()[k];
    bins_.push_back(c.bins);
    category_.push_back(c.category);
    uint8_t* out = bytes_.data() + k;
    for (size_t i = 0; i < static_cast<size_t>(rows_); ++i, out += width) {
      if (c.category) {
        const int32_t code = x.columns[k].codes[i];
        *out = code < 0                                   ? 0
               : static_cast<size_t>(code) < c.bin.size() ? c.bin[static_cast<size_t>(code)]
                                                          : static_cast<uint8_t>(c.bins - 1);
      } else {
        const double v = x.columns[k].numbers[i];
        *out = std::isnan(v)
                   ? 0
                   : static_cast<uint8_t>(std::lower_bound(c.upper.begin(), c.upper.end(), v) - c.upper.begin() + 1);
      }
    }
  }
}

}  // namespace tessera::quality
