// The CUDA backend behind DeviceApi: one stream, plain allocations, steps captured once and replayed as a graph.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

#include "engine/device/cuda/check.h"
#include "engine/device/cuda/range.h"
#include "kernels/gpu/bodies/step.cuh"

namespace tessera {

struct DeviceRecording {
  cudaGraphExec_t graph = nullptr;
};

struct DeviceSession {
  int device = 0;
  cudaStream_t stream = nullptr;
  // Two downloads may be in flight: pinned memory, and the event recorded after the copy.
  struct Outgoing {
    void* memory = nullptr;
    int64_t capacity = 0;
    cudaEvent_t arrived = nullptr;
  } outgoing[2];
  int64_t downloads = 0;
  // Tables are uploaded through two pieces of pinned memory: one is filled while the other is in flight. `taken`
  // signals when a piece may be refilled.
  struct Incoming {
    void* memory = nullptr;
    cudaEvent_t taken = nullptr;
  } incoming[2];

  ~DeviceSession() {
    if (stream != nullptr) cudaStreamSynchronize(stream);
    for (Incoming& i : incoming) {
      cudaFreeHost(i.memory);
      if (i.taken != nullptr) cudaEventDestroy(i.taken);
    }
    for (Outgoing& o : outgoing) {
      cudaFreeHost(o.memory);
      if (o.arrived != nullptr) cudaEventDestroy(o.arrived);
    }
    if (stream != nullptr) cudaStreamDestroy(stream);
  }
};

namespace cuda {
namespace {

__global__ void advance_kernel(StepState* state) { state->step = gpu::after_step(*state, state->step); }

std::string bytes_text(int64_t bytes) {
  char text[32];
  if (bytes < 1 << 20) std::snprintf(text, sizeof text, "%lld bytes", static_cast<long long>(bytes));
  else std::snprintf(text, sizeof text, "%.1f MiB", static_cast<double>(bytes) / (1 << 20));
  return text;
}

void use(const DeviceSession& s) { check(cudaSetDevice(s.device), "cudaSetDevice", "selecting the device"); }
void wait(const DeviceSession& s) {
  check(cudaStreamSynchronize(s.stream), "cudaStreamSynchronize", "waiting for the device");
}
size_t size_of(int64_t bytes) { return static_cast<size_t>(bytes); }

void enqueue(const DeviceSession& s, const DeviceCall* calls, int64_t count, void* workspace) {
  GpuContext context{s.stream, workspace};
  for (int64_t i = 0; i < count; ++i) {
    const Range range(calls[i].name);
    for (int64_t tile = 0, tiles = calls[i].kernel.tiles(calls[i].call); tile < tiles; ++tile)
      calls[i].kernel.run(calls[i].call, tile, &context);
  }
}

DeviceStatus versions(int* driver, int* runtime) {
  return guarded([&] {
    // Kernels are loaded with the context, not at their first launch, which would be inside a capture. This must
    // precede the first call of the runtime.
    setenv("CUDA_MODULE_LOADING", "EAGER", 0);
    *driver = *runtime = 0;
    check(cudaDriverGetVersion(driver), "cudaDriverGetVersion", "looking for a driver");
    check(cudaRuntimeGetVersion(runtime), "cudaRuntimeGetVersion", "looking for a driver");
  });
}

DeviceStatus count(int* devices) {
  return guarded([&] {
    *devices = 0;
    int found = 0;
    check(cudaGetDeviceCount(&found), "cudaGetDeviceCount", "looking for a GPU");
    if (found == 0) fail(cudaErrorNoDevice, "cudaGetDeviceCount", "looking for a GPU");
    *devices = found;
  });
}

DeviceStatus describe(int number, DeviceInfo* info) {
  return guarded([&] {
    cudaDeviceProp p{};
    check(cudaGetDeviceProperties(&p, number), "cudaGetDeviceProperties", "looking at GPU " + std::to_string(number));
    *info = {};
    std::snprintf(info->name, sizeof info->name, "%.*s", static_cast<int>(sizeof info->name) - 1, p.name);
    info->major = p.major;
    info->minor = p.minor;
    info->multiprocessors = p.multiProcessorCount;
    size_t free = 0, all = 0;
    check(cudaSetDevice(number), "cudaSetDevice", "looking at GPU " + std::to_string(number));
    check(cudaMemGetInfo(&free, &all), "cudaMemGetInfo", "looking at GPU " + std::to_string(number));
    info->memory = static_cast<int64_t>(all);
    info->free_memory = static_cast<int64_t>(free);
  });
}

// The kernels use cp.async, which needs compute capability 8.0. An older GPU has no image of them, and would report
// this only at the first launch.
void check_capability(int number) {
  cudaDeviceProp p{};
  check(cudaGetDeviceProperties(&p, number), "cudaGetDeviceProperties", "opening GPU " + std::to_string(number));
  if (p.major >= 8) return;
  message() = "GPU " + std::to_string(number) + " (" + p.name + ") has compute capability " + std::to_string(p.major) +
              "." + std::to_string(p.minor) +
              ", and the kernels need 8.0 or newer.\n  `device=cpu` runs the same plan; tessera info lists other GPUs.";
  throw Failed{DeviceStatus::missing};
}

DeviceStatus open(int number, DeviceSession** session) {
  return guarded([&] {
    check_capability(number);
    auto s = std::make_unique<DeviceSession>();
    s->device = number;
    use(*s);
    check(cudaStreamCreateWithFlags(&s->stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags",
          "opening GPU " + std::to_string(number));
    for (DeviceSession::Outgoing& o : s->outgoing)
      check(cudaEventCreateWithFlags(&o.arrived, cudaEventDisableTiming), "cudaEventCreateWithFlags",
            "opening GPU " + std::to_string(number));
    for (DeviceSession::Incoming& i : s->incoming)
      check(cudaEventCreateWithFlags(&i.taken, cudaEventDisableTiming), "cudaEventCreateWithFlags",
            "opening GPU " + std::to_string(number));
    *session = s.release();
  });
}

void close(DeviceSession* s) { delete s; }

DeviceStatus allocate(DeviceSession* s, int64_t bytes, const char* what, void** p) {
  return guarded([&] {
    use(*s);
    const size_t size = size_of(bytes > 0 ? bytes : 256);
    size_t free = 0, all = 0;
    void* memory = nullptr;
    if (const cudaError_t e = cudaMalloc(&memory, size); e != cudaSuccess) {
      const bool known = cudaMemGetInfo(&free, &all) == cudaSuccess;
      fail(e, "cudaMalloc",
           "asking for " + bytes_text(bytes) + " for " + what +
               (known ? " (the GPU has " + bytes_text(static_cast<int64_t>(free)) + " free)" : ""));
    }
    *p = memory;
    check(cudaMemsetAsync(memory, 0, size, s->stream), "cudaMemsetAsync", std::string("clearing ") + what);
  });
}

void release(DeviceSession* s, void* p) {
  if (p == nullptr) return;
  cudaSetDevice(s->device);
  cudaStreamSynchronize(s->stream);
  cudaFree(p);
}

constexpr int64_t kPiece = 1 << 20;  // of an upload

DeviceStatus upload(DeviceSession* s, void* to, const void* from, int64_t bytes) {
  return guarded([&] {
    const Range range("upload");
    use(*s);
    const auto copy = [&](int64_t at, const void* piece, int64_t n) {
      check(cudaMemcpyAsync(static_cast<char*>(to) + at, piece, size_of(n), cudaMemcpyHostToDevice, s->stream),
            "cudaMemcpyAsync", "copying " + bytes_text(bytes) + " to the device");
    };
    if (bytes <= kPiece) return copy(0, from, bytes);
    for (int64_t at = 0, k = 0; at < bytes; at += kPiece, ++k) {
      DeviceSession::Incoming& piece = s->incoming[k % 2];
      const int64_t n = std::min(bytes - at, kPiece);
      if (piece.memory == nullptr)
        check(cudaHostAlloc(&piece.memory, size_of(kPiece), cudaHostAllocDefault), "cudaHostAlloc",
              "allocating a buffer for an upload");
      check(cudaEventSynchronize(piece.taken), "cudaEventSynchronize",
            "copying " + bytes_text(bytes) + " to the device");
      std::memcpy(piece.memory, static_cast<const char*>(from) + at, size_of(n));
      copy(at, piece.memory, n);
      check(cudaEventRecord(piece.taken, s->stream), "cudaEventRecord",
            "copying " + bytes_text(bytes) + " to the device");
    }
  });
}

DeviceStatus download(DeviceSession* s, void* to, const void* from, int64_t bytes) {
  return guarded([&] {
    const Range range("download");
    use(*s);
    check(cudaMemcpyAsync(to, from, size_of(bytes), cudaMemcpyDeviceToHost, s->stream), "cudaMemcpyAsync",
          "copying " + bytes_text(bytes) + " from the device");
    wait(*s);
  });
}

DeviceStatus copy(DeviceSession* s, void* to, const void* from, int64_t bytes) {
  return guarded([&] {
    use(*s);
    check(cudaMemcpyAsync(to, from, size_of(bytes), cudaMemcpyDeviceToDevice, s->stream), "cudaMemcpyAsync",
          "copying " + bytes_text(bytes) + " on the device");
  });
}

// Ends the capture on every path, also when an exception is thrown.
class Capture {
 public:
  explicit Capture(cudaStream_t stream) : stream_(stream) {
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture",
          "recording a step");
  }
  ~Capture() {
    cudaGraph_t graph = nullptr;
    if (stream_ != nullptr && cudaStreamEndCapture(stream_, &graph) == cudaSuccess) cudaGraphDestroy(graph);
  }
  cudaGraph_t end() {
    cudaGraph_t graph = nullptr;
    check(cudaStreamEndCapture(std::exchange(stream_, nullptr), &graph), "cudaStreamEndCapture", "recording a step");
    return graph;
  }

 private:
  cudaStream_t stream_;
};

DeviceStatus record(DeviceSession* s, const DeviceCall* calls, int64_t n, StepState* state, void* workspace, int steps,
                    DeviceRecording** recording) {
  return guarded([&] {
    const Range range("record");
    use(*s);
    auto r = std::make_unique<DeviceRecording>();
    Capture capture(s->stream);
    for (int step = 0; step < steps; ++step) {
      enqueue(*s, calls, n, workspace);
      if (state != nullptr) launch({dim3(1), dim3(1), 0, s->stream}, "advance", advance_kernel, state);
    }
    cudaGraph_t graph = capture.end();
    const cudaError_t made = cudaGraphInstantiate(&r->graph, graph, 0);
    cudaGraphDestroy(graph);
    check(made, "cudaGraphInstantiate", "recording a step");
    *recording = r.release();
  });
}

DeviceStatus replay(DeviceSession* s, const DeviceRecording* r, int64_t times) {
  return guarded([&] {
    const Range range("replay");
    use(*s);
    for (int64_t i = 0; i < times; ++i)
      check(cudaGraphLaunch(r->graph, s->stream), "cudaGraphLaunch", "replaying a step");
  });
}

void forget(DeviceSession* s, DeviceRecording* r) {
  if (r == nullptr) return;
  cudaSetDevice(s->device);
  cudaGraphExecDestroy(r->graph);
  delete r;
}

DeviceStatus run(DeviceSession* s, const DeviceCall* calls, int64_t n, void* workspace) {
  return guarded([&] {
    use(*s);
    enqueue(*s, calls, n, workspace);
  });
}

DeviceStatus load(DeviceSession* s, const char* image, const char* name, DeviceKernel* kernel) {
  return guarded([&] {
    use(*s);
    cudaLibrary_t library = nullptr;
    cudaKernel_t function = nullptr;
    const std::string doing = std::string("loading ") + name;
    check(cudaLibraryLoadData(&library, image, nullptr, nullptr, 0, nullptr, nullptr, 0), "cudaLibraryLoadData", doing);
    if (const cudaError_t e = cudaLibraryGetKernel(&function, library, name); e != cudaSuccess) {
      cudaLibraryUnload(library);
      fail(e, "cudaLibraryGetKernel", doing);
    }
    *kernel = {const_cast<void*>(static_cast<const void*>(library)), function};
  });
}

void unload(DeviceSession* s, const DeviceKernel* kernel) {
  cudaSetDevice(s->device);
  cudaStreamSynchronize(s->stream);
  cudaLibraryUnload(static_cast<cudaLibrary_t>(kernel->library));
}

DeviceStatus begin_download(DeviceSession* s, const void* const* from, const int64_t* bytes, int pieces,
                            int64_t* ticket) {
  return guarded([&] {
    use(*s);
    DeviceSession::Outgoing& o = s->outgoing[s->downloads % 2];
    check(cudaEventSynchronize(o.arrived), "cudaEventSynchronize", "copying results out");
    int64_t all = 0;
    for (int i = 0; i < pieces; ++i) all += bytes[i];
    if (all > o.capacity) {
      check(cudaFreeHost(std::exchange(o.memory, nullptr)), "cudaFreeHost", "allocating a buffer for results");
      o.capacity = 0;
      check(cudaHostAlloc(&o.memory, size_of(all), cudaHostAllocDefault), "cudaHostAlloc",
            "allocating a buffer for " + bytes_text(all) + " of results");
      o.capacity = all;
    }
    char* to = static_cast<char*>(o.memory);
    for (int i = 0; i < pieces; to += bytes[i++])
      check(cudaMemcpyAsync(to, from[i], size_of(bytes[i]), cudaMemcpyDeviceToHost, s->stream), "cudaMemcpyAsync",
            "copying " + bytes_text(bytes[i]) + " from the device");
    check(cudaEventRecord(o.arrived, s->stream), "cudaEventRecord", "copying results out");
    *ticket = s->downloads++;
  });
}

DeviceStatus wait_download(DeviceSession* s, int64_t ticket, const void** data) {
  return guarded([&] {
    const Range range("wait for results");
    use(*s);
    const DeviceSession::Outgoing& o = s->outgoing[ticket % 2];
    check(cudaEventSynchronize(o.arrived), "cudaEventSynchronize", "waiting for results");
    *data = o.memory;
  });
}

DeviceStatus leaf_boxes(DeviceSession* s, const NearestPlan& plan, const LeafRows& rows) {
  return guarded([&] {
    use(*s);
    gpu::leaf_boxes(plan, rows, s->stream);
  });
}

DeviceStatus near_rows(DeviceSession* s, const NearRows& search) {
  return guarded([&] {
    const Range range("near rows");
    use(*s);
    gpu::near_rows(search, s->stream);
  });
}

DeviceStatus nearest_rows(DeviceSession* s, const NearestRows& search) {
  return guarded([&] {
    const Range range("nearest rows");
    use(*s);
    gpu::nearest_rows(search, s->stream);
  });
}

DeviceStatus min_hashes(DeviceSession* s, const TextHashes& texts) {
  return guarded([&] {
    const Range range("min hashes");
    use(*s);
    gpu::min_hashes(texts, s->stream);
  });
}

DeviceStatus wait_event(DeviceSession* s, void* event) {
  return guarded([&] {
    use(*s);
    check(cudaEventSynchronize(*static_cast<cudaEvent_t*>(event)), "cudaEventSynchronize",
          "waiting for rows that another program makes");
  });
}

DeviceStatus perceptrons(DeviceSession* s, const Perceptrons& p) {
  return guarded([&] {
    const Range range("random tables");
    use(*s);
    gpu::perceptrons(p, s->stream);
  });
}

const char* last_message() { return message().c_str(); }

}  // namespace

const DeviceApi& api() {
  static const DeviceApi api{kDeviceAbi,    sizeof(KernelTable),
                             "cuda",        &kernels_cuda(),
                             last_message,  versions,
                             count,         describe,
                             open,          close,
                             allocate,      release,
                             upload,        download,
                             copy,          record,
                             replay,        forget,
                             run,           load,
                             unload,        begin_download,
                             wait_download, leaf_boxes,
                             near_rows,     nearest_rows,
                             min_hashes,    wait_event,
                             perceptrons};
  return api;
}

}  // namespace cuda
}  // namespace tessera

extern "C" __attribute__((visibility("default"))) const tessera::DeviceApi* tessera_device_backend() {
  return &tessera::cuda::api();
}
