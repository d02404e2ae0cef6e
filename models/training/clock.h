// The seconds that a run has taken, summed over all its resumed parts, from before its table was read, and the limit
// max_time.
#pragma once
#include <algorithm>
#include <utility>

#include "models/method/deadline.h"

namespace tessera {

class TrainingClock {
 public:
  // maximum share, of the time left after reading, that is reserved for the phases after training
  static constexpr double kMaxAfter = 0.4;

  // seconds; 0: unlimited
  explicit TrainingClock(double max_seconds, Clock now = seconds_now) : now_(std::move(now)), max_(max_seconds) {}

  // `before`: seconds of the previous runs; this one began at `begin`.
  void start(double before, double begin) { before_ = before, begin_ = begin; }
  void start(double before) { start(before, now_()); }
  double used() const { return before_ + now_() - begin_; }

  // Training begins: shares of its time count from now on. `after`: seconds to reserve for the phases after it.
  void begin_training() { from_ = used(); }
  void keep_back(double after) { after_ = std::min(after, kMaxAfter * std::max(max_ - from_, 0.0)); }
  bool up(double share = 1) const { return max_ > 0 && used() >= end(share); }
  // For the phases after training.
  Deadline deadline() const { return max_ > 0 ? Deadline(begin_ + max_ - before_, now_) : Deadline(); }

  // Starts measuring the rate: at the start of a phase, of which `done` steps are done.
  void mark(double done) { mark_ = done, mark_used_ = used(); }
  // Seconds per step since mark(); 0 while unknown.
  double each(double done) const { return done > mark_ ? std::max(used() - mark_used_, 0.0) / (done - mark_) : 0; }
  // How many of the phase's `steps` will be done when that share of the time is used, at the rate since mark().
  double expected(double done, double steps, double share = 1) const {
    const double now = used(), step = each(done);
    if (max_ <= 0 || step <= 0) return steps;
    return std::min(steps, done + std::max(end(share) - now, 0.0) / step);
  }

 private:
  double end(double share) const { return from_ + (max_ - after_ - from_) * share; }

  Clock now_;
  double max_, before_ = 0, begin_ = 0, from_ = 0, after_ = 0, mark_ = 0, mark_used_ = 0;
};

}  // namespace tessera
