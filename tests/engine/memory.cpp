// Memory limits: allocations are counted, exceeding the limit is an error, and everything is released.
#include "base/storage/memory.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "base/threads/team.h"
#include "support/thrown.h"

namespace tessera {
namespace {

TEST(Memory, CountsAndReleasesShares) {
  const auto limit = std::make_shared<MemoryLimit>(1000);
  {
    MemoryShare a(limit, 600, "a");
    EXPECT_EQ(limit->held(), 600);
    EXPECT_THROW(MemoryShare(limit, 401, "too much"), Error);
    EXPECT_EQ(limit->held(), 600) << "what was refused is not held";
    MemoryShare b(limit, 400, "b");
    b.resize(100, "b");
    MemoryShare moved = std::move(b);
    const MemoryShare copy(moved);  // a copy of a share holds nothing
    EXPECT_EQ(limit->held(), 700);
    a = MemoryShare();
    EXPECT_EQ(limit->held(), 100);
    EXPECT_THROW(moved.resize(1001, "moved"), Error);
    EXPECT_EQ(limit->held(), 100);
    moved.resize(1000, "moved");
  }
  EXPECT_EQ(limit->held(), 0);
}

TEST(Memory, ReportsBytesInUse) {
  const auto limit = std::make_shared<MemoryLimit>(10'000'000);
  const MemoryShare held(limit, 8'000'000, "something");
  test::expect_error(ErrorCode::memory, {"10.0 MB", "3.0 MB for activations", "8.0 MB are in use", "memory_limit"},
                     [&] { MemoryShare(limit, 3'000'000, "activations"); });
}

TEST(Memory, AcceptsEverythingWithoutLimit) {
  MemoryShare none = Team(1).share(int64_t{1} << 60, "anything");
  none.resize(int64_t{1} << 61, "anything");
  const auto unlimited = std::make_shared<MemoryLimit>(0);
  EXPECT_NO_THROW(MemoryShare(unlimited, int64_t{1} << 60, "anything"));
}

TEST(Memory, HoldsLimitAcrossThreads) {
  const auto limit = std::make_shared<MemoryLimit>(1000);
  std::atomic<int> exceeded{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 2000; ++i) try {
          const MemoryShare share(limit, 300, "a part");
          exceeded += limit->held() > 1000 + 4 * 300;  // what is refused is counted for a moment
        } catch (const Error&) {}
    });
  for (auto& t : threads) t.join();
  EXPECT_EQ(exceeded, 0);
  EXPECT_EQ(limit->held(), 0);
}

}  // namespace
}  // namespace tessera
