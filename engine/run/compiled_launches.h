// The fused launches of a program as compiled source: each replaces the interpreter's call once it is ready. Both have
// the same bits, so any step may be the first.
#pragma once
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "engine/device/device.h"
#include "engine/device/device_api.h"
#include "engine/emit/emit.h"
#include "engine/emit/launch_compiler.h"
#include "kernels/fused.h"

namespace tessera {

struct LaunchReport {
  int64_t launches = 0;  // fused ones of a step
  int64_t compiled = 0;  // of them, those that steps run as compiled source
  int64_t waiting = 0;   // of the others, those that are being compiled
  std::string reason;    // of the first one that stays with the interpreter
};

class CompiledLaunches {
 public:
  // `launches`: of the calls that run `fused.kernel`, in their order.
  CompiledLaunches(Device& device, const FusedKernels& fused, std::vector<EmittedLaunch> launches, Compilation how);
  ~CompiledLaunches();  // no recording may hold one of its kernels
  CompiledLaunches(const CompiledLaunches&) = delete;

  // Replaces the calls whose launches became ready since the last time; true: there were some. The replaced calls need
  // this object.
  bool replace(std::vector<DeviceCall>& calls);
  // For another try after a recording failed: none begins early any more. False: none would have.
  bool begin_in_order();
  const LaunchReport& report() const { return report_; }

 private:
  void leave(const std::string& reason);
  void set_early(const std::vector<DeviceCall>& calls);

  Device& device_;
  const FusedKernels& fused_;
  bool early_;
  const std::vector<EmittedLaunch> launches_;
  std::deque<CompiledLaunchOp> ops_;
  std::vector<CompiledLaunchOp*> op_of_;  // by launch; nullptr: it is interpreted
  std::vector<DeviceKernel> kernels_;
  LaunchReport report_;
  std::vector<size_t> positions_;  // of the launches among the calls
  LaunchCompiler compiler_;
};

}  // namespace tessera
