// One table of kernels per backend and scalar type: the engine's only view of a backend's arithmetic. A backend
// references the kernel of each op of TESSERA_OPS by name (cpu/table.cpp, gpu/table.cu), so a missing one is an
// undefined function; only the CUDA table leaves fields empty (gpu/table.cu).
#pragma once
#include "kernels/ops.h"
#include "kernels/view.h"

namespace tessera {

struct FusedKernels;

// Rows of a register tile of the CPU's matrix product with the widest vectors: blocks of rows are multiples of them.
constexpr int64_t kRegisterRows = 14;

struct KernelTable {
  const char* name;  // "avx512", "avx2", "plain", "cuda"
  int scalar_bytes;  // 4: float, 8: double
#define TESSERA_FIELD(type, field, parts) Kernel field;
  TESSERA_OPS(TESSERA_FIELD)
#undef TESSERA_FIELD
  const FusedKernels* fused;  // kernels/fused.h; nullptr: every op is its own launch
};

// CPU tables by instruction set; TESSERA_HAS_… declares those of this build.
namespace isa_plain {
const KernelTable& kernels_f32();
const KernelTable& kernels_f64();  // the oracle
}  // namespace isa_plain
namespace isa_avx2 {
const KernelTable& kernels_f32();
}
namespace isa_avx512 {
const KernelTable& kernels_f32();
}
namespace isa_avx512_bf16 {  // isa_avx512's, with the products of matmul.cpp in this instruction set
const KernelTable& kernels_f32();
}
namespace isa_amx_bf16 {  // the same with bf16 products by AMX tiles
const KernelTable& kernels_f32();
}

}  // namespace tessera
