// narrow: stores in 16 bits what a derivative reads long after it was computed: the rounded factors of a weight's
// gradient, the gradient that a sparse layer scatters (a product with one-hot rows), and what a batch norm, a sigmoid,
// a tanh or a recurrent layer keeps for its derivative. Every op that can read the 16-bit copy reads it, and the wide
// value is dropped after its last other reader. Recurrent layers write what they keep, and the gradients of their
// gates, in 16 bits directly.
//   A product of rounded factors reads the same numbers either way. Other readers of a kept value read it rounded: sums
//   of rows (the gradients of biases), scatters (the gradients of sparse layers), gates (the sign of an activation),
//   the derivatives of batch norms, sigmoids and recurrent layers. In the forward pass these ops read and write fp32,
//   and so does the second-order path of a gradient penalty.
//   In a step that ranks or shards divide, a value that only a sparse layer scatters or that a residual sum reads stays
//   fp32: ranks exchange such values where one process scatters them, and both must read the same numbers.
//   For the processor, whose kernels read such values; done where a plan is arranged (engine/run/footprint.h), so that
//   passes and ranks see values of one type only.
#include <algorithm>
#include <map>
#include <utility>
#include <variant>

#include "engine/passes/passes.h"
#include "engine/passes/rewrite.h"

namespace tessera {
namespace {

// The format of a rounded product's factors; fp32: the op is not a product, or its factors are not rounded.
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

// Whether ranks share the step, or its rows are summed by shards.
bool is_cut(const Plan& plan) {
  const auto by_shards = [](const auto& op) {
    return requires { op.shards; };
  };
  return std::any_of(plan.nodes.begin(), plan.nodes.end(),
                     [&](const Node& x) { return is_exchange(x.op) || std::visit(by_shards, x.op); });
}

class Narrower {
 public:
  explicit Narrower(Plan& plan)
      : plan_(plan),
        late_(is_cut(plan) ? 0 : static_cast<int>(plan.nodes.size())),
        exact_(second_order_path(plan)),
        base_(plan.values.size()),
        uses_(plan.values.size()) {
    for (size_t v = 0; v < base_.size(); ++v) base_[v] = static_cast<Id>(v);
    for (size_t n = 0; n < plan.nodes.size(); ++n) see(plan.nodes[n], static_cast<int>(n));
    for (const Id v : plan.outputs) uses_of(v).wide = 2 * static_cast<int>(plan.nodes.size());
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
    int narrow = -1, wide = -1;  // the last nodes that can, and that cannot, read it narrow
    bool kept = false;           // for a derivative
    bool viewed = false;
  };
  Uses& uses_of(Id v) { return uses_[static_cast<size_t>(base_[static_cast<size_t>(v)])]; }
  bool read_as_factor(const Node& x, size_t i) const {
    return sixteen_bits(factors_of_product(x.op)) && traits(x.op, x.in.size()).narrow.has(i);
  }
  // Whether x can read its input i narrow. An exact product must read unrounded values.
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
    const bool scatters = late_ > 0 && std::holds_alternative<SparseWgrad>(x.op);
    const int place = scatters || makes_weight_gradient(x.op) ? late_ + n : n;
    for (size_t i = 0; i < x.in.size(); ++i) {
      if (x.in[i] == kNone) continue;
      Uses& uses = uses_of(x.in[i]);
      int& last = can_read(x, i) ? uses.narrow : uses.wide;
      last = std::max(last, place);
      const bool factor = read_as_factor(x, i), scattered = scatters && i == 2 && !exact_[static_cast<size_t>(n)];
      rounded_ = rounded_ || factor;
      uses.kept =
          uses.kept || traits(x.op, x.in.size()).kept.has(i) || scattered || (factor && makes_weight_gradient(x.op));
    }
  }

  bool worth(Id v) const {
    const Uses& uses = uses_[static_cast<size_t>(v)];
    return plan_[v].dtype == DType::real && uses.kept && uses.narrow > uses.wide;
  }
  // Whether the op that computes v can store it in 16 bits, and all its readers can read 16 bits.
  bool made_narrow(Id v) const {
    const Node* maker = plan_.maker(v);
    const Uses& uses = uses_[static_cast<size_t>(v)];
    return maker != nullptr && uses.narrow >= 0 && uses.wide < 0 && !uses.viewed &&
           traits(maker->op, maker->in.size()).narrow_out.has(static_cast<size_t>(plan_[v].output));
  }
  bool reads_narrow(const Node& x, size_t i) {
    return !is_view(x.op) && narrow_.count(base_[static_cast<size_t>(x.in[i])]) != 0 && can_read(x, i);
  }
  // v in 16 bits; for a view, the same view of its narrowed base.
  Id narrow(Id v) {
    if (const auto found = narrow_.find(v); found != narrow_.end()) return found->second;
    const Node view = *plan_.maker(v);
    const Id from = narrow(view.in[0]);
    return narrow_[v] = plan_.emit(view.op, {from})[0];
  }

  Plan& plan_;
  // Added to the position of weight gradients: chains of row blocks compute them last. 0 in a step that ranks share,
  // whose ops depend on their number.
  int late_;
  std::vector<bool> exact_;  // nodes
  std::vector<Id> base_;
  std::vector<Uses> uses_;  // of values that are not views
  bool rounded_ = false;    // whether any product's factors are rounded
  std::map<Id, Id> narrow_;
};

}  // namespace

void narrow_values(Plan& plan) {
  if (!plan.narrow || !sixteen_bits(plan.precision)) return;
  Narrower(plan).run();
  drop_dead(plan);
}

}  // namespace tessera
