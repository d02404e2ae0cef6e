#include <algorithm>

#include "models/dedup/search.h"
#include "models/quality/learners/nearest.h"

namespace tessera::dedup {
namespace {

constexpr int64_t kSearchedRows = 128;  // per work item

// Some rows in the form of the index, with their memory.
struct IndexedRows {
  IndexedRows(const ComparedRows& rows, const int32_t* from, const int32_t* to,
              const std::shared_ptr<MemoryLimit>& limit)
      : row(from, to) {
    table.rows = static_cast<int64_t>(row.size());
    for (size_t k = 0; k < rows.columns(); ++k)
      if (rows.is_number(k)) {
        Bulk<double>& x = numbers.emplace_back(limit, "rows to compare");
        for (const int32_t r : row) x.push_back(rows.number(k, r));
        table.columns.push_back({x, {}, rows.width(k)});
      } else {
        Bulk<int32_t>& x = codes.emplace_back(limit, "rows to compare");
        for (const int32_t r : row) x.push_back(rows.code(k, r));
        table.columns.push_back({{}, x, 1});
      }
  }

  std::span<const int32_t> row;
  quality::DistanceTable table;
  std::vector<Bulk<double>> numbers;
  std::vector<Bulk<int32_t>> codes;
};

}  // namespace

void find_near_by_index(const ComparedRows& rows, const RowList& some, Groups& groups,
                        const quality::Workers& workers) {
  const int32_t* const behind_own = std::lower_bound(some.begin(), some.end(), rows.own());
  const bool against = rows.own() < rows.count();
  const auto& limit = workers.team.limit();
  const IndexedRows queries(rows, some.begin(), behind_own, limit);
  const IndexedRows others(rows, behind_own, against ? some.end() : behind_own, limit);
  const IndexedRows& reference = against ? others : queries;
  if (queries.row.empty() || reference.row.empty()) return;
  // positions of two bytes, and while it is made those of all rows
  const MemoryShare held = workers.team.share(
      reference.table.rows * static_cast<int64_t>(2 * 2 * rows.columns() + sizeof(int64_t)), "the index of rows");
  const quality::NearestIndex index(reference.table, {1, 1});
  const auto count = static_cast<int64_t>(queries.row.size());
  workers.for_each("near copies", "rows", (count + kSearchedRows - 1) / kSearchedRows, kSearchedRows,
                   [&](int64_t piece) {
                     quality::NearestIndex::Scratch scratch;
                     for (int64_t i = piece * kSearchedRows; i < std::min(count, (piece + 1) * kSearchedRows); ++i) {
                       const int32_t row = queries.row[static_cast<size_t>(i)];
                       index.within(queries.table, i, rows.budget(), scratch, [&](int64_t found) {
                         const int32_t other = reference.row[static_cast<size_t>(found)];
                         if (other > row && !groups.linked(row, other) && rows.near(row, other))
                           groups.link(row, other);
                       });
                     }
                   });
}

}  // namespace tessera::dedup
