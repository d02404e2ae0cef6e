// What the emulated runtime says it found; tests change it, or TESSERA_EMULATED_GPUS in the environment: how many, or
// no-driver.
#pragma once
#include <cstddef>

namespace tessera::emulation {

struct Device {
  int count = 1;       // 0: a driver without a device
  bool driver = true;  // false: no driver
  size_t memory = size_t{1} << 30;
  int multiprocessors = 132, major = 9, minor = 0;
};
Device& device();

}  // namespace tessera::emulation
