// Each process creates an unnamed file in memory, and the others open it through /proc. Its mapped pages count as
// memory of the processes and are freed with the last of them, however they end.
#include "engine/comm/process_window.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

namespace tessera {
namespace {

class Mapping {
 public:
  explicit Mapping(int64_t bytes) : bytes_(static_cast<size_t>(bytes)) {}
  ~Mapping() {
    for (void* p : mapped_) ::munmap(p, bytes_);
  }
  Mapping(const Mapping&) = delete;

  // nullptr: it cannot be mapped
  char* add(int file, int access) {
    void* p = file < 0 ? MAP_FAILED : ::mmap(nullptr, bytes_, access, MAP_SHARED, file, 0);
    if (p == MAP_FAILED) return nullptr;
    mapped_.push_back(p);
    return static_cast<char*>(p);
  }

 private:
  const size_t bytes_;
  std::vector<void*> mapped_;
};

// A rank's description of its file. On another machine the process and file numbers may refer to a different file, so
// the rank that opens it compares the secret written in it.
struct Offer {
  int64_t process = 0, file = -1;
  uint64_t secret = 0;
};

}  // namespace

std::unique_ptr<SharedWindow> window_of_processes(Communicator& rank, int64_t capacity) {
  const int64_t bytes = SharedWindow::bytes(capacity);
  const auto mapping = std::make_shared<Mapping>(bytes);
  std::vector<char*> memory(static_cast<size_t>(rank.size()), nullptr);
  Offer own;
  const int file = ::memfd_create("tessera exchange", MFD_CLOEXEC);
  if (file >= 0 && ::ftruncate(file, bytes) == 0) {
    char* mine = mapping->add(file, PROT_READ | PROT_WRITE);
    if (mine != nullptr && ::getentropy(&own.secret, sizeof own.secret) == 0) {
      own.process = ::getpid(), own.file = file;
      *reinterpret_cast<uint64_t*>(mine + sizeof(uint64_t)) = own.secret;  // after the count of exchanges
      memory[static_cast<size_t>(rank.rank())] = mine;
    }
  }
  std::vector<Offer> offers(memory.size());
  rank.all_gather(&own, offers.data(), sizeof own);
  for (size_t r = 0; r < offers.size(); ++r) {
    const Offer& o = offers[r];
    if (o.file < 0 || memory[r] != nullptr) continue;
    const std::string path = fmt::format("/proc/{}/fd/{}", o.process, o.file);
    // on another machine the number may be that of a file that blocks when opened
    const int theirs = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat found {};
    if (theirs >= 0 && ::fstat(theirs, &found) == 0 && S_ISREG(found.st_mode) && found.st_size == bytes) {
      const char* mapped = mapping->add(theirs, PROT_READ);
      if (mapped != nullptr && *reinterpret_cast<const uint64_t*>(mapped + sizeof(uint64_t)) == o.secret)
        memory[r] = const_cast<char*>(mapped);
    }
    if (theirs >= 0) ::close(theirs);
  }
  char all_there = 1;
  for (const char* m : memory) all_there = all_there != 0 && m != nullptr ? 1 : 0;
  std::vector<char> everywhere(memory.size());
  rank.all_gather(&all_there, everywhere.data(), 1);  // after this no rank opens this rank's file
  if (file >= 0) ::close(file);
  for (const char there : everywhere)
    if (there == 0) return nullptr;
  return std::make_unique<SharedWindow>(rank.rank(), std::move(memory), capacity, mapping);
}

}  // namespace tessera
