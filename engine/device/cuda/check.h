// Errors of the CUDA runtime as messages: the call, the operation, what to try. Thrown inside the backend, converted to
// a status at the functions of its table.
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
    message() = "the host is out of memory for the GPU's work.";
    return DeviceStatus::memory;
  }
}

}  // namespace tessera::cuda
