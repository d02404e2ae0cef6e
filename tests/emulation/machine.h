// The execution model of CUDA on one CPU thread: a fiber for each CUDA thread, block barriers, warp collectives, shared
// memory, cooperative grids, clusters of blocks.
// What a GPU would let pass or hang on is a Fault here: barriers in different places, a mask that names lanes that are
// not there, a deadlock, a write past an array.
#pragma once
#include <cstddef>
#include <cstdint>
#include <random>
#include <stdexcept>
#include <string>

namespace tessera::emulation {

struct Dim {
  unsigned x = 1, y = 1, z = 1;
};

// A line of kernel source: the default argument of everything that waits.
struct Place {
  const char* file;
  int line;
  static constexpr Place here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) { return {file, line}; }
  bool operator==(const Place&) const = default;
};

// A kernel did what it must not. The message says which kernel, block, thread and line.
class Fault : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// In which order threads run between two waits, and blocks: on a GPU any order may happen, so a right kernel gives the
// same bits under all.
struct Schedule {
  enum Order { sequential, reverse, random } order = sequential;
  uint64_t seed = 0;
  int preempt = 0;  // race build: also switch at one in `preempt` accesses to device memory; 0: never
};
// restarts: a random schedule depends on its seed, not on earlier launches
void set_schedule(const Schedule& schedule);
Schedule schedule();
std::mt19937_64& order_of_streams();  // what random schedules choose among streams with
// "sequential", "reverse", "random:7"; what the environment's TESSERA_SCHEDULE is read with.
Schedule parse_schedule(const std::string& text);

struct Grid {
  const char* name;
  Dim grid, block;
  size_t smem = 0;
  bool cooperative = false;
  bool early = false;    // every thread must wait for the launch before, which has ended in fact
  unsigned cluster = 1;  // consecutive blocks that run together
};
// Runs kernel(argument) on every thread of the grid, to the end. Throws Fault.
void run_grid(const Grid& grid, void (*kernel)(void*), void* argument);

// What was launched since the last reset, for tests.
struct Counts {
  int64_t launches = 0, blocks = 0, threads = 0, switches = 0;
};
Counts counts();
void reset_counts();

// ---- called on a fiber --------------------------------------------------------------------------
bool on_fiber();
[[noreturn]] void fault(const std::string& what);  // ends the launch
void block_barrier(Place place);
void block_barrier_votes(int vote, int (*combine)(int, int), int& result, Place place);
void grid_barrier(Place place);
void cluster_barrier(Place place);
int cluster_rank();
void wait_for_launch_before();

// Static shared memory: the block's first thread to arrive at a site fixes its place. The bytes are 0xFF at first
// (NaN), with guards around them.
struct Site {
  char unused;
};
void* shared_memory(Site& site, size_t bytes, size_t alignment);
template <class T>
T& shared(Site& site) {
  return *static_cast<T*>(shared_memory(site, sizeof(T), alignof(T) < 16 ? 16 : alignof(T)));
}
void* dynamic_shared_memory();
// The same bytes of the shared memory of another block of the cluster. Faults: before the cluster's first barrier (that
// block may not run yet), and where no barrier keeps that block from ending before.
void from_block(const void* own, int rank, void* to, size_t bytes, Place place);
void to_block(const void* own, int rank, const void* from, size_t bytes, Place place);

// A warp collective: every lane of the mask posts its operand; the last to arrive computes all results, with
// complete(operands by lane, mask).
using Complete = void (*)(void* const* operands, unsigned mask);
void warp_collective(const char* operation, unsigned mask, void* operand, Complete complete, Place place);
void orders_memory(void* const* operands, unsigned mask);  // the completion of __syncwarp: nothing to compute
int lane();
void preempt();  // continues later: other threads run first

// cp.async: bytes arrive at the wait for their group, not before, as late as the hardware might.
void copy_async(void* shared, const void* global, int bytes, int read, Place place);
void in_shared_memory(const void* p);  // a fault if it is not in the block's shared memory
void copy_commit();
void copy_wait(int pending);
void matrix_line(const void* line);  // of ldmatrix: a fault unless 16 bytes of shared memory at a multiple of 16

}  // namespace tessera::emulation
