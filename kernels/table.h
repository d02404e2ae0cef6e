// One table of kernels a backend and scalar type: all that the engine sees of a backend's arithmetic.
#pragma once
#include "kernels/ops.h"
#include "kernels/view.h"

namespace tessera {

struct FusedKernels;

struct KernelTable {
  const char* name;  // "avx512", "avx2", "plain", "cuda"
  int scalar_bytes;  // 4: float, 8: double
#define TESSERA_FIELD(type, field) Kernel field;
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
