// A fused plan as calls of a device. Owns the launches with their chains and steps.
#pragma once
#include <deque>
#include <string>
#include <vector>

#include "engine/device/device_api.h"
#include "engine/emit/emit.h"
#include "engine/schedule/gpu_fusion.h"

namespace tessera {

class FusedCalls {
 public:
  // `calls`: each node's own call, with an empty kernel if there is no work. `scratch`: bytes those need, followed by
  // those of the slices of products.
  FusedCalls(const Fusion& fusion, const Plan& plan, const FusedKernels& kernels, const std::vector<DeviceCall>& calls,
             int64_t scratch, StepState* state);
  const std::vector<DeviceCall>& calls() const { return calls_; }
  int64_t scratch_bytes() const { return scratch_; }
  bool count_steps() const { return counts_; }  // the calls advance the state themselves
  // Each launch as source; `workspace`: where the scratch is.
  std::vector<EmittedLaunch> emit(const void* workspace) const;

 private:
  struct Piece {  // a chain, or the rest of one
    FusedChain chain;
    std::vector<const FusedNode*> nodes;  // of its steps
    bool divisible() const { return chain.cut == FusedChain::rows || chain.cut == FusedChain::cols; }
    Piece from(int step) const {
      Piece rest{chain, {nodes.begin() + step, nodes.end()}};
      rest.chain.steps += step;
      rest.chain.count -= step;
      return rest;
    }
  };
  FusedStep step(const FusedNode& n, const Call& call);
  void launch(std::vector<FusedChain> chains);
  void add(const FusedLaunch& launch, const std::vector<DeviceCall>& own);
  std::vector<Piece> add(const std::vector<Piece>& pieces, const std::vector<DeviceCall>& own);
  void single(const FusedNode& n, const std::vector<DeviceCall>& own);

  const Plan& plan_;
  const FusedKernels& kernels_;
  int64_t scratch_;
  std::vector<int64_t> slices_;  // by node: where its slices are; −1: nowhere yet
  std::deque<std::vector<FusedStep>> steps_;
  std::deque<std::vector<FusedChain>> chains_;
  std::deque<FusedLaunchOp> ops_;
  std::deque<std::string> names_;  // of launches, for profilers: number and ops
  ViewNames values_;               // of their calls
  std::vector<DeviceCall> calls_;
  bool counts_ = false;
};

}  // namespace tessera
