// The emulated libcudart: what its two files share. One knows the emulation's types, the other CUDA's own, and no file
// may know both.
#pragma once
#include <cstddef>

namespace tessera::ptx {

struct Properties {
  const char* name;
  size_t memory, shared_opt_in;
  int major, minor, multiprocessors;
};
int properties(int device, Properties& p);  // a cudaError_t

struct LaunchCall {
  unsigned grid[3], block[3];
  size_t dynamic_shared;
  void* stream;
  const void* host_function;
  void** arguments;
  bool early = false;    // cudaLaunchAttributeProgrammaticStreamSerialization
  unsigned cluster = 1;  // cudaLaunchAttributeClusterDimension
};
int launch(const LaunchCall& call);
int allow_shared(const void* host_function, int bytes);  // cudaFuncAttributeMaxDynamicSharedMemorySize

// PTX text as a library of its own; its kernels by name, as host functions. cudaError_t, as the functions of libcudart.
int load_library(const char* text, void** library);
int library_kernel(void* library, const char* name, const void** host_function);
int unload_library(void* library);

// nvcc's host code registers these before main().
void** register_binary(const void* wrapper);
void register_kernel(void** binary, const void* host_function, const char* name);

}  // namespace tessera::ptx
