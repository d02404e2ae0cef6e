#include "models/plans/describe_launches.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/plan/op_rules.h"
#include "engine/run/plan_launches.h"
#include "engine/run/roofline.h"
#include "engine/schedule/fusion_data.h"
#include "engine/schedule/gpu_fusion.h"
#include "engine/schedule/placement.h"

namespace tessera {
namespace {

// Published rates of an H200: floors can be computed without the card.
constexpr double kBytesPerSecond = 4.8e12, kFlopsPerSecond = 67e12;

// A value: its number in the plan, rows, columns. Equal numbers are the edges between ops.
nlohmann::json describe_values(const Plan& plan, const std::vector<Id>& ids) {
  nlohmann::json values = nlohmann::json::array();
  for (const Id v : ids)
    if (v != kNone) values.push_back({v, plan.shape(v).rows, plan.shape(v).cols});
  return values;
}

// The blocks of a block_matmul, each [row, rows, column, columns, from], and which product it is.
nlohmann::json describe_blocks(const BlockMatmul& op) {
  static const char* const forms[] = {"forward", "input", "weight"};
  nlohmann::json items = nlohmann::json::array();
  for (int i = 0; i < op.blocks->count; ++i) {
    const BlockTable::Item& b = op.blocks->items[i];
    items.push_back({b.row, b.rows, b.col, b.cols, b.from});
  }
  return {{"form", forms[op.form]}, {"items", std::move(items)}};
}

}  // namespace

nlohmann::json describe_launches(Plan plan) {
  Fusion fusion;
  if (plan.fuse) {
    fusion = fuse(plan);
  } else {
    const Placement alone = place(plan, 4);
    for (size_t n = 0; n < plan.nodes.size(); ++n)
      if (alone.runs[n]) fusion.push_back({{}, {static_cast<int>(n)}});
  }
  const auto phases = phases_of(fusion);
  const Placement placed = plan.fuse ? place(plan, 4, true, &phases) : place(plan, 4);
  const auto runs = [&](int n) { return placed.runs[static_cast<size_t>(n)]; };
  nlohmann::json groups = nlohmann::json::array();
  int64_t launches = 0, launches_of_chains = 0, emitted = 0;
  const std::vector<EmittedLaunch> sources =
      plan.fuse ? emit_launches(plan, fusion, placed) : std::vector<EmittedLaunch>{};
  for (const FusedLaunch& l : fusion) {
    nlohmann::json group{{"chains", nlohmann::json::array()}};
    double flops = 0, bytes = 0;
    int64_t ops = 0;
    const auto count = [&](int n, nlohmann::json& chain, FusedStep::Part part) {
      const Node& node = plan.nodes[static_cast<size_t>(n)];
      const Cost c = cost(node.op, plan, node.in, node.out);
      const bool sum = part == FusedStep::sum;
      flops += sum ? 0 : c.flops;
      bytes += sum ? 0 : c.bytes;
      chain["ops"].push_back(op_name(node.op) + part_name(part));
      chain["values"].push_back({{"name", op_label(node) + part_name(part)},
                                 {"flops", sum ? 0 : c.flops},
                                 {"bytes", sum ? 0 : c.bytes},
                                 {"in", describe_values(plan, node.in)},
                                 {"out", describe_values(plan, node.out)}});
      if (const auto* blocks = std::get_if<BlockMatmul>(&node.op))
        chain["values"].back()["blocks"] = describe_blocks(*blocks);
      ++ops;
    };
    for (const FusedGroup& g : l.chains) {
      nlohmann::json chain{{"cut", cut_name(g.cut)}, {"ops", nlohmann::json::array()}};
      for (const FusedNode& n : g.nodes)
        if (runs(n.node)) count(n.node, chain, n.part);
      if (!chain["ops"].empty()) group["chains"].push_back(std::move(chain));
    }
    if (!group["chains"].empty()) {
      const EmittedLaunch& e = sources[static_cast<size_t>(launches_of_chains++)];
      ++launches;
      emitted += !e.source.empty();
      if (e.source.empty()) group["not_emitted"] = e.reason;
      else group["source"] = e.legend + e.source;
    }
    for (const int n : l.alone) {
      if (!runs(n)) continue;
      nlohmann::json chain{{"cut", "whole"}, {"ops", nlohmann::json::array()}};
      count(n, chain, FusedStep::all);
      group["chains"].push_back(std::move(chain));
      ++launches;
    }
    if (ops == 0) continue;
    group["flops"] = flops;
    group["bytes"] = bytes;
    group["floor_us"] = 1e6 * std::max(flops / kFlopsPerSecond, bytes / kBytesPerSecond);
    groups.push_back(std::move(group));
  }
  nlohmann::json views = nlohmann::json::array();  // of other values: nothing runs
  for (size_t n = 0; n < plan.nodes.size(); ++n) {
    const Node& node = plan.nodes[n];
    if (!placed.runs[n])
      views.push_back(
          {{"op", op_name(node.op)}, {"in", describe_values(plan, node.in)}, {"out", describe_values(plan, node.out)}});
  }
  nlohmann::json arena = nlohmann::json::array();  // values of the step: number, byte at which it begins, bytes
  for (size_t v = 0; v < plan.values.size(); ++v) {
    const Slot& s = placed.slots[v];
    const Node* maker = plan.maker(static_cast<Id>(v));
    if (s.where == Slot::activation && maker != nullptr && !is_view(maker->op))
      arena.push_back({v, s.offset, plan.shape(static_cast<Id>(v)).count() * item_bytes(plan.values[v].dtype, 4)});
  }
  // The step is counted by its first and last launch if these are fused, else by a separate launch.
  const bool counts =
      plan.fuse && launches > 1 && std::none_of(fusion.back().alone.begin(), fusion.back().alone.end(), runs);
  return {{"launches", launches + (counts ? 0 : 1)},
          {"emitted", emitted},
          {"groups", groups},
          {"fusion", describe_fusion(plan, fusion, placed)},
          {"views", views},
          {"memory", {{"state_bytes", placed.state_bytes}, {"activation_bytes", placed.activation_bytes}}},
          {"arena", arena},
          {"ceilings",
           {{"bytes_per_second", kBytesPerSecond},
            {"flops_per_second", kFlopsPerSecond},
            {"of", "NVIDIA H200, published"}}}};
}

}  // namespace tessera
