#include "models/quality/learners/nearest.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tessera::quality {
namespace {

// a leaf's levels are stored modulo this: collisions only loosen the bound
constexpr int kMissRows = 64;
constexpr int64_t kSpreadRows = 512;  // rows of a node used to choose its split column

// widths from the low end; values are clamped to [−1, 2], reference values lie in [0, 1]
constexpr int kMissingAt = 4;

// The mean distance of two rows of the node in one column.
double number_spread(std::span<const uint16_t> at, double cap) {
  double mean = 0, spread = 0;
  for (const uint16_t p : at) mean += p;
  mean /= static_cast<double>(at.size());
  for (const uint16_t p : at) spread += std::min(std::abs(p - mean), cap);
  return 1.4 * spread / static_cast<double>(at.size());
}

double level_spread(std::span<const uint16_t> at, double weight) {
  double count[kMissRows] = {}, same = 0;
  for (const uint16_t p : at) count[p % kMissRows] += 1;
  for (const double c : count) same += c * c;
  return weight * (1 - same / (static_cast<double>(at.size()) * static_cast<double>(at.size())));
}

}  // namespace

NearestIndex::NearestIndex(const DistanceTable& reference, const DistanceForm& form, const ArrayKernels& kernels)
    : reference_(reference), form_(form), kernels_(kernels) {
  // A term of a reference row is at most cap or 2 widths (clamped), or a level's weight; kChunkColumns of them must fit
  // 16 bits.
  const double largest = std::max(std::min(form.number_cap, 2.0), form.level_weight);
  unit_ = static_cast<int>(65535 / (kChunkColumns * largest));
  plan_.cap = static_cast<uint16_t>(unit_ * std::min(form.number_cap, 2.0));
  plan_.weight = static_cast<uint16_t>(unit_ * form.level_weight);
  order_columns();
  leaves_ = leaves_of(reference_);
  bound_leaves();
}

void NearestIndex::order_columns() {
  for (const bool numbers : {true, false})
    for (size_t c = 0; c < reference_.columns.size(); ++c) {
      const DistanceColumn& column = reference_.columns[c];
      if (column.codes.empty() != numbers) continue;
      double low = INFINITY;
      for (const double x : column.numbers)
        if (x < low) low = x;
      columns_.push_back({static_cast<int>(c), std::isinf(low) ? 0 : low});
      ++(numbers ? plan_.numbers : plan_.levels);
    }
}

uint16_t NearestIndex::position(const IndexColumn& column, const DistanceColumn& table, int64_t row) const {
  const auto r = static_cast<size_t>(row);
  if (!table.codes.empty()) return static_cast<uint16_t>(table.codes[r] + 1);
  const double x = table.numbers[r];
  if (std::isnan(x)) return static_cast<uint16_t>(kMissingAt * unit_);
  const double u = (x - column.low) / reference_.columns[static_cast<size_t>(column.source)].width;
  return static_cast<uint16_t>(std::lrint((std::clamp(u, -1.0, 2.0) + 1) * unit_));
}

// Splits the widest column at the median, at a multiple of kLeafRows, until nodes are leaves.
NearestIndex::Leaves NearestIndex::leaves_of(const DistanceTable& table) const {
  const auto n = static_cast<size_t>(table.rows);
  const size_t columns = columns_.size();
  std::vector<uint16_t> positions(n * columns);
  for (size_t c = 0; c < columns; ++c)
    for (size_t i = 0; i < n; ++i)
      positions[c * n + i] =
          position(columns_[c], table.columns[static_cast<size_t>(columns_[c].source)], static_cast<int64_t>(i));
  std::vector<int32_t> order(n);
  std::iota(order.begin(), order.end(), 0);
  std::vector<std::pair<size_t, size_t>> open{{0, n}};
  std::vector<uint16_t> sample;
  while (!open.empty()) {
    const auto [first, last] = open.back();
    open.pop_back();
    if (last - first <= kLeafRows) continue;
    const size_t stride = std::max<size_t>(1, (last - first) / kSpreadRows);
    size_t widest = 0;
    double spread = -1;
    for (size_t c = 0; c < columns; ++c) {
      sample.clear();
      for (size_t i = first; i < last; i += stride) sample.push_back(positions[c * n + static_cast<size_t>(order[i])]);
      const double s =
          static_cast<int>(c) < plan_.numbers ? number_spread(sample, plan_.cap) : level_spread(sample, plan_.weight);
      if (s > spread) spread = s, widest = c;
    }
    if (spread <= 0) continue;
    const uint16_t* at = positions.data() + widest * n;
    const size_t half = (last - first) / 2 / kLeafRows * kLeafRows;
    const size_t middle = first + std::max<size_t>(half, kLeafRows);
    const auto begin = order.begin();
    std::nth_element(begin + static_cast<ptrdiff_t>(first), begin + static_cast<ptrdiff_t>(middle),
                     begin + static_cast<ptrdiff_t>(last),
                     [at](int32_t a, int32_t b) { return at[a] != at[b] ? at[a] < at[b] : a < b; });
    open.push_back({first, middle});
    open.push_back({middle, last});
  }
  Leaves out;
  out.count = (table.rows + kLeafRows - 1) / kLeafRows;
  out.rows.assign(static_cast<size_t>(out.count * kLeafRows), -1);
  out.positions.resize(out.rows.size() * columns);
  for (size_t place = 0; place < out.rows.size(); ++place) {
    const auto row = static_cast<size_t>(order[std::min(place, n - 1)]);
    if (place < n) out.rows[place] = static_cast<int64_t>(row);
    for (size_t c = 0; c < columns; ++c)
      out.positions[(place / kLeafRows * columns + c) * kLeafRows + place % kLeafRows] = positions[c * n + row];
  }
  return out;
}

void NearestIndex::bound_leaves() {
  const size_t columns = columns_.size(), numbers = static_cast<size_t>(plan_.numbers);
  bounds_ = (leaves_.count + kLeafRows - 1) / kLeafRows * kLeafRows;
  const auto stride = static_cast<size_t>(bounds_);
  low_.assign(numbers * stride, 0);
  high_.assign(numbers * stride, 0);
  miss_.assign(static_cast<size_t>(plan_.levels), std::vector<uint16_t>(kMissRows * stride, plan_.weight));
  for (size_t leaf = 0; leaf < static_cast<size_t>(leaves_.count); ++leaf)
    for (size_t c = 0; c < columns; ++c) {
      const uint16_t* at = leaves_.positions.data() + (leaf * columns + c) * kLeafRows;
      if (c < numbers) {
        const auto [low, high] = std::minmax_element(at, at + kLeafRows);
        low_[c * stride + leaf] = *low;
        high_[c * stride + leaf] = *high;
      } else {
        for (int i = 0; i < kLeafRows; ++i) miss_[c - numbers][at[i] % kMissRows * stride + leaf] = 0;
      }
    }
}

// The definition, in double and in column order; stops once `enough` is exceeded.
double NearestIndex::distance(const DistanceTable& query, int64_t row, int64_t reference, double enough) const {
  const auto q = static_cast<size_t>(row), r = static_cast<size_t>(reference);
  double sum = 0;
  for (size_t c = 0; c < reference_.columns.size() && sum <= enough; ++c) {
    const DistanceColumn &a = query.columns[c], &b = reference_.columns[c];
    if (!b.codes.empty()) {
      sum += a.codes[q] == b.codes[r] ? 0 : form_.level_weight;
      continue;
    }
    const double x = a.numbers[q], y = b.numbers[r];
    if (std::isnan(x) || std::isnan(y)) sum += std::isnan(x) && std::isnan(y) ? 0 : form_.number_cap;
    else sum += std::min(std::abs(x - y) / b.width, form_.number_cap);
  }
  return sum;
}

void NearestIndex::bound_leaves(const DistanceTable& query, int64_t row, Scratch& s) const {
  const size_t columns = columns_.size(), numbers = static_cast<size_t>(plan_.numbers);
  s.position.resize(columns);
  s.miss.resize(miss_.size());
  s.bound.resize(static_cast<size_t>(bounds_));
  for (size_t c = 0; c < columns; ++c)
    s.position[c] = position(columns_[c], query.columns[static_cast<size_t>(columns_[c].source)], row);
  for (size_t l = 0; l < miss_.size(); ++l)
    s.miss[l] = miss_[l].data() + s.position[numbers + l] % kMissRows * static_cast<size_t>(bounds_);
  kernels_.bound_leaves(plan_, bounds_, low_.data(), high_.data(), s.miss.data(), s.position.data(), s.bound.data());
}

// Rounding to positions may lengthen each number's term by one, and the double sum may round by far less than one.
uint32_t NearestIndex::limit_of(double distance) const {
  return static_cast<uint32_t>(std::min(distance * unit_ + plan_.numbers + 1, 4e9));
}

// Distances of levels alone are whole: rows at the same distance, of which there are many, are not below it.
uint32_t NearestIndex::limit_below(double distance) const {
  if (plan_.numbers > 0 && distance > 0) return limit_of(distance) + 1;
  return static_cast<uint32_t>(std::min(distance * unit_, 4e9));
}

void NearestIndex::within(const DistanceTable& query, int64_t row, double radius, Scratch& s,
                          const std::function<void(int64_t)>& found) const {
  bound_leaves(query, row, s);
  const uint32_t limit = limit_of(radius);
  uint32_t bound[kLeafRows];
  for (int64_t leaf = 0; leaf < leaves_.count; ++leaf) {
    if (s.bound[static_cast<size_t>(leaf)] > limit) continue;
    const uint16_t* rows = leaves_.positions.data() + static_cast<size_t>(leaf) * columns_.size() * kLeafRows;
    if (!kernels_.scan_leaf(plan_, rows, s.position.data(), limit, bound)) continue;
    for (int i = 0; i < kLeafRows; ++i)
      if (const int64_t r = leaves_.rows[static_cast<size_t>(leaf * kLeafRows + i)]; bound[i] <= limit && r >= 0)
        found(r);
  }
}

Neighbors NearestIndex::search(const DistanceTable& query, int64_t row, bool want_second, Scratch& s) const {
  const size_t columns = columns_.size();
  bound_leaves(query, row, s);
  Neighbors best{INFINITY, INFINITY};
  uint32_t limit = UINT32_MAX;  // in positions
  double enough = INFINITY;     // as a distance
  const auto visit = [&](int64_t leaf) {
    uint32_t bound[kLeafRows];
    if (!kernels_.scan_leaf(plan_, leaves_.positions.data() + static_cast<size_t>(leaf) * columns * kLeafRows,
                            s.position.data(), limit, bound))
      return;
    const int64_t* rows = leaves_.rows.data() + leaf * kLeafRows;
    for (int i = 0; i < kLeafRows; ++i) {
      if (bound[i] > limit || rows[i] < 0) continue;
      const double d = distance(query, row, rows[i], enough);
      if (d < best.first) best = {d, best.first};
      else if (d < best.second) best.second = d;
      enough = want_second ? best.second : best.first;
      if (!std::isinf(enough)) limit = limit_of(enough);
    }
  };

  const auto nearest = std::min_element(s.bound.begin(), s.bound.begin() + leaves_.count) - s.bound.begin();
  visit(nearest);
  s.queue.clear();
  for (int64_t leaf = 0; leaf < leaves_.count; ++leaf)
    if (leaf != nearest && s.bound[static_cast<size_t>(leaf)] <= limit)
      s.queue.push_back(static_cast<uint64_t>(s.bound[static_cast<size_t>(leaf)]) << 32 | static_cast<uint64_t>(leaf));
  // A heap, not a sort: most queries stop after a few leaves.
  std::make_heap(s.queue.begin(), s.queue.end(), std::greater<>());
  for (auto end = s.queue.end(); end != s.queue.begin() && s.queue.front() >> 32 <= limit; --end) {
    const uint64_t entry = s.queue.front();
    std::pop_heap(s.queue.begin(), end, std::greater<>());
    visit(static_cast<int64_t>(entry & 0xFFFFFFFFu));
  }
  if (!want_second) best.second = INFINITY;
  return best;
}

}  // namespace tessera::quality
