// Exact nearest rows under a distance that is a sum over columns: d(x, y) = Σ min(|x_c − y_c| / width_c, cap) over
// numbers + Σ weight·[x_c ≠ y_c] over levels.
// A number missing on one side counts cap, on both sides 0. Gower's distance and the L1 distance of one-hot rows are of
// this form.
//
// Fast and exact: reference rows are divided into leaves of 64 similar rows (the leaves of a kd-tree, stored flat). A
// query first gets a lower bound to every leaf, then visits leaves from the nearest, until the next bound exceeds the
// best distance found. Bounds are sums of 16-bit positions, rounded so that they never exceed the true distance; every
// row they cannot exclude gets its distance in double, columns summed in order.
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/cpu/cpu_features.h"

namespace tessera::quality {

struct DistanceColumn {
  std::span<const double> numbers;  // one of the two is filled
  std::span<const int32_t> codes;
  double width = 1;  // of numbers: the difference that counts 1; > 0
};

// Columns in the order in which terms are summed; the same order and kinds in reference and query.
struct DistanceTable {
  int64_t rows = 0;
  std::vector<DistanceColumn> columns;
};

struct DistanceForm {
  double number_cap = 1;    // 1, or infinity: no cap
  double level_weight = 1;  // 1 or 2
};

struct Neighbors {
  double first, second;  // smallest distances; infinity if the reference has no such row, or it was not requested
};

class NearestIndex {
 public:
  // Rows divided into leaves of similar ones.
  struct Leaves {
    int64_t count = 0;
    std::vector<int64_t> rows;        // the row at each place, leaf after leaf; −1: padding of the last one
    std::vector<uint16_t> positions;  // [leaf][column][kLeafRows]
  };

  // Keeps views into the table's columns, which must outlive it.
  NearestIndex(const DistanceTable& reference, const DistanceForm& form, const ArrayKernels& kernels = array_kernels());

  // Memory of one thread's search, reused for every row.
  struct Scratch {
    std::vector<uint16_t> position;
    std::vector<const uint16_t*> miss;
    std::vector<uint32_t> bound;
    std::vector<uint64_t> queue;
  };
  Neighbors search(const DistanceTable& query, int64_t row, bool want_second, Scratch& scratch) const;
  // Calls found(reference row) for every row whose distance may be at most `radius`: all that are, and few others.
  void within(const DistanceTable& query, int64_t row, double radius, Scratch& scratch,
              const std::function<void(int64_t)>& found) const;

  // For searches of many queries at once (nearest_on_device.h).
  const DistanceTable& reference() const { return reference_; }
  const NearestPlan& plan() const { return plan_; }
  const Leaves& leaves() const { return leaves_; }
  Leaves leaves_of(const DistanceTable& query) const;
  // Of two rows; stops at a larger number once `enough` is exceeded.
  double distance(const DistanceTable& query, int64_t row, int64_t reference, double enough) const;
  // The largest bound that a row at this distance may have, in positions; bounds of nearer rows are below the other.
  uint32_t limit_of(double distance) const;
  uint32_t limit_below(double distance) const;

 private:
  struct IndexColumn {
    int source;      // column of the table
    double low = 0;  // numbers: position = (x − low) / width, then in units
  };
  void order_columns();
  void bound_leaves();
  void bound_leaves(const DistanceTable& query, int64_t row, Scratch& scratch) const;  // of one row
  uint16_t position(const IndexColumn& column, const DistanceColumn& table, int64_t row) const;

  DistanceTable reference_;
  DistanceForm form_;
  const ArrayKernels& kernels_;
  NearestPlan plan_;
  int unit_ = 0;                      // positions per width
  std::vector<IndexColumn> columns_;  // numbers, then levels
  Leaves leaves_;
  int64_t bounds_ = 0;                       // of leaves: a multiple of kLeafRows
  std::vector<uint16_t> low_, high_;         // [number][bounds_]
  std::vector<std::vector<uint16_t>> miss_;  // [level column][level mod kMissRows][bounds_]
};

}  // namespace tessera::quality
