// constants: 0·x = 0, 0 + x = x, a·(b·x + c) = ab·x + ac, and so on through products, sums and moves. What it is for: gradients of slices are padded with 0, and those of
// means and sums begin as constants.
#include "engine/passes/rewrite.h"

namespace tessera {
namespace {

bool is_zero(Var v) {
  const Fill* f = made_by<Fill>(v);
  return f != nullptr && f->value == 0;
}

bool zero_at_zero(const Unary& op) {
  return (op.fn == Unary::affine && op.b == 0) || op.fn == Unary::tanh || op.fn == Unary::sqrt || op.fn == Unary::rsqrt || op.fn == Unary::leaky;
}

// a·v + b, of what v itself is.
Var affine(Var v, double a, double b) {
  if (a == 1 && b == 0) return v;
  if (const Fill* f = made_by<Fill>(v)) return fill(*v.r, v.shape(), a * f->value + b);
  const Unary* inner = made_by<Unary>(v);
  if (inner != nullptr && inner->fn == Unary::affine) return affine(input_of(v, 0), a * inner->a, a * inner->b + b);
  return unary(Unary::affine, v, a, b);
}

std::optional<std::vector<Var>> fold(Recorder& r, const Site& s) {
  const auto& in = s.in;
  auto zeros = [&] {
    std::vector<Var> out;
    for (const Id v : s.node.out) out.push_back(fill(r, s.old.shape(v), 0));
    return std::optional(out);
  };
  auto one = [](Var v) { return std::optional(std::vector<Var>{v}); };
  if (const auto* op = std::get_if<Unary>(&s.node.op)) {
    if (is_zero(in[0]) && zero_at_zero(*op)) return zeros();
    if (op->fn != Unary::affine) return std::nullopt;
    return op->a == 0 && op->b == 0 ? zeros() : one(affine(in[0], op->a, op->b));
  } else if (const auto* b = std::get_if<Binary>(&s.node.op)) {
    const bool x = is_zero(in[0]), y = is_zero(in[1]), same = in[0].shape() == in[1].shape();
    if (b->fn == Binary::mul && (x || y)) return zeros();
    if ((b->fn == Binary::div || b->fn == Binary::gate) && x) return zeros();
    if (b->fn == Binary::add && in[0].id == in[1].id) return one(affine(in[0], 2, 0));
    if (const Fill* f = made_by<Fill>(in[1])) {
      if (b->fn == Binary::add) return one(affine(in[0], 1, f->value));
      if (b->fn == Binary::sub) return one(affine(in[0], 1, -f->value));
      if (b->fn == Binary::mul) return one(affine(in[0], f->value, 0));
    }
    if (const Fill* f = made_by<Fill>(in[0]); f != nullptr && same) {
      if (b->fn == Binary::add) return one(affine(in[1], 1, f->value));
      if (b->fn == Binary::sub) return one(affine(in[1], -1, f->value));
      if (b->fn == Binary::mul) return one(affine(in[1], f->value, 0));
    }
  } else if (const auto* m = std::get_if<Matmul>(&s.node.op)) {
    std::vector<Var> left;
    for (int p = 0; p < m->pairs; ++p)
      if (!is_zero(in[static_cast<size_t>(2 * p)]) && !is_zero(in[static_cast<size_t>(2 * p) + 1])) left.insert(left.end(), {in[static_cast<size_t>(2 * p)], in[static_cast<size_t>(2 * p) + 1]});
    if (left.size() == static_cast<size_t>(2 * m->pairs)) return std::nullopt;
    if (left.empty()) return m->addend ? one(broadcast(in.back(), s.old.shape(s.node.out[0]))) : zeros();
    const int pairs = static_cast<int>(left.size() / 2);
    if (m->addend) left.push_back(in.back());
    return r.emit(Matmul{m->trans_a, m->trans_b, pairs, m->addend, m->cut}, left);
  } else if (std::holds_alternative<Broadcast>(s.node.op)) {
    if (const Fill* f = made_by<Fill>(in[0])) return one(fill(r, s.old.shape(s.node.out[0]), f->value));
  } else if (std::holds_alternative<RowDot>(s.node.op)) {
    if (is_zero(in[0]) || is_zero(in[1])) return zeros();
  } else if (std::holds_alternative<LerpRows>(s.node.op)) {
    if (is_zero(in[1]) && is_zero(in[2])) return zeros();
  } else if (std::holds_alternative<SpanActivationGrad>(s.node.op)) {
    if (is_zero(in[1])) return zeros();
  } else if (std::holds_alternative<SpanCrossEntropyGrad>(s.node.op)) {
    if (is_zero(in[2])) return zeros();
  } else if (std::holds_alternative<BatchNormGrad>(s.node.op)) {
    if (is_zero(in[5])) return zeros();
  } else if (const auto* w = std::get_if<SparseWgrad>(&s.node.op)) {
    if (is_zero(in[2])) return w->addend ? one(in[3]) : zeros();
  } else if (is_view(s.node.op) || std::holds_alternative<SumRows>(s.node.op) || std::holds_alternative<SumCols>(s.node.op) ||
             std::holds_alternative<ConcatRows>(s.node.op) || std::holds_alternative<ConcatCols>(s.node.op) || std::holds_alternative<SpanSpread>(s.node.op)) {
    for (const Var v : in)
      if (!is_zero(v)) return std::nullopt;
    return zeros();
  }
  return std::nullopt;
}

}  // namespace

void fold_constants(Plan& plan) { rewrite(plan, fold); }

}  // namespace tessera
