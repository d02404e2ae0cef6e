// The CUDA table: the kernels of ops, and fused launches.
#include "kernels/fused.h"
#include "kernels/gpu/dialect/view.cuh"

namespace tessera {
namespace {

// Ops that only a processor's step has: a device's step has others in their place (engine/passes/batch/shard.h).
template <class Op>
constexpr bool kCpuOnly = false;
template <>
constexpr bool kCpuOnly<ShardedWgrad> = true;
template <>
constexpr bool kCpuOnly<Narrow> = true;
template <>
constexpr bool kCpuOnly<BatchNormSums> = true;
template <>
constexpr bool kCpuOnly<BatchNormRowsGrad> = true;

}  // namespace

const KernelTable& kernels_cuda() {
  static const KernelTable table = [] {
    KernelTable t{};
    t.name = "cuda";
    t.scalar_bytes = 4;
#define TESSERA_ENTER(type, field, parts) \
  if constexpr (!kCpuOnly<type>) t.field = gpu::field##_entry();
    TESSERA_OPS(TESSERA_ENTER)
#undef TESSERA_ENTER
    t.fused = &fused_kernels_cuda();
    return t;
  }();
  return table;
}

}  // namespace tessera
