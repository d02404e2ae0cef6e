// The metrics' parallel loop: work items are assigned one by one, the calling thread reports progress, and cancellation
// takes effect between items.
#pragma once
#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>

#include "base/monitor.h"
#include "base/threads/team.h"

namespace tessera {
class Device;
}
namespace tessera::quality {

struct Workers {
  Team& team;
  const Monitor& monitor;
  const char* phase = "evaluate";
  Device* device = nullptr;  // that compares all rows with all others; null: the team

  // Runs body(i) for i in [0, count) and reports the phase with `note`, in units of `unit`, `weight` of them per item.
  // body(i) must write only data of i: then no result depends on the thread.
  void for_each(const char* note, const char* unit, int64_t count, double weight,
                const std::function<void(int64_t)>& body) const {
    for_each_part(
        note, unit, count, 1, [&](int64_t i, const Part&) { body(i); }, weight);
  }

  // The same for few long items: body(i, part) calls part() up to `parts` times, which reports progress and throws if
  // cancelled.
  using Part = std::function<void()>;
  void for_each_part(const char* note, const char* unit, int64_t count, int64_t parts,
                     const std::function<void(int64_t, const Part&)>& body, double weight = 1) const {
    std::atomic<int64_t> next{0}, done{0};
    Progress progress{phase, 0, static_cast<double>(count * parts) * weight, unit, note, false};
    monitor.report(progress);
    team.run([&](int thread) {
      using Clock = std::chrono::steady_clock;
      auto reported = Clock::now();
      const auto tell = [&](int64_t more) {
        const int64_t finished = done.fetch_add(more, std::memory_order_relaxed) + more;
        if (monitor.cancelled()) monitor.check_cancelled(phase);
        if (thread != 0 || Clock::now() - reported < std::chrono::milliseconds(50)) return;
        reported = Clock::now();
        progress.done = std::min(static_cast<double>(finished) * weight, progress.total);
        monitor.report(progress);
      };
      try {
        for (int64_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < count;) {
          int64_t reported_parts = 0;
          body(i, [&] {
            if (reported_parts < parts) ++reported_parts, tell(1);
          });
          if (reported_parts < parts) tell(parts - reported_parts);
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
