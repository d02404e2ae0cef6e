#include <algorithm>
#include <cmath>

#include "base/mixed_bits.h"
#include "models/dedup/search.h"
#include "models/quality/learners/nearest_on_device.h"
#include "models/quality/metrics/distances.h"

namespace tessera::dedup {
namespace {

constexpr int64_t kSearchedRows = 128;  // per work item

// Rows in the form of the index, with their memory. `row_of(column, i)`: whose cell row i has.
struct IndexedRows {
  template <class RowOf>
  IndexedRows(const ComparedRows& rows, int64_t count, RowOf row_of, const std::shared_ptr<MemoryLimit>& limit) {
    table.rows = count;
    for (size_t k = 0; k < rows.columns(); ++k)
      if (rows.is_number(k)) {
        Bulk<double>& x = numbers.emplace_back(limit, "rows to compare");
        for (int64_t i = 0; i < count; ++i) x.push_back(rows.number(k, row_of(k, i)));
        table.columns.push_back({x, {}, rows.width(k)});
      } else {
        Bulk<int32_t>& x = codes.emplace_back(limit, "rows to compare");
        for (int64_t i = 0; i < count; ++i) x.push_back(rows.code(k, row_of(k, i)));
        table.columns.push_back({{}, x, 1});
      }
  }
  IndexedRows(const ComparedRows& rows, std::span<const int32_t> some, const std::shared_ptr<MemoryLimit>& limit)
      : IndexedRows(
            rows, static_cast<int64_t>(some.size()), [&](size_t, int64_t i) { return some[static_cast<size_t>(i)]; },
            limit) {
    row = some;
  }

  std::span<const int32_t> row{};
  quality::DistanceTable table;
  std::vector<Bulk<double>> numbers;
  std::vector<Bulk<int32_t>> codes;
};

// positions of two bytes, and while it is made those of all rows
MemoryShare memory_of_index(const ComparedRows& rows, int64_t reference, const quality::Workers& workers) {
  return workers.team.share(reference * static_cast<int64_t>(2 * 2 * rows.columns() + sizeof(int64_t)),
                            "the index of rows");
}

}  // namespace

Sides sides_of(const Compared& rows, const RowList& some) {
  const int32_t* const behind_own = std::lower_bound(some.begin(), some.end(), rows.own());
  const std::span<const int32_t> own(some.begin(), behind_own), others(behind_own, some.end());
  return {own, rows.own() < rows.count() ? others : own};
}

Chance::Chance(const ComparedRows& rows, const RowList& some, const quality::Workers& workers)
    : columns_(static_cast<double>(rows.columns())) {
  constexpr int64_t kDrawn = 2000, kSearched = 100'000;
  for (size_t k = 0; k < rows.columns(); ++k) numbers_ += rows.is_number(k) ? 1 : 0;
  const Sides sides = sides_of(rows, some);
  const auto own = static_cast<uint64_t>(sides.own.size());
  const auto all = static_cast<int64_t>(sides.reference.size()), count = std::min(all, kSearched);
  if (own == 0 || count == 0) return;
  searched_ = static_cast<double>(count) / static_cast<double>(all);
  const auto& limit = workers.team.limit();
  const IndexedRows reference(
      rows, count, [&](size_t, int64_t i) { return sides.reference[static_cast<size_t>(i * all / count)]; }, limit);
  const IndexedRows drawn(
      rows, kDrawn,
      [&](size_t k, int64_t i) {
        return sides.own[hash_with(hash_with(1, static_cast<uint64_t>(k)), static_cast<uint64_t>(i)) % own];
      },
      limit);
  const MemoryShare held = memory_of_index(rows, count, workers);
  const quality::NearestIndex index(reference.table, {1, 1});
  distances_.resize(kDrawn);
  workers.for_each("chance", "rows", (kDrawn + kSearchedRows - 1) / kSearchedRows, kSearchedRows, [&](int64_t piece) {
    quality::NearestIndex::Scratch scratch;
    for (int64_t i = piece * kSearchedRows; i < std::min(kDrawn, (piece + 1) * kSearchedRows); ++i)
      distances_[static_cast<size_t>(i)] = index.search(drawn.table, i, false, scratch).first / columns_;
  });
  std::sort(distances_.begin(), distances_.end());
}

double Chance::threshold() const { return quality::near_copy_similarity(distances_, numbers_ / columns_, searched_); }

double Chance::share(double threshold) const {
  if (distances_.empty()) return 0;
  const auto near = std::upper_bound(distances_.begin(), distances_.end(), 1 - threshold + 1e-12);
  const auto count = static_cast<double>(near - distances_.begin());
  return std::min(1.0, count / static_cast<double>(distances_.size()) / searched_);
}

void find_near_by_index(const ComparedRows& rows, const RowList& some, Groups& groups,
                        const quality::Workers& workers) {
  const Sides sides = sides_of(rows, some);
  if (sides.own.empty() || sides.reference.empty()) return;
  const auto& limit = workers.team.limit();
  const bool against = rows.own() < rows.count();
  const IndexedRows queries(rows, sides.own, limit);
  const IndexedRows others(rows, against ? sides.reference : std::span<const int32_t>{}, limit);
  const IndexedRows& reference = against ? others : queries;
  const MemoryShare held = memory_of_index(rows, reference.table.rows, workers);
  const quality::NearestIndex index(reference.table, {1, 1});
  const auto compare = [&](int64_t query, int64_t found) {
    const int32_t a = queries.row[static_cast<size_t>(query)], b = reference.row[static_cast<size_t>(found)];
    const auto [row, other] = std::minmax(a, b);
    if (row != other && !groups.linked(row, other) && rows.near(row, other)) groups.link(row, other);
  };
  if (workers.device != nullptr)
    return quality::NearestOnDevice(index, *workers.device)
        .within(against ? &queries.table : nullptr, rows.budget(), "near copies", workers, compare);
  const auto count = static_cast<int64_t>(queries.row.size());
  workers.for_each("near copies", "rows", (count + kSearchedRows - 1) / kSearchedRows, kSearchedRows,
                   [&](int64_t piece) {
                     quality::NearestIndex::Scratch scratch;
                     for (int64_t i = piece * kSearchedRows; i < std::min(count, (piece + 1) * kSearchedRows); ++i) {
                       index.within(queries.table, i, rows.budget(), scratch, [&](int64_t found) {
                         if (against || found > i) compare(i, found);
                       });
                     }
                   });
}

}  // namespace tessera::dedup
