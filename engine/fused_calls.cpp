#include "engine/fused_calls.h"

namespace tessera {
namespace {

constexpr const char* kNames[] = {  // by OpKind
#define TESSERA_NAME(type, field) #field,
    TESSERA_OPS(TESSERA_NAME)
#undef TESSERA_NAME
};

}  // namespace

FusedCalls::FusedCalls(const Fusion& fusion, const Plan& plan, const FusedKernels& kernels, const std::vector<DeviceCall>& calls, int64_t scratch, StepState* state)
    : plan_(plan), kernels_(kernels), scratch_((scratch + 255) / 256 * 256), slices_(plan.nodes.size(), -1) {
  for (const FusedLaunch& launch : fusion) add(launch, calls);
  const auto is_fused = [&](const DeviceCall& c) { return c.kernel.run == kernels.kernel.run; };
  counts_ = calls_.size() > 1 && is_fused(calls_.front()) && is_fused(calls_.back());
  if (!counts_) return;
  ops_.front().first = true;
  ops_.back().last = true;
  ops_.front().state = ops_.back().state = state;
}

void FusedCalls::add(const FusedLaunch& launch, const std::vector<DeviceCall>& own) {
  std::vector<FusedChain> chains;
  std::vector<const FusedGroup*> groups;
  for (const FusedGroup& g : launch.chains) {
    std::vector<FusedStep> steps;
    for (const FusedNode& n : g.nodes) {
      const auto node = static_cast<size_t>(n.node);
      const DeviceCall& c = own[node];
      if (c.kernel.run == nullptr) continue;
      if (n.part == FusedStep::slices) {
        slices_[node] = scratch_;
        scratch_ += (kernels_.slices_bytes(c.call) + 255) / 256 * 256;
      }
      steps.push_back(step(n, c.call));
    }
    if (steps.empty()) continue;
    steps_.push_back(std::move(steps));
    chains.push_back({g.cut, g.units, g.parts, g.width, steps_.back().data(), static_cast<int>(steps_.back().size())});
    groups.push_back(&g);
  }
  add(std::move(chains), groups, own);
  for (const int n : launch.alone)
    if (own[static_cast<size_t>(n)].kernel.run != nullptr) calls_.push_back(own[static_cast<size_t>(n)]);
}

FusedStep FusedCalls::step(const FusedNode& n, const Call& call) const {
  const auto node = static_cast<size_t>(n.node);
  return {static_cast<OpKind>(plan_.nodes[node].op.index() - 1), call, n.run, n.apart, n.part, slices_[node]};
}

void FusedCalls::launch(std::vector<FusedChain> chains) {
  names_.push_back("fused " + std::to_string(ops_.size() + 1) + ":");
  for (const FusedChain& c : chains)
    for (int i = 0; i < c.count; ++i) names_.back() += std::string(i > 0 || &c == chains.data() ? " " : " | ") + kNames[static_cast<size_t>(c.steps[i].kind)];
  chains_.push_back(std::move(chains));
  ops_.push_back({chains_.back().data(), static_cast<int>(chains_.back().size())});
  calls_.push_back({kernels_.kernel, {nullptr, nullptr, 0, 0, &ops_.back(), nullptr}, names_.back().c_str()});
}

// One launch, or as many as it takes: chains do not know of each other. A chain that is too long for any is done op by op.
void FusedCalls::add(std::vector<FusedChain> chains, const std::vector<const FusedGroup*>& groups, const std::vector<DeviceCall>& own) {
  if (chains.empty()) return;
  const int count = static_cast<int>(chains.size());
  if (kernels_.fits({chains.data(), count})) {
    launch(std::move(chains));
    return;
  }
  if (count > 1) {
    const auto half = static_cast<std::ptrdiff_t>(count / 2);
    add({chains.begin(), chains.begin() + half}, {groups.begin(), groups.begin() + half}, own);
    add({chains.begin() + half, chains.end()}, {groups.begin() + half, groups.end()}, own);
    return;
  }
  for (size_t i = 0; i < groups[0]->nodes.size(); ++i) {
    const FusedNode& n = groups[0]->nodes[i];
    const DeviceCall& c = own[static_cast<size_t>(n.node)];
    if (c.kernel.run == nullptr) continue;
    if (n.part != FusedStep::slices) {
      calls_.push_back(c);
      continue;
    }
    // A later launch counts on the slices, so they are made, by tiles; where not even they fit, that launch does not either.
    steps_.push_back({step(n, c.call)});
    const FusedChain slices{FusedChain::tiles, 0, 0, 0, steps_.back().data(), 1};
    if (kernels_.fits({&slices, 1})) launch({slices});
  }
}

}  // namespace tessera
