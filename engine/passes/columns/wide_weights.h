// Which weights of a step are as wide as a row of the table, and their layout in their flat sets.
#pragma once
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "engine/passes/columns/axis.h"
#include "engine/passes/columns/columns.h"

namespace tessera::column_parts {

// A weight in a flat set.
struct WideWeight {
  Shape shape;
  Axis rows, cols;  // at most one of them is cut
  bool cut() const { return !rows.empty() || !cols.empty(); }
};

// Found before anything is cut: backward from outputs that are activated or compared span by span to the layer that
// computes them, forward from rows of the table to the layer that reads them.
class WideWeights {
 public:
  WideWeights(const Plan& plan, const SpanShares& shares);

  // Whether a random value's columns are the row's.
  bool drawn_by_columns(Id value) const { return wide_draws_.count(value) > 0; }
  // Whether a value is rows of the table, dense.
  bool rows_of_table(Id value) const;
  // How a whole value is cut when it is concatenated with a cut one: a one-hot condition by its columns; any other
  // value belongs to the first shard.
  Axis beside(Id value) const;

  // Flat states: the leaf whose layout a value has; none: it is not a flat state with a cut weight.
  std::optional<Id> set_of(Id value) const;
  // The weight to which a view of a flat state refers.
  const WideWeight& weight(Id set, int64_t offset) const { return sets_.at(set).at(offset); }
  // The number of the rank's elements of the set before `offset`.
  int64_t own_before(Id set, int64_t offset) const;
  int64_t own_count(const WideWeight& w) const;
  std::vector<StateStretch> stretches(Id set) const;

 private:
  Id base(Id value) const;
  void find_sets();
  void find_wide_outputs();
  void find_wide_inputs();
  struct View {
    Id set;
    int64_t offset;
  };
  std::optional<View> view(Id value) const;
  Axis forward(const Node& x, const std::map<Id, Axis>& cols) const;
  void claim(Id weight, const Axis& rows, const Axis& cols);

  const Plan& plan_;
  const SpanShares& shares_;
  std::map<Id, Id> base_;                             // a later version of a state → its leaf
  std::map<Id, Id> like_;                             // leaf of a moment or average → the leaf of its weights
  std::map<Id, std::map<int64_t, WideWeight>> sets_;  // by leaf and offset
  std::set<Id> wide_draws_;
};

}  // namespace tessera::column_parts
