#include "engine/device/cuda/check.h"

namespace tessera {
namespace cuda {
namespace {

// What to try. An error of a kernel appears at a later call, so the message cannot name the kernel.
const char* remedy(cudaError_t e) {
  switch (e) {
    case cudaErrorMemoryAllocation: return "A smaller `batch_size` needs less; `device=cpu` has the machine's memory.";
    case cudaErrorInsufficientDriver:
      return "Install an NVIDIA driver for CUDA 13.0 (580 or newer), or use `device=cpu`.";
    case cudaErrorNoDevice: return "Check nvidia-smi and CUDA_VISIBLE_DEVICES, or use `device=cpu`.";
    // not reached: no emulated GPU lacks a kernel
    case cudaErrorNoKernelImageForDevice: return "Rebuild with -DTESSERA_CUDA_ARCHITECTURES naming this GPU.";
    case cudaErrorInvalidDevice: return "tessera info lists the available devices.";
    default: return "compute-sanitizer names the kernel; `device=cpu` runs the same plan. Please report it.";
  }
}

void failed_launch(cudaError_t error, const char* kernel) {
  fail(error, "cudaLaunchKernelEx", std::string("starting the kernel ") + kernel);
}

}  // namespace

std::string& message() {
  static thread_local std::string text;
  return text;
}

void fail(cudaError_t error, const char* call, const std::string& doing) {
  (void)cudaGetLastError();  // clears an error that is not sticky
  message() = std::string("CUDA: ") + call + " failed while " + doing + ": " + cudaGetErrorName(error) + " (" +
              cudaGetErrorString(error) + ").\n  " + remedy(error);
  const bool none =
      error == cudaErrorInsufficientDriver || error == cudaErrorNoDevice || error == cudaErrorInvalidDevice;
  throw Failed{none                                 ? DeviceStatus::missing
               : error == cudaErrorMemoryAllocation ? DeviceStatus::memory
                                                    : DeviceStatus::failed};
}

}  // namespace cuda

CudaFailure on_cuda_failure = cuda::failed_launch;

}  // namespace tessera
