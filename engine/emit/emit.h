// A fused launch as CUDA source: one kernel, its structure in the code, sizes and addresses in its parameters. The code
// calls the device functions of kernels/gpu/bodies, as the interpreter (kernels/gpu/fused/fused.cu) does, and keeps the
// values of adjacent elementwise ops in registers, so its bits are the interpreter's.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "kernels/fused.h"

namespace tessera {

constexpr int64_t kMaxParameterBytes = 512;
struct EmittedLaunch {
  std::string source;  // empty: it stays with the interpreter, and `reason` is why
  std::string legend;  // comments: its sizes, which are not in the source
  std::string reason;
  std::vector<char> parameters;  // of the kernel
  int64_t blocks = 0;            // of kEmittedThreads
};
constexpr int64_t kEmittedThreads = 256;

// Of the kernel of a step's launch, from 0.
inline std::string emitted_name(size_t launch) { return "launch_" + std::to_string(launch + 1); }

// Readable names of views, by their address in a call; others are named after the op that makes them.
using ViewNames = std::map<const View*, std::string>;

// `name`: of the kernel and of the namespace around it. `workspace`: of the step's calls. `before`: the launch before
// it, in the same step or at the end of the one before; nullptr: none, or something else runs between them.
EmittedLaunch emit_launch(const FusedLaunchOp& op, const void* workspace, const std::string& name,
                          const ViewNames& names = {}, const FusedLaunchOp* before = nullptr);

}  // namespace tessera
