#include <algorithm>

#include "models/dedup/search.h"
#include "models/quality/learners/nearest.h"

namespace tessera::dedup {
namespace {

constexpr int64_t kSearchedRows = 128;  // per work item

// Some rows in the form of the index, with their memory.
struct IndexedRows {
  IndexedRows(const ComparedRows& rows, std::vector<int32_t> some) : row(std::move(some)) {
    table.rows = static_cast<int64_t>(row.size());
    for (size_t k = 0; k < rows.columns(); ++k)
      if (rows.is_number(k)) {
        std::vector<double>& x = numbers.emplace_back();
        for (const int32_t r : row) x.push_back(rows.number(k, r));
        table.columns.push_back({x, {}, rows.width(k)});
      } else {
        std::vector<int32_t>& x = codes.emplace_back();
        for (const int32_t r : row) x.push_back(rows.code(k, r));
        table.columns.push_back({{}, x, 1});
      }
  }

  std::vector<int32_t> row;
  quality::DistanceTable table;
  std::vector<std::vector<double>> numbers;
  std::vector<std::vector<int32_t>> codes;
};

}  // namespace

void find_near_by_index(const ComparedRows& rows, const std::vector<int32_t>& some, Groups& groups,
                        const quality::Workers& workers) {
  const auto behind_own = std::lower_bound(some.begin(), some.end(), rows.own());
  const bool against = rows.own() < rows.count();
  const IndexedRows queries(rows, {some.begin(), behind_own});
  const IndexedRows others(rows, against ? std::vector<int32_t>(behind_own, some.end()) : std::vector<int32_t>());
  const IndexedRows& reference = against ? others : queries;
  if (queries.row.empty() || reference.row.empty()) return;
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
