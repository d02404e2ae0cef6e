// Turns the units of a model into a table: categories, outliers, scale, classes.
#include <cmath>

#include "models/prior/table.h"

namespace tessera::prior {
namespace {

struct MeanDeviation {
  double mean = 0, deviation = 0;
};
// Unbiased moments of the numbers within `reach` of `about`. Sums use 8 lanes, so they vectorize in a fixed order.
MeanDeviation moments_within(const float* x, int64_t n, float about, float reach) {
  constexpr int64_t kLanes = 8;
  double sum[kLanes] = {}, square[kLanes] = {}, count[kLanes] = {};
  const auto add = [&](int64_t i, int64_t l) {
    const double d = static_cast<double>(x[i]) - static_cast<double>(about);
    const double in = std::fabs(x[i] - about) <= reach ? 1.0 : 0.0;
    sum[l] += in * d, square[l] += in * d * d, count[l] += in;
  };
  const int64_t whole = n / kLanes * kLanes;
  for (int64_t i = 0; i < whole; i += kLanes)
    for (int64_t l = 0; l < kLanes; ++l) add(i + l, l);
  for (int64_t i = whole; i < n; ++i) add(i, i - whole);
  double total = 0, squares = 0, all = 0;
  for (int64_t l = 0; l < kLanes; ++l) total += sum[l], squares += square[l], all += count[l];
  const double variance = all > 1 ? (squares - total * total / all) / (all - 1) : 0;
  return {all > 0 ? static_cast<double>(about) + total / all : static_cast<double>(about),
          std::sqrt(std::max(0.0, variance))};
}

// Renames the classes of y at random; returns how many occur.
int64_t relabel(Draws& d, std::vector<float>& y, int64_t classes) {
  std::vector<int32_t> name(static_cast<size_t>(classes), -1);
  for (const float c : y) name[static_cast<size_t>(c)] = 0;
  const int64_t present = std::count(name.begin(), name.end(), 0);
  const std::vector<int32_t> order = d.permutation(present);
  size_t next = 0;
  for (int32_t& n : name)
    if (n == 0) n = order[next++];
  for (float& c : y) c = static_cast<float>(name[static_cast<size_t>(c)]);
  return present;
}

// The class of a number is the number of boundaries below it.
void cut(const std::vector<float>& boundaries, std::vector<float>& y) {
  for (float& v : y)
    v = static_cast<float>(std::lower_bound(boundaries.begin(), boundaries.end(), v) - boundaries.begin());
}

// The end of each class's share of n sorted numbers, for K classes whose largest is `ratio` times the smallest.
std::vector<double> cumulative_shares(int64_t classes, double ratio) {
  const double step = std::pow(ratio, 1 / static_cast<double>(classes - 1));
  std::vector<double> ends;
  double total = 0;
  for (int64_t k = 0; k < classes; ++k) ends.push_back(total += std::pow(step, static_cast<double>(classes - 1 - k)));
  for (double& end : ends) end /= total;
  return ends;
}

bool cut_by_shares(const Settings& s, std::vector<float>& y) {
  const auto n = static_cast<double>(s.rows);
  const std::vector<double> ends = cumulative_shares(s.classes, s.imbalance);
  std::vector<float> sorted = y, boundaries;
  std::sort(sorted.begin(), sorted.end());
  for (size_t k = 0; k + 1 < ends.size(); ++k)
    boundaries.push_back(sorted[std::min(sorted.size() - 1, static_cast<size_t>(ends[k] * n))]);
  cut(boundaries, y);
  std::vector<double> rows(ends.size(), 0);
  for (const float c : y) rows[static_cast<size_t>(c)] += 1;
  for (size_t k = 0; k < ends.size(); ++k) {  // equal targets cannot be split
    const double wanted = n * (ends[k] - (k == 0 ? 0 : ends[k - 1]));
    if (rows[k] == 0 || std::fabs(rows[k] - wanted) > std::max(2.0, wanted / 10)) return false;
  }
  return true;
}

}  // namespace

void make_categories(Draws& d, Columns& x) {
  if (!d.chance(0.2)) return;
  const double share = d.uniform();
  const int64_t n = x.rows();
  std::vector<float> boundaries, name;
  for (int64_t j = 0; j < x.count(); ++j) {
    if (!d.chance(share)) continue;
    const auto classes = std::max<int64_t>(2, std::lround(d.exponential(10)));
    boundaries.clear();
    for (int64_t k = 1; k < classes; ++k) boundaries.push_back(x[j][d.whole(0, n - 1)]);
    std::sort(boundaries.begin(), boundaries.end());
    name.resize(static_cast<size_t>(classes));
    std::iota(name.begin(), name.end(), 0.0f);
    if (d.chance(0.7)) {
      const std::vector<int32_t> order = d.permutation(classes);
      std::copy(order.begin(), order.end(), name.begin());
    }
    if (d.chance(0.5))
      for (float& c : name) c = static_cast<float>(classes - 1) - c;
    for (int64_t i = 0; i < n; ++i)
      x[j][i] = name[static_cast<size_t>(std::lower_bound(boundaries.begin(), boundaries.end(), x[j][i]) -
                                         boundaries.begin())];
  }
}

void clip_and_scale(float* x, int64_t n) {
  constexpr double kReach = 4, kFloor = 1e-6;
  constexpr float kBound = 100;
  const MeanDeviation all = moments_within(x, n, n > 0 ? x[0] : 0, INFINITY);
  const MeanDeviation inner =
      moments_within(x, n, static_cast<float>(all.mean), static_cast<float>(kReach * std::max(all.deviation, kFloor)));
  const double reach = kReach * std::max(inner.deviation, kFloor);
  const auto low = static_cast<float>(inner.mean - reach), high = static_cast<float>(inner.mean + reach);
  for (int64_t i = 0; i < n; ++i) x[i] = std::min(std::max(x[i], low), high);
  const MeanDeviation kept = moments_within(x, n, n > 0 ? x[0] : 0, INFINITY);
  const auto mean = static_cast<float>(kept.mean), scale = static_cast<float>(1 / std::max(kept.deviation, kFloor));
  for (int64_t i = 0; i < n; ++i) x[i] = std::min(std::max((x[i] - mean) * scale, -kBound), kBound);
}

bool name_classes(Draws& d, std::vector<float>& y, int64_t classes) { return relabel(d, y, classes) >= 2; }

bool make_classes(const Settings& s, Draws& d, std::vector<float>& y) {
  if (s.classes == 0) return *std::min_element(y.begin(), y.end()) < *std::max_element(y.begin(), y.end());
  int64_t present = s.classes;
  if (s.imbalance > 0) {
    if (!cut_by_shares(s, y)) return false;
  } else {
    std::vector<float> boundaries;
    for (int64_t k = 1; k < s.classes; ++k)
      boundaries.push_back(s.labels_by_rank ? y[static_cast<size_t>(d.whole(0, s.rows - 1))]
                                            : static_cast<float>(d.normal()));
    std::sort(boundaries.begin(), boundaries.end());
    cut(boundaries, y);
  }
  present = relabel(d, y, present);
  if (d.chance(0.5))
    for (float& c : y) c = static_cast<float>(present - 1) - c;
  relabel(d, y, present);
  return present >= 2;
}

void separate_classes(double separability, Columns& x, const std::vector<float>& y) {
  if (separability == 1) return;
  const auto n = static_cast<double>(y.size());
  const double mean = std::accumulate(y.begin(), y.end(), 0.0) / n;
  std::vector<double> strength;
  for (int64_t j = 0; j < x.count();
       ++j) {  // |correlation| up to a factor, the deviation of y; columns may be categories
    double sum = 0, squares = 0, product = 0;
    for (size_t i = 0; i < y.size(); ++i) {
      const auto v = static_cast<double>(x[j][i]);
      sum += v, squares += v * v, product += v * (static_cast<double>(y[i]) - mean);
    }
    const double variance = squares - sum * sum / n;
    strength.push_back(variance > 1e-12 ? std::fabs(product) / std::sqrt(variance) : 0);
  }
  const double most = *std::max_element(strength.begin(), strength.end());
  if (most == 0) return;
  for (int64_t j = 0; j < x.count(); ++j) {
    const auto factor = static_cast<float>(1 + (separability - 1) * strength[static_cast<size_t>(j)] / most);
    for (size_t i = 0; i < y.size(); ++i) x[j][i] *= factor;
  }
}

void hide_cells(double share, const TableKey& key, PriorTable& t) {
  if (share == 0) return;
  Draws d(key, Use::missing);
  d.uniform();  // the share
  const auto rows = static_cast<size_t>(t.rows), features = static_cast<size_t>(t.features);
  const double spread = std::min(share, 1 - share);
  std::vector<uint8_t> hidden(rows);
  for (size_t j = 0; j < features; ++j) {
    const double own = d.uniform(share - spread, share + spread);
    float first = NAN;
    bool varies = false;
    for (size_t i = 0; i < rows; ++i) {
      hidden[i] = d.chance(own) ? 1 : 0;
      const float v = t.x[i * features + j];
      if (hidden[i] != 0) continue;
      if (std::isnan(first)) first = v;
      varies |= v != first;
    }
    for (size_t i = 0; i < rows && varies; ++i)
      if (hidden[i] != 0) t.x[i * features + j] = NAN;
  }
}

}  // namespace tessera::prior
