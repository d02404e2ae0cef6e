// A plugin of another release: its table begins with another version.
#include "engine/device/device_api.h"

extern "C" __attribute__((visibility("default"))) const tessera::DeviceApi* tessera_device_backend() {
  static const tessera::DeviceApi table = [] {
    tessera::DeviceApi t{};
    t.abi = tessera::kDeviceAbi + 6;
    t.table_bytes = sizeof(tessera::KernelTable);
    return t;
  }();
  return &table;
}
