#include "models/data/protection/protected_numbers.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

#include "models/data/protection/sort_numbers.h"
#include "models/data/table/decimals.h"
#include "models/data/table/number_writer.h"

namespace tessera {
namespace {

constexpr int kCoarsest = -9;  // tens, hundreds … of a column whose values are multiples of them
constexpr int kFinest = 15;

double step_of(int decimals) { return std::pow(10.0, -decimals); }

double rounded(double x, int decimals) {
  if (decimals == ProtectedNumbers::kNotRounded) return x;
  if (decimals >= 0) return round_decimals(x, decimals);
  const double step = step_of(decimals), y = std::nearbyint(x / step) * step;
  return std::isfinite(y) ? y : x;
}

// Digits of x after the point, at most `decimals`; below 0 for multiples of 10, 100, …; kNotRounded where it has more.
int digits_of(double x, int decimals) {
  if (rounded(x, decimals) != x) return ProtectedNumbers::kNotRounded;
  while (decimals > kCoarsest && rounded(x, decimals - 1) == x) --decimals;
  return decimals;
}

struct Run {
  double value;
  size_t first, rows;  // its rows by rank
  size_t end() const { return first + rows; }
};

std::vector<Run> runs_of(std::span<const double> ascending) {
  std::vector<Run> runs;
  for (size_t i = 0; i < ascending.size(); ++i) {
    if (runs.empty() || runs.back().value != ascending[i]) runs.push_back({ascending[i], i, 0});
    ++runs.back().rows;
  }
  return runs;
}

int digits_of(const std::vector<Run>& runs, size_t least, int decimals) {
  std::vector<size_t> rows(kFinest - kCoarsest + 1);
  size_t finer = 0;  // rows that need more
  for (const Run& r : runs) {
    const int d = digits_of(r.value, std::min(decimals, kFinest));
    if (d == ProtectedNumbers::kNotRounded) finer += r.rows;
    else rows[static_cast<size_t>(d - kCoarsest)] += r.rows;
  }
  if (finer >= least) return ProtectedNumbers::kNotRounded;
  for (int d = kFinest; d > kCoarsest; --d)
    if ((finer += rows[static_cast<size_t>(d - kCoarsest)]) >= least) return d;
  return kCoarsest;
}

double mean_of(std::span<const double> x) {
  double sum = 0, parts = 0;
  const auto n = static_cast<double>(x.size());
  for (const double v : x) sum += v, parts += v / n;
  return std::clamp(std::isfinite(sum) ? sum / n : parts, x.front(), x.back());
}

// A mean and its rank.
struct Node {
  double rank, value;
};

// Ends of groups of `least` to 2·least − 1 neighbours that minimise the sum of squared distances to the group means,
// found as a shortest path over the cut positions (Hansen and Mukherjee, A polynomial algorithm for optimal univariate
// microaggregation, 2003).
std::vector<size_t> group_ends(std::span<const double> x, size_t least) {
  const size_t n = x.size();
  const double from = x.front() / 2, width = x.back() / 2 - from;  // halves: the range of ±1e308 exceeds a double
  std::vector<double> z(n, 0.0), best(n + 1, std::numeric_limits<double>::infinity()), part(2 * least, 0.0);
  std::vector<size_t> before(n + 1, 0);
  if (width > 0)
    for (size_t i = 0; i < n; ++i) z[i] = (x[i] / 2 - from) / width;
  for (size_t k = 1; k < part.size(); ++k) part[k] = 1 / static_cast<double>(k);
  best[0] = 0;
  for (size_t i = 0; i + least <= n; ++i) {
    if (!std::isfinite(best[i])) continue;
    double mean = 0, squares = 0;
    for (size_t k = 1; k < 2 * least && i + k <= n; ++k) {
      const double d = z[i + k - 1] - mean;
      mean += d * part[k];
      squares += d * (z[i + k - 1] - mean);
      if (k >= least && best[i] + squares < best[i + k]) best[i + k] = best[i] + squares, before[i + k] = i;
    }
  }
  std::vector<size_t> ends;
  for (size_t at = n; at > 0; at = before[at]) ends.push_back(at);
  std::reverse(ends.begin(), ends.end());
  return ends;
}

// The groups of rows [begin, end) of the ascending values.
class Groups {
 public:
  Groups(std::span<const double> x, size_t begin, size_t end, size_t least) {
    size_t at = begin;
    for (const size_t to : group_ends(x.subspan(begin, end - begin), least)) {
      first_.push_back(at);
      nodes_.push_back({static_cast<double>(at + begin + to - 1) / 2, mean_of(x.subspan(at, begin + to - at))});
      at = begin + to;
    }
  }

  // The replacement for rank r; `before` and `after`: the kept values next to the groups, unless the column ends there.
  double at(double r, const std::optional<Node>& before, const std::optional<Node>& after) const {
    const auto next = std::upper_bound(first_.begin(), first_.end(), static_cast<size_t>(r));
    const auto g = static_cast<size_t>(next - first_.begin()) - 1;
    const Node& own = nodes_[g];
    const std::optional<Node> left = g > 0 ? nodes_[g - 1] : before;
    const std::optional<Node> right = g + 1 < nodes_.size() ? nodes_[g + 1] : after;
    if (!left || !right) return own.value;
    const double slope = std::min(steepness(*left, own), steepness(own, *right));
    return std::isfinite(slope) ? own.value + slope * (r - own.rank) : own.value;
  }

 private:
  static double steepness(const Node& a, const Node& b) { return (b.value - a.value) / (b.rank - a.rank); }
  std::vector<size_t> first_;
  std::vector<Node> nodes_;
};

std::optional<Node> node_of(const Run* run, size_t rank) {
  return run == nullptr ? std::nullopt : std::optional(Node{static_cast<double>(rank), run->value});
}

double nearest(double v, const Run* below, const Run* above) {
  if (above == nullptr) return below->value;
  if (below == nullptr) return above->value;
  return v - below->value <= above->value - v ? below->value : above->value;
}

}  // namespace

ProtectedNumbers::ProtectedNumbers(std::span<const double> x, int64_t least_rows, int decimals) {
  const auto least = static_cast<size_t>(std::max<int64_t>(least_rows, 1));
  if (x.size() < least) return;
  const std::vector<Run> runs = runs_of(x);
  decimals_ = digits_of(runs, least, decimals);
  values_.reserve(runs.size()), protected_.reserve(runs.size());
  const auto add = [&](double value, double stands_for_it) {
    values_.push_back(value);
    protected_.push_back(stands_for_it);
  };
  for (size_t k = 0; k < runs.size();) {
    size_t end = k;
    while (end < runs.size() && runs[end].rows < least) ++end;
    if (end == k) {
      add(runs[k].value, runs[k].value);
      ++k;
      continue;
    }
    // Runs [k, end) are between two kept values, or at the ends of the column.
    const Run *below = k > 0 ? &runs[k - 1] : nullptr, *above = end < runs.size() ? &runs[end] : nullptr;
    const size_t first = runs[k].first, last = runs[end - 1].end();
    if (last - first < least) {
      for (; k < end; ++k) add(runs[k].value, nearest(runs[k].value, below, above));
      continue;
    }
    const Groups groups(x, first, last, least);
    const std::optional<Node> left = node_of(below, first - 1), right = node_of(above, last);
    for (; k < end; ++k) {
      const double rank = static_cast<double>(runs[k].first + runs[k].end() - 1) / 2;
      add(runs[k].value, rounded(groups.at(rank, left, right), decimals_));
    }
  }
}

double ProtectedNumbers::of(double x) const {
  replace(&x, 1);
  return x;
}

void ProtectedNumbers::replace(double* x, size_t n) const {
  if (none()) {
    std::fill_n(x, n, kMissing);
    return;
  }
  // The last value that is not above each, or the first; many at once, so that the memory latencies of their searches
  // overlap.
  constexpr size_t kAtOnce = 32;
  std::array<size_t, kAtOnce> at;
  for (size_t begin = 0; begin < n; begin += kAtOnce) {
    const size_t lanes = std::min(kAtOnce, n - begin);
    at.fill(0);
    for (size_t left = values_.size(); left > 1; left -= left / 2)
      for (size_t l = 0; l < lanes; ++l) at[l] += values_[at[l] + left / 2] <= x[begin + l] ? left / 2 : 0;
    for (size_t l = 0; l < lanes; ++l)
      if (double& value = x[begin + l]; value == value) value = protected_[at[l]];
  }
}

void replace_numbers(Column& column, const ProtectedNumbers& numbers) {
  for (size_t first = 0; first < column.numbers.size(); first += kRowsResident) {
    numbers.replace(column.numbers.data() + first, std::min<size_t>(kRowsResident, column.numbers.size() - first));
    column.relax();
  }
}

std::vector<EmptiedColumn> protect_numbers(Table& table, int64_t least, uint64_t seed, Team& team) {
  std::vector<EmptiedColumn> emptied(table.columns.size());
  team.for_each(static_cast<int64_t>(table.columns.size()), [&](int64_t j) {
    Column& column = table.columns[static_cast<size_t>(j)];
    const int64_t wanted = column.least_rows != 0 ? column.least_rows : least;
    if (!is_numeric(column.type) || wanted <= 1) return;
    int64_t present = 0;
    column.numbers.each_part([&](std::span<const double> part, size_t) {
      present += std::count_if(part.begin(), part.end(), [](double x) { return x == x; });
    });
    if (present == 0) return;
    const std::vector<double> ascending = sorted_values(column.numbers, present, static_cast<uint32_t>(j), seed);
    if (std::isinf(ascending.front()) || std::isinf(ascending.back()))
      return;  // the encoder refuses it by name and row
    const ProtectedNumbers numbers(
        ascending, wanted, column.type == ColumnType::integer || column.type == ColumnType::date ? 0 : column.decimals);
    if (numbers.none()) {
      emptied[static_cast<size_t>(j)] = {column.name, present};
      if (column.type == ColumnType::integer || column.type == ColumnType::decimal) column.format.clear();
    }
    replace_numbers(column, numbers);
    // A digit that only few rows need would reveal them.
    if (numbers.decimals() < column.decimals && column.arrow.empty()) {
      column.decimals = std::max(numbers.decimals(), column.type == ColumnType::decimal ? 1 : 0);
      limit_digits(column);
    }
  });
  std::erase_if(emptied, [](const EmptiedColumn& c) { return c.rows == 0; });
  return emptied;
}

}  // namespace tessera
