// NVRTC: CUDA source to machine code (or PTX), without a GPU and without nvcc. Opened at run time: nothing links it.
#pragma once
#include <string>

namespace tessera {

struct NvrtcInfo {
  std::string version;  // "13.0"; empty: `reason` says why there is none
  std::string reason;
};
// libnvrtc.so of CUDA 12 or 13, or of TESSERA_NVRTC; opened once.
const NvrtcInfo& nvrtc();

struct CompiledSource {
  std::string image;  // empty: `log` is what the compiler said
  std::string log;
};
// `architecture`: "sm_90" for machine code, "compute_90" for PTX. The source may include the headers of kernels/, which
// are part of this library. Thread-safe. Needs nvrtc().version.
CompiledSource compile_source(const std::string& source, const std::string& architecture);
// All that its image depends on: NVRTC's version, the options and headers, the source.
std::string compilation_key(const std::string& source, const std::string& architecture);

}  // namespace tessera
