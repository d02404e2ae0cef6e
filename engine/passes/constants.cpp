// constants: 0·x = 0, 0 + x = x, a·(b·x + c) = ab·x + ac, and so on through products, sums and moves. Purpose:
// gradients of slices are padded with 0, and those of means and sums begin as constants.
#include "engine/passes/rewrite.h"

namespace tessera {
namespace {

bool is_zero(Var v) {
  const Fill* f = made_by<Fill>(v);
  return f != nullptr && f->value == 0;
}

// a·v + b, merged with v's own fill or affine op.
Var affine(Var v, double a, double b) {
  if (a == 1 && b == 0) return v;
  if (const Fill* f = made_by<Fill>(v)) return fill(*v.r, v.shape(), a * f->value + b);
  const Unary* inner = made_by<Unary>(v);
  if (inner != nullptr && inner->fn == Unary::affine) return affine(input_of(v, 0), a * inner->a, a * inner->b + b);
  return unary(Unary::affine, v, a, b);
}

// Whether, by the op's traits, zeros among its inputs make all results zero.
bool makes_zeros(const Site& s) {
  const Zero zero = traits(s.node).zero;
  if (zero.when == Zero::unknown || zero.when == Zero::always) return zero.when == Zero::always;
  bool any = false, all = true;
  for (size_t i = 0; i < s.in.size(); ++i) {
    if (!zero.inputs.has(i)) continue;
    any = any || is_zero(s.in[i]);
    all = all && is_zero(s.in[i]);
  }
  return zero.when == Zero::if_any ? any : all;
}

std::optional<std::vector<Var>> fold(Recorder& r, const Site& s) {
  const auto& in = s.in;
  auto zeros = [&] {
    std::vector<Var> out;
    for (const Id v : s.node.out) out.push_back(fill(r, s.old.shape(v), 0));
    return std::optional(out);
  };
  auto one = [](Var v) { return std::optional(std::vector<Var>{v}); };
  if (makes_zeros(s)) return zeros();
  if (const auto* op = std::get_if<Unary>(&s.node.op)) {
    return op->fn == Unary::affine ? one(affine(in[0], op->a, op->b)) : std::nullopt;
  } else if (const auto* b = std::get_if<Binary>(&s.node.op)) {
    const bool same = in[0].shape() == in[1].shape();
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
      if (!is_zero(in[static_cast<size_t>(2 * p)]) && !is_zero(in[static_cast<size_t>(2 * p) + 1]))
        left.insert(left.end(), {in[static_cast<size_t>(2 * p)], in[static_cast<size_t>(2 * p) + 1]});
    if (left.size() == static_cast<size_t>(2 * m->pairs)) return std::nullopt;
    if (left.empty()) return m->addend ? one(broadcast(in.back(), s.old.shape(s.node.out[0]))) : zeros();
    const int pairs = static_cast<int>(left.size() / 2);
    if (m->addend) left.push_back(in.back());
    return r.emit(Matmul{m->trans_a, m->trans_b, pairs, m->addend, m->cut}, left);
  } else if (std::holds_alternative<Broadcast>(s.node.op)) {
    if (const Fill* f = made_by<Fill>(in[0])) return one(fill(r, s.old.shape(s.node.out[0]), f->value));
  } else if (const auto* w = std::get_if<SparseWgrad>(&s.node.op)) {
    if (w->addend && is_zero(in[2])) return one(in[3]);
  }
  return std::nullopt;
}

}  // namespace

void fold_constants(Plan& plan) { rewrite(plan, fold); }

}  // namespace tessera
