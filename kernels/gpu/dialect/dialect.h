// The one include of a .cu. Compiled by nvcc it is CUDA; compiled by a C++ compiler it is the emulation of the CUDA
// execution model that the tests use (tests/emulation).
// The dialect that makes both possible:
//   launch({grid, block, smem, stream}, "name", kernel, arguments…)   instead of kernel<<<…>>>(…); further fields of
//                                                                     Launch: cooperative, cluster
//   TESS_SHARED(name, float[16][68]);                                 instead of __shared__ float name[16][68];
//   TESS_DYN_SHARED(float, name);                                     instead of extern __shared__ float name[];
//                                                                     (128-byte aligned)
//   launch_loaded({grid, block, 0, stream}, "name", kernel, parameter, early)   of a kernel compiled at run time
//   inline PTX only inside the wrappers of gpu/dialect/device.h, each with a twin in the emulation: cp_async_16,
//       cp_async_wait, mma_tf32, assume_shared, cluster_sync, …
// Warp functions take their masks; __activemask() and coalesced groups are not part of the dialect. warp_sum, warp_max
// and similar need a whole warp.
// A kernel file includes no standard C++ header: they cost seconds each under nvcc.
#pragma once
#include <cstddef>
#include <cstdint>

namespace tessera {
constexpr unsigned kWholeWarp = 0xFFFFFFFFu;
}

#if defined(__CUDACC__)
#include "kernels/gpu/dialect/device.h"
#else
#include "emulation/gpu.h"
#endif

namespace tessera {

// ⌈a / b⌉: the number of blocks of b that cover a.
__host__ __device__ constexpr int64_t blocks_for(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace tessera
