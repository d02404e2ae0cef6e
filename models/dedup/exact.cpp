#include <algorithm>

#include "models/dedup/keys.h"
#include "models/dedup/search.h"

namespace tessera::dedup {
namespace {

constexpr int64_t kHashedRows = 8192;  // rows per work item
constexpr int kParts = 6;              // bits of a key by which work is split

// Rows of a bucket: equal, except for hash collisions.
void link_equal(const Compared& rows, const RowKey* from, const RowKey* to, std::vector<int32_t>& first,
                Groups& groups) {
  const bool against = rows.own() < rows.count();
  std::vector<int32_t> kinds;  // the lowest row of each set of equal rows
  for (const RowKey* k = from; k != to; ++k) {
    bool is_new = true;
    for (const int32_t low : kinds) {
      if (!rows.equal(low, k->row)) continue;
      const bool together = (low < rows.own()) == (k->row < rows.own());
      if (together) first[static_cast<size_t>(k->row)] = low, is_new = false;
      if (!together || !against) groups.link(low, k->row);
    }
    if (is_new) kinds.push_back(k->row);
  }
}

}  // namespace

std::vector<int32_t> find_exact(const Compared& rows, Groups& groups, const quality::Workers& workers) {
  const int64_t count = rows.count();
  std::vector<int32_t> first(static_cast<size_t>(count));
  for (int32_t i = 0; i < rows.count(); ++i) first[static_cast<size_t>(i)] = i;
  const MemoryShare held =
      workers.team.share(2 * count * static_cast<int64_t>(sizeof(RowKey)), "keys of rows to compare");
  std::vector<RowKey> keys(static_cast<size_t>(count)), scratch;
  workers.for_each("exact copies", "rows", (count + kHashedRows - 1) / kHashedRows, kHashedRows, [&](int64_t piece) {
    for (int64_t i = piece * kHashedRows; i < std::min(count, (piece + 1) * kHashedRows); ++i)
      keys[static_cast<size_t>(i)] = {rows.hash(static_cast<int32_t>(i)), static_cast<int32_t>(i)};
  });
  sort_keys(keys, scratch);
  const auto part = [&](int64_t i) {
    return keys.data() + (std::lower_bound(keys.begin(), keys.end(), i,
                                           [](const RowKey& k, int64_t at) {
                                             return static_cast<int64_t>(k.key >> (64 - kParts)) < at;
                                           }) -
                          keys.begin());
  };
  workers.team.for_each(1 << kParts, [&](int64_t i) {
    each_run(part(i), part(i + 1),
             [&](const RowKey* from, const RowKey* to) { link_equal(rows, from, to, first, groups); });
  });
  return first;
}

}  // namespace tessera::dedup
