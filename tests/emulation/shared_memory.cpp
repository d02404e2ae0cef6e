#include <sys/mman.h>

#include <algorithm>
#include <new>

#include "emulation/block.h"
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

namespace tessera::emulation {
namespace {

constexpr size_t kRoom = 227 * 1024, kGap = 128, kAll = kRoom + 64 * kGap;
constexpr unsigned char kGuard = 0xA5, kFresh = 0xFF;

// Arenas are kept: a launch of many blocks takes the same few.
struct Arenas {
  ~Arenas() {
    for (char* p : free) munmap(p, kAll);
  }
  std::vector<char*> free;
} arenas;

}  // namespace

SharedMemory::SharedMemory(size_t dynamic_bytes) {
  if (arenas.free.empty()) {
    void* p = mmap(nullptr, kAll, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) throw std::bad_alloc();
    arenas.free.push_back(static_cast<char*>(p));
  }
  base_ = arenas.free.back();
  arenas.free.pop_back();
  guard(0, kGap);
  base_ += kGap;
  std::memset(base_, kFresh, dynamic_bytes);
  pieces_.push_back({nullptr, 0, dynamic_bytes});
  used_ = (dynamic_bytes + kGap + kGap - 1) / kGap * kGap;
  guard(dynamic_bytes, used_);
  if (watcher != nullptr) watcher->shared_fresh(base_, kAll - kGap);
}

SharedMemory::~SharedMemory() {
#if defined(__SANITIZE_ADDRESS__)
  ASAN_UNPOISON_MEMORY_REGION(base_ - kGap, kAll);
#endif
  arenas.free.push_back(base_ - kGap);
}

void SharedMemory::guard(size_t from, size_t to) {
  std::memset(base_ + from, kGuard, to - from);
#if defined(__SANITIZE_ADDRESS__)
  ASAN_POISON_MEMORY_REGION(base_ + from, to - from);
#endif
}

void* SharedMemory::at(const void* site, size_t bytes, size_t alignment) {
  for (const Piece& p : pieces_)
    if (p.site == site) return base_ + p.offset;
  const size_t start = (used_ + alignment - 1) / alignment * alignment;
  const size_t end = (start + bytes + kGap + kGap - 1) / kGap * kGap;
  size_t taken = bytes;
  for (const Piece& p : pieces_) taken += p.bytes;
  if (taken > kRoom || end + kGap > kAll) return nullptr;
#if defined(__SANITIZE_ADDRESS__)
  ASAN_UNPOISON_MEMORY_REGION(base_ + start, bytes);
#endif
  std::memset(base_ + start, kFresh, bytes);
  guard(start + bytes, end);
  pieces_.push_back({site, start, bytes});
  used_ = end;
  return base_ + start;
}

void* SharedMemory::twin(const void* p, SharedMemory& other) const {
  const size_t at = static_cast<size_t>(static_cast<const char*>(p) - base_);
  for (const Piece& x : pieces_)
    if (at >= x.offset && at < x.offset + x.bytes)
      return static_cast<char*>(x.site == nullptr ? other.dynamic() : other.at(x.site, x.bytes, 16)) + (at - x.offset);
  return nullptr;
}

#if defined(__SANITIZE_ADDRESS__)
std::string SharedMemory::damage() const { return ""; }  // it was reported when it happened
#else
std::string SharedMemory::damage() const {
  const auto whole = [&](const char* from, const char* to) {
    return std::all_of(from, to, [](char c) { return static_cast<unsigned char>(c) == kGuard; });
  };
  if (!whole(base_ - kGap, base_)) return "wrote before its shared memory";
  for (size_t i = 0; i < pieces_.size(); ++i) {
    const size_t end = pieces_[i].offset + pieces_[i].bytes,
                 next = i + 1 < pieces_.size() ? pieces_[i + 1].offset : used_;
    if (!whole(base_ + end, base_ + next))
      return "wrote past the end of its " + std::string(i == 0 ? "dynamic shared memory" : "shared array") + " of " +
             std::to_string(pieces_[i].bytes) + " bytes";
  }
  return "";
}
#endif

}  // namespace tessera::emulation
