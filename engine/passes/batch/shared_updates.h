// The updates of a step that are divided among ranks: each rank updates its part of a set of parameters, holds the
// moments and averages of that part only, and receives the others' weights (engine/passes/batch/sharder.h).
//   the identity: Adam and averages are elementwise, so the parts of an update are the updates of the parts
#pragma once
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "engine/passes/rewrite.h"
#include "engine/plan/op_rules.h"
#include "engine/plan/plan.h"

namespace tessera::batch_parts {

// Found in the plan of the whole batch, so every rank finds the same.
class SharedUpdates {
 public:
  struct Piece {  // of a set's gradient: the value that holds its numbers from `start` on
    int64_t start;
    Id value;
  };

  // Sets of fewer than `least` numbers are updated by every rank: one more exchange would cost more.
  SharedUpdates(const Plan& plan, int ranks, int64_t least) : plan_(plan), ranks_(ranks), readers_(readers_of(plan)) {
    std::map<Id, std::vector<const Node*>> updates;  // by set
    for (const Node& x : plan.nodes)
      if (std::holds_alternative<Adam>(x.op)) updates[first_version(x.in[0])].push_back(&x);
    for (const auto& [set, all] : updates)
      if (shape(set).rows == 1 && shape(set).cols >= least && fills_all_parts(shape(set).cols)) share(set, all);
    for (const Node& x : plan.nodes)
      if (std::holds_alternative<Average>(x.op) && sets_.count(first_version(x.in[1])) != 0) {
        const Id average = first_version(x.in[0]);
        if (shape(average) == shape(x.in[1]) && is_read_by<Average>(average, 0)) cut_.insert(average);
      }
  }

  bool shares(const Node& x) const {
    return (std::holds_alternative<Adam>(x.op) || std::holds_alternative<Average>(x.op)) &&
           cut_.count(first_version(x.in[std::holds_alternative<Adam>(x.op) ? 1 : 0])) != 0;
  }
  // Whether a rank has only its part of a state.
  bool cuts(Id leaf) const { return cut_.count(leaf) != 0; }
  // The size of each rank's part of `count` numbers, except the last rank's: whole cache lines.
  int64_t part(int64_t count) const {
    constexpr int64_t kLine = 16;
    return ((count + ranks_ - 1) / ranks_ + kLine - 1) / kLine * kLine;
  }
  const std::vector<Piece>& gradient(const Node& adam) const { return gradients_.at(adam.out[0]); }
  // Ops that only join a gradient from its pieces.
  bool omits(const Node& x) const { return omitted_.count(x.out[0]) != 0; }

 private:
  const Shape& shape(Id v) const { return plan_[v].shape; }
  bool fills_all_parts(int64_t count) const { return part(count) * (ranks_ - 1) < count; }
  // The leaf that v is a version of.
  Id first_version(Id v) const {
    for (const Node* x = plan_.maker(v); x != nullptr && plan_[v].output < in_place(x->op); x = plan_.maker(v))
      v = x->in[static_cast<size_t>(plan_[v].output)];
    return v;
  }
  bool is_output(Id v) const { return std::find(plan_.outputs.begin(), plan_.outputs.end(), v) != plan_.outputs.end(); }

  // Whether a state, as each op leaves it, is read by ops of one kind alone, as their input `i`.
  template <class T>
  bool is_read_by(Id leaf, size_t i) const {
    if (plan_.maker(leaf) != nullptr) return false;
    for (size_t v = 0; v < plan_.values.size(); ++v) {
      if (first_version(static_cast<Id>(v)) != leaf) continue;
      if (is_output(static_cast<Id>(v))) return false;
      for (const int n : readers_[v]) {
        const Node& x = plan_.nodes[static_cast<size_t>(n)];
        if (!std::holds_alternative<T>(x.op) || x.in[i] != static_cast<Id>(v)) return false;
      }
    }
    return true;
  }

  void share(Id set, const std::vector<const Node*>& updates) {
    for (const Node* x : updates) {
      // With a scaled loss every rank checks all gradients.
      if (x->in.size() > 6) return;
      for (const size_t moment : {size_t{1}, size_t{2}})
        if (!is_read_by<Adam>(first_version(x->in[moment]), moment)) return;
    }
    sets_.insert(set);
    for (const Node* x : updates) {
      for (const size_t moment : {size_t{1}, size_t{2}}) cut_.insert(first_version(x->in[moment]));
      int64_t start = 0;
      split_gradient(x->in[3], start, gradients_[x->out[0]]);
    }
  }
  void split_gradient(Id v, int64_t& start, std::vector<Piece>& pieces) {
    const Node* x = plan_.maker(v);
    const bool flat = shape(v).rows == 1;
    const Move::Kind kind = x == nullptr ? Move::none : move_of(x->op).kind;
    if (readers_[static_cast<size_t>(v)].size() == 1 && !is_output(v) &&
        (flat ? kind == Move::reshape || kind == Move::concat_cols : kind == Move::concat_rows)) {
      omitted_.insert(v);
      for (const Id part : x->in) split_gradient(part, start, pieces);
      return;
    }
    pieces.push_back({start, v});
    start += shape(v).count();
  }

  const Plan& plan_;
  const int ranks_;
  const std::vector<std::vector<int>> readers_;
  std::set<Id> sets_, cut_, omitted_;
  std::map<Id, std::vector<Piece>> gradients_;  // by the updated parameters
};

}  // namespace tessera::batch_parts
