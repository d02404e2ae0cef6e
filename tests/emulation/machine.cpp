#include "emulation/machine.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <vector>

#include "emulation/block.h"
#include "emulation/device.h"
#include "emulation/dialect.h"
#include "emulation/fiber.h"

uint3 threadIdx, blockIdx;
dim3 blockDim, gridDim;

namespace tessera::emulation {
namespace {

std::string short_name(const char* file) {
  const char* slash = std::strrchr(file, '/');
  return slash == nullptr ? file : slash + 1;
}
std::string text(Place p) { return short_name(p.file) + ":" + std::to_string(p.line); }
std::string text(Dim d) {
  return "(" + std::to_string(d.x) + ", " + std::to_string(d.y) + ", " + std::to_string(d.z) + ")";
}
std::string hex(unsigned mask) {
  char out[16];
  std::snprintf(out, sizeof out, "0x%08x", mask);
  return out;
}

Schedule wanted = [] {
  const char* t = std::getenv("TESSERA_SCHEDULE");
  return t == nullptr ? Schedule{} : parse_schedule(t);
}();
Counts total;
struct Stopped {};      // unwinds the thread that did wrong
uint32_t launched = 0;  // since the program began
uint32_t first = 0;     // of the launches under this schedule
std::mt19937_64 streams(wanted.seed + 99);

// One launch.
class Machine {
 public:
  Machine(const Grid& grid, void (*kernel)(void*), void* argument)
      : grid_(grid),
        kernel_(kernel),
        argument_(argument),
        random_(wanted.seed * 0x9E3779B97F4A7C15ull + (launched - first)) {}
  ~Machine() {
    for (auto& b : resident_)
      for (Thread& t : b->threads) give_fiber(t.fiber);
    for (Fiber& f : spare_) give_fiber(f);
  }

  void run();
  void note(const std::string& what) {
    if (message_.empty()) {
      message_ = std::string("kernel ") + grid_.name;
      if (current != nullptr) message_ += ", block " + text(current->block->index) + ", thread " + text(current->index);
      message_ += ": " + what;
    }
  }
  // The current thread stops until it is put back among the runnable.
  void wait(Thread::Waiting for_what, Place at) {
    current->waiting = for_what;
    current->place = at;
    Thread* me = current;
    yield(me->fiber);
  }
  void make_runnable(const std::vector<Thread*>& threads) {
    for (Thread* t : threads) t->waiting = Thread::none;
    add(threads.data(), threads.size());
  }
  void release(const Warp::Pending& p) {
    std::vector<Thread*> all;
    for (Thread* t : p.thread)
      if (t != nullptr) all.push_back(t);
    make_runnable(all);
  }
  void barrier_arrived(Thread& t);
  void grid_arrived(Thread& t);
  void cluster_arrived(Thread& t);
  bool cooperative() const { return grid_.cooperative; }

  Thread* current = nullptr;

 private:
  static void entry();
  void begin_cluster(int64_t number);
  void begin_block(int64_t number, const std::shared_ptr<Cluster>& cluster);
  void end_block(Block& b);
  void thread_ended(Thread& t);
  void step();
  Thread* next();
  void add(Thread* const* threads, size_t n);
  [[noreturn]] void deadlock();
  int64_t blocks() const { return int64_t{grid_.grid.x} * grid_.grid.y * grid_.grid.z; }
  int threads() const { return static_cast<int>(grid_.block.x * grid_.block.y * grid_.block.z); }

  Grid grid_;
  void (*kernel_)(void*);
  void* argument_;
  std::mt19937_64 random_;
  std::vector<std::unique_ptr<Block>> resident_;
  std::vector<Fiber> spare_;
  std::vector<Thread*> runnable_;  // taken from `head_` on, or anywhere when random
  size_t head_ = 0;
  std::vector<int64_t> order_;  // clusters still to come, the next one last
  std::vector<Thread*> at_grid_barrier_;
  int64_t blocks_done_ = 0;
  std::string message_;
};

Machine* machine = nullptr;
}  // namespace

void admit(const Grid& grid) {
  const auto refuse = [&](const std::string& why) { throw Fault(std::string("kernel ") + grid.name + ": " + why); };
  const Dim b = grid.block, g = grid.grid;
  const int64_t threads = int64_t{b.x} * b.y * b.z, blocks = int64_t{g.x} * g.y * g.z;
  if (threads == 0 || threads > 1024 || b.z > 64)
    refuse("a block of " + text(b) + " threads; 1 to 1024 are allowed, 64 in z");
  if (g.x > 0x7FFFFFFFu || g.y > 65535 || g.z > 65535) refuse("a grid of " + text(g) + " blocks; y and z go to 65535");
  if (grid.smem > 227 * 1024)
    refuse(std::to_string(grid.smem) + " bytes of dynamic shared memory; 232448 is the limit");
  if (grid.cooperative && blocks > 132 * (2048 / threads))
    refuse("a cooperative grid of " + std::to_string(blocks) + " blocks does not fit on the device at once");
  if (grid.cluster > 1) {
    if (device().major < 9) refuse("clusters of blocks need compute capability 9.0");
    if (grid.cluster > 8) refuse("a cluster of " + std::to_string(grid.cluster) + " blocks; 8 fit on any GPU");
    if (g.x % grid.cluster != 0)
      refuse(std::to_string(g.x) + " blocks are no multiple of a cluster of " + std::to_string(grid.cluster));
    if (grid.cooperative) refuse("clusters in a cooperative grid, which is not emulated");
  }
  ++total.launches;
  ++launched;
  total.blocks += blocks;
  total.threads += blocks * threads;
}

const Watcher* watcher = nullptr;
Thread* current_thread() { return machine == nullptr ? nullptr : machine->current; }
uint32_t launch_number() { return launched; }
void Copies::carry_out(const Copy& c) {
  if (watcher != nullptr) {
    if (c.from != nullptr) watcher->access(c.from, static_cast<size_t>(c.bytes), false, c.place);
    watcher->access(c.to, static_cast<size_t>(c.bytes), true, c.place);
  }
  if (c.from == nullptr) std::memset(c.to, 0, static_cast<size_t>(c.bytes));
  else std::memcpy(c.to, c.from, static_cast<size_t>(c.bytes));
}

namespace {

void Machine::run() {
  admit(grid_);
  order_.resize(static_cast<size_t>(blocks() / grid_.cluster));
  for (size_t i = 0; i < order_.size(); ++i) order_[i] = static_cast<int64_t>(i);
  if (wanted.order == Schedule::sequential) std::reverse(order_.begin(), order_.end());
  if (wanted.order == Schedule::random) std::shuffle(order_.begin(), order_.end(), random_);
  // Clusters run one after the other, a few side by side when the schedule is random, all of them when they may wait
  // for each other.
  const size_t together = grid_.cooperative ? order_.size() : wanted.order == Schedule::random ? 3 : 1;
  struct Current {
    explicit Current(Machine* m) { machine = m; }
    ~Current() { machine = nullptr; }
  } scope(this);
  blockDim = {grid_.block.x, grid_.block.y, grid_.block.z};
  gridDim = {grid_.grid.x, grid_.grid.y, grid_.grid.z};
  while (blocks_done_ < blocks()) {
    while (resident_.size() + grid_.cluster <= together * grid_.cluster && !order_.empty()) {
      begin_cluster(order_.back());
      order_.pop_back();
    }
    step();
    if (!message_.empty()) throw Fault(message_);
  }
}

void Machine::begin_cluster(int64_t number) {
  const auto cluster = std::make_shared<Cluster>();
  for (int64_t rank = 0; rank < grid_.cluster; ++rank) begin_block(number * grid_.cluster + rank, cluster);
}

void Machine::begin_block(int64_t number, const std::shared_ptr<Cluster>& cluster) {
  auto b = std::make_unique<Block>(grid_.smem, threads());
  b->cluster = cluster;
  b->together = grid_.cooperative ? std::numeric_limits<uint32_t>::max() : grid_.cluster;
  cluster->blocks.push_back(b.get());
  b->index = {static_cast<unsigned>(number % grid_.grid.x), static_cast<unsigned>(number / grid_.grid.x % grid_.grid.y),
              static_cast<unsigned>(number / grid_.grid.x / grid_.grid.y)};
  b->number = number;
  std::vector<Thread*> all;
  for (int i = 0; i < threads(); ++i) {
    Thread& t = b->threads[static_cast<size_t>(i)];
    const unsigned u = static_cast<unsigned>(i);
    t.block = b.get();
    t.number = i;
    t.index = {u % grid_.block.x, u / grid_.block.x % grid_.block.y, u / grid_.block.x / grid_.block.y};
    all.push_back(&t);
  }
  add(all.data(), all.size());
  resident_.push_back(std::move(b));
}

void Machine::add(Thread* const* threads, size_t n) {
  if (wanted.order == Schedule::reverse)
    for (size_t i = n; i-- > 0;) runnable_.push_back(threads[i]);
  else runnable_.insert(runnable_.end(), threads, threads + n);
}

Thread* Machine::next() {
  if (head_ == runnable_.size()) {
    runnable_.clear();
    head_ = 0;
    return nullptr;
  }
  if (wanted.order == Schedule::random)
    std::swap(runnable_[head_], runnable_[head_ + random_() % (runnable_.size() - head_)]);
  Thread* t = runnable_[head_++];
  if (head_ > 4096 && head_ * 2 > runnable_.size()) {
    runnable_.erase(runnable_.begin(), runnable_.begin() + static_cast<std::ptrdiff_t>(head_));
    head_ = 0;
  }
  return t;
}

// Runs threads until a block has ended.
void Machine::step() {
  const int64_t done = blocks_done_;
  while (blocks_done_ == done) {
    Thread* t = next();
    if (t == nullptr) deadlock();
    current = t;
    if (t->fiber.stack == nullptr) {
      if (spare_.empty()) {
        t->fiber = take_fiber();
      } else {
        t->fiber = spare_.back();
        spare_.pop_back();
      }
      begin_at(t->fiber, &Machine::entry);
    }
    threadIdx = {t->index.x, t->index.y, t->index.z};
    blockIdx = {t->block->index.x, t->block->index.y, t->block->index.z};
    ++total.switches;
    resume(t->fiber);
    if (!message_.empty()) return;
    if (t->ended) thread_ended(*t);
    if (!message_.empty()) return;
  }
}

void Machine::entry() {
  Machine& m = *machine;
  try {
    m.kernel_(m.argument_);
    m.current->ended = true;
  } catch (const Stopped&) {  // the launch is over: step() sees the message
  }
  leave(m.current->fiber);
}

void Machine::thread_ended(Thread& t) {
  Block& b = *t.block;
  spare_.push_back(t.fiber);
  t.fiber = {};
  const auto refuse = [&](const std::string& why) {
    if (message_.empty())
      message_ =
          std::string("kernel ") + grid_.name + ", block " + text(b.index) + ", thread " + text(t.index) + ": " + why;
  };
  if (!t.copies.empty() && t.copies.uncompleted())
    refuse("ended while copies of cp.async were under way: a wait is missing");
  if (grid_.early && !t.waited) refuse("ended without wait_for_launch_before() in an early launch");
  if (!b.at_barrier.empty()) refuse("returned while threads of its block wait at " + text(b.at_barrier.front()->place));
  for (const Warp::Pending& p : b.warps[static_cast<size_t>(t.number / 32)].pending)
    if ((p.mask >> (t.number % 32) & 1) != 0)
      refuse("returned while a " + std::string(p.operation) + " at " + text(p.place) + " waits for it (mask " +
             hex(p.mask) + ")");
  if (!at_grid_barrier_.empty()) refuse("returned while the grid waits at " + text(at_grid_barrier_.front()->place));
  if (const auto& waits = b.cluster->at_barrier; !waits.empty())
    refuse("returned while its cluster waits at " + text(waits.front()->place));
  b.warps[static_cast<size_t>(t.number / 32)].live &= ~(1u << (t.number % 32));
  if (--b.live == 0) end_block(b);
}

void Machine::end_block(Block& b) {
  if (const std::string damage = b.shared.damage(); !damage.empty() && message_.empty())
    message_ = std::string("kernel ") + grid_.name + ", block " + text(b.index) + ": " + damage;
  if (b.reached > 0 && b.reached == b.cluster->barriers && message_.empty())
    message_ = std::string("kernel ") + grid_.name + ", block " + text(b.index) +
               ": ended while another block of its cluster may still reach its shared memory: a barrier of the cluster "
               "behind that is missing";
  std::replace(b.cluster->blocks.begin(), b.cluster->blocks.end(), &b, static_cast<Block*>(nullptr));
  ++blocks_done_;
  current = nullptr;
  resident_.erase(std::find_if(resident_.begin(), resident_.end(), [&](const auto& r) { return r.get() == &b; }));
}

void Machine::deadlock() {
  std::string who;
  int shown = 0;
  for (const auto& b : resident_)
    for (const Thread& t : b->threads)
      if (t.waiting != Thread::none && ++shown <= 4)
        who += "\n  block " + text(b->index) + ", thread " + text(t.index) + " waits at " + text(t.place) +
               (t.waiting == Thread::barrier   ? " for its block"
                : t.waiting == Thread::warp    ? " for its warp"
                : t.waiting == Thread::cluster ? " for its cluster"
                                               : " for the grid");
  throw Fault(std::string("kernel ") + grid_.name + ": deadlock, no thread can go on." + who);
}

void Machine::barrier_arrived(Thread& t) {
  Block& b = *t.block;
  b.at_barrier.push_back(&t);
  if (b.at_barrier.size() < b.threads.size()) return;
  std::vector<Thread*> all;
  for (Thread& x : b.threads) all.push_back(&x);
  b.at_barrier.clear();
  ++b.epoch;
  make_runnable(all);
}

void Machine::grid_arrived(Thread& t) {
  at_grid_barrier_.push_back(&t);
  if (static_cast<int64_t>(at_grid_barrier_.size()) < blocks() * threads()) return;
  std::vector<Thread*> all;
  for (const auto& b : resident_) {
    ++b->grid_epoch;
    for (Thread& x : b->threads) all.push_back(&x);
  }
  at_grid_barrier_.clear();
  make_runnable(all);
}

void Machine::cluster_arrived(Thread& t) {
  Cluster& c = *t.block->cluster;
  c.at_barrier.push_back(&t);
  if (c.at_barrier.size() < c.blocks.size() * t.block->threads.size()) return;
  std::vector<Thread*> all;
  for (Block* b : c.blocks) {
    ++b->epoch, ++b->grid_epoch;
    for (Thread& x : b->threads) all.push_back(&x);
  }
  ++c.barriers;
  c.at_barrier.clear();
  make_runnable(all);
}

}  // namespace

// ---- schedules ----------------------------------------------------------------------------------
void set_schedule(const Schedule& s) {
  wanted = s;
  first = launched;
  streams.seed(s.seed + 99);
}
std::mt19937_64& order_of_streams() { return streams; }
Schedule schedule() { return wanted; }
Schedule parse_schedule(const std::string& t) {
  if (t == "sequential") return {Schedule::sequential, 0, 0};
  if (t == "reverse") return {Schedule::reverse, 0, 0};
  if (t.rfind("random:", 0) == 0) return {Schedule::random, std::strtoull(t.c_str() + 7, nullptr, 10), 0};
  throw std::invalid_argument("TESSERA_SCHEDULE=" + t + ": known are sequential, reverse and random:SEED.");
}
Counts counts() { return total; }
void reset_counts() { total = {}; }

void run_grid(const Grid& grid, void (*kernel)(void*), void* argument) {
  if (machine != nullptr) throw Fault(std::string("kernel ") + grid.name + " is launched from inside a kernel");
  Machine(grid, kernel, argument).run();
}

// ---- on a fiber ---------------------------------------------------------------------------------
bool on_fiber() { return machine != nullptr && machine->current != nullptr; }
void fault(const std::string& what) {
  if (!on_fiber()) throw Fault(what);
  machine->note(what);
  throw Stopped{};
}
void fault_at_access(const std::string& what) {
  machine->note(what);
  leave(machine->current->fiber);
}
int lane() { return machine->current->number % 32; }

void block_barrier(Place place) {
  Thread& t = *machine->current;
  Block& b = *t.block;
  if (b.live < static_cast<int>(b.threads.size()))
    fault("waits at " + text(place) + " for its block, of which " +
          std::to_string(static_cast<int>(b.threads.size()) - b.live) + " threads have returned");
  if (!b.at_barrier.empty() && !(b.at_barrier.front()->place == place))
    fault("waits at " + text(place) + " for its block, of which thread " + text(b.at_barrier.front()->index) +
          " waits at " + text(b.at_barrier.front()->place));
  t.waiting = Thread::barrier;
  t.place = place;
  machine->barrier_arrived(t);
  machine->wait(t.waiting == Thread::none ? Thread::none : Thread::barrier, place);
}

void block_barrier_votes(int vote, int (*combine)(int, int), int& result, Place place) {
  Thread& t = *machine->current;
  Block& b = *t.block;
  b.vote = b.at_barrier.empty() ? vote : combine(b.vote, vote);
  if (static_cast<size_t>(b.at_barrier.size()) + 1 == b.threads.size()) b.decided = b.vote;
  block_barrier(place);
  result = b.decided;
}

void grid_barrier(Place place) {
  if (!machine->cooperative())
    fault("waits at " + text(place) + " for the grid, which was not launched as a cooperative one");
  Thread& t = *machine->current;
  t.waiting = Thread::grid;
  t.place = place;
  machine->grid_arrived(t);
  machine->wait(t.waiting == Thread::none ? Thread::none : Thread::grid, place);
}

void cluster_barrier(Place place) {
  Thread& t = *machine->current;
  Cluster& c = *t.block->cluster;
  for (const Block* b : c.blocks)
    if (b == nullptr || b->live < static_cast<int>(b->threads.size()))
      fault("waits at " + text(place) + " for its cluster, of which threads have returned");
  if (!c.at_barrier.empty() && !(c.at_barrier.front()->place == place))
    fault("waits at " + text(place) + " for its cluster, of which a thread waits at " +
          text(c.at_barrier.front()->place));
  t.waiting = Thread::cluster;
  t.place = place;
  machine->cluster_arrived(t);
  machine->wait(t.waiting == Thread::none ? Thread::none : Thread::cluster, place);
}

int cluster_rank() {
  const Block& b = *machine->current->block;
  return static_cast<int>(b.number % static_cast<int64_t>(b.cluster->blocks.size()));
}

void wait_for_launch_before() { machine->current->waited = true; }

void* shared_memory(Site& site, size_t bytes, size_t alignment) {
  void* p = machine->current->block->shared.at(&site, bytes, alignment);
  if (p == nullptr) fault("a block's shared memory exceeds 227 KiB");
  return p;
}
void* dynamic_shared_memory() { return machine->current->block->shared.dynamic(); }

namespace {
// Where block `rank` of the cluster has what lies at `own` here.
void* in_block(const void* own, int rank, size_t bytes, Place place) {
  Block& b = *machine->current->block;
  const Cluster& c = *b.cluster;
  const std::string who =
      "reaches at " + text(place) + " shared memory of block " + std::to_string(rank) + " of its cluster";
  if (rank < 0 || static_cast<size_t>(rank) >= c.blocks.size())
    fault(who + ", which has " + std::to_string(c.blocks.size()));
  if (!b.shared.inside(own, bytes)) fault(who + " by an address that is in no array of its own shared memory");
  if (reinterpret_cast<uintptr_t>(own) % bytes != 0)
    fault(who + ", " + std::to_string(bytes) + " bytes at an address that is not a multiple of them");
  Block* other = c.blocks[static_cast<size_t>(rank)];
  if (c.barriers == 0) fault(who + " before the first barrier of the cluster: that block may not run yet");
  if (other == nullptr) fault(who + ", which has ended");
  if (other != &b) other->reached = c.barriers;
  return b.shared.twin(own, other->shared);
}
}  // namespace

void from_block(const void* own, int rank, void* to, size_t bytes, Place place) {
  const void* from = in_block(own, rank, bytes, place);
  if (watcher != nullptr) watcher->access(from, bytes, false, place);
  std::memcpy(to, from, bytes);
}
void to_block(const void* own, int rank, const void* from, size_t bytes, Place place) {
  void* to = in_block(own, rank, bytes, place);
  if (watcher != nullptr) watcher->access(to, bytes, true, place);
  std::memcpy(to, from, bytes);
}

void warp_collective(const char* operation, unsigned mask, void* operand, Complete complete, Place place) {
  Thread& t = *machine->current;
  Warp& w = t.block->warps[static_cast<size_t>(t.number / 32)];
  const unsigned me = 1u << (t.number % 32);
  if ((mask & me) == 0)
    fault(std::string(operation) + " at " + text(place) + ": lane " + std::to_string(t.number % 32) +
          " is not in its mask " + hex(mask));
  if ((mask & ~w.live) != 0)
    fault(std::string(operation) + " at " + text(place) + ": mask " + hex(mask) + " names lanes that are not there (" +
          hex(w.live) + " are)");
  Warp::Pending* p = nullptr;
  for (Warp::Pending& q : w.pending) {
    if (q.mask != mask && (q.mask & me) != 0 && (q.mask & mask) != me && (q.arrived & mask) != 0)
      fault(std::string(operation) + " at " + text(place) + " with mask " + hex(mask) +
            " waits for lanes that wait at " + text(q.place) + " with mask " + hex(q.mask));
    if (q.mask == mask) p = &q;
  }
  if (p != nullptr && (p->place != place || p->complete != complete))
    fault(std::string(operation) + " at " + text(place) + ": lanes of mask " + hex(mask) + " are in a " + p->operation +
          " at " + text(p->place));
  if (p == nullptr) {
    w.pending.push_back({operation, mask, 0, place, complete, {}, {}});
    p = &w.pending.back();
  }
  p->arrived |= me;
  p->operand[t.number % 32] = operand;
  p->thread[t.number % 32] = &t;
  if (p->arrived != mask) {
    machine->wait(Thread::warp, place);
    return;
  }
  const Warp::Pending all = *p;
  w.pending.erase(w.pending.begin() + (p - w.pending.data()));
  if (watcher != nullptr && complete == orders_memory) watcher->syncwarp(w, mask);
  complete(all.operand, mask);
  machine->release(all);
  machine->wait(Thread::none, place);
}

void orders_memory(void* const*, unsigned) {}

void preempt() {
  machine->make_runnable({machine->current});
  machine->wait(Thread::none, machine->current->place);
}

void copy_async(void* shared, const void* global, int bytes, int read, Place place) {
  if (reinterpret_cast<uintptr_t>(shared) % static_cast<unsigned>(bytes) != 0 ||
      (read > 0 && reinterpret_cast<uintptr_t>(global) % static_cast<unsigned>(bytes) != 0))
    fault("a cp.async of " + std::to_string(bytes) + " bytes from or to an address that is not a multiple of them");
  if (!machine->current->block->shared.holds(shared, static_cast<size_t>(bytes)))
    fault("a cp.async whose target is not in the block's shared memory");
  if (read < 0 || read > bytes)
    fault("a cp.async of " + std::to_string(read) + " of " + std::to_string(bytes) + " bytes");
  machine->current->copies.add(shared, global, bytes, read, place);
}
void matrix_line(const void* line) {
  if (reinterpret_cast<uintptr_t>(line) % 16 != 0)
    fault("an ldmatrix of a line at an address that is no multiple of 16");
  if (!machine->current->block->shared.holds(line, 16))
    fault("an ldmatrix of a line that is not in the block's shared memory");
}
void in_shared_memory(const void* p) {
  if (!machine->current->block->shared.holds(p, 0))
    fault("assume_shared() of a pointer that is not into the block's shared memory");
}
void copy_commit() { machine->current->copies.commit(); }
void copy_wait(int pending) { machine->current->copies.wait(pending); }

}  // namespace tessera::emulation
