#include "engine/plan/op_rules.h"

#include <algorithm>
#include <type_traits>

#include "engine/ops/batch_norm.h"
#include "engine/ops/collective.h"
#include "engine/ops/copy.h"
#include "engine/ops/elementwise.h"
#include "engine/ops/matmul.h"
#include "engine/ops/optimizer.h"
#include "engine/ops/random.h"
#include "engine/ops/recurrent.h"
#include "engine/ops/reduce.h"
#include "engine/ops/span.h"

namespace tessera {
namespace {

template <class T>
concept HasVjp = requires(Recorder& r, const T& op, const Vjp& v) {
  Rule<T>::vjp(r, op, v);
};
template <class T>
concept HasCompose = requires(Recorder& r, const T& op, const std::vector<Var>& in) {
  Rule<T>::compose(r, op, in);
};
template <class T>
concept HasFold = requires(Recorder& r, const T& op, const std::vector<Var>& in) {
  Rule<T>::fold(r, op, in);
};

template <class T>
concept TraitsByOp = requires(const T& op) {
  Rule<T>::traits(op, size_t{});
};
template <class T>
concept OverSequences = requires(const T& op, const Shapes& in) {
  Rule<T>::sequences(op, in);
};
template <class T>
concept HoldsRows = requires(const T& op, const Shapes& in) {
  Rule<T>::row_floats(op, in);
};

// Calls f with the op's own type; an empty Op is a broken invariant.
template <class F>
auto visit_op(const Op& op, F&& f) {
  using Result = std::invoke_result_t<F, const Fill&>;
  return std::visit(
      [&](const auto& o) -> Result {
        if constexpr (std::is_same_v<std::decay_t<decltype(o)>, std::monostate>)
          throw Error(ErrorCode::internal, "an empty op");
        else return f(o);
      },
      op);
}

Shapes shapes_of(const Plan& plan, const std::vector<Id>& ids) {
  Shapes s;
  for (const Id id : ids) s.push_back(id == kNone ? Shape{} : plan.shape(id));
  return s;
}

}  // namespace

const char* op_name(size_t kind) {
  static constexpr const char* kNames[] = {
#define TESSERA_NAME(type, field, parts) #field,
      TESSERA_OPS(TESSERA_NAME)
#undef TESSERA_NAME
  };
  return kNames[kind];
}
const char* op_name(const Op& op) { return op.index() == 0 ? "" : op_name(op.index() - 1); }

std::vector<Result> infer(const Op& op, const Plan& plan, const std::vector<Id>& in) {
  const Shapes shapes = shapes_of(plan, in);
  return visit_op(op, [&](const auto& o) {
    std::vector<Result> results = Rule<std::decay_t<decltype(o)>>::infer(o, shapes);
    if (move_of(op).kind != Move::none) results[0].dtype = plan[in[0]].dtype;  // moves keep the type of their input
    if (std::holds_alternative<AllGather>(op)) results[1].dtype = plan[in[1]].dtype;
    return results;
  });
}

std::vector<Var> compose(Recorder& r, const Op& op, const std::vector<Var>& in) {
  return visit_op(op, [&](const auto& o) -> std::vector<Var> {
    using T = std::decay_t<decltype(o)>;
    if constexpr (HasCompose<T>) return Rule<T>::compose(r, o, in);
    else return {};
  });
}

Var fold(Recorder& r, const Op& op, const std::vector<Var>& in) {
  return visit_op(op, [&](const auto& o) -> Var {
    using T = std::decay_t<decltype(o)>;
    if constexpr (HasFold<T>) return Rule<T>::fold(r, o, in);
    else return {};
  });
}

std::optional<double> constant_value(Var v) {
  const Fill* f = v ? v.r->plan.made_by<Fill>(v.id) : nullptr;
  return f != nullptr ? std::optional(f->value) : std::nullopt;
}

std::vector<Var> vjp(Recorder& r, const Op& op, const std::vector<Var>& in, const std::vector<Var>& out,
                     const std::vector<Var>& d_out) {
  return visit_op(op, [&](const auto& o) -> std::vector<Var> {
    using T = std::decay_t<decltype(o)>;
    static_assert(HasVjp<T> || HasCompose<T>, "an op has a vjp or a composition");
    if constexpr (HasVjp<T>) return Rule<T>::vjp(r, o, Vjp{in, out, d_out});
    else {
      const auto y = Rule<T>::compose(r, o, in);
      std::vector<Var> outputs, seeds, wrt;
      for (size_t i = 0; i < y.size(); ++i)
        if (d_out[i]) {
          outputs.push_back(y[i]);
          seeds.push_back(d_out[i]);
        }
      for (const Var& v : in)
        if (v) wrt.push_back(v);
      const auto some = pullback(r, outputs, seeds, wrt);
      std::vector<Var> d_in;
      size_t k = 0;
      for (const Var& v : in) d_in.push_back(v ? some[k++] : Var{});
      return d_in;
    }
  });
}

Cost cost(const Op& op, const Plan& plan, const std::vector<Id>& in, const std::vector<Id>& out) {
  if (is_view(op)) return {};
  const Shapes from = shapes_of(plan, in), to = shapes_of(plan, out);
  const OperandSet gathers = traits(op, in.size()).gathers;
  Cost c;
  const auto bytes = [&](Id v) {
    return v == kNone ? 0.0 : static_cast<double>(item_bytes(plan[v].dtype, 4) * plan.shape(v).count());
  };
  for (const Id v : out) c.bytes += bytes(v);
  const double made = c.bytes;
  for (size_t i = 0; i < from.size(); ++i) {
    const double all = bytes(in[i]);
    c.bytes += gathers.has(i) ? std::min(all, made) : all;
  }
  c.flops = visit_op(op, [&](const auto& o) { return Rule<std::decay_t<decltype(o)>>::flops(o, from, to); });
  return c;
}

Traits traits(const Op& op, size_t inputs) {
  return visit_op(op, [&](const auto& o) -> Traits {
    using T = std::decay_t<decltype(o)>;
    if constexpr (TraitsByOp<T>) return Rule<T>::traits(o, inputs);
    else return Rule<T>::traits;
  });
}

bool elementwise(const Op& op, size_t inputs) {
  const Traits t = traits(op, inputs);
  bool each = inputs > 0 && t.in_place == 0 && t.move.kind == Move::none;
  for (size_t i = 0; i < inputs; ++i) each = each && t.elements.input(i);
  return each;
}

bool updated_state(const Plan& plan, Id v) {
  const Node* x = plan.maker(v);
  while (x != nullptr && move_of(x->op).kind == Move::reshape) {
    v = x->in[0];
    x = plan.maker(v);
  }
  return x != nullptr && plan[v].output < in_place(x->op);
}

int64_t sent_numbers(const Plan& plan, const Node& x) {
  const Traits t = traits(x);
  if (t.sends < 0) return 0;
  return t.sent_to_each > 0 ? t.sent_to_each : plan.shape(x.in[static_cast<size_t>(t.sends)]).count();
}

int parts_of(const Op& op) {
  static constexpr int kParts[] = {
#define TESSERA_PARTS(type, field, parts) parts,
      TESSERA_OPS(TESSERA_PARTS)
#undef TESSERA_PARTS
  };
  return kParts[op.index() - 1];
}

int64_t sequences_of(const Plan& plan, const Node& x) {
  return visit_op(x.op, [&](const auto& o) -> int64_t {
    using T = std::decay_t<decltype(o)>;
    if constexpr (OverSequences<T>) return Rule<T>::sequences(o, shapes_of(plan, x.in));
    else return 0;
  });
}

int64_t row_floats_of(const Plan& plan, const Node& x) {
  return visit_op(x.op, [&](const auto& o) -> int64_t {
    using T = std::decay_t<decltype(o)>;
    if constexpr (HoldsRows<T>) return Rule<T>::row_floats(o, shapes_of(plan, x.in));
    else return 0;
  });
}

}  // namespace tessera
