// The peak rates of the installed GPU, from which every floor is computed: memory and cache rates, arithmetic, and the
// overheads of a step of small launches: the gap between the nodes of a graph (also with 57 KiB of shared memory, with
// 4 to 64 KiB of code, as clusters of eight blocks, with an early start), barriers of a grid and of a cluster, reads of
// another block's shared memory, what 32 to 128 blocks draw from L2. Prints one table, or JSON to a file. Independent
// of the library.
//   nvcc -std=c++20 -O3 -arch=native bench/ceilings.cu -o ceilings && ./ceilings [file.json]
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

namespace {

void check(cudaError_t e, const char* what) {
  if (e == cudaSuccess) return;
  std::fprintf(stderr, "ceilings: %s: %s\n", what, cudaGetErrorString(e));
  std::exit(1);
}

// Seconds of one run of `work` on the stream: the best of seven, after one that does not count.
double seconds(cudaStream_t stream, const std::function<void()>& work) {
  cudaEvent_t begin, end;
  check(cudaEventCreate(&begin), "event");
  check(cudaEventCreate(&end), "event");
  float best = 1e30f;
  for (int run = 0; run < 8; ++run) {
    check(cudaEventRecord(begin, stream), "record");
    work();
    check(cudaEventRecord(end, stream), "record");
    check(cudaEventSynchronize(end), "run");
    float ms = 0;
    check(cudaEventElapsedTime(&ms, begin, end), "time");
    if (run > 0) best = std::min(best, ms);
  }
  check(cudaEventDestroy(begin), "event");
  check(cudaEventDestroy(end), "event");
  return 1e-3 * static_cast<double>(best);
}

// copy: 16-byte loads and stores, `times` over the same memory.
__global__ void copy_kernel(const float4* from, float4* to, int64_t n, int times) {
  for (int t = 0; t < times; ++t)
    for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
         i += static_cast<int64_t>(gridDim.x) * blockDim.x)
      to[i] = from[i];
}
// read: sums, so that no load is optimised away; the data stay in L2 if they fit.
__global__ void read_kernel(const float4* from, float* to, int64_t n, int times) {
  float sum = 0;
  for (int t = 0; t < times; ++t)
    for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
         i += static_cast<int64_t>(gridDim.x) * blockDim.x) {
      const float4 v = __ldcg(from + (i + t) % n);
      sum += v.x + v.y + v.z + v.w;
    }
  if (sum == 1.5f) *to = sum;
}
// fma: sixteen independent chains per thread.
__global__ void fma_kernel(float* to, float a, float b, int times) {
  float x[16];
#pragma unroll
  for (int k = 0; k < 16; ++k) x[k] = static_cast<float>(threadIdx.x + static_cast<unsigned>(k));
  for (int t = 0; t < times; ++t)
#pragma unroll
    for (int k = 0; k < 16; ++k) x[k] = x[k] * a + b;
  float sum = 0;
#pragma unroll
  for (int k = 0; k < 16; ++k) sum += x[k];
  if (sum == 1.5f) *to = sum;
}
// mma.sync m16n8k8, tf32: eight independent accumulators per warp.
__global__ void mma_kernel(float* to, uint32_t a, uint32_t b, int times) {
  float d[8][4] = {};
  for (int t = 0; t < times; ++t)
#pragma unroll
    for (int k = 0; k < 8; ++k)
      asm volatile(
          "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%4,%4,%4}, {%5,%5}, {%0,%1,%2,%3};"
          : "+f"(d[k][0]), "+f"(d[k][1]), "+f"(d[k][2]), "+f"(d[k][3])
          : "r"(a), "r"(b));
  float sum = 0;
#pragma unroll
  for (int k = 0; k < 8; ++k) sum += d[k][0];
  if (sum == 1.5f) *to = sum;
}
__global__ void empty_kernel() {}
// A barrier of all resident blocks: each adds one and waits for the rest; the last one opens the next round.
__global__ void barrier_kernel(unsigned* arrived, int times) {
  for (int t = 1; t <= times; ++t) {
    __syncthreads();
    if (threadIdx.x == 0) {
      __threadfence();
      atomicAdd(arrived, 1u);
      while (*static_cast<volatile unsigned*>(arrived) < gridDim.x * static_cast<unsigned>(t)) {}
      __threadfence();
    }
    __syncthreads();
  }
}

// Stages of loads by cp.async, 48 bytes a thread, three under way, from L2: what the tiles of a product draw.
__global__ void stages_kernel(const float4* from, int64_t n, int times) {
  __shared__ float4 room[3 * 256];
  for (int t = 0; t < times; ++t) {
    for (int k = 0; k < 3; ++k) {
      const float4* p = from + (static_cast<int64_t>(blockIdx.x) * times * 768 + t * 768 + k * 256 + threadIdx.x) % n;
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(
                       static_cast<unsigned>(__cvta_generic_to_shared(room + k * 256 + threadIdx.x))),
                   "l"(p)
                   : "memory");
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
    asm volatile("cp.async.wait_group 2;" ::: "memory");
  }
  asm volatile("cp.async.wait_group 0;" ::: "memory");
}
// Straight code of n · 16 bytes and more, once: fetched from L2 and beyond.
template <int n>
__global__ void code_kernel(float* to, float a) {
  float x = a;
#pragma unroll
  for (int k = 0; k < n; ++k) x = x * a + static_cast<float>(k);
  if (x == 1.5f) *to = x;
}
__global__ void dynamic_kernel(float* to) {
  extern __shared__ float room[];
  if (to != nullptr && threadIdx.x == 9999) *to = room[0];
}
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
// Barriers of a cluster, and reads of another block's shared memory, one after the other.
__global__ void cluster_kernel(float* to, int times, int reads) {
  __shared__ unsigned room[32];
  room[threadIdx.x % 32] = 0;
  unsigned at = 0, other = 0;
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
  for (int t = 0; t < times; ++t)
    asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
  const auto own = static_cast<unsigned>(__cvta_generic_to_shared(room));
  asm volatile("mapa.shared::cluster.u32 %0, %1, 0;" : "=r"(other) : "r"(own));
  for (int t = 0; t < reads; ++t)
    asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(at) : "r"(other + at) : "memory");
  if (at == 1) *to = 1;
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}
// A node that lets the next one begin, and waits for the one before: programmatic dependent launch.
__global__ void dependent_kernel() {
  asm volatile("griddepcontrol.launch_dependents;\ngriddepcontrol.wait;" ::: "memory");
}
#else
__global__ void cluster_kernel(float*, int, int) {}
__global__ void dependent_kernel() {}
#endif

}  // namespace

int main(int argc, char** argv) {
  cudaDeviceProp card{};
  check(cudaGetDeviceProperties(&card, 0), "no GPU");
  const auto sms = static_cast<unsigned>(card.multiProcessorCount);
  cudaStream_t stream;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
  constexpr int64_t kFar = int64_t{1} << 30, kNear = int64_t{8} << 20;  // bytes
  float4 *from = nullptr, *to = nullptr;
  unsigned* counter = nullptr;
  check(cudaMalloc(&from, kFar), "memory");
  check(cudaMalloc(&to, kFar), "memory");
  check(cudaMalloc(&counter, 256), "memory");
  check(cudaMemset(from, 0, kFar), "memory");
  float* sink = reinterpret_cast<float*>(to);
  struct Line {
    std::string name, unit;
    double value;
  };
  std::vector<Line> lines;
  const auto rate = [&](const std::string& name, const char* unit, double amount, const std::function<void()>& work) {
    lines.push_back({name, unit, amount / seconds(stream, work)});
  };

  rate("copy_bytes_per_second", "B/s", 2.0 * kFar,
       [&] { copy_kernel<<<sms * 8, 512, 0, stream>>>(from, to, kFar / 16, 1); });
  rate("cached_copy_bytes_per_second", "B/s", 2.0 * kNear * 64,
       [&] { copy_kernel<<<sms * 4, 512, 0, stream>>>(from, to, kNear / 16, 64); });
  rate("cached_read_bytes_per_second", "B/s", 1.0 * kNear * 64,
       [&] { read_kernel<<<sms * 4, 512, 0, stream>>>(from, sink, kNear / 16, 64); });
  rate("fma_flops_per_second", "FLOP/s", 2.0 * 16 * 4096 * sms * 8 * 256,
       [&] { fma_kernel<<<sms * 8, 256, 0, stream>>>(sink, 0.5f, 1.0f, 4096); });
  rate("mma_tf32_flops_per_second", "FLOP/s", 2.0 * 16 * 8 * 8 * 8 * 4096 * sms * 8 * 8,
       [&] { mma_kernel<<<sms * 8, 256, 0, stream>>>(sink, 0, 0, 4096); });

  constexpr int kNodes = 1024;
  const auto nodes = [&](const std::string& name, const std::function<void()>& node) {
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "capture");
    for (int i = 0; i < kNodes; ++i) node();
    check(cudaStreamEndCapture(stream, &graph), "capture");
    check(cudaGraphInstantiate(&exec, graph, 0), "graph");
    lines.push_back({name, "s", seconds(stream, [&] { check(cudaGraphLaunch(exec, stream), "graph"); }) / kNodes});
  };
  // Launches with an attribute: a cluster, or an early start.
  const auto with = [&](cudaLaunchAttribute attribute, size_t shared, auto kernel, auto... arguments) {
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(sms / 8 * 8), config.blockDim = dim3(256), config.dynamicSmemBytes = shared;
    config.stream = stream, config.attrs = &attribute, config.numAttrs = 1;
    check(cudaLaunchKernelEx(&config, kernel, arguments...), "launch");
  };
  cudaLaunchAttribute cluster{}, early{};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim = {8, 1, 1};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  constexpr int kLarge = 57 * 1024;
  check(cudaFuncSetAttribute(reinterpret_cast<const void*>(dynamic_kernel), cudaFuncAttributeMaxDynamicSharedMemorySize,
                             kLarge),
        "shared memory");
  nodes("graph_node_seconds", [&] { empty_kernel<<<sms, 256, 0, stream>>>(); });
  nodes("graph_node_57k_seconds", [&] { dynamic_kernel<<<sms, 256, kLarge, stream>>>(nullptr); });
  nodes("graph_node_code_4k_seconds", [&] { code_kernel<256><<<sms, 256, 0, stream>>>(sink, 0.5f); });
  nodes("graph_node_code_12k_seconds", [&] { code_kernel<768><<<sms, 256, 0, stream>>>(sink, 0.5f); });
  nodes("graph_node_code_64k_seconds", [&] { code_kernel<4096><<<sms, 256, 0, stream>>>(sink, 0.5f); });
  if (card.major >= 9) {
    nodes("graph_node_cluster_seconds", [&] { with(cluster, 0, empty_kernel); });
    nodes("graph_node_early_seconds", [&] { with(early, 0, dependent_kernel); });
    constexpr int kTimes = 2000;
    const auto once = [&](int times, int reads) {
      return seconds(stream, [&] { with(cluster, 0, cluster_kernel, sink, times, reads); });
    };
    const double none = once(0, 0);
    lines.push_back({"cluster_barrier_seconds", "s", (once(kTimes, 0) - none) / kTimes});
    lines.push_back({"cluster_read_seconds", "s", (once(0, kTimes) - none) / kTimes});
  }
  for (const unsigned blocks : {32u, 64u, 128u})
    rate("stage_bytes_per_second_" + std::to_string(blocks), "B/s", 48.0 * 256 * 512 * blocks,
         [&] { stages_kernel<<<blocks, 256, 0, stream>>>(from, kNear / 16, 512); });
  lines.push_back({"stream_launch_seconds", "s", seconds(stream, [&] {
                                                   for (int i = 0; i < kNodes; ++i)
                                                     empty_kernel<<<sms, 256, 0, stream>>>();
                                                 }) / kNodes});
  constexpr int kBarriers = 1000;
  int times = kBarriers;
  void* arguments[] = {&counter, &times};
  lines.push_back(
      {"grid_barrier_seconds", "s", seconds(stream, [&] {
                                      check(cudaMemsetAsync(counter, 0, 256, stream), "barrier");
                                      check(cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(barrier_kernel),
                                                                        dim3(sms), dim3(256), arguments, 0, stream),
                                            "barrier");
                                    }) / kBarriers});
  check(cudaDeviceSynchronize(), "run");

  FILE* file = argc > 1 ? std::fopen(argv[1], "w") : nullptr;
  if (argc > 1 && file == nullptr) {
    std::fprintf(stderr, "ceilings: %s cannot be written\n", argv[1]);
    return 1;
  }
  std::printf("%s, %u multiprocessors\n", card.name, sms);
  if (file != nullptr) std::fprintf(file, "{\"card\": \"%s\", \"multiprocessors\": %u", card.name, sms);
  for (const Line& l : lines) {
    std::printf("%-32s %12.4g %s\n", l.name.c_str(), l.value, l.unit.c_str());
    if (file != nullptr) std::fprintf(file, ", \"%s\": %.6g", l.name.c_str(), l.value);
  }
  if (file != nullptr) {
    std::fprintf(file, "}\n");
    std::fclose(file);
  }
  return 0;
}
