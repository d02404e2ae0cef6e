// constants: 0·x = 0, 0 + x = x, a·(b·x + c) = ab·x + ac, and so on through products, sums and moves; the identities
// are those of the ops' rules. Purpose: gradients of slices are padded with 0, and those of means and sums begin as
// constants.
#include "engine/passes/rewrite.h"

namespace tessera {
namespace {

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

std::optional<std::vector<Var>> folded(Recorder& r, const Site& s) {
  if (makes_zeros(s)) {
    std::vector<Var> out;
    for (const Id v : s.node.out) out.push_back(fill(r, s.old.shape(v), 0));
    return out;
  }
  const Var known = fold(r, s.node.op, s.in);
  return known ? std::optional(std::vector<Var>{known}) : std::nullopt;
}

}  // namespace

void fold_constants(Plan& plan) { rewrite(plan, folded); }

}  // namespace tessera
