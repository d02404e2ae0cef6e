#include "tables/protection/protected_numbers.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <set>

#include "tables/kinds/cells.h"
#include "tables/kinds/kind.h"
#include "tables/kinds/number_writer.h"
#include "tables/protection/sort_numbers.h"
#include "tables/table/decimals.h"

namespace tessera {
namespace {

constexpr int kCoarsest = -9;  // tens, hundreds … of a column whose values are multiples of them
constexpr int kFinest = 15;

double step_of(int decimals) { return std::pow(10.0, -decimals); }

double to_decimals(double x, int decimals) {
  if (decimals == ProtectedNumbers::kNotRounded) return x;
  if (decimals >= 0) return round_decimals(x, decimals);
  const double step = step_of(decimals), y = std::nearbyint(x / step) * step;
  return std::isfinite(y) ? y : x;
}

// Digits of x after the point, at most `decimals`; below 0 for multiples of 10, 100, …; kNotRounded if it needs more.
int digits_of(double x, int decimals) {
  if (to_decimals(x, decimals) != x) return ProtectedNumbers::kNotRounded;
  while (decimals > kCoarsest && to_decimals(x, decimals - 1) == x) --decimals;
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

// Counts rows, or distinct holders of rows, in ranges of ranks.
class Count {
 public:
  Count(size_t rows, size_t least, std::span<const int32_t> holder) : rows_(rows), least_(least), holder_(holder) {
    if (holder.empty()) return;
    std::vector<size_t> held(static_cast<size_t>(*std::max_element(holder.begin(), holder.end())) + 1, 0);
    full_.assign(rows, rows + 1);
    size_t end = 0, distinct = 0;
    for (size_t first = 0; first < rows; ++first) {
      for (; end < rows && distinct < least; ++end) distinct += held[static_cast<size_t>(holder[end])]++ == 0;
      if (distinct == least) full_[first] = end;
      distinct -= --held[static_cast<size_t>(holder[first])] == 0;
    }
  }

  bool of_rows() const { return holder_.empty(); }
  size_t least() const { return least_; }
  // the first end at which [first, end) counts `least`; beyond the number of rows if there is none
  size_t full(size_t first) const { return of_rows() ? first + least_ : first < rows_ ? full_[first] : rows_ + 1; }
  bool enough(size_t first, size_t end) const { return full(first) <= end; }
  std::span<const int32_t> holders(const Run& run) const { return holder_.subspan(run.first, run.rows); }

 private:
  size_t rows_, least_;
  std::span<const int32_t> holder_;
  std::vector<size_t> full_;
};

// A count over several runs, only as far as needed to decide whether it suffices.
struct Tally {
  size_t rows = 0;
  std::set<int32_t> holders;

  void add(const Run& run, const Count& count) {
    rows += run.rows;
    if (count.of_rows()) return;
    for (const int32_t h : count.holders(run))
      if (holders.size() < count.least()) holders.insert(h);
  }
  void add(const Tally& other) {
    rows += other.rows;
    holders.insert(other.holders.begin(), other.holders.end());
  }
  bool enough(const Count& count) const { return (count.of_rows() ? rows : holders.size()) >= count.least(); }
};

int digits_of(const std::vector<Run>& runs, const Count& count, int decimals) {
  std::vector<Tally> of_digits(kFinest - kCoarsest + 1);
  Tally finer;  // for values that need more digits
  for (const Run& r : runs) {
    const int d = digits_of(r.value, std::min(decimals, kFinest));
    (d == ProtectedNumbers::kNotRounded ? finer : of_digits[static_cast<size_t>(d - kCoarsest)]).add(r, count);
  }
  if (finer.enough(count)) return ProtectedNumbers::kNotRounded;
  for (int d = kFinest; d > kCoarsest; --d) {
    finer.add(of_digits[static_cast<size_t>(d - kCoarsest)]);
    if (finer.enough(count)) return d;
  }
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

// The numbers in [0, 1], computed by halves: the range of ±1e308 exceeds a double.
std::vector<double> to_unit(std::span<const double> x) {
  std::vector<double> z(x.size(), 0.0);
  const double from = x.front() / 2, width = x.back() / 2 - from;
  if (width > 0)
    for (size_t i = 0; i < x.size(); ++i) z[i] = (x[i] / 2 - from) / width;
  return z;
}

std::vector<size_t> ends_of(const std::vector<size_t>& before) {
  std::vector<size_t> ends;
  for (size_t at = before.size() - 1; at > 0; at = before[at]) ends.push_back(at);
  std::reverse(ends.begin(), ends.end());
  return ends;
}

// Ends of groups of `least` to 2·least − 1 neighbors that minimize the sum of squared distances to the group means,
// found as a shortest path over the cut positions (Hansen and Mukherjee, A polynomial algorithm for optimal univariate
// microaggregation, 2003).
std::vector<size_t> group_ends(std::span<const double> x, size_t least) {
  const size_t n = x.size();
  const std::vector<double> z = to_unit(x);
  std::vector<double> best(n + 1, std::numeric_limits<double>::infinity()), part(2 * least, 0.0);
  std::vector<size_t> before(n + 1, 0);
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
  return ends_of(before);
}

// The same for holders: a group ends at one of the `least` ranks from the first at which it is full, or at the end of
// all ranks if the rest would not be full. Running sums give the sums of squares, because a group may be long.
std::vector<size_t> group_ends(std::span<const double> x, size_t first, const Count& count) {
  const size_t n = x.size();
  const std::vector<double> z = to_unit(x);
  std::vector<double> sums(n + 1, 0.0), squares(n + 1, 0.0), best(n + 1, std::numeric_limits<double>::infinity());
  std::vector<size_t> before(n + 1, 0);
  for (size_t i = 0; i < n; ++i) sums[i + 1] = sums[i] + z[i], squares[i + 1] = squares[i] + z[i] * z[i];
  best[0] = 0;
  for (size_t i = 0; i < n; ++i) {
    const size_t full = count.full(first + i) - first;
    if (full > n || !std::isfinite(best[i])) continue;
    const auto end_at = [&](size_t end) {
      const double sum = sums[end] - sums[i];
      const double cost = best[i] + (squares[end] - squares[i] - sum * sum / static_cast<double>(end - i));
      if (cost < best[end]) best[end] = cost, before[end] = i;
    };
    for (size_t end = full; end < std::min(full + count.least(), n + 1); ++end) end_at(end);
    if (full + count.least() <= n && count.full(first + full) > first + n) end_at(n);
  }
  return ends_of(before);
}

// The groups of rows [begin, end) of the ascending values.
class Groups {
 public:
  Groups(std::span<const double> x, size_t begin, size_t end, const Count& count) {
    size_t at = begin;
    const auto own = x.subspan(begin, end - begin);
    for (const size_t to : count.of_rows() ? group_ends(own, count.least()) : group_ends(own, begin, count)) {
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

ProtectedNumbers::ProtectedNumbers(std::span<const double> x, int64_t least, int decimals,
                                   std::span<const int32_t> holder) {
  const Count count(x.size(), static_cast<size_t>(std::max<int64_t>(least, 1)), holder);
  if (!count.enough(0, x.size())) return;
  const std::vector<Run> runs = runs_of(x);
  decimals_ = digits_of(runs, count, decimals);
  values_.reserve(runs.size()), protected_.reserve(runs.size());
  const auto add = [&](double value, double stands_for_it) {
    values_.push_back(value);
    protected_.push_back(stands_for_it);
  };
  for (size_t k = 0; k < runs.size();) {
    size_t end = k;
    while (end < runs.size() && !count.enough(runs[end].first, runs[end].end())) ++end;
    if (end == k) {
      add(runs[k].value, runs[k].value);
      ++k;
      continue;
    }
    // Runs [k, end) are between two kept values, or at the ends of the column.
    const Run *below = k > 0 ? &runs[k - 1] : nullptr, *above = end < runs.size() ? &runs[end] : nullptr;
    const size_t first = runs[k].first, last = runs[end - 1].end();
    if (!count.enough(first, last)) {
      for (; k < end; ++k) add(runs[k].value, nearest(runs[k].value, below, above));
      continue;
    }
    const Groups groups(x, first, last, count);
    const std::optional<Node> left = node_of(below, first - 1), right = node_of(above, last);
    for (; k < end; ++k) {
      const double rank = static_cast<double>(runs[k].first + runs[k].end() - 1) / 2;
      add(runs[k].value, to_decimals(groups.at(rank, left, right), decimals_));
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
  // The last value that is not above each number, or the first; many at once, so that memory latencies of their
  // searches overlap.
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

std::vector<EmptiedColumn> protect_numbers(Table& table, int64_t least, uint64_t seed, Team& team,
                                           std::span<const int32_t> holder) {
  std::vector<EmptiedColumn> emptied(table.columns.size());
  team.for_each(static_cast<int64_t>(table.columns.size()), [&](int64_t j) {
    Column& column = table.columns[static_cast<size_t>(j)];
    const int64_t wanted = column.least_rows != 0 ? column.least_rows : least;
    if (has_texts(column) || wanted <= 1) return;
    int64_t present = 0;
    column.numbers.each_part([&](std::span<const double> part, size_t) {
      present += std::count_if(part.begin(), part.end(), [](double x) { return x == x; });
    });
    if (present == 0) return;
    const auto index = static_cast<uint32_t>(j);
    const HeldNumbers x = holder.empty() ? HeldNumbers{sorted_values(column.numbers, present, index, seed), {}}
                                         : sorted_values(column.numbers, holder, present, index, seed);
    if (std::isinf(x.values.front()) || std::isinf(x.values.back())) return;  // the encoder rejects it by name and row
    const ProtectedNumbers numbers(x.values, wanted, decimals_of(column), x.holders);
    if (numbers.none()) {
      emptied[static_cast<size_t>(j)] = {column.name, present, !holder.empty()};
      if (is_quantity(column.type)) column.format.clear();
    }
    replace_numbers(column, numbers);
    // A digit that only few rows need would reveal them.
    if (numbers.decimals() < column.decimals && column.arrow.empty()) {
      column.decimals = std::max(numbers.decimals(), has_fractions(column) ? 1 : 0);
      limit_digits(column);
    }
  });
  std::erase_if(emptied, [](const EmptiedColumn& c) { return c.rows == 0; });
  return emptied;
}

}  // namespace tessera
