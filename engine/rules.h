// What the engine knows of each op: the shape of its results, its derivative as ops of the same set, its cost. One specialisation of Rule an op, in engine/ops/.
#pragma once
#include <vector>

#include "engine/plan.h"
#include "engine/var.h"

namespace tessera {

struct Cost {
  double flops = 0;
  double bytes = 0;  // for scalars of 4 bytes
};

const char* op_name(const Op& op);
const char* op_name(size_t kind);  // by its place in TESSERA_OPS, which an OpKind is too
std::vector<Result> infer(const Op& op, const Plan& plan, const std::vector<Id>& in);  // Error(internal) where shapes do not fit
// Gradients of the inputs from those of the outputs (Vars may be empty on both sides: no gradient).
std::vector<Var> vjp(Recorder& r, const Op& op, const std::vector<Var>& in, const std::vector<Var>& out, const std::vector<Var>& d_out);
// The outputs as a composition of simpler ops; empty: the op is a simple one.
std::vector<Var> compose(Recorder& r, const Op& op, const std::vector<Var>& in);
Cost cost(const Op& op, const Plan& plan, const std::vector<Id>& in, const std::vector<Id>& out);
// The first in_place(op) outputs are the first inputs, changed.
int in_place(const Op& op);
bool is_view(const Op& op);  // reshape, slices

}  // namespace tessera
