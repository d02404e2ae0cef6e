// norm_relu: ReLU(batch_norm(x)) is one op, and so is its derivative: the mask is recomputed from the statistics, not
// read.
#include <algorithm>

#include "engine/passes/rewrite.h"

namespace tessera {
namespace {

bool is_relu(const Op& op) {
  const auto* u = std::get_if<Unary>(&op);
  return u != nullptr && u->fn == Unary::leaky && u->a == 0;
}

// Whether a normalized value is only ever passed through ReLU.
bool only_relu(const Site& s, Id y) {
  const std::vector<int>& readers = s.readers[static_cast<size_t>(y)];
  return !readers.empty() && !s.kept(y) && std::all_of(readers.begin(), readers.end(), [&](int n) {
    return is_relu(s.old.nodes[static_cast<size_t>(n)].op);
  });
}

}  // namespace

void norm_relu(Plan& plan) {
  rewrite(plan, [](Recorder& r, const Site& s) -> std::optional<std::vector<Var>> {
    if (const auto* n = std::get_if<BatchNorm>(&s.node.op); n != nullptr && !n->relu && only_relu(s, s.node.out[0]))
      return r.emit(BatchNorm{n->eps, n->groups, true}, s.in);
    if (const auto* n = std::get_if<NormEval>(&s.node.op); n != nullptr && !n->relu && only_relu(s, s.node.out[0]))
      return r.emit(NormEval{n->eps, true}, s.in);
    if (is_relu(s.node.op)) {
      const auto* n = made_by<BatchNorm>(s.in[0]);
      const auto* e = made_by<NormEval>(s.in[0]);
      if ((n != nullptr && n->relu && r.plan[s.in[0].id].output == 0) || (e != nullptr && e->relu))
        return std::vector<Var>{s.in[0]};
    }
    if (const auto* g = std::get_if<BatchNormGrad>(&s.node.op); g != nullptr && !g->relu) {
      // d = d_h where h > 0, with h the output of the norm with these statistics
      const auto* relu = made_by<Binary>(s.in[5]);
      if (relu == nullptr || relu->fn != Binary::gate || relu->a != 0) return std::nullopt;
      const Var h = input_of(s.in[5], 1);
      const auto* n = made_by<BatchNorm>(h);
      if (n == nullptr || !n->relu || r.plan.maker(h.id)->out[1] != s.in[3].id) return std::nullopt;
      std::vector<Var> in = s.in;
      in[5] = input_of(s.in[5], 0);
      return r.emit(BatchNormGrad{g->eps, g->groups, true}, in);
    }
    return std::nullopt;
  });
}

}  // namespace tessera
