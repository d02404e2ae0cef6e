// The CUDA table: the kernel of every op, and fused launches.
#include "kernels/fused.h"
#include "kernels/gpu/dialect/view.cuh"
#include "kernels/gpu/matmul.h"

namespace tessera {
namespace {

KernelTable make(gpu::Math math) {
  KernelTable t{};
  t.name = "cuda";
  t.scalar_bytes = 4;
#define TESSERA_ENTER(type, field, parts) t.field = gpu::field##_entry();
  TESSERA_OPS(TESSERA_ENTER)
#undef TESSERA_ENTER
  t.matmul = gpu::matmul_kernel(math);
  if (math == gpu::Math::fp32) t.fused = &fused_kernels_cuda();
  return t;
}

}  // namespace

const KernelTable& kernels_cuda(gpu::Math math) {
  static const KernelTable tables[gpu::kMaths] = {make(gpu::Math::fp32), make(gpu::Math::tf32x3), make(gpu::Math::tf32),
                                                  make(gpu::Math::bf16), make(gpu::Math::fp16)};
  return tables[static_cast<int>(math)];
}

const KernelTable& kernels_cuda() { return kernels_cuda(gpu::Math::fp32); }

}  // namespace tessera
