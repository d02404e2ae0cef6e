// The times of a step's phases on the processor, for benches.
#pragma once
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tessera {

struct TimedPhase {
  struct Call {
    std::vector<int> nodes;  // of the plan; of a chain: in order
    int64_t tiles = 0;       // of a chain: its blocks
    int64_t block_rows = 0;  // of a chain: rows of a block (1: tiles of recurrent layers); 0: a single op
  };
  std::vector<Call> calls;  // all of them may run at once
  double seconds = 0;       // the shortest of the timed steps, because other work only adds time
};

// Used by one thread at a time: the one that opens the next phase.
class PhaseClock {
 public:
  // With one thread its processor's time counts where it is less than the time that passed: what other processes take
  // is not in it.
  PhaseClock(size_t phases, int threads) : shortest_(phases, HUGE_VAL), alone_(threads == 1) {}
  void begin() {
    if (alone_) used_ = processor_seconds();
    last_ = Clock::now();
  }
  void end(size_t phase) {
    double seconds = std::chrono::duration<double>(Clock::now() - last_).count();
    if (alone_) seconds = std::min(seconds, processor_seconds() - used_);
    shortest_[phase] = std::min(shortest_[phase], seconds);
    begin();
  }
  double shortest(size_t phase) const { return shortest_[phase]; }

 private:
  using Clock = std::chrono::steady_clock;
  static double processor_seconds() {
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
  }
  std::vector<double> shortest_;
  bool alone_;
  Clock::time_point last_;
  double used_ = 0;
};

}  // namespace tessera
