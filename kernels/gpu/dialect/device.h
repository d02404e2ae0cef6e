// The dialect (dialect.h) for nvcc. Its counterpart is tests/emulation/gpu.h.
#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

namespace tessera {

template <class T>
struct SharedType {
  using type = T;
};

// Static shared memory of a block, 16-byte aligned; the type may be an array. Several of one kernel need distinct
// names.
#define TESS_SHARED(name, ...) __shared__ __align__(16) typename ::tessera::SharedType<__VA_ARGS__>::type name
// The block's dynamic shared memory (Launch::smem bytes).
#define TESS_DYN_SHARED(T, name) \
  extern __shared__ __align__(128) unsigned char tess_dyn_shared[]; \
  T* name = reinterpret_cast<T*>(tess_dyn_shared)

struct Launch {
  dim3 grid, block;
  size_t smem = 0;
  cudaStream_t stream = nullptr;
  bool cooperative = false;  // all blocks resident at once: grid_sync() may be used
  unsigned cluster = 1;      // consecutive blocks that run together, up to 8; compute capability 9.0 or newer
};

// A large parameter of a kernel, by value, read in place: the kernel declares it `const __grid_constant__
// Constants<T>`.
template <class T>
struct Constants {
  T value;
  __host__ __device__ const T& operator*() const { return value; }
};

// How the host handles a CUDA error; set by the backend, which knows the operation. Must not return.
using CudaFailure = void (*)(cudaError_t error, const char* call);
extern CudaFailure on_cuda_failure;
inline void cuda_check(cudaError_t error, const char* call) {
  if (error != cudaSuccess) on_cuda_failure(error, call);
}

// A launch as the runtime takes it. `early`: it may begin before the launch before it has ended.
struct LaunchConfig {
  cudaLaunchAttribute attributes[3];
  cudaLaunchConfig_t config{};

  LaunchConfig(const Launch& l, bool early) {
    config.gridDim = l.grid;
    config.blockDim = l.block;
    config.dynamicSmemBytes = l.smem;
    config.stream = l.stream;
    config.attrs = attributes;
    if (l.cooperative) add(cudaLaunchAttributeCooperative).cooperative = 1;
    if (early) add(cudaLaunchAttributeProgrammaticStreamSerialization).programmaticStreamSerializationAllowed = 1;
    if (l.cluster > 1) {
      auto& cluster = add(cudaLaunchAttributeClusterDimension).clusterDim;
      cluster.x = l.cluster, cluster.y = cluster.z = 1;
    }
  }
  cudaLaunchAttributeValue& add(cudaLaunchAttributeID id) {
    cudaLaunchAttribute& a = attributes[config.numAttrs++];
    a = {};
    a.id = id;
    return a.val;
  }
};

// Arguments are converted to the kernel's parameter types. An empty grid launches nothing.
template <class... P, class... A>
void launch(const Launch& l, const char* name, void (*kernel)(P...), const A&... arguments) {
  if (l.grid.x == 0 || l.grid.y == 0 || l.grid.z == 0) return;
  if (l.smem > 48 * 1024)
    cuda_check(cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel), cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    static_cast<int>(l.smem)),
               name);
  const LaunchConfig made(l, false);
  cuda_check(cudaLaunchKernelEx(&made.config, kernel, static_cast<P>(arguments)...), name);
}

// A kernel that was loaded at run time, by its handle, with its only parameter. `early`: it may begin before the launch
// before it has ended, so it calls wait_for_launch_before(); compute capability 9.0 or newer.
inline void launch_loaded(const Launch& l, const char* name, const void* kernel, const void* parameter, bool early) {
  const LaunchConfig made(l, early);
  void* parameters[] = {const_cast<void*>(parameter)};
  cuda_check(cudaLaunchKernelExC(&made.config, kernel, parameters), name);
}

// ---- launches that overlap ----------------------------------------------------------------------
// In a launch with `early` every thread calls this before it reads or writes global memory (read_state() excepted,
// gpu/emitted/launch.cuh); elsewhere it does nothing. It waits until the launch before has ended and its writes are
// visible, then lets the next one begin: its blocks are placed, its code and arguments fetched, while this one runs.
//   Behind it a kernel may read and overwrite whatever any launch before it reads or writes: a launch ends when all its
// blocks have, and none of them ends before its wait, so it ends after the launch before it, and that one, by the same
// rule, after its own predecessor. A launch without `early` begins after all before it, and lets the next one begin by
// ending. As the wait comes first, one launch at most stands before its wait. It cannot keep the launch it waits for
// from ending: all blocks of that one passed their wait, so all have a place.
__device__ inline void wait_for_launch_before() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;\n\tgriddepcontrol.launch_dependents;" ::: "memory");
#endif
}

// ---- warps --------------------------------------------------------------------------------------
// A block has one row of threads, or rows of whole warps.
__device__ inline int lane_id() { return static_cast<int>(threadIdx.x & 31u); }
}  // namespace tessera
#include "kernels/gpu/dialect/warp.h"
namespace tessera {
using butterfly::warp_argmax, butterfly::warp_max, butterfly::warp_min, butterfly::warp_sum;

// `p` points to the block's shared memory. A function that is not inlined does not know that: its accesses would be
// generic (LD instead of LDS, with 64-bit addresses).
__device__ inline void assume_shared(const void* p) { __builtin_assume(__isShared(p)); }

// ---- asynchronous copies from global to shared memory -------------------------------------------
// The bytes are visible after cp_async_wait of their group to the thread that copied, and after a barrier to the
// others; zeros unless `in`. Source and target are aligned to the size.
__device__ inline unsigned shared_address(const void* p) { return static_cast<unsigned>(__cvta_generic_to_shared(p)); }
__device__ inline void cp_async_16(void* shared, const void* global, bool in = true) {
  const int bytes = in ? 16 : 0;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(shared)), "l"(global), "r"(bytes)
               : "memory");
}
__device__ inline void cp_async_4(void* shared, const void* global, bool in = true) {
  const int bytes = in ? 4 : 0;
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(shared_address(shared)), "l"(global), "r"(bytes)
               : "memory");
}
__device__ inline void cp_async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
// Waits until at most `pending` of this thread's newest groups are still in flight.
template <int pending>
__device__ inline void cp_async_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
}

// ---- clusters (Launch::cluster): blocks that run together and reach each other's shared memory --------------------
// Compute capability 9.0 or newer. A block's place in its cluster:
__device__ inline int cluster_rank() {
  int rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
// All threads of the cluster wait for each other; what they wrote before is visible behind it. One comes before the
// first access to another block, which may not run yet; and one behind the last, as that block may end.
__device__ inline void cluster_sync() {
  asm volatile("barrier.cluster.arrive.release.aligned;\n\tbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}
__device__ inline unsigned address_in_block(const void* own, int rank) {
  unsigned address;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(address) : "r"(shared_address(own)), "r"(rank));
  return address;
}
// The element of block `rank` that lies there where `own` lies in this block's shared memory.
__device__ inline float from_block(const float* own, int rank) {
  float x;
  asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(x) : "r"(address_in_block(own, rank)) : "memory");
  return x;
}
__device__ inline double from_block(const double* own, int rank) {
  double x;
  asm volatile("ld.shared::cluster.f64 %0, [%1];" : "=d"(x) : "r"(address_in_block(own, rank)) : "memory");
  return x;
}
__device__ inline float4 from_block(const float4* own, int rank) {
  float4 x;
  asm volatile("ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(x.x), "=f"(x.y), "=f"(x.z), "=f"(x.w)
               : "r"(address_in_block(own, rank))
               : "memory");
  return x;
}
__device__ inline void to_block(float* own, int rank, float x) {
  asm volatile("st.shared::cluster.f32 [%0], %1;" ::"r"(address_in_block(own, rank)), "f"(x) : "memory");
}

// ---- tensor cores -------------------------------------------------------------------------------
// d += a·b for one warp; fragments as in the PTX manual, mma.m16n8k8 (tf32) and mma.m16n8k16 (bf16, fp16):
//   with g = lane / 4, t = lane % 4
//   d[0..3]     rows g, g, g + 8, g + 8; columns 2t, 2t + 1, 2t, 2t + 1
//   tf32  a[0..3] (row, k): (g, t), (g + 8, t), (g, t + 4), (g + 8, t + 4) · b[0..1] (k, column): (t, g), (t + 4, g)
//   16 bit  a[0..3], pairs k, k + 1: (g, 2t), (g + 8, 2t), (g, 2t + 8), (g + 8, 2t + 8) · b[0..1]: (2t, g), (2t + 8,
//           g); the lower half is the lower k
__device__ inline uint32_t to_tf32(float x) {  // round to nearest, ties away
  uint32_t r;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(r) : "f"(x));
  return r;
}
__device__ inline void mma_tf32(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
__device__ inline void mma_bf16(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
__device__ inline void mma_fp16(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
// Four matrices of 8 × 8 of 16 bits from shared memory: lane l names line l % 8 of matrix l / 8, 16 bytes at a multiple
// of 16, and gets the pair of line g, columns 2t and 2t + 1 of each.
__device__ inline void ldmatrix_4(uint32_t& m0, uint32_t& m1, uint32_t& m2, uint32_t& m3, const void* line) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(m0), "=r"(m1), "=r"(m2), "=r"(m3)
               : "r"(shared_address(line))
               : "memory");
}
__device__ inline uint32_t pack_bf16(float low, float high) {
  const __nv_bfloat162 p = __floats2bfloat162_rn(low, high);
  return *reinterpret_cast<const uint32_t*>(&p);
}
__device__ inline uint32_t pack_fp16(float low, float high) {
  const __half2 p = __floats2half2_rn(low, high);
  return *reinterpret_cast<const uint32_t*>(&p);
}
__device__ inline float rounded_fp16(float x) { return __half2float(__float2half_rn(x)); }

}  // namespace tessera
