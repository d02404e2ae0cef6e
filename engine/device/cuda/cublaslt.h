// Products by cuBLASLt behind the same kernel table: a yardstick for our own (TESSERA_CUDA_MATH=cublaslt,
// cublaslt_tf32). The library is opened when it is asked for, which is after a device was found; nothing needs it.
#pragma once
#include <string>

#include "kernels/table.h"

namespace tessera::cuda {

// The CUDA table with cuBLASLt's products, and every op a launch of its own; nullptr and the reason where the library
// cannot be used.
const KernelTable* cublaslt_kernels(bool tf32, std::string& reason);

}  // namespace tessera::cuda
