#include "models/describe_ranks.h"

#include <nlohmann/json.hpp>
#include <set>
#include <variant>

#include "engine/comm/communicator.h"
#include "engine/passes/batch/shard.h"
#include "engine/plan/op_rules.h"
#include "models/describe_launches.h"
#include "models/training/ranks.h"

namespace tessera {
namespace {

// Where a batch has fewer parts than shards, the reason instead.
nlohmann::json describe_rank(Plan plan, int ranks, int shards, const Ceilings& here) {
  nlohmann::json json{{"ranks", ranks}, {"shards", ranks == 1 ? 1 : shards}};
  static const SelfCommunicator unused;  // a plan of several ranks needs wires, which are not used before it runs
  Plan on_device = plan;
  try {
    if (ranks > 1) shard(plan, {shards, ranks, 0, unused.wires()});
    if (ranks > 1) shard(on_device, {shards, ranks, 0, unused.wires(), true});
  } catch (const Error& e) {
    if (e.code() != ErrorCode::usage) throw;
    json["refused"] = e.what();
    return json;
  }
  json["exchanges"] = nlohmann::json::array();
  double floor = 0;
  for (const Node& node : plan.nodes) {
    floor += here.floor(cost(node.op, plan, node.in, node.out));
    if (std::holds_alternative<AllGather>(node.op))
      json["exchanges"].push_back(plan.shape(node.in[1]).count() * static_cast<int64_t>(sizeof(float)));
  }
  json["floor_us"] = 1e6 * floor;
  const nlohmann::json cuda = describe_launches(std::move(on_device));
  double cuda_floor = 0;
  for (const nlohmann::json& group : cuda["groups"]) cuda_floor += group["floor_us"].get<double>();
  json["cuda"] = {{"floor_us", cuda_floor}, {"launches", cuda["launches"]}};
  return json;
}

}  // namespace

nlohmann::json describe_ranks(const Plan& plan, int ranks, int shards, const Ceilings& here) {
  std::set<int> sizes{ranks};
  for (int n = 1; n <= kMostRanks; n *= 2) sizes.insert(n);
  nlohmann::json all = nlohmann::json::array();
  for (const int n : sizes) {
    if (shards > 0 && shards % n != 0) continue;
    all.push_back(describe_rank(plan, n, shards > 0 ? shards : usual_shards(n), here));
  }
  return all;
}

}  // namespace tessera
