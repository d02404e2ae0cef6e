// interpolate: (a·x + (1 − a)·y)·W = a·(x·W) + (1 − a)·(y·W) with one a per row. The critic's first layer for the
// penalty's rows costs nothing, because x·W and y·W are computed anyway. A bias added after it is
// untouched.
#include "engine/passes/rewrite.h"

namespace tessera {

void interpolate(Plan& plan) {
  rewrite(plan, [](Recorder&, const Site& s) -> std::optional<std::vector<Var>> {
    const DenseProduct m = traits(s.node).product;
    if (!m.single() || m.trans_a || made_by<LerpRows>(s.in[0]) == nullptr) return std::nullopt;
    const auto rows = inputs_of(s.in[0]);
    return std::vector<Var>{
        lerp_rows(rows[0], matmul(rows[1], s.in[1], false, m.trans_b), matmul(rows[2], s.in[1], false, m.trans_b))};
  });
}

}  // namespace tessera
