// A recorded step rewritten for the columns of one rank, op by op (columns.h).
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "engine/passes/batch/cut_step.h"
#include "engine/passes/columns/wide_weights.h"
#include "engine/passes/rewrite.h"
#include "engine/plan/traits.h"

namespace tessera::column_parts {

// This rank's view of a value of the whole plan.
struct Part {
  enum Kind {
    whole,  // all of it, the same on every rank
    cut,    // its own rows or columns
    flat,   // its own elements of a flat set, or of a value as long
    sums    // the summands of its shards
  } kind = whole;
  Var value{};
  Axis rows{}, cols{};          // cut
  std::vector<Var> by_shard{};  // sums: of the shards of this rank
  bool added = false;           // never (engine/passes/batch/cut_step.h)
};

class ColumnCutter : private CutStep<Part> {
 public:
  ColumnCutter(const Plan& plan, const RankCut& cut, Plan& next, Recorder& recorder);
  StateCuts run();

 private:
  void put_leaf(const Leaf& leaf);
  void finish();
  [[noreturn]] void refuse(const Node& x, const std::string& why) const;

  // Values.
  void put_cut(Id old, Var value, Axis rows, Axis cols);
  Var whole(const Node& x, Id old) const;  // throws if the value is cut
  // This rank's rows and columns of a value, also of a whole one.
  Var own(const Node& x, Id old, const Axis& rows, const Axis& cols);
  Var own_condition(const Node& made, const Axis& cols);
  Var own_spans(Var all) const;
  Var shard_index(Var index, const Axis& axis);
  // The rank's stretches of an axis, each with the position where it begins.
  std::vector<std::pair<int64_t, Stretch>> own_stretches(const Axis& axis, bool in_whole) const;
  std::vector<Var> by_shard(const std::function<Var(int shard)>& make) const;
  Var shard_cols(Var own, const Axis& cols, int shard) const;
  Var shard_rows(Var own, const Axis& rows, int shard) const;

  // Ops.
  void take(const Node& x);
  bool takes_sources(const Node& x);
  void on_spans(const Node& x);
  void put_sums_of_rank(Id old, Var value);
  void keep(const Node& x);
  void multiply(const Node& x, const DenseProduct& op);
  void follow(const Node& x);
  void sum_over_rows(const Node& x);
  void sum_over_cols(const Node& x);
  void on_flat(const Node& x);
  void view_of_set(const Node& x, Id set, int64_t offset);
  void reshape_part(const Node& x);
  void slice_cols_of(const Node& x, int64_t first);
  void concat_cols_of(const Node& x);
  bool cut_input(const Node& x) const;

  const SpanShares shares_;
  const WideWeights weights_;
};

}  // namespace tessera::column_parts
