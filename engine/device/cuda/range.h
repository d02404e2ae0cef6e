// Named ranges for a profiler, chosen at build time (CMake's TESSERA_NVTX): the phases of the host's work, and each
// launch as it is recorded or run. Without TESSERA_NVTX they compile to nothing.
#pragma once
#ifdef TESSERA_NVTX
#include <nvtx3/nvToolsExt.h>
#endif

namespace tessera::cuda {

class Range {
 public:
#ifdef TESSERA_NVTX
  explicit Range(const char* name) { nvtxRangePushA(name); }
  ~Range() { nvtxRangePop(); }
#else
  explicit Range(const char*) {}
  ~Range() {}  // so that a range is used
#endif
  Range(const Range&) = delete;
};

}  // namespace tessera::cuda
