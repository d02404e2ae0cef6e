// libcudart on the emulated machine: memory, streams, events and graphs are those of tests/emulation/runtime.h, kernels
// run from their PTX. An error inside a kernel is sticky, as on hardware: every later call returns it.
#include "ptx/cudart/cudart.h"

#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "emulation/device.h"
#include "emulation/runtime.h"
#include "ptx/cudart/fat_binary.h"
#include "ptx/machine/launch.h"
#include "ptx/read/mutant.h"

namespace tessera::ptx {
namespace {

int sticky = cudaSuccess, last = cudaSuccess;
std::string sticky_text;

template <class F>
int guarded(F&& call) {
  if (sticky != cudaSuccess) return sticky;
  try {
    const int e = call();
    if (e != cudaSuccess && e != cudaErrorNotReady) last = e;
    return e;
  } catch (const std::exception& fault) {
    sticky_text = fault.what();
    return sticky = cudaErrorLaunchFailure;
  }
}

struct Binary {
  const void* wrapper = nullptr;
  std::unique_ptr<Module> module;  // from its first launch on
  const Module& read() {
    if (module != nullptr) return *module;
    const std::string text = ptx_of(wrapper, emulation::device().major * 10 + emulation::device().minor);
    if (text.empty()) throw std::runtime_error("the plugin has no PTX for this GPU");
    module = std::make_unique<Module>(read_module(mutated(text)));
    return *module;
  }
};
struct Kernel {
  Binary* binary = nullptr;
  std::string name;
  int shared_allowed = 48 * 1024;
};
std::unordered_map<const void*, Kernel>& kernels() {
  static auto* all = new std::unordered_map<const void*, Kernel>;
  return *all;
}

}  // namespace

void** register_binary(const void* wrapper) {
  auto* b = new Binary;  // as long as the process: nobody knows when the last launch was
  b->wrapper = wrapper;
  return reinterpret_cast<void**>(b);
}
void register_kernel(void** binary, const void* host_function, const char* name) {
  kernels()[host_function] = {reinterpret_cast<Binary*>(binary), name};
}

int properties(int number, Properties& p) {
  return guarded([&] {
    static cudaDeviceProp known;
    const int error = cudaGetDeviceProperties(&known, number);
    p = {known.name,  known.totalGlobalMem, known.sharedMemPerBlockOptin,
         known.major, known.minor,          known.multiProcessorCount};
    return error;
  });
}

int allow_shared(const void* host_function, int bytes) {
  const auto k = kernels().find(host_function);
  if (k == kernels().end() || bytes > 227 * 1024) return cudaErrorInvalidValue;
  k->second.shared_allowed = bytes;
  return cudaSuccess;
}

int load_library(const char* text, void** library) {
  return guarded([&] {
    if (std::string_view(text).find(".version") == std::string_view::npos) return cudaErrorInvalidKernelImage;
    auto b = std::make_unique<Binary>();
    b->module = std::make_unique<Module>(read_module(mutated(text)));
    *library = b.release();
    return cudaSuccess;
  });
}
int library_kernel(void* library, const char* name, const void** host_function) {
  auto* b = static_cast<Binary*>(library);
  const auto f = b->module->functions.find(name);
  if (f == b->module->functions.end()) return cudaErrorSymbolNotFound;
  kernels()[&f->second] = {b, name};
  *host_function = &f->second;
  return cudaSuccess;
}
int unload_library(void* library) {
  return guarded([&] {
    static const emulation::Image any{{"kernel", {}}};  // of a library with kernels: nothing may be queued
    const cudaError_t e = cudaLibraryUnload(&any);
    std::erase_if(kernels(), [&](const auto& k) { return k.second.binary == library; });
    delete static_cast<Binary*>(library);
    return e;
  });
}

int launch(const LaunchCall& c) {
  return guarded([&] {
    const auto found = kernels().find(c.host_function);
    if (found == kernels().end() || ((c.early || c.cluster > 1) && emulation::device().major < 9))
      return static_cast<int>(cudaErrorInvalidValue);
    const Kernel& k = found->second;
    const Module& module = k.binary->read();
    const Function& f = module.functions.at(k.name);
    if (c.dynamic_shared > static_cast<size_t>(k.shared_allowed)) return static_cast<int>(cudaErrorInvalidValue);
    auto parameters = std::make_shared<std::string>(f.parameters_total + 16, '\0');
    for (size_t n = 0; n < f.parameters.size(); ++n)
      std::memcpy(parameters->data() + f.parameters[n].first, c.arguments[n], f.parameters[n].second);
    Wanted w{{c.grid[0], c.grid[1], c.grid[2]},
             {c.block[0], c.block[1], c.block[2]},
             static_cast<uint32_t>(c.dynamic_shared),
             nullptr,
             c.stream != nullptr,
             c.early,
             c.cluster};
    w.parameters = parameters->data();
    const auto launched = std::make_shared<Launch>(module, f, w);
    emulation::enqueue(
        static_cast<emulation::Stream*>(c.stream), "kernel", [launched, parameters] { launched->run(); },
        c.early ? [launched] { launched->begin(); } : std::function<void()>());
    return static_cast<int>(cudaSuccess);
  });
}

}  // namespace tessera::ptx

using tessera::ptx::guarded;

// The names of C for functions that the emulation has under the names of C++.
#define TESSERA_CUDART(name, parameters, arguments) \
  extern "C" __attribute__((visibility("default"))) int name##_of_c parameters asm(#name); \
  int name##_of_c parameters { \
    return guarded([&] { return static_cast<int>(name arguments); }); \
  }
TESSERA_CUDART(cudaGetDeviceCount, (int* count), (count))
TESSERA_CUDART(cudaSetDevice, (int number), (number))
TESSERA_CUDART(cudaDriverGetVersion, (int* version), (version))
TESSERA_CUDART(cudaRuntimeGetVersion, (int* version), (version))
TESSERA_CUDART(cudaMemGetInfo, (size_t * free, size_t* total), (free, total))
TESSERA_CUDART(cudaMalloc, (void** p, size_t bytes), (p, bytes))
TESSERA_CUDART(cudaFree, (void* p), (p))
TESSERA_CUDART(cudaHostAlloc, (void** p, size_t bytes, unsigned flags), (p, bytes, flags))
TESSERA_CUDART(cudaFreeHost, (void* p), (p))
TESSERA_CUDART(cudaMemcpyAsync, (void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream),
               (to, from, bytes, kind, stream))
TESSERA_CUDART(cudaMemsetAsync, (void* p, int value, size_t bytes, cudaStream_t stream), (p, value, bytes, stream))
TESSERA_CUDART(cudaStreamCreateWithFlags, (cudaStream_t * stream, unsigned flags), (stream, flags))
TESSERA_CUDART(cudaStreamDestroy, (cudaStream_t stream), (stream))
TESSERA_CUDART(cudaStreamSynchronize, (cudaStream_t stream), (stream))
TESSERA_CUDART(cudaEventCreateWithFlags, (cudaEvent_t * event, unsigned flags), (event, flags))
TESSERA_CUDART(cudaEventDestroy, (cudaEvent_t event), (event))
TESSERA_CUDART(cudaEventRecord, (cudaEvent_t event, cudaStream_t stream), (event, stream))
TESSERA_CUDART(cudaEventSynchronize, (cudaEvent_t event), (event))
TESSERA_CUDART(cudaStreamBeginCapture, (cudaStream_t stream, cudaStreamCaptureMode mode), (stream, mode))
TESSERA_CUDART(cudaStreamEndCapture, (cudaStream_t stream, cudaGraph_t* graph), (stream, graph))
TESSERA_CUDART(cudaGraphInstantiate, (cudaGraphExec_t * exec, cudaGraph_t graph, unsigned long long flags),
               (exec, graph, flags))
TESSERA_CUDART(cudaGraphLaunch, (cudaGraphExec_t exec, cudaStream_t stream), (exec, stream))
TESSERA_CUDART(cudaGraphDestroy, (cudaGraph_t graph), (graph))
TESSERA_CUDART(cudaGraphExecDestroy, (cudaGraphExec_t exec), (exec))
#undef TESSERA_CUDART

extern "C" __attribute__((visibility("default"))) int get_last_error_of_c() asm("cudaGetLastError");
int get_last_error_of_c() {
  using namespace tessera::ptx;
  return sticky != cudaSuccess ? sticky : std::exchange(last, static_cast<int>(cudaSuccess));
}
extern "C" __attribute__((visibility("default"))) const char* error_name_of_c(int error) asm("cudaGetErrorName");
const char* error_name_of_c(int error) {
  return error == cudaErrorLaunchFailure ? "cudaErrorLaunchFailure" : cudaGetErrorName(static_cast<cudaError_t>(error));
}
extern "C" __attribute__((visibility("default"))) const char* error_text_of_c(int error) asm("cudaGetErrorString");
const char* error_text_of_c(int error) {
  using namespace tessera::ptx;
  return error == sticky ? sticky_text.c_str() : cudaGetErrorString(static_cast<cudaError_t>(error));
}
