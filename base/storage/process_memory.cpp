#include "base/storage/process_memory.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <string_view>

#ifdef __GLIBC__  // defined by any header of the C library
#include <malloc.h>
#endif

namespace tessera {
namespace {

// The number after `key` in lines of "key: 12 kB" or "key 12"; -1: there is none.
int64_t field(const std::string& path, std::string_view key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.compare(0, key.size(), key) != 0) continue;
    const size_t at = line.find_first_of("0123456789", key.size());
    int64_t value = -1;
    if (at != std::string::npos) std::from_chars(line.data() + at, line.data() + line.size(), value);
    return value;
  }
  return -1;
}

int64_t kilobytes(const std::string& path, std::string_view key) {
  return std::max<int64_t>(field(path, key), 0) << 10;
}

// The bytes that a cgroup's limit leaves; -1: it has none. Pages of files not used lately can be reclaimed.
int64_t left_of(const std::string& folder, const char* limit, const char* usage) {
  const int64_t maximum = field(folder + limit, "");
  if (maximum < 0) return -1;
  const int64_t used = std::max<int64_t>(field(folder + usage, ""), 0);
  const int64_t files = std::max<int64_t>(field(folder + "/memory.stat", "inactive_file "), 0);
  return std::max<int64_t>(maximum - std::max<int64_t>(used - files, 0), 0);
}

// The minimum over the process's cgroups, from its own up to the root.
int64_t left_of_cgroups(const std::string& root) {
  int64_t smallest = -1;
  const auto look = [&](const std::string& mount, std::string path, const char* limit, const char* usage) {
    for (;;) {
      const int64_t left = left_of(mount + path, limit, usage);
      if (left >= 0 && (smallest < 0 || left < smallest)) smallest = left;
      if (path.empty()) return;
      path.resize(std::min(path.rfind('/'), path.size()));
    }
  };
  std::ifstream file(root + "/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string path = line.substr(second + 1) == "/" ? "" : line.substr(second + 1);
    if (controllers.empty()) look(root + "/sys/fs/cgroup", path, "/memory.max", "/memory.current");
    if (controllers == "memory")
      look(root + "/sys/fs/cgroup/memory", path, "/memory.limit_in_bytes", "/memory.usage_in_bytes");
  }
  return smallest;
}

}  // namespace

ProcessMemory process_memory(const std::string& root) {
  ProcessMemory m;
  m.resident = kilobytes(root + "/proc/self/status", "VmRSS:");
  m.peak = std::max(kilobytes(root + "/proc/self/status", "VmHWM:"), m.resident);
  m.available = kilobytes(root + "/proc/meminfo", "MemAvailable:");
  if (const int64_t left = left_of_cgroups(root); left >= 0 && left < m.available) m.available = left;
  return m;
}

void release_freed_memory() {
#ifdef __GLIBC__
  (void)::malloc_trim(0);
#endif
}

}  // namespace tessera
