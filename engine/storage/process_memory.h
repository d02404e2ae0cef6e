// Memory of this process, and memory available to it: counts of the operating system.
#pragma once
#include <cstdint>
#include <string>

namespace tessera {

// Bytes; 0 where the kernel does not say.
struct ProcessMemory {
  int64_t resident = 0;   // now: VmRSS
  int64_t peak = 0;       // the most so far: VmHWM
  int64_t available = 0;  // that can still be taken: of the machine, or of the process's cgroups if they have less
};
// `root`: where /proc and /sys are found.
ProcessMemory process_memory(const std::string& root = "");

// Gives pages that the allocator keeps of freed blocks back to the system: what follows may not fit into their gaps.
// Milliseconds; nothing where the C library has no such call.
void release_freed_memory();

}  // namespace tessera
