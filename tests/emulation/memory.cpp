#include "emulation/memory.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>

#include "emulation/device.h"
#include "emulation/machine.h"
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

namespace tessera::emulation {
namespace {

constexpr unsigned char kGuard = 0xA5, kFresh = 0xFF;

std::map<uintptr_t, size_t>& regions() {  // by begin; never destroyed, so that what lives as long may free
  static auto* all = new std::map<uintptr_t, size_t>;
  return *all;
}
std::map<uintptr_t, Region> borrowed;
// What region_at_or_near() found last, by pages of the address: a kernel reads several regions by turns, and the host's
// memory between them.
struct Found {
  uintptr_t begin = 0, end = 0;
  Region region;  // empty: none lies at or near these addresses
};
constexpr uintptr_t kPageBytes = 4096;
std::array<Found, 256> last_found;
Region region_of(const std::pair<const uintptr_t, size_t>& r) { return {reinterpret_cast<char*>(r.first), r.second}; }
Region region_of(const std::pair<const uintptr_t, Region>& r) { return r.second; }
size_t in_use = 0;
int accesses = 0;

#if defined(__SANITIZE_ADDRESS__)
void poison(const void* p, size_t n) { ASAN_POISON_MEMORY_REGION(p, n); }
void unpoison(const void* p, size_t n) { ASAN_UNPOISON_MEMORY_REGION(p, n); }
constexpr bool kPoisons = true;
#else
void poison(const void*, size_t) {}
void unpoison(const void*, size_t) {}
constexpr bool kPoisons = false;
#endif

void check(uintptr_t begin, size_t bytes) {
  if (kPoisons) return;  // it was reported when it happened
  const auto whole = [](uintptr_t from, uintptr_t to) {
    return std::all_of(reinterpret_cast<const unsigned char*>(from), reinterpret_cast<const unsigned char*>(to),
                       [](unsigned char c) { return c == kGuard; });
  };
  const char* where = !whole(begin - kDeviceGuard, begin)                   ? "before"
                      : !whole(begin + bytes, begin + bytes + kDeviceGuard) ? "past the end of"
                                                                            : nullptr;
  if (where != nullptr)
    throw Fault(std::string("a kernel or copy wrote ") + where + " an allocation of " + std::to_string(bytes) +
                " bytes of device memory");
}

}  // namespace

void* allocate_device(size_t bytes) {
  if (in_use + bytes > device().memory) return nullptr;
  char* raw = static_cast<char*>(std::aligned_alloc(256, (bytes + 2 * kDeviceGuard + 255) / 256 * 256));
  if (raw == nullptr) return nullptr;
  char* p = raw + kDeviceGuard;
  std::memset(raw, kGuard, kDeviceGuard);
  std::memset(p, kFresh, bytes);
  std::memset(p + bytes, kGuard, kDeviceGuard);
  poison(raw, kDeviceGuard);
  poison(p + bytes, kDeviceGuard);
  if (accesses == 0) poison(p, bytes);
  regions()[reinterpret_cast<uintptr_t>(p)] = bytes;
  last_found.fill({});
  in_use += bytes;
  return p;
}

bool free_device(void* p) {
  const auto at = regions().find(reinterpret_cast<uintptr_t>(p));
  if (at == regions().end()) return false;
  const size_t bytes = at->second;
  regions().erase(at);
  last_found.fill({});
  in_use -= bytes;
  unpoison(static_cast<char*>(p) - kDeviceGuard, bytes + 2 * kDeviceGuard);
  struct Freed {
    char* raw;
    ~Freed() { std::free(raw); }
  } freed{static_cast<char*>(p) - kDeviceGuard};
  check(reinterpret_cast<uintptr_t>(p), bytes);
  return true;
}

namespace {
// Narrows addresses around p, at which no region lies, by those of `all` and their guards.
void narrow(const auto& all, const void* p, uintptr_t guard, Found& around) {
  const auto next = all.upper_bound(reinterpret_cast<uintptr_t>(p));
  if (next != all.end()) around.end = std::min(around.end, next->first - guard);
  if (next == all.begin()) return;
  around.begin = std::max(around.begin, reinterpret_cast<uintptr_t>(region_of(*std::prev(next)).end()) + guard);
}

Region find(const auto& all, const void* p, uintptr_t guard) {
  const uintptr_t a = reinterpret_cast<uintptr_t>(p);
  auto next = all.upper_bound(a + guard);
  if (next == all.begin()) return {};
  const Region r = region_of(*--next);
  return a >= reinterpret_cast<uintptr_t>(r.end()) + guard ? Region{} : r;
}
}  // namespace

Region device_region(const void* p) {
  const Region r = find(regions(), p, 0);
  return r.begin != nullptr ? r : find(borrowed, p, 0);
}

const Region* region_at_or_near(const void* p) {
  const auto a = reinterpret_cast<uintptr_t>(p);
  Found& known = last_found[a / kPageBytes % last_found.size()];
  if (a >= known.begin && a < known.end) return known.region.begin != nullptr ? &known.region : nullptr;
  Region r = device_region(p);
  if (r.begin == nullptr) r = find(regions(), p, kDeviceGuard);
  if (r.begin == nullptr) r = find(borrowed, p, kHostGuard);
  if (r.begin == nullptr) {
    known = {0, ~uintptr_t{0}, {}};
    narrow(regions(), p, kDeviceGuard, known);
    narrow(borrowed, p, kHostGuard, known);
    return nullptr;
  }
  known = {reinterpret_cast<uintptr_t>(r.begin), reinterpret_cast<uintptr_t>(r.end()), r};
  return &known.region;
}

bool Region::holds(const void* p, size_t n) const {
  const char* at = static_cast<const char*>(p);
  if (at < begin || at + n > end()) return false;
  return row == stride || static_cast<size_t>(at - begin) % stride + n <= row;
}

Borrowed::Borrowed(const void* p, size_t bytes, size_t row, size_t stride) {
  char* begin = static_cast<char*>(const_cast<void*>(p));
  if (p != nullptr && bytes > 0 && device_region(p).begin == nullptr &&
      borrowed.try_emplace(reinterpret_cast<uintptr_t>(p), Region{begin, bytes, row, stride}).second) {
    p_ = p;
    last_found.fill({});
  }
}
Borrowed::~Borrowed() {
  if (p_ == nullptr) return;
  borrowed.erase(reinterpret_cast<uintptr_t>(p_));
  last_found.fill({});
}

void check_guards() {
  for (const auto& [begin, bytes] : regions()) check(begin, bytes);
}
size_t device_bytes_in_use() { return in_use; }

DeviceAccess::DeviceAccess() {
  if (accesses++ == 0 && kPoisons)
    for (const auto& [begin, bytes] : regions()) unpoison(reinterpret_cast<void*>(begin), bytes);
}
DeviceAccess::~DeviceAccess() {
  if (--accesses == 0 && kPoisons)
    for (const auto& [begin, bytes] : regions()) poison(reinterpret_cast<void*>(begin), bytes);
}

}  // namespace tessera::emulation
