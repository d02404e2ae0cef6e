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
  // Keeps views into the table's columns, which must outlive it.
  NearestIndex(const DistanceTable& reference, const DistanceForm& form, const ArrayKernels& kernels = array_kernels());

  // Memory of one thread's search, reused for every row.
  struct Scratch {
    std::vector<uint16_t> position;
    std::vector<const uint16_t*> miss;
    std::vector<uint32_t> bound;
    std::vector<uint64_t> queue;
    int64_t leaves_visited = 0, rows_measured = 0;
  };
  Neighbors search(const DistanceTable& query, int64_t row, bool want_second, Scratch& scratch) const;
  // Calls found(reference row) for every row whose distance may be at most `radius`: all that are, and few others.
  void within(const DistanceTable& query, int64_t row, double radius, Scratch& scratch,
              const std::function<void(int64_t)>& found) const;

 private:
  struct IndexColumn {
    int source;      // column of the table
    double low = 0;  // numbers: position = (x − low) / width, then in units
  };
  void order_columns();
  void make_leaves(const std::vector<uint16_t>& positions);
  void bound_leaves();
  void bound_leaves(const DistanceTable& query, int64_t row, Scratch& scratch) const;  // of one row
  uint32_t limit_of(double distance) const;                                            // in positions
  uint16_t position(const IndexColumn& column, const DistanceColumn& table, int64_t row) const;
  double distance(const DistanceTable& query, int64_t row, int64_t reference, double enough) const;

  DistanceTable reference_;
  DistanceForm form_;
  const ArrayKernels& kernels_;
  NearestPlan plan_;
  int unit_ = 0;                      // positions per width
  std::vector<IndexColumn> columns_;  // numbers, then levels
  int64_t leaves_ = 0;                // nonempty leaves; bounds are stored for a multiple of kLeafRows
  int64_t bounds_ = 0;
  std::vector<int64_t> rows_;                // reference row of each position, leaf after leaf; −1: padding
  std::vector<uint16_t> leaf_;               // [leaf][column][kLeafRows]
  std::vector<uint16_t> low_, high_;         // [number][bounds_]
  std::vector<std::vector<uint16_t>> miss_;  // [level column][level mod kMissRows][bounds_]
};

}  // namespace tessera::quality
