// The emulated machine has no cuBLASLt.
#include "engine/device/cuda/cublaslt.h"

namespace tessera::cuda {
const KernelTable* cublaslt_kernels(bool, std::string& reason) {
  reason = "libcublasLt.so.13: no such library on this machine";
  return nullptr;
}
}  // namespace tessera::cuda
