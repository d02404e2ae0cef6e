// What a process has of the machine's memory: the least of what the machine and its cgroups leave.
#include "base/storage/process_memory.h"
#include "support/folder.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace tessera {
namespace {

namespace fs = std::filesystem;
constexpr int64_t kMegabyte = 1 << 20;

class ProcessMemoryTest : public test::InFolder {
 protected:
  ProcessMemoryTest() {
    write("/proc/meminfo", "MemTotal: 999999 kB\nMemAvailable:   102400 kB\n");
    write("/proc/self/status", "Name:\tx\nVmHWM:\t  300 kB\nVmRSS:\t  200 kB\n");
  }
  void write(const std::string& path, const std::string& text) const {
    fs::create_directories(fs::path(folder_.string() + path).parent_path());
    std::ofstream(folder_.string() + path) << text;
  }
  ProcessMemory found() const { return process_memory(folder_.string()); }
};

TEST_F(ProcessMemoryTest, IsWhatTheKernelCounts) {
  EXPECT_EQ(found().resident, 200 * 1024);
  EXPECT_EQ(found().peak, 300 * 1024);
  EXPECT_EQ(found().available, 100 * kMegabyte);
  EXPECT_GT(process_memory().resident, kMegabyte);
  EXPECT_GE(process_memory().peak, process_memory().resident);
}

TEST_F(ProcessMemoryTest, TheNarrowestCgroupCounts) {
  write("/proc/self/cgroup", "0::/outer/inner\n");
  write("/sys/fs/cgroup/outer/memory.max", std::to_string(50 * kMegabyte));
  write("/sys/fs/cgroup/outer/memory.current", std::to_string(30 * kMegabyte));
  write("/sys/fs/cgroup/outer/memory.stat", "anon 5\ninactive_file " + std::to_string(10 * kMegabyte) + "\n");
  write("/sys/fs/cgroup/outer/inner/memory.max", "max\n");
  EXPECT_EQ(found().available, 30 * kMegabyte);
  write("/sys/fs/cgroup/outer/inner/memory.max", std::to_string(7 * kMegabyte));
  EXPECT_EQ(found().available, 7 * kMegabyte);
}

TEST_F(ProcessMemoryTest, CgroupsOfTheFirstVersionCountToo) {
  write("/proc/self/cgroup", "5:cpu:/a\n4:memory:/job\n");
  write("/sys/fs/cgroup/memory/job/memory.limit_in_bytes", std::to_string(20 * kMegabyte));
  write("/sys/fs/cgroup/memory/job/memory.usage_in_bytes", std::to_string(25 * kMegabyte));
  EXPECT_EQ(found().available, 0);
}

TEST(ProcessMemoryWithoutProc, IsZero) {
  const ProcessMemory m = process_memory("/does/not/exist");
  EXPECT_EQ(m.resident + m.peak + m.available, 0);
}

}  // namespace
}  // namespace tessera
