#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <numeric>

#include "base/mixed_bits.h"
#include "models/dedup/keys.h"
#include "models/dedup/search.h"

namespace tessera::dedup {
namespace {

constexpr double kTolerance = 0.01;  // of the range: difference of numbers of near copies, except for replaced ones
constexpr float kBins = 12.5;        // per range: such a number falls into another bin with probability 1/8
constexpr int kOrders = 32;          // of columns, per grid

uint64_t splitmix(uint64_t& state) { return mixed_bits(state += 0x9E3779B97F4A7C15u); }

// The share of keys of `size` columns without any of `different` columns.
double agreeing(size_t columns, size_t different, size_t size) {
  if (different + size > columns) return 0;
  double p = 1;
  for (size_t i = 0; i < size; ++i)
    p *= static_cast<double>(columns - different - i) / static_cast<double>(columns - i);
  return p;
}

// The search in one order of the columns and one grid.
class ColumnOrder {
 public:
  ColumnOrder(const ComparedRows& rows, Groups& groups, int order, Bulk<char>& crowded_rows)
      : rows_(rows), groups_(groups), crowded_rows_(crowded_rows), shift_(order % 2 == 0 ? 0.0F : 0.5F) {
    uint64_t state = static_cast<uint64_t>(order);
    for (size_t j = 0; j < rows.columns(); ++j) {
      slots_.push_back({j < rows.numbers() ? j : rows.levels_at() + j - rows.numbers(), splitmix(state) | 1});
      std::swap(slots_.back(), slots_[splitmix(state) % slots_.size()]);
    }
  }

  void search(const RowList& some, size_t size, const std::shared_ptr<MemoryLimit>& limit) {
    const bool against = rows_.own() < rows_.count();
    KeyFilter filter(against ? rows_.own() : 0, limit);
    RowKeys keys(limit, "keys of rows"), scratch = keys.empty_like();
    if (!against) keys.reserve(some.size());
    some.each_part([&](std::span<const int32_t> part, size_t) {
      for (const int32_t row : part) {
        const uint64_t k = key(row, 0, size);
        if (against && row < rows_.own()) filter.add(k);
        if (!against || row < rows_.own() || filter.may_have(k)) keys.push_back({k, row});
      }
    });
    sort_keys(keys, scratch);
    scratch.release();
    each_run(keys.data(), keys.data() + keys.size(), [&](RowKey* first, RowKey* last) {
      if (against && (first->row >= rows_.own() || (last - 1)->row < rows_.own())) return;  // rows of one table
      if (last - first <= kBucket) return compare_all(first, last);
      ++result.crowded;
      for (const RowKey* k = first; k != last; ++k)
        std::atomic_ref(crowded_rows_[static_cast<size_t>(k->row)]).store(1, std::memory_order_relaxed);
      divide(first, last, size);
    });
  }

  KeySearch result;

 private:
  struct Slot {
    size_t at;     // in a packed row
    uint64_t odd;  // factor of its values
  };

  // Random factors make a sum of values a hash.
  uint64_t key(int32_t row, size_t from, size_t to) const {
    const float* packed = rows_.packed(row);
    uint64_t sum = 0;
    for (size_t j = from; j < to; ++j) {
      const float x = packed[slots_[j].at];
      const auto value = slots_[j].at < rows_.numbers()
                             ? static_cast<uint32_t>(static_cast<int32_t>(std::floor(x * kBins + shift_)))
                             : std::bit_cast<uint32_t>(x);
      sum += slots_[j].odd * (uint64_t{value} + 1);
    }
    return sum;
  }

  void divide(RowKey* first, RowKey* last, size_t size) {
    if (last - first <= kBucket) return compare_all(first, last);
    if (size == slots_.size()) return compare_some(first, last);
    for (RowKey* k = first; k != last; ++k) k->key = key(k->row, size, size + 1);
    const auto before = [](const RowKey& a, const RowKey& b) { return a.key != b.key ? a.key < b.key : a.row < b.row; };
    std::sort(first, last, before);
    each_run(first, last, [&](RowKey* from, RowKey* to) { divide(from, to, size + 1); });
  }

  void compare(int32_t a, int32_t b) {
    ++result.pairs;
    if (!groups_.linked(a, b) && rows_.near(a, b)) groups_.link(a, b);
  }
  // Rows ascend: rows of the table come before rows of the table it is compared with.
  RowKey* behind_own(RowKey* first, RowKey* last) const {
    return std::lower_bound(first, last, rows_.own(), [](const RowKey& k, int32_t row) { return k.row < row; });
  }
  void compare_all(RowKey* first, RowKey* last) {
    const bool against = rows_.own() < rows_.count();
    RowKey* const own = behind_own(first, last);
    for (RowKey* a = first; a != own; ++a)
      for (RowKey* b = against ? own : a + 1; b != last; ++b) compare(a->row, b->row);
  }
  // Rows that agree in every column, except for positions of numbers within a bin.
  void compare_some(RowKey* first, RowKey* last) {
    const bool against = rows_.own() < rows_.count();
    RowKey* const own = behind_own(first, last);
    for (RowKey* a = first; a != own; ++a) {
      RowKey* const next = against ? own : a + 1;
      for (RowKey* b = next; b < std::min(next + kNeighbors, last); ++b) compare(a->row, b->row);
      if (!against && a != first) compare(first->row, a->row);
    }
  }

  const ComparedRows& rows_;
  Groups& groups_;
  Bulk<char>& crowded_rows_;
  float shift_;
  std::vector<Slot> slots_;  // in the order of the columns
};

}  // namespace

// Cells differ because they were replaced or because a number is in another bin, each with probability kTolerance ·
// kBins at most. The grids are treated as independent; in fact no number is at an edge of both.
KeyColumns key_columns(size_t columns, size_t numbers, size_t rewritten) {
  const double at_edge = kTolerance * static_cast<double>(kBins);
  for (size_t size = columns;; --size) {
    double missed = 0, chance = std::pow(1 - at_edge, static_cast<double>(numbers));
    for (size_t edges = 0; edges <= numbers; ++edges) {
      missed += chance * std::pow(1 - agreeing(columns, rewritten + edges, size), kOrders);
      chance *= static_cast<double>(numbers - edges) / static_cast<double>(edges + 1) * at_edge / (1 - at_edge);
    }
    const double recall = 1 - missed * missed;
    if (recall >= kRecall || size <= 1) return {std::max<size_t>(size, 1), recall};
  }
}

KeySearch find_near_by_keys(const ComparedRows& rows, const RowList& some, Groups& groups,
                            const quality::Workers& workers) {
  const KeyColumns keys = key_columns(rows.columns(), rows.numbers(), static_cast<size_t>(rows.budget()));
  Bulk<char> crowded(workers.team.limit(), "rows to compare");
  crowded.resize(static_cast<size_t>(rows.count()), 0);
  std::vector<KeySearch> found(2 * kOrders);
  workers.for_each("near copies", "keys", 2 * kOrders, 1, [&](int64_t i) {
    ColumnOrder order(rows, groups, static_cast<int>(i), crowded);
    order.search(some, keys.columns, workers.team.limit());
    found[static_cast<size_t>(i)] = order.result;
  });
  KeySearch all;
  all.recall = keys.recall;
  for (const KeySearch& f : found) all.pairs += f.pairs, all.crowded += f.crowded;
  all.crowded_rows = std::count(crowded.begin(), crowded.end(), 1);
  return all;
}

}  // namespace tessera::dedup
