// The arithmetic of every product of a step, for study; with fp32, each product uses that of its op (Matmul::factors).
// Everything else of a step is fp32, and so are weights, sums and results in all modes.
#pragma once
#include "kernels/gpu/dialect/table.h"

namespace tessera::gpu {

enum class Math : int {
  fp32,    // FMA units
  tf32x3,  // tensor cores, three products of 10-bit mantissas: fp32's accuracy to a few units
  tf32,    // tensor cores, 10-bit mantissas
  bf16,    // tensor cores, 8-bit mantissas
  fp16,    // tensor cores, 11-bit mantissas, |x| ≤ 65504
};
constexpr int kMaths = 5;

Kernel matmul_kernel(Math math);

}  // namespace tessera::gpu

namespace tessera {
const KernelTable& kernels_cuda(gpu::Math math);  // kernels_cuda(): fp32
}  // namespace tessera
