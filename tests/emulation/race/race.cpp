// The race build: kernels compiled with -fsanitize=thread call these functions at every access instead of libtsan's,
// and each access to shared or device memory is compared with those before it. Ordered are: what one thread does;
// launches; barriers of a grid, of a cluster, of a block; the lanes of a __syncwarp, transitively (vector clocks).
// Nothing else, shuffles and votes included. Found without luck: it does not matter whether the schedule made the race
// do harm.
#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <unordered_map>

#include "emulation/block.h"
#include "emulation/memory.h"

namespace tessera::emulation {
namespace {

// Four words that stay in registers: fields of one and two bytes that are stored one by one and copied whole stall
// every access (half of this file's time before).
struct Access {
  const void* pc;     // or, with a line, the file's name
  uint64_t grid;      // launch, block
  uint64_t progress;  // epoch, clock
  uint64_t rest;      // atomic, bytes (of the cell's four), line, grid epoch, thread

  uint32_t launch() const { return static_cast<uint32_t>(grid >> 32); }
  uint32_t block() const { return static_cast<uint32_t>(grid); }
  uint32_t epoch() const { return static_cast<uint32_t>(progress >> 32); }
  uint32_t clock() const { return static_cast<uint32_t>(progress); }
  bool atomic() const { return (rest >> 52 & 1) != 0; }
  uint32_t bytes() const { return rest >> 48 & 0xF; }
  uint32_t line() const { return rest >> 32 & 0xFFFF; }
  uint32_t grid_epoch() const { return rest >> 16 & 0xFFFF; }
  uint32_t thread() const { return rest & 0xFFFF; }
  bool same_thread(const Access& other) const { return grid == other.grid && thread() == other.thread(); }
};
Access access_of(const Thread& t, const void* pc, int line, bool atomic, uint32_t clock) {
  const auto word = [](auto high, auto low, int bits) {
    return static_cast<uint64_t>(high) << bits | static_cast<uint64_t>(low);
  };
  const uint64_t threads = word(static_cast<uint16_t>(t.block->grid_epoch), static_cast<uint16_t>(t.number), 16);
  const uint64_t source = word(atomic ? 16 : 0, static_cast<uint16_t>(line), 16);
  return {pc, word(launch_number(), static_cast<uint32_t>(t.block->number), 32), word(t.block->epoch, clock, 32),
          word(source, threads, 32)};
}
constexpr int kReads = 3;
struct Cell {
  Access write, read[kReads];
  bool unwritten;  // fresh shared memory
};
constexpr uintptr_t kPage = 1024;
struct Page {
  Cell cell[kPage / 4];
};

std::unordered_map<uintptr_t, std::unique_ptr<Page>>& pages() {
  static auto* all = new std::unordered_map<uintptr_t, std::unique_ptr<Page>>;
  return *all;
}
Cell& cell_at(uintptr_t a) {
  struct Known {
    uintptr_t number;
    Page* page = nullptr;
  };
  static std::array<Known, 4096> last;  // pages are never freed
  Known& known = last[a / kPage % last.size()];
  if (known.page == nullptr || known.number != a / kPage) {
    auto& p = pages()[a / kPage];
    if (!p) p = std::make_unique<Page>();
    known = {a / kPage, p.get()};
  }
  return known.page->cell[a % kPage / 4];
}

bool in_atomic = false;
uint64_t random_state = 0x9E3779B97F4A7C15ull;

Warp& warp_of(const Thread& t) { return t.block->warps[static_cast<size_t>(t.number / 32)]; }
uint32_t* clocks_of(Warp& w) {
  if (!w.clocks) {
    w.clocks = std::make_unique<uint32_t[]>(32 * 32);
    for (int l = 0; l < 32; ++l) w.clocks[l * 32 + l] = 1;
  }
  return w.clocks.get();
}

std::string source_line(const void* pc) {
  Dl_info object{};
  if (dladdr(pc, &object) == 0) return "?";
  char command[4096], line[512] = "";
  std::snprintf(command, sizeof command, "addr2line -e '%s' -p %#zx 2> /dev/null", object.dli_fname,
                static_cast<size_t>(static_cast<const char*>(pc) - static_cast<const char*>(object.dli_fbase)));
  if (FILE* out = popen(command, "r")) {
    if (std::fgets(line, sizeof line, out) == nullptr) line[0] = 0;
    pclose(out);
  }
  std::string text = line;
  if (const size_t end = text.find_first_of(" \n"); end != std::string::npos) text.resize(end);
  if (const size_t slash = text.rfind('/'); slash != std::string::npos) text = text.substr(slash + 1);
  return text;
}
std::string where(const Access& a) {
  if (a.line() == 0) return source_line(static_cast<const char*>(a.pc) - 1);
  const char* file = static_cast<const char*>(a.pc);
  const char* slash = std::strrchr(file, '/');
  return std::string(slash == nullptr ? file : slash + 1) + ":" + std::to_string(a.line());
}

// Ends the launch from inside an access, which may be half of an atomic.
[[noreturn]] void stop(const std::string& what) {
  in_atomic = false;
  fault_at_access(what);
}

inline bool ordered(const Access& before, const Access& now, const Thread& t) {
  if (before.launch() != now.launch()) return true;
  const uint32_t together = t.block->together;
  if (before.grid_epoch() != now.grid_epoch() && before.block() / together == now.block() / together) return true;
  if (before.block() != now.block()) return false;
  if (before.thread() == now.thread() || before.epoch() != now.epoch()) return true;
  if (before.thread() / 32 != now.thread() / 32) return false;
  return clocks_of(warp_of(t))[now.thread() % 32 * 32 + before.thread() % 32] >= before.clock();
}

[[noreturn, gnu::cold, gnu::noinline]] void race(Access before, bool wrote, Access now, bool writes, bool shared) {
  stop(std::string("a race in ") + (shared ? "shared" : "device") +
       " memory: " + (writes ? "writes at " : "reads at ") + where(now) + " what thread " +
       std::to_string(before.thread()) + " of block " + std::to_string(before.block()) +
       (wrote ? " wrote at " : " read at ") + where(before) + ", and nothing orders the two");
}

inline void check_cell(uintptr_t a, uint32_t bytes, bool write, const Access& access, const Thread& t, bool shared) {
  Cell& c = cell_at(a);
  const Access now{access.pc, access.grid, access.progress, access.rest | static_cast<uint64_t>(bytes) << 48};
  const auto clash = [&](const Access& before) {
    return before.launch() != 0 && (before.bytes() & bytes) != 0 && !(before.atomic() && now.atomic()) &&
           !ordered(before, now, t);
  };
  if (clash(c.write)) race(c.write, true, now, write, shared);
  if (write) {
    for (const Access& r : c.read)
      if (clash(r)) race(r, false, now, true, shared);
    c.write = now;
    c.unwritten = false;
    return;
  }
  if (shared && c.unwritten) stop("reads at " + where(now) + " shared memory that nobody has written to");
  Access* place = &c.read[(a / 4 + now.clock()) % kReads];
  for (Access& r : c.read)
    if (r.launch() == 0 || ordered(r, now, t)) place = &r;
  for (Access& r : c.read)
    if (r.same_thread(now)) place = &r;
  *place = now;
}

[[gnu::cold, gnu::noinline]] void stop_outside(const Region& region, const void* p, size_t size, bool write,
                                               Access now) {
  const char* at = static_cast<const char*>(p);
  const bool between = at >= region.begin && at + size <= region.end();
  stop((write ? "writes at " : "reads at ") + where(now) + (between ? " between the rows of" : " outside of") +
       " an allocation of " + std::to_string(region.bytes) + " bytes of device memory");
}

void check(const void* p, size_t size, bool write, const void* pc, int line) {
  const Thread* t = current_thread();
  if (t == nullptr) return;
  const uintptr_t a = reinterpret_cast<uintptr_t>(p);
  if (a - reinterpret_cast<uintptr_t>(t->fiber.stack) < fiber_stack_bytes()) return;  // the thread's own
  const SharedMemory* arrays = &t->block->shared;
  bool shared = arrays->holds(p, 0);
  const Region* region = shared ? nullptr : region_at_or_near(p);
  if (!shared && region == nullptr) {
    for (const Block* b : t->block->cluster->blocks)
      if (b != nullptr && b->shared.holds(p, 0)) shared = true, arrays = &b->shared;
    if (!shared) return;  // the host's
  }
  const Access now = access_of(*t, pc, line, in_atomic, clocks_of(warp_of(*t))[t->number % 32 * 33]);
  if (shared && !arrays->inside(p, size)) stop("touches at " + where(now) + " shared memory outside of its arrays");
  if (!shared && !region->holds(p, size)) stop_outside(*region, p, size, write, now);
  if (const int one_of = schedule().preempt; one_of > 0 && !in_atomic) {
    random_state = random_state * 6364136223846793005ull + 1442695040888963407ull;
    if ((random_state >> 33) % static_cast<uint64_t>(one_of) == 0) preempt();
  }
  for (uintptr_t at = a; at < a + size;) {
    const uintptr_t next = std::min<uintptr_t>((at / 4 + 1) * 4, a + size);
    check_cell(at, (0xFu << (at % 4) & 0xFu) & (0xFu >> ((4 - (next - 1) % 4 - 1))), write, now, *t, shared);
    at = next;
  }
}

const Watcher kWatcher{
    [](const char* base, size_t bytes) {
      for (uintptr_t a = reinterpret_cast<uintptr_t>(base) / kPage * kPage;
           a < reinterpret_cast<uintptr_t>(base) + bytes; a += kPage) {
        auto& page = pages()[a / kPage];
        if (!page) page = std::make_unique<Page>();
        std::memset(static_cast<void*>(page->cell), 0, sizeof page->cell);
        for (Cell& c : page->cell) c.unwritten = true;
      }
    },
    [](Warp& warp, unsigned mask) {
      uint32_t* clocks = clocks_of(warp);
      uint32_t joined[32]{};
      for (int l = 0; l < 32; ++l)
        for (int k = 0; k < 32 && (mask >> l & 1) != 0; ++k) joined[k] = std::max(joined[k], clocks[l * 32 + k]);
      for (int l = 0; l < 32; ++l) {
        if ((mask >> l & 1) == 0) continue;
        std::memcpy(clocks + l * 32, joined, sizeof joined);
        ++clocks[l * 32 + l];
      }
    },
    [](const void* p, size_t bytes, bool write, Place place) { check(p, bytes, write, place.file, place.line); },
    [](bool on) { in_atomic = on; },
};
[[maybe_unused]] const bool installed = (watcher = &kWatcher, true);

}  // namespace
}  // namespace tessera::emulation

// What the compiler calls.
#define TESSERA_ACCESS(kind, write) \
  extern "C" void __tsan_##kind##1(void* p) { \
    tessera::emulation::check(p, 1, write, __builtin_return_address(0), 0); \
  } \
  extern "C" void __tsan_##kind##2(void* p) { \
    tessera::emulation::check(p, 2, write, __builtin_return_address(0), 0); \
  } \
  extern "C" void __tsan_##kind##4(void* p) { \
    tessera::emulation::check(p, 4, write, __builtin_return_address(0), 0); \
  } \
  extern "C" void __tsan_##kind##8(void* p) { \
    tessera::emulation::check(p, 8, write, __builtin_return_address(0), 0); \
  } \
  extern "C" void __tsan_##kind##16(void* p) { \
    tessera::emulation::check(p, 16, write, __builtin_return_address(0), 0); \
  }
TESSERA_ACCESS(read, false)
TESSERA_ACCESS(write, true)
TESSERA_ACCESS(unaligned_read, false)
TESSERA_ACCESS(unaligned_write, true)
TESSERA_ACCESS(volatile_read, false)
TESSERA_ACCESS(volatile_write, true)
#undef TESSERA_ACCESS
extern "C" {
void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}
void __tsan_read_range(void* p, size_t n) { tessera::emulation::check(p, n, false, __builtin_return_address(0), 0); }
void __tsan_write_range(void* p, size_t n) { tessera::emulation::check(p, n, true, __builtin_return_address(0), 0); }
}
// Atomics of the host code in the same files (reference counts); kernels use the functions of warp.h.
#define TESSERA_ATOMICS(bits, type) \
  type __tsan_atomic##bits##_load(const volatile type* p, int) { return __atomic_load_n(p, __ATOMIC_SEQ_CST); } \
  void __tsan_atomic##bits##_store(volatile type* p, type v, int) { __atomic_store_n(p, v, __ATOMIC_SEQ_CST); } \
  type __tsan_atomic##bits##_exchange(volatile type* p, type v, int) { \
    return __atomic_exchange_n(p, v, __ATOMIC_SEQ_CST); \
  } \
  type __tsan_atomic##bits##_fetch_add(volatile type* p, type v, int) { \
    return __atomic_fetch_add(p, v, __ATOMIC_SEQ_CST); \
  } \
  type __tsan_atomic##bits##_fetch_sub(volatile type* p, type v, int) { \
    return __atomic_fetch_sub(p, v, __ATOMIC_SEQ_CST); \
  } \
  int __tsan_atomic##bits##_compare_exchange_strong(volatile type* p, type* e, type v, int, int) { \
    return __atomic_compare_exchange_n(p, e, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
  } \
  int __tsan_atomic##bits##_compare_exchange_weak(volatile type* p, type* e, type v, int, int) { \
    return __atomic_compare_exchange_n(p, e, v, true, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
  }
extern "C" {
TESSERA_ATOMICS(8, unsigned char)
TESSERA_ATOMICS(32, unsigned)
TESSERA_ATOMICS(64, unsigned long)
}
#undef TESSERA_ATOMICS
