// Long arrays: the same values in memory and in scratch after any operation; nothing is left in the folder; errors name
// the failed operation.
#include "base/storage/spill_vector.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <numeric>

#include "base/error.h"
#include "base/storage/fingerprint.h"
#include "support/folder.h"
#include "support/thrown.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

class Scratch : public test::InFolder {
 protected:
  // A limit that holds `bytes` of arrays in memory.
  std::shared_ptr<MemoryLimit> limit(int64_t bytes) const {
    return std::make_shared<MemoryLimit>(2 * bytes, folder_.string());
  }
};

constexpr size_t kMany = 300000;

TEST_F(Scratch, HoldsTheValuesOfAVector) {
  std::vector<int32_t> list;
  Bulk<int32_t> memory, scratch(limit(1 << 17), "numbers");
  const auto same = [&] {
    ASSERT_EQ(memory.size(), list.size());
    EXPECT_TRUE(std::equal(list.begin(), list.end(), memory.begin()));
    EXPECT_TRUE(memory == scratch);
  };
  for (int32_t i = 0; i < 50000; ++i) list.push_back(i), memory.push_back(i), scratch.push_back(i);
  EXPECT_TRUE(scratch.in_scratch());
  EXPECT_FALSE(memory.in_scratch());
  same();
  list.resize(kMany, 7), memory.resize(kMany, 7), scratch.resize(kMany, 7);
  same();
  list.insert(list.end(), list.begin(), list.begin() + 9), memory.insert(memory.end(), list.end() - 9, list.end()),
      scratch.insert(scratch.end(), list.end() - 9, list.end());
  scratch.relax();
  same();
  list.resize(5), memory.resize(5), scratch.resize(5);
  same();
  list.assign(kMany, -1), memory.assign(kMany, -1), scratch.assign(kMany, -1);
  same();
  const Bulk<int32_t> copy = scratch;
  EXPECT_TRUE(copy.in_scratch()) << "a copy has the limit of what it is a copy of";
  EXPECT_TRUE(copy == memory);
  const Bulk<int32_t> moved = std::move(scratch);
  EXPECT_TRUE(moved == memory);
  EXPECT_TRUE(scratch.empty());  // NOLINT: what was moved from is empty, not unknown
  EXPECT_TRUE(fs::is_empty(folder_)) << "a scratch file has no name";
}

TEST_F(Scratch, UsesMemoryWithinLimitAndReleasesIt) {
  const auto room = limit(1 << 20);
  {
    Bulk<double> first(room, "first"), second(room, "second");
    first.resize((1 << 20) / sizeof(double));
    EXPECT_FALSE(first.in_scratch());
    EXPECT_EQ(room->held(), 1 << 20);
    second.resize(1 << 16);
    EXPECT_TRUE(second.in_scratch());
    EXPECT_EQ(room->held(), 1 << 20) << "what is in scratch is not held in memory";
    first.release();
    EXPECT_EQ(room->held(), 0);
    first.resize(1 << 16);
    EXPECT_FALSE(first.in_scratch());
  }
  EXPECT_EQ(room->held(), 0);
}

TEST_F(Scratch, ThrowsAtLimitWithoutFolder) {
  Bulk<double> numbers(std::make_shared<MemoryLimit>(1 << 20), "numbers");
  test::expect_error(ErrorCode::memory, {"numbers"}, [&] { numbers.resize(1 << 20); });
  EXPECT_TRUE(numbers.empty());
}

TEST_F(Scratch, PiecesCoverTheArrayInOrder) {
  Bulk<int32_t> numbers(limit(0), "numbers");
  numbers.resize(3 * (size_t{1} << 18) + 5);
  std::iota(numbers.begin(), numbers.end(), 0);
  int32_t next = 0;
  numbers.each_part([&](std::span<const int32_t> part, size_t first) {
    EXPECT_EQ(static_cast<int32_t>(first), next);
    for (const int32_t x : part) EXPECT_EQ(x, next++);
  });
  EXPECT_EQ(static_cast<size_t>(next), numbers.size());
  Fingerprint whole, parts;
  whole.add(std::vector<int32_t>(numbers));
  parts.add(numbers);
  EXPECT_EQ(whole.text(), parts.text());
}

// Resident bytes of the mapping that begins at `data`.
int64_t resident(const void* data) {
  std::ifstream maps("/proc/self/smaps");
  char begin[32];
  std::snprintf(begin, sizeof begin, "%lx-", reinterpret_cast<unsigned long>(data));
  int64_t kilobytes = -1;
  bool here = false;
  for (std::string line; std::getline(maps, line) && kilobytes < 0;) {
    if (line.starts_with(begin)) here = true;
    if (here && line.starts_with("Rss:")) kilobytes = std::stoll(line.substr(4));
  }
  return kilobytes * 1024;
}

TEST_F(Scratch, RandomReadsStayWithinResidentShare) {
  constexpr size_t kCount = size_t{1} << 24, kRow = 50;
  const auto room = limit(1 << 20);
  Bulk<int32_t> numbers(room, "numbers");
  numbers.expect_random_reads();
  numbers.resize(kCount, 7);
  ASSERT_TRUE(numbers.in_scratch());
  EXPECT_EQ(numbers.random_reads(kRow), room->random_bytes() / ((1 << 16) + 200));
  EXPECT_EQ(Bulk<int32_t>(kCount).random_reads(kRow), INT64_MAX) << "all of it is in memory, and stays there";
  numbers.relax();
  EXPECT_EQ(resident(numbers.data()), 0);
  constexpr int64_t kReads = 50;
  int64_t sum = 0;
  for (int64_t i = 0; i < kReads; ++i) sum += numbers[static_cast<size_t>(i) * 331337 % kCount];
  EXPECT_EQ(sum, 7 * kReads);
  EXPECT_GT(resident(numbers.data()), 0);
  EXPECT_LE(resident(numbers.data()), kReads * (1 << 16)) << "large pages were mapped whole";
}

TEST_F(Scratch, ReportsFullDiskAndMissingFolder) {
  const auto refused = [&](const std::shared_ptr<MemoryLimit>& room, size_t count, const char* part) {
    Bulk<double> numbers(room, "numbers");
    test::expect_error(ErrorCode::io, {part, "`scratch`"}, [&] { numbers.resize_for_overwrite(count); });
  };
  refused(std::make_shared<MemoryLimit>(2, (folder_ / "nowhere").string()), kMany, "nowhere");
  refused(limit(1), size_t{1} << 50, "the disk is full");
  rlimit before{}, small{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  small = before;
  small.rlim_cur = 1 << 20;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  refused(limit(1), kMany, "allowed size");
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
}

}  // namespace
}  // namespace tessera
