// The functions of libcudart whose arguments are CUDA's own structs, and those that nvcc's host code calls by itself.
#include <cuda_runtime_api.h>

#include <cstdio>

#include "ptx/cudart/cudart.h"

#define TESSERA_EXPORT extern "C" __attribute__((visibility("default")))

using tessera::ptx::LaunchCall;

TESSERA_EXPORT cudaError_t cudaGetDeviceProperties(cudaDeviceProp* p, int device) {
  tessera::ptx::Properties known{};
  const auto error = static_cast<cudaError_t>(tessera::ptx::properties(device, known));
  if (error != cudaSuccess) return error;
  *p = {};
  std::snprintf(p->name, sizeof p->name, "%s", known.name);
  p->totalGlobalMem = known.memory;
  p->sharedMemPerBlockOptin = known.shared_opt_in;
  p->major = known.major;
  p->minor = known.minor;
  p->multiProcessorCount = known.multiprocessors;
  return cudaSuccess;
}

TESSERA_EXPORT cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* c, const void* function, void** arguments) {
  bool early = false;
  unsigned cluster = 1;
  for (unsigned k = 0; k < c->numAttrs; ++k) {
    const cudaLaunchAttribute& a = c->attrs[k];
    if (a.id == cudaLaunchAttributeProgrammaticStreamSerialization)
      early = a.val.programmaticStreamSerializationAllowed != 0;
    else if (a.id == cudaLaunchAttributeClusterDimension && a.val.clusterDim.y == 1 && a.val.clusterDim.z == 1)
      cluster = a.val.clusterDim.x;
    else return cudaErrorNotSupported;
  }
  return static_cast<cudaError_t>(tessera::ptx::launch({{c->gridDim.x, c->gridDim.y, c->gridDim.z},
                                                        {c->blockDim.x, c->blockDim.y, c->blockDim.z},
                                                        c->dynamicSmemBytes,
                                                        c->stream,
                                                        function,
                                                        arguments,
                                                        early,
                                                        cluster}));
}
TESSERA_EXPORT cudaError_t cudaFuncSetAttribute(const void* function, cudaFuncAttribute attribute, int value) {
  if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize) return cudaErrorNotSupported;
  return static_cast<cudaError_t>(tessera::ptx::allow_shared(function, value));
}

TESSERA_EXPORT cudaError_t cudaLibraryLoadData(cudaLibrary_t* library, const void* image, cudaJitOption*, void**,
                                               unsigned, cudaLibraryOption*, void**, unsigned) {
  return static_cast<cudaError_t>(
      tessera::ptx::load_library(static_cast<const char*>(image), reinterpret_cast<void**>(library)));
}
TESSERA_EXPORT cudaError_t cudaLibraryGetKernel(cudaKernel_t* kernel, cudaLibrary_t library, const char* name) {
  return static_cast<cudaError_t>(
      tessera::ptx::library_kernel(library, name, const_cast<const void**>(reinterpret_cast<void**>(kernel))));
}
TESSERA_EXPORT cudaError_t cudaLibraryUnload(cudaLibrary_t library) {
  return static_cast<cudaError_t>(tessera::ptx::unload_library(library));
}

TESSERA_EXPORT void** __cudaRegisterFatBinary(void* wrapper) { return tessera::ptx::register_binary(wrapper); }
TESSERA_EXPORT void __cudaRegisterFatBinaryEnd(void**) {}
TESSERA_EXPORT void __cudaUnregisterFatBinary(void**) {}
TESSERA_EXPORT void __cudaRegisterFunction(void** binary, const char* host_function, char*, const char* name, int,
                                           uint3*, uint3*, dim3*, dim3*, int*) {
  tessera::ptx::register_kernel(binary, host_function, name);
}
// What kernel<<<…>>>() compiles to, which the dialect does not use: the stubs of kernels name these and never run.
TESSERA_EXPORT cudaError_t __cudaPopCallConfiguration(dim3*, dim3*, size_t*, void*) { return cudaErrorNotSupported; }
TESSERA_EXPORT cudaError_t __cudaGetKernel(cudaKernel_t*, const void*) { return cudaErrorNotSupported; }
TESSERA_EXPORT cudaError_t __cudaLaunchKernel(cudaKernel_t, dim3, dim3, void**, size_t, cudaStream_t) {
  return cudaErrorNotSupported;
}
