#include "engine/passes.h"

#include "engine/error.h"
#include "engine/passes/rewrite.h"

namespace tessera {

const std::vector<PassInfo>& passes() {
  static const std::vector<PassInfo> all = {
      {"dead", "what reaches no weight, state or output is not computed", drop_dead},
  };
  return all;
}

namespace {

double flops(const Plan& plan) {
  double sum = 0;
  for (const Node& n : plan.nodes) sum += cost(n.op, plan, n.in, n.out).flops;
  return sum;
}

}  // namespace

std::vector<PassReport> optimise(Plan& plan, const std::set<std::string>& off) {
  for (const std::string& name : off) {
    bool known = name == "all";
    for (const PassInfo& p : passes()) known = known || name == p.name;
    if (known) continue;
    std::string list;
    for (const PassInfo& p : passes()) list += std::string(list.empty() ? "" : ", ") + p.name;
    throw Error(ErrorCode::usage, "there is no pass \"" + name + "\". Passes: " + list + " (all: every one).");
  }
  std::vector<PassReport> reports;
  for (const PassInfo& p : passes()) {
    if (off.count(p.name) != 0 || off.count("all") != 0) continue;
    PassReport r{p.name, plan.nodes.size(), 0, flops(plan), 0};
    p.run(plan);
    r.nodes_after = plan.nodes.size();
    r.flops_after = flops(plan);
    reports.push_back(r);
  }
  schedule(plan);
  return reports;
}

}  // namespace tessera
