// Errors of the CUDA runtime as sentences: the call, what was being done, what to try. Thrown inside the backend,
// turned into a status where its table ends.
#pragma once
#include <string>

#include "engine/device/device_api.h"
#include "kernels/gpu/dialect/dialect.h"

namespace tessera::cuda {

struct Failed {
  DeviceStatus status;
};

std::string& message();  // of this thread
[[noreturn]] void fail(cudaError_t error, const char* call, const std::string& doing);
inline void check(cudaError_t error, const char* call, const std::string& doing) {
  if (error != cudaSuccess) fail(error, call, doing);
}

template <class Body>
DeviceStatus guarded(Body&& body) {
  try {
    body();
    return DeviceStatus::ok;
  } catch (const Failed& f) { return f.status; } catch (const std::bad_alloc&) {
    message() = "no memory of the host is left for the GPU's work.";
    return DeviceStatus::memory;
  }
}

}  // namespace tessera::cuda
