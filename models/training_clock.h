// The seconds that training has taken, over all the runs it was stopped and resumed in, and the bound of --max-time on them.
#pragma once
#include <algorithm>
#include <chrono>

namespace tessera {

inline double seconds_now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

class TrainingClock {
 public:
  explicit TrainingClock(double most) : most_(most) {}  // seconds; 0: as long as it takes

  // `before`: seconds of the runs before this one, which began at `begin`.
  void start(double before, double begin = seconds_now()) { before_ = before, begin_ = begin; }
  double used() const { return before_ + seconds_now() - begin_; }
  bool up(double share = 1) const { return most_ > 0 && used() >= most_ * share; }

  // From here on the rate counts: a phase begins, of which `done` steps are done.
  void mark(double done) { mark_ = done, mark_used_ = used(); }
  // How many of its `steps` there will be when that share of the time is up, at the rate since mark().
  double expected(double done, double steps, double share = 1) const {
    const double now = used();
    if (most_ <= 0 || done <= mark_ || now <= mark_used_) return steps;
    return std::min(steps, done + (done - mark_) / (now - mark_used_) * std::max(most_ * share - now, 0.0));
  }

 private:
  double most_, before_ = 0, begin_ = 0, mark_ = 0, mark_used_ = 0;
};

}  // namespace tessera
