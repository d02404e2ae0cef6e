// precision: products read rounded factors and sum in fp32, those within recurrent cells too. Everything else reads and
// stores fp32: master weights, the optimizer's state, statistics of a batch, softmax, Gumbel noise and log-sum-exp,
// losses, every sum, the states and gates of recurrent cells.
//   The second-order path of a gradient penalty stays fp32 too: the derivative of a derivative. Such a penalty holds
//   the norms of a derivative's rows, sqrt(row_dot(g, g)); the path is every op that reads g, the norms or values
//   computed from them, up to an optimizer. g itself is a derivative like any other.
//   Rounding is no identity: the tests compare products with those of rounded factors in double
//   (tests/engine/precision.cpp).
#include <algorithm>
#include <string_view>
#include <type_traits>
#include <variant>

#include "engine/passes/passes.h"
#include "engine/passes/rewrite.h"

namespace tessera {
namespace {

// Why an op does not multiply rounded factors, by the beginning of its name.
struct Reason {
  std::string_view begins;
  const char* why;
};
constexpr Reason kReasons[] = {{"narrow", "kept for a weight's gradient in 16 bits"},
                               {"span_", "softmax, Gumbel noise and log-sum-exp"},
                               {"batch_norm", "statistics of a batch"},
                               {"norm_eval", "statistics of a batch"},
                               {"sparse_", "a sum of gathered rows"},
                               {"sum_", "a sum"},
                               {"row_dot", "a sum"},
                               {"", "between products"}};

// The factor precision of a product, const if the op is; nullptr: another op.
template <class AnyOp>
auto factors_of(AnyOp& op) {
  using Factors = std::conditional_t<std::is_const_v<AnyOp>, const Precision, Precision>;
  return std::visit(
      [](auto& x) -> Factors* {
        if constexpr (requires { x.factors; }) return &x.factors;
        else return nullptr;
      },
      op);
}

class SecondOrder {
 public:
  explicit SecondOrder(const Plan& plan) : plan_(plan), on_path_(plan.nodes.size()), reads_(plan.values.size()) {}

  std::vector<bool> run() {
    for (const Node& x : plan_.nodes)
      if (const Id g = rows_of_norms(x); g != kNone) reads_[static_cast<size_t>(g)] = true;
    for (size_t n = 0; n < plan_.nodes.size(); ++n) follow(n);
    return std::move(on_path_);
  }

 private:
  // g of sqrt(row_dot(g, g)); kNone: x is not such a norm.
  Id rows_of_norms(const Node& x) const {
    const auto* root = std::get_if<Unary>(&x.op);
    if (root == nullptr || root->fn != Unary::sqrt || plan_.made_by<RowDot>(x.in[0]) == nullptr) return kNone;
    const std::vector<Id>& rows = plan_.maker(x.in[0])->in;
    return rows[0] == rows[1] ? rows[0] : kNone;
  }

  // Forward from the derivative, up to ops that change a state.
  void follow(size_t n) {
    const Node& x = plan_.nodes[n];
    bool reads = false;
    for (const Id v : x.in) reads = reads || (v != kNone && reads_[static_cast<size_t>(v)]);
    if (!reads || in_place(x.op) > 0) return;
    on_path_[n] = true;
    for (const Id v : x.out) reads_[static_cast<size_t>(v)] = true;
  }

  const Plan& plan_;
  std::vector<bool> on_path_, reads_;
};

}  // namespace

std::vector<bool> second_order_path(const Plan& plan) { return SecondOrder(plan).run(); }

void round_factors(Plan& plan) {
  if (plan.precision == Precision::fp32) return;
  const std::vector<bool> second_order = second_order_path(plan);
  for (size_t n = 0; n < plan.nodes.size(); ++n)
    if (Precision* factors = factors_of(plan.nodes[n].op); factors != nullptr && !second_order[n])
      *factors = plan.precision;
}

FactorType factor_type(const Plan& plan, const Node& x) {
  const Op& op = x.op;
  const auto exact = [](const char* why) { return FactorType{Precision::fp32, why}; };
  if (const Precision* factors = factors_of(op)) {
    if (*factors != Precision::fp32) return {*factors, "product: rounded factors, sums in fp32"};
    return exact(plan.precision == Precision::fp32 ? "product" : "second-order path of the gradient penalty");
  }
  if (in_place(op) > 0) return exact("weights, optimizer state and other states");
  const std::string_view name = op_name(op);
  return exact(std::find_if(std::begin(kReasons), std::end(kReasons), [&](const Reason& r) {
                 return name.starts_with(r.begins);
               })->why);
}

}  // namespace tessera
