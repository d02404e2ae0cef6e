// narrow: a value that a derivative reads long after it was made, as the rounded factor of a weight's gradient or as
// what a batch norm, a sigmoid, a tanh or a recurrent layer left for it, waits in 16 bits. All who can read those do,
// and the value itself is gone once it was narrowed. What a recurrent layer keeps, and the gradients of its gates, are
// made in 16 bits at once.
//   A product of rounded factors reads the same numbers either way. Sums of rows, scatters and gates that read a kept
//   value read it rounded: the gradients of biases, of sparse layers, and the sign of an activation; so do the
//   derivatives of batch norms, sigmoids and recurrent layers. Forwards all of them read and hand on fp32.
//   For the processor, whose kernels read such values; done where a plan is arranged (engine/run/footprint.h), so that
//   passes and ranks see values of one type only.
#include <map>
#include <utility>
#include <variant>

#include "engine/passes/passes.h"
#include "engine/passes/rewrite.h"

namespace tessera {
namespace {

// The format of a rounded product's factors; fp32: the op is none, or reads none.
Precision factors_of_product(const Op& op) {
  return std::visit(
      [](const auto& x) {
        if constexpr (requires { x.factors; }) return x.factors;
        else return Precision::fp32;
      },
      op);
}

bool is_product(const Op& op) {
  return std::visit(
      [](const auto& x) {
        return requires { x.factors; };
      },
      op);
}

bool makes_weight_gradient(const Op& op) {
  if (std::holds_alternative<ShardedWgrad>(op)) return true;
  if (const DenseProduct p = traits(op, 0).product; p.pairs > 0) return p.trans_a;
  const auto* b = std::get_if<BlockMatmul>(&op);
  return b != nullptr && b->form == BlockMatmul::weight;
}

class Narrower {
 public:
  explicit Narrower(Plan& plan) : plan_(plan), base_(plan.values.size()), uses_(plan.values.size()) {
    for (size_t v = 0; v < base_.size(); ++v) base_[v] = static_cast<Id>(v);
    for (size_t n = 0; n < plan.nodes.size(); ++n) see(plan.nodes[n], static_cast<int>(n));
    for (const Id v : plan.outputs) uses_of(v).wide = static_cast<int>(plan.nodes.size());
  }

  void run() {
    if (!rounded_) return;
    for (size_t v = 0; v < uses_.size(); ++v)
      if (const Id id = static_cast<Id>(v); made_narrow(id)) plan_.values[v].dtype = narrow_type(plan_.precision);
    std::vector<Node> nodes = std::exchange(plan_.nodes, {});
    for (Node& x : nodes) {
      for (size_t i = 0; i < x.in.size(); ++i)
        if (x.in[i] != kNone && reads_narrow(x, i)) x.in[i] = narrow(x.in[i]);
      const std::vector<Id> made = x.out;
      const bool view = is_view(x.op) || in_place(x.op) > 0;
      plan_.append(std::move(x));
      for (const Id v : made)
        if (!view && worth(v)) narrow_[v] = plan_.emit(Narrow{plan_.precision}, {v})[0];
    }
  }

 private:
  struct Uses {
    int narrow = -1, wide = -1;  // the last nodes that could read it narrow, and that could not
    bool kept = false;           // for a derivative
    bool viewed = false;
  };
  Uses& uses_of(Id v) { return uses_[static_cast<size_t>(base_[static_cast<size_t>(v)])]; }
  bool read_as_factor(const Node& x, size_t i) const {
    return sixteen_bits(factors_of_product(x.op)) && traits(x.op, x.in.size()).narrow.has(i);
  }
  // Whether x could read its input i narrow. An exact product reads what was not rounded.
  bool can_read(const Node& x, size_t i) const {
    const bool can = traits(x.op, x.in.size()).narrow.has(i);
    return can && (!is_product(x.op) || sixteen_bits(factors_of_product(x.op)));
  }

  void see(const Node& x, int n) {
    if (is_view(x.op)) {
      uses_of(x.in[0]).viewed = true;
      base_[static_cast<size_t>(x.out[0])] = base_[static_cast<size_t>(x.in[0])];
      return;
    }
    for (size_t i = 0; i < x.in.size(); ++i) {
      if (x.in[i] == kNone) continue;
      Uses& uses = uses_of(x.in[i]);
      (can_read(x, i) ? uses.narrow : uses.wide) = n;
      const bool factor = read_as_factor(x, i);
      rounded_ = rounded_ || factor;
      uses.kept = uses.kept || traits(x.op, x.in.size()).kept.has(i) || (factor && makes_weight_gradient(x.op));
    }
  }

  bool worth(Id v) const {
    const Uses& uses = uses_[static_cast<size_t>(v)];
    return plan_[v].dtype == DType::real && uses.kept && uses.narrow > uses.wide;
  }
  // Whether the op that makes v makes it in 16 bits, and all who read it can read those.
  bool made_narrow(Id v) const {
    const Node* maker = plan_.maker(v);
    const Uses& uses = uses_[static_cast<size_t>(v)];
    return maker != nullptr && uses.narrow >= 0 && uses.wide < 0 && !uses.viewed &&
           traits(maker->op, maker->in.size()).narrow_out.has(static_cast<size_t>(plan_[v].output));
  }
  bool reads_narrow(const Node& x, size_t i) {
    return !is_view(x.op) && narrow_.count(base_[static_cast<size_t>(x.in[i])]) != 0 && can_read(x, i);
  }
  // v in 16 bits: a view of what its base became.
  Id narrow(Id v) {
    if (const auto found = narrow_.find(v); found != narrow_.end()) return found->second;
    const Node view = *plan_.maker(v);
    const Id from = narrow(view.in[0]);
    return narrow_[v] = plan_.emit(view.op, {from})[0];
  }

  Plan& plan_;
  std::vector<Id> base_;
  std::vector<Uses> uses_;  // of values that are no views
  bool rounded_ = false;    // any product's factors are
  std::map<Id, Id> narrow_;
};

}  // namespace

void narrow_values(Plan& plan) {
  if (!plan.narrow || !sixteen_bits(plan.precision)) return;
  Narrower(plan).run();
  drop_dead(plan);
}

}  // namespace tessera
