#include "engine/schedule/fusion_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text/json_guard.h"
#include "engine/plan/op_rules.h"
#include "engine/schedule/split_optimizer.h"

namespace tessera {
namespace {

const std::array<std::string, 4> kCuts = {"rows", "columns", "elements", "tiles"};  // FusedChain::Cut
const std::array<std::string, 3> kParts = {"", " (slices)", " (sum of slices)"};    // FusedStep::Part

class FusionReader {
 public:
  explicit FusionReader(const Plan& plan) {
    for (size_t n = 0; n < plan.nodes.size(); ++n) nodes_[op_label(plan.nodes[n])] = static_cast<int>(n);
  }
  Fusion read(const nlohmann::json& json) {
    Fusion fusion;
    for (const nlohmann::json& launch : list(json, "launches")) {
      ++launch_;
      FusedLaunch& l = fusion.emplace_back();
      for (const nlohmann::json& chain : list(launch, "chains")) {
        const std::string cut = chain.is_object() ? text(chain.value("cut", nlohmann::json())) : "";
        const auto known = std::find(kCuts.begin(), kCuts.end(), cut);
        if (known == kCuts.end())
          fail(fmt::format("\"cut\": \"{}\"", cut), fmt::format("Known are {}", fmt::join(kCuts, ", ")));
        FusedGroup& g = l.chains.emplace_back();
        g.cut = static_cast<FusedChain::Cut>(known - kCuts.begin());
        for (const nlohmann::json& op : list(chain, "ops")) g.nodes.push_back(step(text(op)));
      }
      if (launch.contains("alone"))
        for (const nlohmann::json& op : list(launch, "alone")) l.alone.push_back(step(text(op)).node);
    }
    return fusion;
  }

 private:
  [[noreturn]] void fail(const std::string& what, const std::string& remedy) const {
    throw Error(ErrorCode::usage, fmt::format("Fusion: {}{}.\n  {}.",
                                              launch_ > 0 ? fmt::format("launch {}: ", launch_) : "", what, remedy));
  }
  const nlohmann::json& list(const nlohmann::json& in, const char* key) const {
    if (!in.is_object() || !in.contains(key) || !in[key].is_array())
      fail(fmt::format("there is no list \"{}\"", key), "The JSON of a plan has one, \"fusion\"");
    return in[key];
  }
  std::string text(const nlohmann::json& json) const {
    return json.is_string() ? json.get<std::string>() : json.dump();
  }
  FusedNode step(std::string name) const {
    FusedStep::Part part = FusedStep::all;
    for (const auto p : {FusedStep::slices, FusedStep::sum})
      if (name.ends_with(kParts[p])) part = p, name.resize(name.size() - kParts[p].size());
    const auto found = nodes_.find(name);
    if (found == nodes_.end())
      fail(fmt::format("the step has no op \"{}\"", name),
           "Use the file with the table and options it was written for");
    return {found->second, part, 0, 0};
  }

  std::map<std::string, int> nodes_;
  int launch_ = 0;
};

}  // namespace

std::string op_label(const Node& x) { return fmt::format("{}_{}", op_name(x.op), x.out[0]); }
const std::string& cut_name(FusedChain::Cut cut) { return kCuts[static_cast<size_t>(cut)]; }
const std::string& part_name(FusedStep::Part part) { return kParts[static_cast<size_t>(part)]; }

nlohmann::json describe_fusion(const Plan& plan, const Fusion& fusion, const Placement& placed) {
  nlohmann::json launches = nlohmann::json::array();
  const auto add = [&](nlohmann::json& to, int n, FusedStep::Part part) {
    const Node& x = plan.nodes[static_cast<size_t>(n)];
    if (!is_view(x.op) || placed.runs[static_cast<size_t>(n)]) to.push_back(op_label(x) + part_name(part));
  };
  for (const FusedLaunch& l : fusion) {
    nlohmann::json launch{{"chains", nlohmann::json::array()}, {"alone", nlohmann::json::array()}};
    for (const FusedGroup& g : l.chains) {
      nlohmann::json ops = nlohmann::json::array();
      for (const FusedNode& n : g.nodes) add(ops, n.node, n.part);
      if (!ops.empty()) launch["chains"].push_back({{"cut", cut_name(g.cut)}, {"ops", ops}});
    }
    for (const int n : l.alone) add(launch["alone"], n, FusedStep::all);
    launches.push_back(std::move(launch));
  }
  return {{"launches", launches}};
}

void use_fusion(Plan& plan, const std::string& json) {
  if (!plan.fuse) throw Error(ErrorCode::usage, "`fusion` needs the pass \"fuse\".\n  Omit it from `passes_off`.");
  split_updates(plan);
  nlohmann::json data;
  try {
    data = parse_json(json, 8, "Fusion");
  } catch (const Error&) {
    throw Error(ErrorCode::usage, "Fusion: the text is not valid JSON.\n  Take the fusion of a plan, and edit that.");
  }
  plan.fusion = std::make_shared<const Fusion>(FusionReader(plan).read(data));
  (void)build_launches(plan, *plan.fusion);
}

}  // namespace tessera
