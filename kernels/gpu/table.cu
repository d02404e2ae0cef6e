// The CUDA table: the kernel of every op, and fused launches.
#include "kernels/fused.h"
#include "kernels/gpu/dialect/view.cuh"

namespace tessera {

const KernelTable& kernels_cuda() {
  static const KernelTable table = [] {
    KernelTable t{};
    t.name = "cuda";
    t.scalar_bytes = 4;
#define TESSERA_ENTER(type, field, parts) t.field = gpu::field##_entry();
    TESSERA_OPS(TESSERA_ENTER)
#undef TESSERA_ENTER
    t.fused = &fused_kernels_cuda();
    return t;
  }();
  return table;
}

}  // namespace tessera
