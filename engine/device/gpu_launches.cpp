#include "engine/device/gpu_launches.h"

#include <cctype>

#include "engine/plan/op_rules.h"

namespace tessera {

FusedCalls::FusedCalls(const Fusion& fusion, const Plan& plan, const FusedKernels& kernels,
                       const std::vector<DeviceCall>& calls, int64_t scratch, StepState* state)
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
  std::vector<Piece> pieces;
  for (const FusedGroup& g : launch.chains) {
    std::vector<FusedStep> steps;
    std::vector<const FusedNode*> nodes;
    for (const FusedNode& n : g.nodes) {
      const auto node = static_cast<size_t>(n.node);
      const DeviceCall& c = own[node];
      if (c.kernel.run == nullptr) continue;
      if (n.part == FusedStep::slices) {
        slices_[node] = scratch_;
        scratch_ += (kernels_.slices_bytes(c.call) + 255) / 256 * 256;
      }
      steps.push_back(step(n, c.call));
      nodes.push_back(&n);
    }
    if (steps.empty()) continue;
    steps_.push_back(std::move(steps));
    pieces.push_back(
        {{g.cut, g.units, steps_.back().data(), static_cast<int>(steps_.back().size())}, std::move(nodes)});
  }
  while (!pieces.empty()) pieces = add(pieces, own);
  for (const int n : launch.alone)
    if (own[static_cast<size_t>(n)].kernel.run != nullptr) calls_.push_back(own[static_cast<size_t>(n)]);
}

// "generator_w0_12": a value by its name, or by the op that computes it, and its number.
static std::string readable_name(const Plan& plan, Id v) {
  const Value& value = plan[v];
  std::string name = value.node >= 0 ? op_name(plan.nodes[static_cast<size_t>(value.node)].op) : "given";
  if (const auto named = plan.names.find(v); named != plan.names.end()) name = named->second;
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  if (name.empty() || !std::isalpha(static_cast<unsigned char>(name[0]))) name = "v" + name;
  return name + "_" + std::to_string(v);
}

std::vector<EmittedLaunch> FusedCalls::emit(const void* workspace) const {
  std::vector<EmittedLaunch> all;
  const FusedLaunchOp* before = counts_ ? &ops_.back() : nullptr;  // else something runs between two steps
  for (const DeviceCall& c : calls_) {
    const bool fused = c.kernel.run == kernels_.kernel.run;
    const auto* op = fused ? static_cast<const FusedLaunchOp*>(c.call.op) : nullptr;
    if (fused) all.push_back(emit_launch(*op, workspace, emitted_name(all.size()), values_, before));
    before = op;
  }
  return all;
}

FusedStep FusedCalls::step(const FusedNode& n, const Call& call) {
  const auto node = static_cast<size_t>(n.node);
  for (int i = 0; i < call.inputs; ++i)
    if (const Id v = plan_.nodes[node].in[static_cast<size_t>(i)]; v != kNone)
      values_[&call.in[i]] = readable_name(plan_, v);
  for (int i = 0; i < call.outputs; ++i)
    values_[&call.out[i]] = readable_name(plan_, plan_.nodes[node].out[static_cast<size_t>(i)]);
  return {static_cast<OpKind>(plan_.nodes[node].op.index() - 1), call, n.run, n.stride, n.part, slices_[node]};
}

void FusedCalls::launch(std::vector<FusedChain> chains) {
  names_.push_back("fused " + std::to_string(ops_.size() + 1) + ":");
  for (const FusedChain& c : chains)
    for (int i = 0; i < c.count; ++i)
      names_.back() +=
          std::string(i > 0 || &c == chains.data() ? " " : " | ") + op_name(static_cast<size_t>(c.steps[i].kind));
  chains_.push_back(std::move(chains));
  ops_.push_back({chains_.back().data(), static_cast<int>(chains_.back().size())});
  calls_.push_back({kernels_.kernel, {nullptr, nullptr, 0, 0, &ops_.back(), nullptr}, names_.back().c_str()});
}

// Adds as much as one launch holds; returns the rest. Chains are independent, so each may be in any launch. A long
// chain by rows or columns continues in the next launch, because its results are in memory. If another chain, or a
// step, fits into no launch, each of its ops gets its own launch.
std::vector<FusedCalls::Piece> FusedCalls::add(const std::vector<Piece>& pieces, const std::vector<DeviceCall>& own) {
  std::vector<FusedChain> now;
  std::vector<Piece> later;
  const auto holds = [&](const FusedChain& chain, int steps) {
    now.push_back(chain);
    now.back().count = steps;
    const bool fits = kernels_.fits({now.data(), static_cast<int>(now.size())});
    if (!fits) now.pop_back();
    return fits;
  };
  for (const Piece& piece : pieces) {
    if (holds(piece.chain, piece.chain.count)) continue;
    int held = 0, beyond = piece.chain.count;  // the number of its steps that fit, and of those that do not
    if (piece.divisible())
      while (beyond - held > 1) {
        const int middle = (held + beyond) / 2;
        if (holds(piece.chain, middle)) held = middle, now.pop_back();
        else beyond = middle;
      }
    if (held > 0) holds(piece.chain, held);
    later.push_back(piece.from(held));
  }
  if (!now.empty()) {
    launch(std::move(now));
    return later;
  }
  const Piece first = later.front();
  const int alone = first.divisible() ? 1 : first.chain.count;
  for (int i = 0; i < alone; ++i) single(*first.nodes[static_cast<size_t>(i)], own);
  if (alone < first.chain.count) later.front() = first.from(alone);
  else later.erase(later.begin());
  return later;
}

void FusedCalls::single(const FusedNode& n, const std::vector<DeviceCall>& own) {
  const DeviceCall& c = own[static_cast<size_t>(n.node)];
  if (n.part != FusedStep::slices) {
    calls_.push_back(c);
    return;
  }
  // A later launch needs the slices, so they are computed by tiles; if even they do not fit, neither does that launch.
  steps_.push_back({step(n, c.call)});
  const FusedChain slices{FusedChain::tiles, 0, steps_.back().data(), 1};
  if (kernels_.fits({&slices, 1})) launch({slices});
}

}  // namespace tessera
