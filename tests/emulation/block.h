// What a launch is made of: threads, their warps and blocks, a block's shared memory, copies under way. Internal to the
// machine.
#pragma once
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "emulation/fiber.h"
#include "emulation/machine.h"

namespace tessera::emulation {

// A thread's cp.async groups: queued, and done at the wait.
class Copies {
 public:
  // The first `read` of the bytes from `from`, zeros after them.
  void add(void* to, const void* from, int bytes, int read, Place place) {
    if (read > 0) open_.push_back({to, from, read, place});
    if (read < bytes) open_.push_back({static_cast<char*>(to) + read, nullptr, bytes - read, place});
  }
  void commit() {
    groups_.push_back(std::move(open_));
    open_.clear();
  }
  void wait(int pending) {
    while (static_cast<int>(groups_.size()) > pending) {
      for (const Copy& c : groups_.front()) carry_out(c);
      groups_.erase(groups_.begin());
    }
  }
  bool empty() const { return groups_.empty() && open_.empty(); }
  bool uncompleted() const {
    if (!open_.empty()) return true;
    for (const auto& g : groups_)
      if (!g.empty()) return true;
    return false;
  }

 private:
  struct Copy {
    void* to;
    const void* from;
    int bytes;
    Place place;
  };
  static void carry_out(const Copy& c);
  std::vector<std::vector<Copy>> groups_;
  std::vector<Copy> open_;
};

// Static arrays one after the other with guards between them, the dynamic ones behind. Everything is 0xFF at first: NaN
// as a float, −1 as an integer.
class SharedMemory {
 public:
  explicit SharedMemory(size_t dynamic_bytes);
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  void* at(const void* site, size_t bytes, size_t alignment);  // nullptr: no room
  void* dynamic() { return base_; }
  void* twin(const void* p, SharedMemory& other) const;  // where p's array lies in another block; nullptr: in none
  bool holds(const void* p, size_t bytes) const {
    return p >= base_ && static_cast<const char*>(p) + bytes <= base_ + used_;
  }
  bool inside(const void* p, size_t bytes) const {  // of one array
    for (const Piece& x : pieces_)
      if (p >= base_ + x.offset && static_cast<const char*>(p) + bytes <= base_ + x.offset + x.bytes) return true;
    return false;
  }
  const char* base() const { return base_; }
  std::string damage() const;  // a guard that was written to; empty: none

 private:
  struct Piece {
    const void* site;
    size_t offset, bytes;
  };
  void guard(size_t from, size_t to);
  char* base_;
  size_t used_ = 0;
  std::vector<Piece> pieces_;
};

struct Block;
struct Thread {
  enum Waiting { none, barrier, warp, grid, cluster } waiting = none;
  Fiber fiber;
  Block* block = nullptr;
  int number = 0;  // in the block
  Dim index;
  Place place{"", 0};
  bool ended = false, waited = false;
  Copies copies;
};

struct Warp {
  struct Pending {
    const char* operation;
    unsigned mask, arrived;
    Place place;
    Complete complete;
    void* operand[32];
    Thread* thread[32];
  };
  unsigned live = 0;
  std::vector<Pending> pending;
  std::unique_ptr<uint32_t[]> clocks;  // the race checker's, [lane][lane]
};

// Blocks that run together and reach each other's shared memory.
struct Cluster {
  std::vector<Block*> blocks;  // by rank; nullptr: has ended
  std::vector<Thread*> at_barrier;
  uint32_t barriers = 0;  // passed
};

struct Block {
  Block(size_t smem, int count)
      : shared(smem), threads(static_cast<size_t>(count)), warps(static_cast<size_t>((count + 31) / 32)), live(count) {
    for (int i = 0; i < count; ++i) warps[static_cast<size_t>(i / 32)].live |= 1u << (i % 32);
  }
  SharedMemory shared;
  std::vector<Thread> threads;
  std::vector<Warp> warps;
  std::vector<Thread*> at_barrier;
  Dim index;
  int64_t number = 0;
  int live;
  uint32_t epoch = 0, grid_epoch = 0;  // barriers passed; grid_epoch: those of the grid, or of the cluster
  uint32_t together = 1;               // as many consecutive blocks those hold
  std::shared_ptr<Cluster> cluster;
  uint32_t reached =
      0;  // barriers that the cluster had passed when another block last read or wrote shared memory here
  int vote = 0, decided = 0;
};

void admit(const Grid& grid);  // counts a launch; throws Fault where no GPU would take it
Thread* current_thread();      // nullptr outside kernels
uint32_t launch_number();
// where the compiler expects no exception: the thread's frames are abandoned
[[noreturn]] void fault_at_access(const std::string& what);

// What a checker of accesses is told (race/race.cpp, in the race build only).
struct Watcher {
  void (*shared_fresh)(const char* base, size_t bytes);  // shared memory that nobody has written to
  void (*syncwarp)(Warp& warp, unsigned mask);           // orders the lanes' memory; shuffles and votes do not
  // by the current thread, in the machine's own code
  void (*access)(const void* p, size_t bytes, bool write, Place place);
  void (*atomic)(bool begins);
};
extern const Watcher* watcher;

}  // namespace tessera::emulation
