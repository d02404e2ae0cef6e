// NearestIndex for many queries at once, on a device: it leaves a few pairs of rows, by lower bounds of their distances
// (kernels/gpu/nearest_rows.cu), which are measured here. So all results are those of the index, bit for bit.
#pragma once
#include "engine/run/device_run.h"
#include "models/quality/common/workers.h"
#include "models/quality/learners/nearest.h"

namespace tessera::quality {

class NearestOnDevice {
 public:
  // Keeps both. Throws Error(memory) if the device has too little: 2 bytes for each cell of both tables, and 70 MB.
  NearestOnDevice(const NearestIndex& index, Device& device);

  // NearestIndex::search for each row. Reports progress with `note` and throws if cancelled, between batches.
  std::vector<Neighbors> search(const DistanceTable& query, bool want_second, const char* note,
                                const Workers& workers) const;
  // NearestIndex::within for each row: calls found(row, reference row), from several threads. A null `query` is the
  // reference itself: then one of two near rows at least is called with the other, and no row with itself.
  using Found = std::function<void(int64_t, int64_t)>;
  void within(const DistanceTable* query, double radius, const char* note, const Workers& workers,
              const Found& found) const;

  static constexpr int64_t kBatchLeaves = 4096, kCapacity = 512;  // of a launch, and pairs of 16 queries

 private:
  struct Uploaded {  // rows in leaves
    Uploaded(Device& device, const NearestPlan& plan, const NearestIndex::Leaves& leaves, int64_t rows);
    DeviceBytes positions, boxes;
    LeafRows rows;
  };
  struct Queries;
  struct Pairs;

  const NearestIndex& index_;
  Device& device_;
  Uploaded reference_;
};

}  // namespace tessera::quality
