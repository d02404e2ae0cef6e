#include "engine/passes/passes.h"

#include "base/error.h"
#include "engine/passes/rewrite.h"

namespace tessera {

const std::vector<PassInfo>& passes() {
  static const std::vector<PassInfo> all = {
      {"dead", "ops that reach no weight, state or output are removed", drop_dead},
      {"constants", "products with zeros vanish, scales and sums with constants fold; equal ops become one",
       fold_constants},
      {"scale", "a factor of rows is applied after a product, where the rows are narrower", scale},
      {"interpolate", "a linear layer of interpolated rows is the interpolation of its outputs for the rows themselves",
       interpolate},
      {"gather", "a one-hot row times a matrix is a row of the matrix: gathers and scatters instead of products",
       gather},
      {"trim", "products compute only the rows and columns that are read", trim},
      {"accumulate", "sums of products, and a bias, are accumulated in one product", accumulate},
      {"norm_relu", "batch norm applies its ReLU, forward and backward", norm_relu},
      {"stack", "small products with one weight become one product of stacked rows", stack},
      {"pack", "a product with packed rows is summed position by position", pack},
      {"precision", "products multiply in the format of `precision` and sum in fp32; everything else stays fp32",
       round_factors},
      {"narrow", "on the processor, factors that a weight's gradient reads again are stored in 16 bits", nullptr},
      {"fuse", "ops that can run one after the other on a part of the rows (on a GPU, also of the columns) are fused",
       nullptr},
      {"compile", "on a GPU, the fused launches of a long training are compiled while the interpreter runs them",
       nullptr},
      {"early_launch",
       "on a GPU of compute capability 9.0 or newer, a compiled launch begins before the one before it has ended",
       nullptr},
      {"liveness", "values that are not live at the same time share memory", nullptr},
  };
  return all;
}

double flops_of(const Plan& plan) {
  double sum = 0;
  for (const Node& n : plan.nodes) sum += cost(n.op, plan, n.in, n.out).flops;
  return sum;
}

void check_passes(const std::set<std::string>& names) {
  for (const std::string& name : names) {
    bool known = name == "all";
    std::string list;
    for (const PassInfo& p : passes()) {
      known = known || name == p.name;
      list += std::string(list.empty() ? "" : ", ") + p.name;
    }
    if (!known)
      throw Error(ErrorCode::usage,
                  "`passes_off`: unknown pass \"" + name + "\". Passes: " + list + " (all: every one).");
  }
}

std::vector<PassReport> optimize(Plan& plan, const std::set<std::string>& off) {
  check_passes(off);
  std::vector<PassReport> reports;
  for (const PassInfo& p : passes()) {
    if (!wanted(off, p.name)) continue;
    PassReport r{p.name, plan.nodes.size(), 0, flops_of(plan), 0, {}};
    for (const Node& n : plan.nodes) --r.change[op_name(n.op)];
    // liveness is placement's (engine/schedule/placement.h), fusion the device's (engine/schedule/gpu_fusion.h),
    // compiling and early launches the training's (Program::compile_launches), narrow runs when a plan is arranged
    // (engine/run/footprint.h)
    if (p.run != nullptr) p.run(plan);
    // Ops that a pass made unnecessary are removed; otherwise they would be computed beside their replacement.
    if (wanted(off, "dead")) drop_dead(plan);
    for (const Node& n : plan.nodes) ++r.change[op_name(n.op)];
    std::erase_if(r.change, [](const auto& kind) { return kind.second == 0; });
    r.nodes_after = plan.nodes.size();
    r.flops_after = flops_of(plan);
    reports.push_back(r);
  }
  schedule(plan);
  plan.fuse = wanted(off, "fuse"), plan.narrow = wanted(off, "narrow");
  return reports;
}

}  // namespace tessera
