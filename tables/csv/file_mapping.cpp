#include "tables/csv/file_mapping.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <mutex>

namespace tessera {
namespace {

constexpr int kSlots = 64;  // files mapped at a time; beyond them a file is read instead

// What the handler looks at: lock-free, as it may interrupt anything.
struct MappingSlot {
  std::atomic<char*> begin{nullptr}, end{nullptr};
  std::atomic<bool> cut{false};
};
MappingSlot slots[kSlots];
static_assert(std::atomic<char*>::is_always_lock_free && std::atomic<bool>::is_always_lock_free);

std::mutex installing;
int mapped = 0;              // mappings that live; under `installing`
struct sigaction before {};  // whose signal it is when the page is none of ours

void on_sigbus(int signal, siginfo_t* info, void* context) {
  char* const at = static_cast<char*>(info->si_addr);
  for (MappingSlot& s : slots) {
    char *const begin = s.begin.load(), *const end = s.end.load();
    if (begin == nullptr || at < begin || at >= end) continue;
    const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
    char* const from = at - reinterpret_cast<uintptr_t>(at) % page;
    if (::mmap(from, static_cast<size_t>(end - from), PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
        MAP_FAILED)
      break;
    s.cut.store(true);
    return;  // the read is tried again, and finds zeros
  }
  if ((before.sa_flags & SA_SIGINFO) != 0 && before.sa_sigaction != nullptr)
    return before.sa_sigaction(signal, info, context);
  if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) return before.sa_handler(signal);
  struct sigaction usual {};
  usual.sa_handler = SIG_DFL;
  ::sigaction(SIGBUS, &usual, nullptr);  // met again on return, and then it ends the process
}

// The handler is there only while a file is mapped.
int enter(char* begin, size_t size) {
  const std::lock_guard lock(installing);
  for (int i = 0; i < kSlots; ++i) {
    if (slots[i].begin.load() != nullptr) continue;
    if (mapped == 0) {
      struct sigaction ours {};
      ours.sa_sigaction = on_sigbus;
      ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
      if (::sigaction(SIGBUS, &ours, &before) != 0) return -1;
    }
    ++mapped;
    slots[i].cut.store(false);
    slots[i].end.store(begin + size);
    slots[i].begin.store(begin);
    return i;
  }
  return -1;
}

void leave(int slot) {
  const std::lock_guard lock(installing);
  slots[slot].begin.store(nullptr);
  if (--mapped > 0) return;
  struct sigaction now {};
  if (::sigaction(SIGBUS, nullptr, &now) == 0 && (now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == on_sigbus)
    ::sigaction(SIGBUS, &before, nullptr);
}

}  // namespace

bool FileMapping::map(int file, size_t size) {
  void* p = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
  if (p == MAP_FAILED) return false;
  slot_ = enter(static_cast<char*>(p), size);
  if (slot_ < 0) {
    ::munmap(p, size);
    return false;
  }
  ::madvise(p, size, MADV_SEQUENTIAL);
  file_ = file, data_ = static_cast<char*>(p), size_ = size;
  return true;
}

FileMapping::~FileMapping() {
  if (data_ == nullptr) return;
  leave(slot_);
  ::munmap(data_, size_);
}

bool FileMapping::cut_short() const {
  if (data_ == nullptr) return false;
  struct stat now {};
  return slots[slot_].cut.load() || ::fstat(file_, &now) != 0 || static_cast<size_t>(now.st_size) < size_;
}

}  // namespace tessera
