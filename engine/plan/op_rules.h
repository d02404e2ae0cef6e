// What the engine knows about each op: the shape of its results, its derivative as ops of the same set, its cost, its
// traits. There is one specialization of Rule for each op, in engine/ops/; schedulers and placement read the traits
// instead of listing ops.
#pragma once
#include <optional>
#include <vector>

#include "engine/plan/plan.h"
#include "engine/plan/recorder.h"
#include "engine/plan/traits.h"

namespace tessera {

struct Cost {
  double flops = 0;
  double bytes = 0;  // for scalars of 4 bytes
};

const char* op_name(const Op& op);
const char* op_name(size_t kind);  // by its index in TESSERA_OPS, which is also its OpKind
// Throws Error(internal) if shapes do not fit.
std::vector<Result> infer(const Op& op, const Plan& plan, const std::vector<Id>& in);
// Gradients of the inputs from those of the outputs (Vars may be empty on both sides: no gradient).
std::vector<Var> vjp(Recorder& r, const Op& op, const std::vector<Var>& in, const std::vector<Var>& out,
                     const std::vector<Var>& d_out);
// The outputs as a composition of simpler ops; empty: the op is a simple one.
std::vector<Var> compose(Recorder& r, const Op& op, const std::vector<Var>& in);
// A simpler value that equals the op's result, given the constants among its inputs; empty: none.
Var fold(Recorder& r, const Op& op, const std::vector<Var>& in);
std::optional<double> constant_value(Var v);  // of all its elements, if it was made from one number
inline bool is_zero(Var v) { return constant_value(v) == 0; }
Cost cost(const Op& op, const Plan& plan, const std::vector<Id>& in, const std::vector<Id>& out);
Traits traits(const Op& op, size_t inputs);
inline Traits traits(const Node& x) { return traits(x.op, x.in.size()); }
// Whether each element of the result is a function of one element of every input.
bool elementwise(const Op& op, size_t inputs);
inline bool elementwise(const Node& x) { return elementwise(x.op, x.in.size()); }
int parts_of(const Op& op);  // Parts (kernels/ops.h)

// The first in_place(op) outputs are the first inputs, changed.
inline int in_place(const Op& op) { return traits(op, 0).in_place; }
inline Move move_of(const Op& op) { return traits(op, 0).move; }
// Whether a value is a state after its update in this step, through reshapes.
bool updated_state(const Plan& plan, Id v);
inline bool is_view(const Op& op) { return move_of(op).view(); }  // reshape, slices

inline bool is_exchange(const Op& op) { return traits(op, 0).sends >= 0; }  // of ranks
int64_t sent_numbers(const Plan& plan, const Node& x);                      // by one rank to each other rank
int64_t sequences_of(const Plan& plan, const Node& x);                      // 0: not an op over sequences
int64_t row_floats_of(const Plan& plan, const Node& x);                     // of shared memory, for each sequence

}  // namespace tessera
