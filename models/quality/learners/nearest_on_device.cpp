#include "models/quality/learners/nearest_on_device.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace tessera::quality {
namespace {

constexpr int64_t kWarps = kLeafRows / kWarpQueries;  // of a leaf
constexpr const char* kRows = "rows to compare";
constexpr const char* kPairs = "pairs of rows";

// Calls body(first leaf, leaves) for batches of leaves, between which it reports progress and may be cancelled.
template <class Body>
void each_batch(int64_t leaves, int64_t rows, const char* note, const Workers& workers, Body&& body) {
  const auto all = static_cast<double>(rows);
  for (int64_t first = 0; first < leaves; first += NearestOnDevice::kBatchLeaves) {
    if (workers.monitor.cancelled()) workers.monitor.check_cancelled(workers.phase);
    workers.monitor.report({workers.phase, static_cast<double>(first * kLeafRows), all, "rows", note, false});
    body(first, std::min(NearestOnDevice::kBatchLeaves, leaves - first));
  }
  workers.monitor.report({workers.phase, all, all, "rows", note, false});
}

// Calls body(row) for the queries of a warp of a batch.
template <class Body>
void each_query(const std::vector<int64_t>& places, int64_t first, int64_t warp, Body&& body) {
  for (int64_t k = 0; k < kWarpQueries; ++k)
    if (const int64_t row = places[static_cast<size_t>(first * kLeafRows + warp * kWarpQueries + k)]; row >= 0)
      body(row);
}

}  // namespace

NearestOnDevice::Uploaded::Uploaded(Device& device, const NearestPlan& plan, const NearestIndex::Leaves& leaves,
                                    int64_t count)
    : positions(device, static_cast<int64_t>(leaves.positions.size() * sizeof(uint16_t)), kRows),
      boxes(device, leaves.count * (plan.numbers + plan.levels) * static_cast<int64_t>(sizeof(uint64_t)), kRows),
      rows{leaves.count, count, reinterpret_cast<const uint16_t*>(positions.data()),
           reinterpret_cast<uint64_t*>(boxes.data())} {
  const DeviceApi& api = device.api();
  device.check(api.upload(device.session(), positions.data(), leaves.positions.data(), positions.bytes()));
  device.check(api.leaf_boxes(device.session(), plan, rows));
}

NearestOnDevice::NearestOnDevice(const NearestIndex& index, Device& device)
    : index_(index), device_(device), reference_(device, index.plan(), index.leaves(), index.reference().rows) {}

// Rows whose neighbors are searched: a table, or the reference.
struct NearestOnDevice::Queries {
  Queries(const NearestOnDevice& on, const DistanceTable* given)
      : same(given == nullptr), table(same ? on.index_.reference() : *given) {
    if (same) return;
    own = on.index_.leaves_of(*given);
    uploaded.emplace(on.device_, on.index_.plan(), own, given->rows);
  }
  const NearestIndex::Leaves& leaves(const NearestOnDevice& on) const { return same ? on.index_.leaves() : own; }
  const LeafRows& rows(const NearestOnDevice& on) const { return same ? on.reference_.rows : uploaded->rows; }

  bool same;
  const DistanceTable& table;
  NearestIndex::Leaves own;
  std::optional<Uploaded> uploaded;
};

// The pairs with low bounds of a batch of queries.
struct NearestOnDevice::Pairs {
  Pairs(const NearestOnDevice& n, const Queries& q, Team& team)
      : on(n),
        queries(q),
        held(team.share(std::min(kBatchLeaves, q.leaves(n).count) * kWarps * kCapacity * 8, kPairs)),
        limit(n.device_, q.leaves(n).count * kLeafRows, kPairs),
        found(n.device_, std::min(kBatchLeaves, q.leaves(n).count) * kWarps, kPairs),
        pair(n.device_, static_cast<int64_t>(found.here.size()) * kCapacity, kPairs) {}

  void search(int64_t first, int64_t leaves) {
    limit.upload();
    on.device_.check(on.device_.api().near_rows(
        on.device_.session(), {on.index_.plan(), queries.rows(on), on.reference_.rows, first, leaves, queries.same,
                               limit.on_device(), kCapacity, pair.on_device(), found.on_device()}));
    found.download();
    if (std::any_of(found.here.begin(), found.here.begin() + leaves * kWarps, [](uint32_t n) { return n > 0; }))
      pair.download();
  }
  // There are more than were stored.
  bool crowded(int64_t warp) const { return found.here[static_cast<size_t>(warp)] > kCapacity; }
  std::span<const uint64_t> of(int64_t warp) const {
    return std::span(pair.here).subspan(static_cast<size_t>(warp * kCapacity), found.here[static_cast<size_t>(warp)]);
  }

  const NearestOnDevice& on;
  const Queries& queries;
  MemoryShare held;
  DeviceArray<uint32_t> limit, found;
  DeviceArray<uint64_t> pair;
};

std::vector<Neighbors> NearestOnDevice::search(const DistanceTable& query, bool want_second, const char* note,
                                               const Workers& workers) const {
  std::vector<Neighbors> out(static_cast<size_t>(query.rows), Neighbors{INFINITY, INFINITY});
  if (query.rows == 0 || reference_.rows.rows == 0) return out;
  const Queries queries(*this, &query);
  const std::vector<int64_t>&places = queries.leaves(*this).rows, &rows = index_.leaves().rows;
  Pairs pairs(*this, queries, workers.team);
  DeviceArray<uint64_t> best(device_, 2 * static_cast<int64_t>(pairs.found.here.size()) * kWarpQueries, kPairs);
  const auto row_of = [&](uint64_t entry) { return rows[static_cast<size_t>(entry & 0xFFFFFFFFu)]; };
  const auto add = [](Neighbors& to, double d) {
    if (d < to.first) to = {d, to.first};
    else to.second = std::min(to.second, d);
  };
  each_batch(queries.leaves(*this).count, query.rows, note, workers, [&](int64_t first, int64_t leaves) {
    device_.check(device_.api().nearest_rows(device_.session(), {index_.plan(), queries.rows(*this), reference_.rows,
                                                                 first, leaves, want_second, best.on_device()}));
    best.download();
    // The distances of the rows with the lowest bounds: others matter only if theirs may be lower.
    const auto at = [&](int64_t place) { return best.here.data() + 2 * (place - first * kLeafRows); };
    workers.team.for_each(leaves, [&](int64_t leaf) {
      for (int64_t place = (first + leaf) * kLeafRows; place < (first + leaf + 1) * kLeafRows; ++place) {
        const int64_t row = places[static_cast<size_t>(place)];
        auto& limit = pairs.limit.here[static_cast<size_t>(place)] = 0;
        if (row < 0) continue;
        Neighbors& n = out[static_cast<size_t>(row)];
        for (int i = 0; i < (want_second ? 2 : 1); ++i)
          if (at(place)[i] != ~uint64_t{0}) add(n, index_.distance(query, row, row_of(at(place)[i]), INFINITY));
        const bool all_found = at(place)[want_second ? 1 : 0] == ~uint64_t{0};
        limit = all_found ? 0 : index_.limit_below(want_second ? n.second : n.first);
      }
    });
    pairs.search(first, leaves);
    workers.team.for_each(leaves * kWarps, [&](int64_t warp) {
      if (pairs.crowded(warp)) {
        NearestIndex::Scratch scratch;
        each_query(places, first, warp, [&](int64_t row) {
          out[static_cast<size_t>(row)] = index_.search(query, row, want_second, scratch);
        });
        return;
      }
      for (const uint64_t pair : pairs.of(warp)) {
        const auto place = static_cast<int64_t>(pair >> 32);
        const auto is = [&](uint64_t entry) { return (entry & 0xFFFFFFFFu) == (pair & 0xFFFFFFFFu); };
        if (is(at(place)[0]) || (want_second && is(at(place)[1]))) continue;
        const int64_t row = places[static_cast<size_t>(place)];
        Neighbors& n = out[static_cast<size_t>(row)];
        add(n, index_.distance(query, row, row_of(pair), want_second ? n.second : n.first));
      }
    });
  });
  if (!want_second)
    for (Neighbors& n : out) n.second = INFINITY;
  return out;
}

void NearestOnDevice::within(const DistanceTable* query, double radius, const char* note, const Workers& workers,
                             const Found& found) const {
  const Queries queries(*this, query);
  if (queries.table.rows == 0 || reference_.rows.rows == 0) return;
  const std::vector<int64_t>&places = queries.leaves(*this).rows, &rows = index_.leaves().rows;
  Pairs pairs(*this, queries, workers.team);
  for (size_t place = 0; place < places.size(); ++place)
    pairs.limit.here[place] = places[place] < 0 ? 0 : index_.limit_of(radius) + 1;
  each_batch(queries.leaves(*this).count, queries.table.rows, note, workers, [&](int64_t first, int64_t leaves) {
    pairs.search(first, leaves);
    workers.team.for_each(leaves * kWarps, [&](int64_t warp) {
      if (!pairs.crowded(warp)) {
        for (const uint64_t pair : pairs.of(warp))
          found(places[static_cast<size_t>(pair >> 32)], rows[static_cast<size_t>(pair & 0xFFFFFFFFu)]);
        return;
      }
      NearestIndex::Scratch scratch;
      each_query(places, first, warp, [&](int64_t row) {
        index_.within(queries.table, row, radius, scratch, [&](int64_t other) {
          if (!queries.same || other != row) found(row, other);
        });
      });
    });
  });
}

}  // namespace tessera::quality
