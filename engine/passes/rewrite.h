// The common frame of passes that replace ops one by one: the plan is re-recorded in order, and a rule may replace an
// op.
#pragma once
#include <functional>
#include <optional>
#include <vector>

#include "engine/plan/op_rules.h"
#include "engine/plan/recorder.h"

namespace tessera {

// The view of a rule: an op of the old plan, its inputs in the new one, and the readers of each value in the old.
struct Site {
  const Plan& old;
  const Node& node;
  const std::vector<Var>& in;
  const std::vector<std::vector<int>>& readers;  // by old value: old nodes, once per use
  // Whether the old input i is read by this op alone.
  bool sole(size_t i) const { return readers[static_cast<size_t>(node.in[i])].size() == 1 && !kept(node.in[i]); }
  bool kept(Id v) const;  // an output of the plan
};

// Returns the outputs that replace the op's, or nothing to keep the op.
using Rewrite = std::function<std::optional<std::vector<Var>>(Recorder& r, const Site& site)>;

// With `share`, equal ops become one.
void rewrite(Plan& plan, const Rewrite& rule, bool share = true);
std::vector<std::vector<int>> readers_of(const Plan& plan);

// Nodes whose results reach no output and no state are omitted.
void drop_dead(Plan& plan);

// The op that computes a Var, if it is of that kind, and its inputs.
template <class T>
const T* made_by(Var v) {
  return v ? v.r->plan.made_by<T>(v.id) : nullptr;
}
inline Var input_of(Var v, size_t i) { return {v.r, v.r->plan.maker(v.id)->in[i]}; }
inline std::vector<Var> inputs_of(Var v) {
  std::vector<Var> in;
  for (const Id id : v.r->plan.maker(v.id)->in) in.push_back({v.r, id});
  return in;
}

// The passes (engine/passes/passes.cpp says what each does).
void fold_constants(Plan& plan);
void scale(Plan& plan);
void interpolate(Plan& plan);
void gather(Plan& plan);
void trim(Plan& plan);
void accumulate(Plan& plan);
void norm_relu(Plan& plan);
void stack(Plan& plan);
void pack(Plan& plan);
void round_factors(Plan& plan);

// By node: whether it is on the second-order path of a gradient penalty, which stays fp32 (precision.cpp).
std::vector<bool> second_order_path(const Plan& plan);

}  // namespace tessera
