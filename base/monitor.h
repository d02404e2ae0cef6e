// Progress out, cancellation in: passed by reference through every long phase.
#pragma once
#include <atomic>
#include <functional>
#include <string>

#include "base/error.h"

namespace tessera {

struct Progress {
  const char* phase = "";  // and `unit`: those that tessera_progress lists
  double done = 0;         // in units of `unit`
  double total = 0;        // 0: unknown
  const char* unit = "";
  std::string note;       // text beside the progress bar: "critic −0.41  generator −1.20"
  bool finished = false;  // the last event of this phase
};

class Monitor {
 public:
  std::function<void(const Progress&)> on_progress;  // may be empty; called from one thread at a time
  const std::atomic<bool>* cancel = nullptr;         // may be null; set from any thread or a signal handler
  const std::atomic<bool>* cancel_job = nullptr;     // the same, for this call alone

  // The same cancellation, without progress.
  Monitor silent() const {
    Monitor out = *this;
    out.on_progress = nullptr;
    return out;
  }
  void report(const Progress& p) const {
    check_cancelled(p.phase);
    if (on_progress) on_progress(p);
  }
  bool cancelled() const {
    return (cancel != nullptr && cancel->load(std::memory_order_relaxed)) ||
           (cancel_job != nullptr && cancel_job->load(std::memory_order_relaxed));
  }
  void check_cancelled(const char* phase) const {
    if (cancelled()) throw Error(ErrorCode::cancelled, std::string("cancelled during ") + phase);
  }
};

}  // namespace tessera
