#include "engine/run/compiled_launches.h"

#include <utility>

namespace tessera {
namespace {

std::vector<std::string> sources_of(const std::vector<EmittedLaunch>& launches) {
  std::vector<std::string> sources;
  for (const EmittedLaunch& l : launches) sources.push_back(l.source);
  return sources;
}

std::vector<EmittedLaunch> without_source(std::vector<EmittedLaunch> launches, const std::string& reason) {
  for (EmittedLaunch& l : launches) l.source.clear(), l.reason = reason;
  return launches;
}

DeviceInfo info_of(Device& device) {
  DeviceInfo info{};
  device.check(device.api().describe(device.number(), &info));
  return info;
}
// The machine code that the GPU runs: NVRTC's name of its compute capability.
std::string architecture_of(const DeviceInfo& info) {
  return "sm_" + std::to_string(info.major) + std::to_string(info.minor);
}

// CUDA 12.3 was the first whose graphs, in which launches are recorded, know that one begins early.
constexpr int kRecordsEarly = 12030;

bool can_begin_early(Device& device) {
  int driver = 0, runtime = 0;
  device.check(device.api().versions(&driver, &runtime));
  return info_of(device).major >= 9 && driver >= kRecordsEarly && runtime >= kRecordsEarly;
}

}  // namespace

CompiledLaunches::CompiledLaunches(Device& device, const FusedKernels& fused, std::vector<EmittedLaunch> launches,
                                   Compilation how)
    : device_(device),
      fused_(fused),
      early_(how.early && can_begin_early(device)),
      launches_(how.unavailable.empty() ? std::move(launches) : without_source(std::move(launches), how.unavailable)),
      compiler_(sources_of(launches_), architecture_of(info_of(device)), std::move(how)) {
  for (const EmittedLaunch& l : launches_) {
    ++report_.launches;
    if (!l.source.empty()) ++report_.waiting;
    else leave(l.reason);
  }
}

CompiledLaunches::~CompiledLaunches() {
  for (const DeviceKernel& k : kernels_) device_.api().unload(device_.session(), &k);
}

void CompiledLaunches::leave(const std::string& reason) {
  if (report_.reason.empty()) report_.reason = reason.substr(0, reason.find('\n'));
}

bool CompiledLaunches::replace(std::vector<DeviceCall>& calls) {
  if (positions_.empty())
    for (size_t i = 0; i < calls.size(); ++i)
      if (calls[i].kernel.run == fused_.kernel.run) positions_.push_back(i);
  op_of_.resize(positions_.size());
  bool any = false;
  for (const LaunchCompiler::Result& ready : compiler_.take()) {
    --report_.waiting;
    DeviceKernel kernel;
    const std::string name = emitted_name(ready.launch);
    if (ready.made.image.empty()) {
      leave(name + ": " + ready.made.log);
    } else if (device_.api().load(device_.session(), ready.made.image.c_str(), name.c_str(), &kernel) !=
               DeviceStatus::ok) {
      leave(device_.api().message());
    } else {
      kernels_.push_back(kernel);
      const EmittedLaunch& launch = launches_[ready.launch];
      ops_.push_back({kernel.function, launch.parameters.data(), launch.blocks});
      op_of_[ready.launch] = &ops_.back();
      DeviceCall& call = calls[positions_[ready.launch]];
      call.kernel = fused_.compiled;
      call.call.op = &ops_.back();
      ++report_.compiled, any = true;
    }
  }
  if (any) set_early(calls);
  return any;
}

// One begins early if the call before it, in its step or at the end of the one before, is compiled too: only those let
// the next one begin.
void CompiledLaunches::set_early(const std::vector<DeviceCall>& calls) {
  const auto compiled = [&](size_t call) { return calls[call].kernel.run == fused_.compiled.run; };
  for (size_t i = 0; i < op_of_.size(); ++i)
    if (const size_t at = positions_[i]; op_of_[i] != nullptr)
      op_of_[i]->early = early_ && calls.size() > 1 && compiled(at > 0 ? at - 1 : calls.size() - 1);
}

bool CompiledLaunches::begin_in_order() {
  for (CompiledLaunchOp& op : ops_) op.early = false;
  return std::exchange(early_, false);
}

}  // namespace tessera
