#include "floor.h"

#include "engine/plan/op_rules.h"
#include "engine/schedule/placement.h"

namespace bench {

Work work_of(const tessera::Plan& plan) {
  const tessera::Placement placed = tessera::place(plan, 4);
  Work w;
  for (size_t n = 0; n < plan.nodes.size(); ++n) {
    if (!placed.runs[n]) continue;
    const tessera::Node& node = plan.nodes[n];
    const tessera::Cost c = tessera::cost(node.op, plan, node.in, node.out);
    w.flops += c.flops;
    const bool recurrent = std::holds_alternative<tessera::Recurrent>(node.op) ||
                           std::holds_alternative<tessera::RecurrentGrad>(node.op) ||
                           std::holds_alternative<tessera::RecurrentInputGrad>(node.op) ||
                           std::holds_alternative<tessera::RecurrentWgrad>(node.op);
    if (recurrent || std::holds_alternative<tessera::Matmul>(node.op) ||
        std::holds_alternative<tessera::BlockMatmul>(node.op))
      w.matrix_flops += c.flops;
    else w.other_bytes += c.bytes;
  }
  return w;
}

}  // namespace bench
