// Products by cuBLASLt behind the same kernel table: for comparison with our own (TESSERA_CUDA_MATH=cublaslt,
// cublaslt_tf32). The library is opened on request, after a device was found; nothing else needs it.
#pragma once
#include <string>

#include "kernels/table.h"

namespace tessera::cuda {

// The CUDA table with cuBLASLt's products, where every op is its own launch; nullptr and the reason if the library
// cannot be used.
const KernelTable* cublaslt_kernels(bool tf32, std::string& reason);

}  // namespace tessera::cuda
