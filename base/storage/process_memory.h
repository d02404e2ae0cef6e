// Memory of this process, and memory available to it: counts of the operating system.
#pragma once
#include <cstdint>
#include <string>

namespace tessera {

// Bytes; 0 if the kernel does not report them.
struct ProcessMemory {
  int64_t resident = 0;   // now: VmRSS
  int64_t peak = 0;       // maximum so far: VmHWM
  int64_t available = 0;  // still available: in the machine, or in the process's cgroups if they have less
};
// `root`: the folder that contains /proc and /sys.
ProcessMemory process_memory(const std::string& root = "");

// Returns pages of freed blocks that the allocator keeps to the system, because later blocks may not fit into their
// gaps. Takes milliseconds; does nothing if the C library has no such call.
void release_freed_memory();

}  // namespace tessera
