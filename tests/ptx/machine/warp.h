// A warp that executes PTX: 32 lanes in step, in as many paths as its branches divide them into. The path that is
// furthest behind runs first, so that paths meet again where the code does.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "emulation/block.h"
#include "emulation/memory.h"
#include "ptx/machine/module.h"

namespace tessera::ptx {

// How far the instructions that PTX only bounds are from exact: at an end of their documented error, or rounded to the
// nearest.
enum class Ends { nearest, low, high };
Ends ends();  // TESSERA_PTX_ENDS=low|high in the environment

// What the warps of a launch share.
struct Running {
  const Module& module;
  const Function& kernel;
  const char* parameters;
  emulation::Dim grid, block;
  std::string name;  // for people
  bool strict;       // addresses of memory that nobody allocated are faults
  bool early;        // every lane executes griddepcontrol.wait
  bool holds;        // it may not pass it yet
  std::vector<Array> shared;
};

// A cluster's blocks as they see each other.
struct ClusterMemory {
  struct One {
    char* shared;
    bool ended = false;
    uint32_t reached = 0;  // barriers passed when another block last read or wrote there
  };
  std::vector<One> blocks;  // by rank
  uint32_t barriers = 0;    // passed
};

class Warp {
 public:
  Warp(const Module& module, int number);
  void begin(const Running& launch, emulation::Dim block, ClusterMemory& cluster, size_t rank, int threads);
  enum class State { ended, at_barrier, at_cluster, held };
  State run();  // until each of its lanes has ended or waits: for block, cluster or (held) the launch before
  void pass_barrier();
  bool ended() const { return paths_.empty(); }
  int lanes_ended() const;
  int64_t executed() const { return executed_; }  // instructions, those too whose guard holds for no lane
  int waiting_line() const { return paths_.empty() ? 0 : line(paths_.front().pc); }

  // For handlers.
  template <class T>
  T* lanes(uint32_t operand) {
    return reinterpret_cast<T*>(base_[operand >> 31] + (operand & ~kConstant));
  }
  Mask& predicate(uint32_t number) { return predicates_[number]; }
  uint32_t* carry() { return carry_; }
  // Where each lane's `bytes` of the instruction's address lie; a fault where one may not.
  void resolve(const Instruction& i, int operand, int64_t offset, Space space, Mask mask, size_t bytes,
               char* (&at)[kLanes]);
  emulation::Copies& copies(int lane) { return copies_[static_cast<size_t>(lane)]; }
  Mask live() const { return live_; }
  Mask& waited() { return waited_; }    // for the launch before; all lanes, if that has ended
  Mask& arrived() { return arrived_; }  // at the cluster's barrier
  size_t blocks_of_cluster() const { return cluster_->blocks.size(); }
  [[noreturn]] void fault(const Instruction& i, Mask mask, const std::string& what) const;

 private:
  struct Path {
    uint32_t pc;
    Mask mask;
    enum Waiting { none, lanes, barrier, cluster, launch } waiting = none;
    std::vector<uint32_t> callers;  // where it returns to
    bool meets(const Path& o) const { return pc == o.pc && callers == o.callers; }
    bool at_barrier() const { return waiting == barrier || waiting == cluster; }
  };
  size_t furthest_behind();
  void follow(size_t at);
  bool branch(Path& path, const Instruction& i, Mask taken);
  bool gathered(const Path& path, const Instruction& i, Mask active);
  void end_lanes(const Path& path, const Instruction& i, Mask mask);
  uint32_t meeting_point(size_t at) const;
  int line(uint32_t pc) const { return launch_->module.code[pc].line; }
  struct Memory;
  Memory memory_of(Space space, uint64_t low, uint64_t high, size_t bytes);
  void reach(const Instruction& i, Mask mask, const uint64_t (&address)[kLanes]);
  bool is_allocated(const char* low, const char* high, size_t bytes);

  const Running* launch_ = nullptr;
  int number_;
  int64_t executed_ = 0;
  emulation::Dim block_;
  ClusterMemory* cluster_ = nullptr;
  size_t rank_ = 0;
  Mask live_ = 0, whole_ = 0, waited_ = 0, arrived_ = 0;
  std::vector<Path> paths_;
  std::unique_ptr<char[]> registers_, local_, call_;
  char* base_[2];
  std::vector<Mask> predicates_;
  uint32_t carry_[kLanes] = {};
  std::vector<emulation::Copies> copies_;
  emulation::Region near_;
};

}  // namespace tessera::ptx
