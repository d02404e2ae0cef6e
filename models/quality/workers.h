// The metrics' parallel loop: pieces handed out one by one, progress told by the calling thread, cancellation between pieces.
#pragma once
#include <atomic>
#include <chrono>
#include <functional>

#include "engine/monitor.h"
#include "engine/team.h"

namespace tessera::quality {

struct Workers {
  Team& team;
  const Monitor& monitor;

  // Runs body(i) for i in [0, count) and reports phase "evaluate" with `note`, in units of `unit`, `weight` of them a piece.
  // body(i) must write only what belongs to i: then nothing depends on who ran it.
  void for_each(const char* note, const char* unit, int64_t count, double weight, const std::function<void(int64_t)>& body) const {
    std::atomic<int64_t> next{0}, done{0};
    Progress progress{"evaluate", 0, static_cast<double>(count) * weight, unit, note, false};
    monitor.report(progress);
    team.run([&](int thread) {
      using Clock = std::chrono::steady_clock;
      auto told = Clock::now();
      try {
        for (int64_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < count;) {
          body(i);
          const int64_t finished = done.fetch_add(1, std::memory_order_relaxed) + 1;
          if (thread != 0) continue;
          monitor.check_cancelled("evaluate");
          if (Clock::now() - told < std::chrono::milliseconds(50)) continue;
          told = Clock::now();
          progress.done = static_cast<double>(finished) * weight;
          monitor.report(progress);
        }
      } catch (...) {
        next.store(count, std::memory_order_relaxed);
        throw;
      }
    });
    progress.done = progress.total;
    monitor.report(progress);
  }
};

}  // namespace tessera::quality
