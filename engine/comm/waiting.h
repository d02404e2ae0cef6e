// How a rank waits for another one within a step.
#pragma once
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <thread>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace tessera {

// Leaves the cores to ranks that still compute and to other work: a wait longer than an exchange sleeps, because the
// scheduler soon resumes a process that only yields.
class Waiting {
 public:
  // One more turn of polling; returns the time waited, in seconds.
  double turn() {
    constexpr int64_t kSpins = 200;
    if (++turns_ <= kSpins) {
#if defined(__x86_64__)
      _mm_pause();
#endif
      return waited_;
    }
    // Time during which this process itself was stopped does not count: a turn counts as at most a second.
    constexpr double kMaxTurn = 1;
    const auto now = Clock::now();
    if (turns_ > kSpins + 1) waited_ += std::min(kMaxTurn, std::chrono::duration<double>(now - last_).count());
    last_ = now;
    if (waited_ > 0.01) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    else if (waited_ > 3e-4) std::this_thread::sleep_for(std::chrono::microseconds(20));
    else std::this_thread::yield();
    return waited_;
  }
  // Whether it is time for other checks: every 64th turn.
  bool rests() const { return turns_ % 64 == 0; }

 private:
  using Clock = std::chrono::steady_clock;
  int64_t turns_ = 0;
  double waited_ = 0;
  Clock::time_point last_{};
};

}  // namespace tessera
