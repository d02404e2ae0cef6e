#include "models/quality/metrics/new_rows.h"

#include <algorithm>
#include <cmath>

namespace tessera::quality {
namespace {

constexpr int64_t kQueries = 256;  // query rows per work item
constexpr size_t kProbes = 200;    // rows used to choose the sorting column

uint64_t mix(uint64_t h, uint64_t x) {
  h ^= x + 0x9E3779B97F4A7C15ull + (h << 6) + (h >> 2);
  h *= 0xBF58476D1CE4E5B9ull;
  return h ^ (h >> 31);
}

// Reference rows by the hash of the fields that must be equal (levels, missing flags), then by one number. Hash
// collisions only cost time: a match is confirmed column by column.
class RowIndex {
 public:
  RowIndex(const Comparison& c, size_t reference, const ComparedTable& queries, double tolerance)
      : reference_(c.tables[reference]), tolerance_(tolerance) {
    for (size_t k = 0; k < c.facts.size(); ++k)
      (c.facts[k].kind == Kind::categorical ? levels_ : numbers_).push_back(k);
    const auto n = static_cast<size_t>(reference_.rows);
    entries_.resize(n);
    choose_sorting_column(queries);
    for (size_t i = 0; i < n; ++i)
      entries_[i] = {key(reference_, i), sort_value(reference_, i), static_cast<int64_t>(i)};
    std::sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) {
      return a.key != b.key ? a.key < b.key : a.value != b.value ? a.value < b.value : a.row < b.row;
    });
  }

  // `own`: a reference row that does not count; −1: none.
  bool matches(const ComparedTable& queries, size_t row, int64_t own = -1) const {
    const uint64_t k = key(queries, row);
    const double value = sort_value(queries, row), reach = tolerance_ * std::abs(value);
    // One ulp of slack on the window: agrees(), which rounds as in the definition, makes the final decision.
    const double first = std::nextafter(value - reach, -INFINITY), last = std::nextafter(value + reach, INFINITY);
    auto e = std::lower_bound(entries_.begin(), entries_.end(), 0,
                              [&](const Entry& x, int) { return x.key != k ? x.key < k : x.value < first; });
    for (; e != entries_.end() && e->key == k && e->value <= last; ++e)
      if (e->row != own && agrees(queries, row, static_cast<size_t>(e->row))) return true;
    return false;
  }

 private:
  struct Entry {
    uint64_t key;
    double value;
    int64_t row;
  };

  uint64_t key(const ComparedTable& table, size_t row) const {
    uint64_t h = 0;
    for (const size_t k : levels_) h = mix(h, static_cast<uint32_t>(table.columns[k].codes[row]));
    for (const size_t k : numbers_) h = mix(h, table.columns[k].is_missing(static_cast<int64_t>(row)));
    return h;
  }

  double sort_value(const ComparedTable& table, size_t row) const {
    if (sorting_ < 0) return 0;
    const double x = table.columns[static_cast<size_t>(sorting_)].numbers[row];
    return std::isnan(x) ? 0 : x;
  }

  bool agrees(const ComparedTable& queries, size_t row, size_t with) const {
    for (const size_t k : levels_)
      if (queries.columns[k].codes[row] != reference_.columns[k].codes[with]) return false;
    for (const size_t k : numbers_) {
      const double x = queries.columns[k].numbers[row], y = reference_.columns[k].numbers[with];
      if (std::isnan(x) != std::isnan(y)) return false;
      if (std::abs(y - x) > tolerance_ * std::abs(x)) return false;
    }
    return true;
  }

  // The number whose windows hold the fewest reference rows, estimated on some of the query rows.
  void choose_sorting_column(const ComparedTable& queries) {
    double fewest = INFINITY;
    const size_t n = static_cast<size_t>(queries.rows), stride = std::max<size_t>(1, n / kProbes);
    for (const size_t k : numbers_) {
      std::vector<double> sorted;
      for (const double x : reference_.columns[k].numbers)
        if (!std::isnan(x)) sorted.push_back(x);
      std::sort(sorted.begin(), sorted.end());
      double found = 0;
      for (size_t i = 0; i < n; i += stride) {
        const double x = queries.columns[k].numbers[i], reach = tolerance_ * std::abs(x);
        if (std::isnan(x)) found += static_cast<double>(reference_.columns[k].missing);
        else
          found += static_cast<double>(std::upper_bound(sorted.begin(), sorted.end(), x + reach) -
                                       std::lower_bound(sorted.begin(), sorted.end(), x - reach));
      }
      if (found < fewest) fewest = found, sorting_ = static_cast<int64_t>(k);
    }
  }

  const ComparedTable& reference_;
  double tolerance_;
  std::vector<size_t> levels_, numbers_;
  int64_t sorting_ = -1;  // column; −1 if there are no numbers
  std::vector<Entry> entries_;
};

}  // namespace

std::vector<char> match_rows(const Comparison& c, size_t rows, size_t reference, double tolerance,
                             const Workers& workers) {
  const ComparedTable& queries = c.tables[rows];
  std::vector<char> matched(static_cast<size_t>(queries.rows), 0);
  const RowIndex index(c, reference, queries, tolerance);
  workers.for_each(tolerance > 0 ? "new rows" : "exact copies", "rows", (queries.rows + kQueries - 1) / kQueries,
                   kQueries, [&](int64_t piece) {
                     const int64_t end = std::min(queries.rows, (piece + 1) * kQueries);
                     for (int64_t i = piece * kQueries; i < end; ++i)
                       matched[static_cast<size_t>(i)] =
                           index.matches(queries, static_cast<size_t>(i), rows == reference ? i : -1);
                   });
  return matched;
}

}  // namespace tessera::quality
