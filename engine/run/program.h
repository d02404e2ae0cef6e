// A plan with addresses: three plain allocations and a list of calls, replayed on the CPU or on a device. A step
// allocates nothing, and needs no decision by the host.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/monitor.h"
#include "base/threads/team.h"
#include "engine/device/device.h"
#include "engine/device/device_api.h"
#include "engine/plan/plan.h"
#include "engine/run/footprint.h"
#include "engine/run/live_rows.h"
#include "engine/run/phase_times.h"
#include "kernels/table.h"

namespace tessera {

// Memory aligned to a cache line; throws Error(memory) with the bytes requested, also if they exceed the team's limit.
class Arena {
 public:
  Arena(int64_t bytes, const char* what, const Team& team);
  ~Arena();
  Arena(const Arena&) = delete;
  char* data() const { return data_; }
  int64_t bytes() const { return bytes_; }

 private:
  MemoryShare share_;
  char* data_;
  int64_t bytes_;
};

class DeviceRun;
class FusedCalls;
struct Compilation;
struct LaunchReport;

class Program {
 public:
  // Team and device must outlive the program. With `reuse` off, no two values share memory, so all can be read after a
  // step.
  Program(Plan plan, const KernelTable& table, Team& team, uint64_t seed, bool reuse = true);  // on the processor
  // on the device, or by cpu_kernels() if that is the processor
  Program(Plan plan, Device& device, Team& team, uint64_t seed, bool reuse = true);
  ~Program();

  const Plan& plan() const { return plan_; }
  const Placement& placement() const { return placement_; }

  // Memory for a bound leaf [rows, cols] of the program's scalar (or int32), contiguous; it must live as long as the
  // program runs. A device gets its own copy, made here. A leaf without elements needs none.
  void bind(const std::string& leaf, const void* data);
  // The same if the plan still has the leaf: passes drop unread leaves.
  void bind_if(const std::string& leaf, const void* data) {
    if (plan_.find_leaf(leaf) != kNone) bind(leaf, data);
  }
  // the memory bound to these leaves (if the plan has them) has changed: a device copies it again
  void refresh(std::initializer_list<const char*> leaves);
  // A state's elements, contiguous; zero at first.
  template <class T>
  void put(const std::string& leaf, const T* from) {
    put_state(leaf, from, sizeof(T));
  }
  template <class T>
  std::vector<T> get(const std::string& leaf) const {
    std::vector<T> out(static_cast<size_t>(plan_.shape(plan_.find_leaf(leaf)).count()));
    get_state(leaf, out.data(), sizeof(T));
    return out;
  }
  // Its memory; on the CPU only.
  template <class T>
  T* state(const std::string& leaf) {
    return static_cast<T*>(host_state(leaf, sizeof(T)));
  }

  // Runs up to n steps, inside one parallel region or replayed by the device. Stops after a step that reported a NaN or
  // infinite loss. Returns the steps run.
  int64_t run(int64_t n);

  // Work in flight: a device has its next steps before the host reads the results of the previous ones. start() queues
  // up to n steps and, after them, downloads of the step's state and of the watched values (`keep`: diagnose() will
  // have a snapshot, before these steps or, on the CPU, some starts earlier); finish() waits for the oldest start only
  // and returns its steps.
  // At most flights() starts may be in flight. The CPU does the work in start().
  int flights() const { return device_ ? 2 : 1; }
  void watch(const std::vector<Id>& values);  // contiguous ones: states, outputs
  void start(int64_t n, bool keep = false);
  int64_t finish();
  // The elements of the i-th watched value after the finished steps, contiguous; valid until the second start after.
  template <class T>
  const T* watched(size_t i) const {
    return static_cast<const T*>(watched_data(i, sizeof(T)));
  }

  // On a device, in the background: compiles the fused launches of the plan, each of which replaces the interpreter's
  // in the steps started after it is ready. Takes up to a minute of processor time, so it is for long trainings.
  void compile_launches(const Compilation& how);  // engine/emit/launch_compiler.h
  LaunchReport launches() const;                  // engine/run/compiled_launches.h

  // For benches: n steps as single calls of the device, without the recording. The step counter need not advance.
  void run_unrecorded(int64_t n);

  // For benches, on the processor: n steps, and what each phase of a step runs with its shortest time among them.
  std::vector<TimedPhase> time_phases(int64_t n);

  StepState& step() { return *step_; }
  const StepState& step() const { return *step_; }

  // The elements of a value after a step, row by row (outputs; any value when the program does not reuse memory).
  template <class T>
  std::vector<T> read(Id value) const {
    std::vector<T> out(static_cast<size_t>(plan_.shape(value).count()));
    copy_out(value, out.data(), sizeof(T));
    return out;
  }
  Id find(const std::string& name) const { return plan_.find(name); }
  View view(Id value) const;   // with addresses on the program's device
  View fetch(Id value) const;  // with host addresses: on a device a copy, made once and valid until the next run

  // The state before a run of steps, to find the cause of a NaN: replays up to the failing step and names the first
  // value that is not finite.
  void snapshot();
  void rewind();  // back to it, with the step it was taken at
  std::string diagnose();
  // The same on a device of several ranks, on all of them at once: the number of the failing step's first exchange in
  // which this one sends non-finite values; −1: none. For a sum of which each rank computes a part, the owner of the
  // part sends it.
  int64_t bad_exchange();
  bool on_device() const { return device_ != nullptr; }

 private:
  struct Ready {  // a call and its tiles
    Kernel kernel;
    Call call;
    int64_t tiles;
    int node;
    int chain = -1;          // this chain instead of a call; its blocks are the tiles
    bool by_rows = false;    // ends with the rows of the batch, in no chain
    int64_t live_tiles = 0;  // then: of the batch's rows
  };
  // The view of a value in a call of a chain: all of it, the block's rows, or the block's own memory.
  enum class Visibility : char { whole, rows, own };
  struct Chain {
    int64_t rows, block;
    std::vector<Ready> links;
    std::vector<Visibility> visibility;  // of the links' views, contiguous
    std::vector<int64_t> own_bytes;      // of one tile of the values private to a tile
    std::vector<int64_t> inside;         // bytes of a row before a private value that is a slice of another
    size_t views = 0;                    // maximum over the links
    bool tiles = false;                  // a block is a tile, which its links' kernels address by number
    int64_t per_place = 0;               // rows for each row of the batch (live_rows.h); 0: all are computed
  };
  struct Phase {
    std::vector<Ready> calls;
    int64_t tiles = 0;
    std::vector<std::vector<int64_t>> shares;  // by thread: its tiles, numbered through all calls
  };
  char* state_address(const std::string& leaf, size_t item) const;
  void* host_state(const std::string& leaf, size_t item);
  void put_state(const std::string& leaf, const void* from, size_t item);
  void get_state(const std::string& leaf, void* to, size_t item) const;
  int64_t item_bytes(const Value& v) const { return tessera::item_bytes(v.dtype, table_.scalar_bytes); }
  void run_here(int64_t n);
  bool ends_with_batch(const Ready& call);
  void end_batch();
  void run_phase(const Phase& phase);
  Ready ready(int node, int64_t& scratch);
  Chain chain_of(const std::vector<int>& nodes, const RowChain& cut, int64_t& scratch);
  void run_block(const Chain& chain, int64_t block, char* scratch) const;
  void run_tile(const Chain& chain, int64_t tile, char* scratch) const;
  std::string diagnose_unfused();
  const void* watched_data(size_t i, size_t item) const;
  std::vector<View> watched_views() const;
  void copy_out(Id value, void* to, size_t item) const;
  void prepare();
  std::vector<double> numbers(Id value) const;
  std::string first_bad(const Phase& phase) const;
  // Calls f(phase) for each phase of the failing step, which is repeated phase by phase, until f returns true.
  template <class F>
  void repeat_bad_step(F&& stops);

  // The calls of a step on the device: fused launches if the plan is fused, else one per op.
  std::vector<DeviceCall> device_calls(int64_t& scratch);

  Plan plan_;
  const KernelTable& table_;
  Team& team_;
  Arranged arranged_;
  const Fusion& fusion_ = arranged_.fusion;
  const Placement& placement_ = arranged_.layout.placement;
  const RowChains& chains_ = arranged_.layout.chains;
  std::unique_ptr<DeviceRun> device_;  // nullptr: on the processor, in the arenas
  Arena state_, activations_;
  MemoryShare calls_;  // of the calls in views_, phases_ and row_chains_
  std::vector<char> snapshot_;
  StepState snapshot_step_{};
  std::vector<const void*> bound_, source_;  // by leaf: the address that calls read, and the host's memory
  mutable std::map<Id, std::vector<char>> fetched_;
  std::vector<View> views_;
  std::vector<Phase> phases_;
  std::vector<Chain> row_chains_;
  std::optional<LiveRows> live_;
  size_t live_from_ = 0;                              // the phase that computes the batch's rows
  int64_t batch_rows_ = 0;                            // of the step
  std::vector<std::pair<size_t, int64_t>> of_batch_;  // views that end with the batch, their rows for each place
  std::vector<std::pair<size_t, size_t>> by_rows_;    // calls by_rows: phase, place in it
  int64_t kernel_scratch_ = 0;  // bytes of a thread's scratch used by kernels; the block's own memory follows
  std::unique_ptr<FusedCalls> fused_;
  std::unique_ptr<Compilation> compilation_;
  std::unique_ptr<StepState> step_;
  std::unique_ptr<PhaseClock> clock_;  // of the steps that run; none: phases are not timed
  std::vector<Id> watched_;
  int64_t started_ = 0;  // on the CPU: steps of the unfinished start
  int starts_since_kept_ = 0;
  std::vector<std::unique_ptr<Arena>> scratch_;
  bool ready_ = false, kept_ = false;  // kept_: there is a snapshot
};

// The best table this CPU can run; TESSERA_CPU (cpu_features.h) selects a lower one.
const KernelTable& cpu_kernels();
// A table by name, "double" included; nullptr if this build or CPU lacks it.
const KernelTable* cpu_kernels(const std::string& name);

}  // namespace tessera
