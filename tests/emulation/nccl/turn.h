// Threads of a process share the emulated machine: one at a time has its turn, and gives it up while it waits for
// another.
#pragma once
#include <mutex>
#include <utility>

namespace tessera::emulation {

class Turn {
 public:
  Turn() {
    if (depth++ == 0) machine.lock();
  }
  ~Turn() {
    if (--depth == 0) machine.unlock();
  }
  Turn(const Turn&) = delete;

 private:
  friend class Pause;
  static inline std::mutex machine;
  static inline thread_local int depth = 0;
};

// What is done outside a turn, within one.
class Pause {
 public:
  Pause() : depth_(std::exchange(Turn::depth, 0)) {
    if (depth_ > 0) Turn::machine.unlock();
  }
  ~Pause() {
    if (depth_ > 0) Turn::machine.lock();
    Turn::depth = depth_;
  }
  Pause(const Pause&) = delete;

 private:
  const int depth_;
};

}  // namespace tessera::emulation
