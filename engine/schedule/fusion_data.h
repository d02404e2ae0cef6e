// Launches as data: written by a plan, changed by a person or a search, read again. One object per launch:
//   {"launches": [{"chains": [{"cut": "rows", "ops": ["matmul_104", …]}, …], "alone": ["concat_cols_9", …]}, …]}
// Ops are named by kind and first result, cuts as in FusedChain: rows, columns, elements or tiles; steps run in their
// order. " (slices)" and " (sum of slices)" behind a name are the two parts of a deep product. Views that compute
// nothing are left out: they go where their source is.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "engine/schedule/gpu_fusion.h"
#include "engine/schedule/placement.h"

namespace tessera {

std::string op_label(const Node& x);
const std::string& cut_name(FusedChain::Cut cut);
const std::string& part_name(FusedStep::Part part);

nlohmann::json describe_fusion(const Plan& plan, const Fusion& fusion, const Placement& placed);

// The plan, on which all passes have run, will run in these launches. Throws Error(usage), with the op, the launch and
// what to do, if it cannot.
void use_fusion(Plan& plan, const std::string& json);

}  // namespace tessera
