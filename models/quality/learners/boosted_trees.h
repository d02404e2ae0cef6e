// Gradient-boosted decision trees on histograms: second-order boosting (Chen and Guestrin, XGBoost, KDD 2016) of the
// logistic or the squared loss.
//   leaf −G/(H + l2) · split gain G_L²/(H_L + l2) + G_R²/(H_R + l2) − G²/(H + l2), G and H the sums of the loss's
//   derivatives over a node's rows
//   numbers split at a bin's upper end, missing values going to the better side; categories by one level against the
//   rest, or by a set of levels
// Derivatives are summed as integers (31 bits below the largest), so that every order of rows gives the same sums, a
// larger child's histogram is exactly its parent's minus its sibling's, and the same rows give the same trees.
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "models/quality/learners/feature_bins.h"

namespace tessera::quality {

enum class TreeLoss { logistic, squared };  // targets 0 and 1 · any finite number

struct TreeOptions {
  int trees = 100;
  int depth = 5;
  double shrinkage = 0.3;
  double l2 = 1;                // as XGBoost's lambda
  double min_child_weight = 1;  // minimum H of a child: rows for the squared loss, Σ p(1 − p) for the logistic one
  double min_gain = 0;
  // categories also split by sets of levels, ordered by G/(H + 10); false: one level against the rest, as one-hot
  // columns would
  bool level_sets = false;
  double rows = 1;      // share of rows per tree, drawn for each tree
  double columns = 1;   // share of columns per tree
  double held_out = 0;  // share of rows that determine how many trees are kept; 0: all trees
  int patience = 10;    // with held_out: stops after this many trees without a lower loss
  uint64_t seed = 0;    // of the three draws
};

class BoostedTrees {
 public:
  // Learns target[r] from row r of `x`, for r in `rows`. `tree_done` is called after each tree, to report progress or
  // to throw. Targets of one class give a constant. Throws Error(data) without rows and on targets the loss cannot
  // take.
  static BoostedTrees fit(const BinnedRows& x, std::span<const int64_t> rows, std::span<const double> target,
                          TreeLoss loss, const TreeOptions& options, const std::function<void()>& tree_done = {});

  // For each of `rows`, in order: the probability of 1, or the value. `x` was binned by the same bins.
  std::vector<double> predict(const BinnedRows& x, std::span<const int64_t> rows) const;

  int64_t trees() const { return static_cast<int64_t>(roots_.size()); }
  std::span<const double> gains() const { return gains_; }  // of all splits by each column

 private:
  friend class TreeGrower;
  // Rows whose bin is in `left` go to node `child`, the others to the next one. A leaf holds every bin and is its own
  // child: rows stay there, and many of them can descend in parallel without a test for the end.
  struct Node {
    std::array<uint64_t, FeatureBins::kMaxBins / 64> left{};
    int32_t column = 0, child = 0;
    double value = 0;
    bool goes_left(uint8_t bin) const { return (left[bin >> 6] >> (bin & 63) & 1) != 0; }
  };
  int32_t step(int32_t node, const uint8_t* row) const {
    const Node& n = nodes_[static_cast<size_t>(node)];
    return n.child + !n.goes_left(row[n.column]);
  }
  double tree_value(int32_t root, const uint8_t* row) const;

  TreeLoss loss_ = TreeLoss::logistic;
  double base_ = 0;
  int depth_ = 0;
  std::vector<int32_t> roots_;
  std::vector<Node> nodes_;
  std::vector<double> gains_;
};

// 0, 1, … n − 1: all rows, for functions that take a selection.
std::vector<int64_t> every_row(int64_t n);

}  // namespace tessera::quality
