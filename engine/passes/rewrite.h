// The common frame of passes that replace ops one by one: the plan is recorded anew, in order, and a rule may put something else in an op's place.
#pragma once
#include <functional>
#include <optional>
#include <vector>

#include "engine/rules.h"
#include "engine/var.h"

namespace tessera {

// A rule sees an op with its inputs already in the new plan and gives the outputs that stand for the op's, or nothing to keep the op.
using Rewrite = std::function<std::optional<std::vector<Var>>(Recorder& r, const Op& op, const std::vector<Var>& in)>;

// With `share`, equal ops become one.
void rewrite(Plan& plan, const Rewrite& rule, bool share);

// Nodes whose results reach no output and no state are left out.
void drop_dead(Plan& plan);

// The maker of a Var, if it is of that kind: op and inputs.
template <class T>
const T* made_by(Var v) {
  return v ? v.r->plan.made_by<T>(v.id) : nullptr;
}
inline Var input_of(Var v, size_t i) {
  const Id id = v.r->plan.maker(v.id)->in[i];
  return {v.r, id};
}

}  // namespace tessera
