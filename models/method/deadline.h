// The deadline that max_time sets.
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

// The deadline of a phase after training. Work that it cannot omit is done even after the deadline.
class Deadline {
 public:
  Deadline() = default;  // none
  Deadline(double at, Clock now) : at_(at), now_(std::move(now)) {}

  double left() const { return now_ ? at_ - now_() : std::numeric_limits<double>::infinity(); }
  // after that share of the time left
  Deadline sooner(double share) const { return now_ ? Deadline(now_() + share * left(), now_) : Deadline(); }

  Deadline earlier(double seconds) const { return now_ ? Deadline(at_ - seconds, now_) : Deadline(); }

  // Call before each of several similar pieces of work: whether there is time for `pieces` more, each as long as the
  // longest so far. True for the first.
  bool next(double pieces = 1) {
    if (!now_) return true;
    const double now = now_();
    const bool first = last_ < 0;
    if (!first) longest_ = std::max(longest_, now - last_);
    last_ = now;
    return first || now + pieces * longest_ <= at_;
  }
  double longest() const { return longest_; }  // longest piece so far, in seconds

 private:
  double at_ = 0, last_ = -1, longest_ = 0;
  Clock now_;
};

}  // namespace tessera
