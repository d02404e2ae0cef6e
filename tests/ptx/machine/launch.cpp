#include "ptx/machine/launch.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "ptx/machine/warp.h"

namespace tessera::ptx {

using emulation::Fault;
using emulation::Schedule;

// Registers are large and few launches need all of them: a module keeps its warps from launch to launch.
struct WarpsKept {
  std::vector<std::vector<std::unique_ptr<Warp>>> by_rank;  // in the cluster
};

namespace {

// In which order what may run in any order does.
std::vector<size_t> order_of(size_t n, std::mt19937_64& random) {
  std::vector<size_t> order(n);
  std::iota(order.begin(), order.end(), size_t{0});
  if (emulation::schedule().order == Schedule::reverse) std::reverse(order.begin(), order.end());
  if (emulation::schedule().order == Schedule::random) std::shuffle(order.begin(), order.end(), random);
  return order;
}

class Block {
 public:
  // `from`: the warps that it takes; those that are not there yet are made.
  Block(const Running& launch, size_t warps, int threads, emulation::Dim index, ClusterMemory& cluster, size_t rank,
        std::vector<std::unique_ptr<Warp>>& from)
      : launch_(launch), memory_(cluster.blocks[rank]) {
    size_t bytes = 0;
    for (const Array& a : launch.shared) bytes += (a.bytes + 127u) / 128 * 128;
    shared_.assign(bytes + 128, static_cast<char>(0xFF));
    memory_.shared = shared_.data() + (128 - reinterpret_cast<uintptr_t>(shared_.data()) % 128) % 128;
    while (from.size() < warps) from.push_back(std::make_unique<Warp>(launch.module, static_cast<int>(from.size())));
    for (size_t w = 0; w < warps; ++w) {
      warps_.push_back(from[w].get());
      warps_.back()->begin(launch, index, cluster, rank, threads);
    }
  }
  // From barrier to barrier: each warp runs until it waits. Ends with the block, or where it waits for its cluster, or
  // is held (Running::holds).
  Warp::State run(std::mt19937_64& random) {
    for (;;) {
      size_t ended = 0, at_cluster = 0;
      bool held = false;
      int lanes_ended = 0;
      const Warp* waits = nullptr;
      for (const size_t n : order_of(warps_.size(), random)) {
        Warp& w = *warps_[n];
        const Warp::State state = w.ended() ? Warp::State::ended : w.run();
        if (state == Warp::State::ended) ++ended;
        else waits = &w;
        if (state == Warp::State::at_cluster) ++at_cluster;
        held = held || state == Warp::State::held;
        lanes_ended += w.lanes_ended();
      }
      if (ended == warps_.size()) return Warp::State::ended;
      if (held) return Warp::State::held;
      if (lanes_ended > 0)
        refuse("threads wait for their block at PTX line " + std::to_string(waits->waiting_line()) + ", and " +
               std::to_string(lanes_ended) + " have returned");
      if (at_cluster == warps_.size()) return Warp::State::at_cluster;
      if (at_cluster > 0) refuse("a part of a block waits for its cluster");
      pass_barrier();
    }
  }
  void pass_barrier() {
    for (Warp* w : warps_) w->pass_barrier();
  }
  // It has ended: other blocks must be done with its memory.
  void leave(const ClusterMemory& cluster) {
    if (!memory_.ended && memory_.reached > 0 && memory_.reached == cluster.barriers)
      refuse(
          "a block ends while another one of its cluster may still reach its shared memory: a barrier of the cluster "
          "behind that is missing");
    memory_.ended = true;
  }
  int64_t executed() const {
    return std::accumulate(warps_.begin(), warps_.end(), int64_t{0},
                           [](int64_t n, const Warp* w) { return n + w->executed(); });
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const { throw Fault("kernel " + launch_.name + ": " + why); }

  const Running& launch_;
  ClusterMemory::One& memory_;
  std::vector<char> shared_;
  std::vector<Warp*> warps_;
};

// Blocks that run together; without clusters, one.
class Cluster {
 public:
  // `kept`: with the module's warps, which one cluster uses at a time; else it has warps of its own.
  Cluster(const Running& launch, size_t warps, int threads, const std::vector<emulation::Dim>& blocks, bool kept)
      : launch_(launch), memory_{std::vector<ClusterMemory::One>(blocks.size())} {
    if (launch.module.warps == nullptr) launch.module.warps = std::make_shared<WarpsKept>();
    std::vector<std::vector<std::unique_ptr<Warp>>>& from = kept ? launch.module.warps->by_rank : own_;
    if (from.size() < blocks.size()) from.resize(blocks.size());
    for (size_t rank = 0; rank < blocks.size(); ++rank)
      blocks_.push_back(std::make_unique<Block>(launch, warps, threads, blocks[rank], memory_, rank, from[rank]));
  }
  // To its end, or until it is held.
  void run(std::mt19937_64& random) {
    for (;;) {
      size_t ended = 0;
      bool held = false;
      for (const size_t n : order_of(blocks_.size(), random)) {
        const Warp::State state = blocks_[n]->run(random);
        if (state == Warp::State::ended) blocks_[n]->leave(memory_), ++ended;
        held = held || state == Warp::State::held;
      }
      if (ended == blocks_.size() || held) return;
      if (ended > 0)
        throw Fault("kernel " + launch_.name + ": blocks wait for their cluster, of which " + std::to_string(ended) +
                    " have ended");
      ++memory_.barriers;
      for (const auto& b : blocks_) b->pass_barrier();
    }
  }
  int64_t executed() const {  // of the block that executed most
    int64_t most = 0;
    for (const auto& b : blocks_) most = std::max(most, b->executed());
    return most;
  }

 private:
  const Running& launch_;
  ClusterMemory memory_;
  std::vector<std::vector<std::unique_ptr<Warp>>> own_;
  std::vector<std::unique_ptr<Block>> blocks_;
};

constexpr uint32_t kSharedOptIn = 227 * 1024, kSharedOptInOf80 = 163 * 1024;

void check(const Running& r, int64_t threads, const Module& module) {
  const auto refuse = [&](const std::string& why) { throw Fault("kernel " + r.name + ": " + why); };
  if (threads > r.kernel.max_threads)
    refuse("a block of " + std::to_string(threads) + " threads; its launch bounds allow " +
           std::to_string(r.kernel.max_threads));
  if (r.kernel.parameters_total > 32764)
    refuse(std::to_string(r.kernel.parameters_total) + " bytes of parameters; 32764 is the limit");
  uint32_t fixed = 0, all = 0;
  for (const Array& a : r.shared) {
    all += a.bytes;
    if (a.offset != kDynamicShared) fixed += a.bytes;
  }
  const uint32_t limit = module.target >= 90 ? kSharedOptIn : kSharedOptInOf80;
  if (fixed > 48 * 1024) refuse(std::to_string(fixed) + " bytes of static shared memory; 49152 is the limit");
  if (all > limit) refuse(std::to_string(all) + " bytes of shared memory; " + std::to_string(limit) + " is the limit");
}

}  // namespace

std::string readable(const std::string& mangled) {
  int status = 0;
  std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status),
                                              std::free);
  std::string name = status == 0 ? text.get() : mangled;
  for (const char* prefix : {"(anonymous namespace)::", "tessera::", "gpu::", "void "})
    for (size_t at; (at = name.find(prefix)) != std::string::npos;) name.erase(at, std::string(prefix).size());
  int depth = 0;
  for (size_t k = 0; k < name.size(); ++k) {
    depth += name[k] == '<' ? 1 : name[k] == '>' ? -1 : 0;
    if (name[k] == '(' && depth == 0) return name.substr(0, k);
  }
  return name;
}

struct Launch::Grid {
  Running running;
  const Wanted wanted;
  const int threads;
  std::mt19937_64 random{};
  std::vector<std::unique_ptr<Cluster>> begun{};

  std::unique_ptr<Cluster> cluster(size_t n, bool kept) const {
    const emulation::Dim g = wanted.grid;
    std::vector<emulation::Dim> blocks;
    for (size_t b = n * wanted.cluster; b < (n + 1) * wanted.cluster; ++b)
      blocks.push_back(
          {static_cast<unsigned>(b % g.x), static_cast<unsigned>(b / g.x % g.y), static_cast<unsigned>(b / g.x / g.y)});
    return std::make_unique<Cluster>(running, static_cast<size_t>(threads + kLanes - 1) / kLanes, threads, blocks,
                                     kept);
  }
  std::vector<size_t> start() {  // the order of the clusters
    emulation::admit(
        {running.name.c_str(), wanted.grid, wanted.block, wanted.dynamic_shared, false, wanted.early, wanted.cluster});
    random.seed(emulation::schedule().seed * 0x9E3779B97F4A7C15ull + emulation::launch_number());
    return order_of(size_t{wanted.grid.x} * wanted.grid.y * wanted.grid.z / wanted.cluster, random);
  }
};

Launch::Launch(const Module& module, const Function& kernel, const Wanted& wanted) {
  const int threads = static_cast<int>(wanted.block.x * wanted.block.y * wanted.block.z);
  grid_.reset(new Grid{{module,
                        kernel,
                        wanted.parameters,
                        wanted.grid,
                        wanted.block,
                        readable(kernel.name),
                        wanted.strict,
                        wanted.early,
                        false,
                        {}},
                       wanted,
                       threads});
  for (Array a : kernel.shared) {
    if (a.offset == kDynamicShared) a.bytes = wanted.dynamic_shared;
    grid_->running.shared.push_back(a);
  }
  check(grid_->running, threads, module);
}
Launch::~Launch() = default;

void Launch::begin() {
  grid_->running.holds = true;
  for (const size_t n : grid_->start()) {
    grid_->begun.push_back(grid_->cluster(n, false));
    grid_->begun.back()->run(grid_->random);
  }
}

int64_t Launch::run() {
  grid_->running.holds = false;
  int64_t most = 0;
  const auto complete = [&](Cluster& c) {
    c.run(grid_->random);
    most = std::max(most, c.executed());
  };
  if (grid_->begun.empty())
    for (const size_t n : grid_->start()) complete(*grid_->cluster(n, true));
  for (std::unique_ptr<Cluster>& c : std::exchange(grid_->begun, {})) {
    complete(*c);
    c.reset();
  }
  return most;
}

int64_t run(const Module& module, const Function& kernel, const Wanted& wanted) {
  return Launch(module, kernel, wanted).run();
}

}  // namespace tessera::ptx
