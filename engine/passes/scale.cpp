// scale: (s·X)·W = s·(X·W) and (s·X)ᵀ·Y = Xᵀ·(s·Y) with one s per row. The factor moves to the narrower rows, and a
// product does not wait for it: the penalty's gradient scales rows of thousands of inputs by the gradient's norm,
// which is known only when all of them are computed.
#include "engine/passes/rewrite.h"

namespace tessera {
namespace {

struct Scaled {
  Var x, factor;
};

// Rows, each times one number.
std::optional<Scaled> scaled(Var v) {
  const Binary* b = made_by<Binary>(v);
  if (b == nullptr || b->fn != Binary::mul) return std::nullopt;
  const Var x = input_of(v, 0), s = input_of(v, 1);
  if (s.cols() != 1 || s.rows() != x.rows() || x.cols() == 1) return std::nullopt;
  return Scaled{x, s};
}

}  // namespace

void scale(Plan& plan) {
  rewrite(plan, [](Recorder& r, const Site& s) -> std::optional<std::vector<Var>> {
    const Traits t = traits(s.node);
    if (!t.product.single() && !(t.linear && s.in.size() == 1)) return std::nullopt;
    const auto a = scaled(s.in[0]);
    if (!a) return std::nullopt;
    if (t.linear) return std::vector<Var>{a->x * r.emit1(s.node.op, {a->factor})};
    if (!t.product.trans_a) {
      const int64_t cols = s.old.shape(s.node.out[0]).cols;
      return cols < a->x.cols()
                 ? std::optional(std::vector<Var>{matmul(a->x, s.in[1], false, t.product.trans_b) * a->factor})
                 : std::nullopt;
    }
    if (t.product.trans_b || s.in[1].cols() >= a->x.cols()) return std::nullopt;
    return std::vector<Var>{matmul(a->x, s.in[1] * a->factor, true)};
  });
}

}  // namespace tessera
