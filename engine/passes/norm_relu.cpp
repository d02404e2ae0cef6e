// norm_relu: ReLU(batch_norm(x)) is one op, and so is its derivative: the mask is recomputed from the statistics, not read.
#include "engine/passes/rewrite.h"

namespace tessera {
namespace {

bool is_relu(const Op& op) {
  const auto* u = std::get_if<Unary>(&op);
  return u != nullptr && u->fn == Unary::leaky && u->a == 0;
}
bool is_mask(const Op& op) {
  const auto* u = std::get_if<Unary>(&op);
  return u != nullptr && u->fn == Unary::step && u->a == 0;
}

// Whether a normalised value is only ever passed through ReLU or asked for its sign.
bool only_relu(const Site& s, Id y) {
  bool any = false;
  for (const int n : s.readers[static_cast<size_t>(y)]) {
    const Op& op = s.old.nodes[static_cast<size_t>(n)].op;
    if (!is_relu(op) && !is_mask(op)) return false;
    any = any || is_relu(op);
  }
  return any && !s.kept(y);
}

}  // namespace

void norm_relu(Plan& plan) {
  rewrite(plan, [](Recorder& r, const Site& s) -> std::optional<std::vector<Var>> {
    if (const auto* n = std::get_if<BatchNorm>(&s.node.op); n != nullptr && !n->relu && only_relu(s, s.node.out[0]))
      return r.emit(BatchNorm{n->eps, n->groups, true}, s.in);
    if (const auto* n = std::get_if<NormEval>(&s.node.op); n != nullptr && !n->relu && only_relu(s, s.node.out[0])) return r.emit(NormEval{n->eps, true}, s.in);
    if (is_relu(s.node.op)) {
      const auto* n = made_by<BatchNorm>(s.in[0]);
      const auto* e = made_by<NormEval>(s.in[0]);
      if ((n != nullptr && n->relu && r.plan[s.in[0].id].output == 0) || (e != nullptr && e->relu)) return std::vector<Var>{s.in[0]};
    }
    if (const auto* g = std::get_if<BatchNormGrad>(&s.node.op); g != nullptr && !g->relu) {
      // d = d_h · step(y) with y the output of the norm these statistics are of
      const auto* mask = made_by<Binary>(s.in[5]);
      if (mask == nullptr || mask->fn != Binary::mul) return std::nullopt;
      for (size_t side = 0; side < 2; ++side) {
        const Var step = input_of(s.in[5], side);
        const Node* maker = r.plan.maker(step.id);
        if (maker == nullptr || !is_mask(maker->op)) continue;
        const Var y{&r, maker->in[0]};
        const auto* n = made_by<BatchNorm>(y);
        if (n == nullptr || !n->relu || r.plan.maker(y.id)->out[1] != s.in[3].id) continue;
        std::vector<Var> in = s.in;
        in[5] = input_of(s.in[5], 1 - side);
        return r.emit(BatchNormGrad{g->eps, g->groups, true}, in);
      }
    }
    return std::nullopt;
  });
}

}  // namespace tessera
