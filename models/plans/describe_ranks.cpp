#include "models/plans/describe_ranks.h"

#include <functional>
#include <nlohmann/json.hpp>
#include <variant>

#include "engine/comm/communicator.h"
#include "engine/passes/batch/shard.h"
#include "engine/plan/op_rules.h"
#include "models/plans/describe_launches.h"
#include "models/training/fit_to_memory.h"
#include "models/training/ranks.h"

namespace tessera {
namespace {

// The plan of one of several ranks; Error(usage): there are fewer parts than shards.
using RankPlan = std::function<Plan(const RankCut& cut)>;

// `on_device`: the part as a GPU runs it.
void describe_part(nlohmann::json& json, const Plan& plan, Plan on_device, const Ceilings& here) {
  json["exchanges"] = nlohmann::json::array();
  double floor = 0;
  for (const Node& node : plan.nodes) {
    floor += here.floor(cost(node.op, plan, node.in, node.out));
    if (is_exchange(node.op))
      json["exchanges"].push_back(sent_numbers(plan, node) * static_cast<int64_t>(sizeof(float)));
  }
  json["floor_us"] = 1e6 * floor;
  int64_t state = 0;
  for (const Leaf& leaf : plan.leaves)
    if (leaf.kind == Leaf::state) state += plan.shape(leaf.value).count() * static_cast<int64_t>(sizeof(float));
  json["state_bytes"] = state;
  const nlohmann::json cuda = describe_launches(std::move(on_device));
  double cuda_floor = 0;
  for (const nlohmann::json& group : cuda["groups"]) cuda_floor += group["floor_us"].get<double>();
  json["cuda"] = {{"floor_us", cuda_floor}, {"launches", cuda["launches"]}};
}

// `usual`: the default number of shards for a number of ranks.
nlohmann::json describe_numbers(const Plan& whole, const RankPlan& part, int ranks, int shards, int (*usual)(int),
                                const Ceilings& here) {
  static const SelfCommunicator unused;  // a plan of several ranks needs wires, which are unused until it runs
  std::set<int> sizes{ranks};
  for (int n = 1; n <= kMaxRanks; n *= 2) sizes.insert(n);
  nlohmann::json all = nlohmann::json::array();
  for (const int n : sizes) {
    if (shards > 0 && shards % n != 0) continue;
    const int parts = n == 1 ? 1 : shards > 0 ? shards : usual(n);
    nlohmann::json json{{"ranks", n}, {"shards", parts}};
    try {
      RankCut cut{parts, n, 0, unused.wires()}, on_device = cut;
      on_device.apart = true;
      describe_part(json, n == 1 ? whole : part(cut), n == 1 ? whole : part(on_device), here);
    } catch (const Error& e) {
      if (e.code() != ErrorCode::usage) throw;
      json["refused"] = e.what();
    }
    all.push_back(std::move(json));
  }
  return all;
}

}  // namespace

nlohmann::json describe_ranks(const Plan& plan, int ranks, int shards, const Ceilings& here) {
  const RankPlan part = [&](const RankCut& cut) {
    Plan own = plan;
    (void)shard(own, cut);
    return own;
  };
  return describe_numbers(plan, part, ranks, shards, usual_shards, here);
}

nlohmann::json describe_column_ranks(const Plan& plan, const Plan& recorded, const std::set<std::string>& passes_off,
                                     int ranks, int shards, const Ceilings& here) {
  const RankPlan part = [&](const RankCut& cut) {
    Plan own = recorded;
    (void)cut_and_optimize(own, cut, passes_off);
    return own;
  };
  try {
    return describe_numbers(
        plan, part, ranks, shards, [](int n) { return n; }, here);
  } catch (const Error& e) {
    if (e.code() != ErrorCode::unsupported) throw;
    return nlohmann::json::array();
  }
}

}  // namespace tessera
