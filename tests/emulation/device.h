// What the emulated runtime says it found; tests change it, or the environment: TESSERA_EMULATED_GPUS, how many, or
// no-driver; TESSERA_EMULATED_FULL_GPU, the number of one that has no memory left; TESSERA_EMULATED_MEMORY, the bytes
// of each; TESSERA_EMULATED_CAPABILITY, as 8.0, what they can do.
#pragma once
#include <cstddef>

namespace tessera::emulation {

struct Device {
  int count = 1;       // 0: a driver without a device
  bool driver = true;  // false: no driver
  size_t memory = size_t{1} << 30;
  int full = -1;  // number of one without memory
  int multiprocessors = 132, major = 9, minor = 0;
};
Device& device();

}  // namespace tessera::emulation
