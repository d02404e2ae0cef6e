#include <algorithm>

#include "models/dedup/keys.h"
#include "models/dedup/search.h"

namespace tessera::dedup {
namespace {

constexpr int64_t kHashedRows = 8192;  // rows per work item
constexpr int64_t kHashedItems = 128;  // before their keys are listed
constexpr int kParts = 6;              // bits of a key by which work is split

// Rows of a bucket: equal, except for hash collisions.
void link_equal(const Compared& rows, const RowKey* from, const RowKey* to, RowList& first, Groups& groups) {
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

// Keys of all rows; without `others`, of those of the other table that may equal one of the table.
RowKeys keys_of_rows(const Compared& rows, bool others, const quality::Workers& workers) {
  constexpr int64_t kBlock = kHashedRows * kHashedItems;
  const int64_t count = rows.count(), own = rows.own();
  const auto& limit = workers.team.limit();
  const bool filtered = !others && own < count;
  KeyFilter filter(filtered ? own : 0, limit);
  RowKeys keys(limit, "keys of rows");
  if (!filtered) keys.reserve(static_cast<size_t>(count));
  std::vector<uint64_t> hash(static_cast<size_t>(std::min(count, kBlock)));
  for (int64_t first = 0; first < count; first += kBlock) {
    const int64_t last = std::min(count, first + kBlock);
    workers.monitor.report(
        {workers.phase, static_cast<double>(first), static_cast<double>(count), "rows", "exact copies", false});
    workers.team.for_each((last - first + kHashedRows - 1) / kHashedRows, [&](int64_t piece) {
      for (int64_t i = first + piece * kHashedRows; i < std::min(last, first + (piece + 1) * kHashedRows); ++i)
        hash[static_cast<size_t>(i - first)] = rows.hash(static_cast<int32_t>(i));
    });
    for (int64_t i = first; i < last; ++i) {
      const uint64_t key = hash[static_cast<size_t>(i - first)];
      if (filtered && i < own) filter.add(key);
      if (!filtered || i < own || filter.may_have(key)) keys.push_back({key, static_cast<int32_t>(i)});
    }
  }
  return keys;
}

}  // namespace

RowList find_exact(const Compared& rows, bool others, Groups& groups, const quality::Workers& workers) {
  RowList first(workers.team.limit(), "rows to compare");
  first.reserve(static_cast<size_t>(rows.count()));
  for (int32_t i = 0; i < rows.count(); ++i) first.push_back(i);
  RowKeys keys = keys_of_rows(rows, others, workers), scratch = keys.empty_like();
  sort_keys(keys, scratch);
  scratch.release();
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
