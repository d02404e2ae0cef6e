// The deadline that --max-time sets.
#pragma once
#include <algorithm>
#include <chrono>
#include <functional>
#include <limits>
#include <utility>

namespace tessera {

using Clock = std::function<double()>;  // seconds; tests have their own

inline double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Until when a phase after training may work. What it cannot do without it does whatever the clock says.
class Deadline {
 public:
  Deadline() = default;  // as long as it takes
  Deadline(double at, Clock now) : at_(at), now_(std::move(now)) {}

  double left() const { return now_ ? at_ - now_() : std::numeric_limits<double>::infinity(); }
  // when that share of what is left is over
  Deadline sooner(double share) const { return now_ ? Deadline(now_() + share * left(), now_) : Deadline(); }

  Deadline earlier(double seconds) const { return now_ ? Deadline(at_ - seconds, now_) : Deadline(); }

  // Before each of several pieces of work of one kind: whether there is time for this many, each as long as the longest
  // so far. The first is always done.
  bool next(double pieces = 1) {
    if (!now_) return true;
    const double now = now_();
    const bool first = last_ < 0;
    if (!first) longest_ = std::max(longest_, now - last_);
    last_ = now;
    return first || now + pieces * longest_ <= at_;
  }
  double longest() const { return longest_; }  // piece so far, in seconds

 private:
  double at_ = 0, last_ = -1, longest_ = 0;
  Clock now_;
};

}  // namespace tessera
