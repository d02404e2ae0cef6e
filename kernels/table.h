// One table of kernels for each backend and scalar type: all that the engine sees of a backend's arithmetic. Every
// field is filled in: a backend asks for the kernel of each op of TESSERA_OPS by name (cpu/table.cpp, gpu_table.cu), so
// one that is missing is an undefined function.
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
  const FusedKernels* fused;  // kernels/fused.h; nullptr: every op is a launch of its own
};

// CPU tables by instruction set; a set this build does not have is not declared in TESSERA_HAS_….
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

}  // namespace tessera
