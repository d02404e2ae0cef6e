// The CUDA backend's kernels behind the same KernelTable as the CPU's. A call of a CUDA table differs as follows:
//   views      are in host memory and hold device addresses: read them on the host, pass addresses and sizes to the
//              kernel by value
//   op         host memory; where it points to a SpanTable or ProfileTable, that struct is host memory too and its
//              arrays are device memory: pass it by value
//   state      a device address: seed, step and bad are read and written by kernels only
//   tiles      returns 1 (0: no work), and run(call, 0, &context) enqueues launches on the context's stream and returns
//   scratch_bytes  of device memory the call needs at context.workspace (256-byte aligned, contents undefined); depends
//                  only on the shapes
// run() neither allocates, nor waits, nor reads device memory: it is recorded once into a graph and replayed. Work is
// divided by shape only, never by the number of multiprocessors, so that every device of one kind gives the same bits.
#pragma once
#include "kernels/array_kernels.h"
#include "kernels/gpu/dialect/dialect.h"
#include "kernels/table.h"

namespace tessera {

struct GpuContext {
  cudaStream_t stream;
  void* workspace;
};

inline const GpuContext& gpu_context(void* scratch) { return *static_cast<const GpuContext*>(scratch); }

const KernelTable& kernels_cuda();  // kernels/gpu/table.cu

namespace gpu {  // kernels/gpu/nearest_rows.cu, min_hashes.cu, prior.cu
void leaf_boxes(const NearestPlan& plan, const LeafRows& rows, cudaStream_t stream);
void near_rows(const NearRows& search, cudaStream_t stream);
void nearest_rows(const NearestRows& search, cudaStream_t stream);
void min_hashes(const TextHashes& texts, cudaStream_t stream);
void perceptrons(const Perceptrons& p, cudaStream_t stream);
}  // namespace gpu

}  // namespace tessera
