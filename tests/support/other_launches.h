// The CUDA backend with other fused launches than its own.
#pragma once
#include "engine/device/device_api.h"
#include "kernels/fused.h"
#include "kernels/gpu/dialect/table.h"

extern "C" const tessera::DeviceApi* tessera_device_backend();

namespace tessera {

struct OtherLaunches {
  explicit OtherLaunches(const FusedKernels& those) : fused(those) { table.fused = &fused, api.kernels = &table; }
  OtherLaunches(const OtherLaunches&) = delete;

  FusedKernels fused;
  KernelTable table = *tessera_device_backend()->kernels;
  DeviceApi api = *tessera_device_backend();
};

}  // namespace tessera
