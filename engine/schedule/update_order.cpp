#include "engine/schedule/update_order.h"

#include <algorithm>
#include <set>
#include <variant>

#include "engine/schedule/levels.h"

namespace tessera {
namespace {

constexpr int kNoSet = -1;

// By node: which update its results are computed for, and nothing else; the update too.
class Sets {
 public:
  Sets(const Plan& plan, const RowChains& chains) : plan_(plan), of_(plan.nodes.size(), kNoSet) {
    std::vector<std::vector<size_t>> readers(plan.values.size());
    for (size_t n = 0; n < plan.nodes.size(); ++n)
      for (const Id v : plan.nodes[n].in)
        if (v != kNone) readers[static_cast<size_t>(v)].push_back(n);
    for (size_t n = plan.nodes.size(); n-- > 0;) {
      const Node& x = plan.nodes[n];
      if (chains.chain_of[n] >= 0) continue;
      if (std::holds_alternative<Adam>(x.op)) of_[n] = static_cast<int>(updates_.size()), updates_.push_back(n);
      else if (in_place(x.op) == 0) of_[n] = set_of_readers(x, readers);
    }
  }
  int of(int node) const { return of_[static_cast<size_t>(node)]; }
  const std::vector<size_t>& updates() const { return updates_; }
  int64_t size(size_t set) const { return plan_.shape(plan_.nodes[updates_[set]].in[0]).count(); }

  // Whether a gradient reads a state that any of the updates overwrites.
  bool reads_states() const {
    const Levels levels(plan_);
    std::set<Id> overwritten;
    for (const size_t n : updates_)
      for (int k = 0; k < in_place(plan_.nodes[n].op); ++k)
        overwritten.insert(levels.extent(plan_.nodes[n].in[static_cast<size_t>(k)]).root);
    for (size_t n = 0; n < of_.size(); ++n) {
      const Node& x = plan_.nodes[n];
      if (of_[n] == kNoSet || in_place(x.op) > 0) continue;
      for (const Id v : x.in)
        if (v != kNone && overwritten.count(levels.extent(v).root) != 0) return true;
    }
    return false;
  }

 private:
  int set_of_readers(const Node& x, const std::vector<std::vector<size_t>>& readers) const {
    int set = kNoSet;
    for (const Id v : x.out) {
      if (std::find(plan_.outputs.begin(), plan_.outputs.end(), v) != plan_.outputs.end()) return kNoSet;
      for (const size_t n : readers[static_cast<size_t>(v)]) {
        if (of_[n] == kNoSet || (set != kNoSet && of_[n] != set)) return kNoSet;
        set = of_[n];
      }
    }
    return set;
  }

  const Plan& plan_;
  std::vector<int> of_;
  std::vector<size_t> updates_;
};

}  // namespace

std::vector<std::vector<int>> updates_in_turn(const Plan& plan, const RowChains& chains) {
  // Recomputed values wait for others by phases.
  if (std::any_of(plan.nodes.begin(), plan.nodes.end(), [](const Node& x) { return !x.after.empty(); })) return {};
  const Sets sets(plan, chains);
  if (sets.updates().size() < 2) return {};
  // All updates are in one phase, so before it no op reads an updated state, and all gradients are computed.
  const auto updates = std::find_if(chains.phases.begin(), chains.phases.end(), [&](const std::vector<int>& phase) {
    return std::any_of(phase.begin(), phase.end(), [&](int n) { return n == static_cast<int>(sets.updates()[0]); });
  });
  for (const size_t n : sets.updates())
    if (updates == chains.phases.end() || std::find(updates->begin(), updates->end(), n) == updates->end()) return {};
  if (sets.reads_states()) return {};

  std::vector<size_t> order;
  for (size_t s = 0; s < sets.updates().size(); ++s) order.push_back(s);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return sets.size(a) < sets.size(b); });
  std::vector<std::vector<int>> phases;
  const auto take = [&](const std::vector<int>& phase, int set) {
    std::vector<int> nodes;
    std::copy_if(phase.begin(), phase.end(), std::back_inserter(nodes), [&](int n) { return sets.of(n) == set; });
    if (!nodes.empty()) phases.push_back(std::move(nodes));
  };
  for (auto p = chains.phases.begin(); p <= updates; ++p) take(*p, kNoSet);
  for (const size_t set : order)
    for (auto p = chains.phases.begin(); p <= updates; ++p) take(*p, static_cast<int>(set));
  phases.insert(phases.end(), updates + 1, chains.phases.end());
  return phases;
}

}  // namespace tessera
