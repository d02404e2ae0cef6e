// The seconds a run has taken, over all the runs it was stopped and resumed in, from before its table was read, and the
// bound of --max-time on them.
#pragma once
#include <algorithm>
#include <utility>

#include "models/method/deadline.h"

namespace tessera {

class TrainingClock {
 public:
  // of the time that reading left: what the phases after training may be promised
  static constexpr double kMostAfter = 0.4;

  // seconds; 0: as long as it takes
  explicit TrainingClock(double most, Clock now = seconds_now) : now_(std::move(now)), most_(most) {}

  // `before`: seconds of the runs before this one, which began at `begin`.
  void start(double before, double begin) { before_ = before, begin_ = begin; }
  void start(double before) { start(before, now_()); }
  double used() const { return before_ + now_() - begin_; }

  // Training begins here: shares of its time count from now on. `after`: seconds to be left for what follows it.
  void begin_training() { from_ = used(); }
  void keep_back(double after) { after_ = std::min(after, kMostAfter * std::max(most_ - from_, 0.0)); }
  bool up(double share = 1) const { return most_ > 0 && used() >= end(share); }
  // For the phases after training.
  Deadline deadline() const { return most_ > 0 ? Deadline(begin_ + most_ - before_, now_) : Deadline(); }

  // From here on the rate counts: a phase begins, of which `done` steps are done.
  void mark(double done) { mark_ = done, mark_used_ = used(); }
  // Seconds a step since mark(); 0 while nothing is known.
  double each(double done) const { return done > mark_ ? std::max(used() - mark_used_, 0.0) / (done - mark_) : 0; }
  // How many of its `steps` there will be when that share of the time is up, at the rate since mark().
  double expected(double done, double steps, double share = 1) const {
    const double now = used(), step = each(done);
    if (most_ <= 0 || step <= 0) return steps;
    return std::min(steps, done + std::max(end(share) - now, 0.0) / step);
  }

 private:
  double end(double share) const { return from_ + (most_ - after_ - from_) * share; }

  Clock now_;
  double most_, before_ = 0, begin_ = 0, from_ = 0, after_ = 0, mark_ = 0, mark_used_ = 0;
};

}  // namespace tessera
