// pack: a product with packed rows is the sum over the positions in a pack, added in that order. On a GPU the block
// that computed the rows of one position can multiply them by that position's part of the weight at once
// (engine/schedule/gpu_fusion.h); elsewhere the CPU's order is kept.
#include "engine/passes/rewrite.h"

namespace tessera {

constexpr int64_t kDeepPack = 384;  // below, a product is not split

void pack(Plan& plan) {
  rewrite(plan, [](Recorder& r, const Site& s) -> std::optional<std::vector<Var>> {
    const auto* m = std::get_if<Matmul>(&s.node.op);
    if (m == nullptr || m->pairs != 1 || m->trans_a || m->cut > 0 || made_by<Reshape>(s.in[0]) == nullptr)
      return std::nullopt;
    const Shape packed = s.in[0].shape(), rows = input_of(s.in[0], 0).shape();
    if (rows.rows <= packed.rows || packed.cols < kDeepPack) return std::nullopt;
    Matmul op = *m;
    op.cut = rows.cols;
    return r.emit(op, s.in);
  });
}

}  // namespace tessera
