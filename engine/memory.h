// What a call may hold. The large blocks (a table, its encoded rows, weights, activations) are counted before they are allocated, so that a limit is an error and
// not a machine that swaps; what is small beside them is not counted.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

namespace tessera {

class MemoryLimit {
 public:
  explicit MemoryLimit(int64_t bytes = 0) : limit_(bytes) {}  // 0: none
  // Throws Error(memory) with what is wanted, what is held and what the limit is. From any thread.
  void take(int64_t bytes, const char* what);
  void give_back(int64_t bytes) noexcept { held_.fetch_sub(bytes, std::memory_order_relaxed); }
  int64_t held() const { return held_.load(std::memory_order_relaxed); }

 private:
  const int64_t limit_;
  std::atomic<int64_t> held_{0};
};

// A part of it, given back at the end. A copy of what holds a share holds none of its own.
class MemoryShare {
 public:
  MemoryShare() = default;
  MemoryShare(std::shared_ptr<MemoryLimit> limit, int64_t bytes, const char* what) : limit_(std::move(limit)) { resize(bytes, what); }
  ~MemoryShare() { reset(); }
  MemoryShare(const MemoryShare&) {}
  MemoryShare(MemoryShare&& other) noexcept : limit_(std::move(other.limit_)), bytes_(std::exchange(other.bytes_, 0)) {}
  MemoryShare& operator=(MemoryShare other) noexcept {
    std::swap(limit_, other.limit_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }

  void resize(int64_t bytes, const char* what) {
    if (limit_ == nullptr) return;
    if (bytes > bytes_) limit_->take(bytes - bytes_, what);
    else limit_->give_back(bytes_ - bytes);
    bytes_ = bytes;
  }
  void reset() noexcept {
    if (limit_ != nullptr) limit_->give_back(bytes_);
    limit_.reset();
    bytes_ = 0;
  }

 private:
  std::shared_ptr<MemoryLimit> limit_;
  int64_t bytes_ = 0;
};

}  // namespace tessera
