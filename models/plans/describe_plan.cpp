// The description of a training step for `tessera plan`.
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "engine/passes/passes.h"
#include "engine/plan/op_rules.h"
#include "engine/run/footprint.h"
#include "engine/run/precision.h"
#include "engine/run/program.h"
#include "engine/run/roofline.h"
#include "engine/schedule/fusion_data.h"
#include "engine/schedule/placement.h"
#include "models/model/prepared.h"
#include "models/plans/describe_launches.h"
#include "models/plans/describe_ranks.h"
#include "models/training/fit_to_memory.h"

namespace tessera {
namespace {

// A step of the last phase, which takes nearly all of a method's time.
void record_step(Plan& plan, const Method& method, nlohmann::json& json) {
  const std::vector<Phase> phases = method.phases();
  Recorder r(plan);
  method.record_training(r, phases.size() - 1, 1);
  json["phase"] = phases.back().name;
  json["batch"] = phases.back().batch;
}

void plan_of_sequences(Plan& plan, const Prepared& p, nlohmann::json& json) {
  const SequenceEncoder& encoder = p.state.sequences()->encoder;
  record_step(plan, p.method(), json);
  json["of"] = "sequences";
  json["data_width"] = encoder.step_width();
  json["condition_width"] = encoder.attribute_width();
  json["memory"]["table_bytes"] = static_cast<int64_t>(p.sequences.steps.rows * encoder.step_width() * 4);
}

void plan_of_rows(Plan& plan, const Prepared& p, nlohmann::json& json) {
  record_step(plan, p.method(), json);
  json["of"] = "rows";
  json["data_width"] = p.state.rows()->encoder.layout().data_width;
  json["condition_width"] = p.row_method->conditions();
  json["memory"]["table_bytes"] = static_cast<int64_t>(p.rows.codes.size() * 4 + p.rows.alphas.size() * 4);
}

// The recomputed values, with the bytes saved and the FLOPs added.
nlohmann::json describe_recompute(Plan& plan, const States& carried, const FitOptions& options, const Team& team) {
  const Device& here = Device::processor();
  const int64_t left = memory_left(plan, here, team, beside_step(plan, here, carried, options));
  const RecomputeReport r =
      recompute_within(left, plan, here, options, {options.passes_off.begin(), options.passes_off.end()}, team.size());
  nlohmann::json json{{"bytes_before", r.bytes_before},
                      {"bytes_after", r.bytes_after},
                      {"flops_before", r.flops_before},
                      {"flops_after", r.flops_after},
                      {"values", nlohmann::json::array()}};
  for (const Recomputed& v : r.values)
    json["values"].push_back(
        {{"value", v.what}, {"shape", {v.shape.rows, v.shape.cols}}, {"bytes", v.bytes}, {"flops", v.flops}});
  return json;
}

void describe_type(nlohmann::json& op, const FactorType& type) {
  op["reads"] = name_of(type.precision);
  op["why"] = type.why;
}

nlohmann::json describe_op(const Plan& plan, const Node& node, const Cost& c, const Ceilings& ceilings) {
  nlohmann::json op{{"op", op_name(node.op)},
                    {"flops", c.flops},
                    {"bytes", c.bytes},
                    {"floor_us", 1e6 * ceilings.floor(c)},
                    {"in", nlohmann::json::array()},
                    {"out", nlohmann::json::array()}};
  describe_type(op, factor_type(plan, node));
  const auto value = [&](Id v) {
    nlohmann::json of{plan.shape(v).rows, plan.shape(v).cols};
    if (const Precision stored = stored_as(plan[v].dtype); stored != Precision::fp32) of.push_back(name_of(stored));
    return of;
  };
  for (const Id v : node.in)
    if (v != kNone) op["in"].push_back(value(v));
  for (const Id v : node.out) {
    op["out"].push_back(value(v));
    if (auto name = plan.names.find(v); name != plan.names.end() && !op.contains("name")) op["name"] = name->second;
  }
  return op;
}

nlohmann::json describe_chain(const Plan& plan, const Placement& placed, const RowChain& c, int threads) {
  const int64_t rows = c.tiles ? kSequenceTile : block_rows(plan, c.rows, threads);  // of a block
  nlohmann::json chain{{"rows", c.tiles ? c.rows * kSequenceTile : c.rows},
                       {"block_rows", rows},
                       {"block_bytes", c.row_bytes * (c.tiles ? 1 : rows)},
                       {"ops", nlohmann::json::array()}};
  for (const int n : c.nodes)
    if (placed.runs[static_cast<size_t>(n)]) chain["ops"].push_back(op_name(plan.nodes[static_cast<size_t>(n)].op));
  return chain;
}

}  // namespace

nlohmann::json describe_plan(Table&& table, const FitOptions& options, Team& team, const Monitor& monitor) {
  Plan plan;
  plan.precision = choose_precision(options.precision, Device::processor()).precision;
  nlohmann::json json;
  json["method"] = options.method;
  json["preset"] = options.preset;
  States carried;
  {
    const auto prepared = prepare(std::move(table), options, team, monitor);
    (prepared->sequence_method ? plan_of_sequences : plan_of_rows)(plan, *prepared, json);
    carried = prepared->method().start(options.seed);
    for (size_t i = 0; i < prepared->method().phases().size(); ++i) prepared->method().enter(i, carried);
  }
  const bool several = options.ranks.threads > 1;
  const Plan recorded = several ? plan : Plan();
  const std::set<std::string> off(options.passes_off.begin(), options.passes_off.end());
  json["recorded_ops"] = plan.nodes.size();
  json["precision"] = name_of(plan.precision);
  json["passes"] = nlohmann::json::array();
  for (const PassReport& p : optimize(plan, off)) {
    std::string what;
    for (const PassInfo& info : passes())
      if (p.pass == info.name) what = info.what;
    json["passes"].push_back({{"pass", p.pass},
                              {"what", what},
                              {"ops_before", p.nodes_before},
                              {"ops_after", p.nodes_after},
                              {"flops_before", p.flops_before},
                              {"flops_after", p.flops_after},
                              {"change", p.change}});
  }
  const Plan whole = several ? plan : Plan();  // before recomputation changes it
  json["recompute"] = describe_recompute(plan, carried, options, team);
  Plan on_device = plan;
  if (!options.fusion.empty()) use_fusion(on_device, options.fusion);
  const Layout layout = arrange(plan, Device::processor(), cpu_kernels(), wanted(off, "liveness")).layout;
  const Placement& placed = layout.placement;
  json["memory"].update({{"state_bytes", placed.state_bytes},
                         {"activation_bytes", placed.activation_bytes},
                         {"without_reuse_bytes", placed.unplaced_bytes}});
  json["barriers"] = placed.phases.size();
  json["row_chains"] = nlohmann::json::array();
  for (const RowChain& c : layout.chains.chains)
    json["row_chains"].push_back(describe_chain(plan, placed, c, team.size()));
  const Ceilings ceilings = measure_ceilings(team, placed.state_bytes + placed.activation_bytes);
  json["ceilings"] = {{"bytes_per_second", ceilings.bytes_per_second},
                      {"flops_per_second", ceilings.flops_per_second},
                      {"threads", team.size()}};
  json["ops"] = nlohmann::json::array();
  double flops = 0, bytes = 0, floor_us = 0;
  int64_t launches = 0;
  for (size_t n = 0; n < plan.nodes.size(); ++n) {
    const Node& node = plan.nodes[n];
    if (!placed.runs[n]) continue;
    const Cost c = cost(node.op, plan, node.in, node.out);
    flops += c.flops;
    bytes += c.bytes;
    floor_us += 1e6 * ceilings.floor(c);
    ++launches;
    json["ops"].push_back(describe_op(plan, node, c, ceilings));
  }
  json["launches"] = launches;
  json["flops"] = flops;
  json["bytes"] = bytes;
  json["floor_us"] = floor_us;
  json["kernels"] = cpu_kernels().name;
  if (several) {
    const int ranks = options.ranks.threads, shards = options.ranks.shards;
    json["ranks"] = describe_ranks(whole, ranks, shards, ceilings);
    json["ranks_by_columns"] = describe_column_ranks(whole, recorded, off, ranks, shards, ceilings);
  }
  json["cuda"] = describe_launches(on_device);
  return json;
}

}  // namespace tessera
