// The CUDA backend on the emulated machine.
#pragma once
#include "engine/device/device.h"

extern "C" const tessera::DeviceApi* tessera_device_backend();

namespace tessera {

inline Device& emulated_device() {
  static auto* device = new Device(*tessera_device_backend(), 0);  // never closed: programs of static life may use it
  return *device;
}

}  // namespace tessera
