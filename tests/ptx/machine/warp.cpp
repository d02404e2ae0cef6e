#include "ptx/machine/warp.h"

#include <algorithm>
#include <cstring>

namespace tessera::ptx {
namespace {

std::string text(emulation::Dim d) {
  return "(" + std::to_string(d.x) + ", " + std::to_string(d.y) + ", " + std::to_string(d.z) + ")";
}
char* aligned(std::unique_ptr<char[]>& memory, size_t bytes) {  // to a line of the cache
  memory.reset(new char[bytes + 64]);
  return memory.get() + (64 - reinterpret_cast<uintptr_t>(memory.get()) % 64) % 64;
}

}  // namespace

Warp::Warp(const Module& m, int number)
    : number_(number),
      local_(new char[static_cast<size_t>(m.local_bytes) * kLanes + 1]),
      call_(new char[static_cast<size_t>(m.call_bytes) * kLanes + 1]),
      predicates_(m.predicates, 0),
      copies_(kLanes) {
  base_[0] = aligned(registers_, m.register_bytes);
  base_[1] = reinterpret_cast<char*>(const_cast<uint64_t*>(m.constants.data()));
}

void Warp::begin(const Running& launch, emulation::Dim block, ClusterMemory& cluster, size_t rank, int threads) {
  launch_ = &launch;
  block_ = block;
  cluster_ = &cluster;
  rank_ = rank;
  near_ = {};
  executed_ = 0;
  const int there = std::min(threads - number_ * kLanes, kLanes);
  live_ = whole_ = there == kLanes ? kAll : (1u << there) - 1;
  waited_ = launch.early ? 0 : kAll;
  arrived_ = 0;
  predicates_[kNever] = 0;
  predicates_[kAlways] = kAll;
  const emulation::Dim b = launch.block, g = launch.grid;
  for (int l = 0; l < kLanes; ++l) {
    const unsigned t = static_cast<unsigned>(number_ * kLanes + l);
    const uint32_t values[] = {
        t % b.x, t / b.x % b.y, t / b.x / b.y, b.x, b.y, b.z,        block.x,
        block.y, block.z,       g.x,           g.y, g.z, t % kLanes, static_cast<uint32_t>(rank)};
    for (size_t k = 0; k < std::size(values); ++k) lanes<uint32_t>(static_cast<uint32_t>(k) * 128)[l] = values[k];
  }
  for (emulation::Copies& c : copies_) c = {};
  paths_.assign(1, {launch.kernel.begin, live_, Path::none, {}});
}

int Warp::lanes_ended() const { return __builtin_popcount(whole_ & ~live_); }

void Warp::fault(const Instruction& i, Mask mask, const std::string& what) const {
  std::string message = "kernel " + launch_->name + ", block " + text(block_);
  if (mask != 0) message += ", thread " + std::to_string(number_ * kLanes + __builtin_ctz(mask));
  throw emulation::Fault(message + ", PTX line " + std::to_string(i.line) + ": " + what + ": " +
                         launch_->module.lines[static_cast<size_t>(i.line) - 1]);
}

// Paths at one place become one. A path that waits for lanes goes on when others arrive, to see whether they suffice.
size_t Warp::furthest_behind() {
  for (size_t a = 0; a < paths_.size(); ++a)
    for (size_t b = a + 1; b < paths_.size();)
      if (paths_[a].meets(paths_[b]) && paths_[a].at_barrier() == paths_[b].at_barrier()) {
        paths_[a].mask |= paths_[b].mask;
        if (!paths_[a].at_barrier()) paths_[a].waiting = Path::none;
        paths_.erase(paths_.begin() + static_cast<std::ptrdiff_t>(b));
      } else {
        ++b;
      }
  size_t best = paths_.size();
  for (size_t k = 0; k < paths_.size(); ++k) {
    const Path& p = paths_[k];
    if (p.waiting != Path::none) continue;
    const bool first = best == paths_.size() || p.callers.size() > paths_[best].callers.size() ||
                       (p.callers.size() == paths_[best].callers.size() && p.pc < paths_[best].pc);
    if (first) best = k;
  }
  return best;
}

// Where the path must stop to meet another: the next instruction at which one stands.
uint32_t Warp::meeting_point(size_t at) const {
  uint32_t next = ~0u;
  for (size_t k = 0; k < paths_.size(); ++k)
    if (k != at && paths_[k].pc > paths_[at].pc && !paths_[k].at_barrier() &&
        paths_[k].callers.size() == paths_[at].callers.size())
      next = std::min(next, paths_[k].pc);
  return next;
}

Warp::State Warp::run() {
  for (Path& p : paths_)
    if (p.waiting == Path::launch && !launch_->holds) p.waiting = Path::none;
  for (;;) {
    const size_t at = furthest_behind();
    if (at < paths_.size()) {
      follow(at);
      continue;
    }
    if (paths_.empty()) return State::ended;
    if (std::any_of(paths_.begin(), paths_.end(), [](const Path& p) { return p.waiting == Path::launch; }))
      return State::held;
    for (const Path& p : paths_)
      if (p.waiting == Path::lanes)
        fault(launch_->module.code[p.pc], p.mask, "deadlock, it waits for lanes of its mask that never arrive");
    const Path& first = paths_.front();
    if (paths_.size() > 1 &&
        std::any_of(paths_.begin(), paths_.end(), [](const Path& p) { return p.waiting == Path::cluster; }))
      fault(launch_->module.code[first.pc], first.mask, "a part of a warp waits for its cluster here");
    return first.waiting == Path::cluster ? State::at_cluster : State::at_barrier;
  }
}

void Warp::pass_barrier() {
  arrived_ = 0;
  for (Path& p : paths_) {
    p.waiting = Path::none;
    ++p.pc;
  }
}

// Divides the path at a branch that some lanes take. True: it may go on in the same loop.
bool Warp::branch(Path& path, const Instruction& i, Mask taken) {
  if (taken == 0) {
    ++path.pc;
    return true;
  }
  if (taken == path.mask) {
    path.pc = i.target;
    return false;
  }
  if (i.uniform) fault(i, taken, "some lanes of a warp take a branch that the compiler calls uniform");
  Path rest = path;
  rest.mask &= ~taken;
  ++rest.pc;
  path.mask = taken;
  path.pc = i.target;
  paths_.push_back(std::move(rest));
  return false;
}

// Whether all lanes of the instruction's member mask are here.
bool Warp::gathered(const Path& path, const Instruction& i, Mask active) {
  const Mask members = i.member_mask == kNowhere ? kAll : lanes<const uint32_t>(i.member_mask)[__builtin_ctz(active)];
  if ((active & ~members) != 0) fault(i, active & ~members, "a lane is not in the mask that it gives");
  if ((members & ~live_) != 0) fault(i, active, "its mask names lanes that are not there");
  return (path.mask & members) == members;
}

void Warp::end_lanes(const Path& path, const Instruction& i, Mask mask) {
  if ((mask & arrived_) != 0) fault(i, mask & arrived_, "arrived at the barrier of its cluster, and did not wait");
  if ((mask & ~waited_) != 0) fault(i, mask & ~waited_, "ended without griddepcontrol.wait in an early launch");
  for (int l = 0; l < kLanes; ++l)
    if ((mask >> l & 1) != 0 && copies_[static_cast<size_t>(l)].uncompleted())
      fault(i, 1u << l, "ended while copies of cp.async were under way: a wait is missing");
  for (const Path& p : paths_)
    if (&p != &path && p.waiting == Path::lanes) {
      const Instruction& waits = launch_->module.code[p.pc];
      if (waits.member_mask == kNowhere ||
          (lanes<const uint32_t>(waits.member_mask)[__builtin_ctz(p.mask)] & mask) != 0)
        fault(waits, p.mask, "waits for lanes that have returned");
    }
  live_ &= ~mask;
}

void Warp::follow(size_t at) {
  const Instruction* code = launch_->module.code.data();
  uint32_t stop = meeting_point(at);
  for (;;) {
    Path& path = paths_[at];
    if (path.pc >= stop) return;
    const Instruction& i = code[path.pc];
    ++executed_;
    Mask active = path.mask;
    if (i.guard != 0) active &= i.unless ? ~predicates_[i.guard] : predicates_[i.guard];
    switch (i.flow) {
      case Flow::next:
        if (active != 0) i.run(*this, i, active);
        ++path.pc;
        break;
      case Flow::branch:
        if (!branch(path, i, active) && paths_.size() > 1) return;
        break;
      case Flow::call:
        if (active != path.mask) fault(i, active, "a call that a part of the lanes makes");
        path.callers.push_back(path.pc + 1);
        path.pc = i.target;
        return;
      case Flow::leave:
        if (active == 0) {
          ++path.pc;
          break;
        }
        if (active != path.mask) fault(i, active, "a return that a part of the lanes makes");
        if (path.callers.empty()) {
          end_lanes(path, i, active);
          paths_.erase(paths_.begin() + static_cast<std::ptrdiff_t>(at));
        } else {
          path.pc = path.callers.back();
          path.callers.pop_back();
        }
        return;
      case Flow::block_barrier:
        if (active != path.mask) fault(i, active, "a barrier for a part of the lanes");
        path.waiting = Path::barrier;
        return;
      case Flow::cluster_barrier:
        if (active != path.mask) fault(i, active, "a barrier for a part of the lanes");
        if ((active & ~arrived_) != 0) fault(i, active & ~arrived_, "waits for its cluster without having arrived");
        path.waiting = Path::cluster;
        return;
      case Flow::launch_before:
        if (active != 0 && launch_->holds) {
          path.waiting = Path::launch;
          return;
        }
        if (active != 0) i.run(*this, i, active);
        ++path.pc;
        break;
      case Flow::whole_mask:
        if (active != 0 && !gathered(path, i, active)) {
          path.waiting = Path::lanes;
          return;
        }
        if (active != 0) i.run(*this, i, active);
        ++path.pc;
        break;
    }
  }
}

}  // namespace tessera::ptx
